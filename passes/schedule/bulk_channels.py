"""The rewriting half of pipeline-loops where a warp of its own fills the channels.

Nothing is done early: in each iteration, where the loads stood,

    acquire(n); copy ...; commit(n)      for the producer, which `split-roles` cuts off and which then runs ahead
    tiles = wait(n)
    ... what takes the tiles ...
    release(n)

`n` counts the iterations of the loop over the whole kernel: it is carried around all loops that stand around it, so
that the producer goes on to the next tile of a persistent kernel while the consumers finish the last one. Loads whose
tiles the same products take share a channel, and arrive together.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileopt.dialects import pipe, tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Target
from tileopt.dialects.tensor_map import unfit
from tileopt.dialects.tile_types import Access, BufferType, ViewType
from tileopt.passes.building import insert
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.buffers import panelled_layout
from tileopt.passes.loops import Loop
from tileopt.passes.lowering.running_counts import running_count
from tileopt.passes.schedule.clusters import parts_of
from tileopt.passes.schedule.pipeline_rewrite import Stream
from tileopt.passes.schedule.role_slice import slice_of


@dataclass(frozen=True, slots=True)
class BulkLoop:
    """The body of a loop, or a branch in one; the groups of its loads that each go through a channel of their own."""

    body: Block
    groups: list[list[Stream]]

    @property
    def around(self) -> Loop | scf.IfOp:
        """The op of the body, which is made anew whenever it carries more."""
        found = self.body.parent_op()
        assert isinstance(found, scf.ForOp | scf.WhileOp | scf.IfOp)
        return found

    @property
    def streams(self) -> list[Stream]:
        return [s for group in self.groups for s in group]


def bulk_loop(body: Block, streams: list[Stream], target: Target) -> BulkLoop | None:
    """How the loads of a loop's body go through channels that a producer fills with bulk copies; None where one
    cannot."""
    if (
        not streams
        or not all(copied_in_bulk(s, target) for s in streams)
        or slice_of([s.load for s in streams]) is None
    ):
        return None
    groups: list[tuple[frozenset[Operation], list[Stream]]] = []
    for stream in streams:
        users = frozenset(users_of(stream.stage.result))
        # One group where no product that takes an earlier load of it stands between. A tile that only threads read
        # comes along with the one before, which products take: it needs no barrier of its own.
        if groups and (groups[-1][0] == users or (_is_read(users) and _arrives_with(groups[-1][1], stream))):
            groups[-1][1].append(stream)
        else:
            groups.append((users, [stream]))
    return BulkLoop(body, [group for _, group in groups])


def copied_in_bulk(stream: Stream, target: Target) -> bool:
    """Whether the copy engine can fill the tile, and only units that read it past the threads take it."""
    view, type_ = stream.load.view, stream.stage.result.type
    assert isinstance(type_, BufferType) and isinstance(view.type, ViewType)
    if view.type.access.data != Access.SHARED:
        return False  # the producer runs ahead of what the kernel writes
    users = users_of(stream.stage.result)
    by_threads = any(isinstance(op, tile.Unstage) and not _reads_for_unit(op, target) for op in users)
    if not fits_engine(view, type_, by_threads=by_threads):
        return False
    return bool(users) and all(isinstance(op, tile.Unstage) or _reads_past_threads(op, target) for op in users)


def _reads_for_unit(op: Operation, target: Target) -> bool:
    """Whether threads read a tile only to hand it to such a unit, or to turn it for one: their layout fits any tile of
    the copy engine."""
    if isinstance(op, tile.Transpose):
        return all(isinstance(use.operation, tile.Stage) for use in op.result.uses)
    return isinstance(op, tile.Unstage) and all(
        (_reads_past_threads(use.operation, target) and use.index == 0)
        or (isinstance(use.operation, tile.Transpose) and _reads_for_unit(use.operation, target))
        for use in op.result.uses
    )


def fits_engine(view: SSAValue, type_: BufferType, *, by_threads: bool) -> bool:
    """Whether the copy engine can fill a buffer of the type, as it will lie. Where threads read it, elements of 8 bytes
    would meet in banks."""
    layout = panelled_layout(type_.get_shape(), type_.element_type, memory_order(view))
    if by_threads and bit_width(type_.element_type) >= 64:
        return False
    return unfit(view, BufferType.of(type_.get_shape(), type_.element_type, layout)) is None


def _is_read(users: frozenset[Operation]) -> bool:
    return all(isinstance(op, tile.Unstage) for op in users)


def _arrives_with(group: list[Stream], stream: Stream) -> bool:
    """Whether nothing takes a tile of the group before the stream's own is loaded."""
    block = stream.stage.parent
    assert block is not None
    users = [op for other in group for op in users_of(other.stage.result)]
    at: Operation | None = stream.stage
    while at is not None and not any(at.is_ancestor(op) for op in users):
        at = at.prev_op
    return at is None


