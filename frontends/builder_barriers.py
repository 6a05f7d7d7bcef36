"""Barriers in shared memory and bulk copies, as a thread sees them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from tileopt.dialects import gpu_cluster, gpu_mbarrier, gpu_tma, simt
from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.frontends.builder_hardware import Remote
from tileopt.frontends.builder_matrix_units import MatrixUnits
from tileopt.frontends.builder_memory import Buffer
from tileopt.frontends.builder_values import BOOL, I64, Array, Operand, Value


class Barriers(MatrixUnits):
    """Ops of `mbarrier` and TMA."""

    def named_barrier(self, number: int, threads: int) -> None:
        """Some warps of the block meet."""
        if threads > self.threads:
            raise self.error("gpu/barrier", f"{threads} threads meet, and the block has {self.threads}")
        self.hardware(simt.Barrier, [], (), {"id": IntegerAttr(number, i64), "threads": IntegerAttr(threads, i64)})

    def setmaxnreg(self, registers: int, increase: bool) -> None:
        """A warpgroup changes how many registers its threads have."""
        properties = {"registers": IntegerAttr(registers, i64), "direction": IntegerAttr(1 if increase else -1, i64)}
        self.hardware(gpu_mbarrier.SetMaxRegisters, [], (), properties)

    # Barriers

    def _barrier(self, barriers: Buffer, index: Operand) -> list[SSAValue]:
        base, places = self.run_of(barriers, [index], 1)
        return [base.ssa, *map(self.ssa, places)]

    def mbarrier_init(self, barriers: Buffer, index: Operand, count: int) -> None:
        """Makes a barrier."""
        self.hardware(gpu_mbarrier.MbarrierInit, self._barrier(barriers, index), (), {"count": IntegerAttr(count, i64)})

    def mbarrier_fence(self) -> None:
        """Makes barriers known."""
        self.hardware(gpu_mbarrier.MbarrierFence, [])

    def mbarrier_arrive(self, barriers: Buffer | Remote, index: Operand, expect: int | None) -> None:
        """Arrives."""
        if isinstance(barriers, Remote):
            operands = [*self._barrier(barriers.buffer, index), self.ssa(barriers.rank)]
            self.hardware(gpu_cluster.RemoteArrive, operands)
            return
        properties: dict[str, Attribute] = {} if expect is None else {"expect": IntegerAttr(expect, i64)}
        self.hardware(gpu_mbarrier.MbarrierArrive, self._barrier(barriers, index), (), properties)

    def mbarrier_wait(self, barriers: Buffer, index: Operand, phase: Operand) -> None:
        """Waits."""
        self.hardware(gpu_mbarrier.MbarrierWait, [*self._barrier(barriers, index), self._phase(phase)])

    def mbarrier_try_wait(self, barriers: Buffer, index: Operand, phase: Operand) -> Value:
        """Asks."""
        operands = [*self._barrier(barriers, index), self._phase(phase)]
        return Value(BOOL, (), self.hardware(gpu_mbarrier.MbarrierTryWait, operands, [i1]).results[0])

    def mbarrier_inval(self, barriers: Buffer, index: Operand) -> None:
        """Ends a barrier."""
        self.hardware(gpu_mbarrier.MbarrierInval, self._barrier(barriers, index))

    def _phase(self, phase: Operand) -> SSAValue:
        value = self.as_value(phase)
        if value.dtype.kind not in "iub":
            raise self.error("type/operand", f"a phase is an integer, not a {value}")
        return self.ssa(self.cast(value, I64))

    # Bulk copies

    def _box(self, array: object, index: Sequence[Operand]) -> tuple[Array, list[SSAValue]]:
        if not isinstance(array, Array) or isinstance(array, Buffer):
            raise self.error("type/operand", f"a bulk copy works on a whole array, not on {array}")
        offsets = [self.index(position, array) for position in index]
        return array, [self.ssa(offset) for offset in offsets]

    def tma_load(self, array: object, index: Sequence[Operand], target: Buffer, barriers: Buffer, at: Operand) -> None:
        """Starts a load."""
        view, offsets = self._box(array, index)
        if view.kind is not ParamKind.IN:
            raise OwnershipError(
                "ownership/plain-access",
                f"a bulk load of '{view.name}', which other threads may write",
                location=self.location,
                help=f"declare it as '{view.name}: simt.Slice'",
            )
        self.hardware(gpu_tma.TmaLoad, [view.ssa, *offsets, target.ssa, *self._barrier(barriers, at)])

    def tma_store(self, source: Buffer, array: object, index: Sequence[Operand]) -> None:
        """Starts a store."""
        view, offsets = self._box(array, index)
        self._check_writable(view)
        op = self.hardware(gpu_tma.TmaStore, [source.ssa, view.ssa, *offsets])
        self.stores.append((op, view, self.location))

    def tma_commit(self) -> None:
        """Closes a group."""
        self.hardware(gpu_tma.TmaCommit, [])

    def tma_wait(self, pending: int, read: bool) -> None:
        """Waits for groups."""
        properties: dict[str, Attribute] = {"pending": IntegerAttr(pending, i64)}
        if read:
            properties["read"] = UnitAttr()
        self.hardware(gpu_tma.TmaWait, [], (), properties)
