"""The debugger on lldb-dap and debugpy: one walk through every operation, and what goes wrong.

The matrix of all adapters is in test_debug_matrix.py; this file is about the tool.
"""

import os
import signal
import subprocess
import threading

import pytest

from harness import processes
from harness.program import TOOLS
from harness.projects import Project

C_SOURCE = """\
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct point { int x, y; };

static int parse(const char *text, int n)
{
    int sum = 0;
    struct point p = {1, 2};
    for (int i = 0; i < n; i++) {
        sum += text[i] * p.y; /* in the loop */
    }
    return sum;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int round = 0; round < 6; round++) {
        total += parse("hello", round); /* the call */
        printf("round %d total %d\\n", round, total);
    }
    if (argc > 1 && strcmp(argv[1], "crash") == 0) {
        *(volatile int *)0 = 1; /* the crash */
    }
    while (argc > 1 && strcmp(argv[1], "spin") == 0) {
        usleep(1000);
    }
    return 3;
}
"""

PY_SOURCE = """\
import sys
import time


def work(a, b):
    total = a + b
    text = "x" * 1000
    items = list(range(120))
    return total  # the result


def main():
    for i in range(6):
        print("round", i, work(i, 2))
    if "boom" in sys.argv:
        raise ValueError("boom happened")  # the raise
    while "spin" in sys.argv:
        time.sleep(0.01)
    sys.exit(4)


main()
"""


def debug(session, operation, **args):
    return session.ok("debug", operation=operation, **args)


def refused(session, operation, **args):
    return session.error("debug", operation=operation, **args)


@pytest.fixture
def c_project(tmp_path):
    project = Project(tmp_path / "c")
    project.write("src/main.c", C_SOURCE)
    project.write("CMakeLists.txt", "project(app C)\n")
    source = str(project.root / "src/main.c")
    subprocess.run(["gcc", "-g", "-O0", "-o", project.root / "app", source], check=True)
    subprocess.run(["gcc", "-O0", "-o", project.root / "bare", source], check=True)
    return project


@pytest.fixture
def py_project(tmp_path):
    project = Project(tmp_path / "py")
    project.write("app.py", PY_SOURCE)
    project.write("pyproject.toml", "")
    os.symlink(TOOLS / "pip" / "adapters", project.root / ".venv")
    return project


@pytest.fixture
def c_session(werkbank, c_project):
    return werkbank.session(c_project.root, "--allow", "exec", "--config", wait_long(c_project))


@pytest.fixture
def py_session(werkbank, py_project):
    return werkbank.session(py_project.root, "--allow", "exec", "--config", wait_long(py_project))


def wait_long(project, **more):
    """A configuration: a busy machine must not fail a test."""
    settings = ", ".join(f'"{key}": {value}' for key, value in {"wait_s": 60, **more}.items())
    return project.write("config.json", f'{{"debug": {{{settings}}}}}')


