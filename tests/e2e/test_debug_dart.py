"""The catalogue's Dart row on a stand-in for `dart debug_adapter` that follows its documentation
(tests/peers/scripted/dart.py): no Dart SDK can be had for tests.
"""

import json
import sys

import pytest

from harness.program import E2E
from harness.projects import Project
from harness.scripted_debug import assert_nothing_runs, debug, refused

PEER = E2E.parent / "peers" / "scripted_dart.py"

MAIN = """\
void main(List<String> arguments) {
  var total = 0; // > total = 0
  var items = [1, 2, 3]; // > items = [1, 2, 3]
  final name = 'Ada'; // > name = Ada
  greet(name); // > enter greet
}

void greet(String name) {
  // > who = Ada
  print('hello $name'); // > print hello Ada
  return; // > leave
}
"""

PROGRAMS = {
    "bin/main.dart": MAIN,
    "bin/fails.dart": "void main() {\n  throw Exception('boom'); // > throw boom\n}\n",
    "bin/exits.dart": "void main() {\n  exit(3); // > exit 3\n}\n",
    "bin/spins.dart": "void main() {\n  while (true) {} // > spin\n}\n",
    "test/add_test.dart": """\
void main() {
  test('adds', () {
    print('x'); // > print x
  });
}
""",
}


class Dart:
    def __init__(self, folder, werkbank):
        self.project = Project(folder / "project")
        self.project.write("pubspec.yaml", "name: sample\n")
        for path, text in PROGRAMS.items():
            self.project.write(path, text)
        self.journal_path = folder / "journal"
        self.scenario_path = folder / "scenario.json"
        self.set_scenario({})
        tools = Project(folder / "sdk")
        script = f'#!/bin/sh\nexec {sys.executable} {PEER} {self.scenario_path} "$@"\n'
        tools.write("dart", script).chmod(0o755)
        config = self.project.write("config.json", '{"debug": {"wait_s": 60}}')
        path = f"{tools.root}:{werkbank.env['PATH']}"
        options = ("--allow", "exec", "--config", config)
        self.session = werkbank.session(self.project.root, *options, env={"PATH": path})

    def set_scenario(self, scenario):
        self.scenario_path.write_text(json.dumps({"journal": str(self.journal_path), **scenario}))

    def entries(self, event):
        entries = [json.loads(line) for line in self.journal_path.read_text().splitlines()]
        return [entry for entry in entries if entry["event"] == event]

    def received(self, command):
        messages = [entry["message"] for entry in self.entries("received")]
        return [message for message in messages if message.get("command") == command]

    def pids(self):
        return [entry["pid"] for entry in self.entries("start")]

    def debuggees(self):
        return [entry["debuggee"] for entry in self.entries("debuggee")]


@pytest.fixture
def dart(werkbank, tmp_path):
    made = Dart(tmp_path, werkbank)
    yield made
    assert [entry["text"] for entry in made.entries("violation")] == []


def line_of(text):
    return MAIN.splitlines().index(text) + 1


GREETING = line_of("  print('hello $name'); // > print hello Ada")
CALL = line_of("  greet(name); // > enter greet")


