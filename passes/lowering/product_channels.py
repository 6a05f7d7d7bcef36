"""Channels whose tiles only products in tensor memory take: the unit itself says when it has read a slot."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from tileopt.dialects import gpu_accumulator, pipe, simt


def read_by_units(channel: SSAValue) -> bool:
    """Whether a channel's tiles are taken by `gpu.accumulate` alone, in the block whose slots they fill. Known while
    the channel has its waits and copies."""
    if any(isinstance(use.operation, pipe.Copy) and use.operation.parts is not None for use in channel.uses):
        return False
    waits = [use.operation for use in channel.uses if isinstance(use.operation, pipe.Wait)]
    users = [user for wait in waits for tile in wait.results for user in _users(tile)]
    return bool(users) and all(isinstance(user, gpu_accumulator.Accumulate) for user in users)


def _users(value: SSAValue) -> Iterator[Operation]:
    for use in value.uses:
        if isinstance(use.operation, simt.ViewBuffer):
            yield from _users(use.operation.result)
        else:
            yield use.operation
