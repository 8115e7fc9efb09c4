"""The scripted server: what no real one does on demand, and what must be said about it.

The `scripted` fixture fails a test whose server saw the client break a rule of the protocol.
"""

import json
import re
from urllib.parse import unquote

import pytest

from harness.processes import wait_until
from harness.scripted import MAIN, server_row

NAVIGATION = ["definition", "type_definition", "implementation", "references", "hover"]

# Deadlines that a test can wait for; the program's own are for big projects.
SHORT = {"lsp": {"request_timeout_s": 2, "start_timeout_s": 10}}

HELLO = {"file": "main.scr", "line": 3, "symbol": "hello"}
BROKEN = "def hello\nERROR it is broken\n"

CAPABILITY_OF = {
    "definition": "definitionProvider",
    "type_definition": "typeDefinitionProvider",
    "implementation": "implementationProvider",
    "references": "referencesProvider",
    "hover": "hoverProvider",
    "code_actions": "codeActionProvider",
}


def diagnose(session, file="main.scr"):
    return session.call("lsp", action="diagnostics", file=file)


def messages(result):
    return [one["message"] for one in result.data["diagnostics"]]


# --- a project that is still being read ---


def test_empty_answers_before_the_log_says_that_all_is_read(scripted_session):
    """Like pyright, whose workspace symbols are empty until then."""
    _, session = scripted_session(
        {"loading_ms": 2000, "loaded_log": "Found 3 source files"},
        row={"ready": "log", "ready_log": "source file"},
    )
    assert "main.scr:2" in session.ok("lsp", action="symbols", query="hello").text


def test_a_log_that_never_says_it(scripted_session):
    _, session = scripted_session({}, row={"ready": "log", "ready_log": "source file"}, settings=SHORT)
    assert "main.scr:2" in session.ok("lsp", action="definition", **HELLO).text


# --- answers that do not come ---


def test_no_answer_is_a_timeout_and_is_cancelled(scripted_session):
    one, session = scripted_session({"never_answer": ["textDocument/hover"]}, settings=SHORT)
    text = session.error("lsp", action="hover", **HELLO)
    assert "scripted" in text and "time" in text
    asked = one.received("textDocument/hover")
    wait_until(lambda: one.received("$/cancelRequest"), what="the cancellation")
    assert one.received("$/cancelRequest")[0]["params"]["id"] == asked[-1]["id"]
    # The server itself is well: another question is answered.
    assert "main.scr:2" in session.ok("lsp", action="definition", **HELLO).text


def test_late_answer_is_waited_for(scripted_session):
    _, session = scripted_session({"late_ms": {"textDocument/hover": 700}})
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text


def test_answer_after_the_deadline_is_dropped(scripted_session):
    one, session = scripted_session({"late_ms": {"textDocument/hover": 3000}}, settings=SHORT)
    session.error("lsp", action="hover", **HELLO)
    other = {**HELLO, "line": 5, "symbol": "other"}
    wait_until(lambda: one.received("$/cancelRequest"), what="the cancellation")
    found = session.ok("lsp", action="references", **other)
    assert {location["line"] for location in found.data["locations"]} >= {6}


def test_nothing_pushed_is_unknown(scripted_session):
    _, session = scripted_session({"push_version": "never"}, settings=SHORT)
    result = diagnose(session)
    assert result.data["state"] == "unknown"
    [server] = result.data["servers"]
    assert (server["name"], server["state"]) == ("scripted", "unknown")
    assert "scripted" in result.text


# --- servers that die ---


def test_crash_in_a_request_is_told_with_its_last_words(scripted_session):
    _, session = scripted_session(
        {"crash_on": "textDocument/hover", "crash_stderr": "stack overflow in parser\n"}
    )
    text = session.error("lsp", action="hover", **HELLO)
    assert "stack overflow in parser" in text
    assert "status 1" in text


def test_crash_by_signal_is_named(scripted_session):
    _, session = scripted_session({"crash_on": "textDocument/hover", "crash_signal": 11})
    text = session.error("lsp", action="hover", **HELLO)
    assert "SIGSEGV" in text or "signal 11" in text


def test_restart_on_the_next_use(scripted_session):
    one, session = scripted_session({"starts": [{"crash_on": "textDocument/hover"}]})
    session.call("lsp", action="hover", **HELLO)
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    assert len(one.pids()) == 2


def test_crash_after_some_requests(scripted_session):
    one, session = scripted_session({"crash_after": 3})
    for _ in range(8):
        session.call("lsp", action="hover", **HELLO)
    assert 2 <= len(one.pids()) <= 6


def test_crash_loop_ends(scripted_session):
    one, session = scripted_session({"crash_on": "textDocument/hover", "crash_stderr": "always\n"})
    texts = [session.error("lsp", action="hover", **HELLO) for _ in range(12)]
    # One start and at most five restarts in three minutes.
    assert len(one.pids()) <= 6
    assert "reload" in texts[-1]
    assert "always" in texts[-1]


