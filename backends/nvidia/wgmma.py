"""`gpu.wgmma`: products of a warpgroup, operands in shared memory by matrix descriptor.

A descriptor (PTX ISA, "Matrix-descriptor format") holds, in units of 16 bytes, the start address (bits 0-13), the
leading (16-29) and the stride (32-45) byte offset, and the swizzle (62-63). With rows of one swizzle's width:

- K-major (K side by side): the stride is that of eight rows; the leading offset is not used. A step along K moves the
  start by its bytes inside the row, a panel by the panel's bytes.
- M- or N-major: the stride is that of eight steps of K, the leading offset that from panel to panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import Buffer
from tileopt.backends.nvidia.atoms.wgmma import INSTRUCTIONS, ROWS, WgmmaInstruction
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.shared import shared_address
from tileopt.backends.nvidia.tensor import operand_words
from tileopt.backends.nvidia.words import CONSTRAINT
from tileopt.dialects import gpu_wgmma as gpu
from tileopt.dialects import simt
from tileopt.dialects.diagnostics import CompileError, TargetError
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.layout import Layout
from tileopt.dialects.target import target_of
from tileopt.dialects.tile_types import BufferType

UNIT = 16  # bytes
SWIZZLE_MODE = {128: 1, 64: 2, 32: 3}  # by bytes of a row
ADDRESS_BITS = 18
WARPGROUP_BITS = 7  # of the thread's id, inside a warpgroup
ROW_GROUP = 8


@dataclass(frozen=True)
class Described:
    """How descriptors reach into one operand; `k_axis` is the buffer's axis along K."""

    type: BufferType
    k_axis: int

    @property
    def size(self) -> int:
        return bit_width(self.type.element_type) // 8

    @property
    def row(self) -> int:
        """Elements of a row in memory."""
        shared = self.type.shared_layout
        return shared.panel if shared.panels > 1 else shared.shape[shared.order[-1]]

    @property
    def k_major(self) -> bool:
        return self.type.shared_layout.order[-1] == self.k_axis

    @property
    def constant(self) -> int:
        """All of the descriptor but the start address."""
        shared, row_bytes = self.type.shared_layout, self.row * self.size
        mode = SWIZZLE_MODE.get(row_bytes)
        if mode is None or 1 << shared.bits != row_bytes // UNIT:
            raise CompileError("gpu/descriptor", f"no matrix descriptor tells the layout of {self.type}")
        stride = ROW_GROUP * row_bytes // UNIT
        leading = 1 if self.k_major else shared.panel_stride * self.size // UNIT if shared.panels > 1 else 1
        return mode << 62 | stride << 32 | leading << 16

    def offset(self, across: int, k: int) -> int:
        """Bytes from the buffer's start to the element at `across` (a multiple of 8 rows, or of a panel) and `k`."""
        shared = self.type.shared_layout
        fast, slow = (k, across) if self.k_major else (across, k)
        panel, inside = divmod(fast, self.row)
        elements = slow * self.row + inside + (panel * shared.panel_stride if shared.panels > 1 else 0)
        return elements * self.size


def descriptor(emitter: Emitter, buffer: Buffer, described: Described, step: str | None) -> str:
    """The descriptor of the buffer's start; `step`: bytes (an i32) to add for the warpgroup."""
    address = shared_address(emitter, buffer.pointer)
    if step is not None:
        address = emitter.assign(f"add i32 {address}, {step}")
    masked = emitter.assign(f"and i32 {address}, {(1 << ADDRESS_BITS) - 1}")
    units = emitter.assign(f"lshr exact i32 {masked}, 4")
    wide = emitter.assign(f"zext nneg i32 {units} to i64")
    constant = described.constant
    return emitter.assign(f"or disjoint i64 {wide}, {constant - (1 << 64) if constant >> 63 else constant}")


def warpgroup(emitter: Emitter) -> str:
    """The warpgroup's number (an i32), taken from the first lane: so ptxas knows that all lanes have the same, and
    computes descriptors in uniform registers, from which the instruction takes them. Asked for at each product: LLVM
    moves none of what follows from it out of loops, where descriptors of whole tiles would fill registers."""
    own = emitter.assign(f"lshr i32 {emitter.backend.thread_id(emitter)}, {WARPGROUP_BITS}")
    text, constraints = "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r"
    return emitter.assign(f'call i32 asm sideeffect "{text}", "{constraints}"(i32 {own}) convergent nounwind')


