"""The tiny language of the scripted server, its documents and its positions.

    # a comment
    def NAME            declares NAME
    impl NAME           implements NAME
    use NAME            an error (E2) where no file of the workspace declares NAME
    ... ERROR text      an error (E1) with this text
    ... WARN text       a warning (W1) with this text

Knows nothing of JSON-RPC or of the scenario, but for the position encoding that it is given.
"""

import os
import re
import urllib.parse

NAME = re.compile(r"[^\W\d]\w*")
DEF = re.compile(r"\bdef\s+([^\W\d]\w*)")
USE = re.compile(r"\buse\s+([^\W\d]\w*)")
FINDING = re.compile(r"\b(ERROR|WARN)\b[ \t]*([^\r\n]*)")
LINE_END = re.compile(r"\r\n|\n|\r")


def uri_to_path(uri):
    parsed = urllib.parse.urlparse(uri)
    return urllib.parse.unquote(parsed.path)


def path_to_uri(path):
    return "file://" + urllib.parse.quote(path)


def units(text, encoding):
    """The length of a text in the units of an encoding."""
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    if encoding == "utf-32":
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def index_of(line, character, encoding):
    """The index into a line of a position; None when it falls inside a character."""
    if encoding == "utf-32":
        return min(character, len(line))
    count = 0
    for index, letter in enumerate(line):
        if count == character:
            return index
        if count > character:
            return None
        count += units(letter, encoding)
    return len(line) if character >= count else None


class Document:
    """One file's text, cut into lines; `version` is None for a file that is not open."""

    def __init__(self, uri, text, version=None):
        self.uri = uri
        self.version = version
        self.set_text(text)

    def set_text(self, text):
        self.text = text
        self.lines = LINE_END.split(text)
        ends = [match.end() for match in LINE_END.finditer(text)]
        self.starts = [0] + ends

    def offset(self, position, encoding):
        """The index into the text of a position; None where there is no such place."""
        if position["line"] >= len(self.lines):
            return None
        index = index_of(self.lines[position["line"]], position["character"], encoding)
        return None if index is None else self.starts[position["line"]] + index

    def range(self, line, start, end, encoding):
        text = self.lines[line]
        return {
            "start": {"line": line, "character": units(text[:start], encoding)},
            "end": {"line": line, "character": units(text[:end], encoding)},
        }

    def name_at(self, position, encoding):
        """The identifier that a position touches: (name, range), or (None, None)."""
        if position["line"] >= len(self.lines):
            return None, None
        line = self.lines[position["line"]]
        index = index_of(line, position["character"], encoding)
        if index is None:
            return None, None
        for match in NAME.finditer(line):
            if match.start() <= index <= match.end():
                found = self.range(position["line"], match.start(), match.end(), encoding)
                return match.group(), found
        return None, None

    def hits(self, name, encoding):
        """Every identifier-bounded use of a name outside comments, as ranges."""
        found = []
        for number, line in enumerate(self.lines):
            for match in NAME.finditer(line.partition("#")[0]):
                if match.group() == name:
                    found.append(self.range(number, match.start(), match.end(), encoding))
        return found

    def definitions(self, encoding):
        """Every `def NAME`: (name, line, range of the name)."""
        found = []
        for number, line in enumerate(self.lines):
            for match in DEF.finditer(line):
                place = self.range(number, match.start(1), match.end(1), encoding)
                found.append((match.group(1), number, place))
        return found

    def comment_above(self, line):
        comments = []
        while line > 0 and self.lines[line - 1].lstrip().startswith("#"):
            line -= 1
            comments.insert(0, self.lines[line].lstrip()[1:].strip())
        return "\n".join(comments)

    def findings(self, known_names, encoding):
        """The diagnostics of this text; `known_names` is what the workspace declares."""
        found = []
        for number, line in enumerate(self.lines):
            for match in FINDING.finditer(line):
                error = match.group(1) == "ERROR"
                found.append(
                    {
                        "range": self.range(number, match.start(), match.end(), encoding),
                        "severity": 1 if error else 2,
                        "code": "E1" if error else "W1",
                        "source": "scripted",
                        "message": match.group(2).strip(),
                    }
                )
            for match in USE.finditer(line):
                if match.group(1) not in known_names:
                    found.append(
                        {
                            "range": self.range(number, match.start(1), match.end(1), encoding),
                            "severity": 1,
                            "code": "E2",
                            "source": "scripted",
                            "message": f"{match.group(1)} is not defined",
                        }
                    )
        return found


class Workspace:
    """The open documents, and the *.scr files of the root on disk."""

    def __init__(self):
        self.root = None
        self.open = {}

    def documents(self):
        """All files, the open ones with the text that the client sent, in path order."""
        found = dict(self.open)
        for directory, folders, names in os.walk(self.root or os.devnull):
            folders.sort()
            for name in sorted(names):
                uri = path_to_uri(os.path.join(directory, name))
                if name.endswith(".scr") and uri not in found:
                    found[uri] = self.read(uri)
        return [found[uri] for uri in sorted(found)]

    def read(self, uri):
        with open(uri_to_path(uri), encoding="utf-8-sig", errors="replace", newline="") as file:
            return Document(uri, file.read())

    def names(self):
        return {name for document in self.documents() for name in DEF.findall(document.text)}
