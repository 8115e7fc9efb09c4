"""The conversation in a terminal: calls, cards, modes, completion. In tmux, and through a pipe."""

import json
import subprocess

import pytest

from harness.processes import marked, wait_until
from harness.program import BINARY
from harness.tmux import Terminal

QUESTION = '/ask_user "Which colour?" options=[{"label":"Red"},{"label":"Blue"}]'


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "src").mkdir()
    (folder / "src" / "long_name.c").write_text("int f(void) { return 1; }\n")
    return folder


@pytest.fixture
def terminal(werkbank, workspace):
    made = []

    def start(*options):
        made.append(Terminal(werkbank.env, workspace, *options))
        made[-1].see("/help says what there is.", ">")
        return made[-1]

    yield start
    for one in made:
        one.close()


def events(werkbank, kind):
    return [event for event in werkbank.transcripts() if event["kind"] == kind]


# --- questions ---


def test_a_question_answered_by_number(terminal, werkbank):
    one = terminal()
    one.type(QUESTION)
    one.see("[1] Which colour?", "1  Red", "2  Blue", "1-2 or skip>")
    one.type("2")
    one.see("The operator chose: Blue")
    assert events(werkbank, "answer")[0]["choices"] == ["Blue"]


def test_a_question_answered_by_text(terminal):
    one = terminal()
    one.type('/ask_user "Your name?"')
    one.see("[1] Your name?", "text or skip>")
    one.type("Ada Lovelace")
    one.see("The operator wrote: Ada Lovelace")


def test_several_choices(terminal):
    one = terminal()
    one.type(QUESTION + " multi_select=true")
    one.see("1-2, several or skip>")
    one.type("2,1")
    one.see("The operator chose: Red, Blue")


def test_skipped(terminal):
    one = terminal()
    one.type(QUESTION)
    one.see("or skip>")
    one.type("skip")
    one.see("The operator skipped the question.")


def test_nothing_is_no_answer(terminal):
    one = terminal()
    one.type(QUESTION)
    one.see("or skip>")
    one.type("")
    one.see("an empty answer is none")
    one.type("7")
    one.see("there are options 1 to 2")
    one.type("blue")
    one.see("The operator chose: Blue")


def test_timed_out(terminal, workspace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"ask": {"timeout_s": 1}}))
    one = terminal("--config", config)
    one.type(QUESTION)
    one.see("Nobody answered in time.", "ask>")
    one.type("/read a.txt")
    one.see("two")


def test_cancelled(terminal):
    one = terminal()
    one.type(QUESTION)
    one.see("or skip>")
    one.key("C-c")
    one.see("The question was cancelled")
    one.type("/read a.txt")
    one.see("two")


def test_the_terminal_closes_while_a_card_waits(terminal, werkbank):
    one = terminal()
    one.type(QUESTION)
    one.see("or skip>")
    one.close()
    wait_until(lambda: not marked(werkbank.test_id), what="the end of the program")
    assert events(werkbank, "card")[0]["question"] == "Which colour?"


# --- approvals ---


def test_an_edit_once(terminal, workspace):
    one = terminal()
    one.type("/write b.txt hello there")
    one.see("[1] Allow write: b.txt?", "1  Allow", "2  Refuse", "3  Allow always")
    assert not (workspace / "b.txt").exists()
    one.type("1")
    one.see("Created b.txt")
    assert (workspace / "b.txt").read_text() == "hello there"


def test_a_command_once(terminal, workspace):
    one = terminal()
    for number in (1, 2):
        one.type("/shell echo x >>made; wc -c <made")
        one.see(f"[{number}] Allow shell", "or skip>")
        one.type("1")
        wait_until(lambda: length(workspace / "made") == 2 * number, what="the command")


def length(path):
    return path.stat().st_size if path.exists() else 0


def test_two_cards_at_once(terminal, workspace):
    """They are shown one after the other; each answer goes to the card that was shown."""
    one = terminal("--allow", "read")
    cell = (
        "await Promise.allSettled(['p', 'q'].map((name) => "
        "tool('write', {path: name, content: name})))"
    )
    one.type("/eval " + json.dumps({"code": cell, "language": "javascript", "description": "two"}))
    one.see("[1] Allow eval", "or skip>")
    one.type("1")
    one.see("[2] Allow write:", "or skip>")
    first = "p" if "[2] Allow write: p?" in one.screen() else "q"
    one.type("2")
    one.see("[3] Allow write:", "or skip>")
    one.type("1")
    other = {"p": "q", "q": "p"}[first]
    wait_until((workspace / other).exists, what="the file that was allowed")
    one.see("fulfilled")
    assert not (workspace / first).exists()


