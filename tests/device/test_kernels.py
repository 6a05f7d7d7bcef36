"""The kernel tests of tests/kernels, on the GPU: in a process of its own, which a failed kernel may take along."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[1] / "kernels"


@pytest.mark.parametrize("file", sorted(p.name for p in KERNELS.glob("test_*.py")))
def test_kernels(file: str) -> None:
    pytest.importorskip("torch")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", str(KERNELS / file)],
        env={**os.environ, "TILEOPT_TEST_DEVICE": "cuda"},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert run.returncode in (0, 5), run.stdout[-6000:] + run.stderr[-2000:]
