"""Fixtures of the kernel tests: the device, and fresh random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_device import TARGETS, Device


@pytest.fixture(params=TARGETS)
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Fresh numbers in every run; the seed is printed when the test fails."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)
