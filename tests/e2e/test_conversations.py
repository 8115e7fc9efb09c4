"""Transcripts: written as things happen, continued, read while written, shown as text and page."""

import html
import json
import queue
import re
import signal
import subprocess
import threading

import pytest

from harness.processes import wait_until
from harness.program import BINARY
from harness.serve import Serve

PICTURE = (
    'display.png("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")'
)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one <script>alert(1)</script>\n")
    return folder


def program(werkbank, *words):
    return subprocess.run(
        [BINARY, *words], env=werkbank.env, capture_output=True, text=True, timeout=120
    )


def call(werkbank, workspace, conversation, tool, **args):
    options = ["--workspace", str(workspace), "--conversation", conversation, "--allow", "exec"]
    return program(werkbank, "call", *options, tool, json.dumps(args))


def path_of(werkbank, conversation):
    return next(werkbank.home.glob(f"state/**/conversations/{conversation}.jsonl"))


def test_ids_continue(werkbank, workspace):
    for _ in range(3):
        call(werkbank, workspace, "one", "read", path="a.txt")
    ids = [event["id"] for event in werkbank.transcripts()]
    assert ids == list(range(1, len(ids) + 1)) and len(ids) == 9


def test_a_torn_line_is_passed_over(werkbank, workspace):
    call(werkbank, workspace, "torn", "read", path="a.txt")
    path = path_of(werkbank, "torn")
    with open(path, "ab") as file:
        file.write(b'{"id":4,"time":"2026-12-01T00:00:00.000Z","kind":"resu')
    call(werkbank, workspace, "torn", "read", path="a.txt")
    shown = program(werkbank, "show", "torn")
    assert shown.returncode == 0
    assert shown.stdout.count("result read") == 2
    whole = []
    for line in path.read_text().splitlines():
        try:
            whole.append(json.loads(line))
        except ValueError:
            continue
    assert len(whole) == 6


def test_killed_in_the_middle(werkbank, workspace):
    session = werkbank.session(workspace, "--conversation", "killed", "--allow", "exec")
    session.ok("read", path="a.txt")
    session.send("shell", {"command": "sleep 600"})
    wait_until(lambda: "sleep 600" in path_of(werkbank, "killed").read_text(), what="the event")
    session.process.send_signal(signal.SIGKILL)
    session.process.wait()
    shown = program(werkbank, "show", "killed").stdout
    assert "result read" in shown and "sleep 600" in shown


def recorded(path):
    """Its events; only the last line may be torn."""
    lines = path.read_text().splitlines()
    events = []
    for number, line in enumerate(lines):
        try:
            events.append(json.loads(line))
        except ValueError:
            assert number == len(lines) - 1, line
    return events


@pytest.mark.parametrize("taken", range(1, 13))
def test_no_answer_is_lost_that_was_shown_as_taken(werkbank, workspace, taken):
    """In the terminal: killed as soon as the operator has seen so many answers taken."""
    questions = "".join(f'/ask_user "Number {i} ?"\nanswer {i}\n' for i in range(taken + 5))
    with subprocess.Popen(
        [BINARY, "--conversation", "asked"],
        env=werkbank.env,
        cwd=workspace,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.write(questions)
        process.stdin.flush()
        seen = 0
        while seen < taken:
            line = process.stdout.readline()
            assert line
            seen += "The operator wrote: answer" in line
        process.kill()
    events = recorded(path_of(werkbank, "asked"))
    answers = [event["text"] for event in events if event["kind"] == "answer"]
    assert answers[:taken] == [f"answer {i}" for i in range(taken)]
    shown = program(werkbank, "show", "asked")
    assert shown.returncode == 0 and shown.stdout.count("answer ") >= taken


@pytest.mark.parametrize("moment", range(10))
def test_killed_at_any_moment_while_clients_answer(werkbank, workspace, moment):
    """Over serve, several questions at once: what came back as answered is written down."""
    client = werkbank.start(Serve, "serve", "--workspace", workspace, "--conversation", "asked")
    client.initialize(capabilities={"elicitation": {}})
    client.on_request = lambda message: {
        "action": "accept",
        "content": {"text": message["params"]["message"]},
    }
    results = queue.Queue()

    def ask(thread):
        for i in range(1000):
            try:
                results.put(client.call("ask_user", question=f"{thread} {i}").data["text"])
            except (AssertionError, OSError, ValueError):
                return

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(3 * moment + 1):
        results.get(timeout=60)
    client.kill()
    for thread in threads:
        thread.join()
    events = recorded(path_of(werkbank, "asked"))
    answers = {event["text"] for event in events if event["kind"] == "answer"}
    while not results.empty():
        assert results.get() in answers
    assert program(werkbank, "show", "asked").returncode == 0


def test_lists_and_unknown_ones(werkbank, workspace):
    call(werkbank, workspace, "first", "read", path="a.txt")
    call(werkbank, workspace, "second", "read", path="a.txt")
    listed = program(werkbank, "conversations").stdout.splitlines()
    assert sorted(line.split()[0] for line in listed) == ["first", "second"]
    assert all(line.endswith(str(workspace)) for line in listed)
    for name in ("nothing", "../first", "", "a/b"):
        refused = program(werkbank, "show", name)
        assert refused.returncode == 1 and "conversation" in refused.stderr


def test_a_page_with_a_picture(werkbank, workspace):
    done = call(
        werkbank, workspace, "page", "eval", code=PICTURE, language="javascript", description="a dot"
    )
    assert done.returncode == 0, done
    call(werkbank, workspace, "page", "read", path="a.txt")
    page = program(werkbank, "show", "--html", "page").stdout
    assert "<script" not in page and "&lt;script&gt;" in page
    assert 'src="data:image/png;base64,iVBOR' in page
    assert "default-src 'none'" in page
    kept = list(path_of(werkbank, "page").parent.glob("page/*.png"))
    assert len(kept) == 1 and kept[0].read_bytes().startswith(b"\x89PNG")


def test_a_page_with_a_table(werkbank, workspace):
    table = """
class Table:
    def _repr_html_(self):
        return '<table><tr><td>"4" &amp; 2</td></tr></table><script>alert(1)</script>'
Table()"""
    done = call(werkbank, workspace, "page", "eval", code=table, description="show a table")
    assert done.returncode == 0, done
    page = program(werkbank, "show", "--html", "page").stdout
    assert "<script" not in page and "<table" not in page
    frame = re.search(r'<iframe sandbox srcdoc="([^"]*)"></iframe>', page).group(1)
    assert html.unescape(frame).startswith('<table><tr><td>"4" &amp; 2</td></tr></table>')
    assert "[text/html]" in program(werkbank, "show", "page").stdout


def test_writes_are_recorded(werkbank, workspace):
    call(werkbank, workspace, "writes", "write", path="b.txt", content="x")
    kinds = [event["kind"] for event in werkbank.transcripts()]
    assert kinds == ["run", "call", "write", "result"]
