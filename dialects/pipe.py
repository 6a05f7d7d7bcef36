"""The pipe dialect: values that cross time through a ring of slots, without naming the hardware that moves them.

A channel has S slots; a slot holds one or more tiles in shared memory. Iteration `i` uses slot `i mod S`:
acquire (the slot is free again), copy (start moving), commit (this slot's copies are complete as a group),
wait (the group has arrived: gives the tiles), release (its readers are done). On sm_80 that becomes cp.async groups,
on sm_90 and later mbarriers. Roles are warps of one block that do different work at the same time and share nothing
but channels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, i1, i64
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import BOUNDS, PADDING, check_bounds, check_padding, check_tile, check_vector, integer
from tileopt.dialects.effects import AllocatesResult
from tileopt.dialects.tile_types import BufferType, ViewType

I64 = eq(i64)


@irdl_attr_definition
class ChannelType(ParametrizedAttribute, TypeAttribute):
    """`!pipe.channel<4, !tile.buffer<128x32xbf16>, ...>`: a ring of 4 slots, each holding these tiles."""

    name = "pipe.channel"
    slots: IntAttr
    members: ArrayAttr[BufferType]

    def verify(self) -> None:
        if self.slots.data < 1:
            raise VerifyException("a channel has at least one slot")
        if not self.members.data:
            raise VerifyException("a channel's slot holds at least one tile")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        members: list[BufferType] = []
        with parser.in_angle_brackets():
            slots = parser.parse_integer(allow_boolean=False, allow_negative=False)
            while parser.parse_optional_punctuation(","):
                at = parser.pos
                member = parser.parse_type()
                if not isinstance(member, BufferType):
                    parser.raise_error("a channel's slot holds !tile.buffer", at)
                members.append(member)
        return [IntAttr(slots), ArrayAttr(members)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.slots.data))
            for member in self.members.data:
                printer.print_string(", ")
                printer.print_attribute(member)


def channel_type(value: SSAValue) -> ChannelType:
    """The type of a value known to be a channel."""
    assert isinstance(value.type, ChannelType)
    return value.type


@irdl_op_definition
class Channel(IRDLOperation):
    """Makes a channel; all its slots are free."""

    name = "pipe.channel"
    result = result_def(ChannelType)
    traits = traits_def(AllocatesResult())
    assembly_format = "attr-dict `:` type($result)"

    def verify_(self) -> None:
        for member in channel_type(self.result).members.data:
            check_tile(member, "a slot's tile")


class _SlotOp(IRDLOperation):
    channel = operand_def(ChannelType)
    iteration = operand_def(I64)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$channel `[` $iteration `]` attr-dict `:` type($channel)"


@irdl_op_definition
class Acquire(_SlotOp):
    """Waits until the slot's last readers have released it."""

    name = "pipe.acquire"


@irdl_op_definition
class Commit(_SlotOp):
    """Closes the group of copies into the slot."""

    name = "pipe.commit"


@irdl_op_definition
class Release(IRDLOperation):
    """The slot's tiles are not read any more; nothing happens where `where` does not hold."""

    name = "pipe.release"
    channel = operand_def(ChannelType)
    iteration = operand_def(I64)
    where = opt_operand_def(eq(i1))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$channel `[` $iteration `]` (`where` $where^)? attr-dict `:` type($channel)"


@irdl_op_definition
class Copy(IRDLOperation):
    """Starts to copy a tile of a view into member `member` of a slot; elements outside read as `padding`.

    `bounds`, `vector`, `padding` as in `tile.load`. `parts`: of a cluster of so many blocks each copies one part, which
    goes to all of them: they run the same loops, and copy the same tile in the same iteration.
    """

    name = "pipe.copy"
    view = operand_def(ViewType)
    offsets = var_operand_def(I64)
    channel = operand_def(ChannelType)
    iteration = operand_def(I64)
    member = prop_def(integer("member"))
    padding = opt_prop_def(PADDING)
    bounds = opt_prop_def(BOUNDS)
    vector = opt_prop_def(integer("vector"))
    parts = opt_prop_def(integer("parts"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$view `[` $offsets `]` `,` $channel `[` $iteration `]` attr-dict `:` type($view) `,` type($channel)"
    )

    def verify_(self) -> None:
        members = channel_type(self.channel).members.data
        assert isinstance(self.view.type, ViewType)
        if not 0 <= self.member.value.data < len(members):
            raise VerifyException(f"the channel has no member {self.member.value.data}")
        tile = members[self.member.value.data]
        if tile.element_type != self.view.type.element_type:
            raise VerifyException(f"a tile of {tile.element_type} from an array of {self.view.type.element_type}")
        if not len(self.offsets) == self.view.type.rank == tile.rank:
            raise VerifyException("offsets, array and tile differ in rank")
        check_padding(self.padding, tile.element_type)
        check_bounds(self.bounds, tile.rank)
        check_vector(self.vector)
        if self.parts is not None and self.parts.value.data < 2:
            raise VerifyException(f"a copy is made in 2 parts or more, not {self.parts.value.data}")


@irdl_op_definition
class Wait(IRDLOperation):
    """Waits until the slot's copies have arrived and gives its tiles, to be read before `pipe.release`.

    `pending`: groups committed later than this one that may still be in flight (in-order hardware counts them).
    """

    name = "pipe.wait"
    channel = operand_def(ChannelType)
    iteration = operand_def(I64)
    pending = prop_def(integer("pending"))
    tiles = var_result_def(BufferType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$channel `[` $iteration `]` attr-dict `:` type($channel) `->` type($tiles)"

    def verify_(self) -> None:
        members = channel_type(self.channel).members.data
        if tuple(r.type for r in self.tiles) != members:
            raise VerifyException("the results are not the channel's tiles")
        if self.pending.value.data < 0:
            raise VerifyException(f"pending counts groups, it is not {self.pending.value.data}")


@irdl_op_definition
class EndRole(IRDLOperation):
    """Ends a role's work; stands last in its region."""

    name = "pipe.end_role"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class Roles(IRDLOperation):
    """Two roles run side by side. The consumers are the block's first `warps` warps and do the kernel's work; the
    producer, one thread of a warpgroup of its own, fills channels. The registers that a thread of each role may have:
    `consumer_registers`, `producer_registers`; `blocks` of them fit in a multiprocessor."""

    name = "pipe.roles"
    warps = prop_def(integer("warps"))
    consumer_registers = prop_def(integer("consumer_registers"))
    producer_registers = prop_def(integer("producer_registers"))
    blocks = prop_def(integer("blocks"))
    consumers = region_def("single_block")
    producer = region_def("single_block")
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `consumers` $consumers `producer` $producer"

    def verify_(self) -> None:
        warps = self.warps.value.data
        if not 4 <= warps <= 28 or warps % 4:
            raise VerifyException(f"consumers are 1 to 7 whole warpgroups of 4 warps, not {warps} warps")
        for region in self.regions:
            if not isinstance(region.block.last_op, EndRole):
                raise VerifyException("a role ends with pipe.end_role")


PipeOps: list[type[Operation]] = [Channel, Acquire, Copy, Commit, Wait, Release, Roles, EndRole]
Pipe = Dialect("pipe", PipeOps, [ChannelType])