def test_reload_lifts_the_restart_limit(scripted_session):
    one, session = scripted_session({"crash_on": "textDocument/hover"})
    for _ in range(8):
        session.error("lsp", action="hover", **HELLO)
    starts = len(one.pids())
    session.ok("lsp", action="reload")
    one.set_scenario({})
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    assert len(one.pids()) == starts + 1


def test_crash_during_initialize(scripted_session):
    one, session = scripted_session(
        {"crash_during_initialize": True, "crash_stderr": "cannot read the index\n"}
    )
    text = session.error("lsp", action="hover", **HELLO)
    assert "cannot read the index" in text
    for _ in range(10):
        session.error("lsp", action="hover", **HELLO)
    assert len(one.pids()) <= 6


def test_start_that_fails(scripted_session):
    _, session = scripted_session({"exit_at_start": 3, "stderr": "unknown binary in toolchain\n"})
    text = session.error("lsp", action="hover", **HELLO)
    assert "unknown binary in toolchain" in text and "3" in text


def test_a_crash_makes_diagnostics_unknown(scripted_session):
    _, session = scripted_session({"crash_on": "textDocument/didOpen", "crash_stderr": "bang\n"})
    result = diagnose(session)
    assert result.is_error and "bang" in result.text
    assert result.data is None or result.data["state"] == "unknown"


# --- diagnostics: when, and for which version ---


@pytest.mark.parametrize("how", ["right", "missing", "twice"])
def test_pushes_that_count(scripted_session, how):
    _, session = scripted_session(
        {"push_version": how},
        row={"versions": how != "missing"},
        files={"main.scr": BROKEN, "clean.scr": MAIN},
    )
    result = diagnose(session)
    assert result.data["state"] == "findings"
    assert messages(result) == ["it is broken"]
    assert result.data["diagnostics"][0] == {
        "path": "main.scr",
        "line": 2,
        "severity": "error",
        "source": "scripted",
        "code": "E1",
        "message": "it is broken",
    }
    clean = diagnose(session, "clean.scr")
    assert clean.data["state"] == "clean" and clean.data["diagnostics"] == []
    assert not clean.is_error


@pytest.mark.parametrize("versions", [True, False])
def test_a_push_for_another_version_is_never_clean(scripted_session, versions):
    _, session = scripted_session(
        {"push_version": "wrong", "wrong_by": -1},
        row={"versions": versions},
        files={"main.scr": BROKEN},
        settings=SHORT,
    )
    result = diagnose(session)
    assert result.data["state"] in ("findings", "unknown")


def test_an_empty_push_before_the_real_one(scripted_session):
    _, session = scripted_session(
        {"empty_push_first": True, "push_delay_ms": 200},
        row={"versions": True, "settle_ms": 2000},
        files={"main.scr": BROKEN},
    )
    assert diagnose(session).data["state"] == "findings"


def test_a_server_that_has_just_begun_pushes_an_empty_list_first(scripted_session):
    """Like biome, before it has read its configuration."""
    _, session = scripted_session(
        {"empty_push_first": True, "push_delay_ms": 10},
        row={"versions": True},
        files={"main.scr": BROKEN},
    )
    assert diagnose(session).data["state"] == "findings"


def test_a_slow_push_is_waited_for(scripted_session):
    _, session = scripted_session({"push_delay_ms": 1500}, files={"main.scr": BROKEN})
    assert diagnose(session).data["state"] == "findings"


PULL = {"diagnostics": "pull"}


def test_pull(scripted_session):
    _, session = scripted_session(
        {"pull": True, "pull_only": True}, row=PULL, files={"main.scr": BROKEN, "clean.scr": MAIN}
    )
    assert messages(diagnose(session)) == ["it is broken"]
    assert diagnose(session, "clean.scr").data["state"] == "clean"


def test_pull_that_answers_unchanged(scripted_session):
    one, session = scripted_session(
        {"pull": True, "pull_only": True, "pull_unchanged": True},
        row=PULL,
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]
    assert messages(diagnose(session)) == ["it is broken"]
    one.project.write("main.scr", "def hello\nERROR another\n")
    assert messages(diagnose(session)) == ["another"]


@pytest.mark.parametrize("code, data", [(-32802, {"retriggerRequest": True}), (-32801, None)])
def test_pull_is_asked_again(scripted_session, code, data):
    error = {"code": code, "message": "busy", "data": data, "times": 2}
    one, session = scripted_session(
        {"pull": True, "pull_only": True, "errors": {"textDocument/diagnostic": error}},
        row=PULL,
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]
    assert len(one.received("textDocument/diagnostic")) == 3


def test_asking_again_is_bounded(scripted_session):
    error = {"code": -32801, "message": "busy"}
    one, session = scripted_session({"errors": {"textDocument/hover": error}}, settings=SHORT)
    assert "scripted" in session.error("lsp", action="hover", **HELLO)
    assert len(one.received("textDocument/hover")) < 100