def moved(emitter: Emitter, base: str, offset: int) -> str:
    return base if not offset else emitter.assign(f"add nuw i64 {base}, {offset // UNIT}")


def wgmma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Wgmma)
    atom = target_of(op).atom(op.atom.data)
    instruction = INSTRUCTIONS.get(atom.name)
    if instruction is None:
        raise TargetError("target/unknown-atom", f"'{atom.name}' is no wgmma instruction")
    m, n, k = op.extents
    groups = (1 << len(op.layout_acc.data[2])) // 4
    rows, columns, steps = m // (ROWS * groups), n // instruction.n, k // instruction.depth
    if op.layout_a is not None:
        _check_rows(op.layout_a.over((m, k)), op.layout_acc.over((m, n)), instruction)
    b = emitter.buffer(op.b)
    b_places = Described(b.type, 0)
    b_base = descriptor(emitter, b, b_places, None)
    a_at, a_major = _left(emitter, op.a, groups, steps, instruction)
    fresh = is_zero(op.acc)
    acc = fenced(emitter, op)
    count = instruction.n // 2  # accumulators of a thread in one instruction
    # K outermost would interleave accumulators; one accumulator's steps in a row keep the unit on it.
    for row, column in product(range(rows), range(columns)):
        at = (row * columns + column) * count
        held = acc[at : at + count]
        for step in range(steps):
            from_zero = fresh and not step
            place = b_places.offset(column * instruction.n, step * instruction.depth)
            held = _issue(
                emitter,
                instruction,
                held,
                a_at(row, step),
                moved(emitter, b_base, place),
                _modes(instruction, a_major, b_places),
                from_zero=from_zero,
            )
        acc[at : at + count] = held
    emitter.line('call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"() convergent nounwind')
    emitter.define(op.result, acc)


def fenced(emitter: Emitter, op: gpu.Wgmma) -> list[str]:
    """The accumulators of a product, behind the fence in front of it. What threads write into them must stand before
    the fence (PTX ISA, "wgmma.fence"): they pass through it, since nothing else keeps LLVM from moving the writes."""
    acc, made, text = list(registers_of(emitter.fragment(op.acc))), op.acc.owner, "wgmma.fence.sync.aligned;"
    by_threads = isinstance(made, Operation) and not isinstance(made, gpu.Wgmma | gpu.WgmmaWait | scf.ForOp)
    if by_threads and not is_zero(op.acc):
        return _through(emitter, text, acc, emitter.element(op.acc.type))
    emitter.line(f'call void asm sideeffect "{text}", "~{{memory}}"() convergent nounwind')
    return acc


def _modes(instruction: WgmmaInstruction, a_major: int | None, b: Described) -> str:
    """What follows the operands: no float's sign is turned, and how operands lie where that is free. `a_major`:
    whether a lies M-major; None for registers, which have no major-ness to name."""
    signs = "" if instruction.acc_word == "i32" else ", 1, 1"
    if instruction.transposes:
        return signs + ("" if a_major is None else f", {a_major}") + f", {int(not b.k_major)}"
    if a_major or not b.k_major:
        raise CompileError("gpu/descriptor", f"operands of {instruction.types} lie with K side by side")
    return signs


def _check_rows(a: Layout, acc: Layout, instruction: WgmmaInstruction) -> None:
    """Raises CompileError where a row of the fragment a is not the row of the accumulator that the instruction adds its
    products to: second rows of a thread, groups of lanes, warps."""
    inside = instruction.packed.bit_length() - 1
    rows = [(x.regs[reg], *x.lanes[2:], *x.warps) for x, reg in ((a, inside), (acc, 1))]
    if rows[0] != rows[1] or any(basis[1] for basis in rows[0]):
        raise CompileError("gpu/fragment", f"a and the accumulator lie in other rows: {rows[0]} and {rows[1]}")


