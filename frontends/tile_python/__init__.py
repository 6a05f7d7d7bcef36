"""The tile track: kernels that say what one block does with whole tiles.

from tileopt import tile

@tile.kernel
def add(x: tile.In, y: tile.In, out: tile.Out, BLOCK: tile.Const[int] = 1024):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, BLOCK) + tile.load(y, i, BLOCK))

add[(tile.cdiv(n, 1024),)](x, y, out)
"""

from __future__ import annotations

from tileopt.dialects.dtypes import DTYPES, PACKED
from tileopt.dialects.dtypes import DType as DType
from tileopt.frontends.tile_python.functions import (
    abs,
    acos,
    all,
    any,
    arange,
    asin,
    assert_,
    astype,
    atan,
    atan2,
    atomic_add,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
    bid,
    broadcast_to,
    cdiv,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    expand_dims,
    expm1,
    floor,
    fma,
    full,
    isnan,
    item,
    load,
    load_at,
    log,
    log1p,
    log2,
    log10,
    map_simt,
    max,
    maximum,
    min,
    minimum,
    mma,
    mma_scaled,
    num_blocks,
    ones,
    pack,
    pow,
    printf,
    prod,
    repeat,
    reshape,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    static_assert,
    static_range,
    store,
    store_at,
    sum,
    tan,
    tanh,
    transpose,
    trunc,
    unchecked,
    unpack,
    where,
    zeros,
)
from tileopt.frontends.tile_python.kernel import kernel
from tileopt.frontends.tile_python.parameters import Atomic, Const, In, InOut, Out
from tileopt.frontends.tile_python.tile_type import Tile

bool_ = DTYPES["bool"]
i8, i16, i32, i64 = DTYPES["i8"], DTYPES["i16"], DTYPES["i32"], DTYPES["i64"]
u8, u16, u32, u64 = DTYPES["u8"], DTYPES["u16"], DTYPES["u32"], DTYPES["u64"]
f16, bf16, f32, f64 = DTYPES["f16"], DTYPES["bf16"], DTYPES["f32"], DTYPES["f64"]
f8e4m3fn, f8e5m2, f8e8m0fnu = DTYPES["f8e4m3fn"], DTYPES["f8e5m2"], DTYPES["f8e8m0fnu"]
i4, u4, f4e2m1fn = PACKED["i4"], PACKED["u4"], PACKED["f4e2m1fn"]

__all__ = [
    "Atomic", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_or", "atomic_xor", "unchecked", "Const",
    "DType", "In", "InOut", "Out", "Tile", "abs", "acos", "all", "any", "arange", "asin", "assert_", "astype", "atan",
    "atan2", "bf16", "bid", "bool_", "broadcast_to", "cdiv", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expand_dims",
    "expm1", "f16", "f32", "f4e2m1fn", "f64", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "floor", "fma", "full", "i16", "i32",
    "i4", "i64", "i8", "isnan", "item", "kernel", "load", "load_at", "log", "log10", "log1p", "log2", "map_simt", "max",
    "maximum", "min", "minimum", "mma", "mma_scaled", "num_blocks", "ones", "pack", "pow", "printf", "prod", "repeat",
    "reshape", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "static_assert", "static_range", "store", "store_at",
    "sum", "tan", "tanh", "transpose", "trunc", "u16", "u32", "u4", "u64", "u8", "unpack", "where", "zeros",
]  # fmt: skip
