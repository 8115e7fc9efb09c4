"""The command line: one call, many calls, lists, help, exit statuses, and bad input."""

import json
import os
import re
import signal
import subprocess

import pytest

from harness.processes import marked, wait_until
from harness.program import BINARY, Pipe, Result

READ = {"read", "grep", "glob", "lsp"}
WRITE = {"write", "edit", "apply_patch", "lsp_rename"}
EXEC = {"shell"}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    return folder


def tools_of(werkbank, workspace, *options):
    finished = werkbank.run("tools", "--workspace", workspace, "--json", *options)
    assert finished.status == 0, finished
    return {tool["name"]: tool for tool in finished.json()}


# --- call ---


def test_call_prints_the_answer(werkbank, workspace):
    finished = werkbank.run("call", "--workspace", workspace, "read", '{"path": "a.txt"}')
    assert finished.status == 0
    assert "two" in finished.stdout


def test_call_in_the_current_folder(werkbank, workspace):
    finished = werkbank.run("call", "read", '{"path": "a.txt"}', cwd=workspace)
    assert finished.status == 0 and "two" in finished.stdout


def test_call_with_json(werkbank, workspace):
    finished = werkbank.run("call", "--workspace", workspace, "--json", "read", '{"path": "a.txt"}')
    value = finished.json()
    assert set(value) == {"tool", "text", "data", "attachments", "is_error"}
    assert value["tool"] == "read" and value["data"] == "one\ntwo\nthree\n"
    assert value["attachments"] == [] and value["is_error"] is False


@pytest.mark.parametrize(
    "tool, args, word",
    [
        ("read", {"path": "absent.txt"}, "absent.txt"),
        ("read", {}, "path"),
        ("read", {"path": 7}, "path"),
        ("read", {"path": "a.txt", "pathh": 1}, "pathh"),
        ("read", {"path": "a.txt", "limit": -1}, "limit"),
        ("read", {"path": "a.txt", "limit": "ten"}, "limit"),
        ("raed", {"path": "a.txt"}, "raed"),
        ("", {}, ""),
        ("lsp", {"action": "hoover"}, "hoover"),
        ("lsp", {}, "action"),
        ("lsp", {"action": "hover"}, "file"),
        ("read", [], "object"),
    ],
)
def test_call_that_fails_has_status_1_and_a_sentence(werkbank, workspace, tool, args, word):
    finished = werkbank.run("call", "--workspace", workspace, tool, json.dumps(args))
    assert finished.status == 1, finished
    assert word in finished.stdout + finished.stderr
    assert len((finished.stdout + finished.stderr).strip()) > 10


@pytest.mark.parametrize(
    "args",
    [
        ["call", "read", "{"],
        ["call", "read", "{'path': 'a.txt'}"],
        ["call", "read", ""],
        ["call", "read", "{} {}"],
        ["call", "read", "[" * 100000],
        ["call", "read", b'{"path": "\xff"}'],
        ["call", "read"],
        ["call"],
        ["call", "--no-such-option", "read", "{}"],
        ["call", "--cap", "admin", "read", "{}"],
        ["call", "--allow", "everything", "read", "{}"],
        ["call", "--workspace", "/no/such/folder", "read", "{}"],
        ["call", "--workspace"],
        ["call", "--config", "/no/such/file", "read", '{"path": "a.txt"}'],
        ["frobnicate"],
        ["tools", "--cap", "none"],
        ["--no-such-option"],
    ],
)
def test_bad_options_and_json_have_status_2(werkbank, workspace, args):
    finished = werkbank.run(*args, cwd=workspace)
    assert finished.status == 2, finished
    assert len(finished.stderr) > 10 and finished.stdout == ""


def test_a_sentence_names_the_nearest(werkbank, workspace):
    finished = werkbank.run("call", "--workspace", workspace, "raed", "{}")
    assert "read" in finished.stdout + finished.stderr
    finished = werkbank.run("call", "--workspace", workspace, "read", '{"paht": "a.txt"}')
    assert "path" in finished.stdout + finished.stderr


def test_arguments_from_standard_input(werkbank, workspace):
    args = '{"path": "a.txt"}'
    finished = werkbank.run("call", "--workspace", workspace, "read", "-", input=args)
    assert finished.status == 0 and "two" in finished.stdout
    finished = werkbank.run("call", "--workspace", workspace, "read", "-", input="{")
    assert finished.status == 2 and finished.stdout == ""


