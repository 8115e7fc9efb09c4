"""Cards over `serve`: a client that offers elicitation answers questions and approvals."""

import json
import threading

import pytest

from harness.processes import wait_until

FORM = {"elicitation": {}}
COLOURS = [{"label": "Red", "description": "like fire"}, {"label": "Blue"}]


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def answering(client, *answers):
    """Gives these answers in turn; returns what was asked."""
    asked = []
    left = list(answers)

    def on_request(message):
        assert message["method"] == "elicitation/create"
        asked.append(message["params"])
        return left.pop(0)

    client.on_request = on_request
    return asked


def accept(**content):
    return {"action": "accept", "content": content}


def test_without_elicitation_nobody_is_asked(serve, workspace):
    client = serve(workspace)
    assert "ask_user" not in [tool["name"] for tool in client.tools()]
    result = client.call("write", path="a.txt", content="x")
    assert result.is_error and "--allow write" in result.text
    assert not (workspace / "a.txt").exists()


def test_a_choice(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    assert "ask_user" in [tool["name"] for tool in client.tools()]
    asked = answering(client, accept(choice="Blue"))
    result = client.ok("ask_user", question="Which?", context="Paint.", options=COLOURS)
    assert result.data == {"outcome": "answered", "choices": ["Blue"], "text": None}
    assert "Which?" in asked[0]["message"] and "Paint." in asked[0]["message"]
    assert "Red: like fire" in asked[0]["message"]
    schema = asked[0]["requestedSchema"]
    assert schema["properties"]["choice"]["enum"] == ["Red", "Blue"]
    assert schema["required"] == ["choice"]


def test_several_choices_and_text(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    asked = answering(client, accept(choice=["Blue", "Red"], text="both"))
    result = client.ok(
        "ask_user", question="Which?", options=COLOURS, multi_select=True, allow_free_text=True
    )
    assert result.data == {"outcome": "answered", "choices": ["Red", "Blue"], "text": "both"}
    assert asked[0]["requestedSchema"]["properties"]["choice"]["type"] == "array"


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_declined_is_skipped(serve, workspace, action):
    client = serve(workspace, capabilities=FORM)
    answering(client, {"action": action})
    result = client.ok("ask_user", question="Which?", options=COLOURS)
    assert result.data["outcome"] == "skipped"


def test_an_empty_answer_is_no_consent(serve, workspace, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"ask": {"timeout_s": 1}}))
    client = serve(workspace, "--config", config, capabilities=FORM)
    answering(client, accept())
    result = client.call("ask_user", question="Which?", options=COLOURS)
    assert result.is_error and result.data["outcome"] == "timed_out"


def test_approvals(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    asked = answering(
        client,
        accept(choice="Allow"),
        accept(choice="Refuse"),
        {"action": "decline"},
        accept(choice="Allow always"),
    )
    client.ok("write", path="a.txt", content="1")
    assert "Allow write: a.txt?" in asked[0]["message"]
    assert client.call("write", path="b.txt", content="1").is_error
    assert client.call("write", path="c.txt", content="1").is_error
    client.ok("write", path="d.txt", content="1")
    client.ok("write", path="d.txt", content="1")
    assert len(asked) == 4
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "d.txt"]


def test_two_cards_at_once(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    both = threading.Barrier(2, timeout=60)
    asked = []

    def on_request(message):
        asked.append(message["id"])
        number = message["params"]["message"].split()[1]
        threading.Thread(target=later, args=(message["id"], number)).start()
        return None

    def later(request, number):
        both.wait()
        client.send({"id": request, "result": accept(text=number)})

    client.answer = on_request
    first = client.post("tools/call", {"name": "ask_user", "arguments": {"question": "Number 1 ?"}})
    other = client.post("tools/call", {"name": "ask_user", "arguments": {"question": "Number 2 ?"}})
    assert client.wait(first[1])["structuredContent"]["text"] == "1"
    assert client.wait(other[1])["structuredContent"]["text"] == "2"


def test_a_cancelled_call_takes_its_card_back(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    asked = []
    client.answer = asked.append
    call = {"name": "ask_user", "arguments": {"question": "Still there?"}}
    number, _ = client.post("tools/call", call)
    wait_until(lambda: asked, what="the elicitation")
    client.notify("notifications/cancelled", {"requestId": number})
    message = client.notifications.get(timeout=60)
    assert message["method"] == "notifications/cancelled"
    assert message["params"]["requestId"] == asked[0]["id"]


def test_a_guard_rule_denies_whatever_is_allowed(serve, workspace, tmp_path):
    config = tmp_path / "config.json"
    rules = [
        {"id": "no-env", "path": "*.env", "action": "deny", "reason": "it holds secrets"},
        {"id": "push", "tool": "shell", "command": "git push *", "action": "prompt"},
    ]
    config.write_text(json.dumps({"rules": rules}))
    client = serve(workspace, "--config", config, "--allow", "exec", capabilities=FORM)
    result = client.call("write", path="prod.env", content="x")
    assert result.is_error and "it holds secrets" in result.text
    asked = answering(client, accept(choice="Refuse"))
    assert client.call("shell", command="true && git push").is_error
    assert "Allow shell: true && git push?" in asked[0]["message"]
    client.ok("shell", command="echo fine")
