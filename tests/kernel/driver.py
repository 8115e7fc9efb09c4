"""Drives kernel.py and kernel.js as the host does, over three pipes (kernel/frame.h), and holds them
to the page: strict JSON, rising marks, one DONE a cell and nothing behind it.
"""

import json
import os
import pathlib
import re
import secrets
import selectors
import shutil
import signal
import struct
import subprocess
import sys
import time

SOURCE = pathlib.Path(
    os.environ.get("WERKBANK_SOURCE", pathlib.Path(__file__).parent.parent.parent)
)
KERNELS = SOURCE / "src" / "kernel"

EXEC, TOOL_RESULT, INTERRUPT, SHUTDOWN = range(1, 5)
HELLO, DISPLAY, RESULT, ERROR, TOOL_CALL, TOOL_CANCELLED, DONE = range(16, 23)
MORE = 1
HEADER = struct.Struct("<IBBHII")
FRAME_BYTES_MAX = 8 * 1024 * 1024

PYTHON = os.environ.get("WERKBANK_TEST_PYTHON", sys.executable)  # whose kernel is tested
ANSWER_SECONDS = int(os.environ.get("WERKBANK_TEST_SECONDS", 60))
SHELL = 'exec "$0" "$@" 7>&2 8<&0 9>&1 0</dev/null 1>&2'


def command(language, python):
    if language == "python":
        return [python, "-c", (KERNELS / "python" / "loader.py").read_text()]
    loader = (KERNELS / "javascript" / "loader.js").read_text()
    return ["sh", "-c", SHELL, shutil.which("node"), "--no-force-async-hooks-checks", "-e", loader]


def bootstrap(language):
    return (
        KERNELS / language / {"python": "kernel.py", "javascript": "kernel.js"}[language]
    ).read_bytes()


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def parse_json(data):
    value = json.loads(data.decode(), parse_constant=refuse_constant)
    json.dumps(value, ensure_ascii=False).encode()  # no lone surrogates
    return value


class Forms:
    """A DISPLAY or a RESULT."""

    def __init__(self, payload):
        size = int.from_bytes(payload[:4], "little")
        head = parse_json(payload[4 : 4 + size])
        self.mark, self.mimes = head["mark"], head["mimes"]
        self.id, self.update, self.clear = head["id"], head["update"], head.get("clear", False)
        self.blobs, at = {}, 4 + size
        for blob in head["blobs"]:
            self.blobs[blob["mime"]] = payload[at : at + blob["bytes"]]
            at += blob["bytes"]
        assert at == len(payload)
        assert "text/plain" in self.mimes
        self.text = self.mimes["text/plain"]


class Outcome:
    """What a cell gave. background: text from before it. text: what it printed. story: the same and
    "[display]" where displays stand."""

    def __init__(self):
        self.background = self.text = self.story = ""
        self.displays, self.calls, self.cancelled = [], [], []
        self.result = self.error = self.done = None

    @property
    def status(self):
        return self.done["status"]

    @property
    def value(self):
        return self.result and self.result.text

    def __repr__(self):
        return f"<{self.done} value {self.value!r} text {self.text!r} error {self.error}>"


