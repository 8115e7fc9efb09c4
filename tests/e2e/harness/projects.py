"""Workspaces to work on: small real projects, one a language, with what a test may expect of them.

A Sample names places by a piece of a line, never by numbers: the tests compute those.
"""

import dataclasses
import hashlib
import json
import os
import pathlib


class Project:
    """A folder with files."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True, exist_ok=True)

    def write(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def read(self, path):
        return (self.root / path).read_bytes().decode()

    def line(self, path, needle):
        """The 1-based number of the first line that has the needle."""
        for number, text in enumerate(self.read(path).splitlines(), 1):
            if needle in text:
                return number
        raise AssertionError(f"no line of {path} has {needle!r}")

    def at(self, path, needle, symbol):
        """The arguments of a navigation action."""
        return {"file": path, "line": self.line(path, needle), "symbol": symbol}

    def snapshot(self):
        """What the folder holds, to the byte: path to kind, mode and hash."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                info = os.lstat(path)
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                else:
                    content = "folder"
                found[os.path.relpath(path, self.root)] = (oct(info.st_mode), content)
        return found


@dataclasses.dataclass
class Place:
    """A symbol on the first line of a file that has the needle, and where it should lead."""

    file: str
    needle: str
    symbol: str
    leads_to: tuple = ()
    line_has: str = ""


@dataclasses.dataclass
class Change:
    """A replacement in a file, and the finding that it makes."""

    file: str
    old: str
    new: str
    message: str
    finding_file: str = ""


@dataclasses.dataclass
class Sample:
    """A small project of one language. None in a field: the language has no such thing."""

    language: str
    files: dict
    use: Place
    references: set = None
    type_use: Place = None
    implementation_use: Place = None
    hover: tuple = ()
    symbols: tuple = ()
    query: str = None
    broken: Change = None
    other_file: Change = None
    non_ascii: Place = None
    rename: Place = None
    rename_files: tuple = ()
    fix: Place = None
    absolute_commands: bool = False

    def build(self, root):
        project = Project(root)
        for path, text in self.files.items():
            project.write(path, text)
        if self.absolute_commands:
            write_compile_commands(project)
        return project


def write_compile_commands(project):
    sources = sorted(str(path) for path in project.root.rglob("*.c"))
    entries = [
        {"directory": str(project.root), "file": path, "arguments": ["cc", "-Wall", "-c", path]}
        for path in sources
    ]
    project.write("compile_commands.json", json.dumps(entries))


C = Sample(
    language="c",
    absolute_commands=True,
    files={
        "shape.h": """\
#ifndef SHAPE_H
#define SHAPE_H
/** A place in the plane. */
struct point {
    int x;
    int y;
};
/** The sum of both coordinates. */
int sum_of(const struct point *place);
#endif
""",
        "shape.c": """\
#include "shape.h"
int sum_of(const struct point *place)
{
    return place->x + place->y;
}
""",
        "main.c": """\
#include "shape.h"
static int twice(int value)
{
    return 2 * value;
}
int main(void)
{
    struct point here = {1, 2};
    const char *wide = "ä😀"; int total = sum_of(&here);
    return twice(total) + (wide != 0);
}
""",
        "rename.c": """\
static int old_name(int n)
{
    /* old_name in a comment */
    return n > 0 ? old_name(n - 1) : 0;
}
int rename_user(void)
{
    const char *wide = "ä😀"; return old_name(wide != 0);
}
""",
    },
    use=Place("main.c", "return twice(total)", "twice", ("main.c",), "static int twice"),
    references={"main.c"},
    type_use=Place("main.c", "sum_of(&here)", "here", ("shape.h",), "struct point"),
    hover=("twice", "int"),
    symbols=("twice", "main"),
    query="sum_of",
    broken=Change("main.c", "return 2 * value;", "return 2 * valeu;", "valeu"),
    other_file=Change("shape.h", "int y;", "int z;", "no member named 'y'", "shape.c"),
    non_ascii=Place("main.c", "sum_of(&here)", "sum_of", ("shape.h", "shape.c"), "sum_of"),
    rename=Place("rename.c", "return old_name(wide", "old_name"),
    rename_files=("rename.c",),
    fix=Place("main.c", "return 2 * value", "value"),
)

