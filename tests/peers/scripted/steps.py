"""The language that the scripted adapter debugs: one step a line, run from the top.

    # a comment            also an empty line: no step
    name = 5               a variable of the current frame; a number, or the rest as text
    print TEXT             to standard output; `error TEXT`: to standard error
    flood BYTES            that much standard output, in lines
    enter NAME / leave     a frame more, a frame less
    spin                   goes on for ever, until it is paused
    throw TEXT             an exception that nobody catches
    exit STATUS            ends; the end of the file is `exit 0`

In a file of another language a step is what stands behind "// > ".
"""


class Frame:
    def __init__(self, name):
        self.name = name
        self.line = 0
        self.variables = {}


def value_of(text):
    text = text.strip()
    return int(text) if text.lstrip("-").isdigit() else text


class Program:
    """A program in its run: the next line, and the frames, innermost last."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if not path.endswith(".steps"):
            lines = [line.partition("// > ")[2] for line in lines]
        self.lines = [line.strip() for line in lines]
        self.next = self.first_step_from(1)
        self.frames = [Frame("main")]
        self.frames[-1].line = self.next

    def first_step_from(self, line):
        """The first line with a step at or behind this one, or None."""
        for number in range(line, len(self.lines) + 1):
            text = self.lines[number - 1]
            if text and not text.startswith("#"):
                return number
        return None

    def step(self):
        """Runs one line. Returns (what, operand) for what the adapter must see to."""
        if self.next is None:
            return "exit", 0
        text = self.lines[self.next - 1]
        word, _, rest = text.partition(" ")
        if word == "spin":
            return "spin", None
        if word == "throw":
            return "throw", rest
        if word == "exit":
            return "exit", int(rest)
        self.advance()
        if word == "enter":
            self.frames.append(Frame(rest))
        elif word == "leave":
            self.frames.pop()
        elif rest.startswith("= "):
            self.frames[-1].variables[word] = value_of(rest[2:])
        self.frames[-1].line = self.next or len(self.lines)
        return ("do", None) if word not in ("print", "error", "flood") else (word, rest)

    def advance(self):
        self.next = self.first_step_from(self.next + 1)
