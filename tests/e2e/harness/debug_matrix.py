"""Every real adapter through every case: shown, or refused in words that say what it cannot.

The tests that test_debug_matrix.py and test_debug_matrix_more.py are made of, each with a part of the
adapters as its fixture `subject`. What an adapter cannot is in debuggees.py; ends and kills are in
test_debug_ends.py, Dart is in test_debug_dart.py.
"""

import os
import re
import signal
import subprocess

import pytest

from . import processes

FIRST = ("a", "$first")  # work's first parameter, and what it is called in Perl


@pytest.fixture(scope="module")
def project(subject, tmp_path_factory):
    made = subject.build(tmp_path_factory.mktemp(subject.id))
    made.write("config.json", '{"debug": {"wait_s": 60, "answer_s": 60}}')
    return made


class Debuggee:
    """A conversation with its debugger, and the lines of its program by their comments."""

    def __init__(self, subject, project, session):
        self.subject, self.project, self.session = subject, project, session

    def line(self, comment):
        return self.project.line(self.subject.source, comment)

    def ok(self, operation, **args):
        return self.session.ok("debug", operation=operation, **args)

    def refused(self, operation, **args):
        return self.session.error("debug", operation=operation, **args)

    def breaks(self, *comments, **more):
        lines = [self.line(one) if isinstance(one, str) else one for one in comments]
        return self.ok("breakpoints", file=self.subject.source, lines=lines, **more)

    def launch(self, *args, **more):
        return self.ok(
            "launch", program=self.subject.program, adapter=self.subject.id, args=list(args), **more
        )

    def stop_at(self, comment, *args):
        self.breaks(comment)
        stop = self.launch(*args)
        assert stop.data["state"] == "stopped", stop
        assert stop.data["line"] == self.line(comment), stop
        return stop

    def first(self):
        return FIRST[self.subject.id == "perl"]

    def variables(self, frame):
        """All that the scopes of a frame have, costly ones aside: name to variable."""
        found = {}
        for scope in self.ok("scopes", frame_id=frame["frame_id"]).data:
            if not re.match("Global|Regist|Static|Special|Argument|Closure", scope["name"]):
                for one in self.ok("variables", reference=scope["reference"]).data:
                    found.setdefault(one["name"], one)
        return found

    def frames(self):
        return self.ok("stack").data["frames"]


@pytest.fixture
def debuggee(werkbank, subject, project):
    session = werkbank.session(
        project.root, "--allow", "exec", "--config", project.root / "config.json"
    )
    return Debuggee(subject, project, session)


def value(variable):
    """Without the quotes and types that languages differ in."""
    return variable["value"].strip("'\"")


def test_the_adapter_is_usable(debuggee):
    found = {one["id"]: one for one in debuggee.ok("adapters").data["adapters"]}
    row = found[debuggee.subject.id]
    assert row["usable"] and row["tested"], row
    assert row["marker"] == debuggee.subject.marker, row


def test_breakpoints_before_the_launch(debuggee):
    before = debuggee.breaks("the sum")
    assert before.data["breakpoints"][0]["state"] == "pending"
    stop = debuggee.launch()
    line = debuggee.line("the sum")
    assert (stop.data["state"], stop.data["reason"]) == ("stopped", "breakpoint")
    assert (stop.data["path"], stop.data["line"]) == (debuggee.subject.source, line)
    assert "work" in stop.data["function"]
    assert re.search(
        rf"^stopped: breakpoint at {debuggee.subject.source}:{line} in ", stop.text, re.M
    )
    assert re.search(rf"^> *{line} \|.*the sum", stop.text, re.M)
    assert len(re.findall(r"^[> ]+\d+ \|", stop.text, re.M)) == 5
    local = {one["name"]: value(one) for one in stop.data["locals"]}
    assert local[debuggee.first()] == "0"


def test_a_breakpoint_where_no_code_is(debuggee):
    debuggee.breaks("the sum", 9999)
    debuggee.launch()
    listed = debuggee.ok("breakpoints").data["breakpoints"]
    beyond = next(one for one in listed if one["asked_line"] == 9999)
    moved = beyond["line"] != 9999
    assert ("moved" if moved else beyond["state"]) == debuggee.subject.beyond, beyond


