"""The functions of the tile track, as users see them. In a kernel the compiler takes their place (see `intrinsics`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.dtypes import DTYPES
from tileopt.frontends.python.stubs import Stubs
from tileopt.frontends.tile_python.tile_type import Tile

Scalar = Tile | bool | int | float
Index = Scalar | Sequence[Scalar]
Shape = int | Sequence[int]
Axes = int | Sequence[int] | None

f64 = DTYPES["f64"]
f32 = DTYPES["f32"]

_STUBS = Stubs("tile")
_in_kernels, _everywhere = _STUBS.in_kernels, _STUBS.everywhere
FUNCTIONS = _STUBS.functions


# The grid


@_in_kernels
def bid(axis: int) -> Tile:
    """The block's id along a grid axis (0, 1 or 2), from 0: an i64 scalar."""
    raise NotImplementedError


@_in_kernels
def num_blocks(axis: int) -> Tile:
    """The grid's extent along an axis: an i64 scalar."""
    raise NotImplementedError


# Memory


@_in_kernels
def load(
    array: Any,
    index: Index | None = None,
    shape: Shape | None = None,
    padding: float | str = 0,
    *,
    cache: str | None = None,
) -> Tile:
    """The tile of this index in the array cut into tiles of `shape`: tile (i, j) begins at element (i * M, j * N).

    `index` has a scalar and `shape` a compile-time extent for each axis. Elements outside the array read as `padding`:
    a number, or "zero", "neg_zero", "nan", "inf", "-inf". `cache` is a hint, "streaming" for what is used once, "keep"
    for what other blocks or a later loop will use; None leaves it to the compiler.

    In a SIMT kernel, `load(shared)` is the tile that an array in shared memory holds.

    Errors: `type/rank` where the counts differ from the array's rank, `limits/tile-size`, `type/padding`.
    """
    raise NotImplementedError


@_in_kernels
def load_at(array: Any, offsets: Index, shape: Shape, padding: float | str = 0, *, cache: str | None = None) -> Tile:
    """The tile of `shape` that begins at these elements of the array; otherwise as `load`."""
    raise NotImplementedError


@_in_kernels
def store(array: Any, index: Any, value: Any = None, *, cache: str | None = None) -> None:
    """Writes a tile at this index of the array cut into tiles of its shape. What lies outside is not written.

    A scalar is a tile of one element. The element types must be equal: cast by `value.astype(array.dtype)`.
    `cache` is a hint as of `load`. In a SIMT kernel, `store(shared, value)` fills an array in shared memory.

    Errors: `ownership/read-only` for a `tile.In`, `type/rank`, `type/store`.
    """
    raise NotImplementedError


@_in_kernels
def store_at(array: Any, offsets: Index, value: Scalar, *, cache: str | None = None) -> None:
    """Writes a tile from these elements of the array on; otherwise as `store`."""
    raise NotImplementedError


@_in_kernels
def unchecked(array: Any) -> Any:
    """The array, with its ownership not verified in loads and stores by this: the author answers for it.

    `tile.store(tile.unchecked(out), j, x)` is compiled whatever `j` is. The report lists such stores, and the target
    `cpu-check` finds two blocks at one element when they run.
    """
    raise NotImplementedError


@_in_kernels
def atomic_add(array: Any, index: Index, value: Scalar) -> None:
    """Adds a tile to the tile of this index of a `tile.Atomic`, each element by one atomic operation, in any order.

    Elements outside the array are not touched. Sums of floats differ from run to run in their last bits.

    Errors: `ownership/not-atomic`, `type/atomic` for elements of 8 bits, `type/rank`, `type/store`.
    """
    raise NotImplementedError


@_in_kernels
def atomic_max(array: Any, index: Index, value: Scalar) -> None:
    """The larger of each element and the tile's; otherwise as `atomic_add`."""
    raise NotImplementedError


@_in_kernels
def atomic_min(array: Any, index: Index, value: Scalar) -> None:
    """The smaller of each element and the tile's; otherwise as `atomic_add`."""
    raise NotImplementedError


@_in_kernels
def atomic_and(array: Any, index: Index, value: Scalar) -> None:
    """The bits that each element and the tile's have; otherwise as `atomic_add`, on integers."""
    raise NotImplementedError


@_in_kernels
def atomic_or(array: Any, index: Index, value: Scalar) -> None:
    """The bits that each element or the tile's has; otherwise as `atomic_add`, on integers."""
    raise NotImplementedError


