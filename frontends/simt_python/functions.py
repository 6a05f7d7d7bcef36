"""The functions of the SIMT track, as users see them. In a kernel the compiler takes their place (see `intrinsics`).

Elementwise functions are those of the tile track, here on scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tileopt.frontends.constant_array import constant
from tileopt.frontends.python.stubs import Stubs
from tileopt.frontends.tile_python import functions as tile_functions

_STUBS = Stubs("simt")
_in_kernels = _STUBS.in_kernels
FUNCTIONS = _STUBS.functions

Scalar = Any
Index = Any  # an integer, or a tuple with one for each axis
Shape = int | Sequence[int]

SHARED_NAMES = (
    "abs", "acos", "asin", "assert_", "astype", "atan", "atan2", "cdiv", "ceil", "cos", "cosh", "erf", "exp", "exp2",
    "expm1", "floor", "fma", "isnan", "log", "log10", "log1p", "log2", "maximum", "minimum", "pow", "printf", "round",
    "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "static_assert", "static_range", "tan", "tanh", "trunc", "where",
)  # fmt: skip
FUNCTIONS.update((name, tile_functions.FUNCTIONS[name]) for name in SHARED_NAMES)


# Which thread runs. All numbers are i64.


@_in_kernels
def thread_index() -> Scalar:
    """The thread's number in the whole launch: a witness, for no other thread has it."""
    raise NotImplementedError


@_in_kernels
def thread_index_2d() -> tuple[Scalar, Scalar]:
    """(row, column) of the thread: its place in the whole launch along axes 1 and 0, so that neighbours in a warp are
    neighbours in a row."""
    raise NotImplementedError


@_in_kernels
def thread_index_3d() -> tuple[Scalar, Scalar, Scalar]:
    """The thread's place in the whole launch along axes 2, 1 and 0."""
    raise NotImplementedError


@_in_kernels
def warp_index() -> Scalar:
    """The warp's number in the whole launch."""
    raise NotImplementedError


@_in_kernels
def unrolled_range(*bounds: int) -> range:
    """As range(), for a loop of which a GPU's code holds a copy of the body for each number, as after CUDA's `#pragma
    unroll`. Bounds are compile-time constants; the number is not, and the compiler reads the body once: where
    `static_range` would make many copies of much, this compiles sooner. A loop that may be left early stays one."""
    raise NotImplementedError


@_in_kernels
def lane_index() -> Scalar:
    """The thread's number in its warp, 0 to 31."""
    raise NotImplementedError


@_in_kernels
def thread_rank() -> Scalar:
    """The thread's number in its block; axis 0 counts fastest."""
    raise NotImplementedError


@_in_kernels
def warp_rank() -> Scalar:
    """The warp's number in its block."""
    raise NotImplementedError


@_in_kernels
def block_rank() -> Scalar:
    """The block's number in the grid; axis 0 counts fastest."""
    raise NotImplementedError


@_in_kernels
def grid_stride(stop: Scalar) -> range:
    """The numbers below `stop` that are this thread's: from thread_index(), as many apart as the launch has threads."""
    raise NotImplementedError


@_in_kernels
def thread_idx(axis: int = 0) -> Scalar:
    """The thread's place in its block along an axis."""
    raise NotImplementedError


@_in_kernels
def block_idx(axis: int = 0) -> Scalar:
    """The block's place in the grid along an axis."""
    raise NotImplementedError


@_in_kernels
def block_dim(axis: int = 0) -> int:
    """The block's extent along an axis: a compile-time constant."""
    raise NotImplementedError


@_in_kernels
def grid_dim(axis: int = 0) -> Scalar:
    """The grid's extent along an axis."""
    raise NotImplementedError


# Shared memory and meeting


@_in_kernels
def shared(shape: Shape, dtype: Any = "f32", swizzle: int = 0) -> Any:
    """An array in the block's shared memory; its extents are constants. Nothing is in it at first.

    `swizzle`: 32, 64 or 128, bytes of a row in which chunks of 16 bytes are permuted as TMA, `wgmma` and `tcgen05`
    know it: accesses down a column then meet few banks twice. Longer rows are cut into panels of so many bytes.
    """
    raise NotImplementedError


@_in_kernels
def dynamic_shared(shape: Shape, dtype: Any = "f32", offset: int = 0) -> Any:
    """The block's dynamic shared memory (`shared_bytes=` of the contract) from byte `offset` on, as an array."""
    raise NotImplementedError


@_in_kernels
def barrier() -> None:
    """All threads of the block meet, and see what the others wrote before."""
    raise NotImplementedError


@_in_kernels
def syncthreads() -> None:
    """The same as barrier()."""
    raise NotImplementedError


@_in_kernels
def syncwarp() -> None:
    """The lanes of the warp meet, and see what the others wrote before."""
    raise NotImplementedError


@_in_kernels
def fence(scope: str = "device") -> None:
    """What the thread wrote before is seen by the threads of `scope` before what it writes after."""
    raise NotImplementedError


