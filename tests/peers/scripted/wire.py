"""Content-Length framing, and every way to get it wrong.

Knows the scenario's framing switches; knows no method.
"""

import json
import os
import threading


def read_message(stream):
    """The next message, or None at the end of the stream."""
    length = None
    while True:
        line = stream.readline()
        if not line:
            return None
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if length is None:
        raise ValueError("a header without Content-Length")
    body = stream.read(length)
    if len(body) < length:
        return None
    return json.loads(body.decode("utf-8"))


def corrupt_frame(kind, body):
    """A broken frame of the given kind, in place of a good one with this body."""
    size = str(len(body)).encode()
    frames = {
        "absurd_length": b"Content-Length: 99999999999999999999\r\n\r\n" + body,
        "huge_length": b"Content-Length: 2147483647\r\n\r\n" + body,
        "negative_length": b"Content-Length: -5\r\n\r\n" + body,
        "word_length": b"Content-Length: many\r\n\r\n" + body,
        "no_length": b"Content-Type: application/json\r\n\r\n" + body,
        "invalid_utf8": b"Content-Length: %s\r\n\r\n" % size + b"\xff\xfe" + body[2:],
        "invalid_json": b"Content-Length: %s\r\n\r\n" % size + b"}" * len(body),
        "not_an_object": b"Content-Length: 4\r\n\r\nnull",
        "empty_body": b"Content-Length: 0\r\n\r\n",
        "deep_json": b"Content-Length: 200000\r\n\r\n" + b"[" * 200000,
        "eof_mid_frame": b"Content-Length: %s\r\n\r\n" % size + body[: len(body) // 2],
        "eof_mid_header": b"Content-Len",
        "long_line": b"X" * 200000,
        "many_headers": b"X-Scripted: yes\r\n" * 20000,
    }
    return frames[kind]


class Writer:
    """Sends whole messages; safe to call from every thread."""

    def __init__(self, fd, scenario):
        self.fd = fd
        self.lock = threading.Lock()
        self.garbage = scenario.get("stdout_garbage", "").encode()
        self.garbage_each = scenario.get("stdout_garbage_each", "").encode()
        self.extra_headers = scenario.get("extra_headers", False)
        self.lower_case = scenario.get("lower_case_headers", False)
        self.split = scenario.get("split_bytes", False)

    def write_bytes(self, data):
        with self.lock:
            self._write_all(data)

    def send(self, message):
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with self.lock:
            garbage, self.garbage = self.garbage, b""
            header = garbage + self.garbage_each + self._header(len(body))
            if self.split:
                for index in range(len(header)):
                    self._write_all(header[index : index + 1])
                for index in range(0, len(body), 7):
                    self._write_all(body[index : index + 7])
            else:
                self._write_all(header + body)

    def _header(self, length):
        name = b"content-length" if self.lower_case else b"Content-Length"
        header = name + b": %d\r\n" % length
        if self.extra_headers:
            kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
            header = kind + header + b"X-Scripted: yes\r\n"
        return header + b"\r\n"

    def _write_all(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.fd, view) :]
