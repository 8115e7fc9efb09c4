"""A commit of edits that is killed, or fails once, at every one of its system calls in turn.

Each run gets a fresh tree. strace makes the fault: nothing in the program knows of it. Afterwards
`recover` runs, as at the next start, and the tree must be all old or all new, without leftovers.

usage: test_commit_faults.py COMMIT_PROGRAM
"""
import concurrent.futures
import os
import stat
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])

# Everything that changes something, or tells that it is on the disk.
CALLS = ["openat", "openat2", "write", "pwrite64", "fsync", "fdatasync", "renameat", "renameat2",
         "linkat", "unlinkat", "mkdir", "mkdirat", "fchmod", "fchown", "fsetxattr", "ftruncate", "fcntl",
         "close"]
LOOKS = ["newfstatat", "readlink", "getdents64", "read", "llistxattr", "lgetxattr"]
KILLS = CALLS + ["newfstatat", "clone3", "munmap"]
ERRORS = ["ENOSPC", "EACCES", "EIO"]
FILES = ["changed.txt", "renamed.txt", "deleted.txt", "linked.txt", "sub/target.txt",
         "folder/inside.txt", "folder/other.txt", "gone/one.txt", "gone/deep/two.txt",
         "swap_a.txt", "swap_b.txt", "untouched.txt"]


