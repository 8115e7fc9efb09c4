"""The harness's own tools: read, write, edit, apply_patch, grep, glob, shell."""

import os

import pytest


class Here:
    def __init__(self, root, session):
        self.root = root
        self.ok = session.ok
        self.error = session.error
        self.call = session.call
        self.session = session

    def put(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def get(self, path):
        return (self.root / path).read_bytes()


@pytest.fixture
def here(werkbank, tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return Here(root, werkbank.session(root, "--allow", "exec"))


# --- read ---


def test_read(here):
    here.put("a.txt", "".join(f"line {number}\n" for number in range(1, 101)))
    assert here.ok("read", path="a.txt", offset=10, limit=2).data == "line 10\nline 11\n"
    whole = here.ok("read", path="a.txt")
    assert whole.data.count("\n") == 100
    assert "line 100" in whole.text


def test_read_says_what_it_cut(here):
    here.put("long.txt", ("z" * 99 + "\n") * 20000)
    result = here.ok("read", path="long.txt")
    assert len(result.text) < 200_000
    assert "offset" in result.text


@pytest.mark.parametrize("content", [b"", b"no newline", b"\xef\xbb\xbfbom\n", b"a\r\nb\r\n"])
def test_read_odd_files(here, content):
    here.put("odd.txt", content)
    assert not here.call("read", path="odd.txt").is_error


def test_read_refuses_what_is_no_text(here):
    here.put("binary", b"\x7fELF\x00\x01\xff\xfe")
    assert "binary" in here.error("read", path="binary")
    (here.root / "folder").mkdir()
    assert "folder" in here.error("read", path="folder")
    os.mkfifo(here.root / "pipe")
    here.error("read", path="pipe")


def test_read_past_the_end(here):
    here.put("a.txt", "one\n")
    assert "1" in here.error("read", path="a.txt", offset=50)


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "link/outside.txt"])
def test_outside_needs_approval(here, path):
    (here.root.parent / "outside.txt").write_text("secret\n")
    (here.root / "link").symlink_to(here.root.parent)
    for tool, more in (
        ("read", {}),
        ("write", {"content": "x"}),
        ("edit", {"old_text": "secret", "new_text": "x"}),
    ):
        text = here.error(tool, path=path, **more)
        assert "secret" not in text and "workspace" in text
    assert (here.root.parent / "outside.txt").read_text() == "secret\n"


# --- write and edit ---


def test_write(here):
    here.ok("write", path="deep/er/a.txt", content="ä\n")
    assert here.get("deep/er/a.txt") == "ä\n".encode()
    here.ok("write", path="deep/er/a.txt", content="")
    assert here.get("deep/er/a.txt") == b""


def test_write_keeps_permissions_and_links(here):
    here.put("real.sh", "echo\n")
    (here.root / "real.sh").chmod(0o750)
    (here.root / "link.sh").symlink_to("real.sh")
    here.ok("write", path="link.sh", content="true\n")
    assert (here.root / "link.sh").is_symlink()
    assert here.get("real.sh") == b"true\n"
    assert (here.root / "real.sh").stat().st_mode & 0o777 == 0o750


def test_edit(here):
    here.put("a.txt", "one two\r\nthree\r\n")
    here.ok("edit", path="a.txt", old_text="two\nthree", new_text="2\n3")
    assert here.get("a.txt") == b"one 2\r\n3\r\n"


def test_edit_needs_one_hit(here):
    here.put("a.txt", "x\nx\n")
    text = here.error("edit", path="a.txt", old_text="x", new_text="y")
    assert "2" in text and "replace_all" in text
    here.ok("edit", path="a.txt", old_text="x", new_text="y", replace_all=True)
    assert here.get("a.txt") == b"y\ny\n"
    here.error("edit", path="a.txt", old_text="absent", new_text="y")
    here.error("edit", path="a.txt", old_text="y", new_text="y", replace_all=True)
    here.error("edit", path="a.txt", old_text="", new_text="y")
    assert here.get("a.txt") == b"y\ny\n"


def test_edit_counts_places_that_overlap(here):
    here.put("a.txt", "aaa\n")
    assert "replace_all" in here.error("edit", path="a.txt", old_text="aa", new_text="b")
    assert here.get("a.txt") == b"aaa\n"
    here.ok("edit", path="a.txt", old_text="aa", new_text="b", replace_all=True)
    assert here.get("a.txt") == b"ba\n"


# --- apply_patch ---

PATCH = """\
*** Begin Patch
*** Add File: new.txt
+created
*** Update File: a.txt
@@
 one
-two
+2
 three
*** Delete File: gone.txt
*** End Patch
"""

