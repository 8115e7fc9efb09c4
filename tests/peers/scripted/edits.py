"""The shapes in which a rename and a code action answer.

Each rename shape is a function of a Rename; the table RENAMES at the end names them for scenarios.
Knows documents and positions; knows nothing of processes or of the wire.
"""

import os

from .language import path_to_uri, uri_to_path


class Rename:
    """What every shape is built from: the hits of a name, grouped by file."""

    def __init__(self, workspace, encoding, name, new_name, document):
        self.workspace = workspace
        self.new_name = new_name
        self.uri = document.uri
        self.document = document
        self.groups = []
        for candidate in workspace.documents():
            hits = candidate.hits(name, encoding)
            if hits:
                self.groups.append((candidate, [self.edit(hit) for hit in hits]))

    def edit(self, place, text=None):
        return {"range": place, "newText": self.new_name if text is None else text}

    def sibling(self, name):
        """The URI of a file beside the asked one."""
        folder = os.path.dirname(uri_to_path(self.uri))
        return path_to_uri(os.path.join(folder, name))

    def changes(self):
        return {candidate.uri: edits for candidate, edits in self.groups}

    def document_changes(self, shift=0, versions=True):
        result = []
        for candidate, edits in self.groups:
            version = candidate.version if versions else None
            if version is not None:
                version += shift
            result.append(text_edit(candidate.uri, edits, version))
        return result


def text_edit(uri, edits, version=None):
    return {"textDocument": {"uri": uri, "version": version}, "edits": edits}


def span(line, start, end_line, end):
    return {
        "start": {"line": line, "character": start},
        "end": {"line": end_line, "character": end},
    }


def insert(line, character, text):
    return {"range": span(line, character, line, character), "newText": text}


def operation(kind, options=None, **fields):
    result = {"kind": kind, **fields}
    if options is not None:
        result["options"] = options
    return result


def ops(*operations, after=False):
    """A shape: the rename's own edits, with resource operations before or after them."""

    def build(rename):
        made = [make(rename) for make in operations]
        edits = rename.document_changes()
        return {"documentChanges": edits + made if after else made + edits}

    return build


def create(name, **options):
    return lambda rename: operation("create", options or None, uri=rename.sibling(name))


def delete(name, **options):
    return lambda rename: operation("delete", options or None, uri=rename.sibling(name))


def move(old, new, **options):
    return lambda rename: operation(
        "rename", options or None, oldUri=rename.sibling(old), newUri=rename.sibling(new)
    )


def add_text(name, text):
    return lambda rename: text_edit(rename.sibling(name), [insert(0, 0, text)])


def whole_file(rename):
    """As pylsp answers: one edit from the start to one line past the end."""
    result = []
    for document, edits in rename.groups:
        lines = document.text.splitlines(keepends=True)
        for edit in reversed(edits):
            line, start = edit["range"]["start"]["line"], edit["range"]["start"]["character"]
            end = edit["range"]["end"]["character"]
            lines[line] = lines[line][:start] + edit["newText"] + lines[line][end:]
        whole = {"range": span(0, 0, len(document.lines), 0), "newText": "".join(lines)}
        result.append(text_edit(document.uri, [whole], document.version))
    return {"documentChanges": result}


def move_file(rename):
    """The asked file moves too, after its edits, as rust-analyzer moves a module's file."""
    target = rename.sibling(rename.new_name + ".scr")
    moved = operation("rename", oldUri=rename.uri, newUri=target)
    return {"documentChanges": rename.document_changes() + [moved]}


def move_file_first(rename):
    """The asked file moves first; its edits come under the new name."""
    target = rename.sibling(rename.new_name + ".scr")
    changes = [operation("rename", oldUri=rename.uri, newUri=target)]
    for document, edits in rename.groups:
        uri = target if document.uri == rename.uri else document.uri
        changes.append(text_edit(uri, edits))
    return {"documentChanges": changes}


def in_asked_file(*edits):
    """A shape of fixed edits in the asked file."""
    return lambda rename: {"changes": {rename.uri: list(edits)}}


def both(rename):
    """`changes` is wrong here: a client that can read documentChanges must not look at it."""
    wrong = {uri: [insert(0, 0, "WRONG ")] for uri in rename.changes()}
    return {"changes": wrong, "documentChanges": rename.document_changes()}


def duplicate(rename):
    return {"changes": {uri: edits + edits for uri, edits in rename.changes().items()}}


def reversed_range(rename):
    edit = rename.groups[0][1][0]
    turned = {"start": edit["range"]["end"], "end": edit["range"]["start"]}
    return {"changes": {rename.groups[0][0].uri: [rename.edit(turned)]}}


def outside_workspace(rename):
    folder = os.path.dirname(rename.workspace.root)
    changes = rename.changes()
    changes[path_to_uri(os.path.join(folder, "outside.scr"))] = [insert(0, 0, "x")]
    return {"changes": changes}


def climbing_path(rename):
    changes = rename.changes()
    changes[path_to_uri(rename.workspace.root) + "/sub/../../outside.scr"] = [insert(0, 0, "x")]
    return {"changes": changes}


def other_scheme(rename):
    return {"changes": {**rename.changes(), "untitled:Untitled-1": [insert(0, 0, "x")]}}


def localhost_uri(rename):
    changes = {}
    for uri, edits in rename.changes().items():
        encoded = uri.replace("file://", "file://localhost").replace(".scr", "%2Escr")
        changes[encoded] = edits
    return {"changes": changes}


