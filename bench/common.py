"""What the benchmarks share: where things are, an environment of their own, how figures are shown."""

import contextlib
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
DATA_HOME = os.environ.get("XDG_DATA_HOME", os.path.expanduser("~/.local/share"))
TOOLS = pathlib.Path(os.environ.get("WERKBANK_TOOLS", f"{DATA_HOME}/werkbank/tools"))


def add_program(parser):
    """The last argument of every benchmark."""
    parser.add_argument("werkbank", nargs="?", default=str(SOURCE / "build" / "werkbank"))


@contextlib.contextmanager
def bench_home():
    """A folder for a run, and an environment that keeps all state in it."""
    # What a tool leaves running may still write there.
    with tempfile.TemporaryDirectory(prefix="werkbank-bench-", ignore_cleanup_errors=True) as home:
        env = {
            **os.environ,
            "PATH": f"{TOOLS}/bin:{os.environ['PATH']}",
            "XDG_STATE_HOME": f"{home}/state",
            "XDG_CONFIG_HOME": f"{home}/config",
        }
        env.pop("WERKBANK_CONFIG", None)
        yield pathlib.Path(home), env


def find(name, env):
    path = shutil.which(name, path=env["PATH"])
    if path is None:
        raise SystemExit(f"{name} is not there; tools/setup bench installs it")
    return path


def show_machine():
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"# {platform.platform()}, {os.cpu_count()} processors, load {load}")


def show_version(name, argv, env):
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    lines = (done.stdout + done.stderr).strip().splitlines()
    print(f"# {name}: {lines[0] if lines else 'unknown'} ({argv[0]})")


def show_samples(name, values, digits=3):
    print(f"{name}: " + " ".join(f"{value:.{digits}f}" for value in values))


def compare(what, ours, theirs, ratio, more=None, unit="ms"):
    """Prints both medians and their ratio; whether ours is within a limit: `ratio` times theirs
    or `more` above it."""
    a, b = statistics.median(ours), statistics.median(theirs)
    ok = a <= ratio * b or (more is not None and a <= b + more)
    limit = f"at most {ratio}" + (f" or {more:+} {unit}" if more is not None else "")
    print(
        f"{'ok  ' if ok else 'MISS'} {what}: {a:.3f} beside {b:.3f} {unit}, "
        f"ratio {a / b:.3f}, {a - b:+.3f} {unit} ({limit})",
        flush=True,
    )
    return ok


def end(results):
    missed = results.count(False)
    print(f"{len(results)} figures, {missed} missed")
    sys.exit(1 if missed else 0)


def write_files(root, files):
    for path, text in files.items():
        target = pathlib.Path(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def write_compile_commands(root):
    """With absolute paths: clangd wants them, so it cannot be a file of the sample."""
    entries = [
        {"directory": str(root), "file": str(path), "arguments": ["cc", "-c", str(path)]}
        for path in sorted(pathlib.Path(root).rglob("*.c"))
    ]
    pathlib.Path(root, "compile_commands.json").write_text(json.dumps(entries))
