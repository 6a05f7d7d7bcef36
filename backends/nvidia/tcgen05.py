"""`tcgen05`: products into tensor memory (PTX ISA, "Tensorcore 5th generation family instructions").

A descriptor is that of `wgmma` (see `wgmma`) but for bits 46-48, which are 1, and the swizzle in bits 61-63.
The instruction descriptor, 32 bits: the accumulator's type in bits 4-5 (1: f32), the operands' in 7-9 and 10-12,
15 and 16 set where they lie M- or N-major, N / 8 in bits 17-22, M / 16 in bits 24-28.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.thread import pointer_to
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.mbarrier import assembly, barrier_address
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.backends.nvidia.wgmma import ADDRESS_BITS, ROW_GROUP, UNIT, Described, moved
from tileopt.dialects import gpu_tensor as gpu
from tileopt.dialects.gpu_described import depth
from tileopt.dialects.target import Feature
from tileopt.dialects.tile_types import BufferType

_SWIZZLE_MODE = {128: 2, 64: 4, 32: 6}
_OPERANDS = {"f16": ("f16", 0), "bf16": ("f16", 1), "f8e4m3fn": ("f8f6f4", 0), "f8e5m2": ("f8f6f4", 1)}
_F32 = 1
GROUP = "cta_group::1"


def operand_descriptor(emitter: Emitter, value: SSAValue, places: Described) -> str:
    """The descriptor of the start of an operand in shared memory."""
    shared, row = places.type.shared_layout, places.row * places.size
    leading = shared.panel_stride * places.size // UNIT if not places.k_major and shared.panels > 1 else 1
    constant = _SWIZZLE_MODE[row] << 61 | 1 << 46 | (ROW_GROUP * row // UNIT) << 32 | leading << 16
    address = shared_address(emitter, emitter.buffer(value).pointer)
    masked = emitter.assign(f"and i32 {address}, {(1 << ADDRESS_BITS) - 1}")
    wide = emitter.assign(f"zext nneg i32 {emitter.assign(f'lshr exact i32 {masked}, 4')} to i64")
    return emitter.assign(f"or disjoint i64 {wide}, {constant - (1 << 64) if constant >> 63 else constant}")


def instruction_descriptor(m: int, n: int, a: int, b: int, trans_a: bool, trans_b: bool) -> int:
    """Bits of the instruction: operands' codes `a` and `b`, sums in f32."""
    return _F32 << 4 | a << 7 | b << 10 | trans_a << 15 | trans_b << 16 | (n // 8) << 17 | (m // 16) << 24


def mma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Mma)
    assert isinstance(op.a.type, BufferType) and isinstance(op.b.type, BufferType)
    need(op, Feature.TCGEN05)
    (kind, a_code), (_, b_code) = _OPERANDS[op.a_type.data], _OPERANDS[op.b_type.data]
    trans_a, trans_b = op.trans_a is not None, op.trans_b is not None
    a_places, b_places = Described(op.a.type, 0 if trans_a else 1), Described(op.b.type, 0 if trans_b else 1)
    k = op.a.type.get_shape()[0 if trans_a else 1]
    n = op.b.type.get_shape()[1 if trans_b else 0]
    a_base, b_base = operand_descriptor(emitter, op.a, a_places), operand_descriptor(emitter, op.b, b_places)
    bits = instruction_descriptor(gpu.LANES, n, a_code, b_code, trans_a, trans_b)
    for step in range(k // depth(op.a_type.data)):
        at = step * depth(op.a_type.data)
        statement = Statement()
        d = statement.word("i32", emitter.scalar(op.d))
        a = statement.word("i64", moved(emitter, a_base, a_places.offset(0, at)))
        b = statement.word("i64", moved(emitter, b_base, b_places.offset(0, at)))
        i = statement.word("i32", str(bits))
        keep = statement.predicate("true" if step else emitter.scalar(op.accumulate))
        statement.emit(emitter, f"tcgen05.mma.{GROUP}.kind::{kind} [{d}], {a}, {b}, {i}, {keep};", effects=True)


def alloc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Alloc)
    need(op, Feature.TCGEN05)
    address = shared_address(emitter, pointer_to(emitter, op.target, op.indices)[0])
    text = f"tcgen05.alloc.{GROUP}.sync.aligned.shared::cta.b32 [$0], {op.columns.value.data};"
    assembly(emitter, text, "r", f"i32 {address}", convergent=True)