def sleeping(werkbank):
    return [pid for pid, line in marked(werkbank.test_id).items() if line.startswith("sleep ")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_call(werkbank, workspace, number):
    args = '{"command": "sleep 3600"}'
    started = werkbank.start(
        Pipe, "call", "--workspace", workspace, "--json", "--allow", "exec", "shell", args
    )
    wait_until(lambda: sleeping(werkbank), what="the command")
    started.process.send_signal(number)
    answer = json.loads(started.read_line())
    assert answer["is_error"] and "cancelled" in answer["text"]
    assert started.process.wait(60) == 1
    assert not sleeping(werkbank)


def test_a_signal_ends_an_idle_session(werkbank, workspace):
    session = werkbank.session(workspace)
    assert session.ok("read", path="a.txt")
    session.process.send_signal(signal.SIGINT)
    assert session.process.wait(60) == 130


# --- call - ---


def test_many_calls_in_one_run(werkbank, workspace):
    session = werkbank.session(workspace, "--allow", "write")
    assert session.ok("read", path="a.txt").data == "one\ntwo\nthree\n"
    session.ok("write", path="b.txt", content="new\n")
    assert session.ok("read", path="b.txt").data == "new\n"
    assert "absent" in session.error("read", path="absent")
    assert session.close() == 0


def test_lines_without_waiting(werkbank, workspace):
    lines = "".join(
        json.dumps({"tool": "read", "args": {"path": "a.txt", "offset": 1 + number % 3}}) + "\n"
        for number in range(200)
    )
    finished = werkbank.run("call", "--workspace", workspace, "-", input=lines)
    answers = [Result.from_json(json.loads(line)) for line in finished.stdout.splitlines()]
    assert len(answers) == 200
    assert [answer.data[:3] for answer in answers[:3]] == ["one", "two", "thr"]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "7",
        '{"tool": 7}',
        '{"args": {}}',
        '{"tool": "read", "args": 7}',
        "\x00",
        "nonsense",
    ],
)
def test_a_bad_line_is_answered_and_not_the_end(werkbank, workspace, line):
    good = '{"tool": "read", "args": {"path": "a.txt"}}'
    finished = werkbank.run("call", "--workspace", workspace, "-", input=f"{line}\n{good}\n")
    answers = [json.loads(text) for text in finished.stdout.splitlines()]
    assert len(answers) == 2
    assert answers[0]["is_error"] and len(answers[0]["text"]) > 10
    assert answers[1]["data"] == "one\ntwo\nthree\n"


def test_empty_input_and_missing_last_newline(werkbank, workspace):
    assert werkbank.run("call", "--workspace", workspace, "-", input="").status == 0
    line = '{"tool": "read", "args": {"path": "a.txt"}}'
    finished = werkbank.run("call", "--workspace", workspace, "-", input=line)
    assert json.loads(finished.stdout)["data"] == "one\ntwo\nthree\n"


def test_a_reader_that_goes_away(werkbank, workspace):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [BINARY, "call", "--workspace", str(workspace), "-"],
        input=b'{"tool": "read", "args": {"path": "a.txt"}}\n' * 3,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=werkbank.env,
        timeout=60,
    )
    os.close(writer)
    assert done.returncode == 1 and b"cannot write the answer" in done.stderr


# --- tools ---


def test_tools_lists_names_and_tiers(werkbank, workspace):
    finished = werkbank.run("tools", "--workspace", workspace)
    assert finished.status == 0
    for name in READ | WRITE | EXEC:
        assert re.search(rf"\b{name}\b", finished.stdout), name