def test_pull_that_is_announced_and_missing_falls_back_to_push(scripted_session):
    error = {"code": -32601, "message": "Unhandled method textDocument/diagnostic"}
    _, session = scripted_session(
        {"pull": True, "errors": {"textDocument/diagnostic": error}},
        row={"diagnostics": "both"},
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]


@pytest.mark.parametrize("delay_ms", [0, 300])
def test_pull_that_is_registered_later(scripted_session, delay_ms):
    one, session = scripted_session(
        {"pull_only": True, "dynamic_pull": {"delay_ms": delay_ms}},
        row=PULL,
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]
    assert "error" not in one.journal("answered")[0]


def test_pull_that_is_unregistered(scripted_session):
    one, session = scripted_session(
        {"dynamic_pull": {"unregister_after_changes": 1}},
        row={"diagnostics": "both"},
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]
    one.project.write("main.scr", "def hello\nERROR another\n")
    diagnose(session)
    assert messages(diagnose(session)) == ["another"]
    answers = {entry["method"]: entry for entry in one.journal("answered")}
    assert "error" not in answers["client/unregisterCapability"]


def test_push_and_pull_are_both_kept(scripted_session):
    # As rust-analyzer: its pull knows nothing of what it pushes.
    _, session = scripted_session(
        {"pull": True, "results": {"textDocument/diagnostic": {"kind": "full", "items": []}}},
        row={"diagnostics": "both", "versions": True},
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]


def test_a_pull_before_the_first_refresh_waits_for_it(scripted_session):
    """Like oxlint, which answers at once and has not read its configuration."""
    _, session = scripted_session(
        {"pull": True, "pull_only": True, "pull_refresh_ms": 400},
        row={**PULL, "first_refresh": True},
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]


def test_a_pull_is_repeated_when_the_server_asked_for_it_meanwhile(scripted_session):
    one, session = scripted_session(
        {
            "pull": True,
            "pull_only": True,
            "pull_refresh_ms": 300,
            "late_ms": {"textDocument/diagnostic": 600},
        },
        row=PULL,
        files={"main.scr": BROKEN},
    )
    assert messages(diagnose(session)) == ["it is broken"]
    assert len(one.received("textDocument/diagnostic")) == 2


CHECKED = {"diagnostics": "both", "versions": True, "check_progress": "check", "settle_ms": 60}


def test_the_check_behind_a_save_is_waited_for(scripted_session):
    """Like rust-analyzer's; each write cancels the check of the one before."""
    _, session = scripted_session(
        {"pull": True, "check": {"begin_ms": 60, "run_ms": 300}}, row=CHECKED
    )
    session.ok("lsp", action="diagnostics", file="main.scr")
    for content, found in ((BROKEN, True), (MAIN, False), (BROKEN, True)):
        result = session.ok("write", path="main.scr", content=content)
        assert ("it is broken" in result.text) == found, result


def test_a_check_that_a_write_has_cancelled_is_not_its_word(scripted_session):
    _, session = scripted_session(
        {"pull": True, "check": {"begin_ms": 60, "run_ms": [60000, 300]}}, row=CHECKED
    )
    session.ok("lsp", action="symbols", file="main.scr")
    assert "still checking" in session.ok("write", path="main.scr", content=MAIN + "\n").text
    assert "it is broken" in session.ok("write", path="main.scr", content=BROKEN).text


def test_a_check_that_is_switched_off_is_not_waited_for_again(scripted_session):
    _, session = scripted_session({"pull": True}, row=CHECKED)
    session.ok("lsp", action="symbols", file="main.scr")

    def is_told():
        session.ok("write", path="main.scr", content=MAIN)
        text = session.ok("write", path="main.scr", content=BROKEN).text
        return "it is broken" in text and "still checking" not in text

    wait_until(is_told, 60, "the end of waiting for checks")
    session.ok("write", path="main.scr", content=MAIN)
    for _ in range(5):
        assert "it is broken" in session.ok("write", path="main.scr", content=BROKEN).text
        assert "still checking" not in session.ok("write", path="main.scr", content=MAIN).text


def test_odd_diagnostics_are_read(scripted_session):
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    items = [
        {"range": place, "message": "no severity"},
        {"range": place, "message": "number", "code": 42, "severity": 2},
        {
            "range": place,
            "message": "object",
            "code": {"value": "x1", "target": "t"},
            "severity": 1,
        },
        {"range": place, "message": {"kind": "markdown", "value": "markup"}, "severity": 1},
        {"message": "no range", "severity": 1},
        "nonsense",
        None,
    ]
    _, session = scripted_session(
        {
            "pull": True,
            "pull_only": True,
            "results": {"textDocument/diagnostic": {"kind": "full", "items": items}},
        },
        row=PULL,
    )
    result = diagnose(session)
    found = {one["message"]: one for one in result.data["diagnostics"]}
    assert found["no severity"]["severity"] == "error"
    assert found["number"]["code"] == "42"
    assert found["object"]["code"] == "x1"
    assert "markup" in found


