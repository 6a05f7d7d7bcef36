"""What all tests share: property tests try the same examples in each run, and take the time that they need; code that
other runs or the user compiled is never taken from the disk."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("tileopt", derandomize=True, deadline=None)
settings.load_profile("tileopt")

_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the workers of a run share the folder of the process that started them
        folder = tempfile.TemporaryDirectory(prefix="tileopt-tests-")
        config.stash[_CACHE] = folder
        os.environ["TILEOPT_CACHE_DIR"] = folder.name


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        config.stash[_CACHE].cleanup()