# Warps: all lanes of the warp take part. `width` cuts it into parts that work each for itself.


@_in_kernels
def shuffle(value: Scalar, lane: Scalar, width: int = 32) -> Scalar:
    """The value in lane `lane`."""
    raise NotImplementedError


@_in_kernels
def shuffle_up(value: Scalar, delta: Scalar, width: int = 32) -> Scalar:
    """The value in the lane `delta` below; the lane's own where there is none."""
    raise NotImplementedError


@_in_kernels
def shuffle_down(value: Scalar, delta: Scalar, width: int = 32) -> Scalar:
    """The value in the lane `delta` above; the lane's own where there is none."""
    raise NotImplementedError


@_in_kernels
def shuffle_xor(value: Scalar, mask: Scalar, width: int = 32) -> Scalar:
    """The value in the lane whose number differs in the bits of `mask`."""
    raise NotImplementedError


@_in_kernels
def any_sync(condition: Scalar) -> Scalar:
    """Whether the condition holds in some lane."""
    raise NotImplementedError


@_in_kernels
def all_sync(condition: Scalar) -> Scalar:
    """Whether the condition holds in every lane."""
    raise NotImplementedError


@_in_kernels
def ballot(condition: Scalar) -> Scalar:
    """The lanes in which the condition holds, as the bits of a u32."""
    raise NotImplementedError


@_in_kernels
def match_any(value: Scalar) -> Scalar:
    """The lanes that have this lane's value, as the bits of a u32."""
    raise NotImplementedError


@_in_kernels
def match_all(value: Scalar) -> Scalar:
    """All lanes, as bits, if they have one value, else 0."""
    raise NotImplementedError


@_in_kernels
def warp_reduce(value: Scalar, kind: str = "sum", width: int = 32) -> Scalar:
    """The lanes' values combined, in every lane: sum, prod, max, min, and, or, xor."""
    raise NotImplementedError


@_in_kernels
def elect() -> Scalar:
    """True in one lane of the warp."""
    raise NotImplementedError


@_in_kernels
def active_mask() -> Scalar:
    """The lanes that run here together, as the bits of a u32."""
    raise NotImplementedError


@_in_kernels
def lane_mask(kind: str = "eq") -> Scalar:
    """The lanes whose number is equal (eq) to this lane's, less (lt), and so on (le, gt, ge), as the bits of a u32."""
    raise NotImplementedError


# Bits


@_in_kernels
def popc(value: Scalar) -> Scalar:
    """How many bits are 1, as i32."""
    raise NotImplementedError


@_in_kernels
def clz(value: Scalar) -> Scalar:
    """How many bits before the highest 1, as i32; the width of 0."""
    raise NotImplementedError


@_in_kernels
def ffs(value: Scalar) -> Scalar:
    """The place of the lowest 1, counted from 1, as i32; 0 of 0."""
    raise NotImplementedError


@_in_kernels
def brev(value: Scalar) -> Scalar:
    """The bits in reverse order."""
    raise NotImplementedError


@_in_kernels
def bitcast(value: Scalar, dtype: Any) -> Scalar:
    """The same bits as another type of the same width."""
    raise NotImplementedError


# Atomics, on `simt.Atomic` arrays and on shared memory. Each gives what the element was.
# `order`: relaxed, acquire, release, acq_rel. `scope`: block, cluster, device, system.


@_in_kernels
def atomic_add(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Adds to an element."""
    raise NotImplementedError


@_in_kernels
def atomic_sub(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Subtracts from an element."""
    raise NotImplementedError


@_in_kernels
def atomic_max(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Keeps the greater of the element and the value."""
    raise NotImplementedError


@_in_kernels
def atomic_min(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Keeps the lesser of the element and the value."""
    raise NotImplementedError


@_in_kernels
def atomic_and(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Keeps the bits that both have."""
    raise NotImplementedError


@_in_kernels
def atomic_or(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Sets the value's bits."""
    raise NotImplementedError


@_in_kernels
def atomic_xor(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Flips the value's bits."""
    raise NotImplementedError


@_in_kernels
def atomic_exch(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Stores the value."""
    raise NotImplementedError


@_in_kernels
def atomic_inc(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Counts up to the value, and then from 0; unsigned integers only."""
    raise NotImplementedError


@_in_kernels
def atomic_dec(array: Any, index: Index, value: Scalar, order: str = "relaxed", scope: str = "device") -> Scalar:
    """Counts down from the value, again and again; unsigned integers only."""
    raise NotImplementedError


@_in_kernels
def atomic_cas(
    array: Any, index: Index, expected: Scalar, desired: Scalar, order: str = "relaxed", scope: str = "device"
) -> Scalar:
    """Stores `desired` if the element is `expected`, bit for bit."""
    raise NotImplementedError


_STUBS.everywhere(constant)


# The clock. Printing and assertions are those of the tile track, here in each thread.


@_in_kernels
def clock() -> Scalar:
    """The multiprocessor's count of cycles, as i64: what lies between two calls took their difference."""
    raise NotImplementedError
