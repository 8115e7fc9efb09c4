"""resolve: what a staged change does when the files under it are no longer what they were.

Every attack has the same answer: nothing at all is written, the sentence names the file, and the
change stays staged until it is discarded.
"""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

from harness.program import BINARY

A = b"int f(void)\n{\n    foo(1);\n    foo(2);\n}\n"
B = b"int g(void)\n{\n    foo(3);\n}\n"


class Tree:
    def __init__(self, root, session):
        self.root = root
        self.session = session
        self.put("a.c", A)
        self.put("sub/b.c", B)

    def put(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def get(self, path):
        return (self.root / path).read_bytes()

    def stage(self, rewrite="bar($A)", **more):
        result = self.session.ok(
            "ast_edit", pattern="foo($A)", rewrite=rewrite, language="c", **more
        )
        assert result.text.startswith("(proposed) "), result
        return result.data["edit_id"]

    def accept(self, edit_id):
        return self.session.ok("resolve", edit_id=edit_id, action="accept")

    def refused(self, edit_id):
        """The sentence of a refusal; no file that still has its old name is changed by it."""
        text = self.session.error("resolve", edit_id=edit_id, action="accept")
        assert "nothing was written" in text and edit_id in text
        return text


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(werkbank, root):
    return Tree(root, werkbank.session(root, "--allow", "write"))


# --- the two ways ---


def test_accept(tree):
    proposed = tree.session.ok("ast_edit", pattern="foo($A)", rewrite="bar($A)", language="c")
    assert proposed.text.startswith("(proposed) 3 replacements in 2 files")
    assert 'call resolve with edit_id "edit_1"' in proposed.text
    assert tree.get("a.c") == A and tree.get("sub/b.c") == B
    result = tree.accept("edit_1")
    assert tree.get("a.c") == A.replace(b"foo", b"bar")
    assert tree.get("sub/b.c") == B.replace(b"foo", b"bar")
    assert result.data == {
        "edit_id": "edit_1",
        "action": "accept",
        "replacements": 3,
        "files": ["a.c", "sub/b.c"],
    }
    assert "accepted edit_1: 3 replacements in 2 files" in result.text


def test_discard(tree):
    edit_id = tree.stage()
    result = tree.session.ok("resolve", edit_id=edit_id, action="discard")
    assert result.data["action"] == "discard"
    assert tree.get("a.c") == A and tree.get("sub/b.c") == B


def test_ids_that_are_not_staged(tree):
    assert "is not known. Staged: nothing" in tree.session.error(
        "resolve", edit_id="edit_1", action="accept"
    )
    first, second, third = tree.stage(), tree.stage("baz($A)"), tree.stage("qux($A)")
    assert [first, second, third] == ["edit_1", "edit_2", "edit_3"]
    tree.accept(first)
    tree.session.ok("resolve", edit_id=second, action="discard")
    for edit_id, what in (
        (first, "was accepted already"),
        (second, "was discarded already"),
        ("edit_9", "is not known"),
        ("edit_" + "9" * 60, "is not known"),
        ("../../etc", "is not known"),
    ):
        for action in ("accept", "discard"):
            text = tree.session.error("resolve", edit_id=edit_id, action=action)
            assert what in text
            assert "edit_3 (foo($A): 3 replacements in 2 files)" in text


@pytest.mark.parametrize("args", [{}, {"edit_id": "edit_1"}, {"action": "accept"}])
def test_arguments(tree, args):
    tree.session.error("resolve", **args)
    assert "accept" in tree.session.error("resolve", edit_id="edit_1", action="apply")


def test_a_refused_change_can_be_accepted_later(tree):
    edit_id = tree.stage()
    tree.put("a.c", A + b"\n")
    tree.refused(edit_id)
    tree.put("a.c", A)
    tree.accept(edit_id)
    assert tree.get("a.c") == A.replace(b"foo", b"bar")


def test_two_edits_over_one_file(tree):
    first, second = tree.stage(), tree.stage("baz($A)", path="a.c")
    tree.accept(first)
    assert "a.c has changed" in tree.refused(second)
    assert tree.get("a.c") == A.replace(b"foo", b"bar")


def test_two_edits_over_two_files(tree):
    first, second = tree.stage(path="a.c"), tree.stage("baz($A)", path="sub/b.c")
    tree.accept(first)
    tree.accept(second)
    assert tree.get("a.c") == A.replace(b"foo", b"bar")
    assert tree.get("sub/b.c") == B.replace(b"foo", b"baz")


def test_runs_do_not_see_each_other(tree, werkbank, root):
    edit_id = tree.stage()
    other = werkbank.session(root, "--allow", "write")
    assert "is not known" in other.error("resolve", edit_id=edit_id, action="accept")


def test_too_much_is_refused(tree):
    for _ in range(32):
        tree.stage()
    text = tree.session.error("ast_edit", pattern="foo($A)", rewrite="x($A)", language="c")
    assert "edit_1 (" in text and "edit_32 (" in text and "discard" in text
    tree.session.ok("resolve", edit_id="edit_7", action="discard")
    assert tree.stage() == "edit_33"


# --- attacks between staging and accepting ---


def change(path):
    path.write_bytes(path.read_bytes() + b"// more\n")


def change_and_restore_size(path):
    path.write_bytes(path.read_bytes().replace(b"foo(3)", b"foo(4)"))
    os.utime(path, ns=(0, 0))


def delete(path):
    path.unlink()


def make_folder(path):
    path.unlink()
    path.mkdir()


def make_symlink(path):
    """To a file with the very same content, inside the workspace."""
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved").name)


def make_symlink_outside(path):
    outside = path.parent.parent.parent / "outside.c"
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def move_folder(path):
    """The folder above is a symlink to where the file is now."""
    folder = path.parent
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


@pytest.mark.parametrize(
    "attack,word",
    [
        (change, "has changed"),
        (change_and_restore_size, "has changed"),
        (delete, "is not there any more"),
        (make_folder, "is a folder now"),
        (make_symlink, "is a symlink now"),
        (make_symlink_outside, "is a symlink now"),
        (make_fifo, "is no regular file now"),
        (move_folder, "leads to another file now"),
    ],
)
def test_attack(tree, attack, word):
    edit_id = tree.stage()
    attack(tree.root / "sub/b.c")
    before = snapshot(tree.root)
    text = tree.refused(edit_id)
    assert f"sub/b.c {word}" in text
    assert tree.get("a.c") == A
    assert snapshot(tree.root) == before
    tree.session.ok("resolve", edit_id=edit_id, action="discard")


def snapshot(root):
    state = {}
    for path in sorted(root.rglob("*")):
        st = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(st.st_mode) else None
        state[str(path)] = (st.st_mode, st.st_ino, content)
    return state


def give_to_nobody(root, home):
    """So that a user who is not root owns all of it, and gets there."""
    os.chown(root, 65534, 65534)
    for path in root.rglob("*"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    os.chown(home, 65534, 65534)
    folder = root
    while folder != folder.parent:  # pytest's folders are their owner's alone
        os.chmod(folder, folder.stat().st_mode | 0o011)
        folder = folder.parent


def as_nobody(werkbank, root, calls):
    """The calls in a session of a user who is not root: root may write everything."""
    home = root.parent / "nobody"
    home.mkdir(exist_ok=True)
    nobody = {}
    if os.geteuid() == 0:
        give_to_nobody(root, home)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    env = {**werkbank.env, "XDG_STATE_HOME": str(home), "HOME": str(home)}
    session = subprocess.Popen(
        [BINARY, "call", "--workspace", root, "--allow", "write", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        cwd=root,
        **nobody,
    )
    results = []
    for call in calls:
        if callable(call):
            call()
            continue
        session.stdin.write((json.dumps(call) + "\n").encode())
        session.stdin.flush()
        results.append(json.loads(session.stdout.readline()))
    session.stdin.close()
    assert session.wait(60) == 0
    session.stdout.close()
    return results


STAGE = {"tool": "ast_edit", "args": {"pattern": "foo($A)", "rewrite": "bar($A)", "language": "c"}}
ACCEPT = {"tool": "resolve", "args": {"edit_id": "edit_1", "action": "accept"}}


@pytest.mark.parametrize("path,mode", [("sub/b.c", 0o444), ("sub", 0o555)])
def test_read_only(werkbank, tree, path, mode):
    staged, refused = as_nobody(
        werkbank, tree.root, [STAGE, lambda: os.chmod(tree.root / path, mode), ACCEPT]
    )
    assert not staged["is_error"], staged
    assert refused["is_error"] and "sub/b.c" in refused["text"], refused
    assert tree.get("a.c") == A and tree.get("sub/b.c") == B


def test_full_disk(werkbank, tmp_path):
    if os.geteuid() != 0:  # only root mounts: again, as root of a namespace of our own
        pytest_again = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        name = f"{pathlib.Path(__file__)}::test_full_disk"
        subprocess.run(["unshare", "-rm", *pytest_again, name], check=True)
        return
    root = tmp_path / "small"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", root]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.fail("no tmpfs could be mounted")
    try:
        session = werkbank.session(root, "--allow", "write")
        content = b"void f(void)\n{\n" + b"    foo(1); /* " + b"x" * 60_000 + b" */\n}\n"
        for name in ("a.c", "b.c", "c.c"):
            (root / name).write_bytes(content)
        session.ok("ast_edit", **STAGE["args"])
        before = snapshot(root)
        text = session.error("resolve", edit_id="edit_1", action="accept")
        assert "nothing was written" in text and "space" in text
        assert snapshot(root) == before
        for name in ("b.c", "c.c"):
            (root / name).write_bytes(b"int x;\n")
        session.ok("ast_edit", **STAGE["args"])
        session.ok("resolve", edit_id="edit_2", action="accept")
        assert (root / "a.c").read_bytes() == content.replace(b"foo", b"bar")
        session.close()
    finally:
        subprocess.run(["umount", "-l", root], check=True)


CALLS = ["openat2", "pwrite64", "write", "fsync", "renameat", "linkat", "unlinkat", "fcntl"]


def trace(werkbank, root, calls, call, *inject):
    """The program under strace on a fresh tree; the trace."""
    for path, content in (("a.c", A), ("sub/b.c", B)):
        (root / path).write_bytes(content)
    log = root.parent / "strace.log"
    subprocess.run(
        ["strace", "-f", "-qq", "-o", log, "-e", f"trace={call}", *inject]
        + [BINARY, "call", "--workspace", root, "--allow", "write", "-"],
        input="".join(json.dumps(one) + "\n" for one in calls).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**werkbank.env, "ASAN_OPTIONS": "detect_leaks=0"},
        check=False,
    )
    return log.read_text(errors="replace")


@pytest.mark.parametrize("call", CALLS)
def test_killed_at_each_call(werkbank, tmp_path, call):
    """All old or all new after the next start, at whatever call of the accepting it died."""
    root = tmp_path / "killed"
    (root / "sub").mkdir(parents=True)
    new = (A.replace(b"foo", b"bar"), B.replace(b"foo", b"bar"))
    n_before = trace(werkbank, root, [STAGE], call).count(f"{call}(")
    n_all = trace(werkbank, root, [STAGE, ACCEPT], call).count(f"{call}(")
    assert ((root / "a.c").read_bytes(), (root / "sub/b.c").read_bytes()) == new
    seen = set()
    for number in range(max(1, n_before - 3), n_all + 1):
        inject = f"inject={call}:signal=SIGKILL:when={number}"
        log = trace(werkbank, root, [STAGE, ACCEPT], call, "-e", inject)
        assert "killed by SIGKILL" in log or number > n_all - 3
        werkbank.call(root, "glob", {"pattern": "*"})  # the next start repairs
        left = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        assert left == {"a.c", "sub/b.c"}
        now = ((root / "a.c").read_bytes(), (root / "sub/b.c").read_bytes())
        assert now in ((A, B), new)
        seen.add(now)
    assert n_all > n_before and seen


# --- what is kept ---


def test_modes_links_and_symlinks_are_kept(tree):
    os.chmod(tree.root / "a.c", 0o751)
    os.link(tree.root / "sub/b.c", tree.root / "z_hard.c")
    (tree.root / "a_link.c").symlink_to("sub/b.c")
    inode = (tree.root / "sub/b.c").stat().st_ino
    proposed = tree.session.ok("ast_edit", pattern="foo($A)", rewrite="bar($A)", language="c")
    assert proposed.data["files"] == ["a.c", "sub/b.c"]
    assert proposed.data["replacements"] == 3
    tree.accept(proposed.data["edit_id"])
    assert stat.S_IMODE((tree.root / "a.c").stat().st_mode) == 0o751
    assert (tree.root / "a_link.c").is_symlink()
    assert (tree.root / "sub/b.c").stat().st_ino == inode
    assert tree.get("z_hard.c") == tree.get("sub/b.c") == B.replace(b"foo", b"bar")


def test_a_symlink_to_a_hidden_file_writes_the_file(tree):
    tree.put(".hidden/c.c", B)
    (tree.root / "c_link.c").symlink_to(".hidden/c.c")
    edit_id = tree.stage(path="c_link.c")
    tree.accept(edit_id)
    assert (tree.root / "c_link.c").is_symlink()
    assert tree.get(".hidden/c.c") == B.replace(b"foo", b"bar")
    assert tree.get("a.c") == A


def test_a_symlink_out_of_the_workspace_is_left_alone(tree):
    outside = tree.root.parent / "outside.c"
    outside.write_bytes(B)
    (tree.root / "out.c").symlink_to(outside)
    proposed = tree.session.ok("ast_edit", pattern="foo($A)", rewrite="bar($A)", language="c")
    assert proposed.data["files"] == ["a.c", "sub/b.c"]
    assert "1 symlinks out of the workspace" in proposed.text
    tree.accept(proposed.data["edit_id"])
    assert outside.read_bytes() == B


# --- who sees them ---


def test_the_tiers(werkbank, root):
    for cap, names in (
        ("read", {"ast_grep"}),
        ("write", {"ast_grep", "ast_edit", "resolve"}),
        ("exec", {"ast_grep", "ast_edit", "resolve"}),
    ):
        listed = werkbank.run("tools", "--workspace", root, "--cap", cap, "--json").stdout
        shown = {tool["name"] for tool in json.loads(listed)}
        assert shown & {"ast_grep", "ast_edit", "resolve"} == names
        assert cap != "read" or ("ast_edit" not in listed and "resolve" not in listed)


def test_nobody_to_approve(werkbank, root):
    """Without --allow write both need a card, and here is nobody to answer it."""
    (root / "a.c").write_bytes(A)
    session = werkbank.session(root)
    session.error("ast_edit", **STAGE["args"])
    session.error("resolve", edit_id="edit_1", action="accept")
    assert (root / "a.c").read_bytes() == A


def test_new_errors_come_with_the_answer(werkbank, root):
    """The servers' word on the accepted change, clangd's here."""
    assert shutil.which("clangd", path=werkbank.env["PATH"])
    (root / "compile_flags.txt").write_text("-Wall\n")
    (root / "a.c").write_text("int foo(int a);\nint f(void)\n{\n    return foo(1);\n}\n")
    session = werkbank.session(root, "--allow", "write")
    session.ok("lsp", action="diagnostics", file="a.c")
    session.ok("ast_edit", pattern="foo(1)", rewrite="bar(1)", language="c")
    result = session.ok("resolve", edit_id="edit_1", action="accept")
    assert "bar" in result.text.split("accepted", 1)[1].split("\n", 2)[2]
    assert pathlib.Path(root / "a.c").read_text().count("bar(1)") == 1
