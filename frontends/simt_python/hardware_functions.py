"""The hardware's own instructions as functions of the SIMT track.

A CPU runs them by a model of the hardware, exactly and slowly. What a GPU lacks is refused when a kernel is compiled
for it (`target/...`). Registers that hold parts of matrices are u32 scalars, in tuples, as PTX packs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tileopt.frontends.simt_python.functions import Index, Scalar, _in_kernels

Words = Sequence[Scalar]


@_in_kernels
def cp_async(target: Any, target_index: Index, source: Any, source_index: Index, count: int = 1) -> None:
    """Starts a copy of `count` elements side by side, 4, 8 or 16 bytes, from a `simt.Slice` to shared memory (sm_80).

    Both indices name the first element; that all lie inside is tested, or proved. The copy is there after
    `cp_async_wait`, for other threads after a barrier behind it. Where an address is no multiple of so many bytes, or
    the array has a stride, the elements are copied at once, one by one.
    """
    raise NotImplementedError


@_in_kernels
def cp_async_commit() -> None:
    """Closes a group of this thread's copies (sm_80)."""
    raise NotImplementedError


@_in_kernels
def cp_async_wait(pending: int = 0) -> None:
    """Waits until at most `pending` of this thread's latest groups are under way (sm_80)."""
    raise NotImplementedError


@_in_kernels
def ldmatrix(array: Any, index: Index, num: int = 1, trans: bool = False) -> tuple[Scalar, ...]:
    """Reads `num` (1, 2 or 4) matrices of 8 rows of 16 bytes from shared memory; gives a u32 for each (sm_75).

    Lane 8q + r names the first element of row r of matrix q, at a multiple of 16 bytes. Word q of lane l is bytes
    4(l % 4) to 4(l % 4) + 3 of row l // 4 of matrix q. `trans` transposes matrices of 16-bit elements.
    """
    raise NotImplementedError


@_in_kernels
def stmatrix(array: Any, index: Index, words: Words, trans: bool = False) -> None:
    """Writes 1, 2 or 4 matrices that `ldmatrix` would read as these words (sm_90)."""
    raise NotImplementedError


@_in_kernels
def mma_sync(
    a: Words, b: Words, acc: Words, shape: str, dtype: Any, b_dtype: Any = None, acc_dtype: Any = None
) -> tuple[Scalar, ...]:
    """`acc + a @ b` by a warp: `mma.sync` of row-major a and column-major b.

    f16: m16n8k8 (sm_75), m16n8k16, in f32 or, as `acc_dtype`, in f16 (packed in u32). bf16: m16n8k8, m16n8k16, in f32.
    "tf32" (the upper 19 bits of f32): m16n8k4, m16n8k8, in f32. f64: m8n8k4, and from sm_90 m16n8k4, m16n8k8 and
    m16n8k16. i8 and u8: m8n8k16 (sm_75), m16n8k16, m16n8k32, in i32, which wraps. "i4" and "u4": m8n8k32 (sm_75),
    m16n8k32, m16n8k64. f8e4m3fn and f8e5m2: m16n8k32 in f32 (sm_89). All others from sm_80 on. `b_dtype` where b has
    another type of the same kind.
    """
    raise NotImplementedError


@_in_kernels
def fence_proxy_async() -> None:
    """What the thread wrote to shared memory is seen by `wgmma`, `tcgen05` and bulk copies that start once threads have
    met behind it (sm_90)."""
    raise NotImplementedError


@_in_kernels
def wgmma(
    a: Any, b: Any, acc: Words, dtype: Any = None, b_dtype: Any = None, trans_a: bool = False, trans_b: bool = False
) -> tuple[Scalar, ...]:
    """Starts `acc + a @ b` by a warpgroup of four warps, and closes its group (sm_90a).

    b: shared memory of (N, K), or (K, N) where `trans_b`; N is 8 to 256 by 8, of integers by 16 from 32 on. a: shared
    memory of (64, K), or (K, 64) where `trans_a`; or, in each thread, 4 u32 for each 32 bytes of K. Only 16-bit
    elements transpose. Both arrays have a `swizzle=`. Types: f16, bf16, "tf32" (in f32 arrays), f8e4m3fn and f8e5m2,
    which may differ, in f32; i8 and u8, which may differ, in i32. acc: N / 2 registers.

    The result may be used after `wgmma_wait`. What threads wrote to a and b needs `fence_proxy_async` and a barrier.
    """
    raise NotImplementedError


