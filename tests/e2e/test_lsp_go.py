"""gopls on Go."""

from harness.projects import GO
from harness.suite import LspSuite


class TestGopls(LspSuite):
    sample = GO
    server = "gopls"
