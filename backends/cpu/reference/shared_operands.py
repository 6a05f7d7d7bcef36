"""Matrices in shared memory by their layout: what descriptors, copies and plain accesses agree on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.reference.elements import numbers
from tileopt.dialects.layout import SharedLayout

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@lru_cache(maxsize=256)
def element_places(layout: SharedLayout) -> Array:
    """The element index of each coordinate, in the shape of the tile."""
    import numpy as np

    axes = np.indices(layout.shape)
    index = sum((axis * stride for axis, stride in zip(axes, layout.strides, strict=True)), np.zeros((), np.int64))
    if layout.panels > 1:
        index = index + axes[layout.order[-1]] // layout.panel * (layout.panel_stride - layout.panel)
    return index ^ (index >> layout.shift & ((1 << layout.bits) - 1) << layout.base)


def matrix(data: Array, layout: SharedLayout, type_: str) -> Array:
    """The tile in the bytes of a buffer, as numbers."""
    return numbers(data, type_)[element_places(layout)]


def layout_of(shape: Sequence[int], fields: Sequence[Any]) -> SharedLayout:
    """A buffer's layout from what a request says of it."""
    order, *rest = fields
    return SharedLayout(tuple(shape), tuple(order), *rest)
