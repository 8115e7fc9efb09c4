#!/usr/bin/env python3
"""lsp_calls: a warm `lsp` call through `werkbank serve` beside a bare client on the same clangd.

Both sides are driven and timed by round_trip.c, each on a clangd and a copy of the project of its
own: the bare side from writing the request to the last byte of clangd's answer, `serve` from
writing tools/call to the last byte of the result. The sides take turns call by call, so that both
servers come to each with caches as cold or warm as the other's. The bare client only receives;
`serve` also finds the symbol, looks whether files changed, reads the source lines of what it shows
and keeps its transcript: that is the product.

    bench/lsp_calls.py [--rounds N] [--calls N] [--clangd COMMAND] [--round-trip PATH] [WERKBANK]
"""

import argparse
import json
import os
import subprocess
import time

import common

HEADER = """\
#ifndef TALLY_H
#define TALLY_H
/** A tally of things that were seen. */
struct tally {
    int seen;
    int missed;
};
/** Adds to the tally and says what it holds then.
 *
 * \\param tally the tally
 * \\param seen how many were seen
 * \\return the sum of all that were seen */
int tally_add(struct tally *tally, int seen);
#endif
"""
SOURCE = """\
#include "tally.h"
int tally_add(struct tally *tally, int seen)
{
    tally->seen += seen;
    return tally->seen;
}
"""
USERS, USES = 6, 50  # with the two of the header and the source: 302 references


def make_project(root):
    files = {"tally.h": HEADER, "tally.c": SOURCE}
    for user in range(USERS):
        lines = ['#include "tally.h"', f"int use_{user}(struct tally *tally)", "{", "    int sum = 0;"]
        lines += [f"    sum += tally_add(tally, {use}); /* use {use} */" for use in range(USES)]
        files[f"use_{user}.c"] = "\n".join([*lines, "    return sum;", "}", ""])
    common.write_files(root, files)
    common.write_compile_commands(root)


class Side:
    """A program that round_trip drives."""

    def __init__(self, round_trip, framing, argv, env):
        self.child = subprocess.Popen(
            [round_trip, framing, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )

    def send(self, order, method, params):
        body = json.dumps({"method": method, "params": params})[1:-1].encode()
        self.child.stdin.write(f"{order} {len(body)}\n".encode() + body)
        self.child.stdin.flush()

    def notify(self, method, params):
        self.send("notify", method, params)

    def ask(self, method, params, count=1):
        """Milliseconds of each, and the last answer's result."""
        self.send(f"ask {count}", method, params)
        times = [int(word) / 1e6 for word in self.child.stdout.readline().split()]
        answer = json.loads(self.child.stdout.read(int(self.child.stdout.readline())))
        if "result" not in answer:
            raise SystemExit(f"{method} failed: {answer}")
        return times, answer["result"]

    def close(self):
        self.child.stdin.close()
        self.child.wait(30)


class Bare(Side):
    """The bare client: what a call asks of it is the LSP request itself."""

    def __init__(self, round_trip, clangd, root, env):
        super().__init__(round_trip, "header", [clangd, "--log=error"], env)
        self.root = root
        document = {
            "synchronization": {"didSave": True},
            "publishDiagnostics": {"versionSupport": True},
            "definition": {"linkSupport": True},
            "hover": {"contentFormat": ["markdown", "plaintext"]},
        }
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root.as_uri(),
                "capabilities": {"textDocument": document, "offsetEncoding": ["utf-8"]},
            },
        )
        self.notify("initialized", {})
        path = root / "use_0.c"
        document = {"uri": path.as_uri(), "languageId": "c", "version": 1, "text": path.read_text()}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def call(self, action, count=1):
        params = {
            "textDocument": {"uri": (self.root / "use_0.c").as_uri()},
            "position": {"line": 9, "character": 11},
        }
        if action == "references":
            params["context"] = {"includeDeclaration": True}
        return self.ask(f"textDocument/{action}", params, count)

    def references(self):
        return len(self.call("references")[1])


class Serve(Side):
    """Werkbank behind its own pipe."""

    def __init__(self, round_trip, werkbank, root, env):
        argv = [werkbank, "serve", "--workspace", str(root)]
        super().__init__(round_trip, "line", argv, env)
        self.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self.notify("notifications/initialized", {})

    def call(self, action, count=1):
        arguments = {"action": action, "file": "use_0.c", "line": 10, "symbol": "tally_add"}
        times, result = self.ask("tools/call", {"name": "lsp", "arguments": arguments}, count)
        if result.get("isError"):
            raise SystemExit(f"lsp {action}: {result}")
        return times, result

    def references(self):
        return self.call("references")[1]["structuredContent"]["total"]


def warm_up(sides):
    """Until the index has every use on both sides, and every path was taken often."""
    want = USERS * USES + 2
    for side in sides:
        for _ in range(200):
            if side.references() == want:
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"{type(side).__name__} finds {side.references()} of {want} references")
        for action in ("hover", "definition", "references"):
            side.call(action, 50)


def measure(sides, rounds, calls):
    samples = {}
    for action in ("hover", "definition", "references"):
        for number in range(rounds * calls):
            for side in sides if number // calls % 2 else reversed(sides):
                times, _ = side.call(action)
                samples.setdefault((action, type(side)), []).extend(times)
    return samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=10, help="of each side in a round")
    parser.add_argument("--clangd", default="clangd")
    parser.add_argument("--round-trip", default=str(common.SOURCE / "build" / "round_trip"))
    common.add_program(parser)
    args = parser.parse_args()
    with common.bench_home() as (home, env):
        clangd = common.find(args.clangd, env)
        (home / "bin").mkdir()
        (home / "bin" / "clangd").symlink_to(clangd)  # so that serve takes this one
        env["PATH"] = f"{home}/bin:{env['PATH']}"
        for name in ("bare", "ours"):
            make_project(home / name)
        common.show_machine()
        common.show_version("werkbank", [args.werkbank, "--version"], env)
        common.show_version("clangd", [clangd, "--version"], env)
        bare = Bare(args.round_trip, clangd, home / "bare", env)
        serve = Serve(args.round_trip, args.werkbank, home / "ours", env)
        warm_up([bare, serve])
        samples = measure([bare, serve], args.rounds, args.calls)
        for side in (bare, serve):
            side.close()
    for (action, side), values in samples.items():
        common.show_samples(f"{action} {side.__name__.lower()} ms", values)
    common.end(
        [
            common.compare(f"{action}", samples[action, Serve], samples[action, Bare], ratio, more)
            for action, ratio, more in (
                ("hover", 1.5, 0.15),
                ("definition", 1.5, 0.15),
                ("references", 1.3, None),
            )
        ]
    )


if __name__ == "__main__":
    main()
