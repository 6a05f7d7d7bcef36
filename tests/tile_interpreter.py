"""Runs tile and pipe IR on NumPy arrays, a block at a time: what passes of that level must preserve.

Channels are run adversarially. A slot holds garbage from the start of a copy until a wait covers its group, and again
once it is released; a copy whose source changes under way gives garbage; groups are counted over all channels, as the
hardware counts them. Breaking the protocol (to fill a slot that is in use) is an assertion.

The roles of a kernel are coroutines that may change at each op on a channel. `eagerness` says how likely the producer
is to run where both can: at 1 it is as far ahead as the slots let it, at 0 it fills a slot when one is waited for.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects import pipe, tile
from tileopt.dialects.tile_types import tile_shape
from tileopt.dialects.xdsl_compat import create_context, parse_module

Array = np.ndarray[Any, Any]
GARBAGE = float("nan")


def _truncating(a: int, b: int) -> int:
    return int(a / b) if abs(a) < 2**50 and abs(b) < 2**50 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


_ATOMICS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: _truncating,
    arith.DivUIOp: lambda a, b: (a % 2**64) // (b % 2**64),
    arith.RemUIOp: operator.mod,
    arith.AndIOp: operator.and_,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
}
_SIGNED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_COMPARE = [*_SIGNED, *(lambda a, b, f=f: f(a % 2**64, b % 2**64) for f in _SIGNED[2:])]


@dataclass
class _Channel:
    members: list[list[Array]]  # by slot
    free: list[bool]
    copies: dict[int, int] = field(default_factory=dict)  # by slot, the iteration that it holds
    # Of a kernel with roles: how often each op was done, and each slot's copies.
    acquired: int = 0
    committed: int = 0
    waited: int = 0
    released: int = 0
    coming: dict[int, list[_Copy]] = field(default_factory=dict)


@dataclass
class _Copy:
    source: Array
    region: tuple[slice, ...]
    inside: tuple[slice, ...]
    seen: Array
    target: Array


Steps = Generator[Callable[[], bool], None, list[Any]]


class Interpreter:
    """One block's run over `arguments`: arrays for views, numbers for scalars. `ids`: the block's place in its grid of
    extents `grid`; `physical`: the number of the block, and of all, where the kernel deals out the grid itself."""

    def __init__(
        self,
        kernel: tile.Kernel,
        arguments: Sequence[Any],
        ids: Sequence[int] = (0, 0, 0),
        grid: Sequence[int] = (1, 1, 1),
        physical: tuple[int, int] = (0, 1),
        eagerness: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.values: dict[SSAValue, Any] = dict(zip(kernel.body.block.args, arguments, strict=True))
        self.ids, self.grid, self.physical = ids, grid, physical
        self.eagerness, self.random = eagerness, random.Random(seed)
        self.open: list[_Copy] = []
        self.groups: list[list[_Copy]] = []
        self.most_in_flight = 0
        self.channels: list[_Channel] = []
        self.in_role = False
        for _ in self.block(kernel.body.block, None):
            raise AssertionError("a block without roles waits")
        assert not self.open and all(not group for group in self.groups), "copies in flight at the kernel's end"

    def block(self, block: Block, arguments: Sequence[Any] | None) -> Steps:
        if arguments is not None:
            self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            match op:
                case scf.YieldOp() | scf.ConditionOp():
                    return [self.values[v] for v in op.operands]
                case scf.ForOp():
                    lower, upper, step, *carried = (self.values[v] for v in op.operands)
                    for index in range(lower, upper, step):
                        carried = yield from self.block(op.body.block, [index, *carried])
                    self.values.update(zip(op.results, carried, strict=True))
                case scf.IfOp():
                    region = op.true_region if self.values[op.cond] else op.false_region
                    if region.blocks.first is not None:
                        results = yield from self.block(region.block, [])
                        self.values.update(zip(op.results, results, strict=True))
                case pipe.Roles():
                    self.roles(op)
                case pipe.EndRole():
                    return []
                case _ if self.in_role and isinstance(op, _SLOT_OPS):
                    yield from self.role_op(op)
                case _:
                    self.op(op)
        return []

    # --- roles -----------------------------------------------------------------------------------------------------

    def roles(self, op: pipe.Roles) -> None:
        self.in_role = True
        running = {
            "consumers": self.block(op.consumers.block, None),
            "producer": self.block(op.producer.block, None),
        }
        waiting: dict[str, Callable[[], bool]] = {}
        while running:
            ready = [name for name in running if name not in waiting or waiting[name]()]
            assert ready, f"{' and '.join(running)} wait for what never comes"
            eager = "producer" if self.random.random() < self.eagerness else "consumers"
            name = eager if eager in ready else ready[0]
            try:
                waiting[name] = next(running[name])
            except StopIteration:
                del running[name]
        self.in_role = False
        for channel in self.channels:
            counts = {channel.acquired, channel.committed, channel.waited, channel.released}
            assert len(counts) == 1, "a channel is left with copies that nobody took"

    def role_op(self, op: Operation) -> Steps:
        """Both roles count the iterations of a channel from 0 on."""
        yield lambda: True
        values = [self.values[v] for v in op.operands]
        match op:
            case pipe.Acquire():
                channel, iteration = values
                assert iteration == channel.acquired, "slots are not acquired in turn"
                slots = len(channel.members)
                while channel.released <= iteration - slots:
                    yield lambda: channel.released > iteration - slots
                channel.acquired += 1
                channel.coming[iteration % slots] = []
            case pipe.Copy():
                view, *offsets, channel, iteration = values
                assert iteration == channel.acquired - 1 == channel.committed, "a copy into a slot not acquired"
                slot = iteration % len(channel.members)
                copy = _start(view, offsets, channel.members[slot][op.member.value.data])
                copy.target[...] = GARBAGE
                channel.coming[slot].append(copy)
            case pipe.Commit():
                channel, iteration = values
                assert iteration == channel.committed == channel.acquired - 1, "slots are not filled in turn"
                channel.committed += 1
                ahead = sum(c.committed - c.waited for c in self.channels)
                self.most_in_flight = max(self.most_in_flight, ahead)
            case pipe.Wait():
                channel, iteration = values
                assert iteration == channel.waited, "slots are not waited for in turn"
                while channel.committed <= iteration:
                    yield lambda: channel.committed > iteration
                channel.waited += 1
                slot = iteration % len(channel.members)
                for copy in channel.coming[slot]:
                    _finish(copy)
                self.values.update(zip(op.tiles, channel.members[slot], strict=True))
            case pipe.Release():
                channel, iteration, *where = values
                if where == [False]:
                    return []
                assert iteration == channel.released < channel.waited, "slots are not released in turn"
                channel.released += 1
                for member in channel.members[iteration % len(channel.members)]:
                    member[...] = GARBAGE
        return []

    # --- ops -------------------------------------------------------------------------------------------------------

    def op(self, op: Operation) -> None:
        values = [self.values[v] for v in op.operands]
        match op:
            case arith.ConstantOp():
                self.values[op.result] = _constant(op)
            case arith.CmpiOp():
                self.values[op.result] = _COMPARE[op.predicate.value.data](*values)
            case arith.SelectOp():
                whole = isinstance(values[0], np.ndarray)
                self.values[op.result] = np.where(*values) if whole else values[1] if values[0] else values[2]
            case arith.IndexCastOp() | arith.ExtUIOp() | arith.ExtSIOp() | arith.TruncIOp():
                self.values[op.results[0]] = values[0]
            case tile.Bid():
                ids = (self.physical[0], 0, 0) if op.physical is not None else self.ids
                self.values[op.result] = ids[op.axis.value.data]
            case tile.NumBlocks():
                grid = (self.physical[1], 1, 1) if op.physical is not None else self.grid
                self.values[op.result] = grid[op.axis.value.data]
            case arith.TruncFOp() | arith.ExtFOp():
                self.values[op.result] = values[0]
            case tile.Dim():
                self.values[op.result] = values[0].shape[op.axis.value.data]
            case tile.Arange():
                self.values[op.result] = np.arange(tile_shape(op.result.type)[0])
            case tile.Broadcast():
                self.values[op.result] = np.broadcast_to(values[0], tile_shape(op.result.type))
            case tile.Splat():
                self.values[op.result] = np.full(tile_shape(op.result.type), values[0])
            case tile.Load():
                padding = 0.0 if op.padding is None else op.padding.value.data
                copy = _start(values[0], values[1:], np.full(tile_shape(op.result.type), float(padding)))
                copy.target[copy.inside] = copy.seen
                self.values[op.result] = copy.target
            case tile.Store():
                value, view, *offsets = values
                copy = _start(view, offsets, value)
                view[copy.region] = value[copy.inside]
            case tile.AtomicRmw():
                value, view, *offsets = values
                copy = _start(view, offsets, value)
                view[copy.region] = _ATOMICS[op.kind.data](view[copy.region], value[copy.inside])
            case tile.Transpose() | tile.TransposeBuffer():
                self.values[op.result] = values[0].transpose([int(a) for a in op.permutation.get_values()])
            case tile.Reshape() | tile.ReshapeBuffer():
                self.values[op.result] = values[0].reshape(tile_shape(op.result.type))
            case tile.Stage():
                self.values[op.result] = values[0].copy()
            case tile.Unstage():
                self.values[op.result] = values[0].copy()
            case tile.Mma():
                a, b, acc = values
                if op.unsigned is not None:
                    a, b = a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}")
                self.values[op.result] = acc + a @ b
            case tile.Return():
                pass
            case _ if type(op) in _BINARY:
                self.values[op.results[0]] = _BINARY[type(op)](*values)
            case _:
                self.pipe_op(op, values)

    def pipe_op(self, op: Operation, values: list[Any]) -> None:
        match op:
            case pipe.Channel():
                type_ = pipe.channel_type(op.result)
                members = [
                    [np.full(m.get_shape(), GARBAGE) for m in type_.members.data] for _ in range(type_.slots.data)
                ]
                self.values[op.result] = _Channel(members, [True] * type_.slots.data)
                self.channels.append(self.values[op.result])
            case pipe.Acquire():
                channel, iteration = values
                slot = iteration % len(channel.members)
                assert channel.free[slot], "a slot is filled before it was released"
                channel.free[slot] = False
                channel.copies[slot] = iteration
            case pipe.Copy():
                view, *offsets, channel, iteration = values
                slot = iteration % len(channel.members)
                assert channel.copies.get(slot) == iteration and not channel.free[slot], (
                    "a copy into a slot not acquired"
                )
                copy = _start(view, offsets, channel.members[slot][op.member.value.data])
                copy.target[...] = GARBAGE
                self.open.append(copy)
            case pipe.Commit():
                self.groups.append(self.open)
                self.open = []
                self.most_in_flight = max(self.most_in_flight, sum(map(bool, self.groups)))
            case pipe.Wait():
                channel, iteration = values
                keep = op.pending.value.data
                for group in self.groups[: len(self.groups) - keep]:
                    for copy in group:
                        _finish(copy)
                self.groups = self.groups[len(self.groups) - keep :] if keep else []
                slot = iteration % len(channel.members)
                assert channel.copies.get(slot) == iteration, "the slot holds another iteration's tiles"
                for result, member in zip(op.tiles, channel.members[slot], strict=True):
                    self.values[result] = member
            case pipe.Release():
                channel, iteration = values
                slot = iteration % len(channel.members)
                for member in channel.members[slot]:
                    member[...] = GARBAGE
                channel.free[slot] = True
            case _:
                raise NotImplementedError(op.name)


_SLOT_OPS = (pipe.Acquire, pipe.Copy, pipe.Commit, pipe.Wait, pipe.Release)


def _constant(op: arith.ConstantOp) -> Any:
    match op.value:
        case IntegerAttr() | FloatAttr():
            return op.value.value.data
        case DenseIntOrFPElementsAttr():
            assert isinstance(op.result.type, TensorType)
            return np.full(op.result.type.get_shape(), float(next(iter(op.value.iter_values()))))
        case _:
            raise NotImplementedError(str(op))


def _start(view: Array, offsets: Sequence[int], target: Array) -> _Copy:
    region, inside = [], []
    for at, extent, size in zip(offsets, target.shape, view.shape, strict=True):
        low, high = min(max(at, 0), size), max(0, min(at + extent, size))
        region.append(slice(low, max(low, high)))
        inside.append(slice(low - at, max(low, high) - at) if high > low else slice(0, 0))
    return _Copy(view, tuple(region), tuple(inside), view[tuple(region)].copy(), target)


def _finish(copy: _Copy) -> None:
    copy.target[...] = 0.0
    now = copy.source[copy.region]
    copy.target[copy.inside] = now if np.array_equal(now, copy.seen) else GARBAGE


def interpret(module: ModuleOp | str, *arguments: Any, **how: Any) -> Interpreter:
    """Runs the only kernel of the module (`how`: see `Interpreter`); stores go to the arrays among the arguments."""
    parsed = parse_module(create_context(), module) if isinstance(module, str) else module
    (kernel,) = (op for op in parsed.body.block.ops if isinstance(op, tile.Kernel))
    return Interpreter(kernel, arguments, **how)
