"""Fixtures: fresh kernels; a start costs less than a test that another one has disturbed."""

import contextlib

import pytest

from driver import Kernel


@pytest.fixture
def kernels(tmp_path):
    """Starts kernels in a folder of the test's own, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(language, **more):
            kernel = Kernel(language, **{"cwd": tmp_path, **more})
            stack.callback(kernel.close)
            return kernel

        yield start


@pytest.fixture
def python(kernels):
    return kernels("python")


@pytest.fixture
def javascript(kernels):
    return kernels("javascript")
