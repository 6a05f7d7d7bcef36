"""The hint `occupancy` with products: blocks come, or a note says why not; registers are never cut into spills."""

from __future__ import annotations

import pytest

from tileopt import tile


@tile.kernel
def mm(a: tile.In, b: tile.In, c: tile.Out):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((128, 128), tile.f32)
    for k in range(tile.cdiv(a.shape[1], 64)):
        acc = tile.mma(tile.load(a, (i, k), (128, 64)), tile.load(b, (k, j), (64, 128)), acc)
    tile.store(c, (i, j), acc)


@tile.kernel(occupancy=32, num_warps=32)
def doubled(x: tile.In, y: tile.Out):
    i = tile.bid(0)
    tile.store(y, (i,), tile.load(x, (i,), (1024,)) * 2.0)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("asked", [2, 4, 8])
def test_blocks_come_or_a_note_says_why(target: str, asked: int) -> None:
    given = {"a": "f16[?:8,?:8]", "b": "f16[?:8,?:8]", "c": "f32[?:8,?:8]"}
    report = mm.with_hints(occupancy=asked).compile(target, **given).report
    blocks = report["occupancy"]["blocks"]
    assert report["spill_stores"] == report["spill_loads"] == 0
    assert all(channel["stages"] >= 2 for channel in report["channels"])
    assert blocks == (2 if target == "sm_80" else 1)
    words = f"occupancy={asked}: {blocks} {'block' if blocks == 1 else 'blocks'} at once, limited by "
    assert [note.startswith(words) for note in report["notes"]] == ([True] if blocks < asked else [])


def test_more_than_there_are_threads() -> None:
    report = doubled.compile("sm_80", x="f32[?]", y="f32[?]").report
    assert report["occupancy"]["blocks"] == 2
    assert any(note.startswith("occupancy=32: 2 blocks at once, limited by ") for note in report["notes"])
