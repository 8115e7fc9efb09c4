"""A workspace whose debug adapter is tests/peers/scripted_dap.py."""

import json
import os
import sys

from . import processes
from .program import E2E
from .projects import Project

ADAPTER = E2E.parent / "peers" / "scripted_dap.py"

# The adapter's language is in tests/peers/scripted/steps.py.
MAIN = """\
a = 1
b = 2
enter inner
c = 3
print hello
leave
d = 4
exit 3
"""
INNER = 4  # the line `c = 3`
SPIN = "a = 1\nspin\n"

ARGUMENTS = {"program": "{program}", "args": ["{args}"], "cwd": "{cwd}"}


class ScriptedDebug:
    """The project, the scenario and the configuration; `journal` is what the adapter saw."""

    def __init__(self, folder, scenario=None, files=None, row=None, settings=None, how=None):
        self.project = Project(folder / "project")
        self.project.write("steps.json", "{}")
        for path, text in {"main.steps": MAIN, "spin.steps": SPIN, **(files or {})}.items():
            self.project.write(path, text)
        self.journal_path = folder / "journal"
        self.scenario_path = folder / "scenario.json"
        self.set_scenario(scenario or {})
        self.config_path = folder / "config.json"
        words = [sys.executable, str(ADAPTER), str(self.scenario_path)]
        made = {
            "id": "scripted",
            "name": "Scripted",
            "languages": ["steps"],
            "markers": ["steps.json"],
            "commands": [words + ([how, "{port}"] if how else [])],
            "transport": {None: "stdio", "--listen": "listen", "--dial": "dial_in"}[how],
            "launch": {"source": {"arguments": ARGUMENTS}},
            "attach": {"pid": {"arguments": {"pid": "{pid}"}}},
            "start_s": 20,
            "install": "nothing to install",
            **(row or {}),
        }
        config = {
            "adapters": [made],
            "languages": [{"id": "steps", "extensions": [".steps"], "identifier": "c"}],
            "debug": {"wait_s": 60, **(settings or {})},
        }
        self.config_path.write_text(json.dumps(config))

    @property
    def root(self):
        return self.project.root

    def set_scenario(self, scenario):
        """For the next start of the adapter."""
        self.scenario_path.write_text(json.dumps({"journal": str(self.journal_path), **scenario}))

    def options(self):
        return ["--allow", "exec", "--config", self.config_path]

    def journal(self, event=None):
        if not self.journal_path.exists():
            return []
        entries = [json.loads(line) for line in self.journal_path.read_text().splitlines()]
        return [entry for entry in entries if event in (None, entry["event"])]

    def received(self, command=None):
        """The requests with this command that the adapter got, in their order."""
        messages = [entry["message"] for entry in self.journal("received")]
        requests = [message for message in messages if message["type"] == "request"]
        return [one for one in requests if command in (None, one["command"])]

    def answers(self):
        """What the client answered to the adapter's own requests."""
        messages = [entry["message"] for entry in self.journal("received")]
        return [message for message in messages if message["type"] == "response"]

    def pids(self):
        return [entry["pid"] for entry in self.journal("start")]

    def debuggees(self):
        return [entry["debuggee"] for entry in self.journal("debuggee")]

    def violations(self):
        return [entry["text"] for entry in self.journal("violation")]


def debug(session, operation, **args):
    return session.ok("debug", operation=operation, **args)


def refused(session, operation, **args):
    return session.error("debug", operation=operation, **args)


def launch(session, program="main.steps", **more):
    return debug(session, "launch", program=program, **more)


def set_inner(session):
    return debug(session, "breakpoints", file="main.steps", lines=[INNER])


def walk(session):
    """A whole session, which ends in the same way however the adapter speaks."""
    set_inner(session)
    stop = launch(session)
    assert (stop.data["state"], stop.data["reason"]) == ("stopped", "breakpoint"), stop
    assert (stop.data["line"], stop.data["function"]) == (INNER, "inner")
    frames = debug(session, "stack").data["frames"]
    assert [frame["name"] for frame in frames] == ["inner", "main"]
    over = debug(session, "step_over")
    assert (over.data["reason"], over.data["line"]) == ("step", INNER + 1)
    assert [(v["name"], v["value"]) for v in over.data["locals"]] == [("c", "3")]
    outer = debug(session, "scopes", frame_id=debug(session, "stack").data["frames"][1]["frame_id"])
    variables = debug(session, "variables", reference=outer.data[0]["reference"]).data
    assert [(v["name"], v["value"]) for v in variables] == [("a", "1"), ("b", "2")]
    assert debug(session, "evaluate", expression="c").data["value"] == "3"
    assert "nonesuch is not defined" in refused(session, "evaluate", expression="nonesuch")
    end = debug(session, "continue")
    assert end.data["state"] == "ended", end
    assert debug(session, "output").data["output"] == "hello\n"
    return end


def assert_works_again(one, session):
    """The next session is as good as the first."""
    one.set_scenario({})
    assert walk(session).data["exit_code"] == 3


def assert_nothing_runs(one):
    for pid in one.pids() + one.debuggees():
        processes.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="its end")
