"""`wgmma` on words: one instruction for each 32 bytes of K, then the group is closed."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.mbarrier import assembly
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.wgmma import Described, descriptor, moved
from tileopt.dialects.gpu_described import INTEGERS, depth
from tileopt.dialects.gpu_warpgroup import A_WORDS, WgmmaWaitWords, WgmmaWords
from tileopt.dialects.target import Feature
from tileopt.dialects.tile_types import BufferType

_NAMES = {
    "f16": "f16", "bf16": "bf16", "tf32": "tf32", "f8e4m3fn": "e4m3", "f8e5m2": "e5m2", "i8": "s8", "u8": "u8",
}  # fmt: skip


def wgmma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WgmmaWords) and isinstance(op.b.type, BufferType)
    need(op, Feature.WGMMA)
    a_type, b_type = op.a_type.data, op.b_type.data
    n, k = op.extents
    step_k = depth(b_type)
    integers = b_type in INTEGERS
    word = "i32" if integers else "float"
    b_places = Described(op.b.type, 0 if op.trans_b is not None else 1)
    b_base = descriptor(emitter, emitter.buffer(op.b), b_places, None)
    a_places, a_base = None, ""
    if op.a is not None:
        assert isinstance(op.a.type, BufferType)
        a_places = Described(op.a.type, 0 if op.trans_a is not None else 1)
        a_base = descriptor(emitter, emitter.buffer(op.a), a_places, None)
    held = [emitter.scalar(v) for v in op.acc]
    a_words = [emitter.scalar(v) for v in op.a_words]
    sums = "s32" if integers else "f32"
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{step_k}.{sums}.{_NAMES[a_type]}.{_NAMES[b_type]}"
    tail = "1" if integers else "1, 1, 1"
    if a_type in ("f16", "bf16"):
        majors = [str(int(op.trans_a is not None))] if a_places is not None else []
        tail = ", ".join([tail, *majors, str(int(op.trans_b is not None))])
    assembly(emitter, "wgmma.fence.sync.aligned;", convergent=True)
    for step in range(k // step_k):
        statement = Statement()
        registers = [statement.output(word, value) for value in held]
        if a_places is not None:
            left = statement.word("i64", moved(emitter, a_base, a_places.offset(0, step * step_k)))
        else:
            mine = a_words[A_WORDS * step : A_WORDS * (step + 1)]
            left = "{" + ", ".join(statement.word("i32", w) for w in mine) + "}"
        right = statement.word("i64", moved(emitter, b_base, b_places.offset(0, step * step_k)))
        text = f"{name} {{{', '.join(registers)}}}, {left}, {right}, {tail};"
        held = statement.emit(emitter, text, "convergent nounwind", effects=True)
    assembly(emitter, "wgmma.commit_group.sync.aligned;", convergent=True)
    for result, value in zip(op.words, held, strict=True):
        emitter.values[result] = value


def wait(emitter: Emitter, op: Operation) -> None:
    """The accumulator passes through, so that nothing reads it before."""
    assert isinstance(op, WgmmaWaitWords)
    need(op, Feature.WGMMA)
    statement = Statement()
    for held in op.acc:
        statement.output(emitter.element(held.type), emitter.scalar(held))
    text = f"wgmma.wait_group.sync.aligned {op.pending.value.data};"
    for result, value in zip(op.words, statement.emit(emitter, text, "convergent nounwind", effects=True), strict=True):
        emitter.values[result] = value


HANDLERS: dict[type[Operation], Handler] = {WgmmaWords: wgmma, WgmmaWaitWords: wait}
