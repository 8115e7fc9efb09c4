#!/usr/bin/env python3
"""debug: the debugger beside bare clients of the same adapters, and beside @debugmcp/mcp-debugger.

    bench/debug.py [--rounds N] [--adapter ID] [--part start|step|job|idle] [WERKBANK]

The bare client starts the same adapter with the same arguments (the catalogue's), in the same
order, and asks for what a stop's report is made of: stackTrace, scopes, variables. It reads no
source file.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import clients
import common
import peers

STEPS = 20  # of the job
STEPS_A_ROUND = 5  # of the comparison step by step
JOBS_A_ROUND = 0.25  # the peer takes up to half a minute for one

C = """\
#include <stdio.h>

static long work(long seed)
{
    long result = seed * 3; /* stop */
    result += 7;
    return result;
}

int main(void)
{
    char text[] = "hello";
    double ratio = 1.5;
    long total = 0, turn = 0; /* begin */
    while (turn < 1000000) {
        total += work(turn);
        ratio *= 1.0001;
        text[0] = (char)('a' + turn % 26);
        turn += 1;
        total %= 1000003;
    }
    printf("%ld %f %s\\n", total, ratio, text);
    return 0;
}
"""

PYTHON = """\
def work(seed):
    result = seed * 3  # stop
    result += 7
    return result


def main():
    text = "hello"
    ratio = 1.5
    total = turn = 0  # begin
    while turn < 1000000:
        total += work(turn)
        ratio *= 1.0001
        text = "hello" + str(turn)
        turn += 1
        total %= 1000003
    print(total, ratio, text)


main()
"""

GO = """\
package main

import "fmt"

func work(seed int) int {
	result := seed * 3 // stop
	result += 7
	return result
}

func main() {
	text := "hello"
	ratio := 1.5
	total, turn := 0, 0 // begin
	for turn < 1000000 {
		total += work(turn)
		ratio *= 1.0001
		text = string(rune('a' + turn%26))
		turn += 1
		total %= 1000003
	}
	fmt.Println(total, ratio, text)
}
"""

JAVASCRIPT = """\
function work(seed) {
  let result = seed * 3; // stop
  result += 7;
  return result;
}

function main() {
  let text = 'hello';
  let ratio = 1.5;
  let total = 0, turn = 0; // begin
  while (turn < 1000000) {
    total += work(turn);
    ratio *= 1.0001;
    text = 'hello' + turn;
    turn += 1;
    total %= 1000003;
  }
  console.log(total, ratio, text);
}

