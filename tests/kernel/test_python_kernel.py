"""kernel.py: what its cells may do, and what they get (kernel/frame.h is the protocol)."""

import os
import signal
import textwrap
import time

import pytest

from driver import Kernel

# --- the value of a cell ---

VALUES = {
    # code: the value shown, None: nothing
    "1 + 1": "2",
    "x = 1": None,
    "x = 1; x": "1",
    "None": None,
    "...": "Ellipsis",
    "": None,
    "# only a comment": None,
    "\n\n": None,
    "'docstring only'": "'docstring only'",
    "5;": None,
    "5 ;": None,
    "5;  # why": None,
    "5 # c;": "5",
    "5 # c;\n": "5",
    "'a;'": "'a;'",
    "f'{1}' ;  # note": None,
    "'äöü€𝄞';": None,
    "'äöü€𝄞'": "'äöü€𝄞'",
    "x = 'ä'; x": "'ä'",
    "(1,\n 2)": "(1, 2)",
    "(1,\n 2);": None,
    "(1\n)\n;": SyntaxError,
    "[1,  # one;\n 2]": "[1, 2]",
    "5\n# a comment;\n": "5",
    "5\n\n\n": "5",
    "if True: 5": None,
    "for i in range(3): i": None,
    "x: int": None,
    "x: int = 3\nx": "3",
    "def f(): return 1": None,
    "def f():\n    return 1\nf()": "1",
    "import functools\n@functools.cache\ndef f(): return 7\nf()": "7",
    "lambda: 1;": None,
    "    x = 1\n    x": "1",
    "\tx = 2\n\tx": "2",
    "\ufeffx = 3\nx": "3",
    "x = 4\r\nx\r\n": "4",
    "x = 4\rx": "4",
    "1 if True else 0": "1",
    "print('a') or 5": "5",
    "1, 2": "(1, 2)",
    "x = y = 3": None,
    "(y := 6)": "6",
    "assert True": None,
    '"""\n    kept\n"""': "'\\n    kept\\n'",
    "    x = '''a\n  b'''\n    x": "'a\\n  b'",
    "float('nan')": "nan",
    "[float('inf')]": "[inf]",
    "'\\ud800'": "'\\ud800'",
    "b'\\xff'": "b'\\xff'",
    "print('x', end='')\n7": "7",
    "from math import pi; pi;": None,
}


def test_values(python):
    for code, value in VALUES.items():
        outcome = python.run(code)
        if isinstance(value, type):
            assert outcome.error["name"] == value.__name__, code
        else:
            assert outcome.status == "ok" and outcome.value == value, (code, outcome)


def test_the_last_value_has_a_name(python):
    python.ok("40")
    assert python.value("_ + 2") == "42"
    python.ok("print('nothing')")
    assert python.value("_") == "42"


def test_future_imports_stay(python):
    python.ok("from __future__ import annotations")
    assert python.value("def f(x: undefined): pass\nf.__annotations__") == "{'x': 'undefined'}"


def test_state_survives_an_error(python):
    assert python.error("x = 1\n1 / 0")["name"] == "ZeroDivisionError"
    assert python.value("x") == "1"


# --- errors ---


def test_a_traceback_shows_the_cell(python):
    python.ok("def f(n):\n    return 1 / n")
    error = python.error("x = 0\nf(x)")
    assert error["message"] == "division by zero"
    trace = error["traceback"]
    assert "<cell 1>" in trace and "return 1 / n" in trace
    assert "<cell 2>" in trace and "f(x)" in trace
    assert "werkbank" not in trace


def test_a_traceback_of_a_cell_that_awaits(python):
    python.ok("import asyncio\nasync def f(n):\n    return 1 / n")
    for code in ("await f(0)", "await asyncio.gather(f(0))"):
        trace = python.error(code)["traceback"]
        assert "return 1 / n" in trace and "run_until_complete" not in trace, trace
    # Its own loop is the cell's affair.
    trace = python.error("asyncio.new_event_loop().run_until_complete(f(0))")["traceback"]
    assert "return 1 / n" in trace and "run_until_complete" in trace


def test_chains_of_errors(python):
    code = """\
        try:
            1 / 0
        except Exception as e:
            raise KeyError("second") from e
        """
    trace = python.error(code)["traceback"]
    assert trace.index("ZeroDivisionError") < trace.index("direct cause") < trace.index("second")


def test_a_syntax_error_points(python):
    error = python.error("x = (1,\ny = 2")
    assert error["name"] == "SyntaxError" and "^" in error["traceback"]


@pytest.mark.parametrize(
    "code, name, part",
    [
        ("import sys; sys.exit(3)", "SystemExit", "3: the cell asked to exit; the kernel goes on"),
        ("exit()", "SystemExit", "goes on"),
        ("raise SystemExit", "SystemExit", "goes on"),
        ("raise KeyboardInterrupt", None, ""),
        ("raise GeneratorExit", "GeneratorExit", ""),
        ("def f(): f()\nf()", "RecursionError", "recursion"),
        (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "E",
            "cannot be shown",
        ),
        ("raise ValueError('\\ud800')", "ValueError", "?"),
        ("class E(Exception): __module__ = 5\nraise E('odd')", "E", "odd"),
        (
            "import sys\nif sys.version_info < (3, 11):\n    class ExceptionGroup(Exception): pass\n"
            + "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])",
            "ExceptionGroup",
            "several",
        ),
        ("e = ValueError(); e.__cause__ = e; raise e", "ValueError", ""),
        ("x = 10 ** 5000; str(x)", "ValueError", "limit"),
        ("raise 5", "TypeError", "exceptions must derive"),
        ("import nosuchmodule", "ModuleNotFoundError", "nosuchmodule"),
        ("return 5", "SyntaxError", "outside function"),
    ],
)
def test_errors(python, code, name, part):
    outcome = python.run(code)
    if name is None:
        assert outcome.status == "interrupted"
    else:
        assert outcome.status == "error" and outcome.error["name"] == name, outcome
        assert part in outcome.error["message"]
    assert python.value("1 + 1") == "2"


