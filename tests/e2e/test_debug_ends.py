"""Ends that nobody asked for, with every real adapter: the adapter killed, the host killed, the lifetime over.

The program has a child in a session of its own. Whatever is killed in whatever state, nothing of the
debug session is alive afterwards, an attached program runs on, and the next call says what happened.
"""

import dataclasses
import os
import signal
import subprocess

import pytest

from harness import processes
from harness.debuggees import SUBJECTS

FAMILY = {
    ".c": """\
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (argc > 1) {
        return 4;
    }
    if (fork() == 0) {
        setsid();
        execlp("sleep", "sleep", "600", NULL);
    }
    for (;;) {
        usleep(10000); /* the spin */
    }
}
""",
    ".py": """\
import subprocess, sys, time
if len(sys.argv) > 1:
    sys.exit(4)
subprocess.Popen(["setsid", "sleep", "600"])
while True:
    time.sleep(0.01)  # the spin
""",
    ".go": """\
package main

import (
	"os"
	"os/exec"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		os.Exit(4)
	}
	exec.Command("setsid", "sleep", "600").Start()
	for {
		time.Sleep(10 * time.Millisecond) // the spin
	}
}
""",
    ".js": """\
const { spawn } = require("child_process");
function spin() {
    setTimeout(spin, 10); // the spin
}
if (process.argv[2]) {
    process.exitCode = 4;
} else {
    spawn("setsid", ["sleep", "600"], { stdio: "ignore" });
    spin();
}
""",
    ".rb": """\
exit 4 if ARGV[0]
spawn("setsid", "sleep", "600")
loop do
  sleep 0.01 # the spin
end
""",
    ".pl": """\
use strict;
exit 4 if $ARGV[0];
if (!fork()) {
    exec "setsid", "sleep", "600";
}
while (1) {
    select(undef, undef, undef, 0.01); # the spin
}
""",
}
DIRECT = ("debugpy", "delve", "rdbg")  # attaching by port has no adapter of ours
ATTACHED = [
    pytest.param(subject, how, id=f"{subject.id}-{how}")
    for subject in SUBJECTS
    for how in ("lifetime", "host", "adapter")
    if subject.attach and (how != "adapter" or subject.id not in DIRECT)
    # rdbg itself ends a program that is stopped when its client vanishes.
    if (subject.id, how) != ("rdbg", "host")
]


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """The project of each subject, built once."""
    made = {}

    def of(subject):
        if subject.id not in made:
            text = FAMILY[os.path.splitext(subject.source)[1]]
            family = dataclasses.replace(subject, text=text)
            made[subject.id] = family.build(tmp_path_factory.mktemp(subject.id))
        return made[subject.id]

    return of


