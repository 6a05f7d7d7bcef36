"""`ldmatrix`, `stmatrix`, `mma.sync` and `wgmma`: who holds what, and what comes out (PTX ISA, "Matrix fragments")."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.reference.elements import pack, unpack
from tileopt.backends.nvidia.atoms.mma_sync import fragment, matmul_reference
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import depth
from tileopt.dialects.gpu_mma_shapes import LANES, OPERAND_BITS, mma_shape

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ROW_BYTES, ROWS = 16, 8
GROUP = 4  # lanes that hold a row


@lru_cache(maxsize=64)
def _places(rows: int, columns: int, axis: int, packed: int) -> tuple[Array, Array]:
    """Row and column of each element of a fragment, as arrays of (lanes, elements)."""
    import numpy as np

    held = fragment((rows, columns), axis, packed)
    lane, register = np.arange(LANES)[:, None], np.arange(1 << len(held.regs))[None, :]
    found = []
    for a in range(2):
        place = np.zeros((LANES, register.size), np.int64)
        for bit, basis in enumerate(held.lanes):
            place += (lane >> bit & 1) * basis[a]
        for bit, basis in enumerate(held.regs):
            place += (register >> bit & 1) * basis[a]
        found.append(place)
    return found[0], found[1]


def _gather(words: Array, type_: str, rows: int, columns: int, axis: int, packed: int) -> Array:
    """The matrix whose elements lie in the lanes' words."""
    import numpy as np

    elements = unpack(words, type_)
    out = np.zeros((rows, columns), elements.dtype)
    out[_places(rows, columns, axis, packed)] = elements
    return out


def _packed(type_: str) -> int:
    return max(1, 32 // OPERAND_BITS[type_])


def ldmatrix(rows: Array, transposed: bool = False) -> Array:
    """`rows`: bytes (8q + r, 16) of row r of matrix q. Gives words (32, matrices)."""
    import numpy as np

    matrices = np.ascontiguousarray(rows).reshape(-1, ROWS, ROW_BYTES)
    if transposed:
        matrices = np.ascontiguousarray(matrices.view(np.uint16).transpose(0, 2, 1)).view(np.uint8)
    words: Array = matrices.view(np.uint32).reshape(len(matrices), LANES).T.astype(np.uint64)
    return words


def stmatrix(words: Array, transposed: bool = False) -> Array:
    """The rows (8q + r, 16) of bytes that `ldmatrix` reads as these words."""
    import numpy as np

    matrices = np.ascontiguousarray(words.T.astype(np.uint32)).view(np.uint8).reshape(-1, ROWS, ROW_BYTES)
    if transposed:
        matrices = np.ascontiguousarray(matrices.view(np.uint16).transpose(0, 2, 1)).view(np.uint8)
    return matrices.reshape(-1, ROW_BYTES)


def mma_sync(shape: str, a_type: str, b_type: str, acc_type: str, a: Array, b: Array, acc: Array) -> Array:
    """Words (32, n) of a, b and the accumulator to those of the result. Sums are rounded once; integers wrap."""
    row = mma_shape(shape, a_type, b_type, acc_type)
    left = _gather(a, a_type, row.m, row.k, 1, _packed(a_type))
    right = _gather(b, b_type, row.k, row.n, 0, _packed(b_type))
    before = _gather(acc, acc_type, row.m, row.n, 1, 2)
    after = matmul_reference(acc_type)(left, right, before)
    return pack(after[_places(row.m, row.n, 1, 2)], acc_type)


def product(a: Array, b: Array, acc: Array, acc_type: str) -> Array:
    """acc + a @ b.T for operands (M, K) and (N, K)."""
    return matmul_reference(acc_type)(a, b.T, acc)


# A warpgroup's accumulator: each warp has 16 rows, spread as m16n8 beside m16n8.


@lru_cache(maxsize=64)
def _group_places(columns: int) -> tuple[Array, Array]:
    import numpy as np

    rows, cols = _places(16, 8, 1, 2)
    warp = 16 * (np.arange(4 * LANES) // LANES)[:, None]
    count = columns // 8
    return warp + np.tile(rows, (4, count)), np.tile(cols, (4, count)) + 8 * np.repeat(np.arange(count), 4)[None, :]


def wgmma_a(words: Array, type_: str) -> Array:
    """Operand a (64, K) from the words (128, n) of a warpgroup's threads."""
    import numpy as np

    k = depth(type_)
    warps = []
    for warp in range(4):
        mine = words[warp * LANES : (warp + 1) * LANES]
        steps = [_gather(mine[:, at : at + 4], type_, 16, k, 1, _packed(type_)) for at in range(0, words.shape[1], 4)]
        warps.append(np.concatenate(steps, 1))
    return np.concatenate(warps)


def wgmma(a: Array, b: Array, acc: Array, acc_type: str) -> Array:
    """a (64, K), b (N, K), words (128, N / 2) of the accumulator to those of the result."""
    import numpy as np

    before = np.zeros((64, len(b)), DTYPES[acc_type].numpy)
    places = _group_places(len(b))
    before[places] = unpack(acc, acc_type)
    return pack(product(a, b, before, acc_type)[places], acc_type)
