"""What the scripted server answers to navigation and edit requests, in the shapes asked for.

A part of Server (server.py), which brings the documents, the scenario and the wire.
"""

from .edits import RENAMES, Rename, code_action, prepare_rename
from .language import Document


class RequestError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code = code
        self.data = data


class Answers:
    def document(self, params):
        """The open document of a request; as with clangd, one that is not open is an error."""
        uri = params["textDocument"]["uri"]
        if uri not in self.workspace.open:
            self.violation(f"a request for a file that is not open: {uri}")
            raise RequestError(-32602, "trying to get AST for non-added document")
        return self.workspace.open[uri]

    # --- navigation ---

    def name_at(self, params):
        document = self.document(params)
        return document, *document.name_at(params["position"], self.encoding)

    def declarations(self, name, document):
        """Where a name is declared: (document, line, range), the asked file's first."""
        others = [other for other in self.workspace.documents() if other.uri != document.uri]
        return [
            (candidate, line, place)
            for candidate in [document] + others
            for found, line, place in candidate.definitions(self.encoding)
            if found == name
        ]

    def definition(self, params):
        document, name, place = self.name_at(params)
        found = self.declarations(name, document)[:1] if name else []
        locations = [{"uri": one.uri, "range": where} for one, _, where in found]
        return self.shape_locations(locations, place)

    def shape_locations(self, locations, origin):
        shape = self.scenario.get("definition_shape", "locations")
        if shape == "null" or (shape == "location" and not locations):
            return None
        if shape == "location":
            return locations[0]
        if shape == "links":
            return [
                {
                    "originSelectionRange": origin,
                    "targetUri": location["uri"],
                    # The whole first column to the name: only the selection range is the name.
                    "targetRange": {
                        "start": {"line": 0, "character": 0},
                        "end": location["range"]["end"],
                    },
                    "targetSelectionRange": location["range"],
                }
                for location in locations
            ]
        return locations

    def implementation(self, params):
        _, name, _ = self.name_at(params)
        locations = []
        for document in self.workspace.documents():
            for place in document.hits(name, self.encoding):
                line = document.lines[place["start"]["line"]]
                if line.lstrip().startswith("impl "):
                    locations.append({"uri": document.uri, "range": place})
        return self.shape_locations(locations, None)

    def references(self, params):
        document, name, _ = self.name_at(params)
        if name is None:
            return None
        locations = [
            {"uri": candidate.uri, "range": place}
            for candidate in self.workspace.documents()
            for place in candidate.hits(name, self.encoding)
        ]
        if not params.get("context", {}).get("includeDeclaration", False):
            declared = [(one.uri, place) for one, _, place in self.declarations(name, document)]
            locations = [one for one in locations if (one["uri"], one["range"]) not in declared]
        return locations

    def hover(self, params):
        document, name, place = self.name_at(params)
        found = self.declarations(name, document)[:1] if name else []
        if not found:
            return None
        declared, line, _ = found[0]
        code, comment = declared.lines[line].strip(), declared.comment_above(line)
        shapes = {
            "markup": {"kind": "markdown", "value": f"```scripted\n{code}\n```\n{comment}"},
            "plain": {"kind": "plaintext", "value": f"{code}\n{comment}"},
            "string": f"{code}\n{comment}",
            "marked": {"language": "scripted", "value": code},
            "array": [{"language": "scripted", "value": code}, comment],
            "empty": {"kind": "markdown", "value": ""},
        }
        return {"contents": shapes[self.scenario.get("hover_shape", "markup")], "range": place}

    def document_symbol(self, params):
        document = self.document(params)
        symbols = []
        for name, line, place in document.definitions(self.encoding):
            if self.scenario.get("symbols_shape", "tree") == "flat":
                where = {"uri": document.uri, "range": place}
                symbols.append({"name": name, "kind": 12, "location": where})
                continue
            whole = document.range(line, 0, len(document.lines[line]), self.encoding)
            symbol = {"name": name, "kind": 12, "range": whole, "selectionRange": place}
            # An indented def belongs to the one above it.
            indented = document.lines[line].startswith((" ", "\t"))
            parent = symbols[-1].setdefault("children", []) if indented and symbols else symbols
            parent.append(symbol)
        return symbols

    def workspace_symbol(self, params):
        found = []
        for document in self.workspace.documents():
            for name, _, place in document.definitions(self.encoding):
                if params["query"].lower() in name.lower():
                    where = {"uri": document.uri}
                    if self.scenario.get("workspace_symbol_shape") != "no_range":
                        where["range"] = place
                    found.append({"name": name, "kind": 12, "location": where})
        return found

    # --- edits ---

    def prepare_rename(self, params):
        _, name, place = self.name_at(params)
        shape = self.scenario.get("prepare_shape", "range")
        if shape == "error":
            raise RequestError(-32602, "this cannot be renamed here")
        if shape == "method_not_found":
            raise RequestError(-32601, "method not found")
        return None if name is None else prepare_rename(shape, name, place)

    def rename(self, params):
        document, name, _ = self.name_at(params)
        if name is None:
            return None
        build = RENAMES[self.scenario.get("rename_shape", "document_changes")]
        return build(Rename(self.workspace, self.encoding, name, params["newName"], document))

    def code_action(self, params):
        document = self.document(params)
        kinds = self.scenario.get("code_actions", ["edit"])
        return [code_action(kind, document, params["range"]) for kind in kinds]

    def resolve_code_action(self, params):
        document = self.workspace.open[params["data"]["uri"]]
        return {**params, "edit": code_action("edit", document, None)["edit"]}

    def execute_command(self, params):
        document = Document(params["arguments"][0], "")
        edit = code_action("edit", document, None)["edit"]
        return self.ask("workspace/applyEdit", {"label": "fix", "edit": edit})
