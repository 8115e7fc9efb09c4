"""A workspace whose language server is tests/peers/scripted_lsp.py."""

import json
import sys

from .program import E2E
from .projects import Project

SERVER = E2E.parent / "peers" / "scripted_lsp.py"

MAIN = """\
# greets
def hello
use hello
impl hello
def other
hello other hello
"""


def server_row(scenario_path, name="scripted", **fields):
    row = {
        "id": name,
        "languages": ["scripted"],
        "markers": ["scripted.json"],
        "commands": [[sys.executable, str(SERVER), str(scenario_path)]],
        "kind": "types",
        "diagnostics": "push",
        "install": "nothing to install",
    }
    row.update(fields)
    return row


class Scripted:
    """The project, the scenario and the configuration file; `journal` is what the server saw."""

    def __init__(self, folder, scenario=None, row=None, files=None, rows=None, settings=None):
        self.folder = folder
        self.project = Project(folder / "project")
        self.project.write("scripted.json", "{}")
        for path, text in (files or {"main.scr": MAIN}).items():
            self.project.write(path, text)
        self.journal_path = folder / "journal"
        self.scenario_path = folder / "scenario.json"
        self.set_scenario(scenario or {})
        self.config_path = folder / "config.json"
        language = {"id": "scripted", "extensions": [".scr"], "identifier": "c"}
        config = {
            "servers": rows or [server_row(self.scenario_path, **(row or {}))],
            "languages": [language],
        }
        config.update(settings or {})
        self.config_path.write_text(json.dumps(config))

    @property
    def root(self):
        return self.project.root

    def set_scenario(self, scenario):
        """For the next start of the server."""
        full = {"journal": str(self.journal_path), **scenario}
        self.scenario_path.write_text(json.dumps(full))

    def options(self):
        return ["--config", self.config_path]

    def journal(self, event=None):
        if not self.journal_path.exists():
            return []
        entries = [json.loads(line) for line in self.journal_path.read_text().splitlines()]
        return [entry for entry in entries if event in (None, entry["event"])]

    def received(self, method):
        """The messages with this method that the server got."""
        messages = [entry["message"] for entry in self.journal("received")]
        return [message for message in messages if message.get("method") == method]

    def pids(self):
        return [entry["pid"] for entry in self.journal("start")]

    def violations(self):
        return [entry["text"] for entry in self.journal("violation")]
