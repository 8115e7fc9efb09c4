"""A kernel for unit tests, run by the loader like the real one: a cell's code is Python that writes
what a kernel would, or should not. Knows kernel/frame.h."""

import json
import os
import queue
import signal
import struct
import threading
import time

HELLO, DISPLAY, RESULT, ERROR, TOOL_CALL, TOOL_CANCELLED, DONE = range(16, 23)
EXEC, TOOL_RESULT, INTERRUPT, SHUTDOWN = range(1, 5)

frames_in, frames_out = os.dup(0), os.dup(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
signals = []
signal.signal(signal.SIGINT, lambda *_: signals.append("SIGINT"))
incoming = queue.Queue()
marks = 0
cell = 0


def read(size):
    data = b""
    while len(data) < size:
        part = os.read(frames_in, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def read_frames():
    while True:
        size, kind, flags, _, number, call = struct.unpack("<IBBHII", read(16))
        incoming.put((kind, number, call, read(size)))


def send(kind, payload, number=None, call=0, flags=0):
    if not isinstance(payload, bytes):
        payload = json.dumps(payload).encode()
    number = cell if number is None else number
    data = struct.pack("<IBBHII", len(payload), kind, flags, 0, number, call) + payload
    while data:
        data = data[os.write(frames_out, data) :]


def text(data):
    data = data.encode() if isinstance(data, str) else data
    while data:
        data = data[os.write(2, data) :]


def mark():
    global marks
    marks += 1
    text(f"\x1eWB{nonce}:{marks}\x1e")
    return marks


def bundle(kind, mimes, blobs=(), **more):
    head = {"mark": mark(), "mimes": mimes, "id": None, "update": False, **more}
    head["blobs"] = [{"mime": mime, "bytes": len(data)} for mime, data in blobs]
    head = json.dumps(head).encode()
    send(kind, struct.pack("<I", len(head)) + head + b"".join(data for _, data in blobs))


def done(status="ok", **more):
    send(DONE, {"mark": mark(), "status": status, "cwd": os.getcwd(), "ending": False, **more})


def wait(kind, seconds=60):
    """The next frame of this kind: (cell, call, object)."""
    while True:
        frame = incoming.get(timeout=seconds)
        if frame[0] == kind:
            return frame[1], frame[2], json.loads(frame[3])


os.write(frames_out, f"werkbank-kernel {nonce}\n".encode())
send(
    HELLO,
    {
        "protocol": 1,
        "language": "python",
        "version": "3.11.2",
        "executable": "/scripted",
        "pid": os.getpid(),
        "cwd": os.getcwd(),
    },
    0,
)
threading.Thread(target=read_frames, daemon=True).start()
while True:
    kind, number, call, payload = incoming.get()
    if kind == SHUTDOWN:
        os._exit(0)
    if kind == EXEC:
        cell = number
        exec(json.loads(payload)["code"])
