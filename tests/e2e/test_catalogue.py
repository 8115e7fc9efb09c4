"""Every row of the catalogue that says `tested` is started here, and answers."""

import json

import pytest

from harness.program import SOURCE
from harness.projects import BASH, C, GO, JSON, PYTHON, RUST, TYPESCRIPT, YAML, Project

ROWS = json.loads((SOURCE / "catalogue" / "language-servers.json").read_text())["servers"]
TESTED = [row["id"] for row in ROWS if row.get("tested")]


def symbols(file, word):
    return {"action": "symbols", "file": file}, word


def diagnostics(file, word):
    return {"action": "diagnostics", "file": file}, word


PACKAGE = '{"name": "sample", "version": "1.0.0", "private": true}\n'

# Row to (files, question, a word of the answer). Files come over those of the sample.
PROJECTS = {
    "ast-grep": (
        {
            "sgconfig.yml": "ruleDirs: [rules]\n",
            "rules/no-eval.yml": (
                "id: no-eval\nlanguage: python\nseverity: error\nmessage: eval is evil\n"
                "rule: {pattern: eval($A)}\n"
            ),
            "main.py": "eval('1')\n",
        },
        diagnostics("main.py", "eval is evil"),
    ),
    "basedpyright": (PYTHON, symbols("main.py", "twice")),
    "bash-language-server": (BASH, symbols("main.sh", "twice")),
    "biome": (
        {"biome.json": "{}\n", "package.json": PACKAGE, "main.js": "if (a == b) { debugger; }\n"},
        diagnostics("main.js", "debugger"),
    ),
    "clangd": (C, symbols("main.c", "twice")),
    "dockerfile": (
        {"Dockerfile": "FROM debian\nRUN true\nFORM debian\n"},
        diagnostics("Dockerfile", "FORM"),
    ),
    "eslint": (
        {
            "package.json": PACKAGE,
            "eslint.config.mjs": 'export default [{rules: {"no-debugger": "error"}}];\n',
            "main.js": "debugger;\n",
        },
        diagnostics("main.js", "debugger"),
    ),
    "fortls": (
        {
            ".fortls": "{}\n",
            "main.f90": "module shapes\ncontains\nsubroutine draw()\nend subroutine draw\nend module\n",
        },
        symbols("main.f90", "draw"),
    ),
    "gopls": (GO, symbols("main.go", "twice")),
    "intelephense": (
        {"composer.json": "{}\n", "main.php": "<?php\nfunction twice($x) { return 2 * $x; }\n"},
        symbols("main.php", "twice"),
    ),
    "oxlint": (
        {".oxlintrc.json": '{"rules": {"no-debugger": "error"}}\n', "main.js": "debugger;\n"},
        diagnostics("main.js", "debugger"),
    ),
    "postgres": (
        {"postgres-language-server.jsonc": "{}\n", "main.sql": "select 1;\nselekt 2;\n"},
        diagnostics("main.sql", "syntax"),
    ),
    "pylsp": (PYTHON, symbols("main.py", "twice")),
    "pyright": (PYTHON, symbols("main.py", "twice")),
    "rust-analyzer": (RUST, symbols("src/main.rs", "twice")),
    "tsgo": (TYPESCRIPT, symbols("main.ts", "twice")),
    "typescript-language-server": (TYPESCRIPT, symbols("main.ts", "twice")),
    "vim-language-server": (
        {"main.vim": "function! Twice(x)\n  return 2 * a:x\nendfunction\n"},
        symbols("main.vim", "Twice"),
    ),
    "vscode-css": ({"main.css": ".first { color: red; }\n"}, symbols("main.css", "first")),
    "vscode-html": (
        {"main.html": '<html><body id="first"></body></html>\n'},
        symbols("main.html", "body"),
    ),
    "vscode-json": (JSON, symbols("data.json", "count")),
    "vtsls": (TYPESCRIPT, symbols("main.ts", "twice")),
    "yaml-language-server": (YAML, symbols("data.yaml", "base")),
}


def build(folder, source):
    if isinstance(source, dict):
        project = Project(folder)
        for path, text in source.items():
            project.write(path, text)
        return project
    return source.build(folder)


def test_the_catalogue_is_big_enough():
    assert len(ROWS) >= 60
    assert len(TESTED) >= 18


def test_every_tested_row_has_a_project():
    assert sorted(TESTED) == sorted(PROJECTS)


@pytest.mark.parametrize("row", TESTED)
def test_row_starts_and_answers(werkbank, tmp_path, row):
    source, (question, word) = PROJECTS[row]
    project = build(tmp_path / "project", source)
    config = tmp_path / "config.json"
    # First of its conflict group, whatever else is installed.
    config.write_text(json.dumps({"servers": [{"id": row, "priority": -1}]}))
    session = werkbank.session(project.root, "--config", config)
    result = session.ok("lsp", **question)
    assert word.lower() in result.text.lower(), result
    if result.data and "servers" in result.data:
        assert row in [one["name"] for one in result.data["servers"]]
    assert row in session.ok("lsp", action="status").text


def test_doctor_shows_the_others_as_untested(werkbank, tmp_path):
    finished = werkbank.run("doctor", "--workspace", tmp_path)
    for row in ROWS:
        if not row.get("tested"):
            lines = [line for line in finished.stdout.splitlines() if row["id"] in line.split()]
            assert not lines or any("untested" in line for line in lines), lines
