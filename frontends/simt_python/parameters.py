"""The SIMT track's kinds of parameters."""

from __future__ import annotations

from typing import Any

from tileopt.dialects.contracts import ParamKind
from tileopt.frontends.python.parameters import ArrayParameter, Kinds
from tileopt.frontends.python.parameters import Const as Const
from tileopt.frontends.python.stubs import outside

KINDS = Kinds(
    "simt.Slice, simt.DisjointSlice, simt.Atomic, simt.Const[int]",
    "simt.f32",
    ("stream", "target", "block", "grid_rank"),
)


class View(ArrayParameter):
    """What arrays and their parts offer in a kernel: x[i], x[i, j], len(x), x.shape[k], and parts that carry proof."""

    _track = "simt"

    def __getitem__(self, index: Any) -> Any:
        outside("indexing", "simt")

    def row(self, index: Any) -> Any:
        """The part at `index` of the first axis, which is checked here and nowhere else."""
        outside("row()", "simt")

    def col(self, index: Any) -> Any:
        """The part at `index` of the last axis, which is checked here and nowhere else."""
        outside("col()", "simt")

    def window(self, start: Any, count: Any) -> Any:
        """`count` elements of the first axis from `start` on; that they lie inside is checked here."""
        outside("window()", "simt")


class Slice(View):
    """An array that threads read. Any thread may read any element."""

    _kind = ParamKind.IN


class DisjointSlice(View):
    """An array that threads write: each only elements that no other thread touches."""

    _kind = ParamKind.INOUT

    def __setitem__(self, index: Any, value: Any) -> None:
        outside("indexing", "simt")


class Atomic(View):
    """An array that threads reach by atomic operations only."""

    _kind = ParamKind.ATOMIC
