#!/usr/bin/env python3
"""A debug adapter, steered by a JSON scenario, for what real adapters do not show on demand.

    scripted_dap.py SCENARIO.json [--listen PORT | --dial PORT]

Without a port it speaks on standard input and output. It debugs a tiny language
(scripted/steps.py). The scenario is one object; every switch is optional. tests/peers/README.md
lists them.
"""

import json
import os
import signal
import socket
import sys

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


def open_connection(how, port):
    if how == "--dial":
        connection = socket.create_connection(("127.0.0.1", port))
    else:
        listener = socket.create_server(("127.0.0.1", port))
        print(f"listening at 127.0.0.1:{listener.getsockname()[1]}", flush=True)
        connection, _ = listener.accept()
    return connection.makefile("rb"), connection.detach()


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
    if len(sys.argv) > 3:
        stream, out = open_connection(sys.argv[2], int(sys.argv[3]))
    else:
        stream, out = open_standard_streams()
    Adapter(scenario, journal, stream, wire.Writer(out, scenario)).run()
    os._exit(0)


if __name__ == "__main__":
    main()
