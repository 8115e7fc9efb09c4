"""What ends the cells and the interpreters of `eval`: deaths, budgets, interrupts, resets, the end of
the host, in a capsule too; and what is left behind (nothing)."""

import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

from harness.cells import BOTH, Cells, write_script
from harness.processes import descriptors, survivors, wait_until
from harness.program import E2E


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root


# --- deaths ---


DEATHS = {
    "exit": ("import os; print('last words', flush=True); os._exit(3)", "exited with status 3"),
    "abort": ("import os; os.abort()", "SIGABRT"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "descriptors": ("import os; os.closerange(3, 4096); import time; time.sleep(60)", "channel"),
    "memory": ("x = []\nwhile True: x.append(bytearray(1 << 20))", "memory limit of 300 MB"),
    "child": (
        "import subprocess\n"
        "x = []\n"
        "subprocess.run(['python3', '-c', 'x = []\\nwhile True: x.append(bytearray(1 << 20))'])",
        "memory limit of 300 MB",
    ),
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_death_is_told_with_its_cause(cells, death):
    code, cause = DEATHS[death]
    here = cells(eval={"memory_mb": 300})
    here.ok("x = 1")
    result = here.error(code)
    assert cause in result.text and "state lost" in result.text, result
    assert result.data["state"] == "lost"
    if death == "exit":
        assert result.data["output"] == "last words\n"
    result = here.error("x")
    assert "NameError" in result.text
    assert result.text.startswith("[the earlier interpreter ") and cause in result.text
    assert "earlier" not in here.ok("1").text


def test_javascript_deaths(cells):
    here = cells()
    result = here.error("process.abort()", "javascript")
    assert "SIGABRT" in result.text and result.data["state"] == "lost"
    result = here.error(
        "process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})", "javascript"
    )
    assert "SIGKILL" in result.text
    assert here.value("1 + 1", "javascript") == "2"


def test_a_death_between_cells(cells):
    here = cells()
    here.ok("import os, threading; threading.Timer(0.2, lambda: os._exit(9)).start()")
    pid = here.session.pid
    wait_until(lambda: not list(children(pid)), what="the interpreter's end")
    assert "interpreter exited with status 9" in here.call("1").text


def test_an_exit_is_told_though_the_channel_ended_first(cells):
    here = cells()
    kernel = here.value("import os, threading, time; os.getpid()")
    here.ok(
        """
def end():
    os.closerange(200, 210)
    time.sleep(0.4)
    os._exit(9)
threading.Timer(0.2, end).start()"""
    )
    wait_until(lambda: not os.path.exists(f"/proc/{kernel}/fd/201"), what="the channel's end")
    assert "interpreter exited with status 9" in here.call("1").text


def children(pid):
    """All descendants but guards."""
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            found = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        except OSError:
            continue
        for child in found:
            name = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
            if name != "werkbank-guard":
                yield int(child)
            yield from children(child)


# --- stopping ---


@BOTH
def test_an_endless_loop_is_interrupted_and_the_state_kept(cells, language):
    here = cells(eval={"inactivity_s": 1})
    here.ok("x = 7", language)
    loop = {"python": "while True: pass", "javascript": "while (true) {}"}[language]
    result = here.error(loop, language)
    assert "[interrupted, state kept: stopped after 1 s without output" in result.text
    assert result.data["state"] == "kept"
    assert here.value("x", language) == "7"


CHILDREN = [
    "while True: os.system('sleep 300')",
    "subprocess.run(['sleep', '300'])",
    "subprocess.getoutput('sleep 300')",
    "!sleep 300",
    "tool('shell', {'command': 'sleep 300'})",
]


@pytest.mark.parametrize("code", CHILDREN)
def test_children_are_interrupted_too(cells, code):
    here = cells(eval={"inactivity_s": 1, "limit_s": 2})
    here.ok("import os, subprocess; x = 7")
    assert "interrupted, state kept" in here.error(code).text
    assert here.value("x") == "7"
    wait_until(lambda: len(list(children(here.session.pid))) == 1, what="the end of the children")


def test_output_resets_the_budget(cells):
    here = cells(eval={"inactivity_s": 2})
    here.ok("import time\nfor i in range(5):\n    print(i)\n    time.sleep(0.5)")


def test_a_limit_of_the_whole_cell(cells):
    here = cells(eval={"limit_s": 1})
    result = here.error("import time\nwhile True:\n    print('.')\n    time.sleep(0.05)")
    assert "interrupted, state kept" in result.text and "eval.limit_s" in result.text


@BOTH
def test_a_bridged_call_suspends_the_budget(cells, language):
    here = cells(eval={"inactivity_s": 1})
    call = {
        "python": "tool('shell', {'command': 'sleep 1.5; echo slept'})['output']",
        "javascript": "(await tool('shell', {command: 'sleep 1.5; echo slept'})).output",
    }[language]
    assert "slept" in here.value(call, language)


def test_cancelling_from_the_harness(serve, project):
    client = serve(project, "--allow", "exec")

    def post(code):
        arguments = {"code": code, "description": "a test"}
        return client.post("tools/call", {"name": "eval", "arguments": arguments})

    def value(code):
        return client.wait(post(code)[1])["structuredContent"]["value"]

    assert value("x = 5; x") == "5"
    for code in ("while True: pass", "tool('shell', {'command': 'touch began; sleep 100'})"):
        (project / "began").unlink(missing_ok=True)
        number, _ = post(code if "tool" in code else "open('began', 'w').close()\n" + code)
        wait_until((project / "began").exists)
        client.notify("notifications/cancelled", {"requestId": number})
        assert value("x") == "5"


def test_a_reset_ends_the_cell_that_runs(serve, project):
    client = serve(project, "--allow", "exec")

    def post(**more):
        arguments = {"code": "1", "description": "a test", **more}
        return client.post("tools/call", {"name": "eval", "arguments": arguments})[1]

    client.wait(post(code="var x = 3", language="javascript"))
    running = post(code="open('began', 'w').close()\nwhile True: pass")
    wait_until((project / "began").exists)
    fresh = client.wait(post(reset=True))
    assert "[fresh python " in fresh["content"][0]["text"] and not fresh["isError"]
    ended = client.wait(running)
    assert ended["isError"] and "by a reset" in ended["content"][0]["text"]
    other = client.wait(post(code="x", language="javascript"))
    assert other["structuredContent"]["value"] == "3"


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@BOTH
def test_a_thousand_cells_in_one_kernel(cells, language):
    here = cells()
    pid = int(
        here.value(
            {"python": "import os; os.getpid()", "javascript": "process.pid"}[language], language
        )
    )
    say = {"python": "print('x' * 1000)", "javascript": "console.log('x'.repeat(1000))"}[language]
    for number in range(1000):
        if number == 300:
            before = resident(pid), len(descriptors(pid)), len(descriptors(here.session.pid))
        assert here.value(f"{say}\n{number} + 1", language) == str(number + 1)
    after = resident(pid), len(descriptors(pid)), len(descriptors(here.session.pid))
    assert after[1:] == before[1:]
    assert after[0] - before[0] < 20_000, "kB more in the interpreter"  # V8 collects late


# --- the capsule ---


def capsule(*prefix, **more):
    return {"exec_prefix": list(prefix), **more}


def test_a_prefix_that_speaks_first(cells, tmp_path):
    script = write_script(
        tmp_path / "enter", '#!/bin/sh\necho welcome\necho to the capsule >&2\nexec "$@"\n'
    )
    for language in ("python", "javascript"):
        here = cells(capsule=capsule(str(script)))
        result = here.ok("40 + 2", language)
        assert result.data["value"] == "42"


def test_a_prefix_that_keeps_only_the_standard_descriptors(cells, tmp_path):
    script = write_script(
        tmp_path / "enter", '#!/bin/bash\nexec 3>&- 4>&- 8>&- 9>&-\nexec env -i "$@"\n'
    )
    here = cells(capsule=capsule(str(script)))
    assert here.value("import os; os.environ.get('TERM')") == "'dumb'"


def test_a_prefix_that_drops_signals(cells, tmp_path):
    script = write_script(tmp_path / "enter", '#!/bin/sh\ntrap "" INT TERM\n"$@"\n')
    here = cells(capsule=capsule(str(script)), eval={"inactivity_s": 1})
    here.ok("x = 7")
    assert "interrupted, state kept" in here.error("while True: pass").text
    assert here.value("x") == "7"


def test_a_prefix_that_runs_nothing(cells):
    text = cells(capsule=capsule("/bin/false")).error("1").text
    assert "capsule.exec_prefix" in text and "not run on the host" in text
    text = cells(capsule=capsule("/no/such/program")).error("1").text
    assert "not run on the host" in text


def test_an_absent_capsule_is_told(cells, tmp_path):
    here = cells(capsule=capsule("/bin/false", probe=["sh", "-c", "exit 3"]))
    result = here.ok("1")
    assert "capsule does not run (sh exited with status 3): this is on the host" in result.text


def test_a_capsule_that_was_used_is_not_left(cells, tmp_path):
    mark = tmp_path / "running"
    mark.touch()
    here = cells(capsule=capsule("env", probe=["test", "-e", str(mark)]))
    assert "in the capsule" in here.ok("x = 1").text
    mark.unlink()
    text = here.error("1", reset=True).text
    assert "does not answer" in text and "not run on the host" in text


BWRAP = [
    "bwrap",
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--unshare-pid",
    "--die-with-parent",
    "--chdir",
    "{cwd}",
]


@BOTH
def test_bubblewrap(cells, language):
    here = cells(capsule=capsule(*BWRAP), eval={"inactivity_s": 1})
    ask = {"python": "import os; os.getpid()", "javascript": "process.pid"}[language]
    result = here.ok(ask, language)
    assert "in the capsule" in result.text
    assert int(result.data["value"]) < 100
    loop = {"python": "while True: pass", "javascript": "while (true) {}"}[language]
    assert "interrupted, state kept" in here.error(loop, language).text


def test_the_workspace_has_another_name_inside(cells, project):
    (project / "a.txt").write_text("here")
    prefix = ["bwrap", "--dev-bind", "/", "/", "--bind", str(project), "/mnt", "--chdir", "{cwd}"]
    here = cells(capsule=capsule(*prefix, workspace="/mnt"))
    assert here.value("import os; os.getcwd(), open('a.txt').read()") == repr(("/mnt", "here"))


def test_nsenter(cells, werkbank):
    holder = subprocess.Popen(
        [
            "unshare",
            "--uts",
            "--mount",
            "sh",
            "-c",
            "hostname inside && echo ready && exec sleep 600",
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == b"ready\n"
        prefix = ["nsenter", "-t", str(holder.pid), "--uts", "--mount", "--wd={cwd}"]
        here = cells(capsule=capsule(*prefix, probe=["test", "-d", f"/proc/{holder.pid}"]))
        assert here.value("import socket; socket.gethostname()") == "'inside'"
        holder.kill()
        holder.wait()
        assert here.value("socket.gethostname()") == "'inside'"
        assert "does not answer" in here.error("1", reset=True).text
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


@pytest.fixture
def engine(werkbank, tmp_path):
    """An exec prefix whose programs are not of our tree, as a container's are not."""
    program = [sys.executable, str(E2E.parent / "peers" / "scripted_engine.py")]
    path = str(tmp_path / "engine")
    server = subprocess.Popen([*program, "serve", path], stdout=subprocess.PIPE, env=werkbank.env)
    try:
        assert server.stdout.readline() == b"ready\n"
        yield [*program, "exec", path]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


DEAF = """\
import signal
print("before", flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: pass
"""


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@BOTH
def test_a_container_engine(cells, engine, language):
    here = cells(capsule=capsule(*engine), eval={"inactivity_s": 1})
    ask = {"python": "import os; os.environ['TERM']", "javascript": "process.env.TERM"}[language]
    assert here.value(ask, language) == "'dumb'"
    loop = {"python": "while True: pass", "javascript": "while (true) {}"}[language]
    assert "interrupted, state kept" in here.error(loop, language).text


def test_what_ignores_the_interrupt_is_killed_wherever_it_runs(cells, engine):
    places = {"host": None, "bubblewrap": BWRAP, "engine": engine}
    open_cells, pids = {}, {}
    for place, prefix in places.items():
        more = {} if prefix is None else {"capsule": capsule(*prefix)}
        open_cells[place] = cells(eval={"inactivity_s": 1}, **more)
        pids[place] = int(open_cells[place].value("x = 7; import os; os.getpid()"))
    for here in open_cells.values():
        here.session.send("eval", {"code": DEAF, "description": "a test"})
    for place, here in open_cells.items():
        result = here.session.receive()
        assert result.is_error and "[killed, state lost: " in result.text, (place, result)
        assert result.data["state"] == "lost" and result.data["output"] == "before\n"
        result = here.error("x")
        assert "NameError" in result.text and "fresh" in result.text
        if place != "bubblewrap":  # whose numbers are others
            wait_until(lambda: not alive(pids[place]), what="the end of the process inside")


def test_the_hosts_end_reaches_into_a_container(cells, engine, project):
    here = cells(capsule=capsule(*engine))
    pid = int(here.value("import os; os.getpid()"))
    deaf = DEAF.replace("while", f"open({str(project / 'began')!r}, 'w').close()\nwhile")
    here.session.send("eval", {"code": deaf, "description": "x"})
    wait_until((project / "began").exists)
    here.session.kill()
    wait_until(lambda: not alive(pid), what="the end of the process inside")


def test_a_death_inside_is_told(cells, engine):
    here = cells(capsule=capsule(*engine))
    result = here.error("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert "exited with status 137 (of the capsule's command: signal 9 inside)" in result.text


# --- nothing is left ---


STAYS = """\
import os, subprocess, time
subprocess.Popen(["setsid", "sleep", "300"])
subprocess.Popen("trap '' TERM HUP INT; sleep 300 & sleep 300", shell=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
"""


def test_fifty_kills_of_the_host(werkbank, project):
    rng = random.Random(int(os.environ.get("WERKBANK_TEST_SEED", "20261201")))
    for number in range(0, 50, 5):
        hosts = [Cells(werkbank.session(project, "--allow", "exec")) for _ in range(5)]
        for here in hosts[:2]:
            here.session.send("eval", {"code": STAYS, "description": "x"})
        for here in hosts[:2]:
            assert not here.session.receive().is_error
        for here in hosts[:4]:
            here.session.send("eval", {"code": "while True: pass", "description": "x"})
        loop = {"code": "while (true) {}", "language": "javascript", "description": "x"}
        hosts[4].session.send("eval", loop)
        rng.shuffle(hosts)
        for here in hosts:
            time.sleep(rng.uniform(0, 0.15))
            here.session.kill()
        left = survivors(werkbank.test_id, 5)
        assert not left, (number, left)


def test_the_end_of_a_session_ends_its_kernels(cells, werkbank):
    here = cells()
    here.ok(STAYS)
    here.ok("1", "javascript")
    here.session.close()
    assert not survivors(werkbank.test_id, 3)


def test_a_reset_ends_what_the_kernel_started(cells, werkbank):
    here = cells()
    here.ok(STAYS)
    here.ok("1", reset=True)
    wait_until(lambda: len(list(children(here.session.pid))) == 1, what="the end of the children")
