"""Diagnostics on write: only what is new, in the result of the write, for the text just written."""

import json
import subprocess
import time

import pytest

from harness.processes import wait_until
from harness.projects import BASH, C, GO, JSON, PYTHON, RUST, TYPESCRIPT, YAML
from harness.scripted import server_row
from harness.suite import findings, says

CLEAN = "def hello\nuse hello\n"
BROKEN = "def hello\nERROR broken\n"
OTHER = "def hello\nERROR another\n"


def write(session, path, content):
    return session.ok("write", path=path, content=content)


def told(result):
    return [one["message"] for one in findings(result)]


# --- the ledger, on the scripted server ---


def test_new_slid_fixed_and_broken_again(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    result = write(session, "main.scr", BROKEN)
    assert told(result) == ["broken"]
    assert "main.scr:2" in result.text and "broken" in result.text
    assert told(write(session, "main.scr", "\n\n\n" + BROKEN)) == []
    assert told(write(session, "main.scr", CLEAN)) == []
    assert told(write(session, "main.scr", BROKEN)) == ["broken"]


def test_findings_are_in_the_transcript(scripted_session, werkbank):
    _, session = scripted_session(files={"main.scr": CLEAN})
    write(session, "main.scr", BROKEN)
    session.close()
    events = werkbank.transcripts()
    assert [event["kind"] for event in events][-4:] == ["call", "write", "diagnostics", "result"]
    found = events[-2]["found"]["diagnostics"]
    assert [(one["path"], one["line"], one["message"]) for one in found] == [
        ("main.scr", 2, "broken")
    ]
    conversation = next(werkbank.home.glob("state/**/conversations/*.jsonl")).stem
    shown = werkbank.run("show", conversation).stdout
    assert "main.scr:2: error: broken" in shown


def test_the_key_is_severity_code_and_message(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    assert told(write(session, "main.scr", BROKEN)) == ["broken"]
    # The same message as a warning is another finding; twice the same is one.
    both = BROKEN + "WARN broken\nERROR broken\n"
    assert told(write(session, "main.scr", both)) == ["broken"]
    assert told(write(session, "main.scr", OTHER)) == ["another"]


def test_old_findings_are_the_baseline(scripted_session):
    _, session = scripted_session(files={"main.scr": BROKEN})
    result = write(session, "main.scr", BROKEN + "ERROR mine\n")
    assert told(result) == ["mine"]


def test_a_change_from_outside_is_the_baseline(scripted_session):
    one, session = scripted_session(files={"main.scr": CLEAN})
    session.ok("lsp", action="diagnostics", file="main.scr")
    one.project.write("main.scr", BROKEN)
    assert told(write(session, "main.scr", BROKEN + "# more\n")) == []


def test_what_diagnostics_told_is_not_told_again(scripted_session):
    _, session = scripted_session(files={"main.scr": BROKEN})
    session.ok("lsp", action="diagnostics", file="main.scr")
    assert told(write(session, "main.scr", "\n" + BROKEN)) == []


def test_a_clean_write_says_nothing_of_findings(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    result = write(session, "main.scr", CLEAN + "# more\n")
    assert told(result) == [] and "still checking" not in result.text


def test_a_new_file(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    assert told(write(session, "new.scr", BROKEN)) == ["broken"]


def test_edit_and_patch_tell_too(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    result = session.ok("edit", path="main.scr", old_text="use hello", new_text="ERROR by edit")
    assert told(result) == ["by edit"]
    patch = (
        "*** Begin Patch\n*** Update File: main.scr\n@@\n def hello\n-ERROR by edit\n"
        "+ERROR by patch\n*** Add File: second.scr\n+WARN second\n*** End Patch\n"
    )
    assert sorted(told(session.ok("apply_patch", patch=patch))) == ["by patch", "second"]


@pytest.mark.parametrize(
    "scenario",
    [
        {"push_for_other_files": True},
        {"pull": True, "pull_only": True, "inter_file_dependencies": True},
    ],
)
def test_errors_in_other_open_files(scripted_session, scenario):
    row = {"diagnostics": "pull"} if "pull" in scenario else {}
    files = {"main.scr": CLEAN, "user.scr": "use hello\n"}
    _, session = scripted_session(scenario, row=row, files=files)
    for file in files:
        session.ok("lsp", action="diagnostics", file=file)
    texts = [write(session, "main.scr", "def bye\nuse bye\n").text]

    def named():
        if "user.scr:1: error: hello is not defined" in texts[-1]:
            return True
        texts.append(session.ok("lsp", action="status").text)
        return False

    wait_until(named, what="the finding in user.scr")


def test_at_most_twenty_findings(scripted_session):
    _, session = scripted_session(files={"main.scr": CLEAN})
    text = "".join(f"ERROR number {number}\n" for number in range(50))
    result = write(session, "main.scr", text)
    assert result.text.count("ERROR number") + result.text.count("error: number") <= 20
    assert "50" in result.text or "30" in result.text


def test_a_wedged_server_does_not_hold_the_write(scripted_session):
    one, session = scripted_session(
        {"push_version": "never", "never_answer": ["textDocument/hover"]},
        files={"main.scr": CLEAN},
    )
    result = write(session, "main.scr", BROKEN)
    assert "still checking" in result.text and "scripted" in result.text
    assert one.project.read("main.scr") == BROKEN


def test_what_comes_late_is_told_with_the_next_result(scripted_session):
    one, session = scripted_session({"push_delay_ms": 7000}, files={"main.scr": CLEAN})
    result = write(session, "main.scr", BROKEN)
    assert "still checking" in result.text and told(result) == []

    def next_result():
        answer = session.ok("read", path="main.scr")
        return answer if "broken" in answer.text.replace("ERROR broken", "") else None

    late = wait_until(next_result, what="the late finding")
    assert "main.scr:2" in late.text
    again = session.ok("read", path="main.scr")
    assert "broken" not in again.text.replace("ERROR broken", "")


def test_what_comes_late_for_an_old_text_is_not_told(scripted_session):
    one, session = scripted_session({"push_delay_ms": 7000}, files={"main.scr": CLEAN})
    write(session, "main.scr", BROKEN)
    write(session, "main.scr", CLEAN + "# again\n")
    for _ in range(3):
        assert "broken" not in session.ok("read", path="main.scr").text


def test_a_crashing_server_does_not_fail_the_write(scripted_session):
    one, session = scripted_session(
        {"crash_on": "textDocument/didChange", "crash_stderr": "bang\n"}, files={"main.scr": CLEAN}
    )
    session.ok("lsp", action="diagnostics", file="main.scr")
    result = write(session, "main.scr", BROKEN)
    assert one.project.read("main.scr") == BROKEN
    assert told(result) == [] and "scripted" in result.text


def test_no_server_no_word(werkbank, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    session = werkbank.session(folder, "--allow", "write")
    result = write(session, "notes.txt", "nothing to check\n")
    assert findings(result) == []


def test_the_save_is_told_with_the_text_that_was_asked_for(scripted_session):
    one, session = scripted_session({"save_include_text": True}, files={"main.scr": CLEAN})
    write(session, "main.scr", BROKEN)
    # A notification: the findings may come before the server has read it.
    wait_until(
        lambda: [
            saved
            for saved in one.received("textDocument/didSave")
            if saved["params"]["text"] == BROKEN
        ],
        what="didSave",
    )


def test_two_servers_on_write(scripted_session, tmp_path):
    rows = []
    for name, scenario in (("first", {}), ("second", {"push_version": "never"})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"journal": str(tmp_path / f"{name}.journal"), **scenario}))
        rows.append(server_row(path, name, kind="types" if name == "first" else "linter"))
    _, session = scripted_session(rows=rows, files={"main.scr": CLEAN})
    result = write(session, "main.scr", BROKEN)
    assert told(result) == ["broken"]
    assert "second" in result.text


# --- real servers: 100 writes that break the build ---

# Sample, and the row that must come first of its conflict group.
SERVERS = {
    "clangd": (C, {}),
    "clangd-22": (C, {"commands": [["clangd-22"]]}),
    "pyright": (PYTHON, {}),
    "basedpyright": (PYTHON, {"priority": -1}),
    "typescript-language-server": (TYPESCRIPT, {}),
    "tsgo": (TYPESCRIPT, {"priority": -1}),
    "gopls": (GO, {}),
    "rust-analyzer": (RUST, {}),
    "vscode-json": (JSON, {}),
    "yaml-language-server": (YAML, {}),
}


def stays_ready(session, polls=5):
    """Some say only after a while that they are loading once more."""
    for _ in range(polls):
        if "loading" in session.ok("lsp", action="status").text:
            return False
        time.sleep(0.3)
    return True


@pytest.mark.parametrize("name", SERVERS)
def test_a_hundred_breaking_writes(werkbank, tmp_path, name):
    sample, fields = SERVERS[name]
    project = sample.build(tmp_path / "project")
    if sample is RUST:
        # Made by its own check it would be a change of the project, which is loaded once more.
        subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=project.root, check=True)
    row = {"id": name.replace("-22", ""), **fields}
    (tmp_path / "config.json").write_text(json.dumps({"servers": [row]}))
    session = werkbank.session(
        project.root, "--allow", "write", "--config", tmp_path / "config.json"
    )
    change = sample.broken
    text = project.read(change.file)
    ask = {"action": "diagnostics", "file": change.file}
    # Warm: the server runs and has seen the file.
    wait_until(lambda: session.call("lsp", **ask).data["state"] == "clean", 120, "a clean start")
    wait_until(lambda: stays_ready(session), 120, "a server that has done with loading")
    missed = []
    for number in range(100):
        # Another message each time, where the message names the mistake.
        unique = change.message.replace("valeu", f"valeu{number}")
        broken = change.new.replace(change.message, unique) if change.message else change.new
        result = write(session, change.file, text.replace(change.old, broken))
        if not says(findings(result), unique):
            missed.append(result)
        if unique == change.message:
            assert findings(write(session, change.file, text)) == []
    assert len(missed) <= 1, missed[:3]
    assert findings(write(session, change.file, text)) == []


def test_a_hundred_breaking_writes_in_bash(werkbank, tmp_path):
    project = BASH.build(tmp_path / "project")
    session = werkbank.session(project.root, "--allow", "write")
    text = project.read("main.sh")
    session.call("lsp", action="diagnostics", file="main.sh")
    # Its server waits half a second before it looks: each write breaks something else.
    missed = []
    for number in range(100):
        result = write(session, "main.sh", text + f'echo "$valeu{number}"\n')
        if not says(findings(result), f"valeu{number}"):
            missed.append(result)
    assert len(missed) <= 1, missed[:3]