@_in_kernels
def atomic_xor(array: Any, index: Index, value: Scalar) -> None:
    """The bits that either each element or the tile's has; otherwise as `atomic_add`, on integers."""
    raise NotImplementedError


# Making tiles


@_in_kernels
def zeros(shape: Shape, dtype: Any = f32) -> Tile:
    """A tile of zeros."""
    raise NotImplementedError


@_in_kernels
def ones(shape: Shape, dtype: Any = f32) -> Tile:
    """A tile of ones."""
    raise NotImplementedError


@_in_kernels
def full(shape: Shape, value: Scalar, dtype: Any = None) -> Tile:
    """A tile with one value in every element; `dtype` is by default the value's."""
    raise NotImplementedError


@_in_kernels
def arange(count: int, dtype: Any = "i64") -> Tile:
    """The tile 0, 1, ... count - 1; `count` is a compile-time constant."""
    raise NotImplementedError


# Shapes and types


@_in_kernels
def astype(x: Scalar, dtype: Any) -> Tile:
    """Another element type. Floats truncate toward zero to integers; a bool is true where the value is not 0."""
    raise NotImplementedError


@_in_kernels
def reshape(x: Scalar, shape: Shape) -> Tile:
    """The same elements in row-major order under other extents, of which one may be -1."""
    raise NotImplementedError


@_in_kernels
def transpose(x: Tile, axes: Sequence[int] | None = None) -> Tile:
    """Axis i of the result is axis axes[i] of x; by default the order of the axes is reversed."""
    raise NotImplementedError


@_in_kernels
def broadcast_to(x: Scalar, shape: Shape) -> Tile:
    """The tile repeated along axes of extent 1 and new leading axes. Errors: `type/shape`."""
    raise NotImplementedError


@_in_kernels
def expand_dims(x: Scalar, axis: int) -> Tile:
    """The tile with a new axis of extent 1 at `axis`; also x[:, None]."""
    raise NotImplementedError


@_in_kernels
def item(x: Tile) -> Tile:
    """The only element of a tile whose extents are all 1, as a scalar."""
    raise NotImplementedError


@_in_kernels
def unpack(x: Tile, dtype: Any, axis: int = -1) -> Tile:
    """The values that a tile of bytes (u8 or i8) holds, two in each along `axis`, the low four bits first.

    `dtype`: `tile.i4`, `tile.u4` or `tile.f4e2m1fn`. The result has twice the extent; cast it to compute with it:
    `tile.unpack(w, tile.i4).astype(tile.bf16)` is exact. Errors: `type/packed`, `type/axis`.
    """
    raise NotImplementedError


@_in_kernels
def pack(x: Tile, dtype: Any = None, axis: int = -1) -> Tile:
    """A tile of u8 with two values in each byte, neighbours along `axis`, the first in the low four bits.

    `dtype` is by default that of x. Floats are rounded to the nearest f4e2m1fn, ties to even; what is beyond 6, and
    NaN, become 6 of their sign. Integers give i4 and u4 their four low bits. Errors: `type/packed`, `type/axis`.
    """
    raise NotImplementedError


@_in_kernels
def repeat(x: Tile, count: int, axis: int = -1) -> Tile:
    """Each element `count` times along `axis`, side by side, as NumPy's repeat: one scale for each group of elements.

    Errors: `type/extent`, `type/axis`.
    """
    raise NotImplementedError


# Choices and reductions


@_in_kernels
def where(condition: Scalar, a: Scalar, b: Scalar) -> Tile:
    """Elements of `a` where the condition holds, else of `b`. All three broadcast; both sides are computed."""
    raise NotImplementedError


