"""Barriers in shared memory, bulk copies (TMA), and what warps of different roles need: functions of the track."""

from __future__ import annotations

from typing import Any

from tileopt.frontends.simt_python.functions import Index, Scalar, _in_kernels


@_in_kernels
def named_barrier(id: int, threads: int) -> None:
    """So many threads of the block, whole warps, meet at barrier `id`, 1 to 15; `barrier()` is number 0."""
    raise NotImplementedError


@_in_kernels
def mbarrier_init(barriers: Any, index: Scalar, count: int) -> None:
    """One thread makes a barrier of an i64 in shared memory; its phases end after `count` arrivals (sm_80).

    Other threads need a barrier() behind it, bulk copies and other blocks `mbarrier_fence()` before that.
    """
    raise NotImplementedError


@_in_kernels
def mbarrier_fence() -> None:
    """The barriers that this thread has made are known to bulk copies and to the cluster (sm_90)."""
    raise NotImplementedError


@_in_kernels
def mbarrier_arrive(barriers: Any, index: Scalar = 0) -> None:
    """This thread arrives at a barrier, in shared memory or in another block's by `map_shared` (sm_80)."""
    raise NotImplementedError


@_in_kernels
def mbarrier_arrive_expect_tx(barriers: Any, index: Scalar, bytes: int) -> None:
    """This thread arrives, and the phase ends only when so many bytes of bulk copies have come as well (sm_90)."""
    raise NotImplementedError


@_in_kernels
def mbarrier_wait(barriers: Any, index: Scalar, phase: Scalar) -> None:
    """Waits for the end of a phase of this parity: 0 for the first, 1 for the next, and so on (sm_90)."""
    raise NotImplementedError


@_in_kernels
def mbarrier_try_wait(barriers: Any, index: Scalar, phase: Scalar) -> Scalar:
    """Whether a phase of this parity has ended; may wait a while (sm_90)."""
    raise NotImplementedError


@_in_kernels
def mbarrier_inval(barriers: Any, index: Scalar = 0) -> None:
    """One thread ends a barrier: its memory may hold something else (sm_80)."""
    raise NotImplementedError


@_in_kernels
def tma_load(array: Any, index: Index, target: Any, barriers: Any, barrier: Scalar = 0) -> None:
    """One thread starts the copy of a tile of a `simt.Slice`, from these elements on, to a whole shared array (sm_90).

    Of 1 to 5 axes; with `swizzle=` the tile is swizzled. What lies outside the array is 0. The barrier counts the
    tile's bytes: one thread announces them by `mbarrier_arrive_expect_tx`. The array's last axis lies side by side,
    its address and other strides are multiples of 16 bytes (`gpu/tensor-map` otherwise).
    """
    raise NotImplementedError


@_in_kernels
def tma_store(source: Any, array: Any, index: Index) -> None:
    """One thread starts the copy of a whole shared array to a `simt.DisjointSlice`, from these elements on (sm_90).

    What lies outside is not written. The elements belong to this thread: no other may write them. What threads wrote
    to the tile needs `fence_proxy_async` and a barrier before.
    """
    raise NotImplementedError


@_in_kernels
def tma_commit() -> None:
    """Closes a group of this thread's bulk stores (sm_90)."""
    raise NotImplementedError


@_in_kernels
def tma_wait(pending: int = 0, read: bool = False) -> None:
    """Waits until at most `pending` of this thread's latest groups are under way; with `read`, only until their tiles
    may be written again (sm_90)."""
    raise NotImplementedError


@_in_kernels
def setmaxnreg(registers: int, increase: bool) -> None:
    """All warps of a warpgroup take registers up to, or give back all above, 24 to 256 a thread, by 8 (sm_90a)."""
    raise NotImplementedError
