"""`werkbank serve`: MCP's wire format on the run's own pipe, in both eras, from a raw client."""

import json
import queue
import subprocess

import pytest

from harness.processes import marked, wait_until
from harness.program import BINARY
from harness.serve import LEGACY, META, MODERN, ModernServe, RpcError, Serve, to_result

WRITE_AND_EXEC = {"write", "edit", "apply_patch", "lsp_rename", "ast_edit", "resolve"}
WRITE_AND_EXEC |= {"shell", "debug", "eval"}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


def raw(werkbank, workspace, *options, kind=Serve):
    return werkbank.start(kind, "serve", "--workspace", workspace, *options)


# --- handshake and lists ---


def test_initialize(werkbank, workspace):
    client = raw(werkbank, workspace)
    result = client.initialize()
    assert result["protocolVersion"] == LEGACY
    assert result["serverInfo"]["name"] == "werkbank"
    assert "tools" in result["capabilities"]
    assert client.request("ping") == {}
    assert client.close() == 0


def test_an_unknown_version_gets_ours(werkbank, workspace):
    assert raw(werkbank, workspace).initialize("1999-01-01")["protocolVersion"] == LEGACY


def test_older_versions_are_spoken(werkbank, workspace):
    assert raw(werkbank, workspace).initialize("2025-06-18")["protocolVersion"] in (
        "2025-06-18",
        LEGACY,
    )


def test_tools_list(serve, workspace):
    client = serve(workspace)
    tools = {tool["name"]: tool for tool in client.tools()}
    assert {"read", "grep", "lsp", "write", "lsp_rename", "shell"} <= set(tools)
    for name, tool in tools.items():
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
        hints = tool["annotations"]
        assert hints["readOnlyHint"] == (name not in WRITE_AND_EXEC), name
    assert tools["shell"]["annotations"].get("destructiveHint", True) is True


def test_cap_read_leaves_no_trace(serve, workspace):
    client = serve(workspace, "--cap", "read")
    listed = client.tools()
    assert not {tool["name"] for tool in listed} & WRITE_AND_EXEC
    text = json.dumps(listed)
    for name in ("lsp_rename", "apply_patch", "shell"):
        assert name not in text
    with pytest.raises(RpcError):
        client.call("shell", command="true")
    unknown = pytest.raises(RpcError, client.call, "never_heard_of_it").value
    hidden = pytest.raises(RpcError, client.call, "write", path="x", content="").value
    # A hidden tool is unknown: nothing tells it from one that never was.
    assert unknown.code == hidden.code
    assert str(hidden).replace("write", "X") == str(unknown).replace("never_heard_of_it", "X")


# --- calls ---


def test_call(serve, workspace):
    client = serve(workspace)
    answer = client.call_raw("read", {"path": "a.txt"})
    assert answer["content"][0]["type"] == "text" and "two" in answer["content"][0]["text"]
    assert not answer.get("isError", False)
    found = client.ok("grep", pattern="two")
    assert found.data == {"locations": [{"path": "a.txt", "line": 2, "text": "two"}], "total": 1}


def test_a_tool_error_is_no_protocol_error(serve, workspace):
    client = serve(workspace)
    assert client.call("read", path="absent").is_error
    assert client.call("read").is_error
    assert client.call("read", path="a.txt", extra=1).is_error


@pytest.mark.parametrize(
    "method, params",
    [
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "nonsense", "arguments": {}}),
        ("tools/call", {"name": "read", "arguments": []}),
        ("no/such/method", {}),
        ("resources/read", {"uri": "x"}),
    ],
)
def test_protocol_errors(serve, workspace, method, params):
    client = serve(workspace)
    with pytest.raises(RpcError):
        client.request(method, params)
    assert client.request("ping") == {}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "nonsense",
        "[]",
        "7",
        '{"jsonrpc": "2.0"}',
        '{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
        '{"jsonrpc": "1.0", "id": "x", "method": "ping"}',
        "",
        "\r",
        "[" * 5000,
    ],
)
def test_bad_lines_do_not_end_it(serve, workspace, line):
    client = serve(workspace)
    client.write(line + "\n")
    assert client.request("ping") == {}


def test_ids_of_every_kind_come_back(serve, workspace):
    client = serve(workspace)
    for number in (0, -1, 2**53, "text", ""):
        client.send({"id": number, "method": "ping"})
        answer = json.loads(json.dumps(client.lines.get(timeout=60)))
        assert answer["id"] == number


def test_concurrent_calls(serve, workspace):
    client = serve(workspace)
    posted = [
        client.post(
            "tools/call", {"name": "read", "arguments": {"path": "a.txt", "offset": 1 + n % 2}}
        )
        for n in range(100)
    ]
    answers = [to_result("read", client.wait(waiting)) for _, waiting in posted]
    assert all(not answer.is_error for answer in answers)


def test_progress_and_cancellation(serve, scripted):
    one = scripted({"never_answer": ["textDocument/hover"]})
    client = serve(one.root, *one.options())
    at = {"action": "hover", "file": "main.scr", "line": 3, "symbol": "hello"}
    params = {"name": "lsp", "arguments": at, "_meta": {"progressToken": "p1"}}
    number, waiting = client.post("tools/call", params)
    wait_until(lambda: one.received("textDocument/hover"), what="the hover request")
    client.notify("notifications/cancelled", {"requestId": number, "reason": "test"})
    wait_until(lambda: one.received("$/cancelRequest"), what="the cancellation")
    # No answer may come to a cancelled request; the others go on.
    assert client.call("read", path="main.scr").text
    with pytest.raises(queue.Empty):
        waiting.get(timeout=0.2)


