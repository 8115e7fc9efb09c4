"""Guard rules against the ways around them, with the whole program: everything else is allowed.

The table of command lines and paths is in tests/unit/run/test_rules.c; this is what tools make of them.
"""

import json

import pytest

RULES = [
    {"id": "secrets", "path": "secrets/*", "action": "deny", "reason": "it holds secrets"},
    {"id": "no-rm", "tool": "shell", "command": "rm *", "action": "deny", "reason": "nothing goes"},
]


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    (folder / "secrets").mkdir(parents=True)
    (folder / "sub").mkdir()
    (folder / "secrets" / "key.py").write_text("key = old()\n")
    (folder / "kept").write_text("kept\n")
    (folder / "link.py").symlink_to("secrets/key.py")
    (folder / "door").symlink_to("secrets")
    (folder / "pyproject.toml").write_text("")
    return folder


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"rules": RULES}))
    return path


@pytest.fixture
def session(werkbank, workspace, config):
    return werkbank.session(workspace, "--allow", "exec", "--config", config)


def unchanged(workspace):
    assert (workspace / "secrets" / "key.py").read_text() == "key = old()\n"
    assert sorted(path.name for path in (workspace / "secrets").iterdir()) == ["key.py"]
    assert (workspace / "kept").read_text() == "kept\n"
    return True


