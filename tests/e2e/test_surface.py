"""No name of a tool above the cap, anywhere, for every cap and in every way in."""

import json
import re

import pytest

from harness.serve import ModernServe, RpcError, Serve, to_result
from harness.tmux import Terminal

FORM = {"elicitation": {}}
CAPS = ["read", "write", "exec"]
# Arguments with which each tool would do its work, if it could be had.
CALLS = {
    "read": {"path": "a.txt"},
    "write": {"path": "made", "content": "x"},
    "edit": {"path": "a.txt", "old_text": "one", "new_text": "1"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch\n"},
    "grep": {"pattern": "one"},
    "glob": {"pattern": "*"},
    "shell": {"command": "touch made"},
    "lsp": {"action": "status"},
    "lsp_rename": {"file": "a.py", "line": 1, "symbol": "one", "new_name": "two"},
    "ast_grep": {"pattern": "one()", "language": "python"},
    "ast_edit": {"pattern": "one()", "rewrite": "two()", "language": "python"},
    "resolve": {"edit_id": "edit_1", "action": "accept"},
    "debug": {"operation": "adapters"},
    "eval": {"code": "open('made', 'w')", "description": "make a file"},
    "ask_user": {"question": "Well?"},
}


@pytest.fixture
def tiers(werkbank, workspace):
    """Tool to tier, from a surface that has all: of a client that shows forms."""
    client = werkbank.start(Serve, "serve", "--workspace", workspace)
    client.initialize(capabilities=FORM)
    names = {tool["name"] for tool in client.tools()}
    assert names == set(CALLS), "this table has every tool"
    found = {"ask_user": "read"}
    for cap in CAPS:
        listed = werkbank.run("tools", "--workspace", workspace, "--cap", cap, "--json").json()
        for tool in listed:
            found.setdefault(tool["name"], cap)
            assert found[tool["name"]] == tool["tier"]
    assert set(found) == names
    return found


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "a.py").write_text("def one(): pass\none()\n")
    (folder / "pyproject.toml").write_text("")
    return folder


def above(tiers, cap):
    return [name for name, tier in tiers.items() if CAPS.index(tier) > CAPS.index(cap)]


def unchanged(workspace):
    assert sorted(path.name for path in workspace.iterdir()) == ["a.py", "a.txt", "pyproject.toml"]
    assert (workspace / "a.txt").read_text() == "one\n"
    assert (workspace / "a.py").read_text() == "def one(): pass\none()\n"


def check_absent(text, names):
    for name in names:
        # Ordinary words of English count in quotes and backquotes, or where they begin a line.
        pattern = rf"\b{name}\b" if "_" in name else rf"[\"'`]{name}[\"'`]|(?m:^\s*/?{name}\s\s)"
        found = re.search(pattern, text)
        assert not found, (name, text[max(0, found.start() - 200) : found.end() + 100])


def clients(werkbank, workspace, cap, *options):
    """A client of each kind that has been greeted: what it received is in `heard`."""
    for kind in (Serve, ModernServe):
        for capabilities in ({}, FORM):
            client = werkbank.start(
                kind, "serve", "--workspace", workspace, "--cap", cap, *options
            )
            heard = []
            if kind is Serve:
                heard.append(client.initialize(capabilities=capabilities))
            else:
                client.capabilities = capabilities
                heard.append(client.request("server/discover", client.params()))
            heard.append(client.tools())
            yield client, json.dumps(heard)
            client.close()


@pytest.mark.parametrize("cap", CAPS[:2])
def test_what_a_client_receives(werkbank, workspace, tiers, cap):
    for client, heard in clients(werkbank, workspace, cap):
        check_absent(heard, above(tiers, cap))


@pytest.mark.parametrize("cap", CAPS[:2])
def test_what_the_tools_say(werkbank, workspace, tiers, cap):
    """Results and errors of everything that may be called, with right and with wrong arguments."""
    hidden = above(tiers, cap)
    client = werkbank.start(
        Serve, "serve", "--workspace", workspace, "--cap", cap, "--allow", "exec"
    )
    client.initialize()
    for name in sorted(set(tiers) - set(hidden) - {"ask_user"}):
        for arguments in ({}, {"nonsense": 1}, CALLS[name], {**CALLS[name], "path": "/etc/x"}):
            answer = client.call_raw(name, arguments)
            check_absent(json.dumps(answer), hidden)


@pytest.mark.parametrize("cap", CAPS[:2])
def test_what_is_printed(werkbank, workspace, tiers, cap):
    options = ["--workspace", workspace, "--cap", cap]
    hidden = above(tiers, cap)
    check_absent(werkbank.run("tools", *options).stdout, hidden)
    check_absent(werkbank.run("tools", *options, "--json").stdout, hidden)


@pytest.mark.parametrize("cap", CAPS[:2])
def test_calls_above_the_cap_over_serve(werkbank, workspace, tiers, cap):
    for client, _ in clients(werkbank, workspace, cap, "--allow", "exec"):
        client.on_request = lambda message: {"action": "accept", "content": {"choice": "Allow"}}
        for name in above(tiers, cap):
            with pytest.raises(RpcError) as caught:
                client.call_raw(name, CALLS[name])
            assert caught.value.code == -32602
        assert client.requests == [], "nobody is asked for what cannot be"
        unchanged(workspace)


@pytest.mark.parametrize("cap", CAPS[:2])
def test_calls_above_the_cap_from_a_shell(werkbank, workspace, tiers, cap):
    options = ["--cap", cap, "--allow", "exec"]
    session = werkbank.session(workspace, *options)
    for name in above(tiers, cap):
        assert werkbank.call(workspace, name, CALLS[name], *options).is_error
        session.error(name, **CALLS[name])
    unchanged(workspace)


@pytest.mark.parametrize("cap", CAPS[:2])
def test_calls_above_the_cap_in_the_terminal(werkbank, workspace, tiers, cap):
    one = Terminal(werkbank.env, workspace, "--cap", cap, "--allow", "exec")
    try:
        one.see("/help says what there is.", ">")
        for number, name in enumerate(above(tiers, cap)):
            one.type(f"/{name} {json.dumps(CALLS[name])}")
            one.type(f"/glob done{number}")
            one.see(f"There is no /{name}.", f"No file fits done{number}")
        one.tmux("clear-history")
        one.type("/help")
        one.see("/quit")
        check_absent(one.screen().split("/help")[-1], above(tiers, cap))
        one.type("/quit")
        one.see("ended with 0")
    finally:
        one.close()
    unchanged(workspace)


def test_the_cap_of_a_cell_is_that_of_its_run(werkbank, workspace):
    """eval itself is of the highest tier: what narrows the surface narrows the bridge."""
    session = werkbank.session(workspace, "--tools", "eval,read", "--allow", "exec")
    code = {
        "python": "try:\n    tool('write', path='made', content='x')\nexcept Exception as error:\n"
        "    print('refused:', error)",
        "javascript": "try { await tool('write', {path: 'made', content: 'x'}) } "
        "catch (error) { console.log('refused:', error.message) }",
    }
    for language, cell in code.items():
        result = session.ok("eval", code=cell, language=language, description="write from a cell")
        assert "refused:" in result.text and "write" in result.text
    unchanged(workspace)


def test_questions_are_for_those_who_can_be_asked(werkbank, workspace):
    for client, heard in clients(werkbank, workspace, "exec"):
        shows = "ask_user" in heard
        assert shows == ("ask_user" in {tool["name"] for tool in client.tools()})
        if not shows:
            with pytest.raises(RpcError):
                to_result("ask_user", client.call_raw("ask_user", CALLS["ask_user"]))
