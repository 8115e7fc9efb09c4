"""The matrix of debug adapters and cases (harness/debug_matrix.py): C and Python."""

import pytest

pytest.register_assert_rewrite("harness.debug_matrix")

from harness.debug_matrix import *  # noqa: E402, F403
from harness.debuggees import CASES, SUBJECTS, matrix_table  # noqa: E402
from harness.program import SOURCE  # noqa: E402

HERE = [subject for subject in SUBJECTS if subject.id in ("lldb", "codelldb", "cdt-gdb", "debugpy")]


@pytest.fixture(scope="module", params=HERE, ids=lambda subject: subject.id)
def subject(request):
    return request.param


def test_the_page_shows_the_matrix():
    """docs/internals/debugger.md has the table that these tests make."""
    page = (SOURCE / "docs/internals/debugger.md").read_text()
    assert matrix_table() in page, f"the table is to be:\n{matrix_table()}"
    for _, _, test in CASES:
        assert f"test_{test}" in globals(), test
