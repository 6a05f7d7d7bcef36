"""`cp.async`: copies from an array to shared memory that run on while the thread goes on."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.chunks import chunks_of, run_length
from tileopt.backends.nvidia.guards import Guard, both
from tileopt.backends.nvidia.memory import GLOBAL, Addresses, is_small, tested_axes
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.backends.nvidia.shared_index import SharedAddresses, shared_run, thread_map
from tileopt.dialects import gpu
from tileopt.dialects.diagnostics import CompileError, TargetError, UnsupportedError
from tileopt.dialects.target import Feature, target_of


def cp_async(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.CpAsync)
    if not target_of(op).has(Feature.CP_ASYNC):
        raise TargetError("target/unsupported-cp-async", f"{target_of(op).name} has no cp.async")
    view, buffer = emitter.view(op.view), emitter.buffer(op.target)
    layout, length = op.layout.over(buffer.type.get_shape()), op.vector.value.data
    size = types.bytes_of(emitter.element(buffer.type.element_type))
    if isinstance(op.padding, FloatAttr | IntegerAttr) and types.constant_text(
        op.padding.value.data, op.padding.type
    ) != types.constant_text(0, op.padding.type):
        raise UnsupportedError("gpu/padding", "cp.async fills with zeros only")
    fast = buffer.type.shared_layout.order[-1]
    axis = fast if length > 1 else 0
    together = min(run_length(layout, fast), shared_run(buffer, layout, size)) if view.unit_axis == fast else 1
    if length > together:
        raise CompileError("gpu/vector", f"{length} elements do not lie side by side in the array and the buffer")
    offsets = [emitter.scalar(v) for v in op.offsets]
    source = Addresses(emitter, view, offsets, layout, is_small(emitter, op.view))
    target = SharedAddresses(emitter, buffer, thread_map(layout))
    # Phantoms are not copied at all; what is outside the array becomes zero.
    exists = Guard(emitter, layout, (), (), ())
    inside = Guard(emitter, layout, offsets, view.extents, tested_axes(op.bounds, len(layout.shape)))
    one = writer(emitter, layout)
    for chunk in chunks_of(layout, axis, length) if layout.shape else ((0,),):
        at = layout.register_coords[chunk[0]]
        condition = both(emitter, exists.condition(at), one)
        if condition == "false":
            continue
        (from_, from_constant), (to, to_constant) = source.at(at), target.at(at)
        filled = inside.condition(at) if inside.tested else None
        copy(emitter, length * size, (to, to_constant), (from_, from_constant), condition, filled)


def copy(
    emitter: Emitter,
    size: int,
    to: tuple[str, int],
    from_: tuple[str, int],
    condition: str | None,
    inside: str | None,
) -> None:
    """Starts one copy of `size` bytes where `condition` holds; it writes zeros where `inside` does not."""
    statement = Statement()
    target = statement.word("i32", shared_address(emitter, to[0]))
    source = statement.pointer(GLOBAL, from_[0])
    read = ""
    if inside is not None:
        count = emitter.assign(f"select i1 {inside}, i32 {size}, i32 0")
        read = f", {statement.word('i32', count)}"
    guard = "" if condition is None else f"@{statement.predicate(condition)} "
    # The L1 cache can be passed by where all 16 bytes go to shared memory.
    cache = "cg" if size == 16 else "ca"
    text = f"{guard}cp.async.{cache}.shared.global [{target}+{to[1]}], [{source}+{from_[1]}], {size}{read};"
    statement.emit(emitter, text, effects=True)


def commit(emitter: Emitter, op: Operation) -> None:
    Statement().emit(emitter, "cp.async.commit_group;", effects=True)


def wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.CpAsyncWait)
    Statement().emit(emitter, f"cp.async.wait_group {op.pending.value.data};", effects=True)


HANDLERS: dict[type[Operation], Handler] = {
    gpu.CpAsync: cp_async,
    gpu.CpAsyncCommit: commit,
    gpu.CpAsyncWait: wait,
}
