"""lsp_rename: every shape that a server may answer in, against what is on disk afterwards."""

import json

import pytest

from harness.processes import wait_until
from harness.projects import Project
from harness.scripted import server_row

FILES = {
    "main.scr": "# old in a comment\ndef old\nuse old\n",
    "user.scr": "use old\n",
    "other.scr": "# other\n",
    "victim.scr": "# victim\n",
    "target.scr": "# target\n",
    "folder/inner.scr": "# inner\n",
}
RENAMED = {
    **FILES,
    "main.scr": "# old in a comment\ndef fresh\nuse fresh\n",
    "user.scr": "use fresh\n",
}
AT = {"file": "main.scr", "line": 2, "symbol": "old"}


def without(files, *paths, **more):
    return {**{path: text for path, text in files.items() if path not in paths}, **more}


# What each shape makes of FILES.
APPLIED = {
    "changes": RENAMED,
    "document_changes": RENAMED,
    "no_versions": RENAMED,
    "both": RENAMED,
    "whole_file": RENAMED,
    "duplicate": RENAMED,
    "localhost_uri": RENAMED,
    "touching": {**FILES, "main.scr": "ABCDd in a comment\ndef old\nuse old\n"},
    "inserts_at_one_position": {
        **FILES,
        "main.scr": "one two three # old in a comment\ndef old\nuse old\n",
    },
    "past_line_end": {**FILES, "main.scr": "first line\ndef old\nuse old\n"},
    "past_file_end": {**FILES, "main.scr": FILES["main.scr"] + "appended\n"},
    "move_file": without(RENAMED, "main.scr", **{"fresh.scr": RENAMED["main.scr"]}),
    "move_file_first": without(RENAMED, "main.scr", **{"fresh.scr": RENAMED["main.scr"]}),
    "create": {**RENAMED, "made.scr": "# made\n"},
    "create_overwrite": {**RENAMED, "other.scr": ""},
    "create_overwrite_wins": {**RENAMED, "other.scr": ""},
    "create_ignore_existing": RENAMED,
    "move_overwrite": without(RENAMED, "victim.scr", **{"target.scr": "# victim\n"}),
    "move_ignore_existing": RENAMED,
    "delete": without(RENAMED, "victim.scr"),
    "delete_missing_ignored": RENAMED,
    "delete_folder_recursive": without(RENAMED, "folder/inner.scr"),
    "ordered": {**RENAMED, "victim.scr": "# moved\n# step\n"},
}

# Nothing may be on disk of these.
REFUSED = [
    "wrong_version",
    "stale_version",
    "overlapping",
    "outside_workspace",
    "climbing_path",
    "other_scheme",
    "annotated",
    "snippet",
    "create_existing",
    "move_onto_existing",
    "move_missing",
    "delete_missing",
    "delete_folder",
    "unknown_operation",
    "null",
    "list",
    "object",
    "empty_changes",
    "empty_edits",
    "empty_document_changes",
    "nonsense",
]


def contents(project):
    paths = (path for path in project.root.rglob("*") if path.is_file())
    found = {str(path.relative_to(project.root)): path.read_bytes().decode() for path in paths}
    del found["scripted.json"]
    return found