PYTHON = Sample(
    language="python",
    files={
        "pyproject.toml": '[project]\nname = "sample"\nversion = "1"\n',
        "shape.py": '''\
class Point:
    """A place in the plane."""

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y


def sum_of(place: Point) -> int:
    """The sum of both coordinates."""
    return place.x + place.y
''',
        "main.py": """\
from shape import Point, sum_of


def twice(value: int) -> int:
    return 2 * value


here = Point(1, 2)
wide = "ä😀"; total = sum_of(here)
print(twice(total), wide)
""",
        "rename.py": """\
def old_name(n: int) -> int:
    # old_name in a comment
    return old_name(n - 1) if n > 0 else 0


wide = "ä😀"; print(old_name(1), wide)
""",
    },
    use=Place("main.py", "print(twice(total)", "twice", ("main.py",), "def twice"),
    references={"main.py"},
    type_use=Place("main.py", "sum_of(here)", "here", ("shape.py",), "class Point"),
    hover=("twice", "int"),
    symbols=("twice",),
    query="sum_of",
    broken=Change("main.py", "return 2 * value", "return 2 * valeu", "valeu"),
    other_file=Change("shape.py", "def sum_of(place", "def sum_up(place", "sum_of", "main.py"),
    non_ascii=Place("main.py", "sum_of(here)", "sum_of", ("shape.py",), "def sum_of"),
    rename=Place("rename.py", "print(old_name(1)", "old_name"),
    rename_files=("rename.py",),
    fix=Place("main.py", "return 2 * value", "value"),
)

TYPESCRIPT = Sample(
    language="typescript",
    files={
        "package.json": '{"name": "sample", "version": "1.0.0", "private": true}\n',
        "tsconfig.json": """\
{"compilerOptions": {"strict": true, "target": "es2020", "module": "commonjs", "noEmit": true,
  "types": []}, "include": ["*.ts"]}
""",
        "shape.ts": """\
/** A place in the plane. */
export interface Point {
    x: number;
    y: number;
}

/** The sum of both coordinates. */
export function sumOf(place: Point): number {
    return place.x + place.y;
}

export interface Speaker {
    speak(): string;
}

export class Dog implements Speaker {
    speak(): string {
        return "wuff";
    }
}
""",
        "main.ts": """\
import { Point, Speaker, sumOf } from "./shape";

function twice(value: number): number {
    return 2 * value;
}

const here: Point = { x: 1, y: 2 };
const wide = "ä😀"; const total = sumOf(here);
export const answer = [twice(total), wide];
export function talk(speaker: Speaker): string {
    return speaker.speak();
}
""",
        "rename.ts": """\
function oldName(n: number): number {
    // oldName in a comment
    return n > 0 ? oldName(n - 1) : 0;
}
const broad = "ä😀"; export const renamed = [oldName(1), broad];
""",
    },
    use=Place("main.ts", "twice(total)", "twice", ("main.ts",), "function twice"),
    references={"main.ts"},
    type_use=Place("main.ts", "sumOf(here)", "here", ("shape.ts",), "interface Point"),
    implementation_use=Place("main.ts", "talk(speaker: Speaker", "Speaker", ("shape.ts",), "Dog"),
    hover=("twice", "number"),
    symbols=("twice", "talk"),
    query="sumOf",
    broken=Change("main.ts", "return 2 * value;", "return 2 * valeu;", "valeu"),
    other_file=Change("shape.ts", "    y: number;\n", "    z: number;\n", "'y'", "main.ts"),
    non_ascii=Place("main.ts", "sumOf(here)", "sumOf", ("shape.ts",), "function sumOf"),
    rename=Place("rename.ts", "[oldName(1)", "oldName"),
    rename_files=("rename.ts",),
    fix=Place("main.ts", "return 2 * value", "value"),
)

GO = Sample(
    language="go",
    files={
        "go.mod": "module sample\n\ngo 1.19\n",
        "shape.go": """\
package main

// Point is a place in the plane.
type Point struct {
	X int
	Y int
}

// SumOf is the sum of both coordinates.
func SumOf(place *Point) int {
	return place.X + place.Y
}

// Speaker speaks.
type Speaker interface {
	Speak() string
}

// Dog is a Speaker.
type Dog struct{}

// Speak says wuff.
func (Dog) Speak() string { return "wuff" }
""",
        "main.go": """\
package main

func twice(value int) int {
	return 2 * value
}

func talk(speaker Speaker) string { return speaker.Speak() }

func main() {
	here := &Point{X: 1, Y: 2}
	wide, total := "ä😀", SumOf(here)
	println(twice(total), wide, talk(Dog{}))
}
""",
        "rename.go": """\
package main

func oldName(n int) int {
	// oldName in a comment
	if n > 0 {
		return oldName(n - 1)
	}
	return 0
}

func renameUser() (string, int) {
	return "ä😀", oldName(1)
}

var _ = renameUser
""",
    },
    use=Place("main.go", "println(twice(total)", "twice", ("main.go",), "func twice"),
    references={"main.go"},
    type_use=Place("main.go", "SumOf(here)", "here", ("shape.go",), "type Point"),
    implementation_use=Place("main.go", "talk(speaker Speaker)", "Speaker", ("shape.go",), "Dog"),
    hover=("twice", "int"),
    symbols=("twice", "main"),
    query="SumOf",
    broken=Change("main.go", "return 2 * value", "return 2 * valeu", "valeu"),
    other_file=Change("shape.go", "\tY int\n", "\tZ int\n", "Y", "main.go"),
    non_ascii=Place("main.go", "SumOf(here)", "SumOf", ("shape.go",), "func SumOf"),
    rename=Place("rename.go", "oldName(1)", "oldName"),
    rename_files=("rename.go",),
    fix=Place("main.go", "return 2 * value", "value"),
)

