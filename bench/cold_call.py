#!/usr/bin/env python3
"""cold_call: what one `werkbank call read` costs from a shell, beside `cat` and `node -e 0`.

Starts each program in turn, interleaved, and times it from its start to its end. Prints the raw
samples, the versions and the ratios of the medians. `null` is a program that does nothing: what
starting any process costs here. At the end: the memory of an idle `werkbank serve`.

    bench/cold_call.py [--rounds N] [WERKBANK]
"""

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def run_ms(argv, env):
    """Milliseconds from the start of the process to its end; its output goes nowhere."""
    nowhere = [
        (os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDONLY if fd == 0 else os.O_WRONLY, 0)
        for fd in (0, 1)
    ]
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=nowhere)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter_ns() - begin) / 1e6
    if status != 0:
        raise SystemExit(f"cold_call: {argv} ended with status {status}")
    return took


def first_line(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def pss_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1])
    raise SystemExit("cold_call: no Pss in smaps_rollup")


def measure_serve(werkbank, folder, env):
    """PSS of `serve` with nothing attached to it but its client, after a handshake and a list."""
    child = subprocess.Popen(
        [werkbank, "serve", "--workspace", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    )
    hello = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    )
    child.stdin.write(hello.encode())
    child.stdin.flush()
    child.stdout.readline()
    child.stdout.readline()
    kib = pss_kib(child.pid)
    child.stdin.close()
    child.wait(10)
    return kib


def make_sides(werkbank, folder):
    file = os.path.join(folder, "file.txt")
    with open(file, "w") as out:
        out.write("".join(f"line {number} of a small text file\n" for number in range(100)))
    call = [werkbank, "call", "--workspace", folder, "read", '{"path": "file.txt"}']
    sides = {
        "null": [shutil.which("true")],
        "cat": [shutil.which("cat"), file],
        "werkbank": call,
    }
    node = shutil.which("node")
    if node:
        # The program itself: a version manager's script in front of it would cost more than it.
        node = first_line([node, "-p", "process.execPath"])
        sides["node"] = [node, "-e", "0"]
    return sides


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("werkbank", nargs="?", default=str(SOURCE / "build" / "werkbank"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, "workspace")
        os.mkdir(folder)
        env = {**os.environ, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config"}
        sides = make_sides(os.path.abspath(args.werkbank), folder)
        samples = {name: [] for name in sides}
        for argv in sides.values():  # once, so that every file is in the page cache
            run_ms(argv, env)
        for _ in range(args.rounds):
            for name, argv in sides.items():
                samples[name].append(run_ms(argv, env))
        kib = measure_serve(os.path.abspath(args.werkbank), folder, env)
    print(f"# {platform.platform()}, {os.cpu_count()} processors")
    for name, argv in sides.items():
        version = "" if name == "null" else f" ({first_line([argv[0], '--version'])})"
        print(f"# {name}: {' '.join(argv)}{version}")
    for name, values in samples.items():
        print(f"{name} ms: " + " ".join(f"{value:.3f}" for value in values))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    for name, value in medians.items():
        print(f"median {name}: {value:.3f} ms")
    ok = medians["werkbank"] <= 4 * medians["cat"]
    print(f"werkbank / cat: {medians['werkbank'] / medians['cat']:.2f} (at most 4)")
    if "node" in medians:
        ratio = medians["werkbank"] / medians["node"]
        ok = ok and ratio <= 0.1
        print(f"werkbank / node: {ratio:.3f} (at most 0.1)")
    print(f"serve, idle: {kib / 1024:.2f} MiB PSS (at most 8)")
    return 0 if ok and kib <= 8 * 1024 else 1


if __name__ == "__main__":
    sys.exit(main())
