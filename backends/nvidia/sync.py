"""Threads of a block meeting: barriers, and lanes of a warp exchanging registers."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects import simt

FULL_WARP = "-1"


def barrier(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.Barrier)
    if op.proxy is not None:
        emitter.line('call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"() nounwind')
    if op.id is not None and op.threads is not None:
        callee = emitter.declare("void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)")
        emitter.line(f"call void {callee}(i32 {op.id.value.data}, i32 {op.threads.value.data})")
        return
    callee = emitter.declare("void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)")
    emitter.line(f"call void {callee}(i32 0)")


def shuffle_word(emitter: Emitter, word: str, mask: int) -> str:
    """An i32 of the lane whose id differs in `mask`."""
    callee = emitter.declare("i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)")
    return emitter.assign(f"call i32 {callee}(i32 {FULL_WARP}, i32 {word}, i32 {mask}, i32 31)")


def shuffle_value(emitter: Emitter, element: str, value: str, mask: int) -> str:
    """A register of any element type of the lane whose id differs in `mask`."""
    bits = types.BITS[element]
    integer = f"i{bits}"
    raw = value if element == integer else emitter.assign(f"bitcast {element} {value} to {integer}")
    if bits <= 32:
        word = raw if bits == 32 else emitter.assign(f"zext {integer} {raw} to i32")
        moved = shuffle_word(emitter, word, mask)
        out = moved if bits == 32 else emitter.assign(f"trunc i32 {moved} to {integer}")
    else:
        pair = emitter.assign(f"bitcast i64 {raw} to <2 x i32>")
        joined = "poison"
        for half in range(2):
            word = emitter.assign(f"extractelement <2 x i32> {pair}, i32 {half}")
            moved = shuffle_word(emitter, word, mask)
            joined = emitter.assign(f"insertelement <2 x i32> {joined}, i32 {moved}, i32 {half}")
        out = emitter.assign(f"bitcast <2 x i32> {joined} to i64")
    return out if element == integer else emitter.assign(f"bitcast {integer} {out} to {element}")


def shuffle_xor(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, simt.ShuffleXor)
    element, mask = emitter.element(op.source.type), op.mask.value.data
    values = emitter.chunks(op.source)
    emitter.define(op.result, [shuffle_value(emitter, element, value, mask) for value in values])


HANDLERS: dict[type[Operation], Handler] = {simt.Barrier: barrier, simt.ShuffleXor: shuffle_xor}
