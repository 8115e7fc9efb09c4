"""The scripted server against a raw client: each switch does what its name says."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from scripted import language, wire  # noqa: E402
from scripted.edits import RENAMES  # noqa: E402

SECONDS = 20
MAIN = "# says hello\ndef hello\nuse hello\n  nothing ERROR broken here\nWARN careful\n"


class Client:
    """One server process and what came from it; answers the server's requests if told to."""

    def __init__(self, tmp_path, scenario=None, raw=False):
        self.root = tmp_path / "root"
        self.root.mkdir(exist_ok=True)
        self.journal_path = tmp_path / "journal"
        self.scenario_path = tmp_path / "scenario.json"
        full = {"journal": str(self.journal_path), **(scenario or {})}
        self.scenario_path.write_text(json.dumps(full))
        command = [sys.executable, str(HERE / "scripted_lsp.py"), str(self.scenario_path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.inbox = queue.Queue()
        self.pushes = queue.Queue()
        self.next_id = 0
        self.asked = []
        if not raw:
            threading.Thread(target=self.read_all, daemon=True).start()

    def read_all(self):
        try:
            while True:
                message = wire.read_message(self.process.stdout)
                if message is None:
                    break
                if "method" in message and "id" in message:
                    self.asked.append(message)
                    self.send({"id": message["id"], "result": None})
                elif "method" in message:
                    self.pushes.put(message)
                else:
                    self.inbox.put(message)
        except ValueError as error:
            self.inbox.put(error)
        self.inbox.put(None)

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def post(self, method, params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        return self.next_id

    def call(self, method, params):
        self.post(method, params)
        return self.inbox.get(timeout=SECONDS)

    def start(self, encodings=("utf-8", "utf-16", "utf-32")):
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "offsetEncoding": ["utf-8"],
        }
        params = {"rootUri": self.root.as_uri(), "capabilities": capabilities}
        answer = self.call("initialize", params)
        self.notify("initialized", {})
        return answer["result"]

    def uri(self, name="main.scr"):
        return (self.root / name).as_uri()

    def open(self, text=MAIN, name="main.scr"):
        item = {"uri": self.uri(name), "languageId": "scripted", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, text, version=2, name="main.scr"):
        document = {"uri": self.uri(name), "version": version}
        changes = [{"text": text}]
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def at(self, line, character, name="main.scr", **more):
        position = {"line": line, "character": character}
        return {"textDocument": {"uri": self.uri(name)}, "position": position, **more}

    def push(self):
        while True:
            message = self.pushes.get(timeout=SECONDS)
            if message["method"] == "textDocument/publishDiagnostics":
                return message["params"]

    def journal(self, event):
        entries = [json.loads(line) for line in self.journal_path.read_text().splitlines()]
        return [entry for entry in entries if entry["event"] == event]

    def violations(self):
        return [entry["text"] for entry in self.journal("violation")]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def client(tmp_path):
    made = []

    def make(scenario=None, raw=False):
        made.append(Client(tmp_path, scenario, raw))
        return made[-1]

    yield make
    for one in made:
        one.end()


def started(client, **scenario):
    server = client(scenario)
    server.start()
    return server


def opened(client, text=MAIN, **scenario):
    server = started(client, **scenario)
    (server.root / "main.scr").write_text(text)
    server.open(text)
    return server


def test_language_finds_findings():
    document = language.Document("file:///a.scr", MAIN)
    found = document.findings({"hello"}, "utf-8")
    assert [(one["severity"], one["code"], one["message"]) for one in found] == [
        (1, "E1", "broken here"),
        (2, "W1", "careful"),
    ]
    assert [one["code"] for one in document.findings(set(), "utf-8")] == ["E2", "E1", "W1"]


@pytest.mark.parametrize("encoding, column", [("utf-8", 9), ("utf-16", 6), ("utf-32", 5)])
def test_positions_in_every_encoding(encoding, column):
    document = language.Document("file:///a.scr", "é😀\u0301 x here")
    assert document.name_at({"line": 0, "character": column}, encoding)[0] in ("x", None)
    place = document.hits("here", encoding)[0]
    assert document.name_at(place["start"], encoding)[0] == "here"


@pytest.mark.parametrize("choice", ["utf-8", "utf-16", "utf-32"])
def test_encoding_is_negotiated(client, choice):
    server = client({"position_encoding": choice})
    assert server.start()["capabilities"]["positionEncoding"] == choice


def test_encoding_the_old_way(client):
    result = client({"position_encoding": "clangd"}).start()
    assert result["offsetEncoding"] == "utf-8"
    assert "positionEncoding" not in result["capabilities"]


def test_encoding_that_was_not_offered_is_a_violation(client):
    server = client({"position_encoding": "utf-32"})
    server.start(encodings=["utf-16"])
    assert server.violations() == ["position encoding utf-32 was not offered"]


@pytest.mark.parametrize(
    "how, versions",
    [("right", [1]), ("missing", [None]), ("wrong", [0]), ("twice", [1, 1])],
)
def test_push_versions(client, how, versions):
    server = opened(client, push_version=how)
    pushed = [server.push() for _ in versions]
    assert [push.get("version") for push in pushed] == versions
    assert [len(push["diagnostics"]) for push in pushed] == [2] * len(versions)


def test_push_never_and_pull(client):
    server = opened(client, pull_only=True, pull=True, pull_unchanged=True)
    ask = {"textDocument": {"uri": server.uri()}}
    report = server.call("textDocument/diagnostic", ask)["result"]
    assert report["kind"] == "full" and len(report["items"]) == 2
    again = {**ask, "previousResultId": report["resultId"]}
    assert server.call("textDocument/diagnostic", again)["result"]["kind"] == "unchanged"
    assert server.pushes.empty()


def test_empty_push_first(client):
    server = opened(client, empty_push_first=True, push_delay_ms=20)
    assert server.push()["diagnostics"] == []
    assert len(server.push()["diagnostics"]) == 2


def test_push_for_other_files(client):
    server = opened(client, push_for_other_files=True)
    server.push()
    server.open("use hello\n", "other.scr")
    assert server.push()["diagnostics"] == []
    server.push()
    server.change("nothing\n")
    pushed = {push["uri"]: push["diagnostics"] for push in (server.push(), server.push())}
    assert pushed[server.uri("other.scr")][0]["message"] == "hello is not defined"


def test_dynamic_registration(client):
    server = opened(client, dynamic_pull={"unregister_after_changes": 1})
    ask = {"textDocument": {"uri": server.uri()}}
    assert server.call("textDocument/diagnostic", ask)["result"]["kind"] == "full"
    server.change("x\n")
    assert server.call("textDocument/diagnostic", ask)["error"]["code"] == -32601
    assert [one["method"] for one in server.asked] == [
        "client/registerCapability",
        "client/unregisterCapability",
    ]


def test_requests_during_initialize_and_ids(client):
    server = client({"requests_during_initialize": "standard", "colliding_ids": True})
    server.start()
    assert len(server.asked) == 10
    assert server.asked[0]["id"] == 1
    assert len(server.journal("answered")) == 10


def test_string_ids(client):
    server = client({"requests_during_initialize": "standard", "string_ids": True})
    server.start()
    assert all(isinstance(one["id"], str) for one in server.asked)


def test_never_and_late_answers(client):
    server = opened(
        client, never_answer=["textDocument/hover"], late_ms={"textDocument/definition": 50}
    )
    server.post("textDocument/hover", server.at(1, 5))
    late = server.post("textDocument/definition", server.at(1, 5))
    references = server.post("textDocument/references", server.at(1, 5))
    answers = [server.inbox.get(timeout=SECONDS)["id"] for _ in range(2)]
    assert answers == [references, late]


@pytest.mark.parametrize(
    "scenario", [{"crash_after": 0}, {"crash_on": "textDocument/hover", "crash_signal": 11}]
)
def test_crashes(client, scenario):
    server = opened(client, crash_stderr="I fell\n", **scenario)
    assert server.call("textDocument/hover", server.at(1, 5)) is None
    assert b"I fell" in server.process.stderr.read()
    assert server.process.wait(SECONDS) == (-11 if "crash_signal" in scenario else 1)
    assert server.journal("stop")[0]["reason"] == "crash"


def test_starts_differ(client):
    scenario = {"starts": [{"exit_at_start": 3, "stderr": "no licence\n"}]}
    first = client(scenario)
    assert first.process.wait(SECONDS) == 3
    assert b"no licence" in first.process.stderr.read()
    assert client(scenario).start()["serverInfo"]["name"] == "scripted"


def test_errors_for_some_times(client):
    error = {"code": -32801, "message": "content modified", "times": 1}
    server = opened(client, errors={"textDocument/hover": error})
    assert server.call("textDocument/hover", server.at(1, 5))["error"]["code"] == -32801
    assert "def hello" in json.dumps(server.call("textDocument/hover", server.at(1, 5)))


@pytest.mark.parametrize(
    "scenario, start",
    [
        ({"stdout_garbage": "Listening...\n"}, b"Listening...\nContent-Length: "),
        ({"extra_headers": True}, b"Content-Type: application/vscode-jsonrpc"),
        ({"lower_case_headers": True}, b"content-length: "),
        ({"split_bytes": True}, b"Content-Length: "),
        ({"corrupt": {"initialize": "absurd_length"}}, b"Content-Length: 99999999999999999999"),
        ({"corrupt": {"initialize": "invalid_utf8"}}, b"Content-Length: "),
        ({"corrupt": {"initialize": "eof_mid_frame"}}, b"Content-Length: "),
        ({"corrupt": {"initialize": "no_length"}}, b"Content-Type: "),
    ],
)
def test_framing(client, scenario, start):
    server = client(scenario, raw=True)
    server.post("initialize", {"rootUri": server.root.as_uri(), "capabilities": {}})
    assert server.process.stdout.read(len(start)) == start


def test_big_reply(client):
    server = opened(client, big_reply={"textDocument/hover": 20 * 1024 * 1024})
    answer = server.call("textDocument/hover", server.at(1, 5))
    assert len(answer["result"]["contents"]) == 20 * 1024 * 1024


def test_stubborn_end(client):
    server = started(
        client,
        never_answer=["shutdown"],
        ignore_exit=True,
        ignore_end_of_input=True,
        ignore_sigterm=True,
    )
    server.post("shutdown", None)
    server.notify("exit", None)
    server.process.stdin.close()
    server.process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(0.5)


def test_polite_end(client):
    server = started(client)
    assert server.call("shutdown", None)["result"] is None
    server.notify("exit", None)
    assert server.process.wait(SECONDS) == 0
    assert server.violations() == []


def test_grandchild_leaves_the_session(client):
    server = started(client, grandchild="quiet")
    deadline = time.monotonic() + SECONDS
    while not server.journal("grandchild") and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = server.journal("grandchild")[0]["pid"]
    assert os.getsid(pid) != os.getsid(server.process.pid)
    os.kill(pid, signal.SIGKILL)


def test_stderr_flood(client):
    server = client({"stderr_flood_bytes": 10 * 1024 * 1024}, raw=True)
    server.process.stdin.close()
    assert len(server.process.stderr.read()) > 9 * 1024 * 1024


def test_missing_capability_and_results(client):
    server = client(
        {"missing_capabilities": ["hoverProvider"], "results": {"textDocument/definition": None}}
    )
    assert "hoverProvider" not in server.start()["capabilities"]
    assert server.call("textDocument/definition", {})["result"] is None


def test_loading_is_empty_and_then_not(client):
    server = opened(client, loading_ms=1000, server_status=True)
    assert server.call("textDocument/references", server.at(1, 5))["result"] == []
    quiescent = []
    while True not in quiescent:
        message = server.pushes.get(timeout=SECONDS)
        if message["method"] == "experimental/serverStatus":
            quiescent.append(message["params"]["quiescent"])
    assert quiescent == [False, True]
    assert len(server.call("textDocument/references", server.at(1, 5))["result"]) == 1


def test_progress(client):
    tokens = [{"token": 7, "end_after_ms": 1}, {"token": "t", "create": False}]
    server = started(client, progress=tokens)
    seen = []
    while len(seen) < 3:
        message = server.pushes.get(timeout=SECONDS)
        seen.append((message["params"]["token"], message["params"]["value"]["kind"]))
    assert sorted(seen, key=str) == [("t", "begin"), (7, "begin"), (7, "end")]
    assert [one["params"]["token"] for one in server.asked] == [7]


@pytest.mark.parametrize("shape", sorted(RENAMES))
def test_every_rename_shape_is_built(client, shape):
    server = opened(client, rename_shape=shape)
    answer = server.call("textDocument/rename", server.at(1, 5, newName="fresh"))
    assert "result" in answer


@pytest.mark.parametrize(
    "shape, outcome",
    [
        ("range", {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 9}}),
        ("default_behavior", {"defaultBehavior": True}),
        ("null", None),
    ],
)
def test_prepare_shapes(client, shape, outcome):
    server = opened(client, prepare_shape=shape)
    assert server.call("textDocument/prepareRename", server.at(1, 5))["result"] == outcome


@pytest.mark.parametrize("shape", ["error", "method_not_found"])
def test_prepare_errors(client, shape):
    server = opened(client, prepare_shape=shape)
    assert "error" in server.call("textDocument/prepareRename", server.at(1, 5))


@pytest.mark.parametrize("shape", ["null", "location", "locations", "links"])
def test_definition_shapes(client, shape):
    server = opened(client, definition_shape=shape)
    found = server.call("textDocument/definition", server.at(2, 5))["result"]
    kinds = {"null": type(None), "location": dict, "locations": list, "links": list}
    assert isinstance(found, kinds[shape])


@pytest.mark.parametrize("shape", ["markup", "plain", "string", "marked", "array", "empty"])
def test_hover_shapes(client, shape):
    server = opened(client, hover_shape=shape)
    text = json.dumps(server.call("textDocument/hover", server.at(2, 5))["result"])
    assert ("def hello" in text) == (shape != "empty")


def test_symbols(client):
    text = "def outer\n  def inner\n"
    server = opened(client, text)
    ask = {"textDocument": {"uri": server.uri()}}
    tree = server.call("textDocument/documentSymbol", ask)["result"]
    assert tree[0]["children"][0]["name"] == "inner"
    found = server.call("workspace/symbol", {"query": "INN"})["result"]
    assert [one["name"] for one in found] == ["inner"]


def test_code_actions_and_command(client):
    server = opened(
        client, code_actions=["edit", "command", "literal_command", "resolve", "disabled"]
    )
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    ask = {"textDocument": {"uri": server.uri()}, "range": place, "context": {"diagnostics": []}}
    actions = server.call("textDocument/codeAction", ask)["result"]
    assert len(actions) == 5
    assert "edit" in server.call("codeAction/resolve", actions[3])["result"]
    command = actions[1]["command"]
    server.call(
        "workspace/executeCommand",
        {"command": command["command"], "arguments": command["arguments"]},
    )
    assert server.asked[-1]["method"] == "workspace/applyEdit"


def test_rules_are_watched(client):
    server = client()
    server.notify("textDocument/didClose", {"textDocument": {"uri": "file:///x.scr"}})
    server.start()
    server.open()
    server.open()
    server.change(MAIN, version=1)
    server.call("textDocument/hover", server.at(0, 0, name="closed.scr"))
    found = server.violations()
    assert [text.split(":")[0] for text in found] == [
        "textDocument/didClose before initialize",
        "didClose of a file that is not open",
        "didOpen twice",
        "version 1 after 1",
        "a didChange that changes nothing",
        "a request for a file that is not open",
    ]


def test_incremental_changes_in_the_chosen_encoding(client):
    server = opened(client, "é x\n", position_encoding="utf-8")
    place = {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4}}
    document = {"uri": server.uri(), "version": 2}
    changes = [{"range": place, "text": "ERROR y"}]
    server.push()
    server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    assert server.push()["diagnostics"][0]["message"] == "y"
    assert server.violations() == []
