"""`eval` from the host's side: interpreters chosen, kept and lost, what ends a cell, the bridge, the
capsule, and what is left behind (nothing). What the languages do is in test_eval_python.py and
test_eval_javascript.py."""

import base64
import json
import os
import pathlib
import random
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from harness.processes import descriptors, survivors, wait_until
from harness.program import E2E
from harness.projects import C

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class Cells:
    """A session of which only `eval` is of interest."""

    def __init__(self, session):
        self.session = session

    def call(self, code, language="python", **more):
        code = textwrap.dedent(code)
        return self.session.call("eval", code=code, description="a test", language=language, **more)

    def ok(self, code, language="python", **more):
        result = self.call(code, language, **more)
        assert not result.is_error, result
        return result

    def value(self, code, language="python", **more):
        return self.ok(code, language, **more).data["value"]

    def error(self, code, language="python", **more):
        result = self.call(code, language, **more)
        assert result.is_error, result
        return result


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def cells(werkbank, project, tmp_path):
    """Opens sessions; keyword arguments are the configuration."""

    def start(root=project, env=None, **config):
        file = tmp_path / f"config-{random.random()}.json"
        file.write_text(json.dumps(config))
        options = ("--allow", "exec", "--config", file)
        return Cells(werkbank.session(root, *options, env=env))

    return start


ANSWER = {"python": "40 + 2", "javascript": "40 + 2"}
BOTH = pytest.mark.parametrize("language", ["python", "javascript"])


# --- what a result says ---


@BOTH
def test_value_output_state(cells, language):
    here = cells()
    say = {"python": "print('said')", "javascript": "console.log('said')"}[language]
    result = here.ok(f"{say}\n40 + 2", language)
    assert result.text.startswith(f"[fresh {language} ")
    assert result.text.endswith("said\n42\n")
    assert result.data == {"value": "42", "output": "said\n", "state": "kept", "error": None}
    result = here.ok(say, language)
    assert result.text == "said\n"
    assert result.data["value"] is None


@BOTH
def test_an_exception_is_an_error_and_keeps_the_state(cells, language):
    here = cells()
    fail = {
        "python": "x = 5\nraise ValueError('bad')",
        "javascript": "var x = 5; throw new Error('bad')",
    }
    result = here.error(fail[language], language)
    assert "bad" in result.text
    assert result.data["state"] == "kept" and result.data["error"]["message"] == "bad"
    assert here.value("x", language) == "5"


@BOTH
def test_reset_starts_clean(cells, language):
    here = cells()
    here.ok("x = 1" if language == "python" else "var x = 1", language)
    other = "javascript" if language == "python" else "python"
    here.ok("y = 2" if other == "python" else "var y = 2", other)
    assert "fresh" in here.error("x", language, reset=True).text
    assert here.value("y", other) == "2"


def test_the_working_directory_is_told_when_it_changes(cells, project):
    here = cells()
    (project / "inner").mkdir()
    assert here.value("import os; os.getcwd()") == repr(str(project))
    result = here.ok("os.chdir('inner')")
    assert f"[the working directory is now {project}/inner]" in result.text
    assert "working directory" not in here.ok("1").text


def test_arguments(cells):
    here = cells()
    assert "description" in here.session.error("eval", code="1")
    assert "language" in here.session.error("eval", code="1", description="x", language="ruby")


def test_two_conversations_do_not_see_each_other(cells):
    first, second = cells(), cells()
    first.ok("shared = 1")
    assert "NameError" in second.error("shared").text


# --- the interpreter ---


def test_the_projects_venv_comes_first(cells, project, werkbank):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / "venv"], check=True)
    assert "the project's venv" in werkbank.run("doctor", "--workspace", project).stdout
    here = cells()
    result = here.ok("import sys, shutil; sys.prefix")
    assert "the project's venv" in result.text
    assert result.data["value"] == repr(f"{project}/venv")
    assert here.value("shutil.which('python')") == repr(f"{project}/venv/bin/python")


