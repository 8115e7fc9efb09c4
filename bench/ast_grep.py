#!/usr/bin/env python3
"""ast_grep beside ast-grep and ripgrep on real code; the acceptance of an ast_edit beside plain writes.

    bench/ast_grep.py [--rounds N] [WERKBANK]

Whole processes, from start to end: processor and wall time of each.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import time

from clients import Mcp
from common import TOOLS, add_program, bench_home, compare, end, find, show_machine
from common import show_samples, show_version
from corpus import Corpus

RESULTS_MAX = 10000  # ast_grep's own bound

# language, ast-grep's name of it, endings, bytes at least, what no name is in
LANGUAGES = [
    ("c", "c", (".c", ".h"), 12_000_000, ["$A == $A", "$F($X);"]),
    ("python", "python", (".py",), 26_000_000, ["$A == $A", "$F($X)"]),
    ("typescript", "ts", (".ts",), 6_000_000, ["$A && $A($$$)", "$F($X)"]),
    ("dart", "dart", (".dart",), 10_000_000, ["final $A = $A;"]),
]
# For each: how much less processor time than ast-grep's.
NAMES = {"rare": 15, "in a tenth": 1.8, "in half": 1.25}

ACCEPT_FILES, ACCEPT_EACH = 1000, 10


def run(argv, env):
    """Processor and wall seconds, output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 1):  # 1: nothing was found
        raise SystemExit(f"{argv}: {done.stderr.decode()}")
    return cpu, wall, done.stdout


class Sides:
    def __init__(self, program, env, language, peer_language, corpus):
        self.program, self.env, self.language = program, env, language
        self.peer_language, self.corpus = peer_language, corpus
        platform = TOOLS / "npm/servers/node_modules/@ast-grep"
        # What npm puts into bin/ is a script that starts this.
        found = list(platform.glob("cli-*/ast-grep"))
        self.ast_grep = str(found[0]) if found else find("ast-grep", env)

    def ours(self, pattern, **more):
        arguments = {"pattern": pattern, "language": self.language, **more}
        argv = [self.program, "call", "--json", "--workspace", str(self.corpus.root), "ast_grep"]
        cpu, wall, out = run([*argv, json.dumps(arguments)], self.env)
        return cpu, wall, json.loads(out)["data"]

    def theirs(self, pattern):
        argv = [self.ast_grep, "run", "-p", pattern, "-l", self.peer_language]
        return run([*argv, str(self.corpus.root)], self.env)[:2]

    def ripgrep(self, name):
        return run([find("rg", self.env), "-c", "-F", name, str(self.corpus.root)], self.env)[:2]

    def rounds(self, n, *sides):
        """Each round in another order; for each side its processor and its wall times."""
        samples = [([], []) for _ in sides]
        for i in range(-1, n):  # the first one warms up
            for k in range(len(sides)):
                j = (k + i) % len(sides)
                cpu, wall = sides[j]()[:2]
                if i >= 0:
                    samples[j][0].append(cpu)
                    samples[j][1].append(wall)
        return samples


def show(what, sides, samples):
    for side, (cpu, wall) in zip(sides, samples):
        if any(cpu):
            show_samples(f"{what}, {side}, processor s", cpu)
        show_samples(f"{what}, {side}, wall s", wall)


def cold_named(sides, n, results):
    for what, name, share, held in sides.corpus.names():
        pattern = f"{name}($$$)"
        label = f"{sides.language}, a name {what}"
        print(f"# {label}: {name}, in {share:.1%} of the files and {held:.1%} of the bytes")
        samples = sides.rounds(
            n,
            lambda: sides.ours(pattern, max_results=RESULTS_MAX),
            lambda: sides.theirs(pattern),
            lambda: sides.ripgrep(name),
        )
        show(label, ("werkbank", "ast-grep", "rg"), samples)
        ours, theirs, rg = (side[0] for side in samples)
        results.append(
            compare(f"{label}, processor", ours, theirs, round(1 / NAMES[what], 3), unit="s")
        )
        if what == "rare":
            results.append(compare(f"{label}, beside rg", ours, rg, 4, unit="s"))


