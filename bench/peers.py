#!/usr/bin/env python3
"""peers: the same job by Werkbank, Serena and mcp-language-server, over MCP, on the same servers.

The job: start the tool on a project that nobody has opened before, 20 hovers, 20 definitions, 20
references, 1 rename; with clangd on a C project and with pyright on a Python one. Told apart are
wall time (from the start of the tool to the last answer), and, of the tool's own processes without
the language server's, processor time and memory: the highest sum of their PSS. Each answer is
checked; what a tool answers wrongly or not at all is counted, since a wrong answer is cheap.

    bench/peers.py [--rounds N] [--server NAME] [--tool NAME] [WERKBANK]
"""

import argparse
import os
import pathlib
import statistics
import threading
import time

import clients
import common

COUNT = 20  # functions, and of each action
USERS = 5  # files that use every function
SAMPLE_SECONDS = 0.05


class C:
    name = "clangd"
    command = ["clangd", "--log=error"]
    serena_language = "cpp"
    library = "library.c"
    users = [f"user_{n}.c" for n in range(USERS)]

    @staticmethod
    def build(root):
        header = ["#ifndef LIBRARY_H", "#define LIBRARY_H"]
        header += [f"/** Adds {n}. */\nint add_{n:02}(int value);" for n in range(COUNT)]
        body = ['#include "library.h"']
        body += [f"int add_{n:02}(int value)\n{{\n    return value + {n};\n}}" for n in range(COUNT)]
        files = {"library.h": "\n".join([*header, "#endif", ""]), "library.c": "\n".join([*body, ""])}
        for user in C.users:
            lines = ['#include "library.h"', f"int {user[:-2]}(int value)", "{"]
            lines += [f"    value = add_{n:02}(value);" for n in range(COUNT)]
            files[user] = "\n".join([*lines, "    return value;", "}", ""])
        common.write_files(root, files)
        common.write_compile_commands(root)


class Python:
    name = "pyright"
    command = ["pyright-langserver", "--stdio"]
    serena_language = "python"
    library = "library.py"
    users = [f"user_{n}.py" for n in range(USERS)]

    @staticmethod
    def build(root):
        body = [
            f'def add_{n:02}(value: int) -> int:\n    """Adds {n}."""\n    return value + {n}\n\n'
            for n in range(COUNT)
        ]
        names = ", ".join(f"add_{n:02}" for n in range(COUNT))
        files = {
            "pyproject.toml": '[project]\nname = "library"\nversion = "1"\n',
            "library.py": "\n".join(body),
        }
        for user in Python.users:
            lines = [f"from library import {names}", "", f"def {user[:-3]}(value: int) -> int:"]
            lines += [f"    value = add_{n:02}(value)" for n in range(COUNT)]
            files[user] = "\n".join([*lines, "    return value", ""])
        common.write_files(root, files)


def line_of(root, file, text):
    lines = (root / file).read_text().splitlines()
    return next((n, line) for n, line in enumerate(lines, 1) if text in line)


class Werkbank:
    name = "werkbank"

    def __init__(self, project, root, home, env, werkbank):
        argv = [werkbank, "serve", "--workspace", str(root), "--allow", "write"]
        self.mcp = clients.Mcp(argv, env)
        self.root, self.project = root, project

    def at(self, name):
        user = self.project.users[0]
        return {"file": user, "line": line_of(self.root, user, f"{name}(")[0], "symbol": name}

    def hover(self, name):
        return self.mcp.call("lsp", action="hover", **self.at(name))

    def definition(self, name):
        return self.mcp.call("lsp", action="definition", **self.at(name))

    def references(self, name):
        return self.mcp.call("lsp", action="references", **self.at(name))

    def rename(self, name, new_name):
        return self.mcp.call("lsp_rename", new_name=new_name, **self.at(name))


