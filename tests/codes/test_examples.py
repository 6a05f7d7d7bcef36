"""The examples in docs/codes: each provokes its code, and passes with the change that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from codes_examples import Example, examples

ALL = list(examples())


@pytest.mark.parametrize("example", ALL, ids=[f"{e.code}" for e in ALL])
def test_the_error_and_its_remedy(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = example.fails(tmp_path)
    family = example.code.removesuffix("*")
    assert found == example.code or (example.code.endswith("*") and (found or "").startswith(family)), found
    assert example.passes(tmp_path) is None
