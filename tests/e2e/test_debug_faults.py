"""The debugger on a scripted adapter that fails: it dies at each point, breaks its frames, does not
go. Whatever it does, a call ends with a true sentence, the next session starts, nothing is left.
"""

import os

import pytest

from harness.scripted_debug import (
    assert_nothing_runs,
    assert_works_again,
    debug,
    launch,
    refused,
    set_inner,
    walk,
)

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
