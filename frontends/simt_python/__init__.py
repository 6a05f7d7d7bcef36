"""The SIMT track: kernels that say what one thread does.

from tileopt import simt

@simt.kernel(block=(256,), requires=["len(x) == len(out)"])
def scale(a: simt.f32, x: simt.Slice, out: simt.DisjointSlice):
    i = simt.thread_index()
    if i < len(out):
        out[i] = a * x[i]

scale[simt.cdiv(n, 256)](2.0, x, out)
"""

from __future__ import annotations

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.dtypes import DType as DType
from tileopt.frontends.constant_array import constant
from tileopt.frontends.simt_python.barrier_functions import (
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_fence,
    mbarrier_init,
    mbarrier_inval,
    mbarrier_try_wait,
    mbarrier_wait,
    named_barrier,
    setmaxnreg,
    tma_commit,
    tma_load,
    tma_store,
    tma_wait,
)
from tileopt.frontends.simt_python.functions import (
    active_mask,
    all_sync,
    any_sync,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_dec,
    atomic_exch,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    ballot,
    barrier,
    bitcast,
    block_dim,
    block_idx,
    block_rank,
    brev,
    clock,
    clz,
    dynamic_shared,
    elect,
    fence,
    ffs,
    grid_dim,
    grid_stride,
    lane_index,
    lane_mask,
    match_all,
    match_any,
    popc,
    shared,
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
    syncthreads,
    syncwarp,
    thread_idx,
    thread_index,
    thread_index_2d,
    thread_index_3d,
    thread_rank,
    unrolled_range,
    warp_index,
    warp_rank,
    warp_reduce,
)
from tileopt.frontends.simt_python.hardware_functions import (
    cluster_arrive,
    cluster_barrier,
    cluster_dim,
    cluster_rank,
    cluster_size,
    cluster_wait,
    cp_async,
    cp_async_commit,
    cp_async_wait,
    fence_proxy_async,
    inline_ptx,
    ldmatrix,
    map_shared,
    mma_sync,
    stmatrix,
    tcgen05_alloc,
    tcgen05_commit,
    tcgen05_dealloc,
    tcgen05_fence,
    tcgen05_ld,
    tcgen05_mma,
    tcgen05_st,
    tcgen05_wait,
    wgmma,
    wgmma_wait,
)
from tileopt.frontends.simt_python.kernel import kernel
from tileopt.frontends.simt_python.parameters import Atomic, Const, DisjointSlice, Slice
from tileopt.frontends.tile_python import (
    abs,
    acos,
    asin,
    assert_,
    astype,
    atan,
    atan2,
    cdiv,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    fma,
    isnan,
    log,
    log1p,
    log2,
    log10,
    maximum,
    minimum,
    pow,
    printf,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    static_assert,
    static_range,
    tan,
    tanh,
    trunc,
    where,
)

bool_ = DTYPES["bool"]
i8, i16, i32, i64 = DTYPES["i8"], DTYPES["i16"], DTYPES["i32"], DTYPES["i64"]
u8, u16, u32, u64 = DTYPES["u8"], DTYPES["u16"], DTYPES["u32"], DTYPES["u64"]
f16, bf16, f32, f64 = DTYPES["f16"], DTYPES["bf16"], DTYPES["f32"], DTYPES["f64"]
f8e4m3fn, f8e5m2, f8e8m0fnu = DTYPES["f8e4m3fn"], DTYPES["f8e5m2"], DTYPES["f8e8m0fnu"]

__all__ = [
    "Atomic", "Const", "DType", "DisjointSlice", "Slice", "abs", "acos", "active_mask", "all_sync", "any_sync", "asin",
    "assert_", "astype", "atan", "atan2", "atomic_add", "atomic_and", "atomic_cas", "atomic_dec", "atomic_exch",
    "atomic_inc", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "ballot", "barrier", "bf16",
    "bitcast", "block_dim", "block_idx", "block_rank", "bool_", "brev", "cdiv", "ceil", "clock", "cluster_arrive",
    "cluster_barrier", "cluster_dim", "cluster_rank", "cluster_size", "cluster_wait", "clz", "constant", "cos", "cosh",
    "cp_async", "cp_async_commit", "cp_async_wait", "dynamic_shared", "elect", "erf", "exp", "exp2", "expm1", "f16",
    "f32", "f64", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "fence", "fence_proxy_async", "ffs", "floor", "fma", "grid_dim",
    "grid_stride",
    "i16", "i32", "i64", "i8", "inline_ptx", "isnan", "kernel", "lane_index", "lane_mask", "ldmatrix", "log", "log10",
    "log1p", "log2", "map_shared", "match_all", "match_any", "maximum", "mbarrier_arrive", "mbarrier_arrive_expect_tx",
    "mbarrier_fence", "mbarrier_init", "mbarrier_inval", "mbarrier_try_wait", "mbarrier_wait", "minimum", "mma_sync",
    "named_barrier", "popc", "pow", "printf", "round", "rsqrt", "setmaxnreg", "shared", "shuffle", "shuffle_down",
    "shuffle_up", "shuffle_xor", "sigmoid", "sin", "sinh", "sqrt", "static_assert", "static_range", "stmatrix",
    "syncthreads", "syncwarp", "tan", "tanh", "tcgen05_alloc", "tcgen05_commit", "tcgen05_dealloc", "tcgen05_fence",
    "tcgen05_ld", "tcgen05_mma", "tcgen05_st", "tcgen05_wait", "thread_idx", "thread_index", "thread_index_2d",
    "thread_index_3d", "thread_rank", "tma_commit", "tma_load", "tma_store", "tma_wait", "trunc", "u16", "u32", "u64",
    "u8", "unrolled_range", "warp_index", "warp_rank", "warp_reduce", "wgmma", "wgmma_wait", "where",
]  # fmt: skip