def test_two_frames(debuggee):
    debuggee.stop_at("the sum")
    inner, outer = debuggee.frames()[:2]
    assert "work" in inner["name"] and outer["line"] == debuggee.line("the call")
    assert debuggee.first() in debuggee.variables(inner)
    if not debuggee.subject.refuses("frame_variables", lambda: debuggee.variables(outer)):
        assert value(debuggee.variables(outer)[debuggee.subject.loop]) == "0"
    assert debuggee.first() in debuggee.variables(inner), "and back"
    loop = debuggee.subject.loop
    assert debuggee.ok("evaluate", expression=loop, frame_id=outer["frame_id"]).data["value"] == "0"
    expression = "$first + $second" if loop == "$i" else "a + b"
    assert debuggee.ok("evaluate", expression=expression).data["value"] == "2"
    assert debuggee.ok("threads").data["threads"]
    if loop != "$i":  # Perl takes any word for a string
        assert debuggee.refused("evaluate", expression="nonesuch_name")


def test_ids_of_an_earlier_stop(debuggee):
    debuggee.stop_at("the sum")
    frame = debuggee.frames()[0]["frame_id"]
    reference = debuggee.ok("scopes", frame_id=frame).data[0]["reference"]
    debuggee.ok("step_over")
    assert "earlier stop" in debuggee.refused("scopes", frame_id=frame)
    assert "earlier stop" in debuggee.refused("variables", reference=reference)
    assert "earlier stop" in debuggee.refused("evaluate", expression="1", frame_id=frame)


def test_steps(debuggee):
    debuggee.stop_at("the call")
    debuggee.breaks()
    stop = debuggee.ok("step_in")
    assert "work" in stop.data["function"], stop
    assert stop.data["reason"] == debuggee.subject.step_reason, stop
    for _ in range(3):
        if stop.data["line"] == debuggee.line("the result"):
            break
        stop = debuggee.ok("step_over")
    assert stop.data["line"] == debuggee.line("the result"), stop
    debuggee.ok("step_out")
    for _ in range(3):
        stop = debuggee.ok("status")
        if "work" not in stop.data["function"]:
            break
        debuggee.ok("step_over")  # rdbg stops at the `end` first
    assert "work" not in stop.data["function"], stop


def test_step_out_over_a_breakpoint(debuggee):
    debuggee.stop_at("the sum")
    debuggee.breaks("the sum", "the result")
    if debuggee.subject.refuses("step_out_over", lambda: debuggee.ok("step_out")):
        return
    stop = debuggee.ok("status")
    assert (stop.data["reason"], stop.data["line"]) == ("breakpoint", debuggee.line("the result"))


def test_conditions_hit_counts_and_log_points(debuggee):
    first = debuggee.first()
    debuggee.breaks("the sum", "the result", conditions=[f"{first} == 2", "1 == 2"])
    debuggee.launch()
    assert debuggee.ok("evaluate", expression=first).data["value"] == "2"
    if "recondition" not in debuggee.subject.cannot:
        debuggee.breaks("the sum", hit_counts=["2"])
        debuggee.ok("continue")
        assert debuggee.ok("evaluate", expression=first).data["value"] == "4"
    listed = debuggee.breaks("the call", log_messages=["at {%s}" % debuggee.subject.loop])
    end = debuggee.ok("continue")
    assert end.data["state"] == "ended", end
    console = debuggee.ok("output", category="console").data["output"]
    said = listed.text + console + debuggee.ok("output").data["output"]
    assert debuggee.subject.cannot.get("log", "at 5") in said, said


def test_a_function_breakpoint(debuggee):
    debuggee.stop_at("the call")
    debuggee.breaks()
    listed = debuggee.ok("breakpoints", functions=[debuggee.subject.function])
    if "function" in debuggee.subject.cannot:
        assert debuggee.subject.cannot["function"] in listed.text
        return
    stop = debuggee.ok("continue")
    assert "work" in stop.data["function"] and "breakpoint" in stop.data["reason"], stop


