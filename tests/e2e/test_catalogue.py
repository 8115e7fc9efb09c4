"""Every row of the catalogue that says `tested` is started here, and answers."""

import json
import time

import pytest

from harness.program import SOURCE, TOOLS
from harness.projects import BASH, C, GO, JSON, PYTHON, RUST, TYPESCRIPT, YAML, Project

ROWS = json.loads((SOURCE / "catalogue" / "language-servers.json").read_text())["servers"]
TESTED = [row["id"] for row in ROWS if row.get("tested")]


def symbols(file, word):
    return {"action": "symbols", "file": file}, word


def ask(action, file, line, symbol, word=""):
    return {"action": action, "file": file, "line": line, "symbol": symbol}, word


def diagnostics(file, word=""):
    return {"action": "diagnostics", "file": file}, word


PACKAGE = '{"name": "sample", "version": "1.0.0", "private": true}\n'

SQL = {"main.sql": "select  a from\n"}
BROKEN_PYTHON = {"pyproject.toml": '[project]\nname = "sample"\n', "main.py": "import os\nx = (\n"}
WRONG_PYTHON = {**BROKEN_PYTHON, "main.py": 'x: int = ""\n'}
ELM = {
    "type": "application",
    "source-directories": ["."],
    "elm-version": "0.19.1",
    "dependencies": {"direct": {}, "indirect": {}},
    "test-dependencies": {"direct": {}, "indirect": {}},
}

# These look for TypeScript's library in the project.
NEED_TYPESCRIPT = ("astro", "mdx", "svelte", "vue")

# Row to (files, question, a word of the answer). A row without its marker gets one.
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
    # Its findings need a project with eslint's library in it.
    "eslint": (
        {"package.json": PACKAGE, "eslint.config.mjs": "export default [];\n", "main.js": "f();\n"},
        ask("code_actions", "main.js", 1, "f"),
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
    # Installed by the set-up too: a row may turn to `tested` without a change here.
    "ansible": ({"main.yml": "- hosts: all\n  tasks: [\n"}, diagnostics("main.yml")),
    "astro": ({"main.astro": "---\nconst first = 1;\n---\n<p/>\n"}, symbols("main.astro", "first")),
    "blueprint": ({"main.blp": "using Gtk 4.0;\nFoo {\n"}, diagnostics("main.blp")),
    "buf": (
        {
            "buf.yaml": "version: v2\n",
            "main.proto": 'syntax = "proto3";\nmessage A { Foo x = 1; }\n',
        },
        diagnostics("main.proto"),
    ),
    "cmake-language-server": (
        {"CMakeLists.txt": "project(sample)\n"},
        ask("hover", "CMakeLists.txt", 1, "project", "project"),
    ),
    "deno": (
        {"deno.json": "{}\n", "main.ts": 'const x: number = "";\n'},
        diagnostics("main.ts"),
    ),
    "docker-compose": (
        {"compose.yaml": "services:\n  a:\n    imag: x\n    build: [\n"},
        diagnostics("compose.yaml"),
    ),
    "elm": (
        {"elm.json": json.dumps(ELM), "main.elm": "module Main exposing (..)\nfirst = 1\n"},
        symbols("main.elm", "first"),
    ),
    "esbonio": (
        {"conf.py": "", "main.rst": "Title\n=====\n\n.. nope::\n"},
        symbols("main.rst", "Title"),
    ),
    "graphql": (
        {
            ".graphqlrc.yml": "schema: schema.graphql\n",
            "schema.graphql": "type Query { a: Int }\n",
            "main.graphql": "query First { a }\n",
        },
        symbols("main.graphql", "First"),
    ),
    "jedi-language-server": (PYTHON, symbols("main.py", "twice")),
    "just-lsp": ({"justfile": "build: absent\n"}, diagnostics("justfile")),
    "mdx": ({"main.mdx": "# Title\n"}, symbols("main.mdx", "Title")),
    "nginx": (
        {"nginx.conf": "http {\n    gzip on;\n}\n"},
        ask("hover", "nginx.conf", 2, "gzip", "gzip"),
    ),
    "perl-languageserver": (
        {"main.pl": "use strict;\nsub twice { 2 }\n"},
        symbols("main.pl", "twice"),
    ),
    "prisma": ({"main.prisma": "model A {\n  id Intt\n}\n"}, diagnostics("main.prisma")),
    "purescript": ({"main.purs": "module A where\nx = 1\n"}, symbols("main.purs", "")),
    "pyrefly": ({**WRONG_PYTHON, "pyrefly.toml": ""}, diagnostics("main.py")),
    "rescript": ({"main.res": "let first = 1\n"}, symbols("main.res", "first")),
    "robotcode": (
        {"main.robot": "*** Test Cases ***\nFirst\n    Nope\n"},
        symbols("main.robot", "First"),
    ),
    "ruff": (BROKEN_PYTHON, diagnostics("main.py")),
    "rumdl": ({"main.md": "# a\n# b\nx  \n"}, diagnostics("main.md")),
    "some-sass": ({"main.scss": "$first: 1;\n.b { x: $first }\n"}, symbols("main.scss", "first")),
    "sqruff": (SQL, diagnostics("main.sql")),
    "svelte": (
        {"main.svelte": "<script>let first = 1;</script>\n<p>{first}</p>\n"},
        symbols("main.svelte", "first"),
    ),
    "tailwindcss": (
        {"main.css": '@import "tailwindcss";\n.a { @apply nope; }\n'},
        ask("hover", "main.css", 2, "nope"),
    ),
    "tombi": ({"main.toml": "a = \n"}, diagnostics("main.toml")),
    "ty": (WRONG_PYTHON, diagnostics("main.py")),
    "verible": ({"main.sv": "module first;\nassign = 1;\n"}, diagnostics("main.sv")),
    "vue": (
        {"package.json": PACKAGE, "main.vue": "<script>let first = 1;</script>\n<template/>\n"},
        symbols("main.vue", "first"),
    ),
    "zuban": (WRONG_PYTHON, diagnostics("main.py")),
}