class Kernel:
    """answers: {tool: function of the arguments that gives the data, raises, or gives NOT_YET}."""

    NOT_YET = object()

    def __init__(self, language, cwd, python=PYTHON, env=None):
        self.nonce = secrets.token_hex(16)
        self.process = subprocess.Popen(
            [*command(language, python), self.nonce],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            bufsize=0,
            start_new_session=True,
        )
        self.selector = selectors.DefaultSelector()
        for stream, take in (
            (self.process.stdout, self.take_frames),
            (self.process.stderr, self.take_raw),
        ):
            self.selector.register(stream, selectors.EVENT_READ, take)
        self.frames = self.raw = b""
        self.parts = []
        self.answers = {}
        self.cell = self.last_mark = 0
        self.outcome = self.hello = None
        self.pieces = [""]  # text; ["mark", number]; text ...
        self.begun = self.ended = False
        source = bootstrap(language)
        self.write(len(source).to_bytes(4, "little") + source)
        self.wait_for(lambda: self.hello is not None)

    # --- bytes ---

    def write(self, data):
        """All of it, while what comes is read: neither side may wait for the other for ever."""
        view = memoryview(data)
        os.set_blocking(self.process.stdin.fileno(), False)
        while view:
            try:
                view = view[os.write(self.process.stdin.fileno(), view) :]
            except BlockingIOError:
                self.pump(0.01)

    def send(self, kind, value, cell, call=0):
        payload = json.dumps(value).encode()
        at = 0
        while True:
            part = payload[at : at + FRAME_BYTES_MAX]
            at += len(part)
            self.write(
                HEADER.pack(len(part), kind, MORE if at < len(payload) else 0, 0, cell, call) + part
            )
            if at >= len(payload):
                return

    def pump(self, seconds):
        for key, _ in self.selector.select(seconds):
            data = os.read(key.fd, 1 << 20)
            if data:
                key.data(data)
            else:
                self.selector.unregister(key.fileobj)
                self.ended = self.ended or key.fileobj is self.process.stdout

    def wait_for(self, holds, seconds=ANSWER_SECONDS):
        deadline = time.monotonic() + seconds
        while not holds():
            assert not self.ended, f"the kernel has ended: {self.pieces}"
            assert (
                time.monotonic() < deadline
            ), f"nothing in {seconds} s: {self.outcome} {self.pieces}"
            self.pump(0.05)

    def take_raw(self, data):
        """Text and marks; a mark may be cut anywhere."""
        pattern = f"\x1eWB{self.nonce}:(\\d+)\x1e".encode()
        self.raw += data
        while True:
            found = re.search(pattern, self.raw)
            if found is None:
                break
            self.pieces[-1] += self.raw[: found.start()].decode(errors="replace")
            mark = int(found[1])
            assert mark == self.last_mark + 1
            self.last_mark = mark
            self.pieces += [mark, ""]
            self.raw = self.raw[found.end() :]
        if b"\x1e" not in self.raw:
            self.pieces[-1] += self.raw.decode(errors="replace")
            self.raw = b""

    def take_frames(self, data):
        self.frames += data
        if not self.begun:
            banner = f"werkbank-kernel {self.nonce}\n".encode()
            if len(self.frames) < len(banner):
                return
            assert self.frames.startswith(banner)
            self.frames, self.begun = self.frames[len(banner) :], True
        while len(self.frames) >= HEADER.size:
            size, kind, flags, zero, cell, call = HEADER.unpack_from(self.frames)
            assert size <= FRAME_BYTES_MAX and zero == 0
            if len(self.frames) < HEADER.size + size:
                return
            self.parts.append(self.frames[HEADER.size : HEADER.size + size])
            self.frames = self.frames[HEADER.size + size :]
            if not flags & MORE:
                payload, self.parts = b"".join(self.parts), []
                self.take_frame(kind, cell, call, payload)

    def take_frame(self, kind, cell, call, payload):
        if kind == HELLO:
            self.hello = parse_json(payload)
            return
        assert cell == self.cell and self.outcome.done is None, (kind, cell, payload)
        if kind == DISPLAY:
            self.outcome.displays.append(Forms(payload))
        elif kind == RESULT:
            assert self.outcome.result is None
            self.outcome.result = Forms(payload)
        elif kind == ERROR:
            self.outcome.error = parse_json(payload)
        elif kind == TOOL_CALL:
            self.answer(call, **parse_json(payload))
        elif kind == TOOL_CANCELLED:
            self.outcome.cancelled.append(call)
        elif kind == DONE:
            self.outcome.done = parse_json(payload)
        else:
            raise AssertionError(f"a frame of type {kind}")

    # --- the bridge ---

    def answer(self, call, tool, args):
        self.outcome.calls.append((tool, args))
        if tool not in self.answers:
            return self.fail(call, f"there is no tool {tool}", "not_found")
        try:
            data = self.answers[tool](args)
        except Exception as error:
            return self.fail(call, str(error), "refused")
        if data is not self.NOT_YET:
            self.succeed(call, data)

    def succeed(self, call, data):
        self.send(
            TOOL_RESULT, {"ok": True, "text": "text", "data": data, "pictures": 0}, self.cell, call
        )

    def fail(self, call, text, kind):
        self.send(
            TOOL_RESULT,
            {"ok": False, "text": text, "data": None, "kind": kind, "pictures": 0},
            self.cell,
            call,
        )

    # --- cells ---

    def begin(self, code):
        self.cell += 1
        self.outcome = Outcome()
        # What stands behind the last mark is of no cell.
        before, self.pieces = "".join(str(it) for it in self.pieces), [""]
        self.outcome.background = before
        self.send(EXEC, {"code": code}, self.cell)

    def finish(self, seconds=ANSWER_SECONDS):
        outcome = self.outcome
        self.wait_for(lambda: outcome.done is not None, seconds)
        self.wait_for(lambda: outcome.done["mark"] in self.pieces, 10)
        at = self.pieces.index(outcome.done["mark"])
        shown = {display.mark for display in outcome.displays}
        for piece in self.pieces[:at]:
            if isinstance(piece, str):
                outcome.text += piece
                outcome.story += piece
            elif piece in shown:
                outcome.story += "[display]"
        self.pieces = [self.pieces[at + 1]]
        return outcome

    def run(self, code, seconds=ANSWER_SECONDS):
        self.begin(code)
        return self.finish(seconds)

    def ok(self, code, seconds=ANSWER_SECONDS):
        outcome = self.run(code, seconds)
        assert outcome.status == "ok", outcome
        return outcome

    def value(self, code):
        return self.ok(code).value

    def text(self, code):
        return self.ok(code).text

    def error(self, code):
        outcome = self.run(code)
        assert outcome.status == "error", outcome
        return outcome.error

    def printed(self, text, seconds=ANSWER_SECONDS):
        """Waits until the cell has printed it."""
        self.wait_for(lambda: text in "".join(str(it) for it in self.pieces), seconds)

    def background(self, text, seconds=ANSWER_SECONDS):
        """Waits for text between cells."""
        self.printed(text, seconds)

    def interrupt(self, cell=None):
        self.send(INTERRUPT, {}, self.cell if cell is None else cell)

    def interrupted(self, code, text="ready", seconds=ANSWER_SECONDS):
        """Interrupts a cell once it has printed `text`; it must end by that alone, soon."""
        self.begin(code)
        self.printed(text, seconds)
        time.sleep(0.05)
        self.interrupt()
        outcome = self.finish(seconds=20)
        assert outcome.status == "interrupted", outcome
        return outcome

    def close(self):
        """In order: a kernel that was told to end does so by itself."""
        if self.process.poll() is None and not self.ended:
            self.send(SHUTDOWN, {}, 0)
            deadline = time.monotonic() + 20
            while self.process.poll() is None and time.monotonic() < deadline:
                self.pump(0.02)
        status = self.process.poll()
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.selector.close()
        return status

    def kill(self):
        """The kernel and its group, which it leads."""
        for kill in (os.killpg, os.kill):
            try:
                kill(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
