"""Math functions cut out of libdevice are kept for the tests, apart from the user's."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEOPT_CACHE_DIR", str(tmp_path_factory.getbasetemp().parent / "tileopt-cache"))
