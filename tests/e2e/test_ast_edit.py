"""ast_edit: what a rewrite must not lose, how it is laid out, and what the answer says."""

import pathlib
import sysconfig

import pytest


class Here:
    def __init__(self, root, session):
        self.root = root
        self.session = session

    def put(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def get(self, path):
        return (self.root / path).read_bytes().decode(errors="surrogateescape")

    def edit(self, pattern, rewrite, **more):
        return self.session.ok("ast_edit", pattern=pattern, rewrite=rewrite, **more)

    def accept(self, result):
        return self.session.ok("resolve", edit_id=result.data["edit_id"], action="accept")

    def rewritten(self, name, source, pattern, rewrite):
        """The file after the rewrite, and what was left out of it: [(line, reason)]."""
        self.put(name, source)
        result = self.edit(pattern, rewrite, path=name)
        if result.data["edit_id"] is not None:
            self.accept(result)
        left = [(item["line"], item["reason"]) for item in result.data["left_out"]]
        return self.get(name), left


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from conftest import new_werkbank

    made = new_werkbank(tmp_path_factory.mktemp("shared"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def here(shared, tmp_path_factory):
    """One session for the table below: each case has a file of its own."""
    root = tmp_path_factory.mktemp("project")
    return Here(root, shared.session(root, "--allow", "write"))


@pytest.fixture
def fresh(werkbank, tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return Here(root, werkbank.session(root, "--allow", "write"))


COMMENT = "a comment that the pattern does not mention would be lost: "

# name, extension, source, pattern, rewrite, result, left out
CASES = [
    # --- what the pattern does not mention is kept ---
    ("async", "js", "async function f(a) { return 1; }\nfunction g() { return 2 }\n",
     "function $F($$$A) { $$$B }", "function $F($$$A) { log(); $$$B }",
     "async function f(a) { log(); return 1; }\nfunction g() { log(); return 2 }\n", []),
    ("static async member", "js", "class A { static async b(x) { y(); } get c() { return 1; } }\n",
     "$M($$$A) { $$$B }", "$M($$$A) { log(); $$$B }",
     "class A { static async b(x) { log(); y(); } get c() { log(); return 1; } }\n", []),
    ("semicolon", "js", "import {Z} from 'y';\nimport {Q} from 'y'\n",
     "import {$A} from 'y'", "import {$A} from 'z'",
     "import {Z} from 'z';\nimport {Q} from 'z'\n", []),
    ("semicolon of both", "js", "var a = 1;\nvar b = 2\n", "var $A = $B;", "let $A = $B;",
     "let a = 1;\nlet b = 2;\n", []),
    ("no prefix: second declarator", "js", "var a = 1, b = 2;\nvar c = 3;\n",
     "var $A = $B", "let $A = $B", "var a = 1, b = 2;\nlet c = 3;\n", []),
    ("no prefix: body", "py",
     "if x:\n    yield 1\nelse:\n    yield 2\nif y:\n    yield\n    z()\nelse:\n    yield\n",
     "if $A:\n    yield\nelse:\n    yield", "yy($A)",
     "if x:\n    yield 1\nelse:\n    yield 2\nif y:\n    yield\n    z()\nelse:\n    yield\n", []),
    ("comment inside", "js", "foo(a, /* hi */ b);\nfoo(a, b);\n", "foo($A, $B)", "bar($B, $A)",
     "foo(a, /* hi */ b);\nbar(b, a);\n", [(1, COMMENT + "/* hi */")]),
    ("comment in front of the first", "js", "foo(/* x */ a, b);\n", "foo($A, $B)", "bar($B, $A)",
     "foo(/* x */ a, b);\n", [(1, COMMENT + "/* x */")]),
    ("comment behind the last", "js", "foo(a, b /* y */);\n", "foo($A, $B)", "bar($B, $A)",
     "foo(a, b /* y */);\n", [(1, COMMENT + "/* y */")]),
    ("comment between statements", "js", "a();\n// keep\nb();\n", "a(); b();", "d();",
     "a();\n// keep\nb();\n", [(1, COMMENT + "// keep")]),
    ("comment around", "js", "/* lead */ a(); b(); // trail\n", "a(); b();", "d();",
     "/* lead */ d(); // trail\n", []),
    ("comment captured by a run", "js", "foo(a, /* hi */ b);\n", "foo($$$A)", "bar($$$A)",
     "bar(a, /* hi */ b);\n", []),
    ("trailing comma", "py", "f(a,)\nf(\n    a,\n    b,\n)\n", "f($$$A)", "g($$$A)",
     "g(a,)\ng(\n    a,\n    b,\n)\n", []),
    ("decorator and docstring", "py", "@dec\nasync def f(a, b=1):\n    return a\n",
     "def $F($$$A):\n    $$$B", "def $F($$$A):\n    log()\n    $$$B",
     "@dec\nasync def f(a, b=1):\n    log()\n    return a\n", []),
    ("export", "ts", "export const a = 1, b = 2;\nexport const c = 3;\n",
     "const $A = $B", "let $A = $B",
     "export const a = 1, b = 2;\nexport let c = 3;\n", []),
    ("java modifiers are named", "java", "class A { @Override public void f() { g(); } void h() { g(); } }\n",
     "void $F() { $$$B }", "void $F() { x(); $$$B }",
     "class A { @Override public void f() { g(); } void h() { x(); g(); } }\n", []),
    ("a lent semicolon", "dart", "void f() { if (x != null) x.dispose(); }\n",
     "if ($X != null) $X.dispose()", "$X?.dispose()", "void f() { x?.dispose(); }\n", []),
    ("a lent semicolon, and the template's", "c", "void f() { if (x) foo(x); }\n",
     "if ($X) foo($X)", "bar($X);", "void f() { bar(x); }\n", []),
    ("a lent semicolon, and a body", "c", "void f() { if (x) foo(x); }\n",
     "if ($X) foo($X)", "if ($X) { foo($X); }", "void f() { if (x) { foo(x); } }\n", []),
    # --- what stands between tokens that the template has too stays ---
    ("comments between kept tokens", "js", "foo(a, /* hi */ b);\nfoo /* q */ (\n  a, // one\n  b\n);\n",
     "foo($A, $B)", "bar($A, $B)", "bar(a, /* hi */ b);\nbar /* q */ (\n  a, // one\n  b\n);\n", []),
    ("layout between kept tokens", "py", "x = isinstance(\n    a, (b,\n        c)\n)\n",
     "isinstance($A, $B)", "is_a($A, $B)", "x = is_a(\n    a, (b,\n        c)\n)\n", []),
    ("tokens between kept ones", "go", "package p\n\nvar a = f(1, 2,)\n", "f($A, $B)", "g($A, $B)",
     "package p\n\nvar a = g(1, 2,)\n", []),
    ("a repeated name", "js", "if (a.b != null)\n  // why\n  a . b\n    .dispose();\n",
     "if ($X != null) $X.dispose()", "if ($X !== undefined) $X.dispose()",
     "if (a.b !== undefined)\n  // why\n  a.b\n    .dispose();\n", []),
    ("other blanks are meant", "js", "foo(a,  b);\n", "foo($A, $B)", "foo($A,\n    $B)",
     "foo(a,\n    b);\n", []),
    ("kept lines move with the template", "js", "{\n  foo(\n    a,\n    b\n  );\n}\n", "foo($A, $B);",
     "if (c) {\n  foo($A, $B);\n}",
     "{\n  if (c) {\n    foo(\n      a,\n      b\n    );\n  }\n}\n", []),
    # --- $$$ and its separator ---
    ("empty behind", "js", "f();f(1);f(1, 2);\n", "f($$$B)", "g(x, $$$B)",
     "g(x);g(x, 1);g(x, 1, 2);\n", []),
    ("empty in front", "js", "f();f(1);f(1, 2);\n", "f($$$B)", "g($$$B, x)",
     "g(x);g(1, x);g(1, 2, x);\n", []),
    ("empty between", "js", "f(1);f(1, 2);\n", "f($A, $$$B)", "g($A, $$$B, z)",
     "g(1, z);g(1, 2, z);\n", []),
    ("empty beside its anchor", "c", "int x = f(1) + f(1, 2);\n", "f($A, $$$B)", "g($A, $$$B)",
     "int x = g(1) + g(1, 2);\n", []),
    ("a tuple of one stays one", "py", "x = (1,)\ny = (1, 2)\n", "($A, $$$B)", "(0, $A, $$$B)",
     "x = (0, 1,)\ny = (0, 1, 2)\n", []),
    ("no statement loses its end", "rs", "fn b() {}\n", "fn $F() { $$$B }",
     "fn $F() { log(); $$$B }", "fn b() { log(); }\n", []),
    ("empty at the end", "go", "package p\n\nfunc f() int {\n\treturn\n\treturn 1, 2\n}\n",
     "return $$$A", "return 0, $$$A", "package p\n\nfunc f() int {\n\treturn 0\n\treturn 0, 1, 2\n}\n", []),
    ("empty and nothing else", "js", "function f() { g(); return; }\n", "return $$$A", "throw $$$A",
     "function f() { g(); return; }\n", [(1, "with its 1 replacement")]),
    # --- nested matches ---
    ("nested", "js", "f(f(1));\nf(f(f(2)), f(3));\nf(x => f(x));\n", "f($A)", "g($A)",
     "g(g(1));\nf(g(g(2)), g(3));\ng(x => g(x));\n", []),
    ("nested statements", "py", "if a:\n    x()\n    if b:\n        y()\n", "if $C:\n    $$$B",
     "while $C:\n    $$$B", "while a:\n    x()\n    while b:\n        y()\n", []),
    ("nested in what is dropped", "js", "f(f(1));\n", "f($A)", "g()",
     "g();\n", [(1, "it lies in or across another match: run it again")]),
    # --- layout ---
    ("tabs", "py", "def f():\n\tif a:\n\t\tfoo(1)\n\t\tbar(2)\n", "if $C:\n    $$$B",
     "while $C:\n    if $C:\n        $$$B",
     "def f():\n\twhile a:\n\t\tif a:\n\t\t\tfoo(1)\n\t\t\tbar(2)\n", []),
    ("tabs from two blanks", "js", "if (a) {\n\tfoo({\n\t\tx: 1,\n\t});\n}\n", "foo($X)",
     "bar(\n  $X,\n  1\n)", "if (a) {\n\tbar(\n\t\t{\n\t\t\tx: 1,\n\t\t},\n\t\t1\n\t);\n}\n", []),
    ("CRLF", "py", "def f():\r\n    if a:\r\n        foo(1)\r\n        bar(2)\r\n",
     "if $C:\n    $$$B", "while $C:\n    if $C:\n        $$$B",
     "def f():\r\n    while a:\r\n        if a:\r\n            foo(1)\r\n            bar(2)\r\n", []),
    ("two blanks from four", "js", "{\n  foo(1);\n}\n", "foo($A);", "if (x) {\n    bar($A);\n}",
     "{\n  if (x) {\n    bar(1);\n  }\n}\n", []),
    ("four blanks from two", "js", "{\n    foo(1);\n}\n", "foo($A);", "if (x) {\n  bar($A);\n}",
     "{\n    if (x) {\n        bar(1);\n    }\n}\n", []),
    ("a string of lines", "py", 'def f():\n    if a:\n        s = """\n  x\n    y\n"""\n        foo(1)\n',
     "if $C:\n    $$$B", "while $C:\n    if $C:\n        $$$B",
     'def f():\n    while a:\n        if a:\n            s = """\n  x\n    y\n"""\n            foo(1)\n', []),
    ("a string of lines in nested matches", "js", "f(f(`a\n  b\n    ${c}\n`));\n", "f($A)",
     "g(\n    $A\n)", "g(\n    g(\n        `a\n  b\n    ${c}\n`\n    )\n);\n", []),
    ("a string of lines in the template", "py", "def f():\n    foo(1)\n", "foo($A)",
     'bar("""\nx\n  y\n""", $A)', 'def f():\n    bar("""\nx\n  y\n""", 1)\n', []),
    ("a raw string of lines", "go", "package a\n\nfunc f() {\n\tfoo(`x\n\ty\n`)\n}\n", "foo($A)",
     "if b {\n    bar($A)\n}",
     "package a\n\nfunc f() {\n\tif b {\n\t\tbar(`x\n\ty\n`)\n\t}\n}\n", []),
    ("a heredoc", "sh", "f() {\n  foo <<E\n    x\n  y\nE\n  foo a\n}\n", "foo a", "if b; then\n  foo a\nfi",
     "f() {\n  foo <<E\n    x\n  y\nE\n  if b; then\n    foo a\n  fi\n}\n", []),
    ("comments move with the code", "c",
     "void f(void)\n{\n    if (a) {\n        /* x\n         * y */\n        b();\n    }\n}\n",
     "if ($C) { $$$B }", "if ($C) {\n    do {\n        $$$B\n    } while (0);\n}",
     "void f(void)\n{\n    if (a) {\n        do {\n            /* x\n             * y */\n"
     "            b();\n        } while (0);\n    }\n}\n", []),
    ("a body on lines of its own", "c", "void f(void) {\n  if (a) {\n    b();\n    c();\n  }\n}\n",
     "if ($C) { $$$B }", "while ($C) { $$$B }",
     "void f(void) {\n  while (a) {\n    b();\n    c();\n  }\n}\n", []),
    ("arguments on lines of their own", "js", "foo(\n  1,\n  2,\n);\n", "foo($$$A)", "bar(x, $$$A)",
     "bar(x,\n  1,\n  2,\n);\n", []),
    ("hanging arguments", "py", "foo(1,\n    2,  # two\n    3)\n", "foo($$$A)", "bar(\n    $$$A\n)",
     "bar(\n    1,\n    2,  # two\n    3\n)\n", []),
    ("a comment to the end of the line", "js", "foo(\n  1,\n  2 // x\n);\n", "foo($$$A)",
     "bar($$$A, 3)", "bar(\n  1,\n  2 // x\n  , 3\n);\n", []),
    ("blank lines of the template", "js", "{\n  f(1);\n}\n", "f($A);", "g($A);\n\nh();",
     "{\n  g(1);\n\n  h();\n}\n", []),
    ("no line end at the end", "js", "f(1)", "f($A)", "g($A)", "g(1)", []),
    ("a mark in front", "js", "\ufefff(1);\n", "f($A)", "g($A)", "\ufeffg(1);\n", []),
    # --- deleting ---
    ("delete items", "js", "f(a, x, b);\nf(x);\nf(x, a);\nf(a, x);\nf(a, x, x);\n", "x", "",
     "f(a, b);\nf();\nf(a);\nf(a);\nf(a);\n", []),
    ("delete an item with its line", "js", "f(\n  a,\n  x,\n  b,\n);\n", "x", "",
     "f(\n  a,\n  b,\n);\n", []),
    ("delete a statement with its line", "c", "void f(void)\n{\n    a();\n    log(1);\n    b();\n}\n",
     "log($A);", "", "void f(void)\n{\n    a();\n    b();\n}\n", []),
    ("delete a statement beside another", "c", "void f(void)\n{\n    log(1); b();\n}\n",
     "log($A);", "", "void f(void)\n{\n    b();\n}\n", []),
    ("no body is left empty", "py", "def g():\n    log(2)\n", "log($A)", "", "def g():\n    log(2)\n",
     [(1, "with its 1 replacement the file would have new syntax errors")]),
    # --- new syntax errors ---
    ("broken template", "js", "f(1);\nf(2);\n", "f($A)", "g($A", "f(1);\nf(2);\n",
     [(1, "with its 2 replacements the file would have new syntax errors, the first at line 1: g(1")]),
    ("old errors do not count", "c", "int q = ;\nint a = foo(1);\n", "foo($A)", "bar($A)",
     "int q = ;\nint a = bar(1);\n", []),
    ("an old error does not hide a new one", "c", "int q = ;\nint a = foo(1);\n", "foo($A)", "bar($A) = ;",
     "int q = ;\nint a = foo(1);\n",
     [(1, "with its 1 replacement the file would have new syntax errors")]),
    # --- templates ---
    ("used twice", "js", "f(a.b);\n", "f($A)", "g($A, $A)", "g(a.b, a.b);\n", []),
    ("not used", "js", "f(a, b);\n", "f($A, $B)", "g($B)", "g(b);\n", []),
    ("a dollar", "js", "f(a);\n", "f($A)", "g(`\\${$A}`, \\$A)", "g(`${a}`, $A);\n", []),
    ("php variables", "php", "<?php\nf($_GET['x'], $y);\n", "f($A, $B)", "g($B, $A, $_GET)",
     "<?php\ng($y, $_GET['x'], $_GET);\n", []),
    # --- languages ---
    ("go", "go", "package m\n\nfunc f() {\n\tif err != nil {\n\t\treturn err\n\t}\n}\n",
     "if $E != nil { return $E }", "if $E != nil {\n    log($E)\n    return $E\n}",
     "package m\n\nfunc f() {\n\tif err != nil {\n\t\tlog(err)\n\t\treturn err\n\t}\n}\n", []),
    ("rust", "rs", "fn f() { let x = a.b().unwrap().c; }\n", "$X.unwrap()", "$X?",
     "fn f() { let x = a.b()?.c; }\n", []),
    ("dart", "dart", "void f() { w.c.dispose(); a?.dispose(); }\n", "$X.dispose()", "close($X)",
     "void f() { close(w.c); a?.dispose(); }\n", []),
    ("typescript", "ts", "const a = b!.c as any;\n", "$A as any", "$A as unknown",
     "const a = b!.c as unknown;\n", []),
    ("tsx", "tsx", 'const a = <Foo a={1} b="x">hi</Foo>;\n', "<Foo $$$A>$$$C</Foo>",
     "<Bar $$$A>$$$C</Bar>", 'const a = <Bar a={1} b="x">hi</Bar>;\n', []),
    ("css", "css", "a { color: red; margin: 0 }\nb { color: red }\n", "color: $X", "background: $X",
     "a { background: red; margin: 0 }\nb { background: red }\n", []),
    ("json", "json", '{"a": 1, "b": {"a": [1, 2]}}\n', '"a": $X', '"c": $X',
     '{"c": 1, "b": {"c": [1, 2]}}\n', []),
    ("yaml", "yaml", "a: 1\nb:\n  a: |\n    x\n", "a: $X", "c: $X", "c: 1\nb:\n  c: |\n    x\n", []),
    ("c preprocessor", "c", "#define A 1\n#define B 2 /* two */\n", "#define A $B", "#define A ($B)",
     "#define A (1)\n#define B 2 /* two */\n", []),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_case(here, case):
    name, extension, source, pattern, rewrite, expected, left_out = case
    path = f"{name.replace(' ', '_').replace(':', '').replace('$', '')}.{extension}"
    got, left = here.rewritten(path, source, pattern, rewrite)
    assert got == expected
    assert [line for line, _ in left] == [line for line, _ in left_out]
    for (_, reason), (_, words) in zip(left, left_out):
        assert reason.startswith(words)


# --- a rewrite and its reverse ---


REVERSIBLE = [
    ("c", "f($$$A)", "g__($$$A)"),
    ("py", "print($$$A)", "g__($$$A)"),
    ("js", "function $F($$$A) { $$$B }", "function $F(q__, $$$A) { $$$B }"),
    ("go", "if $A { $$$B }", "for $A { $$$B }"),
]


def sources(extension):
    """A tree of odd layouts: every combination of ends, blanks, comments and widths."""
    bodies = {
        "c": "void v(void){0}{{{0}{1}f(1,{0}{1}{1}2);{0}{1}f();{0}{1}f(f(a), f /*x*/);{0}}}{0}",
        "py": "def v():{0}{1}print(1,{0}{1}{1}2){0}{1}print(){0}{1}print(print(a), '''{0} x'''){0}",
        "js": "function v(a, b) {{{0}{1}f(1,{0}{1}{1}2);{0}}}{0}async function w(c) {{{0}{1}v();{0}}}{0}",
        "go": "package p{0}func v() {{{0}{1}if a {{{0}{1}{1}f(1){0}{1}}}{0}{1}if b {{ if c {{ d() }} }}{0}}}{0}",
    }
    return [bodies[extension].format(end, blank) for end in ("\n", "\r\n") for blank in ("  ", "    ", "\t")]


@pytest.mark.parametrize("extension,there,back", REVERSIBLE)
def test_the_reverse_gives_the_same_bytes(fresh, extension, there, back):
    before = {}
    for i, source in enumerate(sources(extension)):
        fresh.put(f"f{i}.{extension}", source)
        before[f"f{i}.{extension}"] = fresh.get(f"f{i}.{extension}")
    language = {"py": "python", "js": "javascript"}.get(extension, extension)
    first = fresh.edit(there, back, language=language)
    fresh.accept(first)
    assert all(fresh.get(name) != content for name, content in before.items())
    second = fresh.edit(back, there, language=language)
    assert second.data["replacements"] == first.data["replacements"]
    fresh.accept(second)
    assert {name: fresh.get(name) for name in before} == before


WHOLE_TREE = [
    ("isinstance($A, $B)", "is_instance__($A, $B)"),
    ("def $F($$$A):\n    $$$B", "def $F(first__, $$$A):\n    $$$B"),
    ("self.$A", "this__.$A"),
    ("class $A($$$B):\n    $$$C", "class $A($$$B, metaclass=Meta__):\n    $$$C"),
    ("return $A", "return (yield $A)"),
    ("raise $A($$$B)", "raise $A($$$B, cause__)"),
]


@pytest.mark.parametrize("there,back", WHOLE_TREE)
def test_the_reverse_on_the_standard_library(fresh, there, back):
    """Code that nobody wrote for this test: the same bytes again, and nothing left out."""
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    before = {}
    for path in sorted(library.glob("*.py"))[:80]:
        fresh.put(path.name, path.read_bytes())
        before[path.name] = path.read_bytes()
    first = fresh.edit(there, back, language="python")
    assert first.data["left_out"] == [] and first.data["replacements"] > 50
    fresh.accept(first)
    second = fresh.edit(back, there, language="python")
    assert second.data["left_out"] == []
    assert second.data["replacements"] == first.data["replacements"]
    fresh.accept(second)
    differ = [name for name, content in before.items() if (fresh.root / name).read_bytes() != content]
    assert differ == []


def test_what_is_so_already_is_no_change(fresh):
    fresh.put("a.js", "f(1, /* x */ 2);\nf();\nfunction g(a) {\n  return a; // b\n}\n")
    for pattern in ("f($$$A)", "function $F($$$A) { $$$B }"):
        result = fresh.edit(pattern, pattern, language="javascript")
        assert result.data["edit_id"] is None and "Nothing is staged" in result.text


# --- the answer ---


def test_the_answer(fresh):
    fresh.put("a.js", "f(z);\nf(2, 3);\n")
    fresh.put("b/c.js", "x = f(/* c */ v);\ny = f(w);\n")
    result = fresh.edit("f($A)", "$A.g()", language="javascript")
    assert result.data == {
        "edit_id": "edit_1",
        "replacements": 2,
        "files": ["a.js", "b/c.js"],
        "left_out": [{"path": "b/c.js", "line": 1, "reason": COMMENT + "/* c */"}],
    }
    assert result.text.startswith("(proposed) 2 replacements in 2 files")
    assert 'call resolve with edit_id "edit_1"' in result.text
    assert "@@ a.js:1\n-f(z);\n+z.g();\n@@ b/c.js:2\n-y = f(w);\n+y = w.g();\n" in result.text
    assert f"left out: 1\n  b/c.js:1: {COMMENT}/* c */" in result.text
    assert fresh.get("a.js") == "f(z);\nf(2, 3);\n"


def test_the_preview_is_bounded(fresh):
    fresh.put("a.js", "".join(f"f({i});\n" for i in range(5000)) + "f(" + "x" * 5000 + ");\n")
    result = fresh.edit("f($A)", "g($A)", path="a.js")
    assert result.data["replacements"] == 5001
    assert len(result.text) < 4000 and "more replacements are not shown]" in result.text
    fresh.accept(result)
    assert fresh.get("a.js").count("g(") == 5001


def test_many_files(fresh):
    for i in range(200):
        fresh.put(f"d{i % 9}/f{i}.js", f"f({i}); f(f({i}));\n")
    result = fresh.edit("f($A)", "g($A)", language="javascript")
    assert result.data["replacements"] == 600 and len(result.data["files"]) == 200
    assert result.data["files"] == sorted(result.data["files"])
    assert result.text.startswith("(proposed) 600 replacements in 200 files")
    accepted = fresh.accept(result)
    assert "[50 of 200 files shown]" in accepted.text and len(accepted.data["files"]) == 200
    assert fresh.get("d8/f8.js") == "g(8); g(g(8));\n"


def test_an_error_does_not_take_the_place_of_an_empty_body(fresh):
    """Python's grammar reads an `if` without a body; that is no licence for what does not parse."""
    fresh.put("a.py", "def f():\n    if a:\n  g(0)\n        bar(2)\n")
    result = fresh.edit("if $C:\n    $$$B", "whjle $C:\n    if $C:\n   fi     $$$B", path="a.py")
    assert result.data["edit_id"] is None
    assert "new syntax errors" in result.data["left_out"][0]["reason"]


def test_nothing_matches(fresh):
    fresh.put("a.js", "f(1);\n")
    result = fresh.edit("h($A)", "g($A)", path="a.js")
    assert "Nothing is staged" in result.text and "1 JavaScript file searched" in result.text
    assert result.data == {"edit_id": None, "replacements": 0, "files": [], "left_out": []}


@pytest.mark.parametrize(
    "rewrite,words",
    [
        ("g($B)", "$B, which the pattern does not bind; it binds $A, $$$R"),
        ("g($$$B)", "$$$B, which the pattern does not bind"),
        ("g($_)", "without a name"),
        ("g($$$)", "without a name"),
    ],
)
def test_names_that_are_not_bound(fresh, rewrite, words):
    fresh.put("a.js", "f(1);\n")
    text = fresh.session.error("ast_edit", pattern="f($A, $$$R)", rewrite=rewrite, path="a.js")
    assert words in text


@pytest.mark.parametrize(
    "args", [{}, {"pattern": "f()"}, {"rewrite": "g()"}, {"pattern": "", "rewrite": "g()"}]
)
def test_arguments(fresh, args):
    fresh.session.error("ast_edit", path="a.js", **args)


def test_it_takes_no_max_results(fresh):
    fresh.put("a.js", "f(1);\n")
    text = fresh.session.error(
        "ast_edit", pattern="f($A)", rewrite="g($A)", path="a.js", max_results=5
    )
    assert "max_results" in text


def test_bytes_that_are_no_text_are_kept(fresh):
    fresh.put("a.js", b"f('\xff\xfe', 1); // \xe9\n")
    fresh.accept(fresh.edit("f($A, $B)", "g($B, $A)", path="a.js"))
    assert (fresh.root / "a.js").read_bytes() == b"g(1, '\xff\xfe'); // \xe9\n"


def test_deep_nesting(fresh):
    deep = "f(" * 1000 + "1" + ")" * 1000
    fresh.put("a.js", deep + ";\n")
    result = fresh.edit("f($A)", "g($A)", path="a.js")
    assert result.data["replacements"] >= 200
    fresh.accept(result)
    left = fresh.edit("f($A)", "g($A)", path="a.js")
    assert result.data["replacements"] + len(result.data["left_out"]) == 1000
    assert left.data["replacements"] > 0
