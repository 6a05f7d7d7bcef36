"""Hints for caches: they change no result, and are what the instructions say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import tile


@tile.kernel
def hinted(x: tile.In, out: tile.Out, N: tile.Const[int]):
    i = tile.bid(0)
    first = tile.load(x, (i, 0), (1, N), cache="keep")
    again = tile.load_at(x, (i, 1), (1, N), cache="streaming")
    tile.store(out, (i, 0), first + again, cache="streaming")
    tile.store_at(out, (i, N), first - again, cache="keep")


@tile.kernel
def wrong(x: tile.In, out: tile.Out):
    tile.store(out, (0,), tile.load(x, (0,), (4,), cache="often"))


@pytest.mark.parametrize("target", [None, "model:sm_75", "model:sm_90a"])
@pytest.mark.parametrize("columns", [512, 509])
def test_results_do_not_change(rng: np.random.Generator, target: str | None, columns: int) -> None:
    x = rng.standard_normal((3, columns)).astype(np.float32)
    out = np.full((3, 1024), np.nan, np.float32)
    hinted[3](x, out, 512, target=target)
    wide = np.zeros((3, 513), np.float32)
    wide[:, :columns] = x
    np.testing.assert_array_equal(out[:, :512], wide[:, :512] + wide[:, 1:])
    np.testing.assert_array_equal(out[:, 512:], wide[:, :512] - wide[:, 1:])


@pytest.mark.parametrize("strides", ["?:16", "?"])
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_what_instructions_say(target: str, strides: str) -> None:
    """Known or tested bounds, vectors or single elements; a GPU without policies leaves out what it cannot say."""
    array = f"f32[?,{strides}]"
    given: dict[str, Any] = {"x": array, "out": array, "N": 512}
    code = hinted.compile(target, **given)
    assert len(code.cubin) > 0  # ptxas takes it
    loads = set(re.findall(r"(ld\.global[\w.:]*)\.b32", code.ptx))
    stores = set(re.findall(r"(st\.global[\w.:]*)\.b32", code.ptx))
    plain = {re.sub(r"\.v[24]$", "", name) for name in loads | stores}
    keep = "" if target == "sm_75" else ".L2::cache_hint"
    assert plain == {f"ld.global.nc{keep}", "ld.global.cs.nc", "st.global.cs", f"st.global{keep}"}
    assert ("createpolicy.fractional.L2::evict_last.b64" in code.ptx) == (target != "sm_75")


def test_an_unknown_hint() -> None:
    given: dict[str, Any] = {"x": "f32[?]", "out": "f32[?]"}
    with pytest.raises(tileopt.CompileError, match="cache is 'streaming', 'keep' or None, not 'often'") as caught:
        wrong.compile("sm_90a", **given)
    assert caught.value.code == "type/arguments" and caught.value.location is not None
