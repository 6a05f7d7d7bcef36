"""Products of mxfp8, mxfp4 and nvfp4 against NumPy in f64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from packed_programs import Array, unpacked
from scaled_programs import scaled_nt

import tileopt
from tileopt import tile

E8M0, E4M3 = np.dtype(ml_dtypes.float8_e8m0fnu), np.dtype(ml_dtypes.float8_e4m3fn)
GPUS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
TARGETS = ["cpu", "cpu-check", *(f"model:{name}" for name in GPUS)]
MIXES = [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "e5m2")]
# Every mix on the CPU, two of them on each GPU.
CASES = [("cpu", mix) for mix in MIXES]
CASES += [(name, MIXES[(at + turn) % len(MIXES)]) for at, name in enumerate(TARGETS[1:]) for turn in (0, 2)]
BLOCKS = [(64, 64, 64), (128, 96, 128), (48, 40, 32)]


def operand(rng: np.random.Generator, rows: int, k: int, kind: str) -> tuple[Array, Array]:
    """Every finite code there is, as the kernel takes it and in f64."""
    if kind == "e2m1":
        packed = rng.integers(0, 256, (rows, k // 2)).astype(np.uint8)
        return packed, unpacked(packed, "f4e2m1fn")
    dtype = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[kind]
    codes = rng.integers(0, 256, (rows, k)).astype(np.uint8)
    finite = np.isfinite(codes.view(dtype).astype(np.float32))
    values = np.where(finite, codes, 0x38).astype(np.uint8).view(dtype)
    return values, values.astype(np.float64)


def scales(rng: np.random.Generator, rows: int, blocks: int, block: int, reach: int = 10) -> tuple[Array, Array]:
    if block == 32:
        codes = rng.integers(127 - reach, 128 + reach, (rows, blocks)).astype(np.uint8)
        return codes.view(E8M0), np.exp2(codes - 127.0)
    made = rng.uniform(-448, 448, (rows, blocks)).astype(E4M3)
    return made, np.abs(made.astype(np.float64))  # the sign of such scales does not count


def check(
    rng: np.random.Generator, target: str | None, shape: tuple[int, int, int], kinds: tuple[str, str], block: int,
    tiles: tuple[int, int, int], reach: int = 10,
) -> None:  # fmt: skip
    m, n, k = shape
    (a, left), (b, right) = operand(rng, m, k, kinds[0]), operand(rng, n, k, kinds[1])
    (sa, fa), (sb, fb) = scales(rng, m, k // block, block, reach), scales(rng, n, k // block, block, reach)
    out = np.full((m, n), 77, np.float32)
    scaled_nt[-(-m // tiles[0]), -(-n // tiles[1])](a, sa, b, sb, out, block, *tiles, target=target)
    left, right = left * np.repeat(fa, block, 1), right * np.repeat(fb, block, 1)
    wanted, room = left @ right.T, np.abs(left) @ np.abs(right).T
    # Operands are exact, products too: what remains is the sum in f32, in any order.
    assert (np.abs(out - wanted) <= room * k * 2.0**-24).all()


@pytest.mark.parametrize(("target", "kinds"), CASES, ids=lambda part: part if isinstance(part, str) else "-".join(part))
def test_mx(rng: np.random.Generator, target: str, kinds: tuple[str, str]) -> None:
    tiles = BLOCKS[int(rng.integers(len(BLOCKS)))]
    check(rng, target, (133, 70, 160), kinds, 32, tiles)


@pytest.mark.parametrize("target", TARGETS)
def test_nvfp4(rng: np.random.Generator, target: str) -> None:
    tiles = BLOCKS[int(rng.integers(len(BLOCKS)))]
    check(rng, target, (133, 70, 144), ("e2m1", "e2m1"), 16, tiles)


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e2m1", "e2m1")], ids="-".join)
@pytest.mark.parametrize("target", ["cpu", "model:sm_90a"])
def test_scales_of_all_sizes(rng: np.random.Generator, target: str, kinds: tuple[str, str]) -> None:
    """Of products that f32 holds: those of scales up to 2**50."""
    check(rng, target, (64, 64, 64), kinds, 32, (64, 64, 64), reach=50)


@pytest.mark.parametrize("target", ["cpu", "model:sm_80"])
@pytest.mark.parametrize("code", [10, 239])
def test_the_least_and_the_greatest_exact_scale(target: str, code: int) -> None:
    """2**-117 and 2**112, with the least and the greatest numbers of e5m2 and a scale that brings them back."""
    a = np.zeros((32, 32), ml_dtypes.float8_e5m2)
    a[:, 0] = 2.0**-16
    a[:, 1] = 57344.0
    b = np.zeros((32, 32), E4M3)
    b[:, 0] = 1.0
    b[16:, 0], b[16:, 1] = 0.0, 1.0
    sa = np.full((32, 1), code, np.uint8).view(E8M0)
    sb = np.full((32, 1), 254 - code, np.uint8).view(E8M0)
    out = np.zeros((32, 32), np.float32)
    scaled_nt[1, 1](a, sa, b, sb, out, 32, 32, 32, 32, target=target)
    np.testing.assert_array_equal(out[:, :16], 2.0**-16)
    np.testing.assert_array_equal(out[:, 16:], 57344.0)


@pytest.mark.parametrize("target", ["cpu", "model:sm_90a"])
def test_a_scale_that_is_nan(target: str) -> None:
    a = np.ones((64, 64), E4M3)
    sa, sb = np.full((64, 2), 127, np.uint8), np.full((64, 2), 127, np.uint8)
    sa[3, 1] = 255
    out = np.zeros((64, 64), np.float32)
    scaled_nt[1, 1](a, sa.view(E8M0), a, sb.view(E8M0), out, 32, 64, 64, 64, target=target)
    wanted = np.full((64, 64), 64.0)
    wanted[3] = np.nan
    np.testing.assert_array_equal(out, wanted)


def compiled(target: str, a: str, scale: str, block: int) -> Any:
    matrix, row = f"{a}[?:16, ?:16]", f"{scale}[?:16, ?:16]"
    return scaled_nt.compile(
        target, a=matrix, a_scale=row, b=matrix, b_scale=row, out="f32[?:16, ?:16]", BLOCK=block, BM=128, BN=128, BK=64
    )


@pytest.mark.parametrize(
    ("a", "scale", "block", "wide"), [("f8e4m3fn", "f8e8m0fnu", 32, "bf16"), ("u8", "f8e4m3fn", 16, "f16")]
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_the_report_says_what_was_done(target: str, a: str, scale: str, block: int, wide: str) -> None:
    made = compiled(target, a, scale, block)
    (line,) = made.report["expanded"]
    assert f"as {wide}, operands times their scales" in line and f"for each {block}" in line
    assert all(wide in atom for atom in made.report["atoms"])
    assert made.report["spill_stores"] <= (0 if target == "sm_90a" else 64)


@pytest.mark.parametrize(
    ("a", "scale", "block", "kind"),
    [
        ("f8e4m3fn", "f8e8m0fnu", 32, "mxf8f6f4"),
        ("u8", "f8e8m0fnu", 32, "mxf4"),
        ("u8", "f8e4m3fn", 16, "mxf4nvf4"),
    ],
)
def test_instructions_with_scales(a: str, scale: str, block: int, kind: str) -> None:
    """Operands of f4 come as bytes, two values in each, by the copy engine and `ldmatrix`."""
    made = compiled("sm_120a", a, scale, block)
    (atom,) = made.report["atoms"]
    assert atom.startswith(f"mma_{kind}_") and made.report["expanded"] == []
    assert f".kind::{kind}.block_scale." in made.ptx and "ldmatrix" in made.ptx
    assert all("TMA" in channel["by"] for channel in made.report["channels"]) and made.report["channels"]
    assert made.report["spill_stores"] == 0


# What is refused.


@tile.kernel
def of_f16(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 32)).astype(tile.f16), tile.load(s, (0, 0), (32, 1))
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T))


@tile.kernel
def of_long_blocks(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 32)), tile.load(s, (0, 0), (32, 2))
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T))


@tile.kernel
def of_other_scales(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 32)), tile.load(s, (0, 0), (32, 1)).astype(tile.f8e4m3fn)
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T))


@tile.kernel
def of_odd_depth(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (48, 48)), tile.load(s, (0, 0), (48, 1))
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T))


@tile.kernel
def into_f16(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 32)), tile.load(s, (0, 0), (32, 1))
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T, tile.zeros((32, 32), tile.f16)).astype(tile.f32))


@tile.kernel
def of_unequal_depths(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 64)), tile.load(s, (0, 0), (32, 1))
    tile.store(out, (0, 0), tile.mma_scaled(t, scale, t, scale.T))


@tile.kernel
def of_vectors(a: tile.In, s: tile.In, out: tile.Out):
    t, scale = tile.load(a, (0, 0), (32, 64)), tile.load(s, (0, 0), (32, 1))
    tile.store(out, (0, 0), tile.mma_scaled(t.reshape(-1), scale, t, scale.T))


@pytest.mark.parametrize(
    ("kernel", "code", "word"),
    [
        (of_f16, "type/mma-operand", "f16"),
        (of_long_blocks, "type/mma-scale", "each 32 elements"),
        (of_other_scales, "type/mma-scale", "scales of f8e4m3fn"),
        (of_odd_depth, "type/mma-scale", "not 48"),
        (into_f16, "type/mma-accumulator", "f16"),
        (of_unequal_depths, "type/shape", "inner extents"),
        (of_vectors, "type/shape", "rank 2"),
    ],
)
def test_refused(kernel: Any, code: str, word: str) -> None:
    with pytest.raises(tileopt.CompileError) as error:
        kernel.compile("cpu", a="f8e4m3fn[?,?]", s="f8e8m0fnu[?,?]", out="f32[?,?]")
    assert error.value.code == code and word in error.value.message
