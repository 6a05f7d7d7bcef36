"""Math functions cut out of libdevice are kept for the tests, apart from the user's."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["TILEOPT_CACHE_DIR"] = str(tmp_path_factory.getbasetemp().parent / "tileopt-cache")