def test_a_variable_is_set(debuggee):
    debuggee.stop_at("the result")
    frame = debuggee.frames()[0]["frame_id"]
    name = debuggee.subject.total

    def change():
        for scope in debuggee.ok("scopes", frame_id=frame).data:
            found = debuggee.ok("variables", reference=scope["reference"]).data
            if name in [one["name"] for one in found]:
                return debuggee.ok(
                    "variables", reference=scope["reference"], name=name, value="100"
                )
        raise AssertionError(f"no {name}")

    if not debuggee.subject.refuses("set_variable", change):
        assert debuggee.ok("evaluate", expression=name).data["value"] == "100"


def test_children_come_in_pages(debuggee):
    debuggee.stop_at("the sum")
    if "frame_variables" in debuggee.subject.cannot:
        debuggee.breaks()
        debuggee.ok("step_out")
        outer = debuggee.frames()[0]
    else:
        outer = debuggee.frames()[1]
    items = next(
        one for name, one in debuggee.variables(outer).items() if name.strip("@") == "items"
    )
    page = debuggee.ok("variables", reference=items["reference"])
    assert len(page.data) == 50 and "start" in page.text, page

    def last():
        return debuggee.ok("variables", reference=items["reference"], start=100)

    if not debuggee.subject.refuses("paging", last):
        names = [one["name"].strip("[]") for one in last().data]
        assert "119" in names and "99" not in names


def test_running_to_a_line(debuggee):
    debuggee.stop_at("the call")
    debuggee.breaks()
    line = debuggee.line("the result")
    stop = debuggee.ok("continue", file=debuggee.subject.source, line=line)
    assert stop.data["line"] == line
    assert debuggee.ok("breakpoints").data["breakpoints"] == []


def test_an_exception(debuggee):
    subject = debuggee.subject
    if subject.filters:
        debuggee.ok("breakpoints", exceptions=list(subject.filters))
    stop = debuggee.launch("boom")
    if "exception" in subject.cannot:
        assert subject.cannot["exception"] in stop.text, stop
    else:
        assert (stop.data["state"], stop.data["reason"]) == ("stopped", "exception")
        assert f"{subject.source}:{debuggee.line('the failure')} in " in stop.text, stop
        assert subject.failure in stop.text
        stop = debuggee.ok("continue")
        for _ in range(
            3 if "end_after_failure" not in subject.cannot else 0
        ):  # what rethrows stops more than once
            if stop.data["state"] == "stopped":
                stop = debuggee.ok("continue")
    if "end_after_failure" in subject.cannot:
        assert subject.cannot["end_after_failure"] in stop.text, stop
        assert debuggee.ok("terminate").data["state"] == "ended"
        return
    assert stop.data["state"] == "ended", stop
    assert stop.data["exit_code"] == subject.failure_code, stop


def test_the_exit_code_and_the_output(debuggee):
    end = debuggee.launch()
    assert (end.data["state"], end.data["exit_code"]) == ("ended", 4)
    assert "exit code 4" in end.text
    output = debuggee.ok("output").data["output"]
    assert [line for line in output.splitlines() if line.startswith("round")] == [
        f"round {i}: {i + 2}" for i in range(6)
    ]
    assert "has ended" in debuggee.refused("continue")
    assert "has ended" in debuggee.refused("stack")


def test_10_mb_of_output(debuggee):
    end = debuggee.launch("flood", wait_seconds=20 if debuggee.subject.may_stall else 60)
    if debuggee.subject.may_stall and end.data["state"] == "running":
        assert "still running" in end.text
        assert debuggee.ok("terminate").data["state"] == "ended"
        return
    assert (end.data["state"], end.data["exit_code"]) == ("ended", 4)
    lines = debuggee.ok("output").data["output"].splitlines()
    numbers = [int(line[5:]) for line in lines if re.fullmatch(r"line \d{1018}", line)]
    if "tail" in debuggee.subject.cannot:
        assert len(numbers) > 50
        return
    assert numbers and numbers[-1] == 9999
    assert numbers == list(range(10000 - len(numbers), 10000)), "the tail is whole"


def test_arguments_folder_and_environment(debuggee):
    folder = debuggee.project.root / "deeper"
    folder.mkdir(exist_ok=True)
    end = debuggee.launch("show", 'two "words"', cwd="deeper", env={"SHOWN": "a b"})
    assert end.data["state"] == "ended", end
    output = debuggee.ok("output").data["output"]
    assert f'in {folder} with a b and two "words"' in output


