"""The rows of `effects` for the hardware's own ops.

Bulk copies are told apart by the barrier that counts their bytes. Wherever hardware works on after the op that starts
it (`cp.async`, `wgmma`, `tcgen05`), it is taken to be done at once: a use before the wait for it is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from tileopt.backends.cpu.check.effects import (
    STORES,
    TO_ARRAYS,
    At,
    Effects,
    Kind,
    Meeting,
    Order,
    Run,
    Touch,
    Whole,
)
from tileopt.dialects import (
    gpu,
    gpu_accumulator,
    gpu_mbarrier,
    gpu_tensor,
    gpu_tma,
    gpu_warpgroup,
    gpu_wgmma,
    gpu_words,
)
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.gpu_scopes import WARPGROUP
from tileopt.dialects.tile_types import BufferType


def _row(buffer: Any) -> int:
    """Elements of a row of an 8x8 matrix."""
    return gpu_words.ROW_BYTES * 8 // bit_width(buffer.type.element_type)


def _shape(buffer: Any) -> tuple[int, ...]:
    assert isinstance(buffer.type, BufferType)
    return buffer.type.get_shape()


def _ldmatrix(op: gpu_words.LdMatrixWords) -> Effects:
    run = Run(op.indices, _row(op.source), 8 * len(op.words))
    return Effects((Touch(op.source, Kind.READ, run),), Meeting.LANES)


def _stmatrix(op: gpu_words.StMatrixWords) -> Effects:
    run = Run(op.indices, _row(op.target), 8 * len(op.words))
    return Effects((Touch(op.target, Kind.WRITE, run),), Meeting.LANES)


def _cp_async(op: gpu_words.CpAsyncElements) -> Effects:
    return Effects((Touch(op.target, Kind.WRITE, Run(op.target_indices, op.count.value.data)),))


def _init(op: gpu_mbarrier.MbarrierInit | gpu_mbarrier.MbarrierInval) -> Effects:
    return Effects((Touch(op.barriers, Kind.WRITE, At([op.index])),))


def _arrive(op: gpu_mbarrier.MbarrierArrive) -> Effects:
    return Effects((Touch(op.barriers, Kind.UPDATE, At([op.index]), Order.RELEASE, op.where),))


def _wait(op: gpu_mbarrier.MbarrierWait) -> Effects:
    return Effects((Touch(op.barriers, Kind.UPDATE, At([op.index]), Order.ACQUIRE),))


def _try_wait(op: gpu_mbarrier.MbarrierTryWait) -> Effects:
    return Effects((Touch(op.barriers, Kind.UPDATE, At([op.index]), Order.ACQUIRE, op.result),))


def _tma_load(op: gpu_tma.TmaLoad) -> Effects:
    written = Touch(op.buffer, Kind.WRITE, Whole(_shape(op.buffer)))
    counted = Touch(op.barriers, Kind.UPDATE, At([op.index]), Order.RELEASE)
    return Effects((written, counted), copy=op.index)


def _tma_store(op: gpu_tma.TmaStore) -> Effects:
    shape = _shape(op.buffer)
    read, written = Touch(op.buffer, Kind.READ, Whole(shape)), Touch(op.view, Kind.WRITE, Whole(shape, op.offsets))
    return Effects((read, written), after=((Order.RELEASE, STORES),), copy=TO_ARRAYS)


def _wgmma(op: gpu_warpgroup.WgmmaWords | gpu_wgmma.Wgmma) -> Effects:
    operands = [v for v in (op.a, op.b) if v is not None and isinstance(v.type, BufferType)]
    return Effects(tuple(Touch(v, Kind.READ, Whole(_shape(v), every=WARPGROUP)) for v in operands))


def _alloc(op: gpu_tensor.Tcgen05Alloc) -> Effects:
    return Effects((Touch(op.target, Kind.WRITE, Run(op.indices, 1, lanes=1)),), Meeting.LANES)


def _tcgen05(op: gpu_tensor.Tcgen05Mma | gpu_accumulator.Accumulate) -> Effects:
    return Effects(tuple(Touch(v, Kind.READ, Whole(_shape(v))) for v in (op.a, op.b)))


def _commit(op: gpu_tensor.Tcgen05Commit) -> Effects:
    return Effects((Touch(op.barriers, Kind.UPDATE, At([op.index]), Order.RELEASE),))


EFFECTS: dict[type[Operation], Callable[[Any], Effects]] = {
    gpu_words.LdMatrixWords: _ldmatrix,
    gpu_words.StMatrixWords: _stmatrix,
    gpu_words.CpAsyncElements: _cp_async,
    gpu_words.MmaWords: lambda op: Effects(meeting=Meeting.LANES),
    gpu_mbarrier.MbarrierInit: _init,
    gpu_mbarrier.MbarrierArrive: _arrive,
    gpu_mbarrier.MbarrierWait: _wait,
    gpu_mbarrier.MbarrierTryWait: _try_wait,
    gpu_mbarrier.MbarrierInval: _init,
    gpu_tma.TmaLoad: _tma_load,
    gpu_tma.TmaStore: _tma_store,
    gpu_tma.TmaWait: lambda op: Effects(after=((Order.ACQUIRE, STORES),)),
    gpu_warpgroup.WgmmaWords: _wgmma,
    gpu_wgmma.Wgmma: _wgmma,
    gpu.MmaSync: lambda op: Effects(meeting=Meeting.LANES),
    gpu_tensor.Tcgen05Alloc: _alloc,
    gpu_tensor.Tcgen05Mma: _tcgen05,
    gpu_accumulator.Accumulate: _tcgen05,
    gpu_tensor.Tcgen05Commit: _commit,
}
