#!/usr/bin/env python3
"""Stands in for the `dart` command: its `debug_adapter [--test]`, as documented (scripted/dart.py).

    scripted_dart.py SCENARIO.json debug_adapter [--test]

It debugs Dart files whose lines say what they do in the tiny language of scripted/steps.py:
`var a = 1; // > a = 1`. Of the scenario there is `journal`, `target` (the program of an attach) and
`auth` (what the URI of an attach must have in it).
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from scripted import wire  # noqa: E402
from scripted.dart import DartAdapter  # noqa: E402
from scripted.journal import Journal  # noqa: E402


def main():
    words = sys.argv[2:]
    if words not in (["debug_adapter"], ["debug_adapter", "--test"]):
        sys.exit(f'Could not find a command named "{" ".join(words)}".')
    with open(sys.argv[1], encoding="utf-8") as file:
        scenario = json.load(file)
    journal = Journal(scenario.get("journal"))
    journal.write("start", arguments=words, directory=os.getcwd())
    writer = wire.Writer(os.dup(1), scenario)
    os.dup2(2, 1)
    DartAdapter(scenario, journal, sys.stdin.buffer, writer, "--test" in words).run()
    os._exit(0)


if __name__ == "__main__":
    main()