class TestC:
    def test_a_walk(self, c_project, c_session):
        loop = c_project.line("src/main.c", "in the loop")
        call = c_project.line("src/main.c", "the call")
        before = debug(c_session, "breakpoints", file="src/main.c", lines=[loop])
        assert before.data["breakpoints"][0]["state"] == "pending"
        stop = debug(c_session, "launch", program="app")
        assert stop.data["state"] == "stopped" and stop.data["reason"] == "breakpoint"
        assert (stop.data["path"], stop.data["line"]) == ("src/main.c", loop)
        assert stop.data["function"] == "parse" and stop.data["exit_code"] is None
        assert f"stopped: breakpoint at src/main.c:{loop} in parse()" in stop.text
        assert f">    {loop} |         sum += text[i] * p.y;" in stop.text
        assert stop.text.count(" | ") == 5
        assert "n = 1 (int)" in stop.text
        frames = debug(c_session, "stack").data["frames"]
        assert [f["name"] for f in frames[:2]] == ["parse", "main"]
        assert frames[1]["line"] == call and frames[1]["path"] == "src/main.c"
        # The locals of two frames, asked in the order that makes lldb-dap lie.
        inner = debug(c_session, "scopes", frame_id=frames[0]["frame_id"]).data
        outer = debug(c_session, "scopes", frame_id=frames[1]["frame_id"]).data
        names = {v["name"] for v in self.variables(c_session, inner)}
        assert {"text", "n", "sum", "p", "i"} <= names
        names = {v["name"] for v in self.variables(c_session, outer)}
        assert {"argc", "argv", "total", "round"} <= names
        point = next(v for v in self.variables(c_session, inner) if v["name"] == "p")
        members = debug(c_session, "variables", reference=point["reference"]).data
        assert [(m["name"], m["value"]) for m in members] == [("x", "1"), ("y", "2")]
        assert debug(c_session, "evaluate", expression="sum + p.y").data["value"] == "2"
        outer_id = frames[1]["frame_id"]
        value = debug(c_session, "evaluate", expression="total", frame_id=outer_id).data["value"]
        assert value == "0"
        assert "nonesuch" in refused(c_session, "evaluate", expression="nonesuch")
        threads = debug(c_session, "threads").data["threads"]
        assert threads[0]["thread_id"] == stop.data["thread_id"]
        out = debug(c_session, "step_out")
        assert out.data["line"] == call and out.data["function"] == "main"
        assert "earlier stop" in refused(c_session, "scopes", frame_id=frames[0]["frame_id"])
        assert "earlier stop" in refused(c_session, "variables", reference=inner[0]["reference"])
        over = debug(c_session, "step_over")
        assert over.data["reason"] == "step" and over.data["line"] == call + 1
        debug(c_session, "breakpoints", file="src/main.c", lines=[])
        end = debug(c_session, "continue")
        assert end.data["state"] == "ended" and end.data["exit_code"] == 3
        assert "round 5 total 3150" in debug(c_session, "output").data["output"]
        assert debug(c_session, "status").data["exit_code"] == 3
        assert "has ended" in refused(c_session, "continue")
        assert debug(c_session, "terminate").data["state"] == "ended"

    @staticmethod
    def variables(session, scopes):
        return debug(session, "variables", reference=scopes[0]["reference"]).data

    def test_conditions_counts_and_running_to_a_line(self, c_project, c_session):
        loop = c_project.line("src/main.c", "in the loop")
        debug(
            c_session,
            "breakpoints",
            file="src/main.c",
            lines=[loop],
            conditions=["i == 1"],
            hit_counts=["2"],
        )
        debug(c_session, "launch", program="app")
        assert debug(c_session, "evaluate", expression="n").data["value"] == "3"
        debug(c_session, "breakpoints", file="src/main.c", lines=[])
        end = c_project.line("src/main.c", "return 3")
        assert debug(c_session, "continue", file="src/main.c", line=end).data["line"] == end
        assert debug(c_session, "breakpoints").data["breakpoints"] == []

    def test_a_broken_condition_is_told(self, c_project, c_session):
        loop = c_project.line("src/main.c", "in the loop")
        debug(
            c_session, "breakpoints", file="src/main.c", lines=[loop], conditions=["nonesuch > 1"]
        )
        stop = debug(c_session, "launch", program="app")
        assert "cannot be evaluated, so it stops every time" in stop.text
        listed = debug(c_session, "breakpoints").data["breakpoints"][0]
        assert "nonesuch" in listed["condition_error"]

    def test_log_points_functions_and_setting(self, c_project, c_session):
        call = c_project.line("src/main.c", "the call")
        debug(
            c_session,
            "breakpoints",
            file="src/main.c",
            lines=[call],
            log_messages=["round is {round}"],
        )
        debug(c_session, "breakpoints", functions=["parse"])
        stop = debug(c_session, "launch", program="app")
        assert stop.data["function"] == "parse"
        frame = debug(c_session, "stack").data["frames"][0]["frame_id"]
        local = debug(c_session, "scopes", frame_id=frame).data[0]["reference"]
        debug(c_session, "variables", reference=local, name="sum", value="100")
        assert debug(c_session, "evaluate", expression="sum").data["value"] == "100"
        text = debug(c_session, "output", category="console").data["output"]
        assert "round is 0" in text

    def test_a_crash(self, c_project, c_session):
        stop = debug(c_session, "launch", program="app", args=["crash"])
        assert stop.data["reason"] == "exception"
        assert stop.data["line"] == c_project.line("src/main.c", "the crash")
        assert "SIGSEGV" in stop.text

    def test_without_debug_information(self, c_project, c_session):
        debug(c_session, "breakpoints", file="src/main.c", lines=[11])
        end = debug(c_session, "launch", program="bare")
        assert end.data["state"] == "ended"
        assert "no debug information" in end.text and "-g" in end.text

    def test_what_cannot_be_launched(self, c_project, c_session):
        assert "build it first" in refused(c_session, "launch", program="none")
        assert "is source that is compiled" in refused(c_session, "launch", program="src/main.c")
        assert "did you mean" in refused(c_session, "lauch", program="app")
        assert "no debug session" in refused(c_session, "continue")
        debug(c_session, "launch", program="app", stop_on_entry=True)
        text = refused(c_session, "launch", program="app")
        assert "under way already" in text and "terminate" in text

    def test_restart_keeps_breakpoints(self, c_project, c_session):
        loop = c_project.line("src/main.c", "in the loop")
        debug(c_session, "breakpoints", file="src/main.c", lines=[loop])
        first = debug(c_session, "launch", program="app", args=["x"])
        again = debug(c_session, "launch", restart=True)
        assert again.data["line"] == first.data["line"] == loop
        assert debug(c_session, "continue").data["state"] == "stopped"

    def test_attach_by_pid_lets_it_live(self, werkbank, c_project, c_session):
        target = subprocess.Popen(
            [c_project.root / "app", "spin"], env=werkbank.env, stdout=subprocess.DEVNULL
        )
        try:
            debug(c_session, "attach", pid=target.pid)
            stop = debug(c_session, "pause")
            assert stop.data["state"] == "stopped" and stop.data["reason"] == "pause"
            end = debug(c_session, "terminate")
            assert "runs on" in end.text
            assert target.poll() is None
            state = open(f"/proc/{target.pid}/status").read()
            assert "TracerPid:\t0" in state and "State:\tT" not in state
        finally:
            target.kill()
            target.wait()


