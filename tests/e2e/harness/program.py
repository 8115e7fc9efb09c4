"""The program under test: one call, one session of `call -`, and the environment they run in."""

import json
import os
import pathlib
import queue
import subprocess
import threading

from . import processes

E2E = pathlib.Path(__file__).resolve().parent.parent
SOURCE = pathlib.Path(os.environ.get("WERKBANK_SOURCE", E2E.parent.parent))
BINARY = os.environ.get("WERKBANK", str(SOURCE / "build" / "werkbank"))
DATA_HOME = os.environ.get("XDG_DATA_HOME", os.path.expanduser("~/.local/share"))
TOOLS = pathlib.Path(os.environ.get("WERKBANK_TOOLS", f"{DATA_HOME}/werkbank/tools"))

# Generous: a cold JVM or a sanitizer build on a busy machine must not fail a test.
ANSWER_SECONDS = 120
END_SECONDS = 60


class Result:
    """One tool's answer."""

    def __init__(self, tool, text, data, attachments, is_error):
        self.tool = tool
        self.text = text
        self.data = data
        self.attachments = attachments
        self.is_error = is_error

    @classmethod
    def from_json(cls, value):
        return cls(
            value.get("tool"),
            value["text"],
            value.get("data"),
            value.get("attachments", []),
            value["is_error"],
        )

    def __repr__(self):
        mark = "error: " if self.is_error else ""
        return f"<{self.tool} {mark}{self.text!r} {json.dumps(self.data)}>"


class Finished:
    """A command that has ended."""

    def __init__(self, status, stdout, stderr):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr

    def json(self):
        return json.loads(self.stdout)

    def __repr__(self):
        return f"<status {self.status}\nstdout: {self.stdout}\nstderr: {self.stderr}>"


def check_sanitizers(stderr):
    for mark in ("Sanitizer", "runtime error:"):
        assert mark not in stderr, stderr[-20000:]


class Pipe:
    """A process of the program that reads and writes lines; reading never blocks for ever."""

    def __init__(self, argv, env, cwd=None):
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
        )
        self.pid = self.process.pid
        self.lines = queue.Queue()
        self.errors = []
        self.threads = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _read_lines(self):
        for line in self.process.stdout:
            self.on_line(line)
        self.on_line(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    def on_line(self, line):
        """A line, or None at the end. On the reader's thread."""
        self.lines.put(line)

    def write(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read_line(self, seconds=ANSWER_SECONDS):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no answer in {seconds} s; stderr: {self.stderr()}") from None
        assert line is not None, f"the program ended; stderr: {self.stderr()}"
        return line

    def stderr(self):
        return "".join(self.errors)

    def kill(self):
        """SIGKILL, as the kernel's own memory killer does it."""
        self.process.kill()
        self.process.wait()

    def close(self):
        """Ends it by the end of its input, and checks that it ended in order."""
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("the program did not end with its input") from None
        for thread in self.threads:
            thread.join(END_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        check_sanitizers(self.stderr())
        return self.process.returncode


class Session(Pipe):
    """`werkbank call -`: calls one after the other, all in one run."""

    def send(self, tool, args):
        self.write(json.dumps({"tool": tool, "args": args}) + "\n")

    def receive(self, seconds=ANSWER_SECONDS):
        return Result.from_json(json.loads(self.read_line(seconds)))

    def call(self, tool, **args):
        """The answer, whatever it is."""
        self.send(tool, args)
        return self.receive()

    def ok(self, tool, **args):
        """The answer of a call that must not be an error."""
        result = self.call(tool, **args)
        assert not result.is_error, result
        return result

    def error(self, tool, **args):
        """The text of a call that must be an error."""
        result = self.call(tool, **args)
        assert result.is_error, result
        return result.text


class Werkbank:
    """Starts the program in an environment of its own, and knows everything that it left."""

    def __init__(self, home, test_id):
        self.home = home
        self.test_id = test_id
        self.open = []
        self.env = dict(os.environ)
        self.env.update(
            {
                processes.MARKER: test_id,
                "XDG_CONFIG_HOME": str(home / "config"),
                "XDG_STATE_HOME": str(home / "state"),
                "PATH": f"{TOOLS}/bin:{os.environ['PATH']}",
            }
        )
        # The tests say what is trusted and configured, not the shell that runs them.
        for name in ("WERKBANK_CONFIG", "MAKEFLAGS", "MAKELEVEL"):
            self.env.pop(name, None)

    def run(self, *args, input="", env=None, cwd=None, seconds=ANSWER_SECONDS):
        """The program with these arguments, to its end."""
        argv = [arg if isinstance(arg, bytes) else str(arg) for arg in args]
        done = subprocess.run(
            [BINARY, *argv],
            input=input if isinstance(input, bytes) else input.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.env, **(env or {})},
            cwd=cwd or self.home,
            timeout=seconds,
        )
        finished = Finished(
            done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")
        )
        check_sanitizers(finished.stderr)
        assert finished.status >= 0, finished
        return finished

    def call(self, workspace, tool, args, *options, **more):
        """`werkbank call TOOL JSON --json`, as a Result."""
        text = args if isinstance(args, str) else json.dumps(args)
        finished = self.run(
            "call", "--workspace", workspace, "--json", *options, tool, text, **more
        )
        assert finished.status in (0, 1), finished
        result = Result.from_json(finished.json())
        assert result.is_error == (finished.status == 1), finished
        return result

    def start(self, kind, *args, env=None, cwd=None):
        started = kind([BINARY, *map(str, args)], {**self.env, **(env or {})}, cwd or self.home)
        self.open.append(started)
        return started

    def session(self, workspace, *options, env=None):
        return self.start(Session, "call", "--workspace", workspace, *options, "-", env=env)

    def transcripts(self):
        """Every event of every conversation, in the order of the lines."""
        events = []
        for path in sorted(pathlib.Path(self.home).glob("state/**/conversations/*.jsonl")):
            events += [json.loads(line) for line in path.read_text().splitlines()]
        return events

    def close(self):
        """Ends what runs; fails when a process outlives the program or a sanitizer has spoken."""
        for started in self.open:
            started.close()
        self.open = []
        left = processes.survivors(self.test_id)
        for pid in left:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        assert not left, f"still alive 3 s after the end: {left}"
