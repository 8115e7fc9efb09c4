"""The debugger on a scripted adapter that does not answer, or does not come about: the call says so
when its time is over, and the next session is as good as the first. Times are settings here, never
assertions.
"""

import pytest

from harness import processes
from harness.scripted_debug import (
    INNER,
    assert_works_again,
    debug,
    launch,
    refused,
    set_inner,
    walk,
)

QUICK = {"answer_s": 2}


class TestSilence:
    """An adapter that does not answer: the call says so when its time is over."""

    @pytest.mark.parametrize("command", ["initialize", "launch", "configurationDone"])
    def test_at_the_start(self, debug_session, command):
        one, session = debug_session({"never_answer": [command]}, row={"start_s": 4})
        text = refused(session, "launch", program="spin.steps")
        assert f"{command} got no answer in time" in text
        assert debug(session, "status").data["state"] == "ended"
        assert_works_again(one, session)

    @pytest.mark.parametrize("command", ["launch", "configurationDone"])
    def test_a_program_that_ends_meanwhile(self, debug_session, command):
        one, session = debug_session({"never_answer": [command]})
        assert launch(session).data["exit_code"] == 3

    @pytest.mark.parametrize("order", ["launch_first", "launch_last"])
    def test_never_ready_for_breakpoints(self, debug_session, order):
        scenario = {"withhold": ["initialized"], "order": order}
        one, session = debug_session(scenario, row={"start_s": 4})
        text = refused(session, "launch", program="main.steps")
        assert "did not get ready to take breakpoints in time" in text

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
        one, session = debug_session({"never_answer": ["next", "continue"]}, settings=QUICK)
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
        one, session = debug_session({"late_ms": {"evaluate": 2300}}, settings=QUICK)
        set_inner(session)
        launch(session)
        frame = debug(session, "stack").data["frames"][1]["frame_id"]
        text = refused(session, "evaluate", expression="a", frame_id=frame)
        assert "did not answer `evaluate` in time" in text
        scope = processes.wait_until(lambda: debug(session, "scopes", frame_id=frame).data)
        assert scope[0]["name"] == "Locals"

    def test_answers_to_nothing(self, debug_session):
        one, session = debug_session({"request_seq_off": 1000}, row={"start_s": 4})
        text = refused(session, "launch", program="main.steps")
        assert "initialize got no answer in time" in text
        assert_works_again(one, session)


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
        # What comes to nothing by waiting alone need not be waited for.
        seconds = 1 if scenario.get("connection") == "never" else 4
        one, session = debug_session(scenario, how=how, row={"start_s": seconds})
        text = refused(session, "launch", program="main.steps")
        assert "scripted did not start" in text
        assert any(word in text for word in words), text

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
