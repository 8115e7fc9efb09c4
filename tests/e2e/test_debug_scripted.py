"""The debugger on a scripted adapter: what real ones say rarely, or not on demand: every order, odd
events, answers of other shapes, child sessions, floods.
"""

import pytest

from harness import processes
from harness.scripted_debug import (
    INNER,
    assert_nothing_runs,
    debug,
    launch,
    refused,
    set_inner,
    walk,
)

SPEECH = {
    "plain": {},
    "empty commands": {"empty_command": True},
    "every answer twice": {"answer_twice": ["*"]},
    "the stop before the answer": {"stop_before_answer": True},
    "byte by byte": {"split_bytes": True},
    "more headers": {"extra_headers": True},
    "small letters": {"lower_case_headers": True},
    "text before the first header": {"stdout_garbage": "DEBUGGER: wait for a client\n\n"},
    "text before each header": {"stdout_garbage_each": "log: something\n"},
    "initialized twice": {"initialized_times": 2},
    "terminated twice": {"terminated_times": 2},
    "stops told twice": {"stopped_times": 2},
    "errors in the body": {"error_in": "body"},
    "no numbers": {"seq": 0},
    "late verification": {"verify_late": True},
    "a huge stack": {"pad_stack_bytes": 20 << 20},
}

ODD_EVENTS = [
    ["nonesuch", {"x": 1}],
    ["thread", {"reason": "started", "threadId": 999}],
    ["thread", {"reason": "exited", "threadId": -1}],
    ["continued", {"threadId": 1, "allThreadsContinued": True}],
    ["breakpoint", {"reason": "changed", "breakpoint": {"id": 99999, "verified": False}}],
    ["breakpoint", None],
    ["module", {"reason": "new", "module": {"id": 1, "name": "m"}}],
    ["loadedSource", {}],
    ["progressStart", {"progressId": "p", "title": "working"}],
    ["output", {"category": "telemetry", "output": "secret"}],
    ["output", {}],
    ["capabilities", {}],
    ["process", {"systemProcessId": "none"}],
    ["invalidated", {"areas": ["all"]}],
]


class TestSpeech:
    @pytest.mark.parametrize("order", ["early", "launch_first", "launch_last", "launch_behind"])
    @pytest.mark.parametrize("words", ["plain", "every answer twice", "the stop before the answer"])
    def test_every_order(self, debug_session, order, words):
        one, session = debug_session({"order": order, **SPEECH[words]})
        assert walk(session).data["exit_code"] == 3

    def test_every_way_of_speaking(self, debug_session):
        one, session = debug_session()
        for words in SPEECH.values():
            one.set_scenario(words)
            assert walk(session).data["exit_code"] == 3, words

    def test_events_that_say_nothing(self, debug_session):
        commands = ["initialize", "launch", "setBreakpoints", "configurationDone", "stackTrace"]
        commands += ["scopes", "variables", "next", "continue"]
        one, session = debug_session({"events_on": {command: ODD_EVENTS for command in commands}})
        assert walk(session).data["exit_code"] == 3
        assert "secret" not in debug(session, "output", category="console").text

    @pytest.mark.parametrize("how", ["--listen", "--dial"])
    def test_over_tcp(self, debug_session, how):
        one, session = debug_session(how=how, scenario={"listen_late_ms": 400})
        assert walk(session).data["exit_code"] == 3

    def test_requests_of_its_own_are_answered(self, debug_session):
        one, session = debug_session({"run_in_terminal": True, "start_debugging": 0})
        assert walk(session).data["exit_code"] == 3
        answers = one.answers()
        assert [a["command"] for a in answers] == ["runInTerminal"]
        assert not answers[0]["success"] and answers[0]["message"]

    def test_what_it_cannot_is_not_asked(self, debug_session):
        one, session = debug_session({"missing_capabilities": ["supportsConditionalBreakpoints"]})
        points = {"file": "main.steps", "lines": [INNER], "conditions": ["c > 1"]}
        debug(session, "breakpoints", **points)
        debug(session, "breakpoints", functions=["inner"])
        end = launch(session)
        assert "condition" in end.text and "no function breakpoints" in end.text
        assert end.data["exit_code"] == 3
        assert one.received("setFunctionBreakpoints") == []
        assert one.received("setBreakpoints")[0]["arguments"]["breakpoints"] == []

    def test_capabilities_that_come_later(self, debug_session):
        later = {"supportsSetVariable": True, "supportsExceptionInfoRequest": True}
        later["exceptionBreakpointFilters"] = [{"filter": "late", "label": "Late"}]
        one, session = debug_session(
            {"missing_capabilities": ["supportsSetVariable"], "capabilities_event": later}
        )
        set_inner(session)
        stop = launch(session)
        assert "late (Late)" in debug(session, "breakpoints").text
        scope = debug(session, "scopes", frame_id=stop.data["frame_id"]).data[0]["reference"]
        debug(session, "variables", reference=scope, name="c", value="7")
        assert debug(session, "evaluate", expression="c").data["value"] == "7"


