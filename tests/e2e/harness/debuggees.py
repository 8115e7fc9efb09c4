"""Programs to debug, the same one in each language, and what each adapter makes of it.

The program calls work(i, 2) six times, prints each result, and ends with 4. Its arguments: `boom` fails,
`spin` runs on, `flood` prints 10 MB, `show` prints its directory and the variable SHOWN.
"""

import os
import subprocess
from dataclasses import dataclass, field

from .program import TOOLS
from .projects import Project

C_SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int work(int a, int b)
{
    int total = a + b; /* the sum */
    return total; /* the result */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int items[120] = {0};
    items[119] = 7;
    for (int i = 0; i < 6; i++) {
        printf("round %d: %d\\n", i, work(i, 2)); /* the call */
        fflush(stdout);
    }
    if (strcmp(what, "boom") == 0) {
        *(volatile int *)0 = 1; /* the failure */
    }
    while (strcmp(what, "spin") == 0) {
        usleep(10000); /* the spin */
    }
    for (int i = 0; strcmp(what, "flood") == 0 && i < 10000; i++) {
        printf("line %01018d\\n", i);
    }
    if (strcmp(what, "show") == 0) {
        printf("in %s with %s and %s\\n", getcwd(NULL, 0), getenv("SHOWN"), argv[2]);
    }
    return items[119] - 3;
}
"""

PYTHON_SOURCE = """\
import os
import sys
import time


def work(a, b):
    total = a + b  # the sum
    return total  # the result


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    items = list(range(120))
    for i in range(6):
        print(f"round {i}: {work(i, 2)}", flush=True)  # the call
    if what == "boom":
        raise ValueError("boom happened")  # the failure
    while what == "spin":
        time.sleep(0.01)  # the spin
    if what == "flood":
        for i in range(10000):
            print("line " + str(i).zfill(1018))
    if what == "show":
        print(f"in {os.getcwd()} with {os.environ['SHOWN']} and {sys.argv[2]}")
    sys.exit(items[4])


main()
"""

GO_SOURCE = """\
package main

import (
	"fmt"
	"os"
	"time"
)

func work(a, b int) int {
	total := a + b // the sum
	return total // the result
}

func main() {
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	items := make([]int, 120)
	items[4] = 4
	for i := 0; i < 6; i++ {
		fmt.Printf("round %d: %d\\n", i, work(i, 2)) // the call
	}
	if what == "boom" {
		panic("boom happened") // the failure
	}
	for what == "spin" {
		time.Sleep(10 * time.Millisecond) // the spin
	}
	for i := 0; what == "flood" && i < 10000; i++ {
		fmt.Printf("line %01018d\\n", i)
	}
	if what == "show" {
		folder, _ := os.Getwd()
		fmt.Printf("in %s with %s and %s\\n", folder, os.Getenv("SHOWN"), os.Args[2])
	}
	os.Exit(items[4])
}
"""

JS_SOURCE = """\
/* The subject. */
function work(a, b) {
    let total = a + b; // the sum
    return total; // the result
}

function spin() {
    setTimeout(spin, 10); // the spin
}

function main() {
    const what = process.argv[2];
    const items = Array.from({length: 120}, (_, i) => i);
    for (let i = 0; i < 6; i++) {
        console.log(`round ${i}: ${work(i, 2)}`); // the call
    }
    if (what === "boom") {
        throw new Error("boom happened"); // the failure
    }
    for (let i = 0; what === "flood" && i < 10000; i++) {
        console.log("line " + String(i).padStart(1018, "0"));
    }
    if (what === "show") {
        console.log(`in ${process.cwd()} with ${process.env.SHOWN} and ${process.argv[3]}`);
    }
    if (what === "spin") {
        spin();
    } else {
        process.exitCode = items[4];
    }
}

main();
"""

RUBY_SOURCE = """\
# The subject.
def work(a, b)
  total = a + b # the sum
  total # the result
end

def main
  what = ARGV[0]
  items = (0...120).to_a
  $stdout.sync = what != "flood"
  6.times do |i|
    puts "round #{i}: #{work(i, 2)}" # the call
  end
  raise ArgumentError, "boom happened" if what == "boom" # the failure
  while what == "spin"
    sleep 0.01 # the spin
  end
  10000.times { |i| puts "line " + i.to_s.rjust(1018, "0") } if what == "flood"
  puts "in #{Dir.pwd} with #{ENV["SHOWN"]} and #{ARGV[1]}" if what == "show"
  exit items[4]
end