# --- requests of the server ---


@pytest.mark.parametrize("ids", [{}, {"string_ids": True}, {"colliding_ids": True}])
@pytest.mark.parametrize("when", ["requests_during_initialize", "requests_after_initialized"])
def test_every_request_is_answered(scripted_session, ids, when):
    one, session = scripted_session({when: "standard", **ids})
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    answers = {entry["method"]: entry for entry in one.journal("answered")}
    assert len(answers) == 10
    configuration = answers["workspace/configuration"]["result"]
    assert len(configuration) == 2 and None not in configuration
    folders = answers["workspace/workspaceFolders"]["result"]
    assert [folder["uri"] for folder in folders] == [one.root.resolve().as_uri()]
    assert answers["workspace/applyEdit"]["result"]["applied"] is False
    assert answers["window/showMessageRequest"]["result"] is None
    assert answers["scripted/unknownMethod"]["error"]["code"] == -32601
    for method in ("window/workDoneProgress/create", "client/registerCapability"):
        assert "error" not in answers[method]


def test_requests_in_the_middle_of_ours(scripted_session):
    one, session = scripted_session(
        {"requests_on": {"textDocument/hover": "standard"}, "colliding_ids": True}
    )
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    assert len(one.journal("answered")) == 10


def test_settings_of_the_row_are_handed_out(scripted_session):
    one, session = scripted_session(
        {"requests_during_initialize": "standard"},
        row={"settings": {"scripted": {"depth": 3}}, "initialization_options": {"a": 1}},
    )
    session.ok("lsp", action="hover", **HELLO)
    answers = {entry["method"]: entry for entry in one.journal("answered")}
    assert answers["workspace/configuration"]["result"][0] == {"depth": 3}
    assert one.received("initialize")[0]["params"]["initializationOptions"] == {"a": 1}


def test_an_edit_sent_during_a_read_is_refused(scripted_session):
    scenario = {}
    one, session = scripted_session(scenario)
    edit = {"changes": {(one.root / "main.scr").as_uri(): []}}
    one.set_scenario(
        {"requests_on": {"textDocument/hover": [["workspace/applyEdit", {"edit": edit}]]}}
    )
    before = one.project.snapshot()
    session.ok("lsp", action="hover", **HELLO)
    assert one.journal("answered")[-1]["result"]["applied"] is False
    assert one.project.snapshot() == before


# --- framing ---


@pytest.mark.parametrize(
    "scenario",
    [
        {"stdout_garbage": "Listening on stdio...\n"},
        {"stdout_garbage_each": "debug: sending\n"},
        {"extra_headers": True},
        {"lower_case_headers": True},
        {"split_bytes": True},
        {"stderr_flood_bytes": 10 * 1024 * 1024},
    ],
)
def test_framing_that_works(scripted_session, scenario):
    _, session = scripted_session(scenario)
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    assert "main.scr:2" in session.ok("lsp", action="definition", **HELLO).text


def test_a_reply_of_20_mb(scripted_session):
    _, session = scripted_session({"big_reply": {"textDocument/hover": 20 * 1024 * 1024}})
    result = session.ok("lsp", action="hover", **HELLO)
    assert len(result.text) < 128 * 1024
    assert "main.scr:2" in session.ok("lsp", action="definition", **HELLO).text


@pytest.mark.parametrize(
    "kind",
    [
        "absurd_length",
        "huge_length",
        "negative_length",
        "word_length",
        "no_length",
        "invalid_utf8",
        "invalid_json",
        "not_an_object",
        "empty_body",
        "deep_json",
        "eof_mid_frame",
        "eof_mid_header",
    ],
)
def test_broken_frames(scripted_session, kind):
    scenario = {"starts": [{"corrupt": {"textDocument/hover": kind}}]}
    one, session = scripted_session(scenario, settings=SHORT)
    text = session.error("lsp", action="hover", **HELLO)
    assert "scripted" in text
    session.ok("lsp", action="reload")
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text


# --- the end ---


@pytest.mark.parametrize(
    "scenario",
    [
        {"never_answer": ["shutdown"], "ignore_exit": True},
        {"never_answer": ["shutdown"], "ignore_exit": True, "ignore_end_of_input": True},
        {
            "never_answer": ["shutdown"],
            "ignore_exit": True,
            "ignore_end_of_input": True,
            "ignore_sigterm": True,
        },
        {"grandchild": "quiet"},
        {"grandchild": "keeps_stdout", "ignore_sigterm": True, "never_answer": ["shutdown"]},
        {"ignore_exit": True},
    ],
)
def test_nothing_survives_the_end(scripted_session, werkbank, scenario):
    one, session = scripted_session(scenario)
    session.ok("lsp", action="hover", **HELLO)
    assert session.close() == 0
    werkbank.close()
    assert len(one.pids()) == 1


