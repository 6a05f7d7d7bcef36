"""Matrix instructions of a warp or a warpgroup: operands gathered from its lanes, results given back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model import pending
from tileopt.backends.cpu.model.machine import Model
from tileopt.backends.cpu.model.state import Block, Description, Thread
from tileopt.backends.cpu.reference import matrices
from tileopt.backends.cpu.reference.shared_operands import layout_of, matrix
from tileopt.backends.nvidia.atoms.mma_scaled import MMA_SCALED
from tileopt.backends.nvidia.atoms.mma_sync import MMA_SYNC
from tileopt.backends.nvidia.atoms.wgmma import WGMMA
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import INTEGERS
from tileopt.dialects.layout import WARP_SIZE, Layout

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROW_BYTES = 16
REFERENCES = {atom.name: atom.reference for atom in (*MMA_SYNC, *MMA_SCALED, *WGMMA)}


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


def shared_part(block: Block, address: int, memory: dict[str, Any], asked: Description) -> Array:
    """The bytes of an operand in shared memory."""
    size = layout_of(memory["shape"], memory["layout"]).size * DTYPES[memory["element"]].bytes
    return block.part(address, size, asked)


def shared_matrix(block: Block, address: int, memory: dict[str, Any], type_: str, asked: Description) -> Array:
    """An operand in shared memory, as numbers."""
    return matrix(shared_part(block, address, memory, asked), layout_of(memory["shape"], memory["layout"]), type_)


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
    addresses = [int(given[0, at[2]])] if at[1] == at[0] else [int(given[0, 0]), int(given[0, at[2]])]
    pending.start(lanes, asked, [shared_part(block, *x, asked) for x in zip(addresses, memory, strict=True)])
    if at[1] > at[0]:
        a = shared_matrix(block, int(given[0, 0]), memory.pop(0), a_type, asked)
        a = a.T if asked.get("trans_a") else a
    else:
        a = matrices.wgmma_a(given[:, at[1] : at[2]], a_type)
    b = shared_matrix(block, int(given[0, at[2]]), memory.pop(0), b_type, asked)
    b = b.T if asked.get("trans_b") else b
    acc_type = "i32" if b_type in INTEGERS else "f32"
    answer(lanes, matrices.wgmma(a, b, given[:, at[3] : at[4]], acc_type))


def element_words(given: Array, element: str) -> Array:
    """The numbers in words that hold one element each."""
    import numpy as np

    dtype = DTYPES[element]
    kept: Array = given.astype(f"u{dtype.bytes}")
    return np.ascontiguousarray(kept).view(dtype.numpy)


def fragment(threads: list[Thread], bases: list[Any], shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """(rows, columns, which exist) of each thread's registers, by the layout's bases."""
    import numpy as np

    layout = Layout(shape, *(tuple(map(tuple, part)) for part in bases))
    ranks = np.array([t.rank for t in threads])
    lane, warp = ranks % WARP_SIZE, ranks // WARP_SIZE
    coords = np.array(layout.register_coords, np.int64)[None, :, :] + np.zeros((len(threads), 1, 1), np.int64)
    for ids, part in ((lane, layout.lanes), (warp, layout.warps)):
        for bit, basis in enumerate(part):
            coords = coords + (ids >> bit & 1)[:, None, None] * np.array(basis, np.int64)
    rows, columns = coords[:, :, 0], coords[:, :, 1]
    return rows, columns, (rows < shape[0]) & (columns < shape[1])


def _spread(values: Array, places: tuple[Array, Array, Array], shape: tuple[int, int]) -> Array:
    import numpy as np

    out = np.zeros(shape, values.dtype)
    rows, columns, there = places
    out[rows[there], columns[there]] = values[there]
    return out


def _taken(product: Array, places: tuple[Array, Array, Array], element: str) -> Array:
    import numpy as np

    rows, columns, there = places
    out = np.zeros(rows.shape, DTYPES[element].numpy)
    out[there] = product[rows[there], columns[there]]
    return out.view(f"u{DTYPES[element].bytes}").astype(np.uint64)


def _reference(asked: Description) -> Callable[[Array, Array, Array], Array]:
    """What the atom that an op names computes."""
    reference = REFERENCES.get(asked["atom"])
    if reference is None:
        raise asked.error("atom", f"{asked.op}: there is no atom {asked['atom']}")
    return reference


def _mma_fragments(threads: list[Thread], asked: Description) -> None:
    """The part of a tile's product that a warp makes: all of K is in its own operands."""
    lanes = ordered(threads)
    given, m, n, k = words(lanes), int(asked["m"]), int(asked["n"]), int(asked["k"])
    parts: list[Array] = []
    at, places = 0, fragment(lanes, asked["layout_acc"], (m, n))
    shapes = [("layout_a", (m, k)), ("layout_b", (k, n)), ("layout_acc", (m, n))]
    blocks = asked.get("blocks")
    if blocks is not None:
        shapes += [("layout_a_scale", (m, blocks)), ("layout_b_scale", (blocks, n))]
    for (name, shape), (element, count) in zip(shapes, asked["fragments"], strict=False):
        values = element_words(given[:, at : at + count], element)
        parts.append(_spread(values, fragment(lanes, asked[name], shape), shape))
        at += count
    acc_type = asked["fragments"][2][0]
    made = _reference(asked)(*parts)
    answer(lanes, _taken(made, places, acc_type))