main
"""

PERL_SOURCE = """\
use strict;
use warnings;
use Cwd;

sub work {
    my ($first, $second) = @_;
    my $total = $first + $second; # the sum
    return $total; # the result
}

sub main {
    my $what = $ARGV[0] || "";
    my @items = (0 .. 119);
    $| = 1 if $what ne "flood";
    for my $i (0 .. 5) {
        print "round $i: ", work($i, 2), "\\n"; # the call
    }
    die "boom happened" if $what eq "boom"; # the failure
    while ($what eq "spin") {
        select(undef, undef, undef, 0.01); # the spin
    }
    if ($what eq "flood") {
        printf "line %01018d\\n", $_ for 0 .. 9999;
    }
    if ($what eq "show") {
        print "in ", getcwd(), " with $ENV{SHOWN} and $ARGV[1]\\n";
    }
    exit $items[4];
}

main();
"""


@dataclass(frozen=True)
class Subject:
    """An adapter, the program that it debugs, and what it cannot do: case to the words that say so."""

    id: str
    source: str
    text: str
    marker: str
    program: str
    total: str = "total"  # the local, as the language spells it
    loop: str = "i"
    failure: str = "boom happened"
    may_stall: bool = False  # at 10 MB its output and the end of the program may not come
    failure_code: int = 1
    attach: str = ""  # pid or port
    listen: tuple = ()  # how the program is started so that it can be attached to; {port}
    process: str = ""  # part of the adapter's command line
    beyond: str = "refused"  # a breakpoint behind the file's end: refused, pending, bound or moved
    function: str = "work"
    step_reason: str = "step"
    filters: tuple = ()  # exception filters without which the failure does not stop it
    broken: str = "(((\n"  # source that does not compile
    broken_says: str = ""
    cannot: dict = field(default_factory=dict)

    def refuses(self, case, act):
        """Does it; or, where the adapter cannot, sees the words that say so and gives True."""
        words = self.cannot.get(case)
        if words is None:
            act()
            return False
        try:
            said = act().text
        except AssertionError as error:
            said = str(error)
        assert words in said, said
        return True

    def build(self, root):
        project = Project(root)
        project.write(self.source, self.text)
        project.write(self.marker, MARKERS.get(self.marker, ""))
        if self.source.endswith(".c"):
            command = ["gcc", "-g", "-O0", "-o", self.program, self.source]
            subprocess.run(command, cwd=project.root, check=True)
        if self.id == "debugpy":
            os.symlink(TOOLS / "pip" / "adapters", project.root / ".venv")
        return project


MARKERS = {
    "CMakeLists.txt": "project(app C)\n",
    "go.mod": "module example.org/app\n\ngo 1.21\n",
    "package.json": "{}\n",
}
C = {
    "source": "src/main.c",
    "text": C_SOURCE,
    "marker": "CMakeLists.txt",
    "program": "app",
    "failure": "SIGSEGV",
    "attach": "pid",
}

SUBJECTS = [
    Subject(id="lldb", process="lldb-dap", beyond="pending", failure_code=11, **C),
    Subject(id="codelldb", process="codelldb", failure_code=11, may_stall=True, **C),
    Subject(
        id="cdt-gdb",
        process="cdtDebugAdapter",
        cannot={
            "frame_variables": "No symbol",
            "log": "at {i}",
            "end_after_failure": "no longer exists",
        },
        **C,
    ),
    Subject(
        id="debugpy",
        source="app.py",
        text=PYTHON_SOURCE,
        marker="pyproject.toml",
        program="app.py",
        attach="port",
        listen=(".venv/bin/python", "-m", "debugpy", "--listen", "{port}", "app.py", "spin"),
        process="debugpy.adapter",
        beyond="moved",
        cannot={"paging": "more"},
        broken_says="SyntaxError",
    ),
    Subject(
        id="delve",
        source="main.go",
        text=GO_SOURCE,
        marker="go.mod",
        program=".",
        failure_code=2,
        attach="port",
        listen=(
            *("dlv", "debug", "--headless", "--accept-multiclient"),
            *("--listen=127.0.0.1:{port}", ".", "--", "spin"),
        ),
        process="dlv",
        broken_says="expected 'package'",
    ),
    Subject(
        id="js-debug",
        source="app.js",
        text=JS_SOURCE,
        marker="package.json",
        program="app.js",
        attach="port",
        listen=("node", "--inspect=127.0.0.1:{port}", "app.js", "spin"),
        process="js-debug",
        beyond="pending",
        cannot={"function": "this adapter has no function breakpoints"},
        broken_says="SyntaxError",
    ),
    Subject(
        id="rdbg",
        source="app.rb",
        text=RUBY_SOURCE,
        marker="Gemfile",
        program="app.rb",
        attach="port",
        listen=(
            *("ruby", "-e", "load Gem.bin_path('debug', 'rdbg')", "--", "--open", "--nonstop"),
            *("--host", "127.0.0.1", "--port", "{port}", "--", "app.rb", "spin"),
        ),
        process="rdbg",
        beyond="bound",
        filters=("any",),
        cannot={
            "log": "this adapter has no log points",
            "set_variable": "rdbg cannot set variables",
            "attach_breakpoint": "not told: rdbg ends a program that stops when its client has gone",
            "function": "pending: the program has no code for it so far",
            "recondition": "not told: rdbg keeps the first condition of a line",
        },
        broken_says="syntax",
    ),
    Subject(
        id="perl",
        source="app.pl",
        text=PERL_SOURCE,
        marker="cpanfile",
        program="app.pl",
        total="$total",
        loop="$i",
        process="Perl::LanguageServer",
        step_reason="breakpoint",
        failure_code=255,
        cannot={
            "exception": "the program ended, exit code 255",
            "step_out_over": "Modification of non-creatable array value",
            "function": "this adapter has no function breakpoints",
            "log": "this adapter has no log points",
            "pause": "Debuggee is running",
            "tail": "not told: Perl::LanguageServer may lose parts of the output",
            "attach": "perl cannot attach by pid",
            "attach_breakpoint": "perl cannot attach by pid",
        },
        broken_says="syntax error",
    ),
]

# The rows of the page's table: what is shown, the key in `cannot`, and the test that shows it.
CASES = [
    ("`adapters`: found by its marker", "", "the_adapter_is_usable"),
    ("breakpoint before the launch, `launch`", "", "breakpoints_before_the_launch"),
    ("`threads`, `stack`, `scopes`, `variables`, `evaluate`", "", "two_frames"),
    ("locals of the outer frame", "frame_variables", "two_frames"),
    ("ids of an earlier stop are refused", "", "ids_of_an_earlier_stop"),
    ("`step_in`, `step_over`, `step_out`", "", "steps"),
    ("`step_out` over a breakpoint", "step_out_over", "step_out_over_a_breakpoint"),
    ("condition, hit count", "", "conditions_hit_counts_and_log_points"),
    ("other condition on the same line", "recondition", "conditions_hit_counts_and_log_points"),
    ("log point", "log", "conditions_hit_counts_and_log_points"),
    ("function breakpoint", "function", "a_function_breakpoint"),
    ("set a variable", "set_variable", "a_variable_is_set"),
    ("children behind the hundredth", "paging", "children_come_in_pages"),
    ("`continue` to a line", "", "running_to_a_line"),
    ("stop at a crash or uncaught exception", "exception", "an_exception"),
    ("end and exit code after it", "end_after_failure", "an_exception"),
    ("exit code, `output`, words after the end", "", "the_exit_code_and_the_output"),
    ("10 MB of output, to the last line", "tail", "10_mb_of_output"),
    ("arguments, folder, environment", "", "arguments_folder_and_environment"),
    ("breakpoint while it runs, second launch refused", "", "while_it_runs"),
    ("`pause`, and again while stopped", "pause", "while_it_runs"),
    ("program missing, source broken", "", "what_cannot_be_launched"),
    ("restart, `terminate` twice", "", "a_restart"),
    ("`attach`, and the program lives on", "attach", "attach_and_the_target_lives_on"),
    ("the same with a breakpoint set", "attach_breakpoint", "attach_and_the_target_lives_on"),
]


def matrix_table():
    """The matrix as the page docs/internals/debugger.md has it."""
    lines = [
        "| case | " + " | ".join(subject.id for subject in SUBJECTS) + " |",
        "|---|" + "---|" * len(SUBJECTS),
    ]
    notes = []
    for label, key, _ in CASES:
        cells = []
        for subject in SUBJECTS:
            words = subject.cannot.get(key)
            if words is not None and words not in notes:
                notes.append(words)
            cells.append("yes" if words is None else f"no ({notes.index(words) + 1})")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    behind = " | ".join(subject.beyond for subject in SUBJECTS)
    lines += [f"| breakpoint behind the file's end | {behind} |", "", "What is said then:", ""]
    return "\n".join(lines + [f"{i}. `{words}`" for i, words in enumerate(notes, 1)]) + "\n"