class TestPython:
    def test_a_walk(self, py_project, py_session):
        line = py_project.line("app.py", "the result")
        debug(py_session, "breakpoints", file="app.py", lines=[line, 9999])
        stop = debug(py_session, "launch", program="app.py")
        points = debug(py_session, "breakpoints").data["breakpoints"]
        moved = next(p for p in points if p["asked_line"] == 9999)
        assert moved["state"] == "bound" and moved["line"] < 9999
        assert "MOVED" in stop.text
        debug(py_session, "breakpoints", file="app.py", lines=[line])
        stop = debug(py_session, "continue")
        assert stop.data["line"] == line and stop.data["function"] == "work"
        assert "(602 more characters)" in stop.text
        text = next(v for v in stop.data["locals"] if v["name"] == "text")
        assert text["value"].endswith("(602 more characters)")
        items = next(v for v in stop.data["locals"] if v["name"] == "items")
        children = debug(py_session, "variables", reference=items["reference"])
        assert len(children.data) == 50 and "shown" in children.text
        assert debug(py_session, "evaluate", expression="total * 2").data["value"] == "4"
        assert debug(py_session, "evaluate", expression="text").data["value"] == repr("x" * 1000)
        debug(py_session, "breakpoints", file="app.py", lines=[])
        end = debug(py_session, "continue")
        assert end.data["state"] == "ended" and end.data["exit_code"] == 4

    def test_an_uncaught_exception_stops(self, py_project, py_session):
        stop = debug(py_session, "launch", program="app.py", args=["boom"])
        assert stop.data["reason"] == "exception"
        assert stop.data["line"] == py_project.line("app.py", "the raise")
        assert "boom happened" in stop.text
        end = debug(py_session, "continue")
        assert end.data["exit_code"] == 1 and "ValueError: boom happened" in end.text

    def test_while_it_runs(self, py_project, py_session):
        running = debug(py_session, "launch", program="app.py", args=["spin"], wait_seconds=0)
        assert running.data["state"] == "running" and "still running" in running.text
        assert "`pause`" in refused(py_session, "evaluate", expression="1")
        assert "`pause`" in refused(py_session, "step_over")
        stop = debug(py_session, "pause")
        assert stop.data["reason"] == "pause" and stop.data["function"] == "main"
        assert debug(py_session, "pause").data["state"] == "stopped"
        debug(py_session, "continue", wait_seconds=0)
        assert debug(py_session, "status").data["state"] == "running"
        assert debug(py_session, "terminate").data["state"] == "ended"

    def test_a_decoy_on_path(self, werkbank, py_project, tmp_path):
        decoy = Project(tmp_path / "decoy")
        decoy.write("python3", "#!/bin/sh\necho no debugpy here >&2\nexit 1\n").chmod(0o755)
        path = f"{decoy.root}:{werkbank.env['PATH']}"
        config = wait_long(py_project)
        session = werkbank.session(
            py_project.root, "--allow", "exec", "--config", config, env={"PATH": path}
        )
        chosen = next(
            a for a in debug(session, "adapters").data["adapters"] if a["id"] == "debugpy"
        )
        assert chosen["usable"] and "/.venv/bin/" in chosen["interpreter"]
        assert "before PATH" in chosen["interpreter_why"]
        end = debug(session, "launch", program="app.py")
        assert end.data["exit_code"] == 4

    def test_a_module_and_a_test(self, py_project, py_session):
        py_project.write("tool/__init__.py", "")
        py_project.write("tool/__main__.py", "import sys\nvalue = len(sys.argv)\nprint(value)\n")
        debug(py_session, "breakpoints", file="tool/__main__.py", lines=[3])
        stop = debug(py_session, "launch", mode="module", program="tool", args=["a", "b c"])
        assert stop.data["path"] == "tool/__main__.py"
        assert debug(py_session, "evaluate", expression="value").data["value"] == "3"


