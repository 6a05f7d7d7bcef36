"""Tests that need a GPU. Elsewhere they are collected and skipped; `make test` does not collect them at all.

The kernel tests of tests/kernels run here as they are, with arrays on the GPU.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tileopt.backends.nvidia import driver
from tileopt.dialects.diagnostics import DeviceError

HERE = Path(__file__).parent


def why_not() -> str | None:
    """Why no test can run on a GPU here; None where one can."""
    try:
        return None if driver.device_count() else "no CUDA device is visible"
    except DeviceError as error:
        return error.message


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in Path(item.path).parents]
    reason = why_not() if ours else None
    if reason is not None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture(autouse=True)
def nothing_pending() -> object:
    """A test that leaves the device with an error fails itself, not the next one."""
    yield
    for ordinal in driver.opened():
        driver.synchronize(ordinal)