def is_zero(value: SSAValue) -> bool:
    """Whether all of a fragment is +0: the instruction can begin with that itself."""
    splat = value.owner
    constant = splat.value.owner if isinstance(splat, simt.Splat) else None
    if not isinstance(constant, arith.ConstantOp):
        return False
    if isinstance(constant.value, IntegerAttr):
        return constant.value.value.data == 0
    if not isinstance(constant.value, FloatAttr):
        return False
    return str(constant.value.value.data) == "0.0"  # -0.0 has other bits


Operands = list[tuple[str, str]]  # (constraint, typed operand)


def _left(
    emitter: Emitter, value: SSAValue, groups: int, steps: int, instruction: WgmmaInstruction
) -> tuple[Callable[[int, int], Operands], int | None]:
    """(row, step) -> operand a: a descriptor, or four registers; and whether it lies M-major (None
    in registers)."""
    if isinstance(value.type, BufferType):
        buffer = emitter.buffer(value)
        places = Described(buffer.type, 1)
        step_bytes = None
        if groups > 1:
            step_bytes = emitter.assign(f"mul i32 {warpgroup(emitter)}, {places.offset(ROWS, 0)}")
        base = descriptor(emitter, buffer, places, step_bytes)

        def described(row: int, step: int) -> Operands:
            place = places.offset(row * ROWS * groups, step * instruction.depth)
            return [("l", f"i64 {moved(emitter, base, place)}")]

        return described, int(not places.k_major)
    fragment = emitter.fragment(value)
    words = operand_words(emitter, emitter.element(value.type), registers_of(fragment), instruction.packed)

    def held(row: int, step: int) -> Operands:
        at = (row * steps + step) * 4
        return [("r", f"i32 {w}") for w in words[at : at + 4]]

    return held, None


def _issue(
    emitter: Emitter,
    instruction: WgmmaInstruction,
    acc: list[str],
    a: Operands,
    b: str,
    modes: str,
    *,
    from_zero: bool,
) -> list[str]:
    """One `wgmma.mma_async`; accumulators are tied to the results, or with `from_zero` not read at all."""
    count = len(acc)
    first = 2 * count
    left = f"${first}" if len(a) == 1 else "{" + ", ".join(f"${first + i}" for i in range(len(a))) + "}"
    right = f"${first + len(a)}"
    registers = ", ".join(f"${i}" for i in range(count))
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{instruction.n}k{instruction.depth}.{instruction.types} "
        f"{{{registers}}}, {left}, {right}, {'p' if from_zero else 1}{modes};"
    )
    if from_zero:
        text = f"{{ .reg .pred p; setp.ne.b32 p, 0, 0; {text} }}"
        acc = ["poison"] * count
    word = instruction.acc_word
    constraints = [f"={CONSTRAINT[word]}"] * count + [str(i) for i in range(count)] + [c for c, _ in a] + ["l"]
    operands = [f"{word} {x}" for x in acc] + [x for _, x in a] + [f"i64 {b}"]
    return _call(emitter, text, constraints, operands, [word] * count)


def wait(emitter: Emitter, op: Operation) -> None:
    """The accumulators pass through, so that nothing reads them before."""
    assert isinstance(op, gpu.WgmmaWait)
    acc = list(registers_of(emitter.fragment(op.acc)))
    text = f"wgmma.wait_group.sync.aligned {op.pending.value.data};"
    emitter.define(op.result, _through(emitter, text, acc, emitter.element(op.acc.type)))


def _through(emitter: Emitter, text: str, registers: list[str], word: str) -> list[str]:
    """An instruction with registers that it neither reads nor changes, but whose writes stay in front of it, and whose
    reads behind it."""
    count = len(registers)
    constraints = [f"={CONSTRAINT[word]}"] * count + [str(i) for i in range(count)] + ["~{memory}"]
    return _call(emitter, text, constraints, [f"{word} {x}" for x in registers], [word] * count)


def _call(emitter: Emitter, text: str, constraints: list[str], operands: list[str], words: list[str]) -> list[str]:
    struct = "{" + ", ".join(words) + "}"
    result = emitter.assign(
        f'call {struct} asm sideeffect "{text}", "{",".join(constraints)}"({", ".join(operands)}) convergent nounwind'
    )
    return [emitter.assign(f"extractvalue {struct} {result}, {i}") for i in range(len(words))]


HANDLERS: dict[type[Operation], Handler] = {gpu.Wgmma: wgmma, gpu.WgmmaWait: wait}
