"""Which processes a test has left, found by a marker in their environment.

Every process that a test starts inherits WERKBANK_TEST_ID; servers and their children keep it, also
when they leave their session or lose their parent.
"""

import os
import socket
import time

MARKER = "WERKBANK_TEST_ID"


def marked(test_id):
    """The live processes of a test: pid to command line. Zombies are dead."""
    wanted = f"{MARKER}={test_id}".encode()
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{name}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X"):
                    continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                found[int(name)] = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def survivors(test_id, seconds=3):
    """What still runs after so many seconds; returns as soon as nothing does."""
    deadline = time.monotonic() + seconds
    while True:
        left = marked(test_id)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def status(pid, key):
    """A line of /proc's status, or "" when the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return ""
    return lines[key].strip()


def parent(pid):
    return int(status(pid, "PPid") or 0)


def runs_freely(pid):
    """Neither stopped nor traced."""
    return status(pid, "State")[:1] in ("R", "S") and status(pid, "TracerPid") == "0"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_listening(port):
    """Without connecting: debuggers take the first client for the only one."""
    with open("/proc/net/tcp") as table:
        fields = [line.split() for line in table][1:]
    return any(one[1] == f"0100007F:{port:04X}" and one[3] == "0A" for one in fields)


def descriptors(pid):
    """The open descriptors of a process: number to target."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
    return found


def wait_until(condition, seconds=30, what="the condition"):
    """Waits for something that another process does; not for our own program's speed."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about in {seconds} s")
        time.sleep(0.02)
