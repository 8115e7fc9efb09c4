"""The debugger on a scripted adapter that fails: never answers, dies at each point, breaks its
frames, does not go.

Whatever it does, a call ends with a true sentence, the next session starts, and nothing is left.
Times are settings here, never assertions.
"""

import os

import pytest

from harness import processes
from harness.scripted_debug import (
    INNER,
    assert_nothing_runs,
    assert_works_again,
    debug,
    launch,
    refused,
    set_inner,
    walk,
)

QUICK = {"answer_s": 1, "wait_s": 2}


class TestSilence:
    """An adapter that does not answer: the call says so when its time is over."""

    @pytest.mark.parametrize("command", ["initialize", "launch", "configurationDone"])
    def test_at_the_start(self, debug_session, command):
        one, session = debug_session({"never_answer": [command]}, row={"start_s": 1})
        text = refused(session, "launch", program="spin.steps")
        assert f"{command} got no answer in time" in text
        assert debug(session, "status").data["state"] == "ended"
        assert_works_again(one, session)

    @pytest.mark.parametrize("command", ["launch", "configurationDone"])
    def test_a_program_that_ends_meanwhile(self, debug_session, command):
        one, session = debug_session({"never_answer": [command]})
        assert launch(session).data["exit_code"] == 3

    def test_never_ready_for_breakpoints(self, debug_session):
        for order in ("early", "launch_first", "launch_last"):
            scenario = {"withhold": ["initialized"], "order": order}
            one, session = debug_session(scenario, row={"start_s": 1})
            text = refused(session, "launch", program="main.steps")
            assert "did not get ready to take breakpoints in time" in text, order
        assert_works_again(one, session)

    @pytest.mark.parametrize("command", ["setBreakpoints", "setExceptionBreakpoints"])
    def test_while_it_configures(self, debug_session, command):
        one, session = debug_session({"never_answer": [command]}, settings=QUICK)
        set_inner(session)
        text = refused(session, "launch", program="main.steps")
        assert f"{command} got no answer in time" in text

    def test_while_it_is_stopped(self, debug_session):
        questions = {
            "threads": ("threads", {}),
            "stackTrace": ("stack", {}),
            "scopes": ("scopes", {"frame_id": 1}),
            "variables": ("variables", {"reference": 3}),
            "evaluate": ("evaluate", {"expression": "c"}),
        }
        one, session = debug_session(settings=QUICK)
        set_inner(session)
        for command, (operation, args) in questions.items():
            one.set_scenario({"never_answer": [command]})
            assert launch(session).data["state"] == "stopped"
            text = refused(session, operation, **args)
            if command != "stackTrace":
                assert f"did not answer `{command}` in time" in text
            debug(session, "terminate")
        assert_works_again(one, session)

    def test_a_move(self, debug_session):
        one, session = debug_session({"never_answer": ["next", "pause"]}, settings=QUICK)
        set_inner(session)
        launch(session)
        # The stop comes, the answer does not.
        over = debug(session, "step_over")
        assert over.data["state"] == "stopped" and over.data["line"] == INNER + 1
        assert debug(session, "continue").data["exit_code"] == 3

    def test_a_pause(self, debug_session):
        one, session = debug_session({"never_answer": ["pause"]}, settings=QUICK)
        launch(session, "spin.steps", wait_seconds=0)
        stop = debug(session, "pause")
        assert stop.data["reason"] == "pause" and stop.data["line"] == 2

    def test_everything_after_the_start(self, debug_session):
        commands = ["threads", "stackTrace", "scopes", "variables", "next", "continue", "pause"]
        one, session = debug_session(
            {"never_answer": [*commands, "disconnect"], "withhold": ["stopped"]},
            settings=QUICK,
        )
        assert launch(session, "spin.steps", wait_seconds=0).data["state"] == "running"
        assert "did not answer `threads` in time" in refused(session, "pause")
        assert "did not answer `pause` in time" in refused(session, "pause", thread_id=1)
        assert debug(session, "terminate").data["state"] == "ended"

    def test_late_answers_are_dropped(self, debug_session):
        one, session = debug_session({"late_ms": {"evaluate": 1300}}, settings=QUICK)
        set_inner(session)
        launch(session)
        frame = debug(session, "stack").data["frames"][1]["frame_id"]
        text = refused(session, "evaluate", expression="a", frame_id=frame)
        assert "did not answer `evaluate` in time" in text
        scope = processes.wait_until(lambda: debug(session, "scopes", frame_id=frame).data)
        assert scope[0]["name"] == "Locals"

    def test_answers_to_nothing(self, debug_session):
        one, session = debug_session({"request_seq_off": 1000}, row={"start_s": 1})
        text = refused(session, "launch", program="main.steps")
        assert "initialize got no answer in time" in text
        assert_works_again(one, session)


POINTS = {
    "initialize": None,
    "launch": None,
    "setBreakpoints": None,
    "setExceptionBreakpoints": None,
    "configurationDone": None,
    "stackTrace": ("stack", {}),
    "scopes": ("scopes", {"frame_id": 1}),
    "variables": ("variables", {"reference": 3}),
    "threads": ("threads", {}),
    "evaluate": ("evaluate", {"expression": "c"}),
    "next": ("step_over", {}),
    "continue": ("continue", {}),
    "disconnect": ("terminate", {}),
}