class TestStops:
    def test_a_stop_of_one_thread(self, debug_session):
        one, session = debug_session({"stop_lacks": ["allThreadsStopped"], "stop_says": {}})
        assert walk(session).data["exit_code"] == 3

    def test_a_stop_without_ids_is_found_by_its_place(self, debug_session):
        one, session = debug_session({"stop_lacks": ["hitBreakpointIds"]})
        debug(session, "breakpoints", file="main.steps", lines=[INNER], hit_counts=["2"])
        assert launch(session).data["exit_code"] == 3
        listed = debug(session, "breakpoints").data["breakpoints"][0]
        assert listed["hits"] == 1

    def test_a_stop_without_a_thread(self, debug_session):
        one, session = debug_session({"stop_lacks": ["threadId"]})
        set_inner(session)
        stop = launch(session)
        assert stop.data["state"] == "stopped" and stop.data["thread_id"] is None

    def test_a_stop_of_a_thread_that_is_not_there(self, debug_session):
        scenario = {"stop_says": {"threadId": 77}, "errors": {"stackTrace": "thread 77?"}}
        one, session = debug_session(scenario)
        set_inner(session)
        stop = launch(session)
        assert stop.data["state"] == "stopped" and "thread 77?" in stop.text
        assert "thread 77?" in refused(session, "stack")
        assert "thread 77?" in refused(session, "evaluate", expression="c")

    def test_a_reason_that_nobody_knows(self, debug_session):
        says = {"reason": "eclipse", "description": 5, "text": []}
        one, session = debug_session({"stop_says": says})
        set_inner(session)
        assert launch(session).data["reason"] == "eclipse"

    def test_a_stop_after_the_end_is_none(self, debug_session):
        after = [["stopped", {"reason": "step", "threadId": 1}], ["continued", {}]]
        one, session = debug_session({"events_on": {"disconnect": after}})
        assert walk(session).data["exit_code"] == 3
        assert debug(session, "status").data["state"] == "ended"

    def test_continued_events_move_nothing(self, debug_session):
        moved = [["continued", {"threadId": 1, "allThreadsContinued": True}]]
        one, session = debug_session({"events_on": {"stackTrace": moved, "scopes": moved}})
        set_inner(session)
        launch(session)
        assert debug(session, "status").data["state"] == "stopped"

    def test_a_move_that_is_refused_leaves_it_stopped(self, debug_session):
        one, session = debug_session({"errors": {"next": "cannot step here", "continue": "no"}})
        set_inner(session)
        launch(session)
        assert "cannot step here" in refused(session, "step_over")
        assert debug(session, "status").data["line"] == INNER
        assert "scripted: no" in refused(session, "continue")
        assert debug(session, "evaluate", expression="a", frame_id=self.outer(session))

    @staticmethod
    def outer(session):
        return debug(session, "stack").data["frames"][1]["frame_id"]


