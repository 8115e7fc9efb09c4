"""Servers of small languages: what they lack is refused with a sentence."""

from harness.projects import BASH, JSON, YAML
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