def test_no_input(python):
    for code in (
        "input('name? ')",
        "import sys; sys.stdin.readline()",
        "import sys; next(sys.stdin)",
    ):
        assert python.error(code)["name"] == "EOFError"
    assert "ask_user" in python.error("input()")["message"]
    assert python.value("import os; os.read(0, 10)") == "b''"
    assert python.value("import subprocess; subprocess.run('cat').returncode") == "0"
    assert python.error("import getpass; getpass.getpass()")["name"] == "EOFError"


def test_breakpoint_names_the_debugger(python):
    assert "tool debug" in python.error("breakpoint()")["message"]
    assert python.run("import pdb; pdb.set_trace()").status == "error"
    assert python.value("1") == "1"


# --- representations ---

BROKEN = {
    "def __repr__(self): raise ValueError": "<C whose repr fails: ValueError>",
    "def __repr__(self): return repr(self)": "<C whose repr fails: RecursionError>",
    "def __repr__(self): return 5": "<C whose repr fails: TypeError>",
    "def __repr__(self): import sys; sys.exit(1)": "<C whose repr fails: SystemExit>",
    "def __getattr__(self, name): raise ValueError": None,
    "def __getattr__(self, name): return self": None,
    "def __getattr__(self, name): return lambda *a: 5": None,
    "def _repr_html_(self): raise ValueError": None,
    "def _repr_html_(self): return '\\ud800'": None,
    "def _repr_png_(self): return 'no base 64'": None,
    "def _repr_png_(self): return 5": None,
    "def _repr_html_(self): return object()": None,
    "def _repr_json_(self): return {'a': float('nan')}": None,
    "def _repr_json_(self): return {1: 2}": None,
    "def _repr_mimebundle_(self, **k): return {5: 5}": None,
    "def _repr_mimebundle_(self, **k): return {'text/plain': None}": None,
    "__class__ = property(lambda self: 1 / 0)": None,
}


@pytest.mark.parametrize("body", BROKEN)
def test_broken_representations(python, body):
    outcome = python.run(f"class C:\n    {body}\nC()")
    assert outcome.status == "ok", outcome
    if BROKEN[body] is not None:
        assert outcome.value == BROKEN[body]
    python.ok("display(C())\n_ = [C()]")
    assert python.value("1") == "1"


def test_a_huge_integer(python):
    assert "whose repr fails: ValueError" in python.value("10 ** 5000")
    assert python.run("[10 ** 5000]").status == "ok"


def test_a_huge_value_is_cut(python):
    outcome = python.ok("list(range(3_000_000))")
    assert len(outcome.value) < (1 << 20) + 100 and "characters left out]" in outcome.value
    outcome = python.ok("'x' * 20_000_000")
    assert len(outcome.value) < (1 << 20) + 100


def test_a_slow_representation_is_interrupted(python):
    code = """\
        import time
        class C:
            def __repr__(self):
                print("ready")
                time.sleep(60)
        C()
        """
    python.interrupted(code)


def test_containers_are_laid_out(python):
    text = python.value("{f'key{i}': 'x' * 30 for i in range(5)}")
    assert text.count("\n") == 4


def test_forms_and_blobs(python):
    code = """\
        class C:
            def __repr__(self): return "plain"
            def _repr_html_(self): return "<b>", {"meta": 1}
            def _repr_png_(self): return "iVBORw0KGgo="
            def _repr_jpeg_(self): return b"\\xff\\xd8\\xff"
            def _repr_json_(self): return {"a": [1, None, True, 2.5, "ä"]}
        C()
        """
    result = python.ok(code).result
    assert result.mimes["text/plain"] == "plain" and result.mimes["text/html"] == "<b>"
    assert result.mimes["application/json"] == '{"a":[1,null,true,2.5,"\\u00e4"]}'
    assert result.blobs["image/png"] == b"\x89PNG\r\n\x1a\n"
    assert result.blobs["image/jpeg"] == b"\xff\xd8\xff"


def test_a_large_blob_comes_in_parts(python):
    code = "class C:\n    def _repr_png_(self): return b'p' * 20_000_000\nC()"
    assert python.ok(code).result.blobs["image/png"] == b"p" * 20_000_000


def test_displays_in_order(python):
    outcome = python.ok("for i in range(3):\n    print(i)\n    display(i)")
    assert outcome.story == "0\n[display]1\n[display]2\n[display]"
    assert [it.text for it in outcome.displays] == ["0", "1", "2"]


def test_updates_and_clearing(python):
    code = """\
        handle = display("first", display_id=True)
        handle.update("second")
        update_display("third", display_id=handle.display_id)
        clear_output()
        """
    first, second, third, clear = python.ok(code).displays
    assert first.id == second.id == third.id and not first.update
    assert second.update and third.update and clear.clear


def test_the_display_module_without_ipython(python):
    code = """\
        from IPython.display import display, HTML, Markdown, Image, clear_output
        display(HTML("<i>"), Markdown("*a*"))
        Image(data=b"\\x89PNG")
        """
    outcome = python.ok(code)
    assert outcome.displays[0].mimes["text/html"] == "<i>"
    assert outcome.displays[1].mimes["text/markdown"] == "*a*"
    assert outcome.result.blobs["image/png"] == b"\x89PNG"


# --- output ---


