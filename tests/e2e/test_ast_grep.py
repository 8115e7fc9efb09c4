"""ast_grep: what it finds, what it says of files that it did not search, and how it stops."""

import json
import os
import pathlib
import subprocess

import pytest

from harness.program import BINARY


class Here:
    def __init__(self, root, session):
        self.root = root
        self.session = session
        self.ok = session.ok
        self.error = session.error

    def put(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def grep(self, pattern, **more):
        return self.ok("ast_grep", pattern=pattern, **more)

    def places(self, pattern, **more):
        return [(m["path"], m["line"]) for m in self.grep(pattern, **more).data["matches"]]


@pytest.fixture
def here(werkbank, tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return Here(root, werkbank.session(root))


# --- what it gives ---


def test_text_and_data(here):
    here.put("a.py", "def f(x):\n    return dispose(\n        x,  # why\n    )\n")
    here.put("sub/b.py", 'dispose(y)\n"dispose(z)"\n# dispose(z)\n')
    result = here.grep("dispose($X)", language="python")
    assert result.data == {
        "matches": [
            {
                "path": "a.py",
                "line": 2,
                "end_line": 4,
                "text": "dispose(\n        x,  # why\n    )",
                "captures": {"X": "x"},
            },
            {
                "path": "sub/b.py",
                "line": 1,
                "end_line": 1,
                "text": "dispose(y)",
                "captures": {"X": "y"},
            },
        ],
        "total": 2,
        "complete": True,
        "files_searched": 2,
        "files_skipped": 0,
    }
    lines = result.text.splitlines()
    assert lines[0].startswith("a.py:2: return dispose(")
    assert lines[1].startswith("sub/b.py:1: dispose(y)")
    assert lines[2] == "[2 matches; 2 Python files searched]"


def test_the_example_of_the_contract(here):
    here.put(
        "a.dart",
        "void f() {\n"
        "  if (x != null) x.dispose();\n"
        "  if (y != null) z.dispose();\n"
        "  if (a.b != null)\n"
        "    a . b // why\n"
        "        .dispose();\n"
        "}\n",
    )
    assert here.places("if ($X != null) $X.dispose()", path="a.dart") == [
        ("a.dart", 2),
        ("a.dart", 4),
    ]


def test_captures_of_runs(here):
    here.put("a.js", "f(1, 2, 3);\nf();\ng(1);\n")
    result = here.grep("f($$$A)", path="a.js")
    assert [m["captures"] for m in result.data["matches"]] == [{"A": "1, 2, 3"}, {"A": ""}]
    assert here.grep("f($$$)", path="a.js").data["matches"][0]["captures"] == {}
    assert here.grep("f($_, $_, $_)", path="a.js").data["matches"][0]["captures"] == {}


def test_the_end_of_a_match_is_on_its_last_line(here):
    here.put("a.c", "#define A 1\nint x;\n")
    match = here.grep("#define $A $B", path="a.c").data["matches"][0]
    assert (match["line"], match["end_line"], match["text"]) == (1, 1, "#define A 1")


def test_any_bytes(here):
    here.put("a.py", 'print("süß", "日本")\n'.encode())
    here.put("b.py", b'print("caf\xe9")\nprint(1)\n')
    here.put("c.py", b"\xef\xbb\xbfprint(2)\r\nprint(3)\r\n")
    result = here.grep("print($$$A)", language="python")
    assert [(m["path"], m["line"]) for m in result.data["matches"]] == [
        ("a.py", 1),
        ("b.py", 1),
        ("b.py", 2),
        ("c.py", 1),
        ("c.py", 2),
    ]
    assert result.data["matches"][0]["captures"]["A"] == '"süß", "日本"'
    assert "caf\ufffd" in result.data["matches"][1]["text"]
    assert 'A = "süß", "日本"' in result.text


def test_a_long_line_is_cut_around_the_match(here):
    filler = "".join(f"var v{i}=f({i});" for i in range(20000))
    here.put("min.js", f"{filler}needle(42);{filler}\nneedle(43);\n")
    result = here.grep("needle($A)", path="min.js")
    first, second = result.text.splitlines()[:2]
    assert "needle(42)" in first and len(first.encode()) < 600 and "..." in first
    assert second == "min.js:2: needle(43);  [A = 43]"
    assert result.data["matches"][0]["line"] == 1


def test_a_long_match_is_cut_in_the_text_and_whole_in_the_data(here):
    body = "".join(f"  call({i});\n" for i in range(300))
    here.put("a.js", f"function f() {{\n{body}}}\n")
    result = here.grep("function f() { $$$B }", path="a.js")
    match = result.data["matches"][0]
    assert match["end_line"] == 302 and match["text"].endswith("call(299);\n}")
    assert match["captures"]["B"].count("call") == 300
    assert len(result.text) < 1000 and "(to line 302)" in result.text


# --- the language ---


def test_the_language_is_that_of_the_file(here):
    here.put("script", "#!/usr/bin/env python3\nprint(1)\n")
    assert here.places("print($A)", path="script") == [("script", 2)]


def test_no_language(here):
    for name in ("a.c", "b.c", "c.py", "README.txt"):
        here.put(name, "x\n")
    text = here.error("ast_grep", pattern="f($X)")
    assert "c (2 files), python (1 file)" in text and "`language`" in text
    here.put("only/notes.txt", "x\n")
    text = here.error("ast_grep", pattern="f($X)", path="only")
    assert "no file in a language that can be searched" in text


def test_a_file_whose_language_is_unknown(here):
    here.put("notes.txt", "f(1)\n")
    text = here.error("ast_grep", pattern="f($X)", path="notes.txt")
    assert "notes.txt" in text and "language" in text
    # Named, the language holds for the file whatever its name.
    assert here.places("f($X)", path="notes.txt", language="python") == [("notes.txt", 1)]


def test_an_unknown_language(here):
    text = here.error("ast_grep", pattern="f($X)", language="klingon")
    assert "`klingon` is not known" in text and "python" in text


# --- apart: invalid, no file, skipped, no match ---


def test_an_invalid_pattern_is_an_error(here):
    here.put("a.py", "f(1)\n")
    text = here.error("ast_grep", pattern="def (((", path="a.py")
    assert "does not parse as Python" in text and "statement" in text and "column" in text
    assert "empty" in here.error("ast_grep", pattern="  ", path="a.py")
    assert "match everything" in here.error("ast_grep", pattern="$A", path="a.py")


def test_no_file_of_the_language(here):
    here.put("a.py", "f(1)\n")
    result = here.grep("f($X)", language="rust")
    assert "no Rust file is here" in result.text
    assert result.data["files_searched"] == 0 and result.data["matches"] == []


def test_no_match(here):
    here.put("a.py", "f(1)\n")
    result = here.grep("g($X)", language="python")
    assert result.text == "[no match: 1 Python file searched]\n"
    assert result.data["total"] == 0 and result.data["files_searched"] == 1


@pytest.mark.parametrize("pattern", ["a.*b", "print(.+)", "[^x]", r"\bfoo"])
def test_a_hint_for_a_regular_expression(here, pattern):
    here.put("a.py", "f(1)\n")
    result = here.session.call("ast_grep", pattern=pattern, path="a.py")
    assert result.is_error or "regular expression" in result.text


def test_no_hint_otherwise(here):
    here.put("a.py", "f(1)\n")
    assert "regular" not in here.grep("g($X)", path="a.py").text


def test_a_path_that_is_not_there(here):
    assert "nowhere" in here.error("ast_grep", pattern="f($X)", path="nowhere", language="c")


@pytest.mark.parametrize("n", [0, -1, 10001, 1.5, "5"])
def test_bad_max_results(here, n):
    here.put("a.py", "f(1)\n")
    here.error("ast_grep", pattern="f($X)", path="a.py", max_results=n)


def test_files_that_are_not_searched(here):
    here.put("a.c", "int x = f(1);\n")
    here.put("binary.c", b"int x = f(1);\n\0\n")
    with open(here.put("huge.c", ""), "wb") as huge:
        huge.truncate(65 << 20)
    here.put(".hidden.c", "int x = f(1);\n")
    here.put("build/out.c", "int x = f(1);\n")
    here.put(".gitignore", "build/\n")
    (here.root / ".git").mkdir()
    os.mkfifo(here.root / "pipe.c")
    (here.root / "nowhere.c").symlink_to("missing")
    result = here.grep("f($X)", language="c")
    assert [m["path"] for m in result.data["matches"]] == ["a.c"]
    assert result.data["files_searched"] == 1
    assert result.data["files_skipped"] >= 2
    assert "skipped: " in result.text and "1 binary" in result.text and "1 too large" in result.text


def test_syntax_errors_are_said(here):
    here.put("a.c", "int good = f(1);\nint = = ;\nint more = f(2);\n")
    here.put("b.c", "int good = f(3);\n")
    result = here.grep("f($X)", language="c")
    assert [(m["path"], m["line"]) for m in result.data["matches"]] == [
        ("a.c", 1),
        ("a.c", 3),
        ("b.c", 1),
    ]
    assert "1 with syntax errors, searched where they parse" in result.text


def test_symlinks_and_their_files_are_searched_once(here):
    here.put("a.c", "int x = f(1);\n")
    (here.root / "b.c").symlink_to("a.c")
    here.put(".hidden/c.c", "int x = f(2);\n")
    (here.root / "d.c").symlink_to(".hidden/c.c")
    (here.root / "e.c").symlink_to(".hidden/c.c")
    (here.root.parent / "out.c").write_text("int x = f(3);\n")
    (here.root / "g.c").symlink_to("../out.c")
    result = here.grep("f($X)", language="c")
    assert [m["path"] for m in result.data["matches"]] == ["a.c", "d.c"]
    assert "symlinks out of the workspace" in result.text


# --- order and stop ---


def make_many(here, n=300):
    for i in range(n):
        # Sizes that differ widely, so that threads finish out of order.
        filler = "int v;\n" * ((i * 7919) % 400)
        here.put(f"d{i % 7}/f{i:03}.c", f"{filler}int a = f({i});\nint b = g(f({i}));\n")


def test_results_come_in_order(here):
    make_many(here)
    first = here.grep("f($X)", language="c", max_results=10000)
    places = [(m["path"], m["line"]) for m in first.data["matches"]]
    assert len(places) == 600 and places == sorted(places)
    for _ in range(3):
        assert here.grep("f($X)", language="c", max_results=10000).data == first.data


def test_the_search_stops_early(here):
    make_many(here)
    everything = here.grep("f($X)", language="c", max_results=10000).data["matches"]
    for _ in range(3):
        result = here.grep("f($X)", language="c", max_results=7)
        assert result.data["matches"] == everything[:7]
        assert result.data["complete"] is False and result.data["total"] == 8
        # True: all up to this file were searched, and the count is theirs.
        assert result.data["files_searched"] == 4
        assert f"the search stopped at {everything[6]['path']}" in result.text
        assert "7 of 8 or more matches shown" in result.text


def test_fifty_are_the_default(here):
    here.put("a.c", "".join(f"int v{i} = f({i});\n" for i in range(213)))
    result = here.grep("f($X)", language="c")
    assert len(result.data["matches"]) == 50 and result.data["total"] == 213
    assert result.data["complete"] is True
    assert "50 of 213 matches shown" in result.text
    assert len(here.grep("f($X)", language="c", max_results=213).data["matches"]) == 213


# --- the cache of a session ---


def test_changes_are_seen(here):
    """By whoever, however fast, whatever the times say."""
    path = here.put("a.c", "int x = f(1);\n")
    for i in range(2, 8):
        assert here.grep("f($X)", path="a.c").data["matches"][0]["captures"] == {"X": str(i - 1)}
        path.write_text(f"int x = f({i});\n")
        os.utime(path, ns=(10**18, 10**18))
    here.put("other.c", "int x = f(9);\n").rename(path)
    assert here.grep("f($X)", path="a.c").data["matches"][0]["captures"] == {"X": "9"}
    path.unlink()
    here.error("ast_grep", pattern="f($X)", path="a.c")


def test_a_file_that_had_no_match_gets_one(here):
    path = here.put("a.c", "int x;\n")
    os.utime(path, ns=(10**18, 10**18))
    for _ in range(3):  # the third time it is known what words the file has
        assert here.places("f($X)", language="c") == []
    path.write_text("int x = f(1);\n")
    assert here.places("f($X)", language="c") == [("a.c", 1)]


def test_another_language_for_the_same_file(here):
    here.put("a.h", "int x = f(1);\n")
    for language in ("c", "cpp", "c", "cpp"):
        assert here.places("f($X)", path="a.h", language=language) == [("a.h", 1)]


def test_a_cache_of_nothing(werkbank, tmp_path):
    root = tmp_path / "small"
    root.mkdir()
    config = tmp_path / "config.json"
    config.write_text('{"ast": {"cache_mb": 0}}')
    here = Here(root, werkbank.session(root, "--config", config))
    make_many(here, 50)
    first = here.grep("f($X)", language="c").data
    assert first["total"] >= 50 and here.grep("f($X)", language="c").data == first


def test_a_search_can_be_cancelled_by_its_end(werkbank, tmp_path):
    """The program ends at once when its input ends while it searches."""
    root = tmp_path / "big"
    root.mkdir()
    here = Here(root, werkbank.session(root))
    make_many(here, 100)
    here.session.send("ast_grep", {"pattern": "$A == $A", "language": "c"})
    here.session.process.stdin.close()
    assert here.session.process.wait(60) == 0


def test_the_command_line(werkbank, here):
    here.put("a.c", "int x = f(1);\n")
    done = werkbank.run(
        "call", "--workspace", here.root, "ast_grep", '{"pattern": "f($X)", "path": "a.c"}'
    )
    assert done.status == 0
    assert done.stdout == "a.c:1: int x = f(1);  [X = 1]\n[1 match; 1 C file searched]\n"


def test_headers_are_searched_as_cpp_too(here):
    here.put("a.h", "template <class T> struct s { void f() { g(1); } };\n")
    here.put("b.cpp", "void f() { g(2); }\n")
    assert here.places("g($X)", language="cpp") == [("a.h", 1), ("b.cpp", 1)]


def test_a_file_outside_needs_approval(here):
    (here.root.parent / "out.c").write_text("int x = f(1);\n")
    text = here.error("ast_grep", pattern="f($X)", path="../out.c")
    assert "workspace" in text


def test_no_child_process(werkbank, here):
    here.put("a.c", "int x = f(1);\n")
    here.grep("f($X)", language="c")
    pid = here.session.pid
    children = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, check=False)
    assert children.stdout == b""


def test_doctor_names_the_languages(werkbank, here):
    text = werkbank.run("doctor", "--workspace", here.root).stdout
    assert "Structural search: " in text and " languages\n  " in text
    data = werkbank.run("doctor", "--workspace", here.root, "--json").json()["structural_search"]
    assert len(data["languages"]) >= 30 and data["reason"] is None
    assert {"dart", "python", "rust", "c", "cpp", "javascript"} <= set(data["languages"])


def test_a_grammar_of_ones_own(werkbank, here, tmp_path):
    """The library that the unit tests build: JSON's, by another name."""
    library = pathlib.Path(BINARY).parent / "tests/unit/ast/libown_grammar.so"
    grammar = {
        "parser": "own",
        "library": str(library),
        "contexts": [["value", "", ""], ["entry", "{ ", " }"]],
        "placeholders": ["quoted", "bare"],
    }
    row = {"id": "own", "name": "Own", "extensions": [".own"], "identifier": "c", "keywords": []}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"languages": [{**row, "grammar": grammar}]}))
    here.put("own/a.own", '{"a": 1, "b": {"a": [2,\n 3]}}\n')
    session = werkbank.session(here.root, "--config", config, "--allow", "write")
    found = session.ok("ast_grep", pattern='"a": $X', path="own", language="own").data
    assert [match["captures"] for match in found["matches"]] == [{"X": "1"}, {"X": "[2,\n 3]"}]
    edit = session.ok("ast_edit", pattern='"a": $X', rewrite='"c": $X', path="own/a.own").data
    session.ok("resolve", edit_id=edit["edit_id"], action="accept")
    assert (here.root / "own/a.own").read_text() == '{"c": 1, "b": {"c": [2,\n 3]}}\n'
    assert "own" in werkbank.run(
        "doctor", "--workspace", here.root, "--config", config, "--json"
    ).json()["structural_search"]["languages"]


def test_doctor_says_why_a_grammar_of_ones_own_is_not_usable(werkbank, here, tmp_path):
    config = tmp_path / "config.json"
    grammar = '{"parser": "own", "library": "/nowhere/own.so", "contexts": [["statement", "", ""]]}'
    row = f'{{"id": "own", "name": "Own", "extensions": [".own"], "identifier": "c", "keywords": [], "grammar": {grammar}}}'
    config.write_text(f'{{"languages": [{row}]}}')
    text = werkbank.run("doctor", "--workspace", here.root, "--config", config).stdout
    assert "Structural search: not usable: " in text and "/nowhere/own.so" in text