def cold_nameless(sides, n, patterns, results):
    for pattern in patterns:
        label = f"{sides.language}, no name, `{pattern}`"
        found = sides.ours(pattern, max_results=RESULTS_MAX)[2]
        samples = sides.rounds(
            n,
            lambda: sides.ours(pattern, max_results=RESULTS_MAX),
            lambda: sides.theirs(pattern),
            lambda: sides.ours(pattern),
        )
        show(label, ("werkbank", "ast-grep", "werkbank by default"), samples)
        ours, theirs, default = samples
        print(f"# {label}: {found['total']} matches" + ("" if found["complete"] else " or more"))
        results.append(compare(f"{label}, processor", ours[0], theirs[0], 1.15, unit="s"))
        if found["total"] >= 2000:  # far more than are shown
            results.append(
                compare(f"{label}, 50 results, wall", default[1], theirs[1], 0.1, unit="s")
            )


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def warm(sides, n, patterns, results):
    """The second question to a `serve`, beside a new process of ast-grep."""
    argv = [sides.program, "serve", "--workspace", str(sides.corpus.root)]
    client = Mcp(argv, sides.env)

    def ask(pattern):
        start = time.monotonic()
        text, is_error = client.call(
            "ast_grep", pattern=pattern, language=sides.language, max_results=RESULTS_MAX
        )
        if is_error:
            raise SystemExit(text)
        return 0, time.monotonic() - start

    ask("werkbank_is_nowhere($$$)")
    before = resident(client.child.pid)
    for pattern in patterns:
        ask(pattern)
    grown = resident(client.child.pid) - before
    print(f"# {sides.language}, cache: {grown / 1e6:.0f} MB for {sides.corpus.bytes / 1e6:.0f} MB")
    results.append(
        compare(
            f"{sides.language}, what serve has grown by, beside the source",
            [grown / 1e6],
            [sides.corpus.bytes / 1e6],
            6,
            unit="MB",
        )
    )
    for pattern in patterns:
        label = f"{sides.language}, warm, `{pattern}`"
        samples = sides.rounds(n, lambda: ask(pattern), lambda: sides.theirs(pattern))
        show(label, ("werkbank", "new ast-grep"), samples)
        results.append(compare(f"{label}, wall", samples[0][1], samples[1][1], 0.1, unit="s"))
    client.close()


def make_files(root):
    root.mkdir(exist_ok=True)
    body = "".join(f"    foo({i});\n" for i in range(ACCEPT_EACH))
    text = f"void f(void)\n{{\n{body}    /* {'x' * 3000} */\n}}\n"
    for i in range(ACCEPT_FILES):
        (root / f"f{i:04}.c").write_text(text)
    os.sync()


def write_plainly(root):
    make_files(root)
    start = time.monotonic()
    for path in sorted(root.iterdir()):
        content = path.read_bytes().replace(b"foo", b"bar")
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    return time.monotonic() - start


def accept(program, env, root):
    make_files(root)
    argv = [program, "call", "--json", "--workspace", str(root), "--allow", "write"]
    child = subprocess.Popen(
        [*argv, "--tools", "ast_edit,resolve", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    )

    def call(tool, **arguments):
        child.stdin.write(json.dumps({"tool": tool, "args": arguments}).encode() + b"\n")
        child.stdin.flush()
        result = json.loads(child.stdout.readline())
        if result["is_error"]:
            raise SystemExit(result["text"])
        return result["data"]

    staged = call("ast_edit", pattern="foo($$$A)", rewrite="bar($$$A)", language="c")
    assert staged["replacements"] == ACCEPT_FILES * ACCEPT_EACH
    start = time.monotonic()
    call("resolve", edit_id=staged["edit_id"], action="accept")
    taken = time.monotonic() - start
    child.stdin.close()
    child.wait()
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", help="a language, or accept")
    add_program(parser)
    args = parser.parse_args()
    # A round reads some ten megabytes a dozen times.
    n = max(3, args.rounds // 4)
    results = []
    show_machine()
    with bench_home() as (home, env):
        show_version("werkbank", [args.werkbank, "--version"], env)
        show_version("rg", [find("rg", env), "--version"], env)
        for language, peer, endings, size, patterns in LANGUAGES:
            if args.only not in (None, language):
                continue
            corpus = Corpus(home / language, language, endings, size)
            if not corpus.is_enough:
                print(f"# {language}: less than {size / 1e6:.0f} MB are here: nothing is measured")
                continue
            sides = Sides(args.werkbank, env, language, peer, corpus)
            show_version("ast-grep", [sides.ast_grep, "--version"], env)
            cold_named(sides, n, results)
            cold_nameless(sides, n, patterns, results)
            warm(sides, n, patterns, results)
        if args.only in (None, "accept"):
            pairs = [(accept(args.werkbank, env, home / "a"), write_plainly(home / "b"))]
            pairs += [(accept(args.werkbank, env, home / "a"), write_plainly(home / "b"))
                      for _ in range(n)]
            ours, plain = zip(*pairs[1:])
            show_samples("10,000 replacements accepted, werkbank, s", ours)
            show_samples("10,000 replacements accepted, plain writes, s", plain)
            results.append(compare("10,000 replacements in 1,000 files", ours, plain, 4, unit="s"))
    end(results)


if __name__ == "__main__":
    main()