class TestLaunch:
    def test_a_walk(self, dart):
        session = dart.session
        listed = {a["id"]: a for a in debug(session, "adapters").data["adapters"]}
        assert listed["dart"]["usable"] and listed["dart"]["marker"] == "pubspec.yaml"
        debug(session, "breakpoints", file="bin/main.dart", lines=[GREETING])
        stop = debug(session, "launch", program="bin/main.dart", args=["a", "b c"])
        assert stop.data["reason"] == "breakpoint" and stop.data["line"] == GREETING
        assert f"stopped: breakpoint at bin/main.dart:{GREETING} in greet()" in stop.text
        assert [(v["name"], v["value"]) for v in stop.data["locals"]] == [("who", '"Ada"')]
        point = debug(session, "breakpoints").data["breakpoints"][0]
        assert (point["state"], point["line"]) == ("bound", GREETING)
        frames = debug(session, "stack").data["frames"]
        names = [frame["name"] for frame in frames]
        assert names == ["greet", "main", "<asynchronous gap>", "_startIsolate"]
        assert frames[3]["path"] is None
        scopes = debug(session, "scopes", frame_id=frames[1]["frame_id"]).data
        assert [scope["name"] for scope in scopes] == ["Locals", "Globals"]
        variables = debug(session, "variables", reference=scopes[0]["reference"]).data
        found = {v["name"]: v for v in variables}
        assert list(found) == ["items", "name", "total"]
        items = debug(session, "variables", reference=found["items"]["reference"]).data
        assert [v["name"] for v in items] == ["[0]", "[1]", "[2]"]
        assert [v["value"] for v in items] == ["1", "2", "3"]
        frame = frames[1]["frame_id"]
        value = debug(session, "evaluate", expression="total,h", frame_id=frame).data["value"]
        assert value == "0x0"
        error = refused(session, "evaluate", expression="nonesuch")
        assert error == "dart: Undefined name 'nonesuch'."
        out = debug(session, "step_out")
        assert out.data["function"] == "main" and out.data["reason"] == "step"
        assert "earlier stop" in refused(session, "scopes", frame_id=frame)
        end = debug(session, "continue")
        assert end.data["state"] == "ended" and end.data["exit_code"] == 0
        assert debug(session, "output").data["output"] == "hello Ada\n"
        assert_nothing_runs(dart)
        launch = dart.received("launch")[0]["arguments"]
        assert launch["program"].endswith("/bin/main.dart") and launch["args"] == ["a", "b c"]
        assert dart.received("setExceptionBreakpoints")[0]["arguments"]["filters"] == ["Unhandled"]

    def test_a_breakpoint_moves_to_code(self, dart):
        debug(dart.session, "breakpoints", file="bin/main.dart", lines=[7])
        stop = debug(dart.session, "launch", program="bin/main.dart")
        assert stop.data["line"] == 9 and "MOVED" in stop.text
        debug(dart.session, "breakpoints", file="bin/main.dart", lines=[999])
        listed = debug(dart.session, "breakpoints").data["breakpoints"]
        assert [point["state"] for point in listed] == ["pending"]
        assert debug(dart.session, "continue").data["exit_code"] == 0

    def test_conditions_counts_and_log_points(self, dart):
        session = dart.session
        points = {"file": "bin/main.dart", "lines": [CALL, CALL + 1, GREETING]}
        points["conditions"] = ["total == 0", "nonesuch == 1", ""]
        points["log_messages"] = ["", "", "it is {who}"]
        debug(session, "breakpoints", **points)
        stop = debug(session, "launch", program="bin/main.dart")
        assert stop.data["line"] == CALL
        assert debug(session, "continue").data["exit_code"] == 0
        console = debug(session, "output", category="console").data["output"]
        assert "it is Ada" in console and "Undefined name 'nonesuch'" in console

    def test_an_uncaught_exception(self, dart):
        stop = debug(dart.session, "launch", program="bin/fails.dart")
        assert stop.data["reason"] == "exception" and stop.data["line"] == 2
        assert "Exception: boom" in stop.text
        end = debug(dart.session, "continue")
        assert end.data["exit_code"] == 255 and "Unhandled exception" in end.text

    def test_exit_codes(self, dart):
        assert debug(dart.session, "launch", program="bin/exits.dart").data["exit_code"] == 3
        assert debug(dart.session, "launch", program="bin/main.dart").data["exit_code"] == 0

    def test_a_pause_and_the_end(self, dart):
        running = debug(dart.session, "launch", program="bin/spins.dart", wait_seconds=0)
        assert running.data["state"] == "running"
        stop = debug(dart.session, "pause")
        assert stop.data["reason"] == "pause" and stop.data["line"] == 2
        assert debug(dart.session, "terminate").data["exit_code"] is None
        assert_nothing_runs(dart)

    def test_tests(self, dart):
        debug(dart.session, "breakpoints", file="test/add_test.dart", lines=[3])
        stop = debug(dart.session, "launch", mode="test", program="test/add_test.dart")
        assert stop.data["line"] == 3
        assert dart.entries("start")[0]["arguments"] == ["debug_adapter", "--test"]
        end = debug(dart.session, "continue")
        assert end.data["exit_code"] == 0 and "x\n" in end.text
        assert "\u2713 adds" in debug(dart.session, "output", category="console").text


class TestAttach:
    def test_it_lets_the_program_run_on(self, dart):
        target = str(dart.project.root / "bin/main.dart")
        dart.set_scenario({"target": target})
        stop = debug(dart.session, "attach", port=8181)
        assert stop.data["state"] == "stopped" and stop.data["reason"] == "entry"
        uri = dart.received("attach")[0]["arguments"]["vmServiceUri"]
        assert uri == "ws://127.0.0.1:8181/ws"
        assert "runs on" in debug(dart.session, "terminate").text

    def test_a_service_that_wants_a_code(self, dart):
        """The port alone is not enough then, and the adapter's words say so."""
        dart.set_scenario({"auth": "uH7ZPKx5ZQA="})
        end = debug(dart.session, "attach", port=8181, wait_seconds=60)
        assert end.data["state"] == "ended" and end.data["exit_code"] is None
        assert "dart said: " in end.text and "Failed to connect" in end.text