def annotated(rename):
    changes = rename.document_changes()
    for change in changes:
        change["edits"] = [{**edit, "annotationId": "risky"} for edit in change["edits"]]
    note = {"label": "Rename in a string", "needsConfirmation": True}
    return {"documentChanges": changes, "changeAnnotations": {"risky": note}}


def snippet(rename):
    changes = rename.document_changes()
    for change in changes:
        change["edits"] = [
            {"range": edit["range"], "snippet": {"kind": "snippet", "value": "${1:x}$0"}}
            for edit in change["edits"]
        ]
    return {"documentChanges": changes}


RENAMES = {
    "changes": lambda rename: {"changes": rename.changes()},
    "document_changes": lambda rename: {"documentChanges": rename.document_changes()},
    "no_versions": lambda rename: {"documentChanges": rename.document_changes(versions=False)},
    "wrong_version": lambda rename: {"documentChanges": rename.document_changes(shift=7)},
    "stale_version": lambda rename: {"documentChanges": rename.document_changes(shift=-1)},
    "both": both,
    "whole_file": whole_file,
    "duplicate": duplicate,
    "overlapping": in_asked_file(
        {"range": span(0, 0, 0, 5), "newText": "a"}, {"range": span(0, 3, 0, 7), "newText": "b"}
    ),
    "touching": in_asked_file(
        {"range": span(0, 0, 0, 2), "newText": "AB"}, {"range": span(0, 2, 0, 4), "newText": "CD"}
    ),
    "inserts_at_one_position": in_asked_file(
        insert(0, 0, "one "), insert(0, 0, "two "), insert(0, 0, "three ")
    ),
    "past_line_end": in_asked_file({"range": span(0, 0, 0, 999999), "newText": "first line"}),
    "past_file_end": in_asked_file(insert(999999, 0, "appended\n")),
    "reversed_range": reversed_range,
    "outside_workspace": outside_workspace,
    "climbing_path": climbing_path,
    "other_scheme": other_scheme,
    "localhost_uri": localhost_uri,
    "annotated": annotated,
    "snippet": snippet,
    "null": lambda rename: None,
    "list": lambda rename: [],
    "object": lambda rename: {},
    "empty_changes": lambda rename: {"changes": {}},
    "empty_edits": lambda rename: {"changes": {rename.uri: []}},
    "empty_document_changes": lambda rename: {"documentChanges": []},
    "nonsense": lambda rename: {"documentChanges": "all of them", "changes": 7},
    "move_file": move_file,
    "move_file_first": move_file_first,
    "create": ops(create("made.scr"), add_text("made.scr", "# made\n")),
    "create_existing": ops(create("other.scr")),
    "create_overwrite": ops(create("other.scr", overwrite=True)),
    "create_ignore_existing": ops(create("other.scr", ignoreIfExists=True)),
    "create_overwrite_wins": ops(create("other.scr", overwrite=True, ignoreIfExists=True)),
    "move_onto_existing": ops(move("victim.scr", "target.scr")),
    "move_overwrite": ops(move("victim.scr", "target.scr", overwrite=True)),
    "move_ignore_existing": ops(move("victim.scr", "target.scr", ignoreIfExists=True)),
    "move_missing": ops(move("nowhere.scr", "somewhere.scr")),
    "delete": ops(delete("victim.scr"), after=True),
    "delete_missing": ops(delete("nowhere.scr")),
    "delete_missing_ignored": ops(delete("nowhere.scr", ignoreIfNotExists=True)),
    "delete_folder": ops(delete("folder"), after=True),
    "delete_folder_recursive": ops(delete("folder", recursive=True), after=True),
    "unknown_operation": ops(lambda rename: operation("shred", uri=rename.sibling("victim.scr"))),
    # Each step needs the one before it: only the given order works.
    "ordered": ops(
        create("step.scr"),
        add_text("step.scr", "# step\n"),
        move("step.scr", "moved.scr"),
        add_text("moved.scr", "# moved\n"),
        delete("victim.scr"),
        move("moved.scr", "victim.scr"),
    ),
}


def prepare_rename(shape, name, place):
    """The result of prepareRename in the given shape."""
    wrong = {"start": {"line": place["start"]["line"], "character": 0}, "end": place["start"]}
    results = {
        "range": place,
        "placeholder": {"range": place, "placeholder": name},
        "default_behavior": {"defaultBehavior": True},
        "null": None,
        "wrong_range": wrong,
    }
    return results[shape]


def code_action(kind, document, place):
    """One code action in the given shape. All add a line at the top of the file."""
    edit = {"changes": {document.uri: [insert(0, 0, "# fixed\n")]}}
    command = {"title": "Apply the fix", "command": "scripted.apply", "arguments": [document.uri]}
    action = {"title": f"Fix by {kind}", "kind": "quickfix"}
    if kind == "edit":
        return {**action, "edit": edit, "isPreferred": True}
    if kind == "command":
        return {**action, "command": command}
    if kind == "literal_command":
        return command
    if kind == "resolve":
        return {**action, "data": {"uri": document.uri}}
    if kind == "disabled":
        return {**action, "disabled": {"reason": "not in this scenario"}}
    if kind == "snippet":
        text = {"range": place, "newText": "$0fixed", "insertTextFormat": 2}
        return {**action, "edit": {"documentChanges": [text_edit(document.uri, [text])]}}
    raise ValueError(f"no code action of kind {kind}")