LIES = {
    "stackTrace": [
        {},
        {"stackFrames": None},
        {"stackFrames": "many"},
        {"stackFrames": [], "totalFrames": 0},
        {"stackFrames": [{}, {"id": "x"}, {"name": "no id"}, 7, None]},
        {"stackFrames": [{"id": 1, "name": 5, "line": "x", "source": 9}]},
        {"stackFrames": [{"id": -1, "name": "", "line": -4, "source": {"path": "/none\n"}}]},
        {"stackFrames": [{"id": 0, "name": "f", "line": 1 << 40, "source": {"path": "rel"}}]},
        {"stackFrames": [{"id": 1, "name": "n" * 5000, "line": 1}] * 500, "totalFrames": 1 << 60},
        {"stackFrames": [{"id": 1, "name": "x", "line": 1}], "totalFrames": -5},
    ],
    "scopes": [
        {},
        {"scopes": {"name": "Locals"}},
        {"scopes": [{}, {"name": 1, "variablesReference": "1"}, None]},
        {"scopes": [{"name": "Locals", "variablesReference": -1}]},
        {"scopes": [{"name": "Locals", "variablesReference": 1, "expensive": "yes"}] * 3000},
    ],
    "variables": [
        {},
        {"variables": 5},
        {"variables": [{}, None, {"name": None, "value": None, "variablesReference": None}]},
        {"variables": [{"name": "x", "value": 5, "type": [], "variablesReference": 1}]},
        {"variables": [{"name": "v" * 99999, "value": "x" * 99999}] * 30},
        {"variables": [{"name": "x", "value": "\udcff\u0000\u001b[2J", "variablesReference": 0}]},
        {"variables": [{"name": "x", "indexedVariables": -9, "namedVariables": 1e99}]},
    ],
    "threads": [{}, {"threads": None}, {"threads": [{}, {"id": "x"}, 5]}, {"threads": [[]]}],
    "evaluate": [{}, {"result": None}, {"result": 5, "variablesReference": "x"}],
    "continue": [{"allThreadsContinued": "no"}, []],
    "exceptionInfo": [{}, {"exceptionId": 5, "description": []}],
}


class TestLies:
    @pytest.mark.parametrize("command", LIES)
    def test_bodies_of_other_shapes(self, debug_session, command):
        """No answer of the adapter ends a session, and each is told as far as it says something."""
        one, session = debug_session()
        set_inner(session)
        for body in LIES[command]:
            can = {"supportsExceptionInfoRequest": True}
            says = {"reason": "exception"} if command == "exceptionInfo" else {}
            one.set_scenario({"bodies": {command: body}, "capabilities": can, "stop_says": says})
            stop = launch(session)
            assert stop.data["state"] == "stopped", body
            frame = stop.data.get("frame_id")
            for operation, args in (
                ("stack", {}),
                ("threads", {}),
                ("scopes", {"frame_id": frame or 1}),
                ("variables", {"reference": 3}),
                ("evaluate", {"expression": "c"}),
                ("status", {}),
            ):
                result = session.call("debug", operation=operation, **args)
                assert len(result.text) <= 70000 and "\x1b" not in result.text
            assert debug(session, "continue").data["exit_code"] == 3, body

    def test_lists_are_cut(self, debug_session):
        one, session = debug_session()
        set_inner(session)
        many = [{"name": f"v{n}", "value": "1", "variablesReference": 0} for n in range(5000)]
        frames = [{"id": n, "name": f"f{n}", "line": 1} for n in range(5000)]
        one.set_scenario({"bodies": {"variables": {"variables": many}}})
        stop = launch(session)
        scope = debug(session, "scopes", frame_id=stop.data["frame_id"]).data[0]["reference"]
        shown = debug(session, "variables", reference=scope)
        assert len(shown.data) == 50 and "5000" in shown.text
        debug(session, "terminate")
        one.set_scenario({"bodies": {"stackTrace": {"stackFrames": frames}}})
        launch(session)
        stack = debug(session, "stack")
        assert len(stack.data["frames"]) == 30 and "5000" in stack.text

    def test_breakpoint_answers_of_other_shapes(self, debug_session):
        one, session = debug_session()
        set_inner(session)
        for body in (
            {},
            {"breakpoints": None},
            {"breakpoints": []},
            {"breakpoints": [None]},
            {"breakpoints": [{"verified": "yes", "line": "x", "id": "y"}]},
            {"breakpoints": [{"verified": True, "line": INNER, "id": 1}] * 50},
        ):
            one.set_scenario({"bodies": {"setBreakpoints": body}})
            stop = launch(session)
            assert stop.data["state"] == "stopped", body
            debug(session, "terminate")

    def test_references_are_ours(self, debug_session):
        """The adapter's one reference means another frame by turns; ours do not."""
        one, session = debug_session()
        set_inner(session)
        launch(session)
        debug(session, "step_over")
        inner, outer = (frame["frame_id"] for frame in debug(session, "stack").data["frames"])
        first = debug(session, "scopes", frame_id=inner).data[0]["reference"]
        second = debug(session, "scopes", frame_id=outer).data[0]["reference"]
        for _ in range(2):
            names = [v["name"] for v in debug(session, "variables", reference=first).data]
            assert names == ["c"]
            names = [v["name"] for v in debug(session, "variables", reference=second).data]
            assert names == ["a", "b"]
        assert "no reference" in refused(session, "variables", reference=999)
        debug(session, "step_over")
        assert "earlier stop" in refused(session, "variables", reference=first)


