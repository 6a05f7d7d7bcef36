"""`mma.sync` with block scales: products of f8 and f4, each block of K times its scale. One row an instruction.

PTX ISA, "Block Scaling" and "Matrix fragments" of mma: operands lie as those of 8 bits do, m16n8k32 (f4e2m1fn: bytes of
two). A lane's word of scales has a byte for each block of K. With both thread-ids 0, the first two lanes of a group of
four give the scales of rows g and g + 8 of A, the first one that of column g of B, for the group's number g; here all
lanes of a group hold them (CUTLASS, SFALayout and SFBLayout of SM120).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileopt.backends.nvidia.atoms.mma_sync import PTX_NAMES, MmaInstruction, fragment
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.layout import Coord
from tileopt.dialects.target import Atom, Fragment, Scope

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

M, N, K = 16, 8, 32  # k counts bytes
ARCH = 120
PREFERENCE = 60
_NAMES = {**PTX_NAMES, "f4e2m1fn": "e2m1", "f8e8m0fnu": "ue8m0"}
_F8 = ("f8e4m3fn", "f8e5m2")

# Kind, a, b, scales, blocks of K in an instruction.
_ROWS: tuple[tuple[str, str, str, str, int], ...] = (
    *(("mxf8f6f4", a, b, "f8e8m0fnu", 1) for a in _F8 for b in _F8),
    ("mxf4", "f4e2m1fn", "f4e2m1fn", "f8e8m0fnu", 2),
    ("mxf4nvf4", "f4e2m1fn", "f4e2m1fn", "f8e4m3fn", 4),
)


@dataclass(frozen=True)
class ScaledInstruction:
    """`plain`: how operands and accumulator are written. `blocks`: bytes of a word of scales."""

    plain: MmaInstruction
    blocks: int


def scale_fragments(blocks: int) -> tuple[Fragment, Fragment]:
    """Scales of a, (16, blocks), and of b, (blocks, 8)."""
    steps = [1 << bit for bit in range(blocks.bit_length() - 1)]

    rows: tuple[Coord, ...] = ((8, 0), (0, 0), (1, 0), (2, 0), (4, 0))
    columns: tuple[Coord, ...] = ((0, 0), (0, 0), (0, 1), (0, 2), (0, 4))
    return (
        Fragment((M, blocks), tuple((0, step) for step in steps), rows),
        Fragment((blocks, N), tuple((step, 0) for step in steps), columns),
    )


def numbers(bytes_: Array, kind: str, axis: int) -> Array:
    """Operands in f64; of f4e2m1fn, those that bytes hold along an axis."""
    import ml_dtypes
    import numpy as np

    if kind != "f4e2m1fn":
        return bytes_.astype(np.float64)
    codes = np.stack([bytes_.view(np.uint8) & 15, bytes_.view(np.uint8) >> 4], axis + 1)
    shape = tuple(n * (2 if at == axis else 1) for at, n in enumerate(bytes_.shape))
    values: Array = codes.reshape(shape).astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    return values


def scaled_reference(a_kind: str, b_kind: str, scale: str) -> Callable[..., Array]:
    """`acc + (a * a_scale) @ (b * b_scale)`, summed without loss and rounded once; scales have no sign."""

    def reference(a: Array, b: Array, acc: Array, a_scale: Array, b_scale: Array) -> Array:
        import numpy as np

        left, right = numbers(a, a_kind, 1), numbers(b, b_kind, 0)
        rows, columns = (np.abs(s.view(DTYPES[scale].numpy).astype(np.float64)) for s in (a_scale, b_scale))
        count = left.shape[1] // rows.shape[1]
        total = acc.astype(np.float64) + (left * rows.repeat(count, 1)) @ (right * columns.repeat(count, 0))
        made: Array = total.astype(np.float32)
        return made

    return reference


def _row(kind: str, a: str, b: str, scale: str, blocks: int) -> tuple[Atom, ScaledInstruction]:
    values = K * (2 if a == "f4e2m1fn" else 1)
    a_scale, b_scale = scale_fragments(blocks)
    fragments = {
        "a": fragment((M, K), 1, 4), "b": fragment((K, N), 0, 4), "acc": fragment((M, N), 1, 2),
        "a_scale": a_scale, "b_scale": b_scale,
    }  # fmt: skip
    scales = "ue4m3" if scale == "f8e4m3fn" else _NAMES[scale]
    ptx = (
        f"mma.sync.aligned.kind::{kind}.block_scale.scale_vec::{blocks}X.m{M}n{N}k{values}.row.col."
        f"f32.{_NAMES[a]}.{_NAMES[b]}.f32.{scales}"
    )
    name = f"mma_{kind}_m{M}n{N}k{values}_{a}" + (f"_{b}" if a != b else "") + f"_{scale}"
    atom = Atom(
        name, (M, N, K), a, b, "f32", ARCH, Scope.WARP, fragments=fragments, preference=PREFERENCE, scale=scale,
        reference=scaled_reference(a, b, scale),
    )  # fmt: skip
    return atom, ScaledInstruction(MmaInstruction(ptx, 4, 2, 4, "i32", "float", 4, 1), blocks)


_TABLE = [_row(*row) for row in _ROWS]
MMA_SCALED: tuple[Atom, ...] = tuple(atom for atom, _ in _TABLE)
INSTRUCTIONS: dict[str, ScaledInstruction] = {atom.name: instruction for atom, instruction in _TABLE}
