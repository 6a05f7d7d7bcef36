"""Every golden as a test of its own: `pytest -k tile/ops` runs one, and a failure names its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lit_inproc import Outcome, run_golden

TESTS = Path(__file__).parent
GOLDENS = sorted(path for path in TESTS.rglob("*.mlir") if "Inputs" not in path.parts)


def by_lit(path: Path) -> Outcome:
    """Run a golden that needs a shell."""
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return Outcome(done.returncode == 0, done.stdout + done.stderr)


def test_there_are_goldens() -> None:
    assert GOLDENS


@pytest.mark.parametrize("path", GOLDENS, ids=[str(path.relative_to(TESTS)) for path in GOLDENS])
def test_golden(path: Path) -> None:
    outcome = run_golden(path) or by_lit(path)
    assert outcome.ok, outcome.log