class TestChildren:
    def make(self, debug_session, scenario=None, **more):
        row = {"child_sessions": True, "start_s": more.pop("start_s", 20)}
        scenario = {"start_debugging": 1, **(scenario or {})}
        return debug_session(scenario, how="--listen", row=row, **more)

    @pytest.mark.parametrize("order", ["early", "launch_first", "launch_last", "launch_behind"])
    def test_a_walk_in_a_child(self, debug_session, order):
        one, session = self.make(debug_session, {"order": order})
        assert walk(session).data["exit_code"] == 3
        launches = one.received("launch")
        assert launches[1]["arguments"]["__child"] == 0

    def test_the_root_says_nothing_of_the_end(self, debug_session):
        one, session = self.make(debug_session, {"root_tells_end": False})
        assert walk(session).data["exit_code"] == 3

    @pytest.mark.parametrize(
        "child",
        [{"connection": "refused"}, {"connection": "close"}, {"errors": {"launch": "no child"}}]
        + [{"never_answer": ["initialize"]}],
    )
    def test_one_that_does_not_start(self, debug_session, child):
        one, session = self.make(debug_session, {"child": child}, start_s=4)
        running = launch(session, wait_seconds=0)
        assert running.data["state"] == "running"
        processes.wait_until(
            lambda: "did not start" in debug(session, "output", category="console").text,
            what="the word of the child",
        )
        assert debug(session, "breakpoints", file="main.steps", lines=[2]).data["breakpoints"]
        assert debug(session, "terminate").data["state"] == "ended"
        assert_works_again_with_child(one, session)

    def test_two_and_too_many(self, debug_session):
        one, session = self.make(debug_session, {"start_debugging": 40})
        set_inner(session)
        assert launch(session).data["state"] == "stopped"
        processes.wait_until(
            lambda: len([m for m in one.received("configurationDone")]) >= 2, what="children"
        )
        assert debug(session, "terminate").data["state"] == "ended"
        assert 2 <= len(one.received("initialize")) <= 16

    def test_a_crash_in_a_child(self, debug_session):
        one, session = self.make(debug_session, {"child": {"crash_on": "evaluate"}})
        set_inner(session)
        launch(session)
        session.call("debug", operation="evaluate", expression="c")
        assert "killed by signal 9" in debug(session, "status", wait_seconds=60).text
        assert_nothing_runs(one)

    def test_who_has_none_is_refused(self, debug_session):
        one, session = debug_session({"start_debugging": 1})
        launch(session, wait_seconds=0)
        assert [a["success"] for a in one.answers()] == [False]
        debug(session, "terminate")


def assert_works_again_with_child(one, session):
    one.set_scenario({"start_debugging": 1})
    assert walk(session).data["exit_code"] == 3


class TestFloods:
    def test_output_is_bounded_and_told(self, debug_session):
        one, session = debug_session(files={"main.steps": "flood 20000000\nexit 0\n"})
        end = launch(session)
        assert end.data["exit_code"] == 0
        assert "left out" in end.text and len(end.text) < 4000
        output = debug(session, "output")
        assert output.data["dropped_bytes"] > 19000000
        assert len(output.text) < 20000 and len(output.data["output"]) <= 256 * 1024

    def test_it_does_not_drown_the_session(self, debug_session):
        one, session = debug_session({"flood_forever": True})
        set_inner(session)
        assert launch(session).data["state"] == "stopped"
        assert debug(session, "step_over").data["line"] == INNER + 1
        assert debug(session, "evaluate", expression="c").data["value"] == "3"
        assert debug(session, "terminate").data["state"] == "ended"

    def test_nothing_leaks(self, debug_session):
        """Twenty sessions, each ended in another way: the descriptors are those of the first."""
        one, session = debug_session(settings={"answer_s": 2})
        ways = [{}, {"crash_on": "next"}, {"corrupt": {"next": "eof_mid_frame"}}]
        ways += [{"crash_on": "initialize"}, {"ignore_end_of_input": True}]
        first = None
        for _ in range(4):
            for way in ways:
                one.set_scenario(way)
                set_inner(session)
                session.call("debug", operation="launch", program="main.steps")
                session.call("debug", operation="step_over")
                session.call("debug", operation="terminate")
            one.set_scenario({})
            launch(session)
            debug(session, "terminate")
            first = first or len(processes.descriptors(session.pid))
        processes.wait_until(
            lambda: len(processes.descriptors(session.pid)) <= first, what="as few descriptors"
        )
        assert_nothing_runs(one)
