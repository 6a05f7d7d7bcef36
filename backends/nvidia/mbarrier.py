"""`mbarrier` and `setmaxnreg`. PTX ISA, "Parallel Synchronization and Communication Instructions"."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.dialects import gpu_mbarrier as gpu
from tileopt.dialects.target import Feature

BARRIER_BYTES = 8


def narrow(emitter: Emitter, value: SSAValue) -> str:
    """An i64 as an i32."""
    text = emitter.scalar(value)
    return text if text.isdigit() else emitter.assign(f"trunc i64 {text} to i32")


def barrier_address(emitter: Emitter, barriers: SSAValue, index: SSAValue) -> str:
    """One barrier's address in shared memory, an i32."""
    base = shared_address(emitter, emitter.buffer(barriers).pointer)
    at = narrow(emitter, index)
    if at.isdigit():
        return emitter.assign(f"add i32 {base}, {int(at) * BARRIER_BYTES}") if int(at) else base
    return emitter.assign(f"add i32 {base}, {emitter.assign(f'shl i32 {at}, 3')}")


def assembly(emitter: Emitter, text: str, constraints: str = "", *operands: str, convergent: bool = False) -> None:
    """Inline PTX with effects and no result."""
    clobbers = f"{constraints},~{{memory}}" if constraints else "~{memory}"
    attributes = " convergent nounwind" if convergent else " nounwind"
    emitter.line(f'call void asm sideeffect "{text}", "{clobbers}"({", ".join(operands)}){attributes}')


def init(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.MbarrierInit)
    need(op, Feature.MBARRIER)
    address = barrier_address(emitter, op.barriers, op.index)
    assembly(emitter, f"mbarrier.init.shared::cta.b64 [$0], {op.count.value.data};", "r", f"i32 {address}")


def fence(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.TMA)
    assembly(emitter, "fence.mbarrier_init.release.cluster; fence.proxy.async;")


def arrive(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.MbarrierArrive)
    need(op, Feature.MBARRIER)
    address = barrier_address(emitter, op.barriers, op.index)
    text = "mbarrier.arrive.shared::cta.b64 _, [$0];"
    if op.expect is not None:
        need(op, Feature.TMA)
        text = f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {op.expect.value.data};"
    if op.where is None:
        assembly(emitter, text, "r", f"i32 {address}")
        return
    where = emitter.assign(f"zext i1 {emitter.scalar(op.where)} to i32")
    guarded = f"{{ .reg .pred p; setp.ne.b32 p, $1, 0; @p {text} }}"
    assembly(emitter, guarded, "r,r", f"i32 {address}", f"i32 {where}")


def wait(emitter: Emitter, op: Operation) -> None:
    """`try_wait` gives up after a time of the hardware's choice: it is asked again until it says yes."""
    assert isinstance(op, gpu.MbarrierWait)
    need(op, Feature.TMA)  # try_wait came with it
    address = barrier_address(emitter, op.barriers, op.index)
    phase = narrow(emitter, op.phase)
    parity = str(int(phase) & 1) if phase.isdigit() else emitter.assign(f"and i32 {phase}, 1")
    text = "{ .reg .pred p; wait_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra wait_${:uid}; }"
    assembly(emitter, text, "r,r", f"i32 {address}", f"i32 {parity}")


def try_wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.MbarrierTryWait)
    need(op, Feature.TMA)
    address = barrier_address(emitter, op.barriers, op.index)
    phase = narrow(emitter, op.phase)
    parity = str(int(phase) & 1) if phase.isdigit() else emitter.assign(f"and i32 {phase}, 1")
    statement = Statement()
    out = statement.output("i32")
    place, which = statement.word("i32", address), statement.word("i32", parity)
    text = (
        f"{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{place}], {which}; selp.b32 {out}, 1, 0, p; }}"
    )
    (word,) = statement.emit(emitter, text, "nounwind", effects=True)
    emitter.values[op.result] = emitter.assign(f"icmp ne i32 {word}, 0")


def inval(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.MbarrierInval)
    need(op, Feature.MBARRIER)
    address = barrier_address(emitter, op.barriers, op.index)
    assembly(emitter, "mbarrier.inval.shared::cta.b64 [$0];", "r", f"i32 {address}")


def set_registers(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, gpu.SetMaxRegisters)
    need(op, Feature.SETMAXNREG)
    verb = "inc" if op.direction.value.data > 0 else "dec"
    assembly(emitter, f"setmaxnreg.{verb}.sync.aligned.u32 {op.registers.value.data};", convergent=True)


HANDLERS: dict[type[Operation], Handler] = {
    gpu.MbarrierInit: init,
    gpu.MbarrierFence: fence,
    gpu.MbarrierArrive: arrive,
    gpu.MbarrierWait: wait,
    gpu.MbarrierTryWait: try_wait,
    gpu.MbarrierInval: inval,
    gpu.SetMaxRegisters: set_registers,
}