class TestGate:
    def test_it_is_not_on_a_capped_surface(self, werkbank, c_project):
        for cap, there in (("read", False), ("write", False), ("exec", True)):
            shown = werkbank.run("tools", "--workspace", c_project.root, "--cap", cap, "--json")
            assert ('"debug"' in shown.stdout) == there

    def test_a_program_outside_needs_approval(self, c_session):
        assert "outside the workspace" in refused(c_session, "launch", program="/bin/true")

    def test_nothing_usable_is_told(self, werkbank, tmp_path):
        project = Project(tmp_path / "empty")
        project.write("app.py", "print(1)\n")
        session = werkbank.session(project.root, "--allow", "exec", env={"PATH": "/nonexistent"})
        adapters = debug(session, "adapters").data["adapters"]
        assert len(adapters) >= 16 and not any(a["usable"] for a in adapters)
        assert all(a["reason"] for a in adapters)
        text = refused(session, "launch", program="app.py")
        assert "no root marker" in text and "no program python3" in text and "pip install" in text


class TestEnds:
    def test_pause_ends_another_calls_wait(self, serve, c_project):
        client = serve(c_project.root, "--allow", "exec", "--config", wait_long(c_project))
        client.ok("debug", operation="launch", program="app", args=["spin"], wait_seconds=0)
        client.ok("debug", operation="pause")
        moving = []
        waiter = threading.Thread(
            target=lambda: moving.append(client.ok("debug", operation="continue"))
        )
        waiter.start()
        processes.wait_until(lambda: client.ok("debug", operation="pause"), what="a pause")
        # The first pause may have come before the continue: then the next one ends it.
        while waiter.is_alive():
            client.ok("debug", operation="pause")
            waiter.join(0.1)
        assert moving[0].data["state"] == "stopped"

    def test_terminate_ends_another_calls_wait(self, serve, c_project):
        client = serve(c_project.root, "--allow", "exec", "--config", wait_long(c_project))
        ended = []
        launch = {"operation": "launch", "program": "app", "args": ["spin"]}
        waiter = threading.Thread(target=lambda: ended.append(client.call("debug", **launch)))
        waiter.start()
        while waiter.is_alive():
            client.call("debug", operation="terminate")
            waiter.join(0.1)
        assert ended[0].is_error or ended[0].data["state"] == "ended"

    def test_the_lifetime_ends_it_while_a_call_waits(self, werkbank, c_project):
        config = wait_long(c_project, lifetime_s=2)
        session = werkbank.session(c_project.root, "--allow", "exec", "--config", config)
        end = debug(session, "launch", program="app", args=["spin"])
        assert "lifetime of 2 seconds was over" in end.text
        assert end.data["state"] == "ended"
        assert "lifetime" in refused(session, "continue")

    def test_a_killed_adapter_is_told_and_leaves_nothing(self, werkbank, c_project, c_session):
        debug(c_session, "launch", program="app", args=["spin"], wait_seconds=0)
        found = processes.marked(werkbank.test_id)
        adapter = next(pid for pid, line in found.items() if line.startswith(("/usr/bin/lldb-dap")))
        os.kill(adapter, signal.SIGKILL)
        end = debug(c_session, "status", wait_seconds=60)
        assert "killed by signal 9" in end.text
        processes.wait_until(
            lambda: not any("spin" in line for line in processes.marked(werkbank.test_id).values()),
            what="the end of the program",
        )
        assert debug(c_session, "launch", program="app").data["exit_code"] == 3

    def test_the_end_of_the_run_ends_it(self, werkbank, c_project, c_session):
        debug(c_session, "launch", program="app", args=["spin"], wait_seconds=0)
        assert c_session.close() == 0
        assert processes.survivors(werkbank.test_id) == {}
