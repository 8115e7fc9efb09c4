#!/usr/bin/env python3
"""eval: a cell in Werkbank's kernels beside ipykernel (through jupyter_client) and bare children with
JSON lines.

    bench/eval.py [--rounds N] [WERKBANK]
"""

import argparse
import json
import os
import pathlib
import secrets
import statistics
import struct
import subprocess
import time

from clients import Mcp
from common import SOURCE, TOOLS, add_program, bench_home, compare, end, find, show_machine
from common import show_samples, show_version

KERNELS = SOURCE / "src" / "kernel"
BENCH = SOURCE / "bench"
HEADER = struct.Struct("<IBBHII")
EXEC, TOOL_RESULT, INTERRUPT, SHUTDOWN = range(1, 5)
HELLO, DISPLAY, RESULT, ERROR, TOOL_CALL, TOOL_CANCELLED, DONE = range(16, 23)

WARM = 200  # of one sample
CALLS = 200
LINES = "for i in range(104858): print('x' * 99)"
LINES_BYTES = 104858 * 100
BRIDGE = {
    "python": f"for i in range({CALLS}): tool('x')",
    "javascript": f"for (let i = 0; i < {CALLS}; i += 1) await tool('x')",
}


class Child:
    """A process whose output is read as it comes, from one or two pipes."""

    def __init__(self, argv, env):
        self.child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self.child.pid
        self.input, self.output = self.child.stdin.fileno(), self.child.stdout.fileno()
        self.buffer = b""

    def read(self, size):
        while len(self.buffer) < size:
            data = os.read(self.output, 1 << 20)
            if not data:
                raise SystemExit(f"a child has ended: {self.child.stderr.read()}")
            self.buffer += data
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.stderr.close()
        self.child.wait()


class Frames(Child):
    """A kernel of Werkbank's at its pipes (src/kernel/frame.h)."""

    def __init__(self, language, env):
        self.nonce = secrets.token_hex(16)
        loader = (
            KERNELS / language / ("loader.py" if language == "python" else "loader.js")
        ).read_text()
        if language == "python":
            argv = [find("python3", env), "-c", loader, self.nonce]
        else:
            shell = 'exec "$0" "$@" 7>&2 8<&0 9>&1 0</dev/null 1>&2'
            argv = [
                "sh",
                "-c",
                shell,
                find("node", env),
                "--no-force-async-hooks-checks",
                "-e",
                loader,
            ]
            argv.append(self.nonce)
        super().__init__(argv, env)
        self.raw, self.text = self.child.stderr.fileno(), bytearray()
        os.set_blocking(self.raw, False)
        self.cell = 0
        name = "kernel.py" if language == "python" else "kernel.js"
        source = (KERNELS / language / name).read_bytes()
        os.write(self.input, len(source).to_bytes(4, "little") + source[:32768])
        for at in range(32768, len(source), 32768):
            os.write(self.input, source[at : at + 32768])
        self.read(len(f"werkbank-kernel {self.nonce}\n"))
        self.next()

    def send(self, kind, value, call=0):
        payload = json.dumps(value).encode()
        os.write(self.input, HEADER.pack(len(payload), kind, 0, 0, self.cell, call) + payload)

    def drain(self):
        try:
            while data := os.read(self.raw, 1 << 20):
                self.text += data
        except BlockingIOError:
            pass

    def next(self):
        size, kind, _, _, _, call = HEADER.unpack(self.read(HEADER.size))
        return kind, call, self.read(size)

    def begin(self, code):
        self.cell += 1
        self.text.clear()
        self.send(EXEC, {"code": code})

    def finish(self, much_text=False):
        """Until DONE is there and the text up to its mark; the bytes of text. Much of it is taken
        meanwhile, since the pipe does not hold it."""
        kind = None
        while kind != DONE:
            if much_text and not self.buffer:
                self.wait()
            kind, call, payload = self.next()
            if kind == TOOL_CALL:
                self.send(TOOL_RESULT, {"ok": True, "text": "", "data": 5, "pictures": 0}, call)
        mark = f":{json.loads(payload)['mark']}\x1e".encode()
        while not self.text.endswith(mark):
            try:
                self.text += os.read(self.raw, 1 << 20)
            except BlockingIOError:
                pass
        return len(self.text)

    def wait(self):
        """For a frame; text is taken meanwhile."""
        import select

        while True:
            ready = select.select([self.output, self.raw], [], [])[0]
            if self.raw in ready:
                self.drain()
            if self.output in ready:
                return

    def run(self, code, much_text=False):
        self.begin(code)
        return self.finish(much_text)

    def interrupt(self):
        self.begin("while True: pass")
        time.sleep(0.2)
        begin = time.perf_counter()
        self.send(INTERRUPT, {})
        self.finish()
        return (time.perf_counter() - begin) * 1000