def relinquish(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.TCGEN05)
    assembly(emitter, f"tcgen05.relinquish_alloc_permit.{GROUP}.sync.aligned;", convergent=True)


def dealloc(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Dealloc)
    need(op, Feature.TCGEN05)
    text = f"tcgen05.dealloc.{GROUP}.sync.aligned.b32 $0, {op.columns.value.data};"
    assembly(emitter, text, "r", f"i32 {emitter.scalar(op.address)}", convergent=True)


def commit(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Commit)
    need(op, Feature.TCGEN05)
    address = barrier_address(emitter, op.barriers, op.index)
    text = f"tcgen05.commit.{GROUP}.mbarrier::arrive::one.shared::cluster.b64 [$0];"
    assembly(emitter, text, "r", f"i32 {address}")


def lane_bits(emitter: Emitter) -> str:
    """The warp's first lane in the upper half of an address: a warp reaches no others."""

    def make() -> str:
        warp = emitter.assign(f"lshr i32 {emitter.backend.thread_id(emitter)}, 5")
        return emitter.assign(f"shl i32 {emitter.assign(f'and i32 {warp}, 3')}, 21")

    return emitter.once("tensor lanes", make)


def _own_lanes(emitter: Emitter, address: SSAValue) -> str:
    return emitter.assign(f"or i32 {emitter.scalar(address)}, {lane_bits(emitter)}")


def load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Load)
    need(op, Feature.TCGEN05)
    statement = Statement()
    names = [statement.output("i32") for _ in op.words]
    address = statement.word("i32", _own_lanes(emitter, op.address))
    text = f"tcgen05.ld.sync.aligned.32x32b.x{len(names)}.b32 {{{', '.join(names)}}}, [{address}];"
    for result, word in zip(op.words, statement.emit(emitter, text, "convergent nounwind", effects=True), strict=True):
        emitter.values[result] = word


def store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Store)
    need(op, Feature.TCGEN05)
    statement = Statement()
    address = statement.word("i32", _own_lanes(emitter, op.address))
    names = [statement.word("i32", emitter.scalar(w)) for w in op.words]
    text = f"tcgen05.st.sync.aligned.32x32b.x{len(names)}.b32 [{address}], {{{', '.join(names)}}};"
    statement.emit(emitter, text, "convergent nounwind", effects=True)


def wait(emitter: Emitter, op: Operation) -> None:
    """What loads gave passes through, so that nothing reads it before."""
    assert isinstance(op, gpu.Tcgen05Wait)
    need(op, Feature.TCGEN05)
    statement = Statement()
    for value in op.acc:
        statement.output("i32", emitter.scalar(value))
    text = f"tcgen05.wait::{op.kind.data}.sync.aligned;"
    for result, word in zip(op.words, statement.emit(emitter, text, "convergent nounwind", effects=True), strict=True):
        emitter.values[result] = word


def fence(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.Tcgen05Fence)
    need(op, Feature.TCGEN05)
    assembly(emitter, f"tcgen05.fence::{op.kind.data}_thread_sync;")


HANDLERS: dict[type[Operation], Handler] = {
    gpu.Tcgen05Alloc: alloc,
    gpu.Tcgen05Relinquish: relinquish,
    gpu.Tcgen05Dealloc: dealloc,
    gpu.Tcgen05Mma: mma,
    gpu.Tcgen05Commit: commit,
    gpu.Tcgen05Load: load,
    gpu.Tcgen05Store: store,
    gpu.Tcgen05Wait: wait,
    gpu.Tcgen05Fence: fence,
}
