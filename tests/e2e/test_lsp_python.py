"""pyright and basedpyright on Python."""

from harness.projects import PYTHON
from harness.suite import LspSuite


class TestPyright(LspSuite):
    sample = PYTHON
    server = "pyright"
    lacks = ("implementation",)


class TestBasedpyright(LspSuite):
    sample = PYTHON
    server = "basedpyright"
    rows = [{"id": "basedpyright", "priority": -1}]