main();
"""


class Sample:
    """A program, the adapter that debugs it, and what the peer calls its language."""

    def __init__(self, adapter, language, source, text, marker, program=None, kind="source"):
        self.adapter, self.language, self.kind = adapter, language, kind
        self.source, self.text, self.marker = source, text, marker
        self.program = program or source

    def build(self, root, env):
        content = "module sample\n\ngo 1.24\n" if self.marker == "go.mod" else ""
        content = "{}" if self.marker == "package.json" else content
        common.write_files(root, {self.source: self.text, self.marker: content})
        if self.adapter == "debugpy":
            os.symlink(common.TOOLS / "pip" / "adapters", root / ".venv")
        if self.kind == "binary":
            build = ["cc", "-g", "-O0", "-o", self.program, self.source]
            if self.adapter == "delve":
                build = ["go", "build", "-gcflags=all=-N -l", "-o", self.program, "."]
            subprocess.run(build, cwd=root, env=env, check=True)

    def line(self, mark):
        """Of the line whose comment this is."""
        ends = (f" {mark}", f" {mark} */")
        lines = enumerate(self.text.splitlines(), 1)
        return next(number for number, line in lines if line.endswith(ends))


SAMPLES = [
    Sample("lldb", "cpp", "main.c", C, "CMakeLists.txt", "program", "binary"),
    Sample("codelldb", "cpp", "main.c", C, "CMakeLists.txt", "program", "binary"),
    Sample("debugpy", "python", "main.py", PYTHON, "pyproject.toml"),
    Sample("delve", "go", "main.go", GO, "go.mod", "program", "binary"),
    Sample("js-debug", "javascript", "main.js", JAVASCRIPT, "package.json"),
]


# --- the bare client ---


class Channel:
    """One connection to an adapter."""

    def __init__(self, read_fd, write_fd):
        self.read_fd, self.write_fd = read_fd, write_fd
        self.buffer = b""
        self.seq = 0
        self.kept = []

    def send(self, command, arguments):
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command, "arguments": arguments}
        self.put(message)
        return self.seq

    def put(self, message):
        body = json.dumps(message).encode()
        os.write(self.write_fd, b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def next(self):
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        length = int(head.rsplit(b":", 1)[1])
        while len(self.buffer) < length:
            self.fill()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return json.loads(body)

    def fill(self):
        data = os.read(self.read_fd, 1 << 18)
        if not data:
            raise SystemExit("an adapter has ended")
        self.buffer += data

    def wait(self, wanted):
        """The first message that is wanted; the others are kept for a later look."""
        for index, message in enumerate(self.kept):
            if wanted(message):
                return self.kept.pop(index)
        while True:
            message = self.next()
            if message["type"] == "request":
                answer = {"seq": 0, "type": "response", "request_seq": message["seq"]}
                self.put({**answer, "success": True, "command": message["command"]})
            if wanted(message):
                return message
            if message["type"] != "event" or message["event"] in ("stopped", "initialized"):
                self.kept.append(message)

    def answer(self, seq):
        message = self.wait(lambda m: m["type"] == "response" and m["request_seq"] == seq)
        if not message["success"]:
            raise SystemExit(f"an adapter refused: {message}")
        return message.get("body")

    def event(self, name):
        return self.wait(lambda m: m["type"] == "event" and m["event"] == name).get("body")

    def ask(self, command, arguments):
        return self.answer(self.send(command, arguments))


def fill_template(value, values):
    """A catalogue template as arguments; None: it has no value, and its member goes."""
    if isinstance(value, str) and value in values:
        return values[value]
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace(name, str(text))
        return value
    if isinstance(value, list):
        filled = [fill_template(item, values) for item in value]
        return [] if filled == [[]] else [item for item in filled if item is not None]
    if isinstance(value, dict):
        filled = {key: fill_template(item, values) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item is not None}
    return value


def row_of(adapter):
    table = json.loads((common.SOURCE / "catalogue" / "debug-adapters.json").read_text())
    return next(row for row in table["adapters"] if row["id"] == adapter)


class Bare:
    def __init__(self, sample, root, env, werkbank):
        self.sample, self.root = sample, root
        self.row = row_of(sample.adapter)
        self.env = {**env, **self.row.get("env", {})}
        self.scratch = tempfile.mkdtemp(prefix="werkbank-bench-")
        for name, text in self.row.get("scratch_files", {}).items():
            pathlib.Path(self.scratch, name).write_text(text)
        self.child = None

    def argv(self, port):
        for words in self.row["commands"]:
            program = shutil.which(words[0], path=self.env["PATH"])
            local = self.root / ".venv" / "bin" / words[0]
            if local.exists() or program:
                head = str(local) if local.exists() else program
                return [head, *(word.replace("{port}", str(port)) for word in words[1:])]
        raise SystemExit(f"{self.sample.adapter} is not there; tools/setup bench installs it")

    def start(self):
        transport = self.row["transport"]
        pipes = {"stderr": subprocess.DEVNULL, "cwd": self.root, "env": self.env}
        # As Werkbank's: the kernel may share the processors by sessions.
        pipes["start_new_session"] = True
        if transport == "stdio":
            pipes.update(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.child = subprocess.Popen(self.argv(0), **pipes)
            self.main = Channel(self.child.stdout.fileno(), self.child.stdin.fileno())
            return
        pipes.update(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            if transport == "dial_in":
                self.child = subprocess.Popen(self.argv(self.port), **pipes)
                self.main = self.channel(listener.accept()[0])
                return
        self.child = subprocess.Popen(self.argv(self.port), **pipes)
        self.main = self.connect()

    def connect(self):
        while True:
            try:
                return self.channel(socket.create_connection(("127.0.0.1", self.port)))
            except ConnectionRefusedError:
                time.sleep(0.002)

    def channel(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        fd = connection.detach()
        return Channel(fd, fd)

    def shake_hands(self, channel, arguments, line):
        hello = {"clientID": "bench", "adapterID": self.row["id"], "pathFormat": "path"}
        hello.update(linesStartAt1=True, columnsStartAt1=True, supportsVariableType=True)
        hello.update(supportsStartDebuggingRequest=self.row.get("child_sessions", False))
        capabilities = channel.ask("initialize", {**hello, **self.row.get("initialize", {})})
        launch = channel.send("launch", arguments)
        channel.event("initialized")
        source = str(self.root / self.sample.source)
        lines = [{"line": line}] if line else []
        channel.ask("setBreakpoints", {"source": {"path": source}, "breakpoints": lines})
        filters = [
            one["filter"]
            for one in capabilities.get("exceptionBreakpointFilters", [])
            if one.get("default")
        ] + self.row.get("exceptions", [])
        channel.ask("setExceptionBreakpoints", {"filters": filters})
        done = channel.send("configurationDone", {})
        return launch, done

    def launch(self, line):
        begin = time.perf_counter()
        self.start()
        values = {
            "{program}": str(self.root / self.sample.program),
            "{folder}": str(self.root),
            "{args}": [],
            "{cwd}": str(self.root),
            "{env}": None,
            "{env_list}": None,
            "{interpreter}": None,
            "{stop_on_entry}": False,
            "{scratch}": self.scratch,
        }
        arguments = fill_template(self.row["launch"][self.sample.kind]["arguments"], values)
        self.shake_hands(self.main, arguments, line)
        self.code = self.main
        if self.row.get("child_sessions"):
            wanted = self.main.wait(lambda m: m.get("command") == "startDebugging")
            self.code = self.connect()
            self.shake_hands(self.code, wanted["arguments"]["configuration"], line)
        self.look()
        self.launch_ms = 1000 * (time.perf_counter() - begin)

    def look(self):
        """Waits for a stop, and asks for what its report is made of."""
        stop = self.code.event("stopped")
        self.thread = stop["threadId"]
        asked = {"threadId": self.thread, "startFrame": 0, "levels": 20}
        frame = self.code.ask("stackTrace", asked)["stackFrames"][0]
        scopes = self.code.ask("scopes", {"frameId": frame["id"]})["scopes"]
        for scope in locals_of(scopes):
            asked = {"variablesReference": scope["variablesReference"], "start": 0, "count": 21}
            self.code.ask("variables", asked)
        return frame

    def step(self):
        self.code.answer(self.code.send("next", {"threadId": self.thread}))
        return self.look()

    def end(self):
        with contextlib.suppress(OSError, SystemExit):
            if self.code is not self.main:
                self.code.send("disconnect", {"terminateDebuggee": True})
            self.main.send("disconnect", {"terminateDebuggee": True})
            time.sleep(0.3)
        if self.child.stdin is not None:
            self.child.stdin.close()
        try:
            self.child.wait(3)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        for channel in {self.main, self.code}:
            if channel.read_fd == channel.write_fd:
                os.close(channel.read_fd)

    def close(self):
        shutil.rmtree(self.scratch)


def locals_of(scopes):
    """Those whose variables a report shows: the first, and blocks and locals."""
    cheap = [one for one in scopes if not one.get("expensive") and one["variablesReference"]]
    return cheap[:1] + [one for one in cheap[1:] if one["name"].startswith(("Local", "Block"))]


# --- Werkbank ---


class Werkbank:
    name = "werkbank"

    def __init__(self, sample, root, env, werkbank):
        self.sample = sample
        argv = [werkbank, "serve", "--workspace", str(root), "--allow", "exec"]
        self.mcp = clients.Mcp(argv, env)
        self.calls = 0

    def debug(self, operation, **arguments):
        self.calls += 1
        result = self.mcp.ask(
            "tools/call", {"name": "debug", "arguments": {"operation": operation, **arguments}}
        )
        text = "".join(item.get("text", "") for item in result["content"])
        if result.get("isError"):
            raise SystemExit(f"debug {operation}: {text}")
        data = result.get("structuredContent")
        return text, data["value"] if operation in ("scopes", "variables") else data

    def launch(self, line):
        if line:
            self.debug("breakpoints", file=self.sample.source, lines=[line])
        begin = time.perf_counter()
        text, _ = self.debug("launch", program=self.sample.program, adapter=self.sample.adapter)
        self.launch_ms = 1000 * (time.perf_counter() - begin)
        if "stopped: breakpoint" not in text:
            raise SystemExit(f"no stop: {text}")
        return text

    def step(self):
        return self.debug("step_over")[0]

    def go_on(self):
        return self.debug("continue")[0]

    def look(self):
        """The stack, the top frame's scopes, and the variables of the first, which it returns."""
        frames = self.debug("stack")[1]["frames"]
        scopes = self.debug("scopes", frame_id=frames[0]["frame_id"])[1]
        return self.debug("variables", reference=scopes[0]["reference"])[0]

    def end(self):
        self.debug("terminate")

    def close(self):
        self.mcp.close()

    @staticmethod
    def own(pid):
        """It and its guards; not the adapters behind them."""
        return [pid, *(child for child in peers.children(pid) if "guard" in command_of(child))]


