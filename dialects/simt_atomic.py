"""The atomics of the simt dialect: on arrays whose view is `atomic`, and on tiles in shared memory.

`order` is by default relaxed, `scope` by default device. Bounds are those of `simt.element_load`.
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import BOUNDS, string
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.effects import UpdatesElement
from tileopt.dialects.simt_thread import I64, MEMORY, check_access
from tileopt.dialects.simt_warp import check_word
from tileopt.dialects.tile_types import Access, ViewType


class AtomicKind(StrEnum):
    """What is stored, of the old value and the operand."""

    ADD = "add"
    SUB = "sub"
    MAX = "max"  # signed, or of floats
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCH = "exch"  # the operand
    INC = "inc"  # 0 where the old value is not below the operand, else one more; unsigned
    DEC = "dec"  # the operand where the old value is 0 or above it, else one less; unsigned


# What tiles are combined with arrays by.
ON_TILES = (
    AtomicKind.ADD, AtomicKind.MAX, AtomicKind.MIN, AtomicKind.UMAX, AtomicKind.UMIN, AtomicKind.AND, AtomicKind.OR,
    AtomicKind.XOR,
)  # fmt: skip
ON_FLOATS = frozenset((AtomicKind.ADD, AtomicKind.SUB, AtomicKind.MAX, AtomicKind.MIN, AtomicKind.EXCH))


class Order(StrEnum):
    """Which of the thread's other accesses an atomic keeps in order with itself."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemoryScope(StrEnum):
    """For which threads."""

    BLOCK = "block"
    CLUSTER = "cluster"
    DEVICE = "device"
    SYSTEM = "system"


def _check(op: AtomicRmw | AtomicCas, value: Attribute) -> None:
    check_access(op.mem.type, len(op.indices), value, op.bounds)
    if isinstance(op.mem.type, ViewType) and op.mem.type.access.data != Access.ATOMIC:
        raise VerifyException("an atomic needs an atomic view or a buffer")
    if bit_width(value) not in (16, 32, 64):
        raise VerifyException(f"atomics work on 16, 32 and 64 bits, not on {value}")
    _check_words(op.order, op.scope)
    if op.result.type != value:
        raise VerifyException(f"the old value is {value}, not {op.result.type}")


def check_tile_atomic(kind: StringAttr, view: Attribute) -> None:
    """Whether atomics of this kind can combine a tile with an array."""
    assert isinstance(view, ViewType)
    element = view.element_type
    if view.access.data != Access.ATOMIC:
        raise VerifyException("an atomic needs an atomic view")
    if kind.data not in ON_TILES:
        raise VerifyException(f"a tile's atomic is {', '.join(ON_TILES)}, not '{kind.data}'")
    if bit_width(element) not in (16, 32, 64):
        raise VerifyException(f"atomics work on 16, 32 and 64 bits, not on {element}")
    if kind.data not in ON_FLOATS and not isinstance(element, IntegerType):
        raise VerifyException(f"the atomic {kind.data} works on integers, not on {element}")


def _check_words(order: StringAttr | None, scope: StringAttr | None) -> None:
    if order is not None:
        check_word(order, Order, "an order")
    if scope is not None:
        check_word(scope, MemoryScope, "a scope")


@irdl_op_definition
class AtomicRmw(IRDLOperation):
    """Replaces an element by what `kind` makes of it and the operand, and gives the old value."""

    name = "simt.atomic_rmw"
    value = operand_def()
    mem = operand_def(MEMORY)
    indices = var_operand_def(I64)
    kind = prop_def(string("kind"))
    order = opt_prop_def(string("order"))
    scope = opt_prop_def(string("scope"))
    bounds = opt_prop_def(BOUNDS)
    result = result_def()
    traits = traits_def(UpdatesElement())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $mem `[` $indices `]` attr-dict `:` type($value) `,` type($mem) `->` type($result)"

    def verify_(self) -> None:
        check_word(self.kind, AtomicKind, "an atomic")
        _check(self, self.value.type)
        if self.kind.data not in ON_FLOATS and not isinstance(self.value.type, IntegerType):
            raise VerifyException(f"the atomic {self.kind.data} works on integers, not on {self.value.type}")


@irdl_op_definition
class AtomicCas(IRDLOperation):
    """Replaces an element by `desired` if its bits are those of `expected`, and gives the old value."""

    name = "simt.atomic_cas"
    expected = operand_def()
    desired = operand_def()
    mem = operand_def(MEMORY)
    indices = var_operand_def(I64)
    order = opt_prop_def(string("order"))
    scope = opt_prop_def(string("scope"))
    bounds = opt_prop_def(BOUNDS)
    result = result_def()
    traits = traits_def(UpdatesElement())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$expected `,` $desired `,` $mem `[` $indices `]` attr-dict `:` type($expected) `,` type($desired) `,` "
        "type($mem) `->` type($result)"
    )

    def verify_(self) -> None:
        if self.expected.type != self.desired.type:
            raise VerifyException(f"{self.expected.type} is compared, {self.desired.type} stored")
        _check(self, self.desired.type)


@irdl_op_definition
class Fence(IRDLOperation):
    """The thread's accesses before it are seen by the threads of `scope` before those after it."""

    name = "simt.fence"
    scope = opt_prop_def(string("scope"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        _check_words(None, self.scope)


AtomicOps: list[type[Operation]] = [AtomicRmw, AtomicCas, Fence]