PATHS = [
    "secrets/key.py",
    "./secrets/key.py",
    "secrets//key.py",
    "sub/../secrets/key.py",
    "{workspace}/secrets/key.py",
    "{workspace}/sub/../secrets/./key.py",
    "link.py",
    "door/key.py",
    "sub/../door/key.py",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths(session, workspace, path):
    path = path.format(workspace=workspace)
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-key = old()\n+key = new()\n*** End Patch\n"
    for tool, arguments in (
        ("read", {"path": path}),
        ("write", {"path": path, "content": "x"}),
        ("edit", {"path": path, "old_text": "old", "new_text": "new"}),
        ("apply_patch", {"patch": patch}),
    ):
        assert "it holds secrets" in session.error(tool, **arguments), tool
    assert unchanged(workspace)


def test_new_files_and_moves(session, workspace):
    for path in ("secrets/new.py", "door/new.py", "sub/../secrets/new/deep.py"):
        assert "it holds secrets" in session.error("write", path=path, content="x")
    move = "*** Begin Patch\n*** Update File: kept\n*** Move to: door/kept\n@@\n-kept\n+x\n*** End Patch\n"
    assert "it holds secrets" in session.error("apply_patch", patch=move)
    assert unchanged(workspace)


def test_staged_rewriting(session, workspace):
    """What is found by searching is governed like what is named."""
    staged = session.call("ast_edit", pattern="old()", rewrite="new()", language="python")
    if not staged.is_error and staged.data.get("edit_id"):
        session.call("resolve", edit_id=staged.data["edit_id"], action="accept")
    assert unchanged(workspace)


def test_a_rename_reaches_no_file_that_is_denied(session, workspace):
    (workspace / "use.py").write_text("def old():\n    return 1\n")
    (workspace / "secrets" / "key.py").write_text("from use import old\nkey = old()\n")
    before = (workspace / "secrets" / "key.py").read_text()
    session.call("lsp_rename", file="use.py", line=1, symbol="old", new_name="new")
    assert (workspace / "secrets" / "key.py").read_text() == before


def test_searches_leave_out_what_is_denied(session, workspace):
    """What a search would come upon is not shown either, also by another name."""
    (workspace / "use.py").write_text("key = old()\n")
    for tool, arguments in (
        ("grep", {"pattern": "old"}),
        ("grep", {"pattern": "old", "path": "."}),
        ("glob", {"pattern": "**/*.py"}),
        ("ast_grep", {"pattern": "old()", "language": "python"}),
        ("ast_edit", {"pattern": "old()", "rewrite": "new()", "language": "python"}),
    ):
        text = session.ok(tool, **arguments).text
        assert "use.py" in text and "key.py" not in text and "link.py" not in text, text
        assert "that a guard rule governs" in text, text
    assert "it holds secrets" in session.error("grep", pattern="old", path="secrets")


def test_a_folder_that_was_approved_is_searched(serve, workspace, tmp_path):
    config = tmp_path / "asking.json"
    rules = [{"id": "secrets", "path": "secrets/*", "action": "prompt"}]
    config.write_text(json.dumps({"rules": rules}))
    client = serve(workspace, "--config", config, capabilities={"elicitation": {}})
    assert "key.py" not in client.ok("grep", pattern="old").text
    client.on_request = lambda message: {"action": "accept", "content": {"choice": "Allow"}}
    assert "secrets/key.py:1" in client.ok("grep", pattern="old", path="secrets").text


COMMANDS = [
    "rm kept",
    "'rm' kept",
    '"r"m kept',
    "\\rm kept",
    "r''m kept",
    "/bin/rm kept",
    "../../../../../../../../bin/rm kept",
    "A=1 rm kept",
    "env rm kept",
    "env -i A=1 /bin/rm kept",
    "sh -c 'rm kept'",
    'bash -c "rm kept"',
    "sh -c \"sh -c 'rm kept'\"",
    "true && rm kept",
    "false || rm kept",
    "true; rm kept",
    "true & rm kept",
    "true | rm kept",
    "(rm kept)",
    "{ rm kept; }",
    "if true; then rm kept; fi",
    "for i in 1; do rm kept; done",
    "while rm kept; do :; done",
    "f() { rm kept; }; f",
    "echo $(rm kept)",
    "echo `rm kept`",
    "cat <(rm kept)",
    "eval 'rm kept'",
    "command rm kept",
    "exec rm kept",
    "builtin command rm kept",
    "nohup rm kept",
    "timeout 5 rm kept",
    "nice -n 5 rm kept",
    "echo kept | xargs rm -f",
    "find . -name kept -exec rm {} ;",
    "true\nrm kept",
    "rm \\\nkept",
    "! rm kept",
    "time rm kept",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(session, workspace, command):
    result = session.error("shell", command=command)
    assert "nothing goes" in result, result
    assert unchanged(workspace)


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_through_the_bridge(session, workspace, language):
    """A cell may do in its own process what it likes; its calls of tools pass the same gate."""
    attempts = [
        ("write", {"path": "door/key.py", "content": "x"}),
        ("read", {"path": "sub/../secrets/key.py"}),
        ("shell", {"command": "sh -c 'rm kept'"}),
    ]
    for tool, arguments in attempts:
        call = f"tool({json.dumps(tool)}, {json.dumps(arguments)})"
        code = call if language == "python" else f"await {call}"
        result = session.call("eval", code=code, language=language, description="try the rules")
        assert result.is_error, result
        assert "it holds secrets" in result.text or "nothing goes" in result.text, result
    assert unchanged(workspace)


def test_a_rule_that_is_not_understood_denies(werkbank, workspace, tmp_path):
    for rule in (
        {"tool": "shell", "comand": "rm *", "action": "deny"},
        {"tool": "shell", "command": 5, "action": "deny"},
        {"tool": "shell", "command": "rm *"},
        {"tool": "shell", "command": "rm *", "action": "forbid"},
    ):
        config = tmp_path / "broken.json"
        config.write_text(json.dumps({"rules": [{"id": "broken", **rule}]}))
        options = ("--allow", "exec", "--config", config)
        result = werkbank.call(workspace, "shell", {"command": "rm kept"}, *options)
        assert result.is_error and "rule" in result.text, result
        assert not werkbank.call(workspace, "read", {"path": "kept"}, *options).is_error
    assert unchanged(workspace)


def test_what_was_approved_is_exactly_that_call(serve, workspace):
    client = serve(workspace, capabilities={"elicitation": {}})
    asked = []

    def approve(message):
        asked.append(message["params"]["message"])
        return {"action": "accept", "content": {"choice": "Allow always"}}

    client.on_request = approve
    call = {"path": "a.txt", "content": "1"}
    client.ok("write", **call)
    client.ok("write", **call)
    assert len(asked) == 1
    for changed in ({"content": "2"}, {"path": "b.txt"}, {"path": "./a.txt"}):
        client.on_request = lambda message: {"action": "decline"}
        assert client.call("write", **{**call, **changed}).is_error
    assert (workspace / "a.txt").read_text() == "1" and not (workspace / "b.txt").exists()
