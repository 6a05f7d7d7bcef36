"""split-roles: which warps do what.

From: tile+pipe. To: tile+pipe. Invariant: roles share nothing but channels.

All targets have one role so far: every warp copies, computes and stores, and the channels order each warp's own work.
One role shares nothing with another, so the module is left as it is. What the invariant asks of one role is checked:
a channel belongs to the kernel that makes it and is used there through `pipe` ops alone, so that a slice of the
kernel may be cut off along it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tileopt.dialects import pipe, tile
from tileopt.dialects.diagnostics import CompileError, location_of

_SLOT_OPS = (pipe.Acquire, pipe.Copy, pipe.Commit, pipe.Wait, pipe.Release)


@dataclass(frozen=True)
class SplitRoles(ModulePass):
    name = "split-roles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                check_channels(kernel)


def check_channels(kernel: tile.Kernel) -> None:
    """Raises CompileError where a channel of `kernel` goes anywhere but to ops of the pipe dialect."""
    for op in kernel.walk():
        if isinstance(op, pipe.Channel):
            for use in op.result.uses:
                if not isinstance(use.operation, _SLOT_OPS):
                    raise _escapes(op, use.operation)


def _escapes(channel: pipe.Channel, user: Operation) -> CompileError:
    return CompileError(
        "schedule/channel-escapes",
        f"a channel is handed to '{user.name}', which does not say what becomes of it",
        location=location_of(user),
        notes=[("made here", location_of(channel))],
        help="use channels through acquire, copy, commit, wait and release where they are made",
    )
