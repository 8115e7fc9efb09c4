#!/usr/bin/env python3
"""A debug adapter, steered by a JSON scenario, for what real adapters do not show on demand.

    scripted_dap.py SCENARIO.json [--listen PORT | --dial PORT]

With --listen it takes one connection, and with `start_debugging` one more for each child session.

Without a port it speaks on standard input and output. It debugs a tiny language
(scripted/steps.py). The scenario is one object; every switch is optional. tests/peers/README.md
lists them.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scripted import wire  # noqa: E402
from scripted.adapter import Adapter  # noqa: E402
from scripted.journal import Journal  # noqa: E402


def open_standard_streams():
    # A stray print must not break a frame.
    out = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(out, False)
    return sys.stdin.buffer, out


def streams_of(connection):
    return os.fdopen(os.dup(connection.fileno()), "rb"), connection.detach()


def open_connection(how, port, scenario):
    """The streams of the first connection, and the listener for those of child sessions."""
    wrong = scenario.get("connection")
    if wrong == "never":
        time.sleep(3600)
    if how == "--dial":
        connection, listener = socket.create_connection(("127.0.0.1", port)), None
    else:
        time.sleep(scenario.get("listen_late_ms", 0) / 1000)
        listener = socket.create_server(("127.0.0.1", port))
        print(f"listening at 127.0.0.1:{listener.getsockname()[1]}", flush=True)
        connection, _ = listener.accept()
    if wrong == "close":
        connection.close()
        time.sleep(3600)
    return *streams_of(connection), listener


def serve_children(listener, scenario, journal, root):
    """A connection for each child session, with the scenario's `child` laid over it."""
    child = {**scenario, "start_debugging": 0, **scenario.get("child", {})}
    if child.get("connection") == "refused":
        return listener.close()
    while True:
        connection, _ = listener.accept()
        if child.get("connection") == "close":
            connection.close()
            continue
        stream, out = streams_of(connection)
        adapter = Adapter(child, journal, stream, wire.Writer(out, child), root)
        threading.Thread(target=adapter.run, daemon=True).start()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scenario = json.load(file)
    journal = Journal(scenario.get("journal"))
    journal.write("start", arguments=sys.argv, directory=os.getcwd())
    if scenario.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stderr.write(scenario.get("stderr", ""))
    sys.stderr.flush()
    if "exit_at_start" in scenario:
        os._exit(scenario["exit_at_start"])
    listener = None
    if len(sys.argv) > 3:
        stream, out, listener = open_connection(sys.argv[2], int(sys.argv[3]), scenario)
    else:
        stream, out = open_standard_streams()
    adapter = Adapter(scenario, journal, stream, wire.Writer(out, scenario))
    if listener is not None and scenario.get("start_debugging"):
        arguments = (listener, scenario, journal, adapter)
        threading.Thread(target=serve_children, args=arguments, daemon=True).start()
    adapter.run()
    os._exit(0)


if __name__ == "__main__":
    main()
