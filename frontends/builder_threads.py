"""Which thread runs: ids of threads, blocks, warps and lanes, and the indices made of them.

Ids stand at the head of the kernel, each once. The block's extents are constants: code is made for one block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, SSAValue
from xdsl.irdl import IRDLOperation

from tileopt.dialects import simt
from tileopt.dialects.contracts import Hints, Parameter, Signature
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.simt_host import Clock
from tileopt.dialects.simt_thread import ThreadIdx
from tileopt.frontends.builder_kernel import KernelBase
from tileopt.frontends.builder_values import I64, Value
from tileopt.frontends.launch_contract import LaunchContract


class Threads(KernelBase):
    """Ids and indices. `block_extents`: x first; `grid_rank`: the axes that the grid has."""

    prints_once = False

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter],
        signature: Signature,
        contract: LaunchContract,
        hints: Hints | None = None,
    ) -> None:
        super().__init__(name, parameters, signature, hints)
        self.contract = contract
        block = (*(contract.block or (1,)), 1, 1)
        self.block_extents: tuple[int, int, int] = (block[0], block[1], block[2])
        self.grid_rank = contract.grid_rank or 1
        self.head = Block()
        self._ids: dict[tuple[object, ...], Value] = {}

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block_extents)

    def at_head(self, key: tuple[object, ...], make: Callable[[], Value]) -> Value:
        """A value that is the same everywhere in the kernel, made at its head, once."""
        if key not in self._ids:
            with self.into(self.head):
                self._ids[key] = make()
        return self._ids[key]

    def splice_head(self) -> None:
        """Puts the head before the first op of the kernel that is no constant."""
        ops = list(self.head.ops)
        for op in ops:
            op.detach()  # type: ignore[no-untyped-call]
        if self._last_constant is not None:
            self.entry.insert_ops_after(ops, self._last_constant)
        elif self.entry.first_op is not None:
            self.entry.insert_ops_before(ops, self.entry.first_op)
        else:
            self.entry.add_ops(ops)

    def _axis(self, axis: int, what: str) -> int:
        if not 0 <= axis <= 2:
            raise self.error("type/axis", f"a {what} has the axes 0, 1 and 2, not {axis}")
        return axis

    def _query(self, op: type[IRDLOperation], axis: int, low: int, operands: tuple[SSAValue, ...] = ()) -> Value:
        def make() -> Value:
            return self.emit_value(op, operands, I64, (), {"axis": IntegerAttr(axis, i64)}, low)

        return self.at_head((op, axis, *operands), make)

    def thread_idx(self, axis: int) -> Value:
        """The thread's place in its block along an axis."""
        if self.block_extents[self._axis(axis, "block")] == 1:
            return self.constant(0, I64)
        return self._query(ThreadIdx, axis, 0)

    def block_idx(self, axis: int) -> Value:
        """The block's place in the grid along an axis."""
        return self._grid_query(simt.BlockId, axis, 0)

    def grid_dim(self, axis: int) -> Value:
        """The grid's extent along an axis."""
        return self._grid_query(simt.GridDim, axis, 1)

    def _grid_query(self, op: type[IRDLOperation], axis: int, low: int) -> Value:
        if self._axis(axis, "grid") >= self.grid_rank:
            return self.constant(low, I64)
        return self._query(op, axis, low)

    def block_dim(self, axis: int) -> Value:
        """The block's extent along an axis: a constant."""
        return self.constant(self.block_extents[self._axis(axis, "block")], I64)

    # Indices. Each is made at the head of the kernel, once.

    def global_index(self, axis: int) -> Value:
        """The thread's place in the whole grid along an axis."""

        def make() -> Value:
            start = self.binary("mul", self.block_idx(axis), self.block_dim(axis))
            return self.binary("add", start, self.thread_idx(axis))

        return self.at_head(("global", self._axis(axis, "grid")), make)

    def thread_rank(self) -> Value:
        """The thread's number in its block: x counts fastest."""
        return self.at_head(
            ("rank",), lambda: self._linear([(self.thread_idx(a), self.block_dim(a)) for a in range(3)])
        )

    def block_rank(self) -> Value:
        """The block's number in the grid: x counts fastest."""
        return self.at_head(("block",), lambda: self._linear([(self.block_idx(a), self.grid_dim(a)) for a in range(3)]))

    def _linear(self, places: list[tuple[Value, Value]]) -> Value:
        result = places[-1][0]
        for place, extent in reversed(places[:-1]):
            result = place if result.const == 0 else self.binary("add", self.binary("mul", result, extent), place)
        return result

    def blocks(self) -> Value:
        """Blocks of the grid."""
        return self.at_head(("blocks",), lambda: self._product([self.grid_dim(a) for a in range(3)]))

    def _product(self, values: list[Value]) -> Value:
        result = self.constant(1, I64)
        for value in values:
            result = self.binary("mul", result, value)
        return result

    def thread_index(self) -> Value:
        """The thread's number in the whole launch: no other thread has it."""

        def make() -> Value:
            return self.binary("add", self.binary("mul", self.block_rank(), self.threads), self.thread_rank())

        return self.at_head(("thread",), make)

    def launch_threads(self) -> Value:
        """Threads of the whole launch, at least 1."""
        return self.at_head(("threads",), lambda: self.binary("mul", self.blocks(), self.threads))

    def clock(self) -> Value:
        """The multiprocessor's count of cycles."""
        return self.emit_value(Clock, [], I64)

    def lane_index(self) -> Value:
        """The thread's number in its warp."""
        return self.at_head(("lane",), lambda: self.binary("mod", self.thread_rank(), WARP_SIZE))

    def warp_rank(self) -> Value:
        """The warp's number in its block."""
        return self.at_head(("warp in block",), lambda: self.binary("floordiv", self.thread_rank(), WARP_SIZE))

    def warp_index(self) -> Value:
        """The warp's number in the whole launch."""
        per_block = -(-self.threads // WARP_SIZE)

        def make() -> Value:
            return self.binary("add", self.binary("mul", self.block_rank(), per_block), self.warp_rank())

        return self.at_head(("warp",), make)
