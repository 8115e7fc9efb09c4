"""lsp diagnostics "*": the project's own checker, its status believed, the workspace untouched."""

import shutil

import pytest

from harness.projects import GO, PYTHON, RUST, TYPESCRIPT, Project, write_compile_commands

MAKE_C = {
    "main.c": "int main(void) { return absent; }\n",
    "Makefile": "all:\n\tcc -Wall -c main.c -o main.o\n",
}


def check(werkbank, project, *options):
    before = project.snapshot()
    result = werkbank.call(project.root, "lsp", {"action": "diagnostics", "file": "*"}, *options)
    assert project.snapshot() == before, "the check changed the workspace"
    return result


def build(tmp_path, files):
    project = Project(tmp_path / "project")
    for path, text in files.items():
        project.write(path, text)
    return project


def found(result):
    return [(one["path"], one["line"]) for one in result.data["diagnostics"]]


CASES = {
    "python": (PYTHON, "main.py", "return 2 * value", "return 2 * valeu", 5),
    "typescript": (TYPESCRIPT, "main.ts", "return 2 * value", "return 2 * valeu", 4),
    "go": (GO, "main.go", "return 2 * value", "return 2 * valeu", 4),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_clean_and_findings(werkbank, tmp_path, name):
    sample, file, old, new, line = CASES[name]
    project = sample.build(tmp_path / "project")
    result = check(werkbank, project)
    assert result.data["state"] == "clean" and not result.is_error, result
    project.write(file, project.read(file).replace(old, new))
    result = check(werkbank, project)
    assert result.data["state"] == "findings", result
    assert (file, line) in found(result)
    assert f"{file}:{line}" in result.text


def test_c_with_compile_commands(werkbank, tmp_path):
    project = build(tmp_path, {"main.c": "int main(void) { return absent; }\n"})
    write_compile_commands(project)
    result = check(werkbank, project)
    assert ("main.c", 1) in found(result) and "absent" in result.text


def test_cargo_needs_trust_and_leaves_no_target(werkbank, tmp_path):
    project = RUST.build(tmp_path / "project")
    project.write("build.rs", 'fn main() { std::fs::write("ran", "x").unwrap(); }\n')
    text = project.read("src/main.rs")
    project.write("src/main.rs", text.replace("2 * value", "2 * valeu"))
    result = check(werkbank, project)
    assert "trust" in result.text and not (project.root / "ran").exists()
    (project.root / "build.rs").unlink()
    result = check(werkbank, project, "--trust")
    assert ("src/main.rs", 7) in found(result), result


def test_make_needs_trust(werkbank, tmp_path):
    project = build(tmp_path, {**MAKE_C, "Makefile": "all:\n\ttouch ran\n"})
    result = check(werkbank, project)
    assert result.data is None or result.data["state"] == "unknown", result
    assert "trust" in result.text
    assert not (project.root / "ran").exists()


def test_shellcheck(werkbank, tmp_path):
    assert shutil.which("shellcheck")
    project = build(tmp_path, {"main.sh": "#!/bin/bash\nif true; then\n"})
    result = check(werkbank, project)
    assert result.data["state"] in ("findings", "unknown"), result


def test_a_checker_that_fails_is_not_clean(werkbank, tmp_path):
    # An exit status without a readable finding: unknown, with its output.
    project = TYPESCRIPT.build(tmp_path / "project")
    project.write("tsconfig.json", "{ this is no json\n")
    result = check(werkbank, project)
    assert result.data is None or result.data["state"] != "clean", result


def test_no_marker_says_so(werkbank, tmp_path):
    project = build(tmp_path, {"notes.txt": "nothing\n"})
    result = check(werkbank, project)
    assert result.is_error and len(result.text) > 20


def test_no_checker_says_what_installs_it(werkbank, tmp_path):
    project = PYTHON.build(tmp_path / "project")
    result = werkbank.call(
        project.root, "lsp", {"action": "diagnostics", "file": "*"}, env={"PATH": "/nowhere"}
    )
    assert result.is_error and "install" in result.text