def test_schemas_are_flat(werkbank, workspace):
    tools = tools_of(werkbank, workspace)
    assert set(tools) >= READ | WRITE | EXEC
    for name, tool in tools.items():
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        assert tool["description"]
        schema = tool.get("inputSchema") or tool["input_schema"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert not set(schema) & {"oneOf", "anyOf", "allOf", "$ref", "$defs"}
        for key, value in schema["properties"].items():
            assert value["type"] in ("string", "integer", "boolean", "array", "object"), key
            assert value.get("description"), f"{name}.{key} has no description"
        assert set(schema.get("required", [])) <= set(schema["properties"])


def test_actions_are_an_enum(werkbank, workspace):
    schema = tools_of(werkbank, workspace)["lsp"]
    actions = (schema.get("inputSchema") or schema["input_schema"])["properties"]["action"]["enum"]
    assert set(actions) == {
        "diagnostics",
        "definition",
        "type_definition",
        "implementation",
        "references",
        "hover",
        "symbols",
        "code_actions",
        "status",
        "reload",
    }


@pytest.mark.parametrize("tool", ["write", "edit"])
def test_a_file_over_its_limit_is_an_error(werkbank, workspace, tool):
    """The kernel's signal for it would end the program."""
    (workspace / "old.txt").write_text("old\n")
    args = {
        "write": {"path": "new/file.txt", "content": "x" * 300_000},
        "edit": {"path": "old.txt", "old_text": "old", "new_text": "x" * 300_000},
    }[tool]
    limited = ["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", BINARY, "call", "--workspace"]
    done = subprocess.run(
        [*limited, workspace, "--allow", "write", tool, "-"],
        input=json.dumps(args),
        capture_output=True,
        text=True,
        env=werkbank.env,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, f"Cannot write {args['path']}: File too large\n")
    assert not list(workspace.rglob(".werkbank-*"))
    assert (workspace / "old.txt").read_text() == "old\n"


def test_cap_read_shows_no_other_name_anywhere(werkbank, workspace):
    for options in ([], ["--json"]):
        finished = werkbank.run("tools", "--workspace", workspace, "--cap", "read", *options)
        for name in WRITE | EXEC:
            if name in ("write", "edit"):
                # Ordinary words of English: as a name they would stand in quotes or backquotes,
                # or begin a line.
                pattern = rf"(?m)[\"'`]{name}[\"'`]|^\s*{name}\b"
            else:
                pattern = rf"\b{name}\b"
            assert not re.search(pattern, finished.stdout), (name, finished.stdout)
    assert set(tools_of(werkbank, workspace, "--cap", "read")) >= READ


def test_cap_write_has_no_exec(werkbank, workspace):
    tools = set(tools_of(werkbank, workspace, "--cap", "write"))
    assert tools >= READ | WRITE and not tools & EXEC


def test_tools_narrows(werkbank, workspace):
    assert set(tools_of(werkbank, workspace, "--tools", "lsp,read")) == {"lsp", "read"}
    finished = werkbank.run("tools", "--workspace", workspace, "--tools", "lsp,nonsense")
    assert finished.status == 2 and "nonsense" in finished.stderr
    result = werkbank.call(workspace, "grep", {"pattern": "x"}, "--tools", "lsp,read")
    assert result.is_error and "grep" in result.text


def test_cap_holds_at_the_call(werkbank, workspace):
    for tool, args in (
        ("write", {"path": "n", "content": ""}),
        ("shell", {"command": "touch n"}),
    ):
        result = werkbank.call(workspace, tool, args, "--cap", "read", "--allow", "exec")
        assert result.is_error
    assert not (workspace / "n").exists()


def test_an_empty_path_keeps_the_tools(werkbank, workspace):
    (workspace / "main.c").write_text("int main(void) { return 0; }\n")
    env = {"PATH": ""}
    finished = werkbank.run("tools", "--workspace", workspace, "--json", env=env)
    assert {"lsp", "lsp_rename"} <= {tool["name"] for tool in finished.json()}
    result = werkbank.call(workspace, "lsp", {"action": "status"}, env=env)
    assert not result.is_error and "clangd" in result.text
    asked = {"action": "hover", "file": "main.c", "line": 1, "symbol": "main"}
    result = werkbank.call(workspace, "lsp", asked, env=env)
    assert result.is_error and "clangd" in result.text


# --- help, version, doctor ---


def test_help(werkbank, workspace):
    for args in (["help"], ["--help"], ["help", "call"], ["call", "--help"]):
        finished = werkbank.run(*args)
        assert finished.status == 0 and "werkbank" in finished.stdout, args
    finished = werkbank.run("help", "lsp")
    assert finished.status == 0
    for word in ("definition", "symbol", "line"):
        assert word in finished.stdout
    assert werkbank.run("help", "nonsense").status == 2


def test_version(werkbank):
    finished = werkbank.run("--version")
    assert finished.status == 0 and re.search(r"\d+\.\d+", finished.stdout)


def test_doctor(werkbank, workspace):
    (workspace / "main.c").write_text("int main(void) { return 0; }\n")
    finished = werkbank.run("doctor", "--workspace", workspace)
    assert finished.status == 0 and "clangd" in finished.stdout
    finished = werkbank.run("doctor", "--workspace", workspace, "--json")
    assert finished.status == 0 and finished.json()


def test_every_call_shows_in_the_transcript(werkbank, workspace):
    werkbank.call(workspace, "read", {"path": "a.txt"})
    werkbank.call(workspace, "read", {"path": "absent.txt"})
    werkbank.call(workspace, "nonsense", {})
    werkbank.call(workspace, "shell", {"command": "true"})
    text = json.dumps(werkbank.transcripts())
    for word in ("a.txt", "absent.txt", "nonsense", "shell"):
        assert word in text


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(tmp_path, closed):
    # Nothing that is opened later may become standard output: an answer went into the transcript.
    (tmp_path / "a.txt").write_text("hello\n")
    call = f'exec "$0" call --workspace "$1" shell --allow exec \'{{"command": "cat a.txt"}}\' {closed}'
    finished = subprocess.run(["sh", "-c", call, str(BINARY), tmp_path], timeout=60)
    assert finished.returncode == 0
    serve = f'exec "$0" serve --workspace "$1" {closed} <&-'
    finished = subprocess.run(["sh", "-c", serve, str(BINARY), tmp_path], timeout=60)
    assert finished.returncode == 0
