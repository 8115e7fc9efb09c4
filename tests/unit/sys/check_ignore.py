"""Compares the walk with git: on generated trees with generated rule files, exactly the files and
folders that `git check-ignore` does not name must be given.

usage: check_ignore.py WALK_PROGRAM [SEED [TREES]]
"""
import os
import random
import subprocess
import sys
import tempfile

NAMES = ["a", "b", "ab", "abc", "foo", "foo.c", "bar.o", "x y", "end ", "#x", "!y", "[z]", "a*b",
         "back\\slash", "é", "tab\t", "-d", ".dot", "A", "1", "}{", "cr\r"]
FOLDERS = ["a", "b", "foo", "src", "build", "d e", ".cfg", "ab", "[z]"]
PIECES = ["*", "?", "a", "b", "foo", "*.c", "*.o", ".", "[ab]", "[!a]", "[^b]", "[a-f]", "[]z]",
          "[[:alpha:]]", "[[:digit:]]", "[[:space:]]", "\\[z\\]", "\\*", "\\#x", "\\!y", "x\\ y",
          "x y", "end\\ ", "[z]", "[", "\\", "{a,b}", "é", "back\\\\slash", "tab\t", "[A-Z]",
          "[b-]", "[-a]", "[\\]z]", "[[:nope:]]", "**", "***", "[a/b]", "-d", "build", "src",
          "d e", "cr\r", "ab", "A"]
LINE_ENDS = ["\n", "\n", "\n", "\r\n"]


def component(rng):
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(NAMES + FOLDERS).rstrip("\r")
    if kind < 0.5:
        return rng.choice(["**", "*", "?", "*.c", "a*", "*b"])
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 3)))


def rule(rng):
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(["", "#a", "# b", "/", "//", "!", "\\", "**", "**/", "/**", "/*", "!/*"])
    text = "/".join(component(rng) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])))
    text = rng.choice(["", "", "", "/", "!", "!/"]) + text
    return text + rng.choice(["", "", "", "/", " ", "/ ", "/**", "/*"])


def rule_file(rng):
    lines = [rule(rng) for _ in range(rng.randint(1, 6))]
    text = "".join(line + rng.choice(LINE_ENDS) for line in lines)
    if rng.random() < 0.3:
        text = text.rstrip("\n")
    if rng.random() < 0.1:
        text = "\ufeff" + text
    return text.encode()


def make_level(rng, folder, depth):
    os.makedirs(folder, exist_ok=True)
    if depth == 0 or rng.random() < 0.3:
        with open(os.path.join(folder, ".gitignore"), "wb") as out:
            out.write(rule_file(rng))
    for name in rng.sample(FOLDERS, rng.randint(0, 3)) if depth < 4 else []:
        make_level(rng, os.path.join(folder, name), depth + 1)
    for name in rng.sample(NAMES, rng.randint(1, 6)):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            open(path, "w").close()


def all_entries(root):
    found = []
    for folder, folders, files in os.walk(os.fsencode(root)):
        if b".git" in folders:
            folders.remove(b".git")
        found += [os.path.relpath(os.path.join(folder, name), os.fsencode(root))
                  for name in folders + files]
    return found


def not_ignored(root, env):
    """What git would show. check-ignore also says yes to what lies in an ignored folder."""
    entries = all_entries(root)
    ignored = subprocess.run(["git", "check-ignore", "--no-index", "-z", "--stdin"], cwd=root,
                             input=b"\0".join(entries), env=env, stdout=subprocess.PIPE)
    assert ignored.returncode in (0, 1), ignored
    return set(entries) - set(ignored.stdout.split(b"\0"))


def show(root, path):
    print("differs on", path, "in", root)
    for folder in [b""] + [path[:i] for i in range(len(path)) if path[i:i + 1] == b"/"]:
        rules = os.path.join(os.fsencode(root), folder, b".gitignore")
        if os.path.exists(rules):
            print(folder, open(rules, "rb").read())


def split_answers(walked):
    """One set of paths for each folder walked; an empty path ends each."""
    answers, current = [], set()
    for path in walked.split(b"\0"):
        if path:
            current.add(path)
        else:
            answers.append(current)
            current = set()
    return answers


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20261201
    n_trees = int(sys.argv[3]) if len(sys.argv) > 3 else 250
    rng = random.Random(seed)
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_CONFIG_GLOBAL": "/dev/null"}
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        subprocess.run(["git", "init", "-q", "--template=", top], check=True, env=env)
        roots = []
        n_entries = n_ignored = n_wrong = 0
        for i in range(n_trees):
            root = os.path.join(top, "t%d" % i)
            make_level(rng, root, 0)
            roots.append(root)
        walked = subprocess.run([program] + roots, stdout=subprocess.PIPE, check=True).stdout
        for root, ours in zip(roots, split_answers(walked)):
            theirs = not_ignored(root, dict(env, GIT_DIR=os.path.join(top, ".git"),
                                            GIT_WORK_TREE=root))
            entries = all_entries(root)
            n_entries += len(entries)
            n_ignored += len(entries) - len(theirs)
            for path in sorted(ours ^ theirs):
                show(root, path)
                n_wrong += 1
        print("seed %d: %d trees, %d entries, %d ignored, %d different"
              % (seed, n_trees, n_entries, n_ignored, n_wrong))
        sys.exit(n_wrong != 0 or n_ignored < n_entries // 10)


main()