@pytest.mark.parametrize("shape", sorted(APPLIED))
def test_shapes_that_are_applied(scripted_session, shape):
    one, session = scripted_session({"rename_shape": shape}, files=FILES)
    result = session.ok("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project) == APPLIED[shape]
    assert "main.scr" in result.text
    # The servers know what is on disk now.
    for path in ("main.scr", "fresh.scr"):
        if path in APPLIED[shape]:
            session.ok("lsp", action="symbols", file=path)


@pytest.mark.parametrize("shape", REFUSED)
def test_shapes_that_are_refused_whole(scripted_session, shape):
    one, session = scripted_session({"rename_shape": shape}, files=FILES)
    text = session.error("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project) == FILES
    assert not (one.root.parent / "outside.scr").exists()
    assert text


def test_reversed_range(scripted_session):
    one, session = scripted_session({"rename_shape": "reversed_range"}, files=FILES)
    result = session.call("lsp_rename", **AT, new_name="fresh")
    first = {**FILES, "main.scr": "# old in a comment\ndef fresh\nuse old\n"}
    assert contents(one.project) == (FILES if result.is_error else first)


@pytest.mark.parametrize("shape", ["range", "placeholder", "default_behavior", "method_not_found"])
def test_prepare_that_allows(scripted_session, shape):
    one, session = scripted_session({"prepare_shape": shape}, files=FILES)
    session.ok("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project) == RENAMED


@pytest.mark.parametrize("shape", ["null", "error", "wrong_range"])
def test_prepare_that_refuses(scripted_session, shape):
    one, session = scripted_session({"prepare_shape": shape}, files=FILES)
    text = session.error("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project) == FILES
    assert one.received("textDocument/rename") == []
    assert shape != "error" or "this cannot be renamed here" in text


def test_no_prepare_offered(scripted_session):
    scenario = {"missing_capabilities": ["renameProvider"]}
    one, session = scripted_session(scenario, files=FILES)
    assert "does not offer" in session.error("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project) == FILES


@pytest.mark.parametrize("name", ["", "9 bad", "two words", "a-b", "old", "new\nline", "x" * 5000])
def test_names_that_are_no_names(scripted_session, name):
    one, session = scripted_session(files=FILES)
    session.error("lsp_rename", **AT, new_name=name)
    assert contents(one.project) == FILES
    assert one.received("textDocument/rename") == []


def test_report(scripted_session):
    _, session = scripted_session(files=FILES)
    text = session.ok("lsp_rename", **AT, new_name="fresh").text
    assert "main.scr" in text and "user.scr" in text
    # What is left as text: the comment.
    assert "main.scr:1" in text and "comment" in text


def test_new_findings_are_reported(scripted_session):
    # The server leaves one use behind: `use old` in user.scr is broken afterwards.
    files = {**FILES, "user.scr": "# nothing\n", "late.scr": "use old\n"}
    one, session = scripted_session(
        {"rename_shape": "whole_file", "push_for_other_files": True}, files=files
    )
    session.ok("lsp", action="diagnostics", file="late.scr")
    result = session.ok("lsp_rename", **AT, new_name="fresh")
    assert contents(one.project)["late.scr"] == "use fresh\n"
    assert "not defined" not in result.text


def test_line_ends_and_bom_are_kept(scripted_session):
    files = {"main.scr": "\ufeffdef old\r\nuse old\r\nmixed old\nlast old"}
    one, session = scripted_session({"rename_shape": "changes"}, files=files)
    session.ok("lsp_rename", file="main.scr", line=1, symbol="old", new_name="fresh")
    assert contents(one.project)["main.scr"] == files["main.scr"].replace("old", "fresh")


def test_a_whole_file_edit_keeps_crlf(scripted_session):
    files = {"main.scr": "def old\r\nuse old\r\n"}
    one, session = scripted_session({"rename_shape": "whole_file"}, files=files)
    session.ok("lsp_rename", file="main.scr", line=1, symbol="old", new_name="fresh")
    assert (one.root / "main.scr").read_bytes() == b"def fresh\r\nuse fresh\r\n"


def test_lines_that_servers_count_differently_are_refused(werkbank, tmp_path):
    """clangd does not take a lone carriage return for a line end; LSP does."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "compile_flags.txt").write_text("")
    source = b"int first(void) { return 0; }\rint old(void) { return 0; }\nint use = sizeof old;\n"
    (project / "a.c").write_bytes(source)
    session = werkbank.session(project, "--allow", "write")
    sentence = "line 1 has a carriage return"
    place = {"file": "a.c", "symbol": "old"}
    assert sentence in session.error("lsp_rename", line=3, new_name="fresh", **place)
    assert sentence in session.error("lsp", action="hover", line=2, **place)
    session.ok("lsp", action="hover", file="a.c", line=1, symbol="first")
    assert (project / "a.c").read_bytes() == source


def test_lines_that_servers_count_differently_are_told_as_doubtful(werkbank, tmp_path):
    project = Project(tmp_path / "project")
    project.write("compile_flags.txt", "")
    project.write("a.h", "int alpha(void);\n")
    project.write("b.c", '#include "a.h"\n/* x\ry */\nint use(void) { return alpha(); }\n')
    session = werkbank.session(project.root)
    found = session.ok("lsp", action="references", file="a.h", line=1, symbol="alpha")
    assert [one["path"] for one in found.data["locations"]] == ["a.h", "b.c"]
    assert "Doubtful lines in b.c: line 2 has a carriage return" in found.text


def test_permissions_and_links_are_kept(scripted_session):
    one, session = scripted_session(files=FILES)
    (one.root / "main.scr").chmod(0o755)
    (one.root / "user.scr").rename(one.root / "real.scr")
    (one.root / "user.scr").symlink_to("real.scr")
    session.ok("lsp_rename", **AT, new_name="fresh")
    assert (one.root / "main.scr").stat().st_mode & 0o777 == 0o755
    assert (one.root / "user.scr").is_symlink()


def test_read_tier_has_no_rename(scripted_session):
    one, session = scripted_session(files=FILES, options=("--cap", "read"))
    text = session.error("lsp_rename", **AT, new_name="fresh")
    assert "lsp_rename" in text
    assert contents(one.project) == FILES


def test_without_allow_the_gate_refuses(scripted_session):
    one, session = scripted_session(files=FILES, options=())
    text = session.error("lsp_rename", **AT, new_name="fresh")
    assert "--allow" in text
    assert contents(one.project) == FILES


def test_a_file_that_changed_meanwhile_refuses_the_whole(scripted_session):
    # The server answers late; somebody writes in between.
    one, session = scripted_session({"late_ms": {"textDocument/rename": 1500}}, files=FILES)
    session.send("lsp_rename", {**AT, "new_name": "fresh"})
    wait_until(lambda: one.received("textDocument/rename"), what="the rename request")
    one.project.write("user.scr", "use old # changed\n")
    result = session.receive()
    assert result.is_error
    assert contents(one.project) == {**FILES, "user.scr": "use old # changed\n"}


def test_all_servers_are_told(scripted_session, tmp_path):
    rows = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"journal": str(tmp_path / f"{name}.journal")}))
        kind = "types" if name == "first" else "linter"
        rows.append(server_row(path, name, kind=kind))
    _, session = scripted_session(rows=rows, files=FILES)
    session.ok("lsp", action="diagnostics", file="main.scr")
    session.ok("lsp_rename", **AT, new_name="fresh")
    session.ok("lsp", action="diagnostics", file="main.scr")
    for name in ("first", "second"):
        assert "def fresh" in (tmp_path / f"{name}.journal").read_text()


C_FILES = {
    "Makefile": "all:\n",
    "a.h": "int alpha(int x);\n",
    "a.c": '#include "a.h"\nint alpha(int x) { return x; }\n',
    "b.c": '#include "a.h"\nint b(void) { return alpha(1); }\n',
    "sub/c.c": '#include "../a.h"\nint c(void) { return alpha(2) + alpha(3); }\n',
}
TS_FILES = {
    "package.json": "{}\n",
    "a.ts": "export function alpha(x: number) { return x; }\n",
    "b.ts": 'import { alpha } from "./a";\nalpha(1);\n',
    "sub/c.ts": 'import { alpha } from "../a";\nalpha(2);\n',
}
VERILOG_FILES = {
    ".git/HEAD": "",
    "a.sv": "module alpha;\nendmodule\n",
    "b.sv": "module b;\n  alpha x();\nendmodule\n",
    "sub/c.sv": "module c;\n  alpha y();\nendmodule\n",
}
# Servers that know the files that are open, and no others, unless the project gives them an index.
WITHOUT_INDEX = {
    "clangd": (C_FILES, {"file": "b.c", "line": 2}, 5),
    "typescript-language-server": (TS_FILES, {"file": "a.ts", "line": 1}, 5),
    "vtsls": (TS_FILES, {"file": "a.ts", "line": 1}, 5),
    "tsgo": (TS_FILES, {"file": "a.ts", "line": 1}, 5),
    "verible": (VERILOG_FILES, {"file": "a.sv", "line": 1}, 3),
}


@pytest.mark.parametrize("server", WITHOUT_INDEX)
def test_every_file_is_renamed_without_an_index(werkbank, tmp_path, server):
    files, place, total = WITHOUT_INDEX[server]
    project = Project(tmp_path / "project")
    for path, text in files.items():
        project.write(path, text)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"servers": [{"id": server, "priority": -1}]}))
    session = werkbank.session(project.root, "--allow", "write", "--config", config)
    found = session.ok("lsp", action="references", symbol="alpha", **place)
    having = sorted(path for path, text in files.items() if "alpha" in text)
    # Some leave the declaration out.
    assert {one["path"] for one in found.data["locations"]} >= set(having) - {place["file"]}, found
    result = session.ok("lsp_rename", symbol="alpha", new_name="beta", **place)
    assert sorted(result.data["files"]) == having, result
    assert result.data["edits"] == total and result.data["remaining"] == 0
    assert "beta" in project.read(having[-1])


def test_files_beyond_the_bound_are_counted(scripted_session):
    files = {f"f{i:02}.scr": "use old\n" for i in range(60)}
    row = {"index_files": ["scripted.index"]}
    one, session = scripted_session(files={**FILES, **files}, row=row)
    text = session.ok("lsp_rename", **AT, new_name="fresh").text
    # main.scr itself, and fifty more; user.scr and nine are left.
    assert len(one.received("textDocument/didOpen")) >= 51
    assert "no index" in text and "11 more files" in text


def test_nothing_is_opened_where_an_index_is(scripted_session):
    files = {"scripted.index": "", "folder/main.scr": FILES["main.scr"], "user.scr": "use old\n"}
    one, session = scripted_session(files=files, row={"index_files": ["scripted.index"]})
    at = {**AT, "file": "folder/main.scr"}
    session.ok("lsp", action="references", **at)
    assert len(one.received("textDocument/didOpen")) == 1
