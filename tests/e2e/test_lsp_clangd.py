"""clangd on C: the distribution's, and a current one."""

import shutil

from harness.projects import C
from harness.suite import LspSuite


class TestDistribution(LspSuite):
    sample = C
    server = "clangd"


class TestCurrent(LspSuite):
    sample = C
    server = "clangd"
    rows = [{"id": "clangd", "commands": [["clangd-22"], ["clangd-19"]]}]

    def test_it_is_another_one(self):
        assert shutil.which("clangd-22") or shutil.which("clangd-19")
