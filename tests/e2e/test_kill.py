"""Deaths at the wrong moment, and many callers at once: nothing hangs, nothing stays behind."""

import os
import random
import signal
import threading
import time

import pytest

from harness.processes import descriptors, survivors, wait_until
from harness.projects import C

AT = {"action": "hover", "file": "main.scr", "line": 3, "symbol": "hello"}


@pytest.fixture(scope="module")
def rng():
    seed = int(os.environ.get("WERKBANK_TEST_SEED", "20261201"))
    return random.Random(seed)


STUBBORN = {"ignore_sigterm": True, "ignore_exit": True, "ignore_end_of_input": True}


@pytest.mark.parametrize("grandchild", ["quiet", "keeps_stdout"])
def test_host_killed_at_random_moments(werkbank, scripted, rng, grandchild):
    one = scripted({**STUBBORN, "grandchild": grandchild})
    for _ in range(20):
        session = werkbank.session(one.root, *one.options())
        session.send("lsp", AT)
        time.sleep(rng.uniform(0, 0.5))
        session.kill()
        left = survivors(werkbank.test_id, 3)
        assert not left, left


def test_host_killed_with_a_real_server(werkbank, tmp_path, rng):
    project = C.build(tmp_path / "project")
    at = project.at(C.use.file, C.use.needle, C.use.symbol)
    for _ in range(10):
        session = werkbank.session(project.root, "--allow", "exec")
        session.send("lsp", {"action": "hover", **at})
        session.send("shell", {"command": "setsid sleep 300 & sleep 300"})
        time.sleep(rng.uniform(0, 1.5))
        session.kill()
        left = survivors(werkbank.test_id, 3)
        assert not left, left


def test_server_killed_in_the_middle(serve, scripted, rng):
    one = scripted({"late_ms": {"textDocument/hover": 50}})
    client = serve(one.root, *one.options())
    client.ok("lsp", **AT)
    before = len(descriptors(client.pid))
    for number in range(100):
        posted = [client.post("tools/call", {"name": "lsp", "arguments": AT}) for _ in range(2)]
        time.sleep(rng.uniform(0, 0.06))
        for pid in one.pids()[-1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for _, waiting in posted:
            answer = client.wait(waiting, 60)
            text = answer["content"][0]["text"]
            if answer.get("isError"):
                assert "scripted" in text and (
                    "killed" in text or "SIGKILL" in text or "reload" in text
                ), text
            else:
                assert "def hello" in text
        if number % 4 == 3:
            client.ok("lsp", action="reload")
    client.ok("lsp", action="reload")
    client.ok("lsp", **AT)
    wait_until(lambda: len(descriptors(client.pid)) <= before + 2, what="closed descriptors")


def test_two_hundred_calls_share_one_server(serve, scripted):
    one = scripted({"late_ms": {"initialize": 500}})
    client = serve(one.root, *one.options())
    posted = [client.post("tools/call", {"name": "lsp", "arguments": AT}) for _ in range(200)]
    for _, waiting in posted:
        assert "def hello" in client.wait(waiting)["content"][0]["text"]
    assert len(one.pids()) == 1
    assert len(one.received("textDocument/didOpen")) == 1


def test_calls_from_many_threads(serve, scripted):
    one = scripted()
    client = serve(one.root, "--allow", "write", *one.options())
    failures = []

    def work(number):
        try:
            for turn in range(10):
                client.ok("write", path=f"w{number}.scr", content=f"def w{number}\n# {turn}\n")
                client.ok("lsp", action="symbols", file=f"w{number}.scr")
                client.ok("lsp", **AT)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures, failures[:3]
    assert len(one.pids()) == 1


def test_a_stopped_server_does_not_hold_the_end(serve, scripted, werkbank):
    one = scripted()
    client = serve(one.root, *one.options())
    client.ok("lsp", **AT)
    os.kill(one.pids()[0], signal.SIGSTOP)
    client.close()
    werkbank.close()


def test_sigterm_and_sigint_end_it(serve, scripted, werkbank):
    one = scripted()
    for number in (signal.SIGTERM, signal.SIGINT):
        client = serve(one.root, *one.options())
        client.ok("lsp", **AT)
        os.kill(client.pid, number)
        client.process.wait(60)
        assert not survivors(werkbank.test_id, 3)
