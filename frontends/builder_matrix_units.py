"""Products of a warpgroup (`wgmma`) and into tensor memory (`tcgen05`), as a thread sees them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute

from tileopt.dialects import gpu_tensor, gpu_warpgroup, gpu_words
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import INTEGERS
from tileopt.frontends.builder_hardware import U32, Hardware
from tileopt.frontends.builder_memory import Buffer, Memory
from tileopt.frontends.builder_values import BOOL, F32, I32, Operand, Value


def _properties(types: tuple[str, str], transposed: tuple[bool, bool]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {"a_type": StringAttr(types[0]), "b_type": StringAttr(types[1])}
    for name, flag in zip(("trans_a", "trans_b"), transposed, strict=True):
        if flag:
            found[name] = UnitAttr()
    return found


class MatrixUnits(Hardware):
    """Ops of units that read their operands past the threads."""

    def fence_proxy_async(self) -> None:
        """Orders this thread's writes to shared memory for such units."""
        self.hardware(gpu_words.FenceProxyAsync, [])

    # wgmma

    def wgmma(
        self,
        a: Buffer | Sequence[Operand],
        b: Buffer,
        acc: Sequence[Operand],
        types: tuple[str, str],
        transposed: tuple[bool, bool],
    ) -> tuple[Value, ...]:
        """Starts `acc + a @ b` by a warpgroup."""
        dtype = I32 if types[1] in INTEGERS else F32
        left = [[a.ssa], []] if isinstance(a, Buffer) else [[], self.words(a, U32, "operand a")]
        groups = [*left, [b.ssa], self.words(acc, dtype, "the accumulator")]
        results = [dtype.ir] * len(acc)
        op = self.hardware(gpu_warpgroup.WgmmaWords, groups, results, _properties(types, transposed))
        return self._results(op, dtype)

    def wgmma_wait(self, acc: Sequence[Operand], pending: int) -> tuple[Value, ...]:
        """Waits for the warpgroup's groups."""
        dtype = next((v.dtype for v in acc if isinstance(v, Value)), F32)
        given = self.words(acc, dtype, "wgmma_wait()")
        properties = {"pending": IntegerAttr(pending, i64)}
        op = self.hardware(gpu_warpgroup.WgmmaWaitWords, given, [dtype.ir] * len(given), properties)
        return self._results(op, dtype)

    # tcgen05

    def _tensor_address(self, address: Operand) -> Value:
        value = self.as_value(address)
        if value.dtype.kind not in "iu" or value.dtype.bits != 32:
            raise self.error("type/operand", f"an address in tensor memory is an i32 or u32, not a {value}")
        return value

    def _word(self, address: Operand) -> Value:
        return self._tensor_address(self.cast(self.as_value(address), I32) if isinstance(address, int) else address)

    def tcgen05_alloc(self, memory: Memory, index: Sequence[Operand], columns: int) -> None:
        """A warp takes columns of tensor memory."""
        base, places = self.run_of(memory, index, 1)
        self.in_shared(base, "tcgen05_alloc()")
        operands = [base.ssa, *map(self.ssa, places)]
        self.hardware(gpu_tensor.Tcgen05Alloc, operands, (), {"columns": IntegerAttr(columns, i64)})

    def tcgen05_dealloc(self, address: Operand, columns: int) -> None:
        """A warp gives columns back."""
        given = [self.ssa(self._word(address))]
        self.hardware(gpu_tensor.Tcgen05Dealloc, given, (), {"columns": IntegerAttr(columns, i64)})

    def tcgen05_mma(
        self,
        address: Operand,
        accumulate: Operand,
        a: Buffer,
        b: Buffer,
        types: tuple[str, str],
        transposed: tuple[bool, bool],
    ) -> None:
        """One thread starts a product."""
        keep = self.ssa(self.cast(self.as_value(accumulate), BOOL))
        operands = [self.ssa(self._word(address)), keep, a.ssa, b.ssa]
        self.hardware(gpu_tensor.Tcgen05Mma, operands, (), _properties(types, transposed))

    def tcgen05_commit(self, barriers: Buffer, index: Operand) -> None:
        """A barrier gets an arrival when the products are done."""
        base, places = self.run_of(barriers, [index], 1)
        self.hardware(gpu_tensor.Tcgen05Commit, [base.ssa, *map(self.ssa, places)])

    def tcgen05_ld(self, address: Operand, count: int) -> tuple[Value, ...]:
        """Reads columns of the lane's own lane of tensor memory."""
        results = [i32] * max(0, min(count, 256))
        return self._results(self.hardware(gpu_tensor.Tcgen05Load, [self.ssa(self._word(address))], results))

    def tcgen05_st(self, address: Operand, values: Sequence[Operand]) -> None:
        """Writes columns."""
        operands = [self.ssa(self._word(address)), *self.words(values, U32, "tcgen05_st()")]
        self.hardware(gpu_tensor.Tcgen05Store, operands)

    def tcgen05_wait(self, kind: str, values: Sequence[Operand]) -> tuple[Value, ...]:
        """Waits for loads or stores."""
        given = self.words(values, DTYPES["u32"], "tcgen05_wait()")
        op = self.hardware(gpu_tensor.Tcgen05Wait, given, [i32] * len(given), {"kind": StringAttr(kind)})
        return self._results(op)

    def tcgen05_fence(self, kind: str) -> None:
        """Orders tcgen05 ops before or after a meeting."""
        self.hardware(gpu_tensor.Tcgen05Fence, [], (), {"kind": StringAttr(kind)})