def test_children_and_descriptors_keep_their_order(python):
    code = """\
        import os, subprocess, sys
        print("1")
        os.system("echo 2")
        print("3", file=sys.stderr)
        subprocess.run(["sh", "-c", "echo 4; echo 5 >&2"])
        print("6")
        sys.stdout.flush()
        os.write(1, b"7\\n")
        os.write(2, b"8\\n")
        sys.stdout.buffer.write(b"9\\n")
        print("10");
        os.posix_spawn("/bin/echo", ["echo", "11"], {})
        os.wait()
        print("12")
        import ctypes
        sys.stdout.flush()
        ctypes.CDLL(None).write(1, b"13\\n", 3);
        """
    assert python.text(code).split() == [str(i) for i in range(1, 14)]


def test_what_c_code_buffers_comes_with_its_cell(python):
    code = """\
        import ctypes, os
        libc = ctypes.CDLL(None)
        libc.printf(b"1\\n")
        print("2")
        os.system("echo 3")
        libc.printf(b"4\\n");
        """
    assert sorted(python.ok(code).text.split()) == ["1", "2", "3", "4"]


def test_threads_print(python):
    code = """\
        import threading, time
        def work():
            print("during")
            go.wait()
            print("after")
        go = threading.Event()
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)
        """
    assert python.text(code) == "during\n"
    python.ok("threading.Timer(0.2, go.set).start()")
    python.background("after\n")
    outcome = python.ok("print('mine')")
    assert outcome.background == "after\n" and outcome.text == "mine\n"


def test_a_thread_displays_after_its_cell(python):
    python.ok("import threading; threading.Timer(0.2, lambda: display('late')).start()")
    python.background("'late'\n")
    assert python.ok("1").displays == []


@pytest.mark.parametrize(
    "code",
    [
        "import sys, io; sys.stdout = io.StringIO()",
        "import sys; sys.stdout = None",
        "import sys; sys.stdout = sys.stderr = object()",
        "import sys; sys.stdout.close()",
        "import sys; sys.stderr.close(); sys.__stdout__.close()",
        "import sys; sys.stdout.buffer.close()",
        "import sys; sys.stdout.detach()",
        "import os; os.close(1)",
        "import os; os.close(0); os.close(1)",
        "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1);",
        "import sys; sys.stdout = open('/dev/full', 'w'); print('x')",
        "import sys\nclass S:\n    def write(self, s): raise ValueError\n    def flush(self): raise ValueError\n"
        "sys.stdout = S()",
    ],
)
def test_what_a_cell_does_to_standard_output(python, code):
    """The next cells still have values, displays and an end; a mark is never lost."""
    python.run(code)
    assert python.value("40 + 2") == "42"
    assert [it.text for it in python.ok("display(1)").displays] == ["1"]
    python.run("import sys; sys.stdout = sys.__stdout__; sys.stderr = sys.__stderr__")
    assert python.error("1 / 0")["name"] == "ZeroDivisionError"


def test_a_closed_stream_prints_again_in_the_next_cell(python):
    python.ok("import sys; sys.stdout.close()")
    assert python.text("print('there')") == "there\n"


def test_surrogates_and_binary_are_printed(python):
    assert python.text("print('a\\ud800b')") == "a\\ud800b\n"
    assert (
        python.text("import sys; sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush();")
        == "\ufffd\n"
    )


def test_a_child_leaves_the_stream_non_blocking(python):
    code = """\
        import os
        os.set_blocking(2, False)
        for i in range(300): print("x" * 10000)
        os.set_blocking(2, True)
        print("end")
        """
    text = python.text(code)
    assert len(text) == 300 * 10001 + 4 and text.endswith("end\n")


def test_output_comes_while_any_cell_runs(python):
    """Also when both threads woke for it."""
    python.ok("import time")
    for i in range(300):
        python.begin(
            f"print('soon {i}')\nwhile not go: time.sleep(0.001)" if i % 30 == 29 else "go = False"
        )
        if i % 30 == 29:
            python.printed(f"soon {i}", seconds=10)
            python.interrupt()
        python.finish()


def test_output_comes_while_a_cell_runs(python):
    python.begin("import time\nprint('soon')\ntime.sleep(30)")
    python.printed("soon", seconds=10)
    python.interrupt()
    assert python.finish().status == "interrupted"


def test_code_that_holds_the_lock_prints(python):
    code = """\
        import ctypes
        data = b"x" * (4 << 20)
        ctypes.PyDLL(None).write(1, data, len(data));
        """
    assert len(python.text(code)) > 60000


# --- interrupts ---

LOOPS = {
    "pass": "while True: pass",
    "sleep": "import time; time.sleep(100)",
    "sleeps": "import time\nwhile True: time.sleep(0.01)",
    "event": "import threading; threading.Event().wait()",
    "lock": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
    "read": "import os; os.read(os.pipe()[0], 1)",
    "queue": "import queue; queue.Queue().get()",
    "child": "import subprocess; subprocess.run(['sleep', '100'])",
    "system": "import os; os.system('sleep 100')",
    "shell": "!sleep 100",
    "bash": None,
    "select": "import select; select.select([], [], [])",
    "socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "join": "import threading; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start(); t.join()",
    "await": "import asyncio; await asyncio.sleep(100)",
    "never": "import asyncio; await asyncio.Future()",
    "asyncio.run": "import asyncio; asyncio.run(asyncio.sleep(100))",
    "tool": "tool('slow')",
    "atool": "await atool('slow')",
    "pool": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(4) as p: list(p.map(lambda i: tool('slow', i=i), range(4)))",
    "finally": "import time\ntry:\n    time.sleep(100)\nfinally: print('finally')",
    "catching": "import time\ntry:\n    time.sleep(100)\nexcept Exception: print('no')",
}


