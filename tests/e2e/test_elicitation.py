"""Cards over `serve`: a client that offers elicitation answers questions and approvals."""

import json
import threading

import pytest

from harness.processes import wait_until
from harness.serve import RpcError, to_result

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


def test_an_empty_answer_is_no_consent(serve, workspace):
    """It is asked for again, and is a refusal in the end."""
    client = serve(workspace, capabilities=FORM)
    asked = answering(client, accept(), accept(choice=""), accept(choice="Nothing of it"))
    assert client.ok("ask_user", question="Which?", options=COLOURS).data["outcome"] == "skipped"
    assert len(asked) == 3 and "Which?" in asked[2]["message"]
    answering(client, accept(), accept(), accept())
    assert client.call("write", path="a.txt", content="1").is_error
    assert list(workspace.iterdir()) == []


def test_an_answer_at_the_second_try(serve, workspace):
    client = serve(workspace, capabilities=FORM)
    answering(client, accept(choice="Green"), accept(choice="Red"))
    assert client.ok("ask_user", question="Which?", options=COLOURS).data["choices"] == ["Red"]


def test_a_client_that_cannot_show_it_after_all(serve, workspace):
    client = serve(workspace, capabilities=FORM)  # answers with an error
    result = client.call("write", path="a.txt", content="x")
    assert result.is_error and not (workspace / "a.txt").exists()


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


# --- the stateless era: the call comes back with the form, and is sent again with the answer ---


class Asking:
    """A call of the stateless era, and the rounds that it takes."""

    def __init__(self, client, tool, **args):
        self.client, self.tool, self.args = client, tool, args
        self.state = None
        self.send()

    def send(self, responses=None, **more):
        params = {"name": self.tool, "arguments": self.args, **more}
        if self.state:
            params.setdefault("requestState", self.state)
        if responses:
            params["inputResponses"] = responses
        self.answer = self.client.request("tools/call", self.client.params(**params))
        self.state = self.answer.get("requestState")

    @property
    def forms(self):
        assert self.answer["resultType"] == "input_required", self.answer
        assert {one["method"] for one in self.answer["inputRequests"].values()} == {
            "elicitation/create"
        }
        return {key: one["params"] for key, one in self.answer["inputRequests"].items()}

    def reply(self, response):
        (key,) = self.forms
        self.send({key: response})

    @property
    def result(self):
        assert self.answer["resultType"] == "complete", self.answer
        return to_result(self.tool, self.answer)


@pytest.fixture
def modern(serve, workspace, tmp_path):
    def start(*options, config=None, capabilities=FORM):
        if config:
            path = tmp_path / "config.json"
            path.write_text(json.dumps(config))
            options += ("--config", path)
        return serve(workspace, *options, modern=True, capabilities=capabilities)

    return start


def test_stateless_client_without_forms(modern, workspace):
    client = modern(capabilities={})
    assert "ask_user" not in [tool["name"] for tool in client.tools()]
    call = Asking(client, "write", path="a.txt", content="x")
    assert call.result.is_error and "--allow write" in call.result.text


def test_stateless_question(modern):
    client = modern()
    assert "ask_user" in [tool["name"] for tool in client.tools()]
    call = Asking(client, "ask_user", question="Which?", options=COLOURS)
    (form,) = call.forms.values()
    assert form["message"].startswith("Which?")
    assert form["requestedSchema"]["properties"]["choice"]["enum"] == ["Red", "Blue"]
    call.reply(accept(choice="Blue"))
    assert call.result.data == {"outcome": "answered", "choices": ["Blue"], "text": None}
    assert client.requests == [], "a server of this era sends no requests"


@pytest.mark.parametrize("answer", [accept(choice="Allow"), accept(choice="Refuse"), {}])
def test_stateless_approval(modern, workspace, answer):
    call = Asking(modern(), "write", path="a.txt", content="x")
    assert not (workspace / "a.txt").exists()
    call.reply(answer or {"action": "decline"})
    allowed = answer == accept(choice="Allow")
    assert call.result.is_error != allowed
    assert (workspace / "a.txt").exists() == allowed


def test_stateless_call_sent_again_without_an_answer(modern):
    call = Asking(modern(), "ask_user", question="Which?", options=COLOURS)
    first = call.forms
    call.send()
    assert call.forms == first
    call.reply(accept(choice="Green"))
    (form,) = call.forms.values()
    assert "Which?" in form["message"] and form["message"] != "Which?"
    call.reply(accept(choice="Red"))
    assert call.result.data["choices"] == ["Red"]


def test_stateless_state_of_another_call(modern, workspace):
    client = modern()
    call = Asking(client, "write", path="a.txt", content="x")
    (key,) = call.forms
    for state in ("", "no", call.state + "0", call.state[:-1]):
        with pytest.raises(RpcError) as caught:
            call.send({key: accept(choice="Allow")}, requestState=state)
        assert caught.value.code == -32602
    other = Asking(client, "ask_user", question="Which?")
    with pytest.raises(RpcError):
        call.send({key: accept(choice="Allow")}, requestState=other.state)
    # An answer to the other's card does nothing for this one.
    other.send({key: accept(choice="Allow")})
    other.forms
    assert not (workspace / "a.txt").exists()
    call.reply(accept(choice="Allow"))
    assert not call.result.is_error
    # Once done, it cannot be had again.
    with pytest.raises(RpcError):
        call.send(requestState="used")


def test_stateless_question_that_ended_meanwhile(modern):
    call = Asking(modern(config={"ask": {"timeout_s": 1}}), "ask_user", question="Which?")
    (key,) = call.forms
    wait_until(lambda: resumed(call), what="the end of the question")
    assert call.result.is_error and call.result.data["outcome"] == "timed_out"


def resumed(call):
    call.send()
    return call.answer["resultType"] == "complete"


def test_stateless_card_of_a_cell(modern, workspace):
    cell = "tool('write', path='a.txt', content='x')"
    call = Asking(modern(), "eval", code=cell, description="write a file from a cell")
    (form,) = call.forms.values()
    assert "eval" in form["message"]
    call.reply(accept(choice="Allow"))
    (form,) = call.forms.values()
    assert "write: a.txt" in form["message"]
    call.reply(accept(choice="Allow"))
    assert not call.result.is_error, call.result
    assert (workspace / "a.txt").read_text() == "x"


def test_stateless_calls_side_by_side(modern):
    client = modern()
    calls = [Asking(client, "ask_user", question=f"Number {i} ?") for i in range(4)]
    for i, call in reversed(list(enumerate(calls))):
        (form,) = call.forms.values()
        assert f"Number {i} ?" in form["message"]
        call.reply(accept(text=str(i)))
        assert call.result.data["text"] == str(i)


def test_stateless_client_goes_while_a_call_waits(modern):
    client = modern()
    Asking(client, "ask_user", question="Which?").forms
    client.process.stdin.close()
    assert client.process.wait(timeout=60) == 0
