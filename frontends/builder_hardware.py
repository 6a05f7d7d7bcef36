"""The hardware's own ops as a thread sees them: asynchronous copies, matrices in registers, clusters, PTX as text.

Registers that hold parts of a matrix are u32 scalars, accumulators f32, i32 or f64. What an op's verifier refuses is an
error at the place of the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects import gpu, gpu_cluster, gpu_inline, gpu_words
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES, DType
from tileopt.dialects.gpu_mma_shapes import ACC_WORDS
from tileopt.dialects.kernel import CLUSTER
from tileopt.dialects.layout import SharedLayout
from tileopt.dialects.part_checks import Checked, outside
from tileopt.frontends.builder_memory import Buffer, Memory
from tileopt.frontends.builder_values import I64, Array, Operand, Value
from tileopt.frontends.builder_warp import Warps

U32 = DTYPES["u32"]
ROW_BYTES = 16
SWIZZLE_UNIT, SWIZZLE_SHIFT = 16, 3
_WORD_TYPES: dict[Attribute, DType] = {dtype.ir: dtype for dtype in (U32, DTYPES["f32"], DTYPES["f64"])}


@dataclass(frozen=True, eq=False)
class Remote:
    """A shared array of another block of the cluster."""

    buffer: Buffer
    rank: Value

    def __str__(self) -> str:
        return f"{self.buffer} of another block"


class Hardware(Warps):
    """Ops of the gpu dialect."""

    def hardware(
        self,
        op: type[IRDLOperation],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        results: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> Operation:
        """Appends an op; groups of operands are lists. What its verifier refuses is a CompileError (`gpu/...`)."""
        given = dict(properties or {})
        groups = [[o] if isinstance(o, SSAValue) else list(o) for o in operands]
        if _segmented(op):
            given["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(g) for g in groups])
        flat = [value for group in groups for value in group]
        new = self.emit(op, flat, results, given)
        try:
            new.verify_()
        except VerifyException as error:
            code = op.name.partition(".")[2].removesuffix("_words").removesuffix("_elements").replace("_", "-")
            raise CompileError(f"gpu/{code}", str(error), location=self.location) from None
        self._check_block(op.name)
        return new

    def _check_block(self, name: str) -> None:
        """The kernel op is made last: what verifiers ask of it is asked of the contract here."""
        multiple = THREADS.get(name)
        if multiple is not None and self.threads % multiple:
            group = "warps" if multiple == 32 else "warpgroups"
            raise CompileError(
                "gpu/threads",
                f"{name} is done by whole {group} of {multiple} threads, and the block has {self.threads}",
                location=self.location,
                help=f"make block= a multiple of {multiple} threads",
            )

    # Places

    def run_of(self, memory: Memory, index: Sequence[Operand], count: int) -> tuple[Array, list[Value]]:
        """The array or buffer and the index of `count` elements side by side along the last axis; all are tested."""
        if len(index) != memory.rank or not index:
            return self.place(memory, index)  # says what is wrong
        for axis, position in enumerate(index[:-1]):
            self._check(memory, axis, self.index(position, memory), self.extent(memory, axis), Checked.INDEX)
        last = memory.rank - 1
        part = self.window(memory, last, index[-1], count) if count > 1 else memory
        if count == 1:
            self._check(memory, last, self.index(index[-1], memory), self.extent(memory, last), Checked.INDEX)
            return self.place(memory, index)
        return self.place(part, [*index[:-1], 0])

    def in_shared(self, memory: object, what: str) -> Buffer:
        """A whole array in shared memory."""
        if isinstance(memory, Buffer):
            return memory
        raise self.error("type/operand", f"{what} works on a whole array in shared memory, not on {memory}")

    def words(self, values: Sequence[Operand], dtype: DType, what: str) -> list[SSAValue]:
        """Registers of one type, each as the IR has it."""
        out: list[SSAValue] = []
        for given in values:
            value = given if isinstance(given, Value) else self.constant(given, dtype)
            if value.dtype.ir != dtype.ir:
                raise self.error("type/operand", f"{what} takes {dtype} registers, not a {value}")
            out.append(self.ssa(value))
        return out

    def swizzled_layout(self, shape: Sequence[int], dtype: DType, swizzle: int) -> SharedLayout:
        """The layout of a matrix in rows of `swizzle` bytes, which the hardware's swizzle of that width permutes."""
        if swizzle not in (32, 64, 128):
            raise self.error("type/shared", f"the hardware swizzles rows of 32, 64 or 128 bytes, not of {swizzle}")
        row = shape[-1] * dtype.bytes if shape else 0
        if len(shape) < 2 or row % swizzle:
            raise self.error("type/shared", f"a swizzle of {swizzle} bytes needs rows of whole {swizzle}, not of {row}")
        bits, base = (swizzle // SWIZZLE_UNIT).bit_length() - 1, (SWIZZLE_UNIT // dtype.bytes).bit_length() - 1
        panel = 0 if row == swizzle else swizzle // dtype.bytes
        return SharedLayout(tuple(shape), tuple(range(len(shape))), bits, base, SWIZZLE_SHIFT, 0, panel)

    # Copies

    def cp_async(
        self,
        target: Memory,
        target_index: Sequence[Operand],
        source: Memory,
        source_index: Sequence[Operand],
        count: int,
    ) -> None:
        """Starts a copy of `count` elements by this thread."""
        if count < 1:
            raise self.error("type/operand", f"cp_async() copies at least one element, not {count}")
        from_, at = self.run_of(source, source_index, count)
        to, place = self.run_of(target, target_index, count)
        if isinstance(from_, Buffer) or not isinstance(to, Buffer):
            raise self.error("type/operand", "cp_async() copies from an array to shared memory")
        groups = [[to.ssa], [*map(self.ssa, place)], [from_.ssa], [*map(self.ssa, at)]]
        self.hardware(gpu_words.CpAsyncElements, groups, (), {"count": IntegerAttr(count, i64)})

    def cp_async_commit(self) -> None:
        """Closes a group of this thread's copies."""
        self.hardware(gpu.CpAsyncCommit, [])

    def cp_async_wait(self, pending: int) -> None:
        """Waits until at most `pending` of the latest groups are under way."""
        self.hardware(gpu.CpAsyncWait, [], (), {"pending": IntegerAttr(pending, i64)})

    # Matrices in registers

    def ldmatrix(self, memory: Memory, index: Sequence[Operand], count: int, transposed: bool) -> tuple[Value, ...]:
        """1, 2 or 4 matrices of 8 rows of 16 bytes."""
        base, place = self._matrix_rows(memory, index)
        flags: dict[str, Attribute] = {"transposed": UnitAttr()} if transposed else {}
        operands = [base.ssa, *map(self.ssa, place)]
        return self._results(self.hardware(gpu_words.LdMatrixWords, operands, [i32] * max(0, min(count, 64)), flags))

    def stmatrix(self, memory: Memory, index: Sequence[Operand], values: Sequence[Operand], transposed: bool) -> None:
        """Writes 1, 2 or 4 matrices."""
        base, place = self._matrix_rows(memory, index)
        flags: dict[str, Attribute] = {"transposed": UnitAttr()} if transposed else {}
        groups = [[base.ssa], [*map(self.ssa, place)], self.words(values, U32, "stmatrix()")]
        self.hardware(gpu_words.StMatrixWords, groups, (), flags)

    def _matrix_rows(self, memory: Memory, index: Sequence[Operand]) -> tuple[Array, list[Value]]:
        base = memory.base if not isinstance(memory, Array) else memory
        if not isinstance(base, Buffer):
            raise self.error("type/operand", f"a matrix is read from and written to shared memory, not {base}")
        run = max(1, ROW_BYTES // base.dtype.bytes)
        last = self.as_value(index[-1]) if index else None
        if last is not None and isinstance(last.const, int) and last.const % run:
            what = f"a row of a matrix begins at a multiple of {run} elements, not at {last.const}"
            raise self.error("gpu/alignment", what)
        return self.run_of(memory, index, run)

    def mma_sync(
        self,
        a: Sequence[Operand],
        b: Sequence[Operand],
        acc: Sequence[Operand],
        shape: str,
        types: tuple[str, str],
        acc_type: str | None,
    ) -> tuple[Value, ...]:
        """`acc + a @ b` by a warp."""
        if acc_type is None:
            known = {"f64": "f64", "i8": "i32", "u8": "i32", "i4": "i32", "u4": "i32"}
            acc_type = known.get(types[0], "f32")
        word = DTYPES["f64"] if types[0] == "f64" else U32
        acc_word = _acc_dtype(acc_type)
        groups = [self.words(a, word, "operand a"), self.words(b, word, "operand b"), self.words(acc, acc_word, "acc")]
        properties = {"shape": shape, "a_type": types[0], "b_type": types[1], "acc_type": acc_type}
        results = [acc_word.ir] * len(acc)
        op = self.hardware(gpu_words.MmaWords, groups, results, {k: StringAttr(v) for k, v in properties.items()})
        return self._results(op, acc_word)

    def _results(self, op: Operation, dtype: DType = U32) -> tuple[Value, ...]:
        return tuple(Value(dtype, (), result) for result in op.results)

    # Clusters

    def cluster_extents(self) -> tuple[int, int, int]:
        """Blocks of a cluster along each axis."""
        cluster = (*(self.contract.cluster or (1,)), 1, 1)
        return cluster[0], cluster[1], cluster[2]

    def cluster_rank(self) -> Value:
        """The block's number in its cluster; axis 0 counts fastest."""
        extents = self.cluster_extents()

        def make() -> Value:
            places = [self.binary("mod", self.block_idx(axis), extents[axis]) for axis in range(3)]
            return self._linear([(p, self.constant(n, I64)) for p, n in zip(places, extents, strict=True)])

        return self.at_head(("cluster rank",), make)

    def _in_cluster(self, what: str) -> None:
        if self.contract.cluster is None:
            raise CompileError(
                "gpu/cluster",
                f"{what} needs blocks that come in clusters",
                location=self.location,
                help=f"write cluster=(2,), say, into @simt.kernel ({CLUSTER})",
            )

    def cluster_arrive(self) -> None:
        """This thread has come to the cluster's barrier."""
        self._in_cluster("cluster_arrive()")
        self.hardware(gpu_cluster.ClusterArrive, [])

    def cluster_wait(self) -> None:
        """Waits for the cluster's threads."""
        self._in_cluster("cluster_wait()")
        self.hardware(gpu_cluster.ClusterWait, [])

    def remote(self, buffer: Buffer, rank: Operand) -> Remote:
        """The same array in the shared memory of another block of the cluster; its rank is checked here."""
        self._in_cluster("map_shared()")
        place, (x, y, z) = self.index(rank, buffer, Checked.RANK), self.cluster_extents()
        count = x * y * z
        if isinstance(place.const, int) and place.const >= count:
            raise self.error("bounds/outside", outside(Checked.RANK, "", place.const, count))
        if place.const is None:
            self._check(buffer, 0, place, self.constant(count, I64), Checked.RANK)
        return Remote(buffer, place)

    def remote_element(self, remote: Remote, index: Sequence[Operand]) -> Value:
        """Reads an element."""
        base, places = self.run_of(remote.buffer, index, 1)
        op = self.hardware(
            gpu_cluster.RemoteLoad, [base.ssa, *map(self.ssa, places), self.ssa(remote.rank)], [base.dtype.ir]
        )
        return Value(base.dtype, (), op.results[0])

    def set_remote_element(self, remote: Remote, index: Sequence[Operand], value: Operand) -> None:
        """Writes an element."""
        base, places = self.run_of(remote.buffer, index, 1)
        made = self.ssa(self.stored(base, value))
        self.hardware(gpu_cluster.RemoteStore, [made, base.ssa, *map(self.ssa, places), self.ssa(remote.rank)])

    # PTX

    def inline_ptx(
        self,
        text: str,
        constraints: str,
        operands: Sequence[Operand],
        results: Sequence[DType],
        model: Sequence[Operand] | None,
        pure: bool,
    ) -> tuple[Value, ...]:
        """PTX as text. `model`: its results elsewhere than on a GPU."""
        values = [self.ssa(self.as_value(v)) for v in operands]
        given: list[SSAValue] = []
        if model is not None:
            if len(model) != len(results):
                raise self.error("type/operand", f"the reference gives {len(model)} results, the PTX {len(results)}")
            for value, dtype in zip(model, results, strict=True):
                made = value if isinstance(value, Value) else self.constant(value, dtype)
                if made.dtype != dtype:
                    raise self.error("type/operand", f"the reference gives a {made}, the PTX {dtype}", "cast it")
                given.append(self.ssa(made))
        properties: dict[str, Attribute] = {"text": StringAttr(text), "constraints": StringAttr(constraints)}
        properties |= {"modelled": UnitAttr()} if model is not None else {}
        properties |= {"pure": UnitAttr()} if pure else {}
        op = self.hardware(gpu_inline.InlinePtx, [values, given], [d.ir for d in results], properties)
        return tuple(Value(d, (), r) for d, r in zip(results, op.results, strict=True))


def _segmented(op: type[IRDLOperation]) -> bool:
    return any(type(option).__name__ == "AttrSizedOperandSegments" for option in op.get_irdl_definition().options)


def _acc_dtype(name: str) -> DType:
    """The type of the registers of an accumulator."""
    word = ACC_WORDS.get(name)
    if name == "i32":
        return DTYPES["i32"]
    return _WORD_TYPES.get(word, U32) if word is not None else U32


THREADS = {
    "gpu.ldmatrix_words": 32, "gpu.stmatrix_words": 32, "gpu.mma_words": 32, "gpu.wgmma_words": 128,
    "gpu.wgmma_wait_words": 128, "gpu.tcgen05_alloc": 32, "gpu.tcgen05_dealloc": 32, "gpu.tcgen05_ld": 128,
    "gpu.tcgen05_st": 128, "gpu.tcgen05_wait": 32,
}  # fmt: skip
