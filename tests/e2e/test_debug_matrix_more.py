"""The matrix of debug adapters and cases (harness/debug_matrix.py): Go, JavaScript and Perl."""

import pytest

pytest.register_assert_rewrite("harness.debug_matrix")

from harness.debug_matrix import *  # noqa: E402, F403
from harness.debuggees import SUBJECTS  # noqa: E402

HERE = [subject for subject in SUBJECTS if subject.id in ("delve", "js-debug", "perl")]


@pytest.fixture(scope="module", params=HERE, ids=lambda subject: subject.id)
def subject(request):
    return request.param