class Serena:
    """Its lightest set-up: no dashboard, no log, one tool an operation, the same server program."""

    name = "serena"

    def __init__(self, project, root, home, env, werkbank):
        server = common.find(project.command[0], env)
        config = pathlib.Path(env["SERENA_HOME"], "serena_config.yml")
        config.parent.mkdir(parents=True, exist_ok=True)
        settings = f"{project.serena_language}: {{ls_path: {server}}}"
        config.write_text(
            "web_dashboard: false\ngui_log_window: false\nlog_level: 40\nprojects: []\n"
            f"ls_specific_settings: {{{settings}}}\n"
        )
        common.write_files(
            root,
            {
                ".serena/project.yml": f"project_name: bench\n"
                f"language_servers: [{project.serena_language}]\n"
                f"languages: [{project.serena_language}]\nencoding: utf-8\n"
            },
        )
        argv = [common.find("serena", env), "start-mcp-server", "--project", str(root)]
        argv += ["--agent-interface", "tools", "--context", "agent", "--log-level", "ERROR"]
        argv += ["--enable-web-dashboard", "false", "--enable-gui-log-window", "false"]
        self.mcp = clients.Mcp(argv, env)
        self.project = project

    def hover(self, name):
        return self.mcp.call(
            "find_symbol",
            name_path_pattern=name,
            relative_path=self.project.library,
            include_info=True,
        )

    def definition(self, name):
        return self.mcp.call(
            "find_declaration", relative_path=self.project.users[0], regex=rf"= ({name})\("
        )

    def references(self, name):
        return self.mcp.call(
            "find_referencing_symbols", name_path=name, relative_path=self.project.library
        )

    def rename(self, name, new_name):
        return self.mcp.call(
            "rename_symbol",
            name_path=name,
            relative_path=self.project.library,
            new_name=new_name,
        )


class McpLanguageServer:
    name = "mcp-language-server"

    def __init__(self, project, root, home, env, werkbank):
        server = [common.find(project.command[0], env), "--", *project.command[1:]]
        argv = [common.find(self.name, env), "-workspace", str(root), "-lsp", *server]
        self.mcp = clients.Mcp(argv, {**env, "LOG_LEVEL": "ERROR"})
        self.root, self.project = root, project

    def at(self, name):
        user = self.project.users[0]
        line, text = line_of(self.root, user, f"= {name}(")
        path = str(self.root / user)
        return {"filePath": path, "line": line, "column": text.index(name) + 1}

    def hover(self, name):
        return self.mcp.call("hover", **self.at(name))

    def definition(self, name):
        return self.mcp.call("definition", symbolName=name)

    def references(self, name):
        return self.mcp.call("references", symbolName=name)

    def rename(self, name, new_name):
        return self.mcp.call("rename_symbol", newName=new_name, **self.at(name))


TOOLS = [Werkbank, Serena, McpLanguageServer]


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


# The programs of language servers; Werkbank has ruff check beside pyright.
SERVERS = ("clangd", "node", "ruff")


def is_server(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).split("-")[0] in SERVERS
    except OSError:
        return False


def own_processes(pid):
    own = [pid]
    for child in children(pid):
        if not is_server(child):
            own += own_processes(child)
    return own


def pss_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


class Meter:
    """Watches a tool's own processes: highest PSS, and processor time of each while it lives."""

    def __init__(self, pid, own=own_processes):
        self.pid, self.own = pid, own
        self.peak_kib = 0
        self.cpu = {}
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def look(self):
        own = self.own(self.pid)
        self.peak_kib = max(self.peak_kib, sum(pss_kib(pid) for pid in own))
        for pid in own:
            try:
                # The clock of another process (clock_getcpuclockid): all its threads, ended or not.
                self.cpu[pid] = time.clock_gettime((~pid << 3) | 2)
            except OSError:
                pass

    def watch(self):
        while not self.stop.wait(SAMPLE_SECONDS):
            self.look()

    def end(self):
        self.stop.set()
        self.thread.join()
        self.look()
        return {"cpu ms": 1000 * sum(self.cpu.values()), "pss MiB": self.peak_kib / 1024}


