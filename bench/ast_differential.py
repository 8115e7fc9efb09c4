#!/usr/bin/env python3
"""ast_grep beside ast-grep, match by match: every difference must have a reason.

    bench/ast_differential.py [--only LANGUAGE] [--show N] [WERKBANK]

ast_differential.json has the patterns. One that finds other places on the two sides names the rule
that explains those of each side; docs/internals/structural-search.md has the rules. Where a place is
the same and only its end differs, that is counted by itself ("ends"). Non-zero if a difference has no
rule.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from common import SOURCE, TOOLS, add_program, bench_home, find, show_machine, show_version
from corpus import Corpus

BYTES = 3_000_000
RESULTS_MAX = 10000


def ours(session, language, pattern, folders):
    places = collections.Counter()
    for folder in folders:
        arguments = {
            "pattern": pattern,
            "language": language,
            "path": folder.name,
            "max_results": RESULTS_MAX,
        }
        session.stdin.write(json.dumps({"tool": "ast_grep", "args": arguments}).encode() + b"\n")
        session.stdin.flush()
        result = json.loads(session.stdout.readline())
        if result["is_error"]:
            raise SystemExit(f"{pattern}: {result['text']}")
        if not result["data"]["complete"]:
            raise SystemExit(f"{pattern}: more than {RESULTS_MAX} matches in {folder.name}")
        for match in result["data"]["matches"]:
            places[match["path"], match["line"], match["text"].rstrip()] += 1
    return places


def theirs(program, language, pattern, root):
    argv = [program, "run", "-p", pattern, "-l", language, "--json=stream", "."]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root)
    places = collections.Counter()
    for line in done.stdout.splitlines():
        match = json.loads(line)
        path = match["file"].removeprefix("./")
        places[path, match["range"]["start"]["line"] + 1, match["text"].rstrip()] += 1
    return places


def pair_ends(more, less):
    """Takes out the places that both sides have, with another end."""
    n = 0
    begins = collections.Counter()
    for (path, line, _), count in less.items():
        begins[path, line] += count
    for place in list(more):
        same = min(more[place], begins[place[:2]])
        if same > 0:
            begins[place[:2]] -= same
            more[place] -= same
            n += same
            for other in [key for key in less if key[:2] == place[:2]]:
                taken = min(same, less[other])
                less[other] -= taken
                same -= taken
    return n


def compare(case, we, they, args):
    """One line; what is not explained."""
    both = sum((we & they).values())
    only_ours, only_theirs = we - they, they - we
    ends = pair_ends(only_ours, only_theirs)
    n_ours, n_theirs = only_ours.total(), only_theirs.total()
    print(
        f"{case['pattern']!r:60} both {both:6} ends {ends:5} "
        f"ours {n_ours:6} {case.get('ours', ''):10} theirs {n_theirs:6} {case.get('theirs', '')}",
        flush=True,
    )
    missing = []
    for side, only, n in (("ours", only_ours, n_ours), ("theirs", only_theirs, n_theirs)):
        if n > 0 and side not in case:
            missing.append(f"{case['pattern']!r}: only {side}: {n}")
        if n > 0 and args.show > 0 and (side not in case or args.show > 9):
            for path, line, text in list(+only)[: args.show]:
                print(f"    {side}: {path}:{line}: {text[:200]!r}")
    if ends > 0 and "ends" not in case:
        missing.append(f"{case['pattern']!r}: other ends: {ends}")
        for path, line, text in list(we - they)[: args.show]:
            print(f"    ends, ours: {path}:{line}: {text[:200]!r}")
    return missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="a language")
    parser.add_argument("--show", type=int, default=0, help="places of each difference")
    add_program(parser)
    args = parser.parse_args()
    data = json.loads((SOURCE / "bench/ast_differential.json").read_text())
    missing, n = [], 0
    show_machine()
    with bench_home() as (home, env):
        found = list((TOOLS / "npm/servers/node_modules/@ast-grep").glob("cli-*/ast-grep"))
        peer = str(found[0]) if found else find("ast-grep", env)
        show_version("ast-grep", [peer, "--version"], env)
        for row in data["languages"]:
            if args.only not in (None, row["language"]):
                continue
            root = home / row["language"]
            Corpus(root, row["language"], row["endings"], BYTES)
            argv = [args.werkbank, "call", "--workspace", str(root), "-"]
            session = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
            )
            for case in row["patterns"]:
                case = {"pattern": case} if isinstance(case, str) else case
                we = ours(session, row["language"], case["pattern"], sorted(root.iterdir()))
                they = theirs(peer, row["peer"], case["pattern"], root)
                missing += compare(case, we, they, args)
                n += 1
            session.stdin.close()
            session.wait()
    print(f"{n} patterns, {len(missing)} differences without a rule")
    print("".join(f"  {line}\n" for line in missing), end="")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