# --- the peer ---


class McpDebugger:
    """@debugmcp/mcp-debugger over its standard streams, which brings its own adapters but debugpy
    and delve. It tells no locals with a step: who wants them asks."""

    name = "mcp-debugger"

    def __init__(self, sample, root, env, werkbank):
        self.sample, self.root, self.calls = sample, root, 0
        program = common.TOOLS / "npm/adapters/node_modules/@debugmcp/mcp-debugger/dist/cli.mjs"
        argv = [common.find("node", env), str(program), "stdio", "--log-level", "error"]
        self.mcp = clients.Mcp(argv, env)

    def ask(self, tool, **arguments):
        self.calls += 1
        text, is_error = self.mcp.call(tool, **arguments)
        value = json.loads(text)
        if is_error or not value["success"]:
            raise SystemExit(f"{tool}: {text}")
        return value

    def launch(self, line):
        python = self.root / ".venv" / "bin" / "python"
        where = {"executablePath": str(python)} if python.exists() else {}
        made = self.ask("create_debug_session", language=self.sample.language, **where)
        self.session = made["sessionId"]
        source = str(self.root / self.sample.source)
        self.ask("set_breakpoint", sessionId=self.session, file=source, line=line)
        program = str(self.root / self.sample.program)
        mode = {"dapLaunchArgs": {"mode": "exec"}} if self.sample.adapter == "delve" else {}
        started = self.ask("start_debugging", sessionId=self.session, scriptPath=program, **mode)
        if started["state"] != "paused":
            raise SystemExit(f"no stop: {started}")

    def step(self):
        self.ask("step_over", sessionId=self.session)
        return json.dumps(self.ask("get_local_variables", sessionId=self.session))

    def go_on(self):
        """Looks until it has stopped again; only the look that sees it counts as a call."""
        before = self.stop()
        self.ask("continue_execution", sessionId=self.session)
        while self.stop() in (False, before):
            time.sleep(0.01)
        self.calls += 1

    def stop(self):
        text, _ = self.mcp.call("list_debug_sessions")
        session = json.loads(text)["sessions"][0]
        return session["state"] == "paused" and session["lastStop"]["timestamp"]

    def look(self):
        frames = self.ask("get_stack_trace", sessionId=self.session)["stackFrames"]
        asked = {"sessionId": self.session, "frameId": frames[0]["id"]}
        scopes = self.ask("get_scopes", **asked)["scopes"]
        reference = scopes[0]["variablesReference"]
        return json.dumps(self.ask("get_variables", sessionId=self.session, scope=reference))

    def end(self):
        self.ask("close_debug_session", sessionId=self.session)

    def close(self):
        self.mcp.close()

    @staticmethod
    def own(pid):
        """It and its proxy of a session; not the adapters behind that."""
        children = peers.children(pid)
        return [pid, *(child for child in children if "dist/proxy" in command_of(child))]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().replace("\0", " ")
    except OSError:
        return ""


