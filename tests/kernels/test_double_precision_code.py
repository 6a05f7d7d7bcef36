"""Products of f64 on tensor cores: no spills, and no bank conflicts whichever way the operands lie."""

from __future__ import annotations

import pytest
from product_programs import product

from tileopt.dialects.contracts import ArraySpec

ATOMS = {"sm_80": "mma_m8n8k4_f64_f64", "sm_90a": "mma_m16n8k8_f64_f64", "sm_100a": "mma_m16n8k8_f64_f64"}


def array(order: str) -> ArraySpec:
    """`r`: row by row, `c`: column by column; in whole vectors of 16 bytes."""
    unit = 1 if order == "r" else 0
    strides = (2, 1) if order == "r" else (1, 2)
    return ArraySpec("f64", 2, 16, unit, (2, 2), strides, small=True, regular=True)


@pytest.mark.parametrize("target", ATOMS)
@pytest.mark.parametrize("orders", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("block", [(128, 128, 16), (128, 128, 32), (64, 64, 16)], ids=str)
def test_code(target: str, orders: str, block: tuple[int, int, int]) -> None:
    tiles = dict(zip(("BM", "BN", "BK"), block, strict=True))
    report = product.compile(target, a=array(orders[0]), b=array(orders[1]), out=array("r"), **tiles).report
    assert report["atoms"] == [ATOMS[target]]
    assert report["spill_stores"] == report["spill_loads"] == report["stack_bytes"] == 0
    accesses = [access for buffer in report["buffers"] for access in buffer["accesses"]]
    assert len(accesses) >= 4 and all(access["conflicts"] == 0 for access in accesses)