def test_a_polite_end_is_polite(scripted_session):
    one, session = scripted_session()
    session.ok("lsp", action="hover", **HELLO)
    session.close()
    assert one.received("shutdown") and one.received("exit")
    assert one.journal("stop")[0]["reason"] == "exit"


def test_reload_starts_a_new_process(scripted_session):
    one, session = scripted_session()
    session.ok("lsp", action="hover", **HELLO)
    session.ok("lsp", action="reload", file="main.scr")
    session.ok("lsp", action="hover", **HELLO)
    assert len(set(one.pids())) == 2


def test_an_idle_server_is_stopped(scripted_session):
    one, session = scripted_session(settings={"lsp": {"idle_stop_s": 1}})
    session.ok("lsp", action="hover", **HELLO)
    wait_until(lambda: one.journal("stop"), seconds=90, what="the idle stop")
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text
    assert len(one.pids()) == 2


# --- loading ---


def test_empty_while_loading_is_not_none(scripted_session):
    _, session = scripted_session(
        {"loading_ms": 600000, "server_status": True},
        row={"ready": "server_status"},
        settings=SHORT,
    )
    result = session.call("lsp", action="references", **HELLO)
    assert "not ready" in result.text or "loading" in result.text
    assert "0 " not in result.text.split("\n")[0]


def test_the_end_of_loading_is_waited_for(scripted_session):
    _, session = scripted_session(
        {"loading_ms": 1500, "server_status": True}, row={"ready": "server_status"}
    )
    assert session.ok("lsp", action="references", **HELLO).data["total"] >= 2


def test_loading_told_by_progress(scripted_session):
    _, session = scripted_session(
        {"loading_ms": 1500, "progress": [{"token": 7, "end_after_ms": 1500}]},
        row={"ready": "progress"},
    )
    assert session.ok("lsp", action="references", **HELLO).data["total"] >= 2


@pytest.mark.parametrize(
    "progress",
    [
        [{"token": "t", "create": False, "end_after_ms": 10}],
        [{"token": 7}],
        [{"token": "t", "on": "textDocument/hover"}],
    ],
)
def test_odd_progress_does_not_stop_answers(scripted_session, progress):
    _, session = scripted_session({"progress": progress})
    assert "def hello" in session.ok("lsp", action="hover", **HELLO).text


# --- what is not offered, and shapes of answers ---


@pytest.mark.parametrize("action", sorted(CAPABILITY_OF))
def test_missing_capabilities(scripted_session, action):
    _, session = scripted_session({"missing_capabilities": [CAPABILITY_OF[action]]})
    text = session.error("lsp", action=action, **HELLO)
    assert "does not offer" in text and "scripted" in text


def test_missing_symbols(scripted_session):
    _, session = scripted_session(
        {"missing_capabilities": ["documentSymbolProvider", "workspaceSymbolProvider"]}
    )
    assert "does not offer" in session.error("lsp", action="symbols", file="main.scr")
    assert "does not offer" in session.error("lsp", action="symbols", query="hello")


@pytest.mark.parametrize("action", NAVIGATION)
def test_null_is_none_and_no_error(scripted_session, action):
    method = {"type_definition": "typeDefinition"}.get(action, action)
    _, session = scripted_session({"results": {f"textDocument/{method}": None}})
    result = session.call("lsp", action=action, **HELLO)
    assert "does not offer" not in result.text and result.text
    if action != "hover":
        assert result.data["locations"] == [] and result.data["total"] == 0


@pytest.mark.parametrize("shape", ["location", "locations", "links"])
def test_definition_shapes(scripted_session, shape):
    _, session = scripted_session({"definition_shape": shape})
    result = session.ok("lsp", action="definition", **HELLO)
    assert result.data["locations"] == [{"path": "main.scr", "line": 2, "text": "def hello"}]
    assert "main.scr:2: def hello" in result.text


@pytest.mark.parametrize("shape", ["markup", "plain", "string", "marked", "array"])
def test_hover_shapes(scripted_session, shape):
    _, session = scripted_session({"hover_shape": shape})
    text = session.ok("lsp", action="hover", **HELLO).text
    assert "def hello" in text
    assert shape == "marked" or "greets" in text


@pytest.mark.parametrize("shape", ["tree", "flat"])
def test_document_symbol_shapes(scripted_session, shape):
    _, session = scripted_session(
        {"symbols_shape": shape}, files={"main.scr": "def outer\n  def inner\n"}
    )
    text = session.ok("lsp", action="symbols", file="main.scr").text
    assert "outer" in text and "inner" in text


