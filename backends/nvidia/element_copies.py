"""`cp.async` of one thread, from where an index says to where another does."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.thread import pointer_to
from tileopt.backends.nvidia.copies import copy
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.shared import shared_address
from tileopt.dialects.gpu_words import CpAsyncElements
from tileopt.dialects.target import Feature


def cp_async(emitter: Emitter, op: Operation) -> None:
    """One instruction where both addresses are multiples of the size; elsewhere the elements one by one."""
    assert isinstance(op, CpAsyncElements)
    need(op, Feature.CP_ASYNC)
    to, shared, type_ = pointer_to(emitter, op.target, op.target_indices)
    from_, space, _ = pointer_to(emitter, op.source, op.source_indices)
    size, count, stride = op.bytes, op.count.value.data, emitter.view(op.source).strides[-1]
    if op.aligned is not None:
        copy(emitter, size, (to, 0), (from_, 0), None, None)
        return
    fast = _together(emitter, op, (shared_address(emitter, to), f"{space} {from_}"), size, stride)
    wide, narrow, done = emitter.label("copy"), emitter.label("elements"), emitter.label("copied")
    emitter.branch_if(fast, wide, narrow)
    emitter.start(wide)
    copy(emitter, size, (to, 0), (from_, 0), None, None)
    emitter.branch(done)
    emitter.start(narrow)
    bytes_ = types.bytes_of(type_)
    for number in range(count):
        source, target = from_, to
        if number:
            step = str(number) if stride == "1" else emitter.assign(f"mul i64 {stride}, {number}")
            source = emitter.assign(f"getelementptr {type_}, {space} {from_}, i64 {step}")
            target = emitter.assign(f"getelementptr {type_}, {shared} {to}, i64 {number}")
        value = emitter.assign(f"load {type_}, {space} {source}, align {bytes_}")
        emitter.line(f"store {type_} {value}, {shared} {target}, align {bytes_}")
    emitter.branch(done)
    emitter.start(done)


def _together(emitter: Emitter, op: CpAsyncElements, addresses: tuple[str, str], size: int, stride: str) -> str:
    """An i1: whether one instruction copies the elements."""
    shared, array = addresses
    number = emitter.assign(f"ptrtoint {array} to i64")
    low = emitter.assign(f"or i32 {shared}, {emitter.assign(f'trunc i64 {number} to i32')}")
    rest = emitter.assign(f"and i32 {low}, {size - 1}")
    aligned = emitter.assign(f"icmp eq i32 {rest}, 0")
    if stride == "1" or op.count.value.data == 1:
        return aligned
    return emitter.assign(f"and i1 {aligned}, {emitter.assign(f'icmp eq i64 {stride}, 1')}")


HANDLERS: dict[type[Operation], Handler] = {CpAsyncElements: cp_async}