class TestDeath:
    @pytest.mark.parametrize("command", POINTS)
    def test_at_each_point(self, debug_session, command):
        ways = {
            "killed by signal 9": {"crash_signal": 9},
            "killed by signal 11": {"crash_signal": 11},
            "exited with status 7": {"crash_status": 7, "stderr": "the last words\n"},
        }
        one, session = debug_session()
        set_inner(session)
        for how, crash in ways.items():
            one.set_scenario({"crash_on": command, **crash})
            if POINTS[command] is None:
                text = refused(session, "launch", program="main.steps")
            else:
                launch(session)
                operation, args = POINTS[command]
                session.call("debug", operation=operation, **args)
                text = debug(session, "status", wait_seconds=60).text
            if command != "disconnect":
                assert how in text, command
                assert "the last words" in text or "stderr" not in crash
            assert debug(session, "status", wait_seconds=60).data["state"] == "ended"
        assert_nothing_runs(one)
        assert_works_again(one, session)

    @pytest.mark.parametrize(
        "how", ["eof_mid_frame", "eof_mid_header", "absurd_length", "huge_length", "long_line"]
    )
    def test_frames_that_end_it(self, debug_session, how):
        one, session = debug_session()
        set_inner(session)
        for command in ("initialize", "configurationDone", "evaluate"):
            one.set_scenario({"corrupt": {command: how}})
            result = session.call("debug", operation="launch", program="main.steps")
            if command == "evaluate":
                assert refused(session, "evaluate", expression="c")
            else:
                assert result.is_error and len(result.text) > 20, result
            assert debug(session, "status", wait_seconds=60).data["state"] == "ended"
        assert_nothing_runs(one)
        assert_works_again(one, session)

    @pytest.mark.parametrize(
        "how",
        ["invalid_utf8", "invalid_json", "not_an_object", "empty_body", "deep_json", "no_length"]
        + ["word_length", "negative_length", "many_headers"],
    )
    def test_frames_that_may_be_skipped(self, debug_session, how):
        """Where the next frame can be found it is read; where not, the session ends in order."""
        one, session = debug_session()
        set_inner(session)
        for command in ("launch", "evaluate"):
            one.set_scenario({"corrupt": {command: how}})
            result = session.call("debug", operation="launch", program="main.steps")
            session.call("debug", operation="evaluate", expression="a")
            if not result.is_error and debug(session, "status").data["state"] == "stopped":
                debug(session, "terminate")
            assert debug(session, "status", wait_seconds=60).data["state"] == "ended"
        assert_nothing_runs(one)
        assert_works_again(one, session)

    def test_exited_without_terminated(self, debug_session):
        one, session = debug_session({"withhold": ["terminated"]})
        assert walk(session).data["exit_code"] == 3

    def test_terminated_without_exited(self, debug_session):
        one, session = debug_session({"withhold": ["exited"]})
        end = walk(session)
        assert end.data["exit_code"] is None and "the program ended" in end.text

    def test_neither_but_the_end_of_the_stream(self, debug_session):
        one, session = debug_session({"withhold": ["exited", "terminated"], "exit_at_end": True})
        end = walk(session)
        assert end.data["exit_code"] is None and "exited with status 0" in end.text

    def test_it_ignores_every_request_to_go(self, debug_session):
        stubborn = {"ignore_disconnect": True, "ignore_sigterm": True, "ignore_end_of_input": True}
        one, session = debug_session(stubborn)
        launch(session, "spin.steps", wait_seconds=0)
        assert debug(session, "terminate").data["state"] == "ended"
        assert_nothing_runs(one)

    def test_a_target_that_was_attached_to_lives(self, debug_session, werkbank):
        scenario = {"ignore_disconnect": True, "ignore_sigterm": True, "debuggee": False}
        one, session = debug_session(scenario)
        end = debug(session, "attach", pid=os.getpid())
        assert end.data["state"] == "running"
        assert "runs on" in debug(session, "terminate").text
        assert one.received("disconnect")[0]["arguments"]["terminateDebuggee"] is False

    def test_a_host_that_is_killed_takes_all_along(self, debug_session):
        stubborn = {"ignore_disconnect": True, "ignore_sigterm": True, "ignore_end_of_input": True}
        one, session = debug_session(stubborn)
        launch(session, "spin.steps", wait_seconds=0)
        session.kill()
        assert_nothing_runs(one)


class TestTcp:
    @pytest.mark.parametrize("how", ["--listen", "--dial"])
    @pytest.mark.parametrize(
        "scenario, words",
        [
            ({"connection": "never"}, ("nothing", "in time")),
            ({"connection": "close"}, ("closed", "connection")),
            ({"exit_at_start": 3, "stderr": "no such option\n"}, ("no such option",)),
            ({"never_answer": ["initialize"]}, ("initialize got no answer in time",)),
            ({"crash_on": "initialize"}, ("killed by signal 9",)),
        ],
    )
    def test_that_do_not_come_about(self, debug_session, how, scenario, words):
        one, session = debug_session(scenario, how=how, row={"start_s": 1})
        text = refused(session, "launch", program="main.steps")
        assert "scripted did not start" in text
        assert any(word in text for word in words), text
        assert_works_again(one, session)

    def test_one_that_is_closed_while_it_runs(self, debug_session):
        one, session = debug_session({"crash_on": "pause"}, how="--listen")
        launch(session, "spin.steps", wait_seconds=0)
        session.call("debug", operation="pause")
        assert "killed by signal 9" in debug(session, "status", wait_seconds=60).text

    def test_the_next_candidate_is_tried(self, debug_session):
        one, session = debug_session()
        config = one.config_path.read_text().replace('"commands": [[', '"commands": [["false"], [')
        one.config_path.write_text(config)
        assert walk(session).data["exit_code"] == 3


