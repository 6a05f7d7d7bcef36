"""Swizzles that follow from who reads a staged tile: never worse than the usual one, better where that conflicts."""

from __future__ import annotations

import pytest

from tileopt.backends.nvidia.atoms.mma_sync import MMA_SYNC
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.layout_banks import bank_conflicts, shared_vector
from tileopt.passes.layout.buffers import staged_layout
from tileopt.passes.layout.reader_swizzles import swizzled_for

F64 = DTYPES["f64"].ir


def conflicts(layout: Layout, shared: SharedLayout, size: int) -> int:
    """Wavefronts too many, counted lane by lane over the whole fragment."""
    return bank_conflicts(layout, shared, shared_vector(layout, shared, size), size).excess


def fragment(name: str, role: str, shape: tuple[int, int], warps: tuple[int | None, ...]) -> Layout:
    return next(atom for atom in MMA_SYNC if atom.name == name).fragments[role].tiled(shape, warps)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("k", [8, 16, 32, 64])
@pytest.mark.parametrize("role", ["a", "b"])
def test_no_conflicts_in_double_precision(role: str, k: int, order: tuple[int, int]) -> None:
    shape = (128, k) if role == "a" else (k, 128)
    reader = fragment("mma_m16n8k8_f64_f64", role, shape, (0, None) if role == "a" else (None, 1))
    writer = coalesced(shape, order, 2, 4)
    usual = staged_layout(shape, F64, order)
    found = swizzled_for(usual, 8, [reader], [writer])
    assert conflicts(reader, usual, 8) > 0
    assert conflicts(reader, found, 8) == conflicts(writer, found, 8) == 0
    # It is a layout: each element has a place of its own.
    places = {found.index((i, j)) for i in range(shape[0]) for j in range(shape[1])}
    assert len(places) == shape[0] * shape[1] and max(places) < found.size


@pytest.mark.parametrize("atom", [a for a in MMA_SYNC if a.min_arch >= 80], ids=lambda atom: atom.name)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_never_worse(atom: object, order: tuple[int, int]) -> None:
    found_atom = next(a for a in MMA_SYNC if a is atom)
    element = DTYPES[stored(found_atom.a)].ir
    size = DTYPES[stored(found_atom.a)].bits // 8
    for role, shape in (("a", (64, 64)), ("b", (64, 64))):
        reader, writer = found_atom.fragments[role].tiled(shape, (None, None)), coalesced(shape, order, 16 // size, 4)
        usual = staged_layout(shape, element, order)
        found = swizzled_for(usual, size, [reader], [writer])
        assert sum(conflicts(x, found, size) for x in (reader, writer)) <= sum(
            conflicts(x, usual, size) for x in (reader, writer)
        )


def test_what_is_not_known_stays() -> None:
    """Tiles that nobody is known to read, and rows that are padded."""
    writer = coalesced((64, 16), (0, 1), 2, 4)
    usual = staged_layout((64, 16), F64, (0, 1))
    assert swizzled_for(usual, 8, [], [writer]) is usual
    padded = staged_layout((64, 24), F64, (0, 1))
    assert padded.pad and swizzled_for(padded, 8, [coalesced((64, 24), (0, 1), 2, 4)], []) is padded