def put_marker(project, row):
    """The first marker of the row that is a plain file, unless one is there."""
    names = [name for name in row["markers"] if name not in (".", ".git") and "*" not in name]
    if names and not any((project.root / name).exists() for name in row["markers"]):
        project.write(names[0], "{}\n" if names[0].endswith("json") else "")


def build(folder, source, row):
    if isinstance(source, dict):
        project = Project(folder)
        for path, text in source.items():
            project.write(path, text)
    else:
        project = source.build(folder)
    (project.root / ".git").mkdir(exist_ok=True)
    put_marker(project, row)
    if row["id"] in NEED_TYPESCRIPT:
        (project.root / "node_modules").mkdir()
        library = TOOLS / "npm" / "servers" / "node_modules" / "typescript"
        (project.root / "node_modules" / "typescript").symlink_to(library)
    return project


def test_the_catalogue_is_big_enough():
    assert len(ROWS) >= 60
    assert len(TESTED) >= 18


def test_every_tested_row_has_a_project():
    assert set(TESTED) <= set(PROJECTS)


@pytest.mark.parametrize("name", TESTED)
def test_row_starts_and_answers(werkbank, tmp_path, name):
    source, (question, word) = PROJECTS[name]
    row = next(row for row in ROWS if row["id"] == name)
    project = build(tmp_path / "project", source, row)
    config = tmp_path / "config.json"
    # First of its conflict group, whatever else is installed.
    config.write_text(json.dumps({"servers": [{"id": name, "priority": -1}]}))
    session = werkbank.session(project.root, "--config", config)
    result = session.call("lsp", **question)
    for _ in range(20):
        # biome's daemon goes when the machine is busy, oxlint's first answer may be an empty one.
        if not result.is_error and word.lower() in result.text.lower():
            break
        time.sleep(0.5)
        result = session.call("lsp", **question)
    assert not result.is_error and word.lower() in result.text.lower(), result
    if question["action"] == "diagnostics":
        states = {one["name"]: one["state"] for one in result.data["servers"]}
        assert states[name] == "findings", result
    assert name in session.ok("lsp", action="status").text


def test_doctor_shows_the_others_as_untested(werkbank, tmp_path):
    finished = werkbank.run("doctor", "--workspace", tmp_path)
    for row in ROWS:
        if not row.get("tested"):
            lines = [line for line in finished.stdout.splitlines() if row["id"] in line.split()]
            assert not lines or any("untested" in line for line in lines), lines
