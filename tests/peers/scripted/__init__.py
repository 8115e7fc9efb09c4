"""A language server for tests that misbehaves on request. See ../scripted_lsp.py."""