UNIFIED = """\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+created
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.mark.parametrize("patch", [PATCH, UNIFIED])
def test_apply_patch(here, patch):
    here.put("a.txt", "one\ntwo\nthree\n")
    here.put("gone.txt", "gone\n")
    here.ok("apply_patch", patch=patch)
    assert here.get("a.txt") == b"one\n2\nthree\n"
    assert here.get("new.txt") == b"created\n"
    assert not (here.root / "gone.txt").exists()


@pytest.mark.parametrize("patch", [PATCH, UNIFIED])
def test_a_patch_is_all_or_nothing(here, patch):
    here.put("a.txt", "one\nZWEI\nthree\n")
    here.put("gone.txt", "gone\n")
    here.error("apply_patch", patch=patch)
    assert here.get("a.txt") == b"one\nZWEI\nthree\n"
    assert not (here.root / "new.txt").exists() and here.get("gone.txt") == b"gone\n"


def test_a_patch_moves_a_file(here):
    here.put("a.txt", "one\ntwo\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b/c.txt\n@@\n one\n-two\n+2\n"
        "*** End Patch\n"
    )
    here.ok("apply_patch", patch=patch)
    assert here.get("b/c.txt") == b"one\n2\n" and not (here.root / "a.txt").exists()


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "nonsense",
        "*** Begin Patch\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: ../x\n@@\n-a\n+b\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: /etc/x\n+a\n*** End Patch\n",
        "*** Begin Patch\n*** Add File: a.txt\n+a\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: absent.txt\n@@\n-a\n+b\n*** End Patch\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,99 +1,1 @@\n-x\n",
    ],
)
def test_bad_patches(here, patch):
    here.put("a.txt", "one\n")
    assert len(here.error("apply_patch", patch=patch)) > 10
    assert here.get("a.txt") == b"one\n"


# --- grep and glob ---


def test_grep(here):
    here.put("src/a.c", "int needle;\nint other;\n")
    here.put("src/b.py", "needle = 1\n")
    here.put(".gitignore", "ignored/\n")
    here.put("ignored/c.c", "needle\n")
    here.put(".hidden", "needle\n")
    here.put("binary", b"needle\x00\n")
    (here.root / ".git").mkdir()
    found = here.ok("grep", pattern=r"\bneedle\b")
    assert found.data == {
        "locations": [
            {"path": "src/a.c", "line": 1, "text": "int needle;"},
            {"path": "src/b.py", "line": 1, "text": "needle = 1"},
        ],
        "total": 2,
    }
    assert "src/a.c:1: int needle;" in found.text
    assert here.ok("grep", pattern="needle", glob="*.py").data["total"] == 1
    assert here.ok("grep", pattern="needle", path="src/a.c").data["total"] == 1
    assert here.ok("grep", pattern="absent").data == {"locations": [], "total": 0}


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<x", ""])
def test_grep_bad_patterns(here, pattern):
    here.put("a.txt", "a\n")
    assert len(here.error("grep", pattern=pattern)) > 10


@pytest.mark.parametrize("pattern", ["one\ntwo", r"one\r?\ntwo"])
def test_grep_says_that_lines_are_searched_one_by_one(here, pattern):
    here.put("a.txt", "one\ntwo\n")
    assert "one by one" in here.ok("grep", pattern=pattern).text
    assert "one by one" not in here.ok("grep", pattern="three").text


def test_grep_does_not_run_away(here):
    here.put("a.txt", "a" * 5000 + "!\n")
    # It comes back; the answer may say that the pattern is too costly.
    here.call("grep", pattern=r"^(a+)+$")


def test_what_cannot_be_read_is_no_empty_answer(here):
    """A file that is named, and folders that a walk leaves out."""
    with open(here.root / "huge.txt", "wb") as huge:
        huge.truncate(65 << 20)
    assert "huge.txt" in here.error("grep", pattern="x", path="huge.txt")
    folder = here.root / "deep"
    for _ in range(220):
        folder.mkdir()
        folder /= "d"
    (folder.parent / "bottom.txt").write_text("x\n")
    assert "1 folder that cannot be read" in here.ok("glob", pattern="bottom.txt").text
    assert "1 unreadable" in here.ok("grep", pattern="x").text


def test_glob(here):
    for path in ("a.c", "src/b.c", "src/deep/c.c", "src/d.h"):
        here.put(path, "")
    assert "src/deep/c.c" in here.ok("glob", pattern="**/*.c").text
    text = here.ok("glob", pattern="src/*.c").text
    assert "src/b.c" in text and "src/deep/c.c" not in text
    assert "d.h" in here.ok("glob", pattern="*.h", path="src").text
    assert not here.call("glob", pattern="*.absent").is_error


# --- shell ---


def test_shell(here):
    assert "hello" in here.ok("shell", command="echo hello").text
    result = here.call("shell", command="echo out; echo err >&2; exit 3")
    assert "out" in result.text and "err" in result.text and "3" in result.text
    assert str(here.root) in here.ok("shell", command="pwd").text


def test_shell_timeout_leaves_nothing(here):
    text = here.error("shell", command="sleep 300 & sleep 301", timeout_seconds=1)
    assert "1" in text


def test_shell_output_is_bounded(here):
    result = here.call("shell", command="yes | head -c 30000000; echo the end")
    assert len(result.text) < 200_000 and "the end" in result.text


def test_shell_reads_no_input(here):
    assert not here.call("shell", command="cat", timeout_seconds=20).is_error


def test_shell_background_child_does_not_hang(here):
    result = here.call("shell", command="sleep 300 > /dev/null 2>&1 & echo started")
    assert "started" in result.text


def test_allow_is_needed(werkbank, tmp_path):
    root = tmp_path / "other"
    root.mkdir()
    session = werkbank.session(root)
    assert "--allow" in session.error("write", path="a", content="")
    assert "--allow" in session.error("shell", command="true")
    assert list(root.iterdir()) == []
