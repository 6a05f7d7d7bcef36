"""split-roles: which warps do what.

From: tile+pipe. To: tile+pipe. Invariant: roles share nothing but channels.

In a kernel that `pipeline-loops` marked, a producer fills the channels and consumers do all else: two regions of one
`pipe.roles`. The producer is the slice of the kernel that the copies need (see `role_slice`), over the whole kernel and
not the innermost loop, so that it runs ahead as far as the channels have slots. In all other kernels each warp copies,
computes and stores, and the channels order each warp's own work: there is one role, and nothing to split.

A channel belongs to the kernel that makes it and is used there through `pipe` ops alone: that is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, is_side_effect_free

from tileopt.dialects import pipe, tile
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.kernel import PERSISTENT
from tileopt.dialects.target import target_of
from tileopt.dialects.verifier import walk
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS
from tileopt.passes.schedule.pipeline_loops import ROLES
from tileopt.passes.schedule.role_budget import MOST_BLOCKS, role_budget
from tileopt.passes.schedule.role_slice import copy_of, slice_of

_SLOT_OPS = (pipe.Acquire, pipe.Copy, pipe.Commit, pipe.Wait, pipe.Release)
_PRODUCING = (pipe.Acquire, pipe.Copy, pipe.Commit)


@dataclass(frozen=True)
class SplitRoles(ModulePass):
    name = "split-roles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                check_channels(kernel)
                if kernel.attributes.pop(ROLES, None) is not None:
                    split(kernel)


def check_channels(kernel: tile.Kernel) -> None:
    """Raises CompileError where a channel of `kernel` goes anywhere but to ops of the pipe dialect."""
    for op in kernel.walk():
        if isinstance(op, pipe.Channel):
            for use in op.result.uses:
                if not isinstance(use.operation, _SLOT_OPS):
                    raise _escapes(op, use.operation)


def split(kernel: tile.Kernel) -> None:
    """Makes a producer and consumers of the body of `kernel`."""
    body = kernel.body.block
    copies = [op for op in walk(kernel) if isinstance(op, _PRODUCING)]
    part = slice_of(copies)
    if part is None:
        raise CompileError(
            "schedule/producer",
            "where these copies are made depends on what the kernel reads, which a producer cannot know",
            location=location_of(kernel),
            help=f"drop the attribute {ROLES}",
        )
    warps = kernel.attributes[NUM_WARPS]
    assert isinstance(warps, IntegerAttr)
    budget = role_budget(target_of(kernel), warps.value.data, kernel, kernel.integer(PERSISTENT) or MOST_BLOCKS)
    producer = copy_of(body, part)
    consumers = Block()
    for op in list(body.ops):
        if not isinstance(op, pipe.Channel) and not op.has_trait(IsTerminator):
            body.detach_op(op)
            consumers.add_op(op)
    for op in copies:
        assert op.parent is not None
        op.parent.erase_op(op)
    for block in (producer, consumers):
        end = pipe.EndRole.create()
        end.location = kernel.location
        block.add_op(end)
    _drop_unused(consumers)
    numbers = {
        "warps": warps.value.data,
        "consumer_registers": budget.consumer,
        "producer_registers": budget.producer,
        "blocks": budget.blocks,
    }
    roles = pipe.Roles.create(
        properties={name: IntegerAttr(value, i64) for name, value in numbers.items()},
        regions=[Region(consumers), Region(producer)],
    )
    roles.location = kernel.location
    assert body.last_op is not None
    body.insert_op_before(roles, body.last_op)


def _drop_unused(block: Block) -> None:
    """Erases what only the copies needed."""
    for op in reversed(list(block.walk())):
        unused = not any(True for result in op.results for _ in result.uses)
        if unused and op.results and not op.regions and (op.name.startswith("arith.") or is_side_effect_free(op)):
            assert op.parent is not None
            op.parent.erase_op(op)


def _escapes(channel: pipe.Channel, user: Operation) -> CompileError:
    return CompileError(
        "schedule/channel-escapes",
        f"a channel is handed to '{user.name}', which does not say what becomes of it",
        location=location_of(user),
        notes=[("made here", location_of(channel))],
        help="use channels through acquire, copy, commit, wait and release where they are made",
    )
