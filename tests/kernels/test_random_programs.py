"""Random programs against Python: whatever the control flow, a kernel computes what Python would."""

from __future__ import annotations

import os

import numpy as np
import pytest
from kernel_device import Device
from python_kernels import module
from python_programs import Writer

from tileopt.dialects.contracts import ArraySpec, ScalarSpec
from tileopt.dialects.verifier import verify

COUNT = int(os.environ.get("TILEOPT_RANDOM_PROGRAMS", "30"))
INPUTS = [(0, 0), (1, 3), (7, 2), (13, -4), (-6, 5), (23, 11)]


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_program(device: Device, seed: int) -> None:
    text = Writer(seed, 3 if seed % 5 == 0 else 2).text
    print(text)
    names = module(text)
    kernel, program = names["kernel"], names["program"]
    verify(kernel.build({"out": ArraySpec("i64", 1, 16, 0), "n": ScalarSpec("i64"), "m": ScalarSpec("i64")}))
    for n, m in INPUTS:
        out = device.empty(3, np.int64)
        kernel[(1,)](out, n, m)
        assert tuple(device.get(out).tolist()) == program(n, m), (n, m)