class Victim:
    """A conversation that debugs the program with a subject's adapter."""

    def __init__(self, werkbank, subject, project, **settings):
        self.werkbank, self.subject, self.project = werkbank, subject, project
        words = ", ".join(
            f'"{k}": {v}' for k, v in {"wait_s": 60, "answer_s": 60, **settings}.items()
        )
        config = project.write("config.json", f'{{"debug": {{{words}}}}}')
        self.session = werkbank.session(project.root, "--allow", "exec", "--config", config)

    def ok(self, operation, **args):
        return self.session.ok("debug", operation=operation, **args)

    def refused(self, operation, **args):
        return self.session.error("debug", operation=operation, **args)

    def send_launch(self, *args, **more):
        words = {"program": self.subject.program, "adapter": self.subject.id, "args": args, **more}
        self.session.send("debug", {"operation": "launch", **words})

    def alive(self):
        """What runs for the host: pid to command line."""
        found = processes.marked(self.werkbank.test_id)
        found.pop(self.session.pid, None)
        return found

    def adapter(self):
        """The guard's child, once it is there."""

        def child():
            found = processes.marked(self.werkbank.test_id)
            guards = {pid for pid, line in found.items() if "werkbank-guard" in line.split(" ")[0]}
            return next((pid for pid in found if processes.parent(pid) in guards), None)

        return processes.wait_until(child, what="the adapter")

    def bring_to(self, state):
        """starting, running, stopped or ended."""
        line = self.project.line(self.subject.source, "the spin")
        lines = [line] if state == "stopped" else []
        self.ok("breakpoints", file=self.subject.source, lines=lines)
        if state == "ended":
            self.send_launch("end")
        else:
            self.send_launch(wait_seconds=60 if state == "stopped" else 0)
        if state != "starting":
            reached = self.session.receive()
            assert not reached.is_error and reached.data["state"] == state, reached
        if state == "running":
            processes.wait_until(
                lambda: any("sleep 600" in line for line in self.alive().values()), what="the child"
            )
        elif state == "starting":
            self.adapter()

    def assert_all_gone(self):
        processes.wait_until(lambda: not self.alive(), 10, "the end of all that the session ran")


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.id)
def test_the_adapter_is_killed(werkbank, projects, subject):
    victim = Victim(werkbank, subject, projects(subject))
    for state in ("running", "stopped"):
        victim.bring_to(state)
        os.kill(victim.adapter(), signal.SIGKILL)
        processes.wait_until(
            lambda: victim.ok("status", wait_seconds=60).data["state"] == "ended", what="the end"
        )
        assert "killed by signal 9" in victim.ok("status").text, state
        assert "killed by signal 9" in victim.refused("continue"), state
        victim.assert_all_gone()
    victim.bring_to("ended")
    victim.assert_all_gone()
    assert victim.ok("status").data["exit_code"] == 4


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.id)
def test_the_adapter_is_killed_while_it_starts(werkbank, projects, subject):
    victim = Victim(werkbank, subject, projects(subject))
    victim.bring_to("starting")
    os.kill(victim.adapter(), signal.SIGKILL)
    result = victim.session.receive()
    if result.is_error:
        assert "killed by signal 9" in result.text, result
    else:  # it was past the start, or the row's next program took its place
        victim.ok("terminate")
    assert victim.ok("status").data["state"] == "ended"
    victim.assert_all_gone()


@pytest.mark.parametrize("state", ["starting", "running", "stopped", "ended"])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.id)
def test_the_host_is_killed(werkbank, projects, subject, state):
    victim = Victim(werkbank, subject, projects(subject))
    victim.bring_to(state)
    victim.session.kill()
    victim.assert_all_gone()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.id)
def test_the_lifetime_is_over_while_a_call_waits(werkbank, projects, subject):
    victim = Victim(werkbank, subject, projects(subject), lifetime_s=2)
    victim.send_launch()
    end = victim.session.receive()
    assert "lifetime of 2 seconds was over" in end.text, end
    assert "lifetime of 2 seconds was over" in victim.ok("status").text
    assert "lifetime" in victim.refused("continue")
    victim.assert_all_gone()


@pytest.fixture
def target(werkbank, projects, request):
    """The program by itself: its process, and the words that attach to it."""
    subject = request.node.callspec.params["subject"]
    port = processes.free_port()
    argv = [word.replace("{port}", str(port)) for word in subject.listen] or ["./app"]
    environment = {
        **os.environ,
        "PATH": werkbank.env["PATH"],
        processes.MARKER: f"{werkbank.test_id}-target",
    }
    process = subprocess.Popen(
        [word for word in argv if word != "spin"],
        cwd=projects(subject).root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if subject.listen:
        processes.wait_until(lambda: processes.is_listening(port), what="the program's debugger")
    yield process, {"port": port} if subject.attach == "port" else {"pid": process.pid}
    for pid in processes.marked(environment[processes.MARKER]):
        os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("subject, how", ATTACHED)
def test_an_attached_program_runs_on(werkbank, projects, subject, target, how):
    process, words = target
    settings = {"lifetime_s": 2} if how == "lifetime" else {}
    victim = Victim(werkbank, subject, projects(subject), **settings)
    # rdbg stops what it is attached to.
    seconds = 60 if subject.id == "rdbg" else 0
    state = victim.ok("attach", adapter=subject.id, wait_seconds=seconds, **words).data["state"]
    if how == "lifetime":
        end = victim.ok("continue") if state == "stopped" else victim.ok("status", wait_seconds=60)
        assert "lifetime of 2 seconds was over" in end.text, end
    elif how == "adapter":
        os.kill(victim.adapter(), signal.SIGKILL)
        assert "killed by signal 9" in victim.ok("status", wait_seconds=60).text
    else:
        victim.session.kill()
    victim.assert_all_gone()
    processes.wait_until(lambda: processes.runs_freely(process.pid), what="the target, running")
    assert process.poll() is None