def _reads_past_threads(op: Operation, target: Target) -> bool:
    return isinstance(op, tile.Mma) and op.atom is not None and target.atom(op.atom.data).by_descriptor


def users_of(value: SSAValue) -> list[Operation]:
    """The ops that take a staged tile, as it is or as a buffer of another shape."""
    found: list[Operation] = []
    for use in value.uses:
        op = use.operation
        if isinstance(op, tile.TransposeBuffer | tile.ReshapeBuffer):
            found += users_of(op.result)
        else:
            found.append(op)
    return found


def rewrite_bulk(kernel: KernelOp, bulk: BulkLoop, slots: int) -> None:
    """Makes the loads of `bulk` come through channels of `slots` slots."""
    top = kernel.body.block
    count = running_count(bulk.body, top)
    for group in bulk.groups:
        members = [s.stage.result.type for s in group]
        assert all(isinstance(m, BufferType) for m in members)
        channel_type = pipe.ChannelType(IntAttr(slots), ArrayAttr(members))
        made = pipe.Channel.create(result_types=[channel_type])
        made.location = bulk.around.location
        assert top.first_op is not None
        top.insert_op_before(made, top.first_op)
        _through(group, made.result, count)


def _through(group: list[Stream], channel: SSAValue, count: SSAValue) -> None:
    """Replaces the loads of a group."""
    last = group[-1].stage
    block = last.parent
    assert block is not None
    behind = _last_user(group, block)
    insert(last, pipe.Acquire, [channel, count])
    for member, stream in enumerate(group):
        properties = {k: v for k, v in stream.load.properties.items() if k in ("padding", "bounds", "vector")}
        properties["member"] = IntegerAttr(member, i64)
        parts = parts_of(stream.load)
        if parts is not None:
            properties["parts"] = parts
        view, *offsets = stream.load.operands
        copy = insert(last, pipe.Copy, [view, *offsets, channel, count], [], properties)
        copy.location = stream.load.location
    insert(last, pipe.Commit, [channel, count])
    pending: dict[str, Attribute] = {"pending": IntegerAttr(0, i64)}
    wait = insert(last, pipe.Wait, [channel, count], [s.stage.result.type for s in group], pending)
    after = behind.next_op
    assert after is not None
    insert(after, pipe.Release, [channel, count])
    for op in reversed([op for s in group[:-1] for op in _views(s.stage.result)]):
        block.detach_op(op)
        block.insert_op_after(op, wait)
    for stream, arrived in zip(group, wait.results, strict=True):
        arrived.name_hint = stream.stage.result.name_hint
        stream.stage.result.replace_all_uses_with(arrived)
        block.erase_op(stream.stage)
        block.erase_op(stream.load)


def _views(value: SSAValue) -> list[Operation]:
    """The ops that see a buffer in another shape, and those that see these, in order."""
    found: list[Operation] = []
    for use in value.uses:
        if isinstance(use.operation, tile.TransposeBuffer | tile.ReshapeBuffer):
            found += [use.operation, *_views(use.operation.result)]
    return found


def _last_user(group: list[Stream], block: Block) -> Operation:
    users = {op for stream in group for op in users_of(stream.stage.result)}
    return next(op for op in reversed(tuple(block.ops)) if any(op.is_ancestor(user) for user in users))