def test_progress_of_a_slow_start(serve, scripted):
    one = scripted({"late_ms": {"initialize": 1500}})
    client = serve(one.root, *one.options())
    at = {"action": "hover", "file": "main.scr", "line": 3, "symbol": "hello"}
    params = {"name": "lsp", "arguments": at, "_meta": {"progressToken": 7}}
    assert "def hello" in json.dumps(client.request("tools/call", params))
    told = []
    while not client.notifications.empty():
        told.append(client.notifications.get())
    progress = [one["params"] for one in told if one["method"] == "notifications/progress"]
    assert progress and all(one["progressToken"] == 7 for one in progress)
    assert [one["progress"] for one in progress] == sorted(one["progress"] for one in progress)


def test_without_a_token_no_progress(serve, scripted):
    one = scripted({"late_ms": {"initialize": 1500}})
    client = serve(one.root, *one.options())
    client.ok("lsp", action="hover", file="main.scr", line=3, symbol="hello")
    methods = [client.notifications.get()["method"] for _ in range(client.notifications.qsize())]
    assert "notifications/progress" not in methods


def test_end_of_input_in_the_middle_of_calls(serve, workspace, werkbank):
    client = serve(workspace, "--allow", "exec")
    command = {"name": "shell", "arguments": {"command": "sleep 1; echo done"}}
    _, waiting = client.post("tools/call", command)
    client.process.stdin.close()
    assert "done" in client.wait(waiting)["content"][0]["text"]
    assert client.process.wait(60) == 0
    werkbank.close()


def test_a_signal_ends_calls(serve, scripted, werkbank):
    one = scripted({"never_answer": ["textDocument/hover"]})
    client = serve(one.root, *one.options())
    at = {"action": "hover", "file": "main.scr", "line": 3, "symbol": "hello"}
    for _ in range(20):
        client.post("tools/call", {"name": "lsp", "arguments": at})
    wait_until(lambda: one.received("textDocument/hover"), what="the hover request")
    client.process.terminate()
    assert client.close() == 0
    werkbank.close()


def test_a_reader_that_is_gone_ends_calls(werkbank, workspace):
    call = {"name": "shell", "arguments": {"command": "sleep 600"}}
    meta = ModernServe.params(ModernServe, **call)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": meta})
    process = subprocess.Popen(
        [BINARY, "serve", "--workspace", str(workspace), "--allow", "exec"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=werkbank.env,
    )
    process.stdin.write(line.encode() + b"\n")
    process.stdin.close()
    wait_until(lambda: "sleep 600" in str(marked(werkbank.test_id)), what="the command")
    process.stdout.close()
    assert process.wait(60) == 0


def test_a_line_over_the_limit_is_told(werkbank, workspace):
    client = werkbank.start(ModernServe, "serve", "--workspace", workspace)
    client.write(b"x" * (65 * 1024 * 1024) + b"\n")
    assert client.process.wait(60) == 1
    wait_until(lambda: "over its limit" in client.stderr(), what="the sentence")


# --- the stateless era ---


def test_discover(serve, workspace):
    client = serve(workspace, modern=True)
    found = client.request("server/discover", client.params())
    assert MODERN in found["supportedVersions"]
    assert "tools" in found["capabilities"] and found["resultType"] == "complete"


def test_modern_list_and_call_without_a_handshake(serve, workspace):
    client = serve(workspace, modern=True)
    listed = client.request("tools/list", client.params())
    assert listed["resultType"] == "complete"
    assert {"read", "lsp"} <= {tool["name"] for tool in listed["tools"]}
    answer = client.call_raw("read", {"path": "a.txt"})
    assert answer["resultType"] == "complete"
    assert "two" in answer["content"][0]["text"]
    assert client.call("read", path="absent").is_error


def test_modern_version_that_we_do_not_speak(werkbank, workspace):
    client = raw(werkbank, workspace, kind=ModernServe)
    client.version = "2031-01-01"
    error = pytest.raises(RpcError, client.tools).value
    assert error.code == -32022 and MODERN in error.data["supported"]


def test_modern_and_legacy_list_the_same(werkbank, workspace):
    modern = raw(werkbank, workspace, kind=ModernServe)
    legacy = raw(werkbank, workspace)
    legacy.initialize()
    assert modern.tools() == legacy.tools()


def test_modern_progress(serve, scripted):
    one = scripted({"late_ms": {"initialize": 1500}})
    client = serve(one.root, *one.options(), modern=True)
    at = {"action": "hover", "file": "main.scr", "line": 3, "symbol": "hello"}
    params = client.params(name="lsp", arguments=at, _meta={"progressToken": "x"})
    client.request("tools/call", params)
    assert client.notifications.get(timeout=30)["params"]["progressToken"] == "x"


def test_meta_of_a_request_is_needed_without_a_handshake(werkbank, workspace):
    client = raw(werkbank, workspace)
    error = pytest.raises(RpcError, client.request, "tools/list", {}).value
    assert META in str(error) or "initialize" in str(error)