RUST = Sample(
    language="rust",
    files={
        "Cargo.toml": '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n',
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "sample"\nversion = "0.1.0"\n',
        "src/shape.rs": """\
/// A place in the plane.
pub struct Point {
    pub x: i32,
    pub y: i32,
}

/// The sum of both coordinates.
pub fn sum_of(place: &Point) -> i32 {
    place.x + place.y
}

pub trait Speaker {
    fn speak(&self) -> i32;
}

impl Speaker for Point {
    fn speak(&self) -> i32 {
        self.x
    }
}
""",
        "src/main.rs": """\
mod rename;
mod shape;

use shape::{sum_of, Point, Speaker};

fn twice(value: i32) -> i32 {
    2 * value
}

fn talk(speaker: &dyn Speaker) -> i32 {
    speaker.speak()
}

fn main() {
    let here = Point { x: 1, y: 2 };
    let wide = "ä😀"; let total = sum_of(&here);
    let sum = twice(total) + talk(&here) + rename::user();
    println!("{} {}", sum, wide);
}
""",
        "src/rename.rs": """\
fn old_name(n: i32) -> i32 {
    // old_name in a comment
    if n > 0 { old_name(n - 1) } else { 0 }
}

pub fn user() -> i32 {
    let wide = "ä😀"; old_name(wide.len() as i32)
}
""",
    },
    use=Place("src/main.rs", "twice(total)", "twice", ("src/main.rs",), "fn twice"),
    references={"src/main.rs"},
    type_use=Place("src/main.rs", "sum_of(&here)", "here", ("src/shape.rs",), "struct Point"),
    implementation_use=Place(
        "src/main.rs", "talk(speaker: &dyn Speaker", "Speaker", ("src/shape.rs",), "impl Speaker"
    ),
    hover=("twice", "i32"),
    symbols=("twice", "main"),
    query="sum_of",
    broken=Change("src/main.rs", "2 * value", "2 * valeu", "valeu"),
    other_file=Change("src/shape.rs", "pub y: i32", "pub z: i32", "y", "src/main.rs"),
    non_ascii=Place("src/main.rs", "sum_of(&here)", "sum_of", ("src/shape.rs",), "fn sum_of"),
    rename=Place("src/rename.rs", "old_name(wide.len()", "old_name"),
    rename_files=("src/rename.rs",),
    fix=Place("src/main.rs", "2 * value", "value"),
)

BASH = Sample(
    language="bash",
    files={
        "lib.sh": '#!/bin/bash\n# Says hello.\nhello() {\n    echo "hello $1"\n}\n',
        "main.sh": """\
#!/bin/bash
source ./lib.sh
twice() {
    echo "$1$1"
}
echo "ä😀" && twice one
hello world
""",
        "rename.sh": """\
#!/bin/bash
old_name() {
    # old_name in a comment
    echo one
}
echo "ä😀" && old_name
""",
    },
    use=Place("main.sh", "twice one", "twice", ("main.sh",), "twice()"),
    references={"main.sh"},
    hover=("twice",),
    symbols=("twice",),
    query="hello",
    broken=Change("main.sh", "hello world\n", "if true; then\n", ""),
    non_ascii=Place("main.sh", "twice one", "twice", ("main.sh",), "twice()"),
    rename=Place("rename.sh", "&& old_name", "old_name"),
    rename_files=("rename.sh",),
)

JSON = Sample(
    language="json",
    files={"data.json": '{\n  "name": "sample",\n  "count": 1,\n  "wide": "ä😀"\n}\n'},
    use=Place("data.json", '"count"', "count"),
    symbols=("name", "count"),
    broken=Change("data.json", '"count": 1,', '"count": ,', ""),
)

YAML = Sample(
    language="yaml",
    files={
        "data.yaml": "name: sample\nbase: &base\n  count: 1\nwide: one\ncopy: *base\nmore: [ä😀, *base]\n",
    },
    # The server leads to what the anchor holds.
    use=Place("data.yaml", "copy: *base", "base", ("data.yaml",), "count: 1"),
    non_ascii=Place("data.yaml", "more: [", "base", ("data.yaml",), "count: 1"),
    hover=("count",),
    symbols=("name", "base"),
    broken=Change("data.yaml", "wide: one\n", "wide: !valeu one\n", "valeu"),
)
