"""The type of tiles and run-time scalars, for annotations and for reading: kernels are never run as Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tileopt.dialects.dtypes import DType
from tileopt.frontends.python.stubs import outside


class Tile:
    """A tile or, where its shape is (), a scalar of run time. Operators broadcast as NumPy's do."""

    shape: tuple[int, ...]
    dtype: DType
    ndim: int
    size: int
    T: Tile
    """The tile with its axes in reverse order."""

    def astype(self, dtype: Any) -> Tile:
        """Another element type. Floats truncate toward zero to integers; a bool is true where the value is not 0."""
        outside("astype()")

    def reshape(self, *shape: int | Sequence[int]) -> Tile:
        """The same elements in row-major order under other extents, of which one may be -1."""
        outside("reshape()")

    def broadcast_to(self, shape: Sequence[int]) -> Tile:
        """The tile repeated along axes of extent 1 and new leading axes."""
        outside("broadcast_to()")

    def expand_dims(self, axis: int) -> Tile:
        """The tile with a new axis of extent 1 at `axis`; also x[:, None]."""
        outside("expand_dims()")

    def transpose(self, *axes: int | Sequence[int]) -> Tile:
        """Axis i of the result is axis axes[i]; without axes their order is reversed."""
        outside("transpose()")

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.sum`."""
        outside("sum()")

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.prod`."""
        outside("prod()")

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.max`."""
        outside("max()")

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.min`."""
        outside("min()")

    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.any`."""
        outside("any()")

    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tile:
        """See `tile.all`."""
        outside("all()")

    def item(self) -> Tile:
        """The only element of a tile whose extents are all 1, as a scalar."""
        outside("item()")

    def __getitem__(self, index: Any) -> Tile:
        outside("indexing")

    def _operator(self, other: Any) -> Tile:
        outside("arithmetic on tiles")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operator
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operator
    __pow__ = __rpow__ = __matmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _operator
    __lt__ = __le__ = __gt__ = __ge__ = _operator

    def _unary(self) -> Tile:
        outside("arithmetic on tiles")

    __neg__ = __pos__ = __invert__ = __abs__ = _unary
