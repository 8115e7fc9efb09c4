"""What every real language server has to show, as one class of tests.

A test file subclasses LspSuite with a Sample, the id of the catalogue's row and what the server
cannot do. One warm session serves all the tests of a class; tests that write put back what they
changed.
"""

import contextlib
import json

from .processes import wait_until


class Desk:
    """A warm session in a project of the class's sample."""

    def __init__(self, werkbank, project, options):
        self.werkbank = werkbank
        self.project = project
        self.options = options
        self.session = werkbank.session(project.root, "--allow", "write", *options)
        self.ok = self.session.ok
        self.error = self.session.error
        self.call = self.session.call

    @classmethod
    def of_suite(cls, suite, werkbank, folder):
        """For a subclass of LspSuite."""
        project = suite.sample.build(folder / "project")
        options = []
        if suite.rows:
            config = folder / "config.json"
            config.write_text(json.dumps({"servers": list(suite.rows)}))
            options = ["--config", config]
        return cls(werkbank, project, options)

    def lsp(self, action, place, **more):
        at = self.project.at(place.file, place.needle, place.symbol)
        return self.ok("lsp", action=action, **at, **more)

    def diagnose(self, file):
        return self.call("lsp", action="diagnostics", file=file)

    @contextlib.contextmanager
    def other_text(self, path, change):
        """A file, changed by somebody else, and put back at the end, whatever happens."""
        text = self.project.read(path)
        self.project.write(path, change(text))
        try:
            yield path
        finally:
            self.project.write(path, text)

    @contextlib.contextmanager
    def kept(self, path):
        """A file that the test writes through the program, put back at the end."""
        with self.other_text(path, lambda text: text):
            yield self.project.read(path)

    def edit(self, change):
        return self.ok("edit", path=change.file, old_text=change.old, new_text=change.new)

    def undo(self, change):
        return self.ok("edit", path=change.file, old_text=change.new, new_text=change.old)


def findings(result):
    """The new findings that a write's result carries."""
    data = (result.data or {}).get("diagnostics") or {"diagnostics": []}
    return data["diagnostics"]


def says(found, message):
    return any(message.lower() in one["message"].lower() for one in found)


def told_line(line, change):
    """Is this line of a result the finding that the change makes in the other file?"""
    return line.startswith(f"{change.finding_file}:") and change.message.lower() in line.lower()


