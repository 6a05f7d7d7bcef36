"""Matrix instructions of a warp or a warpgroup: operands gathered from its lanes, results given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Block, Description, Thread
from tileopt.backends.cpu.reference import matrices
from tileopt.backends.cpu.reference.shared_operands import layout_of, matrix
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import INTEGERS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROW_BYTES = 16


def ordered(threads: list[Thread]) -> list[Thread]:
    return sorted(threads, key=lambda t: t.rank)


def words(threads: list[Thread]) -> Array:
    """The operands' words (threads, operands), unsigned."""
    import numpy as np

    first = threads[0]
    assert first.waits is not None
    ranks = [t.rank for t in threads]
    return first.block.requests[ranks, 1 : 1 + first.waits.operands].astype(np.uint64)


def answer(threads: list[Thread], results: Array) -> None:
    """Results' words (threads, results)."""
    import numpy as np

    first = threads[0]
    assert first.waits is not None
    at = 1 + first.waits.operands
    first.block.requests[[t.rank for t in threads], at : at + first.waits.results] = results.astype(np.int64)


def shared_matrix(block: Block, address: int, memory: dict[str, Any], type_: str, asked: Description) -> Array:
    """An operand in shared memory, as numbers."""
    layout = layout_of(memory["shape"], memory["layout"])
    size = layout.size * DTYPES[memory["element"]].bytes
    return matrix(block.part(address, size, asked), layout, type_)


def _rows(threads: list[Thread], addresses: Array, count: int, asked: Description) -> list[Array]:
    rows = []
    for address in addresses[: 8 * count].astype(int).tolist():
        if address % ROW_BYTES:
            raise asked.error("alignment", f"{asked.op}: a row begins at a multiple of 16 bytes, not at {address % 16}")
        rows.append(threads[0].block.part(address, ROW_BYTES, asked))
    return rows


def _ldmatrix(threads: list[Thread], asked: Description) -> None:
    import numpy as np

    lanes = ordered(threads)
    rows = _rows(lanes, words(lanes)[:, 0], asked.results, asked)
    answer(lanes, matrices.ldmatrix(np.stack(rows), bool(asked.get("transposed"))))


def _stmatrix(threads: list[Thread], asked: Description) -> None:
    lanes = ordered(threads)
    given = words(lanes)
    rows = _rows(lanes, given[:, 0], given.shape[1] - 1, asked)
    for row, data in zip(rows, matrices.stmatrix(given[:, 1:], bool(asked.get("transposed"))), strict=True):
        row[:] = data


def _mma(threads: list[Thread], asked: Description) -> None:
    lanes = ordered(threads)
    given, at = words(lanes), asked.segments()
    types = asked["a_type"], asked["b_type"], asked["acc_type"]
    parts = [given[:, at[i] : at[i + 1]] for i in range(3)]
    answer(lanes, matrices.mma_sync(asked["shape"], *types, *parts))


def _wgmma(threads: list[Thread], asked: Description) -> None:
    lanes = ordered(threads)
    given, at, memory = words(lanes), asked.segments(), list(asked["memory"])
    block, a_type, b_type = lanes[0].block, asked["a_type"], asked["b_type"]
    if at[1] > at[0]:
        a = shared_matrix(block, int(given[0, 0]), memory.pop(0), a_type, asked)
        a = a.T if asked.get("trans_a") else a
    else:
        a = matrices.wgmma_a(given[:, at[1] : at[2]], a_type)
    b = shared_matrix(block, int(given[0, at[2]]), memory.pop(0), b_type, asked)
    b = b.T if asked.get("trans_b") else b
    acc_type = "i32" if b_type in INTEGERS else "f32"
    answer(lanes, matrices.wgmma(a, b, given[:, at[3] : at[4]], acc_type))


def _through(threads: list[Thread], asked: Description) -> None:
    """What was started is done already: the words pass."""
    for thread in threads:
        thread.answer(thread.operands())


MODELS = {
    "gpu.ldmatrix_words": Model(_ldmatrix, "warp", whole=True),
    "gpu.stmatrix_words": Model(_stmatrix, "warp", whole=True),
    "gpu.mma_words": Model(_mma, "warp", whole=True),
    "gpu.wgmma_words": Model(_wgmma, "warpgroup", whole=True),
    "gpu.wgmma_wait_words": Model(_through, "warpgroup", whole=True),
}