def test_denied_and_not_asked_again(terminal, workspace):
    one = terminal()
    one.type("/write b.txt hello")
    one.see("or skip>")
    one.type("2")
    one.see("the operator refused")
    one.type("/write b.txt hello")
    one.see("has just refused this very call")
    assert not (workspace / "b.txt").exists()


def test_allowed_for_the_conversation(terminal):
    one = terminal()
    one.type("/shell echo $((40+2))")
    one.see("[1] Allow shell", "or skip>")
    one.type("3")
    one.see("42")
    one.type("/shell echo $((40+2))")
    one.see("42\n", times=2)
    one.type("/shell echo other")
    one.see("[2] Allow shell: echo other?")


def test_a_bridged_call_is_asked_for(terminal, workspace):
    one = terminal()
    one.type('/eval tool("write", {"path": "c.txt", "content": "from a cell"})')
    one.see("[1] Allow eval", "or skip>")
    one.type("1")
    one.see("[2] Allow write: c.txt?", "asked by: bridge", "or skip>")
    one.type("1")
    wait_until(lambda: (workspace / "c.txt").exists(), what="the file")
    assert (workspace / "c.txt").read_text() == "from a cell"


# --- modes ---


def test_modes(terminal, workspace):
    one = terminal()
    one.type("/edits")
    one.see("edits>")
    one.type("/write d.txt x")
    one.see("Created d.txt")
    one.type("/plan")
    one.see("plan>")
    one.type("/write d.txt y")
    one.see("There is no /write")
    one.type("/help")
    screen = one.see("/plan         read only").rpartition("Tools, called as")[2]
    for name in ("/write ", "/shell ", "/eval ", "/resolve ", "/ast_edit ", "/lsp_rename "):
        assert name not in screen
    one.type("/full")
    one.see("full>")
    one.type("/shell echo $((1+1))$((1+1))")
    one.see("22")
    assert (workspace / "d.txt").read_text() == "x"


# --- typing ---


def test_completion_and_history(terminal):
    one = terminal()
    one.type("/re", enter=False)
    one.key("Tab")
    one.see("/read")
    one.type("ad src/lo", enter=False)
    one.key("C-u")
    one.type("/read src/lo", enter=False)
    one.key("Tab")
    one.see("/read src/long_name.c")
    one.key("Enter")
    one.see("int f(void)")
    one.key("Up")
    one.see("/read src/long_name.c", times=2)
    one.key("C-c")
    one.type("/lsp de", enter=False)
    one.key("Tab")
    one.see("/lsp definition")


def test_ctrl_c_ends_the_call_and_not_the_conversation(terminal, werkbank):
    one = terminal("--allow", "exec")
    one.type("/shell sleep 601")
    wait_until(lambda: "sleep 601" in str(marked(werkbank.test_id)), what="the command")
    one.key("C-c")
    one.see("full>", times=2)
    one.type("/read a.txt")
    one.see("two")
    one.type("/quit")
    one.see("ended with 0")


# --- a pipe ---


def piped(werkbank, workspace, text, *options):
    return subprocess.run(
        [BINARY, *options],
        input=text,
        capture_output=True,
        text=True,
        env=werkbank.env,
        cwd=workspace,
        timeout=120,
    )


def test_piped(werkbank, workspace):
    done = piped(werkbank, workspace, "/read a.txt\n/write e.txt x y\n1\n/nothing\n")
    assert done.returncode == 0
    assert "two" in done.stdout and "Created e.txt" in done.stdout
    assert "There is no /nothing" in done.stdout
    assert "\x1b" not in done.stdout
    assert (workspace / "e.txt").read_text() == "x y"


def test_a_pipe_that_ends_while_a_card_waits(werkbank, workspace):
    done = piped(werkbank, workspace, "/write e.txt x\n")
    assert done.returncode == 0
    assert not (workspace / "e.txt").exists()


def test_plain(terminal):
    one = terminal("--plain")
    one.type("/read a.txt")
    one.see("two")


def test_escape_sequences_do_not_act(werkbank, workspace):
    (workspace / "evil.txt").write_text("\x1b[31mred\x1b]0;title\x07\n")
    done = piped(werkbank, workspace, "/read evil.txt\n")
    assert "\x1b" not in done.stdout and "^[[31mred" in done.stdout