def test_workspace_symbols_without_a_range(scripted_session):
    _, session = scripted_session({"workspace_symbol_shape": "no_range"})
    result = session.ok("lsp", action="symbols", query="hello")
    assert "hello" in result.text and "main.scr" in result.text


@pytest.mark.parametrize("result", [7, "text", {"uri": 5}, [None, {"range": {}}], [[]], {"a": []}])
@pytest.mark.parametrize("action", ["definition", "references", "hover", "code_actions"])
def test_nonsense_answers(scripted_session, action, result):
    methods = {"code_actions": "codeAction"}
    _, session = scripted_session(
        {"results": {f"textDocument/{methods.get(action, action)}": result}}
    )
    session.call("lsp", action=action, **HELLO)
    assert "main.scr" in session.ok("lsp", action="symbols", file="main.scr").text


def test_counted_limits(scripted_session):
    many = "".join(f"def name{number}\n" for number in range(250))
    uses = "def hello\n" + "hello\n" * 212
    _, session = scripted_session({}, files={"many.scr": many, "uses.scr": uses})
    found = session.ok("lsp", action="references", file="uses.scr", line=1, symbol="hello")
    assert found.data["total"] == 213
    assert re.search(r"50 of 213 (\w+ )?shown", found.text)
    assert sum(1 for line in found.text.splitlines() if line.startswith("uses.scr:")) == 50
    symbols = session.ok("lsp", action="symbols", file="many.scr").text
    assert "200 of 250" in symbols
    query = session.ok("lsp", action="symbols", query="name").text
    assert "100 of 250" in query


# --- positions ---


WIDE = 'def hello\nuse hello # x\n"ä😀" hello end\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "none", "clangd"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_positions(scripted_session, encoding, ending, bom):
    text = bom + WIDE.replace("\n", ending)
    one, session = scripted_session(
        {"position_encoding": encoding, "rename_shape": "changes"},
        row={"offset_encoding": encoding == "clangd"},
        files={"main.scr": text},
    )
    use = {"file": "main.scr", "line": 3, "symbol": "hello"}
    found = session.ok("lsp", action="definition", **use)
    assert found.data["locations"] == [{"path": "main.scr", "line": 1, "text": "def hello"}]
    # A name at the very start of a line, behind a BOM.
    first = session.ok("lsp", action="hover", file="main.scr", line=1, symbol="hello")
    assert "def hello" in first.text
    session.ok("lsp_rename", **use, new_name="welcome")
    assert one.project.read("main.scr") == text.replace("hello", "welcome")


def test_symbol_choice(scripted_session):
    _, session = scripted_session(
        {}, files={"main.scr": "def hello\ndef shell\nshello hello shell hello\n"}
    )
    at = {"action": "definition", "file": "main.scr", "line": 3}
    # Two hits of hello lead to one declaration.
    assert session.ok("lsp", symbol="hello", **at).data["locations"][0]["line"] == 1
    assert session.ok("lsp", symbol="hello#2", **at).data["locations"][0]["line"] == 1
    assert session.ok("lsp", symbol="shell", **at).data["locations"][0]["line"] == 2
    text = session.error("lsp", symbol="hello#7", **at)
    # With the one inside of "shello".
    assert "3 times" in text
    text = session.error("lsp", symbol="absent", **at)
    assert "shello hello shell hello" in text
    text = session.error("lsp", action="definition", file="main.scr", line=3)
    assert "symbol" in text
    text = session.error("lsp", symbol="hello", action="definition", file="main.scr", line=99)
    assert "99" in text


def test_hits_that_lead_apart_are_listed(scripted_session):
    # The part "ell" is in two different words.
    _, session = scripted_session({}, files={"main.scr": "def hello\ndef shell\nhello shell\n"})
    at = {"action": "definition", "file": "main.scr", "line": 3}
    text = session.error("lsp", symbol="ell", **at)
    assert "ell#1" in text and "ell#2" in text
    assert session.ok("lsp", symbol="ell#2", **at).data["locations"][0]["line"] == 2


def test_member_chain(scripted_session):
    files = {"main.scr": "def first\ndef last\nfirst.last first::last first->last\n"}
    _, session = scripted_session({}, files=files)
    for symbol in ("first.last", "first::last", "first->last"):
        at = {"action": "definition", "file": "main.scr", "line": 3, "symbol": symbol}
        assert session.ok("lsp", **at).data["locations"][0]["line"] == 2


# --- documents ---


@pytest.mark.parametrize("kind", [1, 2])
def test_changes_on_disk_are_sent_first(scripted_session, kind):
    one, session = scripted_session({"sync_kind": kind})
    session.ok("lsp", action="hover", **HELLO)
    one.project.write("main.scr", "# new\n" + MAIN)
    at = {**HELLO, "line": 4}
    assert session.ok("lsp", action="definition", **at).data["locations"][0]["line"] == 3
    one.project.write("main.scr", MAIN)
    assert session.ok("lsp", action="definition", **HELLO).data["locations"][0]["line"] == 2
    versions = [
        one["params"]["textDocument"]["version"] for one in one.received("textDocument/didChange")
    ]
    assert versions == sorted(set(versions)) and versions


