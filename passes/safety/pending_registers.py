"""Registers that an instruction still writes: what `wgmma` or `tcgen05.ld` gives is read behind its wait only.

The values are followed through loops and branches. Until the wait an accumulator may be that of a further product,
which the hardware does in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue, Use

from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.gpu_tensor import Tcgen05Load, Tcgen05Wait
from tileopt.dialects.gpu_warpgroup import WgmmaWaitWords, WgmmaWords
from tileopt.dialects.kernel import KernelOp

_WAITS: dict[type[Operation], str] = {WgmmaWords: "simt.wgmma_wait()", Tcgen05Load: "simt.tcgen05_wait()"}


def check_pending(kernel: KernelOp) -> None:
    """Raises CompileError (`gpu/pending`) for a register that is read while it may still be written."""
    for op in kernel.walk():
        if type(op) in _WAITS:
            _follow(op)


def _follow(source: Operation) -> None:
    seen: set[SSAValue] = set()
    pending: list[SSAValue] = list(source.results)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            if not _waits(source, use, value):
                carried = list(_carried(use))
                if not carried:
                    raise _refused(source, use.operation)
                pending += carried


def _waits(source: Operation, use: Use, value: SSAValue) -> bool:
    """Whether a use is the wait, or another product onto the same registers."""
    user = use.operation
    if isinstance(source, Tcgen05Load):
        return isinstance(user, Tcgen05Wait)
    if isinstance(user, WgmmaWords):
        return use.index >= len(user.operands) - len(user.acc)
    return isinstance(user, WgmmaWaitWords)


def _carried(use: Use) -> Iterator[SSAValue]:
    """The values that control flow makes of an operand."""
    user, index = use.operation, use.index
    match user:
        case scf.ForOp() if index >= 3:
            yield user.body.block.args[index - 2]
            yield user.results[index - 3]
        case scf.WhileOp():
            yield user.before_region.block.args[index]
        case scf.ConditionOp() if index:
            loop = user.parent_op()
            assert isinstance(loop, scf.WhileOp)
            yield loop.after_region.block.args[index - 1]
            yield loop.results[index - 1]
        case scf.YieldOp():
            parent = user.parent_op()
            if isinstance(parent, scf.ForOp):
                yield parent.body.block.args[index + 1]
                yield parent.results[index]
            elif isinstance(parent, scf.WhileOp):
                yield parent.before_region.block.args[index]
            elif parent is not None:
                yield parent.results[index]
        case _:
            pass


def _refused(source: Operation, reader: Operation) -> CompileError:
    return CompileError(
        "gpu/pending",
        f"this reads a register that {source.name} may still write",
        location=location_of(reader),
        help=f"pass it through {_WAITS[type(source)]} first",
        notes=[("it is given here", location_of(source))],
    )
