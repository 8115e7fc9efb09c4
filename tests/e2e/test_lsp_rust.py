"""rust-analyzer on Rust."""

from harness.projects import RUST
from harness.suite import LspSuite


class TestRustAnalyzer(LspSuite):
    sample = RUST
    server = "rust-analyzer"
