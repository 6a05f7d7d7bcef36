"""Matrix instructions of a warp on whole fragments: `ldmatrix` and `mma.sync`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia import turned_bytes
from tileopt.backends.nvidia.atoms import mma_scaled
from tileopt.backends.nvidia.atoms.mma_sync import INSTRUCTIONS, MmaInstruction
from tileopt.backends.nvidia.chunks import registers_of
from tileopt.backends.nvidia.guards import not_phantom
from tileopt.backends.nvidia.ptx import CONVERGENT, Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.backends.nvidia.shared_index import SharedAddresses, ThreadMap
from tileopt.backends.nvidia.words import pack, unpack
from tileopt.dialects import gpu, simt
from tileopt.dialects.diagnostics import CompileError, TargetError
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.layout import Coord, Layout
from tileopt.dialects.target import target_of

ROW_BITS = 3  # lanes 8q to 8q + 7 give the addresses of the rows of matrix q


# --- ldmatrix --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixLoad:
    """One `ldmatrix`: `first` is its first register (a word a matrix), `count` its matrices.

    Lane l, warp w gives the address of the element at `origin` plus what `threads` adds for the bits of l and w.
    """

    first: int
    count: int
    origin: Coord
    threads: ThreadMap


@lru_cache(maxsize=256)
def matrix_loads(layout: Layout, row_axis: int, bits: int = 16) -> tuple[tuple[MatrixLoad, ...], bool]:
    """The instructions that read a fragment made of blocks of eight rows, and whether they transpose. `row_axis`: the
    axis along which the 16 bytes of a row lie side by side in memory. `bits`: of an element."""
    packed = 32 // bits
    transposed = gpu.word_axis(layout, bits) != row_axis
    down = 1 - row_axis
    rows = tuple(tuple(1 << bit if axis == down else 0 for axis in range(2)) for bit in range(ROW_BITS))
    origins = layout.register_coords[::packed]  # matrix i is the i-th word
    loads: list[MatrixLoad] = []
    at = 0
    while at < len(origins):
        count = next(c for c in (4, 2, 1) if c <= len(origins) - at)
        steps = _steps(origins[at : at + count])
        while steps is None:
            count //= 2
            steps = _steps(origins[at : at + count])
        # Lanes whose addresses are not used repeat others'.
        steps += ((0, 0),) * (2 - len(steps))
        loads.append(MatrixLoad(packed * at, count, origins[at], (*rows, *steps, *layout.warps)))
        at += count
    return tuple(loads), transposed


def _steps(origins: tuple[Coord, ...]) -> ThreadMap | None:
    """How the bits of a matrix's number move its origin; None where they do not, each on its own, without carry."""
    first = origins[0]
    bits = range(len(origins).bit_length() - 1)
    steps = tuple(tuple(a ^ b for a, b in zip(first, origins[1 << bit], strict=True)) for bit in bits)
    for number, origin in enumerate(origins):
        at = first
        for bit, step in enumerate(steps):
            if number >> bit & 1:
                at = tuple(a + s for a, s in zip(at, step, strict=True))
        if at != origin:
            return None
    return steps


def ldmatrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.LdMatrix)
    buffer, element = emitter.buffer(op.source), emitter.element(op.result.type)
    layout = simt.fragment_layout(op.layout, buffer.type.get_shape(), op.result.type)
    bits = bit_width(buffer.type.element_type)
    if bits == 8 and gpu.word_axis(layout, bits) != buffer.type.shared_layout.order[-1]:
        turned_bytes.load(emitter, op)
        return
    loads, transposed = matrix_loads(layout, buffer.type.shared_layout.order[-1], bits)
    addresses: dict[ThreadMap, SharedAddresses] = {}
    registers: list[str] = []
    for one in loads:
        if one.threads not in addresses:
            addresses[one.threads] = SharedAddresses(emitter, buffer, one.threads)
        pointer, constant = addresses[one.threads].at(one.origin)
        statement = Statement()
        results = [statement.output("i32") for _ in range(one.count)]
        address = statement.word("i32", shared_address(emitter, pointer))
        suffix = ".trans" if transposed else ""
        text = (
            f"ldmatrix.sync.aligned.m8n8.x{one.count}{suffix}.shared.b16 "
            f"{{{', '.join(results)}}}, [{address}+{constant}];"
        )
        words = statement.emit(emitter, text, "convergent", effects=True)
        if element == "float":
            registers += [emitter.assign(f"bitcast i32 {word} to float") for word in words]
        else:
            registers += unpack(emitter, element, 32 // bits * one.count, words)
    emitter.define(op.result, registers)


# --- mma.sync --------------------------------------------------------------------------------------------------------


def mma_sync(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.MmaSync)
    atom = target_of(op).atom(op.atom.data)
    scaled = mma_scaled.INSTRUCTIONS.get(atom.name) if op.scales else None
    instruction = scaled.plain if scaled is not None else INSTRUCTIONS.get(atom.name)
    if instruction is None:
        raise TargetError("target/unknown-atom", f"'{atom.name}' is no mma.sync instruction")
    m, n, k = op.m.value.data, op.n.value.data, op.k.value.data
    layouts = op.layout_a.over((m, k)), op.layout_b.over((k, n)), op.layout_acc.over((m, n))
    for layout, role in zip(layouts, ("a", "b", "acc"), strict=True):
        fragment = atom.fragments[role]
        if (layout.regs, layout.lanes) != (fragment.regs, fragment.lanes):
            raise CompileError("gpu/fragment", f"the layout of {role} is not that of {atom.name}")
    a = _operand_words(emitter, op.a, layouts[0], 1, instruction)
    b = _operand_words(emitter, op.b, layouts[1], 0, instruction)
    element = emitter.element(op.acc.type)
    acc = pack_all(emitter, element, registers_of(emitter.fragment(op.acc)), instruction.acc_packed)
    rows, columns, depth = (*layouts[2].repeats, layouts[0].repeats[1])
    if layouts[0].repeats[0] != rows or layouts[1].repeats != (depth, columns):
        raise CompileError("gpu/fragment", "the operands of the product are spread over the warps in different ways")
    scales = None if scaled is None else _Scales.of(emitter, op, scaled)
    # K outermost: products into one accumulator are then far apart, and operands of a step are used together.
    for step, row, column in product(range(depth), range(rows), range(columns)):
        at_a, at_b = (row * depth + step) * instruction.a, (step * columns + column) * instruction.b
        at_acc = (row * columns + column) * instruction.acc
        acc[at_acc : at_acc + instruction.acc] = multiply(
            emitter,
            instruction,
            a[at_a : at_a + instruction.a],
            b[at_b : at_b + instruction.b],
            acc[at_acc : at_acc + instruction.acc],
            () if scales is None else (scales.a[row * depth + step], scales.b[step * columns + column]),
        )
    out: list[str] = []
    for word in acc:
        out += [word] if instruction.acc_packed == 1 else unpack(emitter, element, instruction.acc_packed, [word])
    emitter.define(op.result, out)


@dataclass(frozen=True)
class _Scales:
    """A word for each instruction's part of a and of b."""

    a: list[str]
    b: list[str]

    @staticmethod
    def of(emitter: Emitter, op: gpu.MmaSync, instruction: mma_scaled.ScaledInstruction) -> _Scales:
        m, n = op.m.value.data, op.n.value.data
        assert op.blocks is not None and op.layout_a_scale is not None and op.layout_b_scale is not None
        blocks = op.blocks.value.data
        layouts = op.layout_a_scale.over((m, blocks)), op.layout_b_scale.over((blocks, n))
        fragments = mma_scaled.scale_fragments(instruction.blocks)
        found: list[list[str]] = []
        for value, layout, axis, fragment in zip(op.scales, layouts, (1, 0), fragments, strict=True):
            if (layout.regs, layout.lanes) != (fragment.regs, fragment.lanes):
                raise CompileError("gpu/fragment", "the layout of a scale is not that of its instruction")
            registers = _without_phantoms(emitter, value, layout, axis)
            count = instruction.blocks
            groups = [registers[at : at + count] for at in range(0, len(registers), count)]
            found.append([_word(emitter, group) for group in groups])
        return _Scales(*found)


def _word(emitter: Emitter, bytes_: list[str]) -> str:
    """Bytes as a word, lowest first; those that are not given are zero."""
    word = emitter.assign(f"zext i8 {bytes_[0]} to i32")
    for place, byte in enumerate(bytes_[1:], 1):
        wide = emitter.assign(f"zext i8 {byte} to i32")
        word = emitter.assign(f"or i32 {word}, {emitter.assign(f'shl i32 {wide}, {8 * place}')}")
    return word


def multiply(
    emitter: Emitter,
    instruction: MmaInstruction,
    a: list[str],
    b: list[str],
    acc: list[str],
    scales: tuple[str, ...] = (),
) -> list[str]:
    """One instruction; its operands are words. Of words of scales, those of the first lanes count, from byte 0 on."""
    statement = Statement()
    results = [statement.output(instruction.acc_word) for _ in acc]
    operands = [[statement.word(instruction.word, w) for w in words] for words in (a, b)]
    operands.append([statement.word(instruction.acc_word, w) for w in acc])
    lists = ", ".join("{" + ", ".join(names) + "}" for names in (results, *operands))
    chosen = "".join(f", {{{statement.word('i32', scale)}}}, {{0, 0}}" for scale in scales)
    return statement.emit(emitter, f"{instruction.ptx} {lists}{chosen};", CONVERGENT)


def pack_all(emitter: Emitter, element: str, registers: tuple[str, ...] | list[str], packed: int) -> list[str]:
    """Registers as words of `packed` elements."""
    if packed == 1:
        return list(registers)
    words: list[str] = []
    for at in range(0, len(registers), packed):
        words += pack(emitter, element, registers[at : at + packed])
    return words


def operand_words(emitter: Emitter, element: str, registers: tuple[str, ...] | list[str], packed: int) -> list[str]:
    """Registers of an operand as the words that instructions take: bits, of f64 alone numbers."""
    words = pack_all(emitter, element, registers, packed)
    return [emitter.assign(f"bitcast float {word} to i32") for word in words] if element == "float" else words


def _operand_words(
    emitter: Emitter, value: SSAValue, layout: Layout, axis: int, instruction: MmaInstruction
) -> list[str]:
    """The words of an operand; elements beyond the tile's extent along K (`axis`) count as zero."""
    registers = _without_phantoms(emitter, value, layout, axis)
    return operand_words(emitter, emitter.element(value.type), registers, instruction.packed)


def _without_phantoms(emitter: Emitter, value: SSAValue, layout: Layout, axis: int) -> list[str]:
    """The registers of a fragment, zero beyond the tile's extent along an axis."""
    element = emitter.element(value.type)
    registers = list(registers_of(emitter.fragment(value)))
    nothing = types.constant_text(0, element_type(value.type)) if types.is_float(element) else "0"
    for register, at in enumerate(layout.register_coords):
        condition = not_phantom(emitter, layout, axis, at[axis])
        if condition == "false":
            registers[register] = nothing
        elif condition is not None:
            kept = f"{element} {registers[register]}, {element} {nothing}"
            registers[register] = emitter.assign(f"select i1 {condition}, {kept}")
    return registers


HANDLERS: dict[type[Operation], Handler] = {gpu.LdMatrix: ldmatrix, gpu.MmaSync: mma_sync}
