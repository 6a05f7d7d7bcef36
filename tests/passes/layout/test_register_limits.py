"""A tile that a GPU's thread cannot hold is refused by name; what fits, and any tile on the CPU, is not."""

from __future__ import annotations

import pytest
from python_kernels import build, kernel

from tileopt.backends.pipelines import run_passes
from tileopt.backends.runtime.signature import signature_of
from tileopt.dialects.diagnostics import UnsupportedError
from tileopt.dialects.target import get_target

COPY = "tile.store(out, 0, tile.load(x, 0, (N,)))"
PRODUCT = """
acc = tile.zeros((BM, BN), tile.f32)
for k in range(tile.cdiv(a.shape[1], 32)):
    acc = tile.mma(tile.load(a, (0, k), (BM, 32)), tile.load(b, (k, 0), (32, BN)), acc)
tile.store(out, (0, 0), acc)
"""


class Enough(Exception):
    """The pass that checks has run."""


def stop(name: str, _: object) -> None:
    if name == "assign-layouts":
        raise Enough


def lay_out(target: str, elements: int, dtype: str = "f32", hints: str = "", body: str = COPY) -> None:
    made = build(
        kernel(body, f"x: tile.In, out: tile.Out, N: tile.Const[int] = {elements}", hints=hints),
        x=(dtype, 1),
        out=(dtype, 1),
    )
    with pytest.raises(Enough):
        run_passes(made, get_target(target), after=stop)


def multiply(rows: int, columns: int, hints: str = "") -> None:
    parameters = f"a: tile.In, b: tile.In, out: tile.Out, BM: tile.Const[int] = {rows}, BN: tile.Const[int] = {columns}"
    made = build(kernel(PRODUCT, parameters, hints=hints), a=("f16", 2), b=("f16", 2), out=("f32", 2))
    with pytest.raises(Enough):
        run_passes(made, get_target("sm_80"), after=stop)


@pytest.mark.parametrize(("dtype", "most"), [("f16", 8192), ("f32", 4096), ("i64", 2048), ("f64", 2048), ("u8", 16384)])
@pytest.mark.parametrize("warps", [1, 4])
def test_the_limit_counts_registers_of_32_bits(dtype: str, most: int, warps: int) -> None:
    hints = f"(num_warps={warps})"
    lay_out("sm_80", most * warps, dtype, hints)
    with pytest.raises(UnsupportedError) as caught:
        lay_out("sm_80", 2 * most * warps, dtype, hints)
    assert caught.value.code == "limits/tile-registers"
    assert f"of at most {most * warps} elements" in str(caught.value.help)


def test_the_error_says_what_fits() -> None:
    with pytest.raises(UnsupportedError) as caught:
        lay_out("sm_90a", 8192, hints="(num_warps=1)")
    error = caught.value
    assert error.message == "a tile of 8192xf32 takes 256 registers of each of 32 threads, a thread of sm_90a has 255"
    assert error.location is not None and error.location.line == 7
    assert error.help == (
        "the hint num_warps=1 leaves too few threads: give 2 or more, or leave it out; "
        "else use a loop over smaller tiles, of at most 4096 elements of f32 with 32 threads, "
        "or 131072 with 1024 threads (num_warps=32)"
    )


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_without_a_hint_the_block_grows_first(target: str) -> None:
    lay_out(target, 131072)
    with pytest.raises(UnsupportedError, match="of at most 131072 elements of f32 with 1024 threads"):
        lay_out(target, 262144)


def test_a_tile_between_load_and_store_counts() -> None:
    wide = "a = tile.load(x, 0, (N,)).astype(tile.f64)\ntile.store(out, 0, (a + a).astype(out.dtype))"
    with pytest.raises(UnsupportedError, match="131072xf64 takes 256"):
        lay_out("sm_80", 131072, body=wide)


def test_accumulators_count() -> None:
    multiply(64, 64, "(num_warps=1)")
    with pytest.raises(UnsupportedError, match="512x512xf32 takes") as caught:
        multiply(512, 512)
    assert caught.value.code == "limits/tile-registers"
    assert "num_warps" not in str(caught.value.help)  # a product's rows and columns may not spread over more


@pytest.mark.parametrize("warps", [1, 2])
def test_a_hint_of_too_few_warps_is_named(warps: int) -> None:
    multiply(128, 128)
    with pytest.raises(UnsupportedError, match=f"128x128xf32 takes {512 // warps}") as caught:
        multiply(128, 128, f"(num_warps={warps})")
    assert caught.value.code == "limits/tile-registers"
    assert caught.value.help is not None
    told = f"the hint num_warps={warps} leaves too few threads: give 4 or more, or leave it out; else use a loop"
    assert caught.value.help.startswith(told)
    multiply(128, 128, "(num_warps=4)")


def test_a_cpu_has_no_such_limit() -> None:
    lay_out("cpu", 1 << 20, "f64")


def test_an_operand_is_read_as_its_product_runs() -> None:
    """The whole operand is more than the registers of a warp; no more of it is there at once than instructions need."""
    body = """
    acc = tile.zeros((16, 64), tile.f32)
    for k in range(tile.cdiv(a.shape[1], K)):
        acc = tile.mma(tile.load(a, (0, k), (16, K)), tile.load(b, (k, 0), (K, 64)), acc)
    tile.store(out, (0, 0), acc)
    """

    def operands(depth: int) -> None:
        parameters = f"a: tile.In, b: tile.In, out: tile.Out, K: tile.Const[int] = {depth}"
        made = kernel(body, parameters, hints="(num_warps=1)")
        aligned = {"a": "f16[?:16, ?:16]", "b": "f16[?:16, ?:16]", "out": "f32[?, ?]"}
        with pytest.raises(Enough):
            run_passes(made.build(signature_of(made.parameters, aligned)), get_target("sm_80"), after=stop)

    operands(256)
    with pytest.raises(UnsupportedError, match="512x64xf16 takes 512"):
        operands(512)