def _wgmma_fragments(threads: list[Thread], asked: Description) -> None:
    """The rows of a tile's product that a warpgroup makes."""
    lanes = ordered(threads)
    given, block, memory = words(lanes), lanes[0].block, list(asked["memory"])
    fragments = list(asked["fragments"])
    b_memory = memory[-1]
    k, n = b_memory["shape"]
    element, count = fragments[-1]
    warps = 1 << len(asked["layout_acc"][2])
    if len(memory) == 2:
        m = int(memory[0]["shape"][0])
        a = shared_matrix(block, int(given[0, 0]), memory[0], memory[0]["element"], asked)
        at = 1
    else:
        m = count * WARP_SIZE * warps // n
        a_element, at = fragments[0]
        places = fragment(lanes, asked["layout_a"], (m, k))
        a = _spread(element_words(given[:, :at], a_element), places, (m, k))
    b = shared_matrix(block, int(given[0, at]), b_memory, b_memory["element"], asked)
    addresses = [int(given[0, 0]), int(given[0, at])] if len(memory) == 2 else [int(given[0, at])]
    pending.start(lanes, asked, [shared_part(block, *x, asked) for x in zip(addresses, memory, strict=True)])
    places = fragment(lanes, asked["layout_acc"], (m, n))
    acc = _spread(element_words(given[:, at + 1 : at + 1 + count], element), places, (m, n))
    answer(lanes, _taken(_reference(asked)(a, b, acc), places, element))


def _wait(threads: list[Thread], asked: Description) -> None:
    pending.wait(threads, asked)


def _wait_words(threads: list[Thread], asked: Description) -> None:
    """What was started was computed then: the words pass."""
    pending.wait(threads, asked)
    for thread in threads:
        thread.answer(thread.operands())


MODELS = {
    "gpu.mma_sync": Model(_mma_fragments, "warp", whole=True),
    "gpu.wgmma": Model(_wgmma_fragments, "warpgroup", whole=True),
    "gpu.ldmatrix_words": Model(_ldmatrix, "warp", whole=True),
    "gpu.stmatrix_words": Model(_stmatrix, "warp", whole=True),
    "gpu.mma_words": Model(_mma, "warp", whole=True),
    "gpu.wgmma_words": Model(_wgmma, "warpgroup", whole=True),
    "gpu.wgmma_wait": Model(_wait, "warpgroup", whole=True),
    "gpu.wgmma_wait_words": Model(_wait_words, "warpgroup", whole=True),
}
