"""`eval` from the host's side: what a result says, interpreters chosen, output, pictures, the bridge.
What ends cells and interpreters is in test_eval_ends.py, what the languages do in tests/kernel."""

import base64
import os
import pathlib
import stat
import subprocess
import sys
import time

import pytest

from harness.cells import BOTH, Cells, write_script
from harness.processes import wait_until
from harness.projects import C

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root


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
    here = cells(eval={"python": str(script), "start_timeout_s": 1})
    assert "did not come up in time" in here.error("1").text


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


def test_background_output_is_told_with_the_next_result(cells, project):
    here = cells()
    late = "print('from behind', flush=True), open('printed', 'w').close()"
    here.ok(f"import threading; threading.Timer(0.2, lambda: ({late})).start()")
    wait_until((project / "printed").exists)
    time.sleep(0.2)
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


def test_a_call_after_its_cell_is_refused(cells, project):
    here = cells()
    here.ok(
        """\
        import os, threading, time
        seen = []
        def late():
            while not os.path.exists("go"):
                time.sleep(0.02)
            try:
                tool("glob", {"pattern": "*"})
            except Exception as error:
                seen.append(str(error))
            open("gone", "w").close()
        threading.Thread(target=late).start()
        """
    )
    (project / "go").touch()
    wait_until((project / "gone").exists)
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