def test_equal_content_sends_nothing(scripted_session):
    one, session = scripted_session()
    for _ in range(3):
        session.ok("lsp", action="hover", **HELLO)
        one.project.write("main.scr", MAIN)
    assert one.received("textDocument/didChange") == []
    assert len(one.received("textDocument/didOpen")) == 1


def test_a_file_that_is_gone_is_closed(scripted_session):
    one, session = scripted_session(files={"main.scr": MAIN, "other.scr": "def last\n"})
    session.ok("lsp", action="hover", **HELLO)
    (one.root / "main.scr").unlink()
    session.error("lsp", action="hover", **HELLO)
    session.ok("lsp", action="symbols", file="other.scr")
    assert len(one.received("textDocument/didClose")) == 1


def test_a_bom_is_not_sent(scripted_session):
    one, session = scripted_session(files={"main.scr": "\ufeff" + MAIN})
    session.ok("lsp", action="hover", **HELLO)
    assert one.received("textDocument/didOpen")[0]["params"]["textDocument"]["text"] == MAIN


@pytest.mark.parametrize("content", [b"", b"\n", b"def hello"])
def test_small_files(scripted_session, content):
    _, session = scripted_session(files={"main.scr": content})
    assert diagnose(session).data["state"] == "clean"
    session.ok("lsp", action="symbols", file="main.scr")


def test_what_json_cannot_carry_is_not_sent(scripted_session):
    one, session = scripted_session(files={"main.scr": b"def \xff\xfe\n"})
    assert "UTF-8" in session.error("lsp", action="symbols", file="main.scr")
    assert one.received("textDocument/didOpen") == []


def test_a_big_file(scripted_session):
    text = "def hello\n" + "# filler filler filler\n" * 230000 + "use hello\n"
    assert len(text) > 5_000_000
    one, session = scripted_session(files={"main.scr": text})
    at = {"file": "main.scr", "line": 230002, "symbol": "hello"}
    result = session.call("lsp", action="definition", **at)
    assert result.is_error or result.data["locations"][0]["line"] == 1
    assert not result.is_error or "MB" in result.text or "bytes" in result.text


def test_the_uri_is_encoded(scripted_session):
    name = "a b+ü#%.scr"
    one, session = scripted_session(files={name: "def hello\nuse hello\n"})
    found = session.ok("lsp", action="definition", file=name, line=2, symbol="hello")
    assert found.data["locations"][0]["path"] == name
    uri = one.received("textDocument/didOpen")[0]["params"]["textDocument"]["uri"]
    assert unquote(uri) == "file://" + str(one.root.resolve() / name)
    assert not set(uri) & set(" #ü") and "%25" in uri


def test_a_symlinked_workspace(werkbank, scripted, tmp_path):
    one = scripted()
    (tmp_path / "link").symlink_to(one.root)
    session = werkbank.session(tmp_path / "link", *one.options())
    found = session.ok("lsp", action="definition", **HELLO)
    assert found.data["locations"][0]["path"] == "main.scr"
    absolute = {**HELLO, "file": str(tmp_path / "link" / "main.scr")}
    assert session.ok("lsp", action="definition", **absolute).data == found.data
    assert len(one.received("textDocument/didOpen")) == 1


# --- roots and several servers ---


def test_nested_roots_get_servers_of_their_own(scripted_session):
    files = {"main.scr": MAIN, "sub/scripted.json": "{}", "sub/main.scr": "def hello\nuse hello\n"}
    one, session = scripted_session(files=files)
    session.ok("lsp", action="hover", **HELLO)
    at = {"file": "sub/main.scr", "line": 2, "symbol": "hello"}
    found = session.ok("lsp", action="definition", **at)
    assert found.data["locations"] == [{"path": "sub/main.scr", "line": 1, "text": "def hello"}]
    roots = [message["params"]["rootUri"] for message in one.received("initialize")]
    root = one.root.resolve()
    assert sorted(roots) == [root.as_uri(), (root / "sub").as_uri()]
    assert len(one.pids()) == 2


def test_no_marker(scripted_session):
    one, session = scripted_session()
    (one.root / "scripted.json").unlink()
    text = session.error("lsp", action="hover", **HELLO)
    assert "scripted.json" in text and one.pids() == []


def test_no_binary(scripted_session):
    row = {"commands": [["no-such-server-anywhere"]], "install": "cargo install no-such-server"}
    _, session = scripted_session(row=row)
    text = session.error("lsp", action="hover", **HELLO)
    assert "no-such-server-anywhere" in text and "cargo install no-such-server" in text
    status = session.ok("lsp", action="status").text
    assert "no-such-server-anywhere" in status


