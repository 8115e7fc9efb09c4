"""What people debug: builds by CMake and cargo, modules, tests, packages; and several at the same time."""

import subprocess
import threading

import pytest

from harness.debuggees import GO_SOURCE, SUBJECTS
from harness.program import TOOLS
from harness.projects import Project

SUBJECT = {subject.id: subject for subject in SUBJECTS}


def write_config(project):
    return project.write("config.json", '{"debug": {"wait_s": 60, "answer_s": 60}}')


@pytest.fixture
def open_session(werkbank):
    """A session in a project: (operation, **args) to result."""

    def start(project):
        session = werkbank.session(
            project.root, "--allow", "exec", "--config", write_config(project)
        )
        return lambda operation, **args: session.ok("debug", operation=operation, **args)

    return start


def test_a_target_that_cmake_built(open_session, tmp_path):
    project = Project(tmp_path / "app")
    project.write("src/main.c", SUBJECT["lldb"].text)
    project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(app C)\nadd_executable(app src/main.c)\n",
    )
    for words in (["-B", "build", "-DCMAKE_BUILD_TYPE=Debug"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=project.root, check=True, stdout=subprocess.DEVNULL)
    debug = open_session(project)
    line = project.line("src/main.c", "the sum")
    debug("breakpoints", file="src/main.c", lines=[line])
    stop = debug("launch", program="build/app")
    assert (stop.data["path"], stop.data["line"]) == ("src/main.c", line)


def test_a_rust_binary(open_session, tmp_path):
    project = Project(tmp_path / "app")
    project.write("Cargo.toml", '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n')
    project.write(
        "src/main.rs",
        "fn work(a: i32, b: i32) -> i32 {\n    a + b // the sum\n}\n\n"
        'fn main() {\n    println!("{}", work(1, 2));\n    std::process::exit(4);\n}\n',
    )
    command = ["cargo", "build", "--quiet", "--offline"]
    subprocess.run(command, cwd=project.root, check=True)
    debug = open_session(project)
    debug("breakpoints", file="src/main.rs", lines=[2])
    stop = debug("launch", program="target/debug/app")
    assert (stop.data["path"], stop.data["line"]) == ("src/main.rs", 2)
    assert "work" in stop.data["function"]
    assert debug("evaluate", expression="a + b").data["value"] == "3"
    assert debug("continue").data["exit_code"] == 4


def test_pytest_by_name(open_session, tmp_path):
    project = Project(tmp_path / "app")
    project.write("pyproject.toml", "")
    project.write(
        "tests/test_sum.py",
        "def test_one():\n    value = 1\n    assert value\n\n\n"
        "def test_two():\n    value = 2\n    assert value == 3\n",
    )
    python = TOOLS / "pip" / "adapters" / "bin" / "python"
    subprocess.run([python, "-m", "venv", "--without-pip", project.root / ".venv"], check=True)
    site = next((project.root / ".venv/lib").glob("python*")) / "site-packages"
    sets = [next((TOOLS / "pip" / one / "lib").glob("python*")) for one in ("adapters", "tests")]
    (site / "tools.pth").write_text("".join(f"{one}/site-packages\n" for one in sets))
    debug = open_session(project)
    debug("breakpoints", file="tests/test_sum.py", lines=[3, 8])
    words = {"mode": "module", "program": "pytest", "args": ["-q", "-k", "two", "tests"]}
    stop = debug("launch", **words)
    assert (stop.data["path"], stop.data["line"]) == ("tests/test_sum.py", 8)
    assert debug("evaluate", expression="value").data["value"] == "2"
    debug("breakpoints", file="tests/test_sum.py", lines=[])
    debug("breakpoints", exceptions=[])
    assert debug("continue").data["exit_code"] == 1
    debug("breakpoints", file="tests/test_sum.py", lines=[3])
    stop = debug("launch", mode="test", program="tests/test_sum.py::test_one")
    assert (stop.data["path"], stop.data["line"]) == ("tests/test_sum.py", 3)


def test_a_go_package_and_its_test(open_session, tmp_path):
    project = Project(tmp_path / "app")
    project.write("go.mod", "module example.org/app\n\ngo 1.21\n")
    project.write("cmd/app/main.go", GO_SOURCE)
    project.write(
        "cmd/app/main_test.go",
        'package main\n\nimport "testing"\n\nfunc TestWork(t *testing.T) {\n'
        '\tif work(1, 2) != 3 {\n\t\tt.Fatal("wrong")\n\t}\n}\n\n'
        "func TestOther(t *testing.T) {}\n",
    )
    debug = open_session(project)
    line = project.line("cmd/app/main.go", "the sum")
    debug("breakpoints", file="cmd/app/main.go", lines=[line])
    stop = debug("launch", program="cmd/app")
    assert (stop.data["path"], stop.data["line"]) == ("cmd/app/main.go", line)
    debug("terminate")
    stop = debug("launch", mode="test", program="cmd/app", args=["-test.run", "TestWork"])
    assert stop.data["line"] == line
    assert debug("evaluate", expression="a").data["value"] == "1"
    assert any("TestWork" in one["name"] for one in debug("stack").data["frames"])


def test_four_conversations_side_by_side(werkbank, tmp_path):
    """Each sees only its own, from the launch to the end, whoever else moves meanwhile."""
    ids = ("lldb", "debugpy", "delve", "js-debug")
    project = Project(tmp_path / "all")
    for name in ids:
        SUBJECT[name].build(project.root)
    seen, stops = {}, threading.Barrier(len(ids))

    def converse(subject):
        session = werkbank.session(
            project.root, "--allow", "exec", "--config", config, "--conversation", subject.id
        )

        def debug(operation, **args):
            return session.ok("debug", operation=operation, **args)

        first = project.line(subject.source, "the sum")
        debug("breakpoints", file=subject.source, lines=[first])
        stop = debug("launch", program=subject.program, adapter=subject.id)
        stops.wait(120)
        paths = {one["path"] for one in debug("breakpoints").data["breakpoints"]}
        status = debug("status")
        stops.wait(120)
        for _ in range(5):
            stop = debug("continue")
            assert (stop.data["path"], stop.data["line"]) == (subject.source, first), stop
        debug("breakpoints", file=subject.source, lines=[])
        end = debug("continue")
        seen[subject.id] = (paths, status.data["path"], end.data["exit_code"])

    config = write_config(project)
    threads = [threading.Thread(target=converse, args=(SUBJECT[name],)) for name in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    own = {name: ({SUBJECT[name].source}, SUBJECT[name].source, 4) for name in ids}
    assert seen == own
