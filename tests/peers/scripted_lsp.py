#!/usr/bin/env python3
"""A language server over stdio, steered by a JSON scenario, for what real servers do not show.

    scripted_lsp.py SCENARIO.json        (or the path in the environment variable SCRIPTED_LSP)

The scenario is one object; every switch is optional. tests/peers/README.md lists them. Keys that
begin with an underscore are the test's own business.
"""

import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scripted import wire  # noqa: E402
from scripted.journal import Journal, count_starts  # noqa: E402
from scripted.server import Server, handle_sigterm  # noqa: E402

FLOOD_LINE = b"a line of log that nobody reads, over and over again, to fill the pipe\n"


def load_scenario(path):
    """The scenario, with the overrides for this start of the server laid over it."""
    with open(path, encoding="utf-8") as file:
        scenario = json.load(file)
    started_before = count_starts(scenario.get("journal", ""))
    starts = scenario.pop("starts", [])
    if started_before < len(starts):
        scenario.update(starts[started_before])
    return scenario


def spawn_grandchild(journal, keep_stdout):
    """A process that has left our session, ignores SIGTERM, and sleeps."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    journal.write("grandchild")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 2) if keep_stdout else (0, 1, 2):
        os.dup2(null, fd)
    os.execvp("sleep", ["sleep", "600"])


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ["SCRIPTED_LSP"]
    scenario = load_scenario(path)
    journal = Journal(scenario.get("journal"))
    journal.write("start", arguments=sys.argv, directory=os.getcwd())
    if scenario.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        handle_sigterm(journal)
    if scenario.get("grandchild"):
        spawn_grandchild(journal, scenario["grandchild"] == "keeps_stdout")
    sys.stderr.write(scenario.get("stderr", ""))
    sys.stderr.flush()
    for _ in range(scenario.get("stderr_flood_bytes", 0) // len(FLOOD_LINE)):
        os.write(2, FLOOD_LINE)
    if "exit_at_start" in scenario:
        journal.write("stop", reason="exit at start")
        os._exit(scenario["exit_at_start"])
    # Standard output carries the protocol alone: a stray print must not break a frame.
    out = os.dup(1)
    os.dup2(2, 1)
    os.set_inheritable(out, False)
    Server(scenario, journal, sys.stdin.buffer, wire.Writer(out, scenario)).run()
    os._exit(0)


if __name__ == "__main__":
    main()