@pytest.mark.parametrize("name", LOOPS)
def test_interrupts(python, name):
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    python.ok("x = 7")
    if name == "bash":
        outcome = python.interrupted("%%bash\necho ready\nsleep 100")
    elif name == "pool":
        # The threads wait for their tools: the host answers those when it interrupts.
        python.begin("print('ready')\n" + LOOPS[name])
        python.wait_for(lambda: len(python.outcome.calls) == 4)
        for call in range(1, 5):
            python.fail(call, "cancelled", "cancelled")
        python.interrupt()
        outcome = python.finish(20)
    else:
        outcome = python.interrupted(f"print('ready')\n{LOOPS[name]}")
    assert "no" not in outcome.text.split()
    assert ("finally" in outcome.text) == (name == "finally")
    assert python.value("x") == "7"


def test_interrupts_that_come_late_do_nothing(python):
    python.ok("x = 1")
    python.interrupt()
    os.kill(python.process.pid, signal.SIGINT)
    python.begin("import time; time.sleep(0.5); x")
    python.interrupt(cell=python.cell - 1)
    outcome = python.finish()
    assert outcome.status == "ok" and outcome.value == "1"


def test_interrupts_at_every_moment(python):
    """None ends the kernel or reaches the next cell."""
    for i in range(200):
        python.begin(f"x = {i}\nfor i in range({(i % 20) * 2000}): pass\n'end'")
        python.interrupt()
        assert python.finish(20).status in ("ok", "interrupted")
    assert python.value("40 + 2") == "42"


def test_interrupted_children_do_not_stay(python):
    python.interrupted("import subprocess\nprint('ready')\nsubprocess.run(['sleep', '12345'])")
    assert python.value(
        "subprocess.run(['pgrep', '-g', str(__import__('os').getpid())], capture_output=True)"
        ".stdout.decode().split() == [str(__import__('os').getpid())]"
    ) in ("True", "False")
    assert python.value("subprocess.getoutput('pgrep -f \"sleep 1234[5]\"')") == "''"


def test_children_do_not_inherit_a_deaf_ear(python):
    outcome = python.text(
        "import subprocess\nsubprocess.run(['grep', 'SigIgn', '/proc/self/status']);"
    )
    assert int(outcome.split()[1], 16) & (1 << (signal.SIGINT - 1)) == 0


# --- processes ---


def test_fork(python):
    code = """\
        import os
        pid = os.fork()
        print("child" if pid == 0 else "parent")
        if pid: print(os.waitpid(pid, 0)[1])
        """
    outcome = python.ok(code)
    assert sorted(outcome.text.split()) == ["0", "child", "parent"]
    assert python.value("1") == "1"


def test_a_fork_that_fails_has_its_status(python):
    code = """\
        import os
        pid = os.fork()
        if pid == 0: raise ValueError("in the child")
        os.waitpid(pid, 0)[1] >> 8
        """
    outcome = python.ok(code)
    assert outcome.value == "1" and "ValueError: in the child" in outcome.text
    code = "import os, sys\npid = os.fork()\nif pid == 0: sys.exit(7)\nos.waitpid(pid, 0)[1] >> 8"
    assert python.value(code) == "7"


def test_a_forked_child_displays_nothing(python):
    code = """\
        pid = os.fork()
        if pid == 0:
            display("from the child")
            try: tool("x")
            except RuntimeError as error: print(error)
        else: os.waitpid(pid, 0)
        5
        """
    outcome = python.ok("import os\n" + textwrap.dedent(code))
    assert outcome.displays == [] and outcome.calls == [] and outcome.value == "5"
    assert "forked child" in outcome.text


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(python, method):
    """spawn imports __main__ anew: functions for it come from a module."""
    python.ok("%%writefile work.py\ndef double(x): return 2 * x\n")
    code = f"""\
        import multiprocessing, sys
        from work import double
        def triple(x): return 3 * x
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            found = pool.map({'triple' if method == 'fork' else 'double'}, range(5))
        found
        """
    expected = [(3 if method == "fork" else 2) * x for x in range(5)]
    assert python.value(code) == repr(expected)
    assert python.value("40 + 2") == "42"


def test_process_pool(python):
    code = """\
        from concurrent.futures import ProcessPoolExecutor
        def square(x): return x * x
        with ProcessPoolExecutor(2) as pool: found = list(pool.map(square, range(6)))
        found
        """
    assert python.value(code) == "[0, 1, 4, 9, 16, 25]"


def test_pickling(python):
    code = """\
        import pickle
        class P:
            def __init__(self, x): self.x = x
        def f(): return 5
        pickle.loads(pickle.dumps(P(3))).x, pickle.loads(pickle.dumps(f))()
        """
    assert python.value(code) == "(3, 5)"
    assert python.value("__name__") == "'__main__'"


def test_inspect_finds_the_source(python):
    python.ok("def f():\n    return 'marked'")
    assert "return 'marked'" in python.value("import inspect; inspect.getsource(f)")


def test_namespace_is_clean(python):
    assert python.value("[n for n in dir() if not n.startswith('__')]") == "[]"
    assert python.value("globals() is __import__('sys').modules['__main__'].__dict__") == "True"
    assert python.value("__import__('sys').argv") == "['']"


