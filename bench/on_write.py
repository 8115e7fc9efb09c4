#!/usr/bin/env python3
"""on_write: how long a `write` takes to come back with the findings that it made, beside the server.

The bare side is a client that writes the same text to its file, sends didChange and didSave, and
waits for the publish that settles the matter: the first one with the same messages (the finding, or
nothing once the text is right again). Each side has a server and a copy of the project of its own.
The sides take turns; each change is new to both. For clangd the bare side also comes in a second
kind, with `wantDiagnostics` in didChange as Werkbank sends it: without, clangd waits 50 ms for more
typing, so that the plain side is easy to beat.

    bench/on_write.py [--rounds N] [--server NAME] [WERKBANK]
"""

import argparse
import dataclasses
import time

import clients
import common

FILLER = 30  # functions before the one that changes: something to check


@dataclasses.dataclass
class Case:
    server: list
    language: str
    file: str
    files: dict
    text: str  # with NAME where the name goes that is right or wrong
    right: str
    message: str  # a part of the finding, with the wrong name for {}
    plain: bool = True  # the bare side sends plain changes
    compile_commands: bool = False


def c_text():
    parts = [f"static int add_{n}(int value)\n{{\n    return value + {n};\n}}" for n in range(FILLER)]
    uses = " + ".join(f"add_{n}(value)" for n in range(FILLER))
    return "\n".join([*parts, f"int total(int value)\n{{\n    return {uses} + NAME;\n}}", ""])


def python_text():
    parts = [f"def add_{n}(value: int) -> int:\n    return value + {n}\n\n" for n in range(FILLER)]
    return "\n".join([*parts, "def total(value: int) -> int:\n    return add_1(value) + NAME", ""])


def go_text():
    parts = [f"func add{n}(value int) int {{ return value + {n} }}\n" for n in range(FILLER)]
    uses = " + ".join(f"add{n}(value)" for n in range(FILLER))
    body = f"func total(value int) int {{ return {uses} + NAME }}\n"
    return "\n".join(["package main\n", *parts, body, "func main() { println(total(1)) }", ""])


def typescript_text():
    parts = [
        f"function add{n}(value: number): number {{\n    return value + {n};\n}}"
        for n in range(FILLER)
    ]
    uses = " + ".join(f"add{n}(value)" for n in range(FILLER))
    body = f"export function total(value: number): number {{\n    return {uses} + NAME;\n}}"
    return "\n".join([*parts, body, ""])


def cases():
    clangd = {
        "server": ["clangd", "--log=error"],
        "language": "c",
        "file": "total.c",
        "files": {"compile_flags.txt": "-Wall\n"},
        "text": c_text(),
        "right": "value",
        "message": "undeclared identifier '{}'",
    }
    yield "clangd", Case(plain=False, **clangd)
    yield "clangd plain", Case(**clangd)
    yield "pyright", Case(
        ["pyright-langserver", "--stdio"],
        "python",
        "total.py",
        {"pyproject.toml": '[project]\nname = "total"\nversion = "1"\n'},
        python_text(),
        "value",
        '"{}" is not defined',
    )
    yield "gopls", Case(
        ["gopls"],
        "go",
        "total.go",
        {"go.mod": "module total\n\ngo 1.21\n"},
        go_text(),
        "value",
        "undefined: {}",
    )
    yield "typescript-language-server", Case(
        ["typescript-language-server", "--stdio"],
        "typescript",
        "total.ts",
        {"package.json": "{}\n", "tsconfig.json": '{"compilerOptions": {"strict": true}}\n'},
        typescript_text(),
        "value",
        "Cannot find name '{}'",
    )