class Case:
    """A tree and its journal, in a folder of their own."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory()
        base = os.path.realpath(self.scratch.name)
        self.tree = os.path.join(base, "tree")
        self.log = os.path.join(base, "strace.log")
        self.env = dict(os.environ, XDG_STATE_HOME=os.path.join(base, "state"))
        for name in FILES:
            path = os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write("content of %s\n" % name * 3)
        os.chmod(os.path.join(self.tree, "changed.txt"), 0o751)
        try:
            os.setxattr(os.path.join(self.tree, "changed.txt"), "user.note", b"kept")
            os.chown(os.path.join(self.tree, "changed.txt"), 1234, 1234)
        except OSError:
            pass  # a file system without attributes; not root
        os.link(os.path.join(self.tree, "linked.txt"), os.path.join(self.tree, "linked_too.txt"))
        os.symlink("sub/target.txt", os.path.join(self.tree, "symlink.txt"))

    def run(self, what, *trace):
        command = [PROGRAM, what, self.tree]
        if trace:
            command = ["strace", "-q", "-o", self.log, *trace] + command
        return subprocess.run(command, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def injected(self):
        with open(self.log, errors="replace") as log:
            text = log.read()
        return "INJECTED" in text or "killed by SIGKILL" in text

    def close(self):
        self.scratch.cleanup()


def describe(path):
    st = os.lstat(path)
    if stat.S_ISLNK(st.st_mode):
        return "link", os.readlink(path)
    if stat.S_ISDIR(st.st_mode):
        return "folder", stat.S_IMODE(st.st_mode)
    with open(path) as content:
        attributes = [(name, os.getxattr(path, name)) for name in os.listxattr(path)]
        return "file", stat.S_IMODE(st.st_mode), st.st_uid, st.st_nlink, attributes, content.read()


def snapshot(tree):
    return {os.path.relpath(os.path.join(folder, name), tree): describe(os.path.join(folder, name))
            for folder, folders, files in os.walk(tree) for name in folders + files}


def states():
    case = Case()
    old = snapshot(case.tree)
    done = case.run("apply")
    assert done.returncode == 0, done
    new = snapshot(case.tree)
    case.close()
    assert "new/folder/created.txt" in new and "gone" not in new and "folder2/other.txt" in new
    assert new["linked_too.txt"][5].startswith("changed: ") and new["linked_too.txt"][3] == 2
    assert new["symlink.txt"][0] == "link" and new["sub/target.txt"][5].startswith("changed: ")
    assert new["changed.txt"][:5] == old["changed.txt"][:5]
    assert new["swap_a.txt"] == old["swap_b.txt"] and new["swap_b.txt"] == old["swap_a.txt"]
    return old, new


OLD, NEW = states()


def problem(case, status):
    """What is wrong after the fault and the next start. status None: killed, either is right."""
    recovered = case.run("recover")
    if recovered.returncode != 0:
        return "recover: " + recovered.stdout
    now = snapshot(case.tree)
    if now == OLD and status != 0:
        return None
    if now == NEW and status in (0, None):
        return None
    differs = {name: now.get(name) for name in set(now) | set(OLD) if now.get(name) != OLD.get(name)}
    return "status %s, and not all %s: %s" % (status, "new" if status == 0 else "old", differs)


def kill_apply(call, k, *options):
    """Returns whether the call came that far, and what was wrong."""
    case = Case()
    case.run("apply", *options, "-e", "trace=" + call,
             "-e", "inject=%s:signal=SIGKILL:when=%d" % (call, k))
    result = case.injected(), problem(case, None)
    case.close()
    return result


def kill_threads(call, k):
    return kill_apply(call, k, "-f")


def fail_apply(call, error, k):
    case = Case()
    # With -f: the threads that stage contents fail too.
    done = case.run("apply", "-f", "-e", "trace=" + call,
                    "-e", "inject=%s:error=%s:when=%d" % (call, error, k))
    result = case.injected(), problem(case, done.returncode)
    case.close()
    return result


def kill_recover(first, call, k):
    """Killed while applying, and again while recovering."""
    case = Case()
    case.run("apply", "-e", "trace=" + first[0],
             "-e", "inject=%s:signal=SIGKILL:when=%d" % first)
    case.run("recover", "-e", "trace=" + call,
             "-e", "inject=%s:signal=SIGKILL:when=%d" % (call, k))
    result = case.injected(), problem(case, None)
    case.close()
    return result


def lack(call, error):
    """A file system that does not have the call: there is another way."""
    case = Case()
    done = case.run("apply", "-f", "-e", "trace=" + call,
                    "-e", "inject=%s:error=%s" % (call, error))
    now = snapshot(case.tree)
    case.close()
    return [] if done.returncode == 0 and now == NEW else ["without %s: %s" % (call, done.stdout)]


def sweep(label, function, *arguments):
    """function with k = 1, 2, ... until the fault is not reached any more."""
    k, problems = 1, []
    while True:
        reached, wrong = function(*arguments, k)
        if wrong:
            problems.append("%s %s %d: %s" % (label, arguments, k, wrong))
        if not reached:
            return k - 1, problems
        k += 1


def main():
    jobs = [("kill", kill_apply, call) for call in KILLS]
    jobs += [("kill a thread", kill_threads, call)
             for call in ["openat2", "write", "fsync", "fchmod", "fchown", "fsetxattr", "close"]]
    jobs += [("fail", fail_apply, call, error) for call in CALLS for error in ERRORS]
    jobs += [("fail", fail_apply, call, "EIO") for call in LOOKS]
    jobs += [("kill recovery", kill_recover, first, call)
             for first in [("renameat2", 3), ("renameat", 2), ("pwrite64", 2)]
             for call in ["rename", "renameat2", "unlink", "rmdir", "fsync", "ftruncate", "openat"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        results = list(pool.map(lambda job: sweep(*job), jobs))
    results.append((3, lack("renameat2", "EINVAL") + lack("linkat", "EPERM") + lack("openat2", "ENOSYS")))
    # Sweeps that reach no fault test nothing: the program makes that call no more.
    reached = {}
    for job, (count, _) in zip(jobs, results):
        key = job[0] == "kill recovery", job[3] if job[0] == "kill recovery" else job[2]
        reached[key] = reached.get(key, 0) + count
    results += [(0, ["no such call: %s" % (key,)]) for key, count in reached.items() if count == 0]
    for _, problems in results:
        for line in problems:
            print(line)
    faults = sum(count for count, _ in results)
    wrong = sum(len(problems) for _, problems in results)
    print("%d faults, %d wrong" % (faults, wrong))
    sys.exit(wrong != 0 or faults < 150)


main()
