"""The warp's part of the simt dialect: values that lanes exchange. All lanes of the warp take part and must meet.

`width`, a power of two up to 32 (by default 32), cuts the warp into equal parts that work each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import integer, is_power_of_two, string
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import SCALAR_TYPES
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.reductions import check_kind


class ShuffleKind(StrEnum):
    """Whose value a lane gets."""

    IDX = "idx"  # of lane `lane`
    UP = "up"  # of the lane `lane` below; its own where there is none
    DOWN = "down"  # of the lane `lane` above; its own where there is none
    XOR = "xor"  # of the lane whose number differs in the bits of `lane`


class VoteKind(StrEnum):
    """What is asked of the lanes' conditions."""

    ANY = "any"
    ALL = "all"
    BALLOT = "ballot"  # the lanes where it holds, as bits


class MatchKind(StrEnum):
    """Which lanes' equal values count."""

    ANY = "any"  # the lanes with this lane's value, as bits
    ALL = "all"  # all lanes, as bits, if they have one value, else 0


class LaneMaskKind(StrEnum):
    """Which lanes a mask holds, beside this one's number."""

    EQ = "eq"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


def check_word(kind: StringAttr, kinds: Iterable[str], what: str) -> None:
    if kind.data not in tuple(kinds):
        raise VerifyException(f"{what} is one of {', '.join(kinds)}, not '{kind.data}'")


def check_scalar(type_: Attribute, what: str) -> None:
    if type_ not in SCALAR_TYPES:
        raise VerifyException(f"{what} takes a scalar, not {type_}")


def check_width(width: IntegerAttr | None) -> None:
    if width is not None and not (is_power_of_two(width.value.data) and width.value.data <= WARP_SIZE):
        raise VerifyException(f"width is a power of two up to {WARP_SIZE}, not {width.value.data}")


@irdl_op_definition
class Shuffle(IRDLOperation):
    """Another lane's value; see `ShuffleKind`. `lane` counts within the part of `width` lanes."""

    name = "simt.shuffle"
    value = operand_def()
    lane = operand_def(eq(i32))
    kind = prop_def(string("kind"))
    width = opt_prop_def(integer("width"))
    result = result_def()
    traits = traits_def(MemoryReadEffect())  # keeps its place: all lanes must meet here
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $lane attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        check_word(self.kind, ShuffleKind, "a shuffle")
        check_scalar(self.value.type, "a shuffle")
        check_width(self.width)
        if self.value.type != self.result.type:
            raise VerifyException(f"a shuffle of {self.value.type} does not give {self.result.type}")


@irdl_op_definition
class Vote(IRDLOperation):
    """Asks all lanes: i1 for any and all, i32 for ballot."""

    name = "simt.vote"
    condition = operand_def(eq(i1))
    kind = prop_def(string("kind"))
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$condition attr-dict `:` type($result)"

    def verify_(self) -> None:
        check_word(self.kind, VoteKind, "a vote")
        wanted = i32 if self.kind.data == VoteKind.BALLOT else i1
        if self.result.type != wanted:
            raise VerifyException(f"the vote '{self.kind.data}' gives {wanted}, not {self.result.type}")


@irdl_op_definition
class Match(IRDLOperation):
    """Lanes with equal values, as the bits of an i32; values are compared by their bits."""

    name = "simt.match"
    value = operand_def()
    kind = prop_def(string("kind"))
    result = result_def(eq(i32))
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        check_word(self.kind, MatchKind, "a match")
        check_scalar(self.value.type, "a match")
        if bit_width(self.value.type) not in (32, 64):
            raise VerifyException(f"a match compares 32 or 64 bits, not {self.value.type}")


@irdl_op_definition
class WarpReduce(IRDLOperation):
    """The lanes' values combined, in every lane. Floats are combined by halves: lane l with l xor 16, 8, 4, 2, 1."""

    name = "simt.warp_reduce"
    value = operand_def()
    kind = prop_def(string("kind"))
    width = opt_prop_def(integer("width"))
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def verify_(self) -> None:
        check_scalar(self.value.type, "a warp's reduction")
        check_kind(self.kind, self.value.type)
        check_width(self.width)
        if self.value.type != self.result.type:
            raise VerifyException(f"a reduction of {self.value.type} does not give {self.result.type}")


@irdl_op_definition
class Elect(IRDLOperation):
    """Whether this lane is the one of its warp that is chosen: the first."""

    name = "simt.elect"
    result = result_def(eq(i1))
    traits = traits_def(MemoryReadEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class ActiveMask(IRDLOperation):
    """The lanes that run here together, as bits."""

    name = "simt.active_mask"
    result = result_def(eq(i32))
    traits = traits_def(MemoryReadEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class LaneMask(IRDLOperation):
    """The lanes whose numbers are equal to, less than, ... this lane's, as bits."""

    name = "simt.lane_mask"
    kind = prop_def(string("kind"))
    result = result_def(eq(i32))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        check_word(self.kind, LaneMaskKind, "a lane mask")


@irdl_op_definition
class SyncWarp(IRDLOperation):
    """All lanes of the warp meet; their accesses to memory before it are seen by each other after it."""

    name = "simt.sync_warp"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


WarpOps: list[type[Operation]] = [Shuffle, Vote, Match, WarpReduce, Elect, ActiveMask, LaneMask, SyncWarp]