class Bare:
    """The server with a bare client."""

    def __init__(self, case, root, env):
        self.case = case
        self.path = root / case.file
        self.version = 1
        server = [common.find(case.server[0], env), *case.server[1:]]
        self.lsp = clients.Lsp(server, env, root)
        document = {
            "uri": self.path.as_uri(),
            "languageId": case.language,
            "version": 1,
            "text": self.path.read_text(),
        }
        self.lsp.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, text, message):
        self.version += 1
        document = {"uri": self.path.as_uri(), "version": self.version}
        change = {"textDocument": document, "contentChanges": [{"text": text}]}
        if not self.case.plain:
            change["wantDiagnostics"] = True

        def settles(diagnostics):
            texts = [item["message"] for item in diagnostics if item.get("severity", 1) <= 2]
            return any(message in text for text in texts) if message else not texts

        self.lsp.published.clear()
        begin = time.perf_counter()
        self.path.write_text(text)
        self.lsp.notify("textDocument/didChange", change)
        self.lsp.notify("textDocument/didSave", {"textDocument": {"uri": document["uri"]}})
        self.lsp.wait_for_publish(document["uri"], settles)
        return 1000 * (time.perf_counter() - begin)

    def close(self):
        self.lsp.close()


class Ours:
    """`serve`, whose write tells."""

    def __init__(self, case, root, env, werkbank):
        self.case = case
        self.failures = 0
        self.mcp = clients.Mcp(
            [werkbank, "serve", "--workspace", str(root), "--allow", "write"], env
        )

    def change(self, text, message):
        begin = time.perf_counter()
        answer, is_error = self.mcp.call("write", path=self.case.file, content=text)
        took = 1000 * (time.perf_counter() - begin)
        told = message in answer if message else "error" not in answer
        if is_error or not told or "still" in answer:
            print(f"# not told: {answer!r}")
            self.failures += 1
        return took

    def write_note(self, number):
        """What the durable write costs alone."""
        begin = time.perf_counter()
        self.mcp.call("write", path="note.unknown", content=f"{number}\n")
        return 1000 * (time.perf_counter() - begin)

    def close(self):
        self.mcp.close()


def texts(case, number):
    """The wrong text of a round, with its message, and the right one."""
    wrong = f"wrong_{number}" if case.language in ("c", "python") else f"wrong{number}"
    yield "found", case.text.replace("NAME", wrong), case.message.format(wrong)
    comment = "#" if case.language == "python" else "//"
    yield "clean", f"{case.text.replace('NAME', case.right)}{comment} {number}\n", None


def measure(name, case, werkbank, rounds):
    samples = {}
    with common.bench_home() as (home, env):
        for side in ("bare", "ours"):
            common.write_files(home / side, case.files)
            common.write_files(home / side, {case.file: case.text.replace("NAME", case.right)})
        program = common.find(case.server[0], env)
        version = [program, "version" if case.server[0] == "gopls" else "--version"]
        if "pyright" in case.server[0]:
            version = [common.find("pyright", env), "--version"]
        common.show_version(name, version, env)
        sides = {
            "bare": Bare(case, home / "bare", env),
            "ours": Ours(case, home / "ours", env, werkbank),
        }
        for number in range(-3, rounds):  # the first three warm up
            for side in sides if number % 2 else reversed(sides):
                for kind, text, message in texts(case, number + 3):
                    took = sides[side].change(text, message)
                    if number >= 0:
                        samples.setdefault((kind, side), []).append(took)
                    time.sleep(0.1)  # let the server finish what it does besides
        alone = [sides["ours"].write_note(number) for number in range(rounds)]
        for side in sides.values():
            side.close()
    common.show_samples(f"{name}: a write that no server checks, ms", alone, 1)
    for (kind, side), values in samples.items():
        common.show_samples(f"{name} {kind} {side} ms", values, 1)
    missing = sides["ours"].failures
    print(f"# {name}: {missing} of {2 * (rounds + 3)} writes did not tell what they should")
    return [missing <= 0.01 * rounds] + [
        common.compare(
            f"{name}, {kind}", samples[kind, "ours"], samples[kind, "bare"], 1.05, more=5
        )
        for kind in ("found", "clean")
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--server", help="only this one")
    common.add_program(parser)
    args = parser.parse_args()
    common.show_machine()
    results = []
    for name, case in cases():
        if args.server in (None, name):
            results += measure(name, case, args.werkbank, args.rounds)
    common.end(results)


if __name__ == "__main__":
    main()