# --- measuring ---


@contextlib.contextmanager
def project(sample):
    with common.bench_home() as (home, env):
        root = home / "project"
        sample.build(root, env)
        yield root, {**env, "HOME": str(home)}


def turns(kinds, number):
    return kinds[number % len(kinds) :] + kinds[: number % len(kinds)]


def measure_start(sample, rounds, werkbank):
    """From the launch to the report of the first stop. Werkbank's server runs already, as it does
    in front of an agent."""
    ours, bare = [], []
    with project(sample) as (root, env):
        for number in range(rounds + 1):
            for kind in turns([Werkbank, Bare], number):
                side = kind(sample, root, env, werkbank)
                side.launch(sample.line("begin"))
                (bare if kind is Bare else ours).append(side.launch_ms)
                side.end()
                side.close()
    del ours[0], bare[0]  # nothing was in the system's caches
    common.show_samples(f"{sample.adapter} start, werkbank ms", ours, 1)
    common.show_samples(f"{sample.adapter} start, bare ms", bare, 1)
    return [common.compare(f"{sample.adapter}, launch to first stop", ours, bare, 1.05, more=5)]


def measure_steps(sample, rounds, werkbank):
    """Step by step by turns, each side in its own session."""
    samples = {Werkbank: [], Bare: []}
    with project(sample) as (root, env), project(sample) as (other, other_env):
        sides = [Werkbank(sample, root, env, werkbank), Bare(sample, other, other_env, werkbank)]
        for side in sides:
            side.launch(sample.line("begin"))
            side.step()
        for number in range(rounds * STEPS_A_ROUND):
            for side in turns(sides, number):
                begin = time.perf_counter()
                side.step()
                samples[type(side)].append(1000 * (time.perf_counter() - begin))
        for side in sides:
            side.end()
            side.close()
    quarters = {kind: statistics.quantiles(values, n=4) for kind, values in samples.items()}
    for kind, (low, middle, high) in quarters.items():
        print(f"{sample.adapter} step, {kind.__name__} ms: {low:.3f} {middle:.3f} {high:.3f}")
    what = f"{sample.adapter}, a step over with source lines and locals"
    return [common.compare(what, samples[Werkbank], samples[Bare], 1.2)]