class LspSuite:
    sample = None
    server = None
    # Rows of the configuration that the class needs: other commands, other priorities.
    rows = ()
    # Actions that the server does not offer.
    lacks = ()
    # Findings of the broken file come from this state of the row: False for a server of none.
    finds = True
    # What the server makes of a rename: False where it offers none.
    renames = True

    # --- reading ---

    def test_diagnostics_of_a_clean_file(self, desk):
        result = desk.diagnose(self.sample.use.file)
        assert result.data["state"] == "clean", result
        assert self.server in [one["name"] for one in result.data["servers"]]

    def test_definition(self, desk):
        if "definition" in self.lacks:
            return self.refused(desk, "definition")
        place = self.sample.use
        found = desk.lsp("definition", place).data["locations"]
        assert found and found[0]["path"] in place.leads_to, found
        assert place.line_has in found[0]["text"]

    def refused(self, desk, action):
        place = self.sample.use
        at = desk.project.at(place.file, place.needle, place.symbol)
        text = desk.error("lsp", action=action, **at)
        assert "does not offer" in text

    def test_type_definition(self, desk):
        if "type_definition" in self.lacks:
            return self.refused(desk, "type_definition")
        place = self.sample.type_use
        found = desk.lsp("type_definition", place).data["locations"]
        assert [one for one in found if one["path"] in place.leads_to], found

    def test_implementation(self, desk):
        if "implementation" in self.lacks:
            return self.refused(desk, "implementation")
        place = self.sample.implementation_use
        if place is None:
            # The language has none, the server answers: an empty answer is no refusal.
            assert desk.lsp("implementation", self.sample.use).data["total"] == 0
            return
        found = desk.lsp("implementation", place).data["locations"]
        assert [one for one in found if one["path"] in place.leads_to], found

    def test_references(self, desk):
        if "references" in self.lacks:
            return self.refused(desk, "references")
        result = desk.lsp("references", self.sample.use)
        assert {one["path"] for one in result.data["locations"]} >= self.sample.references
        assert result.data["total"] >= 2
        for one in result.data["locations"]:
            assert f"{one['path']}:{one['line']}: " in result.text

    def test_hover(self, desk):
        if "hover" in self.lacks:
            return self.refused(desk, "hover")
        text = desk.lsp("hover", self.sample.use).text
        for word in self.sample.hover:
            assert word in text

    def test_symbols_of_a_file(self, desk):
        text = desk.ok("lsp", action="symbols", file=self.sample.use.file).text
        for name in self.sample.symbols:
            assert name in text

    def test_symbols_of_the_workspace(self, desk):
        if "workspace_symbols" in self.lacks:
            assert "does not offer" in desk.error("lsp", action="symbols", query="anything")
            return
        result = desk.ok("lsp", action="symbols", query=self.sample.query)
        assert self.sample.query in result.text

    def test_code_actions(self, desk):
        if "code_actions" in self.lacks:
            return self.refused(desk, "code_actions")
        place = self.sample.use
        at = desk.project.at(place.file, place.needle, place.symbol)
        assert desk.ok("lsp", action="code_actions", **at).text

    def test_status(self, desk):
        assert self.server in desk.ok("lsp", action="status").text

    def test_no_such_symbol(self, desk):
        place = self.sample.use
        at = desk.project.at(place.file, place.needle, "absent_name")
        text = desk.error("lsp", action="hover", **at)
        line = desk.project.read(place.file).splitlines()[at["line"] - 1]
        assert line.strip() in text

    def test_non_ascii_text_before_the_symbol(self, desk):
        if "definition" in self.lacks:
            return self.refused(desk, "definition")
        place = self.sample.non_ascii
        found = desk.lsp("definition", place).data["locations"]
        assert found and found[0]["path"] in place.leads_to
        assert place.line_has in found[0]["text"]

    # --- odd files ---

    def bent(self, desk, change):
        """The main file, changed by somebody else, and put back at the end."""
        return desk.other_text(self.sample.use.file, change)

    def check_bent(self, desk, change):
        place = self.sample.use
        at = desk.project.at(place.file, place.needle, place.symbol)
        with self.bent(desk, change):
            result = desk.ok("lsp", action="symbols", file=place.file)
            assert self.sample.symbols[0] in result.text
            if "definition" in self.lacks:
                return
            found = desk.ok("lsp", action="definition", **at).data["locations"]
            assert found and found[0]["path"] in place.leads_to, found
            assert place.line_has in found[0]["text"]
            assert not set("\r\ufeff") & set(found[0]["text"])

    def test_crlf(self, desk):
        self.check_bent(desk, lambda text: text.replace("\n", "\r\n"))

    def test_bom(self, desk):
        self.check_bent(desk, lambda text: "\ufeff" + text)

    def test_empty_file(self, desk):
        with self.bent(desk, lambda text: "") as path:
            result = desk.diagnose(path)
            assert result.data["state"] in ("clean", "findings"), result

    def test_big_file(self, desk):
        start = {"python": "#", "bash": "#", "yaml": "#", "json": " "}
        filler = start.get(self.sample.language, "//") + " " * 77 + "\n"
        more = filler * (5_000_000 // len(filler) + 1)
        with self.bent(desk, lambda text: text + more) as path:
            result = desk.call("lsp", action="symbols", file=path)
            # Either it is answered, or a sentence says why not.
            assert result.text and (result.is_error or self.sample.symbols[0] in result.text)

    def test_symlinked_workspace(self, desk, tmp_path):
        if "definition" in self.lacks:
            return
        (tmp_path / "link").symlink_to(desk.project.root)
        place = self.sample.use
        at = desk.project.at(place.file, place.needle, place.symbol)
        result = desk.werkbank.call(
            tmp_path / "link", "lsp", {"action": "definition", **at}, *desk.options
        )
        assert result.data["locations"][0]["path"] in place.leads_to

    def test_nested_root(self, desk):
        if "definition" in self.lacks:
            return
        place = self.sample.use
        self.sample.build(desk.project.root / "nested" / "inner")
        at = desk.project.at(place.file, place.needle, place.symbol)
        at["file"] = "nested/inner/" + at["file"]
        found = desk.ok("lsp", action="definition", **at).data["locations"]
        assert found[0]["path"] in ["nested/inner/" + path for path in place.leads_to]

    # --- findings ---

    def test_findings_and_their_end(self, desk):
        if not self.finds:
            return
        change = self.sample.broken
        with desk.other_text(change.file, lambda text: text.replace(change.old, change.new)):
            # rust-analyzer runs cargo more than once for one save, and speaks after the last.
            wait_until(
                lambda: says(desk.diagnose(change.file).data["diagnostics"], change.message),
                what=f"the finding in {change.file}",
            )
        wait_until(
            lambda: desk.diagnose(change.file).data["state"] == "clean",
            what=f"the end of the finding in {change.file}",
        )

    def test_on_write_new_slid_fixed_again(self, desk):
        if not self.finds:
            return
        change = self.sample.broken
        with desk.kept(change.file):
            # New: told in the result of the write itself.
            result = desk.edit(change)
            assert says(findings(result), change.message), result
            # Slid down: not told again.
            text = desk.project.read(change.file)
            head, _, rest = text.partition("\n")
            result = desk.ok("write", path=change.file, content=f"{head}\n\n\n\n\n{rest}")
            assert not says(findings(result), change.message), result
            desk.ok("write", path=change.file, content=text)
            # Fixed, and broken again: told again.
            result = desk.undo(change)
            assert findings(result) == [], result
            result = desk.edit(change)
            assert says(findings(result), change.message), result
            desk.undo(change)

    def test_on_write_other_file(self, desk):
        if not self.finds or self.sample.other_file is None:
            return
        change = self.sample.other_file
        desk.diagnose(change.finding_file)
        desk.diagnose(change.file)
        with desk.kept(change.file):
            texts = [desk.edit(change).text]

            def named():
                lines = "\n".join(texts).splitlines()
                if any(told_line(line, change) for line in lines):
                    return True
                # It may come a little later: then with the next result.
                texts.append(desk.ok("lsp", action="status").text)
                return False

            wait_until(named, what=f"the finding in {change.finding_file}")
            desk.undo(change)
        desk.diagnose(change.finding_file)

    def test_old_errors_are_not_blamed_on_the_edit(self, desk):
        if not self.finds:
            return
        change = self.sample.broken
        # Somebody else breaks it; nobody asked since.
        with desk.other_text(change.file, lambda text: text.replace(change.old, change.new)):
            broken = desk.project.read(change.file)
            result = desk.ok("write", path=change.file, content=broken + "\n")
            assert not says(findings(result), change.message), result
        desk.diagnose(change.file)

    # --- rename ---

    def test_rename(self, desk):
        place = self.sample.rename
        if place is None:
            return
        at = desk.project.at(place.file, place.needle, place.symbol)
        if not self.renames:
            assert "does not offer" in desk.error("lsp_rename", **at, new_name="freshName")
            return
        before = desk.project.read(place.file)
        result = desk.ok("lsp_rename", **at, new_name="freshName")
        after = desk.project.read(place.file)
        # All but the comment.
        assert after.count("freshName") == before.count(place.symbol) - 1, after
        assert after.count(place.symbol) == 1
        for file in self.sample.rename_files:
            assert file in result.text
        back = desk.project.at(
            place.file, place.needle.replace(place.symbol, "freshName"), "freshName"
        )
        desk.ok("lsp_rename", **back, new_name=place.symbol)
        assert desk.project.read(place.file) == before

    def test_rename_to_no_name(self, desk):
        place = self.sample.rename
        if place is None:
            return
        before = desk.project.snapshot()
        at = desk.project.at(place.file, place.needle, place.symbol)
        desk.error("lsp_rename", **at, new_name="9 bad")
        desk.error("lsp_rename", **at, new_name="")
        assert desk.project.snapshot() == before

    # --- life ---

    def test_reload(self, desk):
        desk.ok("lsp", action="reload", file=self.sample.use.file)
        desk.ok("lsp", action="symbols", file=self.sample.use.file)
