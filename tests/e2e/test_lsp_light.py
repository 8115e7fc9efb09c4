"""Servers of small languages: what they lack is refused with a sentence."""

from harness.projects import BASH, JSON, YAML, Project
from harness.suite import LspSuite


class TestBash(LspSuite):
    sample = BASH
    server = "bash-language-server"
    lacks = ("type_definition", "implementation")


class TestJson(LspSuite):
    sample = JSON
    server = "vscode-json"
    lacks = (
        "definition",
        "type_definition",
        "implementation",
        "references",
        "workspace_symbols",
    )


class TestYaml(LspSuite):
    sample = YAML
    server = "yaml-language-server"
    lacks = ("type_definition", "implementation", "references", "workspace_symbols")


def test_intelephense_is_asked_when_it_has_read_the_project(werkbank, tmp_path):
    project = Project(tmp_path / "project")
    project.write("composer.json", "{}\n")
    project.write("a.php", "<?php\nfunction alpha($x) { return $x; }\n")
    project.write("b.php", "<?php\nalpha(1);\n")
    at = {"file": "a.php", "line": 2, "symbol": "alpha"}
    result = werkbank.call(project.root, "lsp", {"action": "references", **at})
    assert [one["path"] for one in result.data["locations"]] == ["a.php", "b.php"], result
