"""Bulk tensor copies: a box of an array to a tile in shared memory and back, elements as unsigned integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.reference.shared_operands import element_places
from tileopt.dialects.layout import SharedLayout

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def _overlap(array: Array, offsets: Sequence[int], shape: Sequence[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The part of the box that lies in the array, counted in the array and in the box."""
    ends = [min(o + n, extent) for o, n, extent in zip(offsets, shape, array.shape, strict=True)]
    starts = [max(0, o) for o in offsets]
    there = tuple(slice(s, max(s, e)) for s, e in zip(starts, ends, strict=True))
    here = tuple(slice(t.start - o, t.stop - o) for t, o in zip(there, offsets, strict=True))
    return there, here


def load_box(
    array: Array,
    offsets: Sequence[int],
    tile: Array,
    layout: SharedLayout,
    axis: int | None = None,
    parts: int = 1,
    part: int = 0,
) -> None:
    """Fills `tile`, the elements of a buffer in the order of memory; what lies outside the array is 0. Where `axis` is
    given: one of so many parts along it."""
    import numpy as np

    box = np.zeros(layout.shape, array.dtype)
    there, here = _overlap(array, offsets, layout.shape)
    box[here] = array[there]
    places = element_places(layout)
    if axis is not None:
        rows = layout.shape[axis] // parts
        chosen = (slice(None),) * axis + (slice(part * rows, (part + 1) * rows),)
        places, box = places[chosen], box[chosen]
    tile[places] = box


def store_box(array: Array, offsets: Sequence[int], tile: Array, layout: SharedLayout) -> None:
    """Writes what of the tile lies inside the array."""
    there, here = _overlap(array, offsets, layout.shape)
    array[there] = tile[element_places(layout)][here]