def test_no_server_for_the_language(scripted_session):
    one, session = scripted_session()
    one.project.write("notes.qqq", "x\n")
    text = session.error("lsp", action="hover", file="notes.qqq", line=1, symbol="x")
    assert "qqq" in text


def two_rows(folder, *scenarios, **fields):
    rows = []
    for name, scenario in zip(("first", "second"), scenarios):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"journal": str(folder / f"{name}.journal"), **scenario}))
        rows.append(server_row(path, name, **fields.get(name, {})))
    return rows


def test_two_servers_answer_together(scripted_session, tmp_path):
    linter = {"errors": {}, "missing_capabilities": ["hoverProvider", "definitionProvider"]}
    rows = two_rows(tmp_path, {}, linter, second={"kind": "linter"})
    _, session = scripted_session(rows=rows, files={"main.scr": BROKEN})
    result = diagnose(session)
    assert {one["name"] for one in result.data["servers"]} == {"first", "second"}
    # The same finding of two servers is told once.
    assert messages(result) == ["it is broken"]
    assert session.ok("lsp", action="definition", file="main.scr", line=1, symbol="hello")


def test_a_dead_linter_does_not_hide_the_other(scripted_session, tmp_path):
    rows = two_rows(tmp_path, {}, {"push_version": "never"}, second={"kind": "linter"})
    _, session = scripted_session(rows=rows, files={"main.scr": BROKEN}, settings=SHORT)
    result = diagnose(session)
    assert result.data["state"] == "findings" and messages(result) == ["it is broken"]
    states = {one["name"]: one["state"] for one in result.data["servers"]}
    assert states == {"first": "findings", "second": "unknown"}
    assert "second" in result.text


def test_a_wedged_type_checker_does_not_hide_the_linter(scripted_session, tmp_path):
    rows = two_rows(tmp_path, {"push_version": "never"}, {}, second={"kind": "linter"})
    _, session = scripted_session(rows=rows, files={"main.scr": BROKEN}, settings=SHORT)
    result = diagnose(session)
    assert result.data["state"] == "findings" and messages(result) == ["it is broken"]
    states = {one["name"]: one["state"] for one in result.data["servers"]}
    assert states == {"first": "unknown", "second": "findings"}


def test_a_server_that_does_not_start_does_not_hide_the_other(scripted_session, tmp_path):
    rows = two_rows(tmp_path, {"never_answer": ["initialize"]}, {}, second={"kind": "linter"})
    _, session = scripted_session(rows=rows, files={"main.scr": BROKEN}, settings=SHORT)
    assert messages(diagnose(session)) == ["it is broken"]


def test_a_clean_and_an_unknown_server_are_not_clean(scripted_session, tmp_path):
    rows = two_rows(tmp_path, {}, {"push_version": "never"}, second={"kind": "linter"})
    _, session = scripted_session(rows=rows, settings=SHORT)
    assert diagnose(session).data["state"] == "unknown"


def test_conflict_groups(scripted_session, tmp_path):
    group = {"group": "scripted-types"}
    rows = two_rows(
        tmp_path, {}, {}, first={**group, "priority": 2}, second={**group, "priority": 1}
    )
    _, session = scripted_session(rows=rows)
    session.ok("lsp", action="hover", **HELLO)
    assert not (tmp_path / "first.journal").exists()
    assert (tmp_path / "second.journal").exists()
    assert "first" in session.ok("lsp", action="status").text


def test_status_tells_what_runs(scripted_session):
    one, session = scripted_session()
    before = session.ok("lsp", action="status").text
    assert "scripted" in before and one.pids() == []
    session.ok("lsp", action="hover", **HELLO)
    after = session.ok("lsp", action="status").text
    assert "running" in after or "ready" in after


# --- code actions ---


@pytest.mark.parametrize("kind", ["edit", "command", "literal_command", "resolve", "snippet"])
def test_code_actions_are_listed_and_not_done(scripted_session, kind):
    one, session = scripted_session({"code_actions": [kind]})
    before = one.project.snapshot()
    result = session.ok("lsp", action="code_actions", **HELLO)
    assert "Apply the fix" in result.text or f"Fix by {kind}" in result.text
    assert one.received("workspace/executeCommand") == []
    assert one.project.snapshot() == before


def test_a_disabled_code_action_says_so(scripted_session):
    _, session = scripted_session({"code_actions": ["disabled"]})
    text = session.call("lsp", action="code_actions", **HELLO).text
    assert "Fix by disabled" not in text or "not in this scenario" in text


# --- transcript ---


def test_every_call_is_in_the_transcript(scripted_session, werkbank):
    _, session = scripted_session()
    session.ok("lsp", action="hover", **HELLO)
    session.error("lsp", action="hover", file="main.scr", line=99, symbol="x")
    session.error("no_such_tool")
    session.close()
    text = json.dumps(werkbank.transcripts())
    assert "no_such_tool" in text and '"hover"' in text.replace("\\", "")