def test_while_it_runs(debuggee):
    running = debuggee.launch("spin", wait_seconds=0)
    assert running.data["state"] == "running"
    assert "`pause`" in debuggee.refused("evaluate", expression="1")
    assert "`pause`" in debuggee.refused("step_over")
    assert "`pause`" in debuggee.refused("stack")
    assert "under way already" in debuggee.refused("launch", program=debuggee.subject.program)
    # While it starts, a stop of the adapter's own may come first.
    processes.wait_until(
        lambda: "round 5" in debuggee.ok("output").data["output"], what="the program's loop"
    )
    if not debuggee.subject.refuses("pause", lambda: debuggee.ok("pause")):
        stop = debuggee.ok("status")
        assert (stop.data["state"], stop.data["reason"]) == ("stopped", "pause")
        assert debuggee.ok("pause").data["state"] == "stopped", "what stands is left as it is"
        debuggee.ok("continue", wait_seconds=0)
        assert debuggee.ok("status").data["state"] == "running"
    debuggee.breaks("the spin")
    stop = debuggee.ok("status", wait_seconds=60)
    assert stop.data["state"] == "stopped" and stop.data["line"] == debuggee.line("the spin"), stop
    debuggee.breaks()
    debuggee.ok("continue", wait_seconds=0)
    assert debuggee.ok("terminate").data["state"] == "ended"


def test_what_cannot_be_launched(debuggee):
    subject = debuggee.subject
    text = debuggee.refused("launch", program="nothing.here", adapter=subject.id)
    assert "nothing.here" in text
    if subject.broken_says:
        name = "broken" + subject.source[subject.source.index(".") :]
        folder = debuggee.project.root / "broken"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(subject.broken)
        program = "broken" if subject.program == "." else f"broken/{name}"
        result = debuggee.session.call(
            "debug", operation="launch", program=program, adapter=subject.id
        )
        printed = debuggee.session.call("debug", operation="output")
        assert result.is_error or result.data["state"] != "running", result
        assert subject.broken_says in result.text + printed.text, (result, printed)


def test_a_restart(debuggee):
    debuggee.stop_at("the sum")
    debuggee.ok("step_over")
    again = debuggee.ok("launch", restart=True)
    assert again.data["line"] == debuggee.line("the sum"), again
    assert debuggee.ok("evaluate", expression=debuggee.first()).data["value"] == "0"
    end = debuggee.ok("terminate")
    assert end.data["state"] == "ended"
    assert debuggee.ok("terminate").data["state"] == "ended", "once more does no harm"


@pytest.fixture
def target(werkbank, subject, project):
    """The program, running by itself: its process and the words that attach to it."""
    if not subject.attach:
        yield None, {}
        return
    port = processes.free_port()
    argv = [word.replace("{port}", str(port)) for word in subject.listen] or ["./app", "spin"]
    process = subprocess.Popen(
        argv,
        cwd=project.root,
        env={**werkbank.env, processes.MARKER: f"{werkbank.test_id}-target"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if subject.listen:
        processes.wait_until(lambda: processes.is_listening(port), what="the program's debugger")
    yield process, {"port": port} if subject.attach == "port" else {"pid": process.pid}
    for pid in processes.marked(f"{werkbank.test_id}-target"):
        os.kill(pid, signal.SIGKILL)
    process.wait()


def test_attach_and_the_target_lives_on(debuggee, target):
    process, words = target
    subject = debuggee.subject
    if not subject.attach:
        text = debuggee.refused("attach", pid=1, adapter=subject.id)
        assert subject.cannot["attach"] in text, text
        return
    attached = debuggee.ok("attach", adapter=subject.id, wait_seconds=0, **words)
    assert attached.data["state"] in ("running", "stopped")
    if "attach_breakpoint" not in subject.cannot:
        debuggee.breaks("the spin")
        stop = (
            debuggee.ok("continue")
            if attached.data["state"] == "stopped"
            else debuggee.ok("status", wait_seconds=60)
        )
        assert stop.data["line"] == debuggee.line("the spin"), stop
    end = debuggee.ok("terminate")
    assert end.data["state"] == "ended" and "runs on" in end.text, end
    assert process.poll() is None
    processes.wait_until(lambda: processes.runs_freely(process.pid), what="the target, running")