def run_job(kind, sample, root, env, werkbank):
    begin = time.perf_counter()
    side = kind(sample, root, env, werkbank)
    meter = peers.Meter(side.mcp.child.pid, kind.own)
    side.launch(sample.line("stop"))
    for stop in range(3):
        if stop > 0:
            side.go_on()
        if "seed" not in side.look():
            raise SystemExit(f"{kind.name}: no locals at the stop")
    for _ in range(STEPS):
        side.step()
    side.end()
    figures = {"wall ms": 1000 * (time.perf_counter() - begin), **meter.end()}
    side.close()
    return {**figures, "calls": side.calls}


def measure_job(sample, rounds, werkbank):
    """Launch, 3 stops with stack, scopes and variables, 20 steps, each with its place, source
    lines and locals, terminate."""
    samples = {}
    for number in range(max(1, int(rounds * JOBS_A_ROUND))):
        for kind in turns([Werkbank, McpDebugger], number):
            with project(sample) as (root, env):
                for figure, value in run_job(kind, sample, root, env, werkbank).items():
                    samples.setdefault((figure, kind), []).append(value)
    for (figure, kind), values in samples.items():
        common.show_samples(f"{sample.adapter} {kind.name} {figure}", values, 1)
    return [
        common.compare(
            f"{sample.adapter}, the session's {figure.split()[0]} beside {McpDebugger.name}",
            samples[figure, Werkbank],
            samples[figure, McpDebugger],
            1,
            unit=figure.split()[-1],
        )
        for figure in ("wall ms", "cpu ms", "pss MiB", "calls")
    ]


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty:"))


def measure_idle(sample, rounds, werkbank):
    """What a stopped session adds to a host that had one before."""
    costs = []
    with project(sample) as (root, env):
        side = Werkbank(sample, root, env, werkbank)
        for number in range(rounds + 1):
            before = private_kib(side.mcp.child.pid)
            side.launch(sample.line("stop"))
            side.look()
            time.sleep(0.2)
            costs.append(private_kib(side.mcp.child.pid) - before)
            side.end()
        side.close()
    common.show_samples(f"{sample.adapter} first and later stopped sessions, KiB", costs, 0)
    what = f"{sample.adapter}, a stopped session, beside the limit"
    return [common.compare(what, costs[1:], [100.0] * rounds, 1, unit="KiB")]


PARTS = {
    "start": (measure_start, ("lldb", "debugpy", "delve", "js-debug")),
    "step": (measure_steps, ("lldb", "debugpy", "delve", "js-debug")),
    "job": (measure_job, ("codelldb", "debugpy", "delve", "js-debug")),
    "idle": (measure_idle, ("lldb", "debugpy")),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--adapter", help="only this one")
    parser.add_argument("--part", choices=PARTS, help="only this one")
    common.add_program(parser)
    args = parser.parse_args()
    werkbank = os.path.abspath(args.werkbank)
    # On one processor: waking an idle one can take longer than an adapter's answer.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    common.show_machine()
    with common.bench_home() as (_, env):
        common.show_version("werkbank", [werkbank, "--version"], env)
        common.show_version("dlv", [common.find("dlv", env), "version"], env)
        common.show_version("node", [common.find("node", env), "--version"], env)
        print("# the others as pinned in third_party/pip/adapters and third_party/npm/adapters")
    results = []
    for part, (measure, adapters) in PARTS.items():
        for sample in SAMPLES:
            wanted = args.part in (None, part) and args.adapter in (None, sample.adapter)
            if wanted and sample.adapter in adapters:
                results += measure(sample, args.rounds, werkbank)
    common.end(results)


if __name__ == "__main__":
    main()
