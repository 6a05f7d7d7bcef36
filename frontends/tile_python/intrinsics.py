"""What the functions of the tile track do in a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tileopt.dialects.dtypes import PACKED, DType
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.builder_memory import Buffer
from tileopt.frontends.python.intrinsics import SHARED, Intrinsic
from tileopt.frontends.python.objects import name_of

if TYPE_CHECKING:
    from tileopt.frontends.tile_python.interpreter import TileInterpreter


_LOAD, _STORE = "tile.load(array, index, shape, padding=0)", "tile.store(array, index, value)"


def _bid(it: TileInterpreter, axis: Any) -> object:
    return it.tiles.bid(it.known_int(axis, "the grid axis"))


def _num_blocks(it: TileInterpreter, axis: Any) -> object:
    return it.tiles.num_blocks(it.known_int(axis, "the grid axis"))


def _access(it: TileInterpreter, name: str, array: Any, index: Any, shape: Any) -> tuple[Array, list[Any], list[int]]:
    """Array, index and shape of a load, with the likely mistakes named."""
    made = it.array(array, name)
    loose = isinstance(index, Value | int) and not (
        isinstance(shape, tuple) or (made.rank == 1 and it.is_known_int(shape))
    )
    if loose and made.rank > 1 and isinstance(shape, Value) and shape.const is None:
        raise it.mistyped(
            "type/index",
            f"{name}() takes the index as one tuple, and two separate indices are given",
            f"write tile.{name}({made.name}, (i, j), (M, N)): the index and then the shape, a tuple each",
        )
    return made, it.index(index, made), it.shape(shape, f"the shape of {name}()")


def _load(it: TileInterpreter, array: Any, index: Any, shape: Any, padding: Any, cache: Any) -> object:
    if isinstance(array, Buffer):
        if index is not None or shape is not None:
            raise it.mistyped("type/arguments", f"load() of {array} takes the whole array", "write tile.load(array)")
        return it.tiles.load_buffer(array)
    if index is None or shape is None:
        raise it.mistyped("type/arguments", "load() takes an array, an index and a shape", _LOAD)
    return it.tiles.load(
        *_access(it, "load", array, index, shape), padding=_padding(it, padding), cache=_cache(it, cache)
    )


def _load_at(it: TileInterpreter, array: Any, offsets: Any, shape: Any, padding: Any, cache: Any) -> object:
    made = _access(it, "load_at", array, offsets, shape)
    return it.tiles.load_at(*made, padding=_padding(it, padding), cache=_cache(it, cache))


def _padding(it: TileInterpreter, padding: Any) -> Any:
    if isinstance(padding, Value) and padding.const is not None:
        return padding.const
    if isinstance(padding, str | bool | int | float):
        return padding
    raise it.mistyped("type/padding", f"the padding must be a compile-time number or a name, not {name_of(padding)}")


def _cache(it: TileInterpreter, cache: Any) -> str | None:
    if cache is None or isinstance(cache, str):
        return cache
    raise it.mistyped("type/arguments", f"cache is 'streaming', 'keep' or None, not {name_of(cache)}")


def _store(it: TileInterpreter, array: Any, index: Any, value: Any, cache: Any) -> object:
    if isinstance(array, Buffer):
        if value is not None:
            raise it.mistyped("type/arguments", f"store() to {array} fills the array", "write tile.store(array, value)")
        it.tiles.store_buffer(array, it.number(index, "store()"))
        return None
    if value is None:
        raise it.mistyped("type/arguments", "store() takes an array, an index and a value", _STORE)
    made = it.array(array, "store")
    it.tiles.store(made, it.index(index, made), it.number(value, "store()"), _cache(it, cache))
    return None


def _store_at(it: TileInterpreter, array: Any, offsets: Any, value: Any, cache: Any) -> object:
    made = it.array(array, "store_at")
    it.tiles.store_at(made, it.index(offsets, made), it.number(value, "store_at()"), _cache(it, cache))
    return None


def _atomic(kind: str) -> Intrinsic:
    def intrinsic(it: TileInterpreter, array: Any, index: Any, value: Any) -> object:
        made = it.array(array, f"atomic_{kind}")
        it.tiles.atomic(kind, made, it.index(index, made), it.number(value, f"atomic_{kind}()"))
        return None

    return intrinsic


def _unchecked(it: TileInterpreter, array: Any) -> object:
    return replace(it.array(array, "unchecked"), unchecked=True)


def _filled(value: int) -> Intrinsic:
    def intrinsic(it: TileInterpreter, shape: Any, dtype: Any) -> object:
        return it.tiles.full(it.shape(shape, "the shape"), value, it.as_dtype(dtype, "dtype"))

    return intrinsic


def _full(it: TileInterpreter, shape: Any, value: Any, dtype: Any) -> object:
    chosen = None if dtype is None else it.as_dtype(dtype, "dtype")
    return it.tiles.full(it.shape(shape, "the shape"), it.number(value, "full()"), chosen)


def _arange(it: TileInterpreter, count: Any, dtype: Any) -> object:
    return it.tiles.arange(it.known_int(count, "the count of arange()"), it.as_dtype(dtype, "dtype"))


def _reshape(it: TileInterpreter, x: Any, shape: Any) -> object:
    return it.builder.reshape(it.value(x, "reshape()"), it.shape(shape, "the shape"))


def _transpose(it: TileInterpreter, x: Any, axes: Any) -> object:
    return it.builder.transpose(it.tile(x, "transpose()"), None if axes is None else it.shape(axes, "the axes"))


def _broadcast_to(it: TileInterpreter, x: Any, shape: Any) -> object:
    return it.builder.broadcast_to(it.value(x, "broadcast_to()"), it.shape(shape, "the shape"))


def _expand_dims(it: TileInterpreter, x: Any, axis: Any) -> object:
    return it.builder.expand_dims(it.value(x, "expand_dims()"), it.known_int(axis, "the axis"))


def _item(it: TileInterpreter, x: Any) -> object:
    value = it.value(x, "item()")
    if any(n != 1 for n in value.shape):
        raise it.mistyped("type/shape", f"item() of a {value}", "reduce it first, for example by .sum()")
    return it.builder.reshape(value, ())


def reduction(kind: str) -> Intrinsic:
    """A reduction by its kind in the IR."""

    def intrinsic(it: TileInterpreter, x: Any, axis: Any, keepdims: Any) -> object:
        axes = None if axis is None else it.shape(axis, "the axis")
        if not isinstance(keepdims, bool):
            raise it.mistyped("type/constant", f"keepdims is True or False, not {name_of(keepdims)}")
        return it.builder.reduce(kind, it.tile(x, "a reduction"), axes, keepdims)

    return intrinsic


def _mma(it: TileInterpreter, a: Any, b: Any, acc: Any, precision: Any) -> object:
    operands = [it.tile(t, "mma()") for t in (a, b)]
    if precision is not None and not isinstance(precision, str):
        raise it.mistyped("type/mma-precision", f"a precision is a name or None, not {name_of(precision)}")
    into = None if acc is None else it.tile(acc, "the accumulator of mma()")
    return it.builder.mma(operands[0], operands[1], into, precision)


def _mma_scaled(it: TileInterpreter, a: Any, a_scale: Any, b: Any, b_scale: Any, acc: Any) -> object:
    operands = [it.tile(t, "mma_scaled()") for t in (a, a_scale, b, b_scale)]
    into = None if acc is None else it.tile(acc, "the accumulator of mma_scaled()")
    return it.builder.mma_scaled(operands[0], operands[1], operands[2], operands[3], into)


def _packed_type(it: TileInterpreter, dtype: Any, what: str) -> DType:
    """A type of which a byte holds two, itself or by name; what is none, the builder refuses."""
    if isinstance(dtype, DType | str) and str(dtype) in PACKED:
        return PACKED[str(dtype)]
    return it.as_dtype(dtype, what)


def _unpack(it: TileInterpreter, x: Any, dtype: Any, axis: Any) -> object:
    chosen = _packed_type(it, dtype, "the type of unpack()")
    return it.builder.unpack(it.tile(x, "unpack()"), chosen, it.known_int(axis, "the axis"))


def _pack(it: TileInterpreter, x: Any, dtype: Any, axis: Any) -> object:
    chosen = None if dtype is None else _packed_type(it, dtype, "the type of pack()")
    return it.builder.pack(it.tile(x, "pack()"), chosen, it.known_int(axis, "the axis"))


def _repeat(it: TileInterpreter, x: Any, count: Any, axis: Any) -> object:
    counted = it.known_int(count, "the count of repeat()")
    return it.builder.repeat(it.tile(x, "repeat()"), counted, it.known_int(axis, "the axis"))


INTRINSICS: dict[str, Intrinsic] = {
    "bid": _bid, "num_blocks": _num_blocks, "load": _load, "load_at": _load_at, "store": _store,
    "store_at": _store_at, "zeros": _filled(0), "ones": _filled(1), "full": _full, "arange": _arange,
    "reshape": _reshape, "transpose": _transpose, "broadcast_to": _broadcast_to,
    **{f"atomic_{kind}": _atomic(kind) for kind in ("add", "max", "min", "and", "or", "xor")}, "unchecked": _unchecked,
    "expand_dims": _expand_dims, "item": _item, "sum": reduction("sum"), "prod": reduction("prod"),
    "max": reduction("max"), "min": reduction("min"), "any": reduction("or"), "all": reduction("and"), "mma": _mma,
    "mma_scaled": _mma_scaled, "unpack": _unpack, "pack": _pack, "repeat": _repeat,
}  # fmt: skip
INTRINSICS |= SHARED