@_in_kernels
def wgmma_wait(acc: Words, pending: int = 0) -> tuple[Scalar, ...]:
    """Waits until at most `pending` of the warpgroup's latest groups are under way; gives the accumulator (sm_90a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_alloc(array: Any, index: Index, columns: int) -> None:
    """A warp takes 32, 64, ... 512 columns of tensor memory; their address goes to an i32 in shared memory.

    sm_100a and sm_103a, as all of `tcgen05`.
    """
    raise NotImplementedError


@_in_kernels
def tcgen05_dealloc(address: Scalar, columns: int) -> None:
    """A warp gives the columns back, which it must before the block ends (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_mma(
    address: Scalar, a: Any, b: Any, accumulate: Scalar = True, dtype: Any = None, b_dtype: Any = None,
    trans_a: bool = False, trans_b: bool = False,
) -> None:  # fmt: skip
    """One thread starts d + a @ b, or a @ b, into tensor memory at `address` (sm_100a).

    a: shared memory of (128, K), b of (N, K), N 16 to 256 by 16, or (K, 128) and (K, N) where `trans_a`, `trans_b`;
    f16, bf16, or f8e4m3fn and f8e5m2, which may differ, with a `swizzle=`. d: 128 lanes of N columns of f32.
    """
    raise NotImplementedError


@_in_kernels
def tcgen05_commit(barriers: Any, index: Scalar = 0) -> None:
    """The barrier gets an arrival when this thread's products so far are done (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_ld(address: Scalar, count: int) -> tuple[Scalar, ...]:
    """Warp w of four reads lanes 32w on of tensor memory: each its own, `count` (a power of two up to 128) columns of
    u32. May be used after `tcgen05_wait` (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_st(address: Scalar, words: Words) -> None:
    """Writes what `tcgen05_ld` reads (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_wait(kind: str, words: Words = ()) -> tuple[Scalar, ...]:
    """Waits for the warp's loads ("ld", gives what they gave) or stores ("st") (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def tcgen05_fence(kind: str) -> None:
    """Orders tcgen05 ops "before" or "after" a meeting of threads (sm_100a)."""
    raise NotImplementedError


@_in_kernels
def cluster_dim(axis: int = 0) -> int:
    """Blocks of a cluster along an axis, a constant: `cluster=` of the contract (sm_90)."""
    raise NotImplementedError


@_in_kernels
def cluster_size() -> int:
    """Blocks of a cluster, a constant."""
    raise NotImplementedError


@_in_kernels
def cluster_rank() -> Scalar:
    """The block's number in its cluster; axis 0 counts fastest."""
    raise NotImplementedError


@_in_kernels
def cluster_arrive() -> None:
    """This thread has come to the cluster's barrier, and goes on: what it wrote is seen by who waits (sm_90)."""
    raise NotImplementedError


@_in_kernels
def cluster_wait() -> None:
    """Waits until all threads of the cluster have called `cluster_arrive` (sm_90)."""
    raise NotImplementedError


@_in_kernels
def cluster_barrier() -> None:
    """All threads of the cluster meet, and see what the others wrote before (sm_90)."""
    raise NotImplementedError


@_in_kernels
def map_shared(array: Any, rank: Scalar) -> Any:
    """The same shared array in the block of this rank in the cluster: `r[i]` and `r[i] = v` reach it (sm_90).

    That block must have begun, and must not end before: meet by `cluster_barrier` at the beginning and at the end.
    """
    raise NotImplementedError


@_in_kernels
def inline_ptx(
    text: str,
    constraints: str,
    *operands: Scalar,
    dtype: Any = None,
    reference: Callable[..., Any] | None = None,
    pure: bool = False,
) -> Any:
    """PTX as text, which names its operands $0, $1, ..., results first.

    `constraints`: a letter for each, results with "=": h (16 bits), r (32), l (64), f (f32), d (f64), b (a predicate).
    `dtype`: the result's type, or a tuple of them; by default i16, i32, i64, f32, f64. `reference`: a function of the
    operands, in the language of kernels, that gives the same results: a CPU runs it, and refuses PTX without
    (`backend/inline-ptx`). `pure`: the text touches no memory, and may be dropped, merged or moved.
    """
    raise NotImplementedError
