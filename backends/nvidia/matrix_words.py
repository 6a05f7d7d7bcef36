"""`ldmatrix`, `stmatrix` and `mma.sync` on words."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.thread import pointer_to
from tileopt.backends.nvidia.atoms.mma_sync import PTX_NAMES
from tileopt.backends.nvidia.features import need, need_arch
from tileopt.backends.nvidia.ptx import CONVERGENT, Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.dialects.gpu_words import FenceProxyAsync, LdMatrixWords, MmaWords, StMatrixWords
from tileopt.dialects.target import Feature

_NAMES = {**PTX_NAMES, "tf32": "tf32", "u8": "u8", "i4": "s4", "u4": "u4"}


def _braced(names: list[str]) -> str:
    return "{" + ", ".join(names) + "}"


def ldmatrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LdMatrixWords)
    need(op, Feature.LDMATRIX)
    pointer = pointer_to(emitter, op.source, op.indices)[0]
    statement = Statement()
    results = [statement.output("i32") for _ in op.words]
    address = statement.word("i32", shared_address(emitter, pointer))
    suffix = ".trans" if op.transposed is not None else ""
    text = f"ldmatrix.sync.aligned.m8n8.x{len(results)}{suffix}.shared.b16 {_braced(results)}, [{address}];"
    for result, word in zip(op.words, statement.emit(emitter, text, "convergent", effects=True), strict=True):
        emitter.values[result] = word


def stmatrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, StMatrixWords)
    need(op, Feature.STMATRIX)
    pointer = pointer_to(emitter, op.target, op.indices)[0]
    statement = Statement()
    address = statement.word("i32", shared_address(emitter, pointer))
    words = [statement.word("i32", emitter.scalar(w)) for w in op.words]
    suffix = ".trans" if op.transposed is not None else ""
    text = f"stmatrix.sync.aligned.m8n8.x{len(words)}{suffix}.shared.b16 [{address}], {_braced(words)};"
    statement.emit(emitter, text, "convergent", effects=True)


def mma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MmaWords)
    row, a, b, acc = op.row, op.a_type.data, op.b_type.data, op.acc_type.data
    need_arch(op, row.min_arch, f"mma.sync {row.name} of {a}")
    word = "double" if a == "f64" else "i32"
    acc_word = {"f32": "float", "f64": "double"}.get(acc, "i32")
    statement = Statement()
    results = [statement.output(acc_word) for _ in op.words]
    operands = [[statement.word(word, emitter.scalar(v)) for v in values] for values in (op.a, op.b)]
    operands.append([statement.word(acc_word, emitter.scalar(v)) for v in op.acc])
    lists = ", ".join(map(_braced, (results, *operands)))
    d = _NAMES[acc]
    text = f"mma.sync.aligned.{row.name}.row.col.{d}.{_NAMES[a]}.{_NAMES[b]}.{d} {lists};"
    for result, made in zip(op.words, statement.emit(emitter, text, CONVERGENT), strict=True):
        emitter.values[result] = made


def fence(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.TMA)  # the units that reach shared memory past the threads came with it
    Statement().emit(emitter, "fence.proxy.async.shared::cta;", effects=True)


HANDLERS: dict[type[Operation], Handler] = {
    LdMatrixWords: ldmatrix,
    StMatrixWords: stmatrix,
    MmaWords: mma,
    FenceProxyAsync: fence,
}