class Lines(Child):
    """A bare child with JSON lines."""

    def next(self):
        while b"\n" not in self.buffer:
            data = os.read(self.output, 1 << 20)
            if not data:
                raise SystemExit(f"a child has ended: {self.child.stderr.read()}")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def send(self, value):
        os.write(self.input, json.dumps(value).encode() + b"\n")

    def run(self, code):
        self.send({"code": code})
        size = 0
        while True:
            message = self.next()
            if "value" in message:
                return size
            if "tool" in message:
                self.send({"data": 5})
            else:
                size += len(message["out"])


class Serve:
    """`werkbank serve`, in which only eval is used. The request is put together and the answer read
    by hand: a client in Python that parses takes as long as the call."""

    def __init__(self, program, root, env, language):
        self.client = Mcp([program, "serve", "--workspace", str(root), "--allow", "exec"], env)
        self.input = self.client.child.stdin.fileno()
        self.output = self.client.child.stdout.fileno()
        self.language, self.number = language, 1000

    def run(self, code):
        self.number += 1
        arguments = {"code": code, "description": "a benchmark", "language": self.language}
        params = {"name": "eval", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        os.write(self.input, json.dumps(message).encode() + b"\n")
        answer = os.read(self.output, 1 << 20)
        while answer[-1:] != b"\n":
            answer += os.read(self.output, 1 << 20)
        if b'"id":%d' % self.number not in answer or b'"isError":true' in answer:
            raise SystemExit(f"eval: {answer}")

    def close(self):
        self.client.close()


class Jupyter:
    """ipykernel; times itself, so that nothing but jupyter_client lies between."""

    def __init__(self, env):
        python = TOOLS / "pip" / "ipykernel" / "bin" / "python"
        self.python = str(python)
        self.child = subprocess.Popen(
            [python, BENCH / "jupyter_side.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )

    def ask(self, do, **more):
        self.child.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def close(self):
        self.ask("stop")
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


def timed(function, *args):
    begin = time.perf_counter()
    function(*args)
    return (time.perf_counter() - begin) * 1000


def resident_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def warm(side, code="1+1"):
    return timed(lambda: [side.run(code) for _ in range(WARM)]) / WARM


class Samples(dict):
    def add(self, name, value):
        self.setdefault(name, []).append(value)

    def take(self, sides, number):
        """{name: function} in turns; who begins changes with the round."""
        names = list(sides)
        for i in range(len(names)):
            name = names[(number + i) % len(names)]
            self.add(name, sides[name]())


def cold(start, *args):
    """From the start of the process to the first result."""

    def measure():
        begin = time.perf_counter()
        side = start(*args)
        side.run("1+1")
        took = (time.perf_counter() - begin) * 1000
        side.close()
        return took

    return measure


def cold_call(program, root, env, language):
    """The first call of a server that is there: its interpreter is chosen and started."""

    def measure():
        side = Serve(program, root, env, language)
        took = timed(side.run, "1+1")
        side.close()
        return took

    return measure


def cold_jupyter(env):
    def measure():
        side = Jupyter(env)
        side.child.stdin.flush()
        took = side.ask("start")
        side.close()
        return took

    return measure


def measure_python(program, root, env, rounds):
    python = find("python3", env)
    bare = [python, "-u", str(BENCH / "bare_kernel.py")]
    samples = Samples()
    for number in range(rounds):
        samples.take(
            {
                "cold serve": cold_call(program, root, env, "python"),
                "cold bare": cold(Lines, bare, env),
                "cold ipykernel": cold_jupyter(env),
            },
            number,
        )
    frames, lines = Frames("python", env), Lines(bare, env)
    serve, jupyter = Serve(program, root, env, "python"), Jupyter(env)
    jupyter.ask("start")
    jupyter.ask("ready")
    for side in (frames, lines, serve):
        warm(side)
    jupyter.ask("run", code="1+1")
    samples.add("memory pipe", resident_mb(frames.pid))
    samples.add("memory bare", resident_mb(lines.pid))
    samples.add("memory ipykernel", resident_mb(jupyter.ask("pid")))
    for number in range(rounds):
        samples.take(
            {
                "warm pipe": lambda: warm(frames),
                "warm bare": lambda: warm(lines),
                "warm serve": lambda: warm(serve),
                "warm ipykernel": lambda: statistics.median(
                    jupyter.ask("run", code="1+1") for _ in range(20)
                ),
            },
            number,
        )
        samples.take(
            {
                "lines pipe": lambda: timed(frames.run, LINES, True),
                "lines bare": lambda: timed(lines.run, LINES),
                "lines serve": lambda: timed(serve.run, LINES),
                "lines ipykernel": lambda: jupyter.ask("run", code=LINES, bytes=LINES_BYTES),
            },
            number,
        )
        samples.take(
            {
                "bridge pipe": lambda: timed(frames.run, BRIDGE["python"]) / CALLS,
                "bridge bare": lambda: timed(lines.run, BRIDGE["python"]) / CALLS,
            },
            number,
        )
        samples.take(
            {
                "interrupt pipe": frames.interrupt,
                "interrupt ipykernel": lambda: jupyter.ask("interrupt"),
            },
            number,
        )
    for side in (frames, lines, serve, jupyter):
        side.close()
    return samples


def measure_javascript(program, root, env, rounds):
    node = find("node", env)
    script = str(BENCH / "bare_kernel.js")
    samples = Samples()
    for number in range(rounds):
        samples.take(
            {
                "cold serve": cold_call(program, root, env, "javascript"),
                "cold bare": cold(Lines, [node, script], env),
            },
            number,
        )
    frames, lines = Frames("javascript", env), Lines([node, script, "inspector"], env)
    serve = Serve(program, root, env, "javascript")
    for side in (frames, lines, serve):
        warm(side)
    for number in range(rounds):
        samples.take(
            {
                "warm pipe": lambda: warm(frames),
                "warm bare": lambda: warm(lines),
                "warm serve": lambda: warm(serve),
            },
            number,
        )
        samples.take(
            {
                "bridge pipe": lambda: timed(frames.run, BRIDGE["javascript"]) / CALLS,
                "bridge bare": lambda: timed(lines.run, BRIDGE["javascript"]) / CALLS,
            },
            number,
        )
    for side in (frames, lines, serve):
        side.close()
    return samples


# (what, ours, theirs, at most)
PYTHON = [
    ("cold start to the first result, serve beside a bare child", "cold serve", "cold bare", 2.4),
    ("the same beside ipykernel", "cold serve", "cold ipykernel", 1 / 15),
    ("warm 1+1, at the pipe beside a bare child", "warm pipe", "warm bare", 3),
    ("warm 1+1, serve beside ipykernel", "warm serve", "warm ipykernel", 1 / 20),
    ("idle memory, MB, beside a bare child", "memory pipe", "memory bare", 1.5),
    ("10 MB of lines, at the pipe beside a bare child", "lines pipe", "lines bare", 1.5),
    ("a bridged call, at the pipe beside a bare child", "bridge pipe", "bridge bare", 4),
    (
        "interrupt to result, at the pipe beside ipykernel",
        "interrupt pipe",
        "interrupt ipykernel",
        1,
    ),
]
JAVASCRIPT = [
    ("cold start to the first result, serve beside bare node", "cold serve", "cold bare", 1.4),
    ("warm 1+1, at the pipe beside Runtime.evaluate", "warm pipe", "warm bare", 3),
    ("a bridged call, at the pipe beside a bare promise", "bridge pipe", "bridge bare", 2),
]


def show(language, samples, figures):
    for name, values in samples.items():
        show_samples(f"{language}, {name}", values)
    return [
        compare(f"{language}: {what}", samples[ours], samples[theirs], round(ratio, 4))
        for what, ours, theirs, ratio in figures
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    add_program(parser)
    args = parser.parse_args()
    program = os.path.abspath(args.werkbank)
    with bench_home() as (home, env):
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
            env.pop(name, None)
        # One interpreter for all sides.
        env["VIRTUAL_ENV"] = str(TOOLS / "pip" / "ipykernel")
        env["PATH"] = f"{env['VIRTUAL_ENV']}/bin:" + env["PATH"].removeprefix(f"{TOOLS}/bin:")
        root = home / "workspace"
        root.mkdir()
        # On one processor: waking an idle one can take longer than a cell.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        show_machine()
        for name in ("python3", "node"):
            show_version(name, [find(name, env), "--version"], env)
        ipykernel = [
            str(TOOLS / "pip/ipykernel/bin/python"),
            "-c",
            "import ipykernel as i; print(i.__version__)",
        ]
        show_version("ipykernel", ipykernel, env)
        python = measure_python(program, root, env, args.rounds)
        javascript = measure_javascript(program, root, env, args.rounds)
    end(show("Python", python, PYTHON) + show("JavaScript", javascript, JAVASCRIPT))


if __name__ == "__main__":
    main()
