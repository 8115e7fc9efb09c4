"""typescript-language-server and the native TypeScript server."""

from harness.projects import TYPESCRIPT
from harness.suite import LspSuite


class TestTypescriptLanguageServer(LspSuite):
    sample = TYPESCRIPT
    server = "typescript-language-server"


class TestTsgo(LspSuite):
    sample = TYPESCRIPT
    server = "tsgo"
    rows = [{"id": "tsgo", "priority": -1}]