@pytest.mark.parametrize(
    "code",
    [
        "import builtins\ndel builtins.print, builtins.isinstance, builtins.str, builtins.len",
        "import builtins\nfor n in list(vars(builtins)):\n    if n[0] != '_': delattr(builtins, n)",
        "__builtins__ = {}",
        "del __builtins__",
        "import sys; sys.modules.clear()",
        "import os; os.write = os.read = None",
        "import sys; sys.settrace(lambda *a: 1 / 0)",
        "import sys; sys.setrecursionlimit(60)",
        "import gc; gc.disable()",
        "import os; os.environ.clear()",
        "globals().clear()",
        "print = str = len = isinstance = list = None",
        "import sys; sys.excepthook = sys.displayhook = None",
        "import sys; sys.path.clear(); sys.meta_path.clear()",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "import faulthandler; faulthandler.disable()",
        "import os; os.chdir('/')",
        "import threading; threading.settrace(None)",
        "import asyncio; asyncio.set_event_loop(None)",
        "import warnings; warnings.simplefilter('error')",
        "import time; time.sleep = None",
    ],
)
def test_hostile_cells(python, code):
    """The cell hurts itself, and the kernel goes on."""
    python.run(code)
    outcome = python.run("40 + 2")
    assert outcome.status == "ok" and outcome.value == "42", outcome
    assert python.run("1 / 0").error["name"] == "ZeroDivisionError"
    assert python.run("[1, 'x' * 200]").status == "ok"
    python.interrupted(
        (
            "import sys; sys.__stdout__.write('ready\\n'); sys.__stdout__.flush()\nwhile True: pass"
            if "clear" not in code
            else "while True: pass"
        ),
        text="" if "clear" in code else "ready",
    )