def test_virtual_env_comes_before_path(cells, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    here = cells(env={"VIRTUAL_ENV": str(tmp_path / "env")})
    result = here.ok("import sys; sys.prefix")
    assert "VIRTUAL_ENV" in result.text and result.data["value"] == repr(f"{tmp_path}/env")


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path


def test_a_version_managers_script_is_asked_once(cells, tmp_path):
    asked = tmp_path / "asked"
    script = write_script(
        tmp_path / "shims" / "python3",
        f"""\
        #!/bin/sh
        echo x >> {asked}
        exec /usr/bin/python3 "$@"
        """,
    )
    here = cells(env={"PATH": f"{script.parent}:{os.environ['PATH']}"})
    assert str(script) in here.ok("1").text
    here.ok("1", reset=True)
    assert asked.read_text() == "x\n"


def test_no_interpreter(cells, tmp_path):
    (tmp_path / "empty").mkdir()
    here = cells(env={"PATH": str(tmp_path / "empty")})
    assert "install Python" in here.error("1").text
    assert "install Node.js" in here.error("1", "javascript").text


def test_an_old_interpreter_is_refused(cells, tmp_path):
    text = "#!/bin/sh\nexec /usr/bin/python3 -c 'import sys; sys.exit(\"too old\")'\n"
    script = write_script(tmp_path / "python3", text)
    assert "too old" in cells(eval={"python": str(script)}).error("1").text


def test_a_start_that_hangs(cells, tmp_path):
    script = write_script(tmp_path / "python3", "#!/bin/sh\nsleep 300\n")
    here = cells(eval={"python": str(script), "start_timeout_s": 2})
    assert "did not come up in time" in here.error("1").text


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
    assert "[the earlier interpreter exited with status 9" in here.ok("1").text


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
    assert "[the earlier interpreter exited with status 9" in here.ok("1").text


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


def test_what_ignores_the_interrupt_is_killed(cells):
    here = cells(eval={"inactivity_s": 1})
    here.ok("x = 7")
    begin = time.monotonic()
    result = here.error(
        """\
        import signal
        print("before", flush=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True: pass
        """
    )
    assert time.monotonic() - begin > 5
    assert "before" in result.text and "[killed, state lost: " in result.text
    assert result.data["state"] == "lost"
    result = here.error("x")
    assert "NameError" in result.text and "fresh" in result.text


def test_output_resets_the_budget(cells):
    here = cells(eval={"inactivity_s": 2})
    here.ok("import time\nfor i in range(12):\n    print(i)\n    time.sleep(0.4)")


def test_a_limit_of_the_whole_cell(cells):
    here = cells(eval={"limit_s": 1})
    result = here.error("import time\nwhile True:\n    print('.')\n    time.sleep(0.05)")
    assert "interrupted, state kept" in result.text and "eval.limit_s" in result.text


@BOTH
def test_a_bridged_call_suspends_the_budget(cells, language):
    here = cells(eval={"inactivity_s": 1})
    call = {
        "python": "tool('shell', {'command': 'sleep 3; echo slept'})['output']",
        "javascript": "(await tool('shell', {command: 'sleep 3; echo slept'})).output",
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

    other = post(
        code="var x = 3; await new Promise((go) => setTimeout(go, 3000)); x", language="javascript"
    )
    running = post(code="open('began', 'w').close()\nwhile True: pass")
    wait_until((project / "began").exists)
    fresh = client.wait(post(reset=True))
    assert "[fresh python " in fresh["content"][0]["text"] and not fresh["isError"]
    ended = client.wait(running)
    assert ended["isError"] and "by a reset" in ended["content"][0]["text"]
    assert client.wait(other)["structuredContent"]["value"] == "3"


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


# --- output ---


def test_a_hundred_megabytes(cells):
    result = cells().ok("for i in range(100): print(f'{i:03}' + 'x' * (1 << 20))\nprint('end')")
    assert len(result.text) < 64 << 10
    assert "\n000xx" in result.text and result.text.endswith("xx\nend\n")
    assert "bytes of output left out" in result.text
    spill = pathlib.Path(result.text.partition("as it came, is in ")[2].partition(" ...]")[0])
    assert spill.stat().st_size == 100 * ((1 << 20) + 4) + 4
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600
    spill.unlink()


def test_children_are_captured_in_order(cells):
    code = """\
        import os
        print("1")
        os.system("echo 2; echo 3 >&2")
        print("4", flush=True)
        os.write(1, b"5\\n");
        """
    assert cells().ok(code).data["output"] == "1\n2\n3\n4\n5\n"


def test_binary_output(cells):
    result = cells().ok(
        r"import os; os.write(1, b'\xff\x00\xfe\x1e\x1eWB\n'); os.write(2, '\u00e4'.encode());"
    )
    assert result.data["output"].startswith("\ufffd\x00\ufffd\x1e\x1eWB\n")
    assert result.data["output"].endswith("\u00e4")


def test_progress_is_folded(cells):
    code = "for i in range(10000): print(f'\\r{i} of 10000', end='')\nprint()"
    assert cells().ok(code).data["output"] == "9999 of 10000\n"


def test_background_output_is_told_with_the_next_result(cells):
    here = cells()
    here.ok("import threading; threading.Timer(0.3, lambda: print('from behind')).start()")
    time.sleep(1)
    result = here.ok("print('mine')")
    assert result.data["output"] == "mine\n"
    assert "[background output since the cell before:]\nfrom behind\n" in result.text
    assert "behind" not in here.ok("1").text


def test_code_that_holds_the_lock_may_print(cells):
    code = """\
        import ctypes
        libc = ctypes.PyDLL(None)
        data = b"x" * (2 << 20)
        libc.write(1, data, len(data))
        """
    assert int(cells().value(code)) > 0


# --- pictures ---


PICTURE = f"""\
class Picture:
    def _repr_png_(self):
        return {PNG!r}
Picture()
"""


def test_pictures(cells, serve, project):
    result = cells().ok(PICTURE)
    assert "[picture 1, image/png" in result.text
    (attachment,) = result.attachments
    assert attachment["mime"] == "image/png"
    assert pathlib.Path(attachment["path"]).read_bytes() == PNG
    arguments = {"code": PICTURE, "description": "a picture"}
    client = serve(project, "--allow", "exec")
    answer = client.wait(client.post("tools/call", {"name": "eval", "arguments": arguments})[1])
    assert answer["content"][1] == {
        "type": "image",
        "data": base64.b64encode(PNG).decode(),
        "mimeType": "image/png",
    }


def test_other_forms_are_kept_in_the_transcript(cells, werkbank):
    code = """\
        class Table:
            def __repr__(self): return "plain"
            def _repr_html_(self): return "<table>"
            def _repr_markdown_(self): return "| marked |"
        Table()
        """
    result = cells().ok(code)
    assert "| marked |" in result.text and "<table>" not in result.text
    assert result.data["value"] == "plain"
    (event,) = [event for event in werkbank.transcripts() if event["kind"] == "display"]
    assert event["forms"]["text/html"] == "<table>"


def test_text_and_displays_in_their_order(cells):
    code = "print('one')\ndisplay('two')\nprint('three')\ndisplay('four')\nprint('five')"
    text = cells().ok(code).text
    places = [text.index(word) for word in ("one", "two", "three", "four", "five")]
    assert places == sorted(places)


# --- the bridge ---


@BOTH
def test_a_call_gives_the_data(cells, project, language):
    (project / "a.txt").write_text("content\n")
    call = {
        "python": "tool('read', {'path': 'a.txt'})",
        "javascript": "await tool('read', {path: 'a.txt'})",
    }[language]
    assert cells().value(call, language) == repr("content\n")


def test_a_bridged_write_shows_its_diagnostics(werkbank, tmp_path):
    project = C.build(tmp_path / "c")
    here = Cells(werkbank.session(project.root, "--allow", "exec"))
    code = """\
        done = tool("write", {"path": "broken.c", "content": "int main(void) { return x; }\\n"})
        print([it["message"] for it in done["diagnostics"]["diagnostics"]])
        """
    assert "undeclared identifier" in here.ok(code).data["output"]


@BOTH
def test_refusals_are_exceptions(cells, language):
    here = cells()
    outside = {
        "python": "tool('read', {'path': '/etc/hostname'})",
        "javascript": "await tool('read', {path: '/etc/hostname'})",
    }[language]
    assert "needs an approval" in here.error(outside, language).text
    unknown = {"python": "tool('raed', {})", "javascript": "await tool('raed', {})"}[language]
    assert "did you mean `read`" in here.error(unknown, language).text
    nested = {
        "python": "tool('eval', {'code': '1', 'description': 'x'})",
        "javascript": "await tool('eval', {code: '1', description: 'x'})",
    }[language]
    assert "would wait for itself" in here.error(nested, language).text
    caught = {
        "python": "try:\n    tool('raed', {})\nexcept Exception as e:\n    kind = e.kind\nkind",
        "javascript": "try { await tool('raed', {}) } catch (e) { globalThis.kind = e.kind }\nkind",
    }[language]
    assert here.value(caught, language) == "'not_found'"


def test_plan_mode_has_no_eval(werkbank, project):
    tools = werkbank.run("tools", "--workspace", project, "--cap", "read").stdout
    assert "eval" not in tools.split()
    assert "eval" in werkbank.run("tools", "--workspace", project).stdout


def test_many_calls_at_once(cells, project):
    code = """\
        from concurrent.futures import ThreadPoolExecutor
        def one(i):
            tool("write", {"path": f"f{i}.txt", "content": str(i)})
            return tool("read", {"path": f"f{i}.txt"})
        with ThreadPoolExecutor(100) as pool:
            found = list(pool.map(one, range(200)))
        found == [str(i) for i in range(200)]
        """
    assert cells().value(code) == "True"
    assert (project / "f199.txt").read_text() == "199"


def test_a_call_after_its_cell_is_refused(cells):
    here = cells()
    here.ok(
        """\
        import threading, time
        seen = []
        def late():
            time.sleep(0.5)
            try:
                tool("glob", {"pattern": "*"})
            except Exception as error:
                seen.append(str(error))
        threading.Thread(target=late).start()
        """
    )
    time.sleep(1.5)
    assert "no cell is running" in here.value("seen")


def test_calls_are_recorded_with_their_origin(cells, werkbank):
    cells().ok("tool('glob', {'pattern': '*'});")
    origins = {
        (event["tool"], event["origin"])
        for event in werkbank.transcripts()
        if event["kind"] == "call"
    }
    assert ("glob", "bridge") in origins and ("eval", "operator") in origins


def test_a_large_result(cells, project):
    (project / "large.txt").write_text("0123456789abcde\n" * (12 << 16))
    assert cells().value("len(tool('read', {'path': 'large.txt'}))") == str(12 << 20)
    (project / "large.txt").write_text("0123456789abcde\n" * (20 << 16))
    assert "ask for less" in cells().error("len(tool('read', {'path': 'large.txt'}))").text


# --- environment ---


def test_secrets_and_descriptors_are_not_inherited(cells):
    env = {"MY_API_KEY": "1", "github_token": "2", "PLAIN": "3", "WERKBANK_OTHER": "4"}
    ask = "import os; [n for n in ('MY_API_KEY', 'github_token', 'PLAIN', 'WERKBANK_OTHER') if n in os.environ]"
    assert cells(env=env).value(ask) == "['PLAIN', 'WERKBANK_OTHER']"
    assert "MY_API_KEY" in cells(env=env, eval={"secret_names": ["OTHER"]}).value(ask)
    ask = "import os; sorted(int(n) for n in os.listdir('/proc/self/fd') if int(n) < 100)"
    assert cells().value(ask) == "[0, 1, 2, 3]"  # 3: the listing itself


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
    here = cells(capsule=capsule(*BWRAP), eval={"inactivity_s": 2})
    ask = {"python": "import os; os.getpid()", "javascript": "process.pid"}[language]
    result = here.ok(ask, language)
    assert "in the capsule" in result.text
    assert int(result.data["value"]) < 100
    loop = {"python": "while True: pass", "javascript": "while (true) {}"}[language]
    assert "interrupted, state kept" in here.error(loop, language).text
    if language == "python":
        deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
        assert "killed, state lost" in here.error(deaf).text


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


def test_what_a_container_engine_holds_is_killed_inside(cells, engine):
    here = cells(capsule=capsule(*engine), eval={"inactivity_s": 1})
    pid = int(here.value("import os; os.getpid()"))
    assert "killed, state lost" in here.error(DEAF).text
    wait_until(lambda: not alive(pid), what="the end of the process inside")


def test_the_hosts_end_reaches_into_a_container(cells, engine):
    here = cells(capsule=capsule(*engine))
    pid = int(here.value("import os; os.getpid()"))
    here.session.send("eval", {"code": DEAF, "description": "x"})
    time.sleep(0.5)
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
    for number in range(50):
        session = werkbank.session(project, "--allow", "exec")
        language = "javascript" if number % 5 == 4 else "python"
        here = Cells(session)
        if language == "python" and number % 2 == 0:
            here.ok(STAYS)
        loop = "while (true) {}" if language == "javascript" else "while True: pass"
        session.send("eval", {"code": loop, "description": "x", "language": language})
        time.sleep(rng.uniform(0, 0.4))
        session.kill()
        left = survivors(werkbank.test_id, 3)
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