@_in_kernels
def sum(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """The sum along one axis, several, or (None) all, which gives a scalar.

    Sums of f16, bf16 and f8 accumulate in f32 and are rounded once; those of bool, i8, u8, i16 and u16 are i32.
    """
    raise NotImplementedError


@_in_kernels
def prod(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """The product along axes, with the types of `sum`."""
    raise NotImplementedError


@_in_kernels
def max(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """The greatest element along axes; NaN where one is NaN."""
    raise NotImplementedError


@_in_kernels
def min(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """The least element along axes; NaN where one is NaN."""
    raise NotImplementedError


@_in_kernels
def any(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """Whether an element along axes is not 0."""
    raise NotImplementedError


@_in_kernels
def all(x: Tile, axis: Axes = None, keepdims: bool = False) -> Tile:
    """Whether no element along axes is 0."""
    raise NotImplementedError


@_in_kernels
def mma(a: Tile, b: Tile, acc: Tile | None = None, precision: str | None = None) -> Tile:
    """acc + a @ b for a of (M, K), b of (K, N), acc of (M, N), by default zeros.

    Operands are both f16, bf16, f32, f8e4m3fn or f8e5m2 (acc: f32), f64 (acc: f64), i8 or u8 (acc: i32). Products of
    f32 are exact to f32, unless `precision="tf32"` lets a GPU's units drop the 13 lowest bits of the operands.
    Errors: `type/mma-operand`, `type/mma-accumulator`, `type/mma-precision`, `type/shape`.
    """
    raise NotImplementedError


@_in_kernels
def mma_scaled(a: Tile, a_scale: Tile, b: Tile, b_scale: Tile, acc: Tile | None = None) -> Tile:
    """acc + (a * a_scale) @ (b * b_scale), each scale for a block of elements along K.

    a of (M, K), b of (K, N), acc of (M, N) and f32, by default zeros; a_scale of (M, K / block), b_scale of
    (K / block, N). mxfp8 and mxfp4: a and b of f8e4m3fn, f8e5m2 or f4e2m1fn, in any mix, scales of f8e8m0fnu for blocks
    of 32. nvfp4: a and b of f4e2m1fn, scales of f8e4m3fn, whose sign does not count, for blocks of 16. Operands of
    f4e2m1fn come from `unpack`.
    Errors: `type/mma-operand`, `type/mma-scale`, `type/mma-accumulator`, `type/shape`.
    """
    raise NotImplementedError


# Elementwise functions: f16, bf16 and f8 are computed in f32 and rounded once, integers become f32


@_in_kernels
def exp(x: Scalar) -> Tile:
    """e ** x"""
    raise NotImplementedError


@_in_kernels
def exp2(x: Scalar) -> Tile:
    """2 ** x"""
    raise NotImplementedError


@_in_kernels
def expm1(x: Scalar) -> Tile:
    """e ** x - 1, exact near 0"""
    raise NotImplementedError


@_in_kernels
def log(x: Scalar) -> Tile:
    """The natural logarithm."""
    raise NotImplementedError


@_in_kernels
def log2(x: Scalar) -> Tile:
    """The logarithm to base 2."""
    raise NotImplementedError


@_in_kernels
def log10(x: Scalar) -> Tile:
    """The logarithm to base 10."""
    raise NotImplementedError


@_in_kernels
def log1p(x: Scalar) -> Tile:
    """log(1 + x), exact near 0"""
    raise NotImplementedError


@_in_kernels
def sqrt(x: Scalar) -> Tile:
    """The square root; NaN of a negative number."""
    raise NotImplementedError


@_in_kernels
def rsqrt(x: Scalar) -> Tile:
    """1 / sqrt(x)"""
    raise NotImplementedError


@_in_kernels
def sin(x: Scalar) -> Tile:
    """The sine of an angle in radians."""
    raise NotImplementedError


@_in_kernels
def cos(x: Scalar) -> Tile:
    """The cosine of an angle in radians."""
    raise NotImplementedError


@_in_kernels
def tan(x: Scalar) -> Tile:
    """The tangent of an angle in radians."""
    raise NotImplementedError


@_in_kernels
def sinh(x: Scalar) -> Tile:
    """The hyperbolic sine."""
    raise NotImplementedError


@_in_kernels
def cosh(x: Scalar) -> Tile:
    """The hyperbolic cosine."""
    raise NotImplementedError


@_in_kernels
def tanh(x: Scalar) -> Tile:
    """The hyperbolic tangent."""
    raise NotImplementedError


@_in_kernels
def asin(x: Scalar) -> Tile:
    """The inverse of the sine."""
    raise NotImplementedError


@_in_kernels
def acos(x: Scalar) -> Tile:
    """The inverse of the cosine."""
    raise NotImplementedError


@_in_kernels
def atan(x: Scalar) -> Tile:
    """The inverse of the tangent."""
    raise NotImplementedError


@_in_kernels
def atan2(y: Scalar, x: Scalar) -> Tile:
    """The angle of the point (x, y)."""
    raise NotImplementedError


@_in_kernels
def erf(x: Scalar) -> Tile:
    """The error function."""
    raise NotImplementedError


@_in_kernels
def sigmoid(x: Scalar) -> Tile:
    """1 / (1 + exp(-x))"""
    raise NotImplementedError


@_in_kernels
def abs(x: Scalar) -> Tile:
    """|x|, in the type of x."""
    raise NotImplementedError


@_in_kernels
def floor(x: Scalar) -> Tile:
    """The greatest integer that is not above x, in the type of x."""
    raise NotImplementedError


@_in_kernels
def ceil(x: Scalar) -> Tile:
    """The least integer that is not below x, in the type of x."""
    raise NotImplementedError


@_in_kernels
def round(x: Scalar) -> Tile:
    """The nearest integer, ties to even, in the type of x."""
    raise NotImplementedError


@_in_kernels
def trunc(x: Scalar) -> Tile:
    """The integer part, in the type of x."""
    raise NotImplementedError


@_in_kernels
def maximum(a: Scalar, b: Scalar) -> Tile:
    """The greater of two; NaN where one is NaN."""
    raise NotImplementedError


@_in_kernels
def minimum(a: Scalar, b: Scalar) -> Tile:
    """The lesser of two; NaN where one is NaN."""
    raise NotImplementedError


@_in_kernels
def fma(a: Scalar, b: Scalar, c: Scalar) -> Tile:
    """a * b + c, rounded once."""
    raise NotImplementedError


@_in_kernels
def pow(a: Scalar, b: Scalar) -> Tile:
    """a ** b; of integers with a constant exponent only."""
    raise NotImplementedError


@_in_kernels
def isnan(x: Scalar) -> Tile:
    """Whether x is NaN."""
    raise NotImplementedError


# What each thread does with its part of a tile


@_in_kernels
def map_simt(
    fn: Callable[..., Any], *args: Any, axis: int | None = None, padding: float | str | Sequence[float | str] = 0
) -> Any:
    """What `fn`, a function of threads, makes of each element of tiles of one shape: a tile, or a tuple of tiles.

    `args` are tiles, whose elements `fn` gets, and scalars, numbers, input arrays and compile-time things, which it
    gets as they are. It may branch, loop, and read elements of input arrays. With `axis`, warps lie along that axis:
    index i is in lane i mod 32, and shuffles, votes and lane queries are allowed; lanes past the end run on `padding`
    (as in `load`; one, or one for each tile).

    Errors: `map/tiles`, `map/result`, `map/padding`, `map/lanes`, `map/thread`, `map/memory`, `map/captured-tile`.
    """
    raise NotImplementedError


# The host


@_in_kernels
def printf(format: str, *values: Scalar | str) -> None:
    """Prints scalars as C's printf does: `tile.printf("%d of %g", i, x)`. Each block prints once; on a GPU it is seen
    when the host synchronises. The length of a conversion is that of its value; `%s` takes a string of the source.

    Errors: `type/format` where format and values do not fit.
    """
    raise NotImplementedError


@_in_kernels
def assert_(condition: Scalar, message: str = "") -> None:
    """The same as the statement `assert condition, message`: where it does not hold the kernel stops, and the host
    raises KernelAssertionError. A condition that is known not to hold is refused (`kernel/assertion`)."""
    raise NotImplementedError


# Compile time


@overload
def cdiv(a: int, b: int) -> int: ...
@overload
def cdiv(a: Tile, b: Tile | int) -> Tile: ...
@overload
def cdiv(a: int, b: Tile) -> Tile: ...
def cdiv(a: Any, b: Any) -> Any:
    """a / b rounded up; cdiv(-36, 5) is -7. On the host as in kernels."""
    if isinstance(b, int) and b == 0:
        raise ZeroDivisionError("cdiv() by 0")
    return -(-a // b)


_everywhere(cdiv)


@_everywhere
def static_assert(condition: bool, message: str = "") -> None:
    """Stops the compilation where a compile-time condition does not hold. Errors: `kernel/static-assert`."""
    if not condition:
        raise CompileError("kernel/static-assert", message or "the assertion does not hold")


@_in_kernels
def static_range(*bounds: int) -> range:
    """As range(), but the loop becomes one copy of its body for each number. Bounds are compile-time constants."""
    raise NotImplementedError