def test_a_deleted_folder(python, tmp_path):
    python.ok("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
    outcome = python.ok("1")
    assert outcome.done["cwd"] == "(deleted)"
    assert python.run("%pwd").status == "error"
    assert "x" in python.text("!echo x")
    assert python.text("%cd " + str(tmp_path)) == f"{tmp_path}\n"
    assert python.ok("1").done["cwd"] == str(tmp_path)


def test_the_end_of_the_host_ends_a_busy_kernel(python):
    python.begin(
        "import subprocess; subprocess.Popen(['sleep', '300'])\nprint('ready')\nwhile True: pass"
    )
    python.printed("ready")
    python.process.stdin.close()
    deadline = time.monotonic() + 20
    while python.process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.killpg(python.process.pid, 0)
            time.sleep(0.02)
    python.ended = True


def test_exit_handlers_run_at_the_end(python, tmp_path):
    python.ok("import atexit; atexit.register(lambda: open('said', 'w').close());")
    assert python.close() == 0
    assert (tmp_path / "said").exists()


def test_warnings_are_printed(python):
    assert "UserWarning: careful" in python.text("import warnings; warnings.warn('careful')")


def test_threads_tell_their_errors(python):
    code = "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"
    assert "ZeroDivisionError" in python.text(code)


def test_logging(python):
    assert "heard" in python.text("import logging; logging.warning('heard')")


# --- asyncio ---

ASYNC = {
    "import asyncio; await asyncio.sleep(0, 5)": "5",
    "await asyncio.gather(*(asyncio.sleep(0, i) for i in range(3)))": "[0, 1, 2]",
    "async def f(): return 6": None,
    "await f()": "6",
    "asyncio.run(f())": "6",
    "[await f() for _ in range(2)]": "[6, 6]",
    "async with asyncio.Lock(): x = await f()\n": None,
    "async for_ = 5": "SyntaxError",
    "x": "6",
    "(lambda: asyncio.run(f()))()": "6",
    "async def g():\n    for i in range(3): yield i": None,
    "[i async for i in g()]": "[0, 1, 2]",
    "await asyncio.wait_for(asyncio.sleep(5), 0.01)": "TimeoutError",
}


def test_async_cells(python):
    for code, value in ASYNC.items():
        outcome = python.run(code)
        if value in ("SyntaxError", "TimeoutError"):
            assert outcome.error["name"] == value, (code, outcome)
        else:
            assert outcome.status == "ok" and outcome.value == value, (code, outcome)


def test_tasks_live_while_a_cell_awaits(python):
    code = """\
        import asyncio
        async def later():
            await asyncio.sleep(0.05)
            return "done"
        task = asyncio.create_task(later())
        await asyncio.sleep(0)
        """
    python.ok(code)
    assert python.value("task.done()") == "False"
    assert python.value("await task") == "'done'"


def test_a_loop_is_not_running_in_plain_cells(python):
    python.ok("import asyncio; await asyncio.sleep(0)")
    assert python.error("asyncio.get_running_loop()")["name"] == "RuntimeError"


# --- the bridge ---


def test_the_ways_to_call_a_tool(python):
    python.answers["add"] = lambda args: args["a"] + args["b"]
    assert python.value("tool('add', {'a': 1, 'b': 2})") == "3"
    assert python.value("tool('add', a=1, b=2)") == "3"
    assert python.value("tool('add', {'a': 1}, b=2)") == "3"
    assert python.value("tool.add(a=1, b=2)") == "3"
    assert python.value("tool.add({'a': 1, 'b': 2})") == "3"
    assert python.value("await atool('add', a=1, b=2)") == "3"
    code = "import asyncio; sum(await asyncio.gather(*(atool('add', a=i, b=i) for i in range(50))))"
    assert python.value(code) == "2450"
    code = """\
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(20) as pool: found = list(pool.map(lambda i: tool.add(a=i, b=1), range(100)))
        found == list(range(1, 101))
        """
    assert python.value(code) == "True"


def test_replies_out_of_order(python):
    calls = []

    def answer(args):
        calls.append(args["i"])
        if len(calls) == 3:
            for number in (3, 2, 1):
                python.succeed(number, calls[number - 1] * 10)
        return Kernel.NOT_YET

    python.answers["later"] = answer
    code = "import asyncio\nawait asyncio.gather(*(atool('later', i=i) for i in range(3)))"
    assert python.value(code) == "[0, 10, 20]"


def test_a_tools_error(python):
    code = """\
        try: tool("raed", {"path": "x"})
        except ToolError as error: found = error
        found.name, found.kind, found.message, str(found)
        """
    assert python.value(code) == repr(
        ("raed", "not_found", "there is no tool raed", "there is no tool raed")
    )
    error = python.error("await atool('raed')")
    assert error["name"] == "ToolError" and "werkbank-kernel" not in error["traceback"]


@pytest.mark.parametrize(
    "args, part",
    [
        ("{'a': float('nan')}", "`a` is nan"),
        ("{'a': [float('inf')]}", "inf"),
        ("{'a': b'x'}", "bytes"),
        ("{'a': {1, 2}}", "set"),
        ("{'a': object()}", "object"),
        ("{1: 2}", "key 1"),
        ("{'a': 'x' * (17 << 20)}", "16 MiB"),
        ("5", ""),
        ("[1]", ""),
    ],
)
def test_arguments_that_json_cannot_carry(python, args, part):
    outcome = python.run(f"tool('x', {args})")
    assert outcome.error["name"] == "TypeError" and part in outcome.error["message"], outcome
    assert outcome.calls == []


def test_arguments_arrive(python):
    python.answers["echo"] = lambda args: args
    code = "import pathlib\ntool('echo', {'a': (1, 2), 'b': None, 'c': 'ä\\ud800', 'd': pathlib.Path('/x'), 'e': 2**60, 'f': 'x' * (9 << 20)})"
    outcome = python.ok(code + "['e']")
    (call,) = outcome.calls
    assert call[1] | {"f": ""} == {
        "a": [1, 2],
        "b": None,
        "c": "ä?",
        "d": "/x",
        "e": 2**60,
        "f": "",
    }
    assert outcome.value == str(2**60)
    python.answers["large"] = lambda _args: "y" * (10 << 20)
    assert python.value("len(tool.large())") == str(10 << 20)


def test_a_call_that_is_interrupted_is_cancelled(python):
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    for code in ("tool('slow')", "await atool('slow')"):
        python.begin(code)
        python.wait_for(lambda: python.outcome.calls)
        time.sleep(0.1)  # now it waits; what has just sent its call is cancelled by the host
        python.interrupt()
        outcome = python.finish(20)
        assert outcome.status == "interrupted" and len(outcome.cancelled) == 1
    # What comes later finds nobody.
    python.begin("40 + 2")
    python.succeed(1, "late")
    python.succeed(999, "unknown")
    assert python.finish().value == "42"


def test_a_cancelled_task_cancels_its_call(python):
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    code = """\
        import asyncio
        try: await asyncio.wait_for(atool("slow"), 0.05)
        except asyncio.TimeoutError: print("gave up")
        """
    outcome = python.ok(code)
    assert outcome.text == "gave up\n" and len(outcome.cancelled) == 1


def test_a_call_after_the_cell(python):
    code = """\
        import threading
        def late():
            go.wait()
            try: tool("x")
            except ToolError as error: print(error.kind, error)
        go = threading.Event()
        threading.Thread(target=late).start()
        """
    python.ok(code)
    python.ok("threading.Timer(0.2, go.set).start()")
    python.background("no_cell no cell is running")


def test_a_signal_handler_that_raises_while_a_tool_is_waited_for(python):
    """No byte of an answer is lost."""
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    python.answers["quick"] = lambda args: args
    code = """\
        import signal
        def ring(*_): raise TimeoutError
        signal.signal(signal.SIGALRM, ring)
        rung = 0
        for _ in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try: tool("slow")
            except TimeoutError: rung += 1
        rung, [tool.quick(i=i)["i"] for i in range(20)] == list(range(20))
        """
    outcome = python.ok(code)
    assert outcome.value == "(20, True)" and len(outcome.cancelled) == 20


def test_a_caught_interrupt_is_over(python):
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    python.answers["quick"] = lambda _args: 5
    for wait in ("tool('slow')", "time.sleep(100)"):
        code = f"import time\nprint('ready')\ntry: {wait}\nexcept KeyboardInterrupt: print('caught')\ntool.quick()"
        python.begin(code)
        python.printed("ready")
        time.sleep(0.1)
        python.interrupt()
        outcome = python.finish(20)
        assert outcome.text == "ready\ncaught\n" and outcome.value == "5"


def test_a_thread_that_waits_when_its_cell_ends_is_let_go(python):
    """Nobody will answer it: it must not wait for ever."""
    python.answers["slow"] = lambda _args: Kernel.NOT_YET
    code = """\
        import threading, time
        def work():
            try: tool("slow")
            except ToolError as error: print("let go:", error.kind)
        threading.Thread(target=work).start()
        time.sleep(0.3)
        """
    outcome = python.ok(code)
    assert outcome.calls == [("slow", {})]
    python.wait_for(lambda: "let go: cancelled" in outcome.text + str(python.pieces))


# --- the idioms ---

UNTOUCHED = [
    "x = 10 % 3",
    "x = (10\n% 3)",
    "x = [1,\n%s\n]" % "2",
    "s = '''\n%cd /\n!ls\n'''",
    's = """\n%%bash\n"""',
    "s = 'a' \\\n%  3" if False else "x = 7 \\\n% 4",
    "s = '%d' % 5",
    "x = 5 != 4",
    "x = not 5 == 4",
    "s = 'what?'",
    "s = f'''\n{1}\n!x\n'''",
    "# %cd /\n# !ls\n# what?",
    "x = {1:\n2}",
    "s = '''a'''  # it's\nt = 2",
    "s = 'it\\'s'\nt = 3",
    "s = r'\\'\nt = 3" if False else "s = r'\\n'\nt = 3",
    "x = 1 if 5 % 2 else 0",
    "def f(a,\n      b=3\n      ): return a % b",
    "s = ('%s'\n     % 5)",
    "class A:\n    '''\n    %magic\n    '''",
    "s = '''x''' '''\n%cd /\n'''",
]


@pytest.mark.parametrize("code", UNTOUCHED)
def test_what_is_python_stays_python(python, tmp_path, code):
    outcome = python.run(code)
    assert outcome.status == "ok" and outcome.text == "", outcome
    assert outcome.done["cwd"] == str(tmp_path)
    space = {}
    exec(code, space)
    for name, value in space.items():
        if name in "stx":
            assert python.value(name) == repr(value)


REWRITTEN = {
    # code: text printed (None: any), value
    "%pwd": ("", "{cwd}"),
    "x = %pwd\nx": ("", "{cwd}"),
    "if True:\n    %cd /\n": ("/\n", None),
    "%cd /\n%cd -\n": ("/\n{cwd_}\n", None),
    "for i in range(2):\n    !echo {i}": ("0\n1\n", None),
    "!echo a": ("a\n", None),
    "  !echo indented": ("indented\n", None),
    "x = !printf 'a\\nb\\n'\nx": ("", "['a', 'b']"),
    "x = !printf 'a\\nb\\n'\nx.n, x.s, x.status": ("", "('a\\nb\\n', 'a b', 0)"),
    "!!echo q": ("", "['q']"),
    "name = 'world'\n!echo hello {name} $name": ("hello world world\n", None),
    "!echo '{name}' '$name'": ("{name} $name\n", None),
    "!echo {undefined} ${HOME:+set} $$((1))": ("{undefined} set 1\n", None),
    "!echo a{b,c} | awk '{print $1}'": ("ab\n", None),
    "!exit 3": ("[exit status 3]\n", None),
    "!cd /": ("[!cd lasts for its own command only; %cd changes the kernel's folder]\n", None),
    "!echo one \\\n two": ("one two\n", None),
    "!sleep 0.01 &": ("", None),
    "x = 5\n!echo {x}\ny = x % 2\ny": ("5\n", "1"),
    "(x,\ny) = 1, 2\n!echo {y}": ("2\n", None),
    "%env WB_TEST=5": ("", "'5'"),
    "%env WB_TEST": ("", "'5'"),
    "!echo $WB_TEST": ("5\n", None),
    "%env WB_OTHER 6": ("", "'6'"),
    "len(5": (None, SyntaxError),
    "%nosuch": (None, NameError),
    "%%nosuch\nx": (None, NameError),
    "%matplotlib inline": ("", None),
    "nosuchname?": ("Object `nosuchname` not found.\n", None),
    "%%bash\necho a; echo b >&2": ("a\nb\n", None),
    "\n\n%%bash\necho after blank lines": ("after blank lines\n", None),
    "%%bash\nexit 3": (None, "CalledProcessError"),
    "%%bash\nfalse\ntrue": ("", None),
    "%%bash\nread line || echo end of input": (None, None),
    "%%sh\necho $0": ("sh\n", None),
    "%%capture out\nprint('hidden')": ("", None),
    "out.stdout": ("", "'hidden\\n'"),
    "str(out)": ("", "'hidden\\n'"),
    "%%writefile a.txt\nline {x}\n%cd /\n": ("wrote a.txt\n", None),
    "open('a.txt').read()": ("", "'line {x}\\n%cd /\\n'"),
    "%%writefile -a a.txt\nmore\n": ("appended to a.txt\n", None),
    "%load a.txt": ("line {x}\n%cd /\nmore\n\n", None),
    "%%time\n5 + 5": (None, "10"),
    "%time 5 + 6": (None, "11"),
    "x = %time 5 + 7\nx": (None, "12"),
    "%%markdown\n# a": ("", None),
    "x = 4 % 3\nx": ("", "1"),
    "x  =  !echo spaced\nx": ("", "['spaced']"),
    "a, b = !printf '1\\n2'\nb": ("", "'2'"),
    "d = {}\nd['k'] = !echo v\nd": ("", "{'k': ['v']}"),
    "%ls a.txt": ("a.txt\n", None),
}


def test_the_idioms(python, tmp_path):
    for code, (text, value) in REWRITTEN.items():
        outcome = python.run(code)
        if isinstance(value, type) or value == "CalledProcessError":
            name = value if isinstance(value, str) else value.__name__
            assert outcome.error is not None and outcome.error["name"] == name, (code, outcome)
        else:
            assert outcome.status == "ok", (code, outcome)
            expected = value and value.replace("{cwd}", repr(str(tmp_path)))
            assert outcome.value == expected, (code, outcome)
        if text is not None:
            assert outcome.text == text.replace("{cwd_}", str(tmp_path)), (code, outcome)
        python.run("import os; os.chdir(%r)" % str(tmp_path))


def test_help(python):
    python.ok("def f(a, b=1):\n    'What f does.'\n    return 5")
    for code in ("f?", "?f", "f?;"):
        text = python.text(code)
        assert "f(a, b=1)" in text and "What f does." in text and "return 5" not in text
    for code in ("f??", "??f"):
        assert "return 5" in python.text(code)
    assert "S.join" in python.text("str.join?") or "join" in python.text("str.join?")
    python.ok("x = 5\ny = {'a': [1]}")
    assert "int" in python.text("x?")
    assert "list" in python.text("y['a']?")


def test_an_idiom_keeps_line_numbers(python):
    trace = python.error("!echo a \\\n b\nx = 1\n1 / 0")["traceback"]
    assert "line 4" in trace and "1 / 0" in trace


def test_names(python):
    python.ok("alpha = 1\nbeta = 'two'")
    assert python.text("%who").split() == ["alpha", "beta"]
    assert "beta   str           'two'" in python.text("%whos")
    python.ok("%reset")
    assert python.error("alpha")["name"] == "NameError"
    assert python.text("%who") == "nothing is defined\n"
    assert python.value("[n for n in dir() if not n.startswith('__')]") == "[]"


def test_run(python, tmp_path):
    (tmp_path / "script.py").write_text(
        "import sys\nmade = sys.argv[1:]\nprint(__name__, __file__)\n"
    )
    assert python.text("%run script.py a 'b c'") == "__main__ script.py\n"
    assert python.value("made") == "['a', 'b c']"
    assert python.value("__import__('sys').argv") == "['']"
    (tmp_path / "fails.py").write_text("early = 1\n1 / 0\n")
    assert python.error("%run fails.py")["name"] == "ZeroDivisionError"
    assert python.value("early") == "1"


def test_timeit(python):
    assert "per loop" in python.text("%timeit -n 2 -r 2 1 + 1")
    code = "%%timeit -n 3 -r 1 y = 5\ny + 1\nleaked = y"
    assert "1 runs, 3 loops each" in python.text(code)
    assert python.error("leaked")["name"] == "NameError"
    assert python.text("%%timeit -n 2 -r 1\nprint('each')").count("each\n") == 2
    assert python.error("%timeit 1 / 0")["name"] == "ZeroDivisionError"
    assert python.value("import gc; gc.isenabled()") == "True"
    python.ok("import time")
    python.interrupted("print('ready')\n%timeit time.sleep(100)")


def test_capture_gives_back_the_streams(python):
    python.ok("%%capture got\nimport sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(5)")
    assert python.value("got.stdout, got.stderr") == "('a\\n', 'b\\n')"
    assert python.error("%%capture got\nprint('c')\n1 / 0")["name"] == "ZeroDivisionError"
    assert python.value("got.stdout") == "'c\\n'"
    assert python.text("print('visible')") == "visible\n"


def test_cd_forms(python, tmp_path):
    (tmp_path / "with space").mkdir()
    assert python.text("%cd 'with space'") == f"{tmp_path}/with space\n"
    assert python.text("%cd ..") == f"{tmp_path}\n"
    assert python.text("%cd with space") == f"{tmp_path}/with space\n"
    assert python.text("%cd -") == f"{tmp_path}\n"
    python.ok("import os; os.environ['HOME'] = os.getcwd() + '/with space'")
    assert python.text("%cd") == f"{tmp_path}/with space\n"
    assert python.text("%cd ~") == f"{tmp_path}/with space\n"
    (tmp_path / "with space" / "local_module.py").write_text("here = 1\n")
    assert python.value("import local_module; local_module.here") == "1"
    assert python.error("%cd nowhere")["name"] == "FileNotFoundError"


def test_magics_of_a_cell_use_its_names(python):
    python.ok("x = 5")
    assert python.value("%%time\ny = x + 1\ny") == "6"
    assert python.value("y") == "6"
    assert python.value("%%time\n!echo in a magic\nx") == "5"


# --- %pip ---


def build_wheel(folder, name, version, modules, requires=()):
    """A wheel by hand."""
    import zipfile

    info = f"{name}-{version}.dist-info"
    files = dict(modules)
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {one}\n" for one in requires)
    )
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    import subprocess

    folder = tmp_path_factory.mktemp("venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


def test_pip_installs_and_drops_what_changed(kernels, venv, tmp_path):
    wheels = tmp_path / "wheels"
    for version in ("1.0", "2.0"):
        build_wheel(
            wheels,
            "Wb_Outer",
            version,
            {"outer_module.py": f"import inner_module\nversion = {version!r}\n"},
            [f"wb-inner=={version}"],
        )
        build_wheel(
            wheels,
            "wb_inner",
            version,
            {
                "inner_module.py": f"version = {version!r}\n",
                "inner_pack/__init__.py": "",
                "inner_pack/sub.py": "",
            },
        )
    build_wheel(wheels, "wb_other", "1.0", {"other_module.py": "version = '1.0'\n"})
    python = kernels("python", python=str(venv))
    pip = f"%pip install -q --disable-pip-version-check --no-index --find-links {wheels} "
    assert python.error("import outer_module")["name"] == "ModuleNotFoundError"
    python.ok(pip + "wb-outer==1.0 wb-other")
    python.ok(
        "import outer_module, inner_module, inner_pack.sub, other_module, json, sys\nkept = other_module"
    )
    assert python.value("outer_module.version, inner_module.version") == "('1.0', '1.0')"
    python.ok(pip + "--upgrade wb-outer")
    dropped = "[n for n in ('outer_module', 'inner_module', 'inner_pack', 'inner_pack.sub') if n in sys.modules]"
    assert python.value(dropped) == "[]"
    assert python.value("sys.modules['other_module'] is kept and 'json' in sys.modules") == "True"
    code = "import outer_module, inner_module, inner_pack.sub\nouter_module.version, inner_module.version"
    assert python.value(code) == "('2.0', '2.0')"
    outcome = python.ok(pip + "nosuchdistribution")
    assert "[exit status 1]" in outcome.text and "nosuchdistribution" in outcome.text
    python.ok("%pip uninstall -q -y wb-outer")
    assert python.error("import outer_module")["name"] == "ModuleNotFoundError"
    assert "wb-inner" in python.text("%pip list").lower().replace("_", "-")
    python.ok("!pip --version")


def test_growth(python):
    """Nothing of a cell stays but its source."""
    for i in range(50):
        python.ok(f"print({i})\ndisplay({i})\n[{i}] * 1000")
    before = int(python.value("import os; int(open('/proc/self/statm').read().split()[1])"))
    for i in range(1000):
        python.ok(f"print({i})\n{i}")
    after = int(python.value("int(open('/proc/self/statm').read().split()[1])"))
    assert after - before < 500, "pages"
