"""The official MCP clients list and call over `serve`: Python SDK, TypeScript SDK, inspector."""

import json
import os
import subprocess

import pytest

from harness.program import BINARY, TOOLS, check_sanitizers

WRITE_AND_EXEC = {"write", "edit", "apply_patch", "lsp_rename", "ast_edit", "resolve"}
WRITE_AND_EXEC |= {"shell", "debug", "eval"}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


def command(workspace, *options):
    return [BINARY, "serve", "--workspace", str(workspace), *options]


async def python_client(argv, env, mode):
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=argv[0], args=argv[1:], env=env)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        good = await client.call_tool("read", {"path": "a.txt"})
        bad = await client.call_tool("read", {"path": "absent"})
        return client.session.protocol_version, listed, good, bad


@pytest.mark.parametrize("options", [(), ("--cap", "read")])
@pytest.mark.parametrize(
    "mode, version",
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
def test_python_sdk(werkbank, workspace, options, mode, version):
    import anyio

    argv = command(workspace, *options)
    spoken, listed, good, bad = anyio.run(python_client, argv, werkbank.env, mode)
    names = {tool.name for tool in listed.tools}
    assert spoken == version
    assert {"read", "lsp"} <= names
    assert "two" in good.content[0].text and not good.is_error
    assert bad.is_error
    if options:
        assert not names & WRITE_AND_EXEC
        dump = listed.model_dump_json()
        assert not [name for name in ("lsp_rename", "apply_patch", "shell") if name in dump]


SCRIPT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const listed = await client.listTools();
const good = await client.callTool({ name: "read", arguments: { path: "a.txt" } });
const bad = await client.callTool({ name: "read", arguments: { path: "absent" } });
console.log(JSON.stringify({ listed, good, bad }));
await client.close();
"""


def node_modules(package):
    """The node_modules of the tools that hold a package; the set-up installs it."""
    for folder in sorted(TOOLS.glob("**/node_modules")):
        if (folder / package).is_dir():
            return folder
    raise AssertionError(f"{package} is not below {TOOLS}: run tools/setup test")


@pytest.mark.parametrize("options", [(), ("--cap", "read")])
def test_typescript_sdk(werkbank, workspace, tmp_path, options):
    script = tmp_path / "client.mjs"
    script.write_text(SCRIPT)
    (tmp_path / "node_modules").symlink_to(node_modules("@modelcontextprotocol/sdk"))
    done = subprocess.run(
        ["node", str(script), *command(workspace, *options)],
        env=werkbank.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    check_sanitizers(done.stderr)
    answer = json.loads(done.stdout)
    names = {tool["name"] for tool in answer["listed"]["tools"]}
    assert {"read", "lsp"} <= names
    assert "two" in answer["good"]["content"][0]["text"] and answer["bad"]["isError"]
    if options:
        assert not names & WRITE_AND_EXEC and "lsp_rename" not in done.stdout


def inspector(env, argv, *more):
    program = TOOLS / "bin" / "mcp-inspector"
    assert program.exists(), f"{program} is missing: run tools/setup test"
    done = subprocess.run(
        [str(program), "--cli", *argv, *more],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_inspector(werkbank, workspace):
    # The inspector takes the options of its own behind the command; ours go into a script.
    script = workspace.parent / "serve.sh"
    quoted = " ".join(f"'{word}'" for word in command(workspace))
    script.write_text(f"#!/bin/sh\nexec {quoted}\n")
    os.chmod(script, 0o755)
    listed = inspector(werkbank.env, [str(script)], "--method", "tools/list")
    assert {"read", "lsp"} <= {tool["name"] for tool in listed["tools"]}
    called = inspector(
        werkbank.env,
        [str(script)],
        "--method",
        "tools/call",
        "--tool-name",
        "read",
        "--tool-arg",
        "path=a.txt",
    )
    assert "two" in called["content"][0]["text"]
