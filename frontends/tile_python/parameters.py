"""The tile track's kinds of parameters."""

from __future__ import annotations

from tileopt.dialects.contracts import ParamKind
from tileopt.frontends.python.parameters import ArrayParameter, Kinds
from tileopt.frontends.python.parameters import Const as Const

KINDS = Kinds("tile.In, tile.Out, tile.InOut, tile.Atomic, tile.Const[int]", "tile.f32")


class In(ArrayParameter):
    """An array that the kernel only reads. Blocks share it."""

    _kind = ParamKind.IN


class Out(ArrayParameter):
    """An array that the kernel writes: each block the tiles that its id owns."""

    _kind = ParamKind.OUT


class InOut(ArrayParameter):
    """An array that the kernel reads and writes: each block the tiles that its id owns."""

    _kind = ParamKind.INOUT


class Atomic(ArrayParameter):
    """An array that any block changes, by atomic operations only."""

    _kind = ParamKind.ATOMIC
