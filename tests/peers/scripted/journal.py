"""The journal: one JSON object a line, appended by every start of the server.

A test reads it afterwards and asserts what the client really sent. Entries have `event` and `pid`:
start, stop, received, sent, answered (the client's answer to a request of ours), violation (the
client broke a rule of the protocol), grandchild, sigterm.
"""

import json
import os
import time

# Longer strings (a 5 MB document) are cut in the journal; their length is kept.
STRING_LIMIT = 4096


def shorten(value):
    """The value with long strings cut, so that a journal stays readable."""
    if isinstance(value, str) and len(value) > STRING_LIMIT:
        return value[:STRING_LIMIT] + f"...({len(value)} characters)"
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    return value


class Journal:
    def __init__(self, path):
        self.fd = None
        if path:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self.fd = os.open(path, flags, 0o644)

    def write(self, event, **fields):
        if self.fd is None:
            return
        entry = {"event": event, "pid": os.getpid(), "time": time.time()}
        entry.update(shorten(fields))
        # One write call with O_APPEND: lines of several processes never mix.
        os.write(self.fd, (json.dumps(entry) + "\n").encode())


def count_starts(path):
    """How often a server with this journal was started before."""
    try:
        with open(path, encoding="utf-8") as journal:
            return sum(1 for line in journal if '"event": "start"' in line)
    except OSError:
        return 0