def check(project, action, name, answer):
    """Whether the answer has what was asked for."""
    text, is_error = answer
    if is_error:
        return False
    if action == "hover":
        return f"Adds {int(name[-2:])}." in text
    if action == "definition":
        return "library" in text or "return value +" in text
    return all(user in text for user in project.users)


def run_job(kind, project, root, home, env, werkbank):
    begin = time.perf_counter()
    tool = kind(project, root, home, env, werkbank)
    meter = Meter(tool.mcp.child.pid)
    wrong = {}
    for action in ("hover", "definition", "references"):
        for number in range(COUNT):
            name = f"add_{number:02}"
            if not check(project, action, name, getattr(tool, action)(name)):
                wrong[action] = wrong.get(action, 0) + 1
    tool.rename("add_07", "plus_seven")
    for file in (project.library, *project.users):
        text = (root / file).read_text()
        if "add_07" in text or "plus_seven" not in text:
            wrong["rename"] = 1
    figures = {"wall ms": 1000 * (time.perf_counter() - begin), **meter.end()}
    tool.mcp.close()
    return figures, wrong


def measure(project, tools, rounds, werkbank):
    samples, wrong = {}, {}
    for number in range(rounds):
        for kind in tools[number % len(tools) :] + tools[: number % len(tools)]:
            with common.bench_home() as (home, env):
                env = {**env, "HOME": str(home), "SERENA_HOME": str(home / "serena")}
                root = home / "project"
                project.build(root)
                figures, failed = run_job(kind, project, root, home, env, werkbank)
            for figure, value in figures.items():
                samples.setdefault((figure, kind), []).append(value)
            for action, count in failed.items():
                wrong[kind, action] = wrong.get((kind, action), 0) + count
    for (figure, kind), values in samples.items():
        common.show_samples(f"{project.name} {kind.name} {figure}", values, 1)
    for (kind, action), count in wrong.items():
        print(f"# {project.name} {kind.name}: {count} wrong {action} answers in {rounds} jobs")
    return samples


def compare(project, samples):
    limits = {
        ("cpu ms", Serena): 0.1,
        ("pss MiB", Serena): 0.1,
        ("wall ms", McpLanguageServer): 1,
        ("cpu ms", McpLanguageServer): 1,
        ("pss MiB", McpLanguageServer): 1,
    }
    for figure in ("wall ms", "cpu ms", "pss MiB"):
        for kind in TOOLS:
            if (figure, kind) in samples:
                median = statistics.median(samples[figure, kind])
                print(f"{project.name} {kind.name} median {figure}: {median:.1f}")
    return [
        common.compare(
            f"{project.name}, {figure[:-3].strip()} beside {kind.name}",
            samples[figure, Werkbank],
            samples[figure, kind],
            ratio,
            unit=figure.split()[1],
        )
        for (figure, kind), ratio in limits.items()
        if (figure, kind) in samples and (figure, Werkbank) in samples
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--server", help="only this one: clangd or pyright")
    parser.add_argument("--tool", help="only this one")
    common.add_program(parser)
    args = parser.parse_args()
    werkbank = os.path.abspath(args.werkbank)
    common.show_machine()
    with common.bench_home() as (_, env):
        common.show_version("werkbank", [werkbank, "--version"], env)
        common.show_version("serena", [common.find("serena", env), "--version"], env)
        print("# mcp-language-server: as pinned in third_party/go/mcp-language-server/go.mod")
        common.show_version("clangd", [common.find("clangd", env), "--version"], env)
        common.show_version("pyright", [common.find("pyright", env), "--version"], env)
    tools = [kind for kind in TOOLS if args.tool in (None, kind.name)]
    results = []
    for project in (C, Python):
        if args.server in (None, project.name):
            samples = measure(project, tools, args.rounds, werkbank)
            results += compare(project, samples)
    common.end(results)


if __name__ == "__main__":
    main()
