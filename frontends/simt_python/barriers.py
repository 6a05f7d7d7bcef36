"""What the functions of barriers in memory and of bulk copies do in a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.frontends.builder_hardware import Remote
from tileopt.frontends.python.intrinsics import Intrinsic
from tileopt.frontends.simt_python.hardware import barrier_of, flag

if TYPE_CHECKING:
    from tileopt.frontends.simt_python.interpreter import SimtInterpreter


def _named_barrier(it: SimtInterpreter, id: Any, threads: Any) -> object:
    it.threads.named_barrier(it.known_int(id, "the id"), it.known_int(threads, "the threads"))
    return None


def _setmaxnreg(it: SimtInterpreter, registers: Any, increase: Any) -> object:
    it.threads.setmaxnreg(it.known_int(registers, "the registers"), flag(it, increase, "increase"))
    return None


def _init(it: SimtInterpreter, barriers: Any, index: Any, count: Any) -> object:
    place = barrier_of(it, barriers, index, "mbarrier_init()")
    it.threads.mbarrier_init(*place, it.known_int(count, "the count"))
    return None


def _fence(it: SimtInterpreter) -> object:
    it.threads.mbarrier_fence()
    return None


def _arrive(it: SimtInterpreter, barriers: Any, index: Any) -> object:
    if isinstance(barriers, Remote):
        it.threads.mbarrier_arrive(barriers, it.number(index, "mbarrier_arrive()"), None)
    else:
        it.threads.mbarrier_arrive(*barrier_of(it, barriers, index, "mbarrier_arrive()"), None)
    return None


def _arrive_expect(it: SimtInterpreter, barriers: Any, index: Any, bytes: Any) -> object:
    place = barrier_of(it, barriers, index, "mbarrier_arrive_expect_tx()")
    it.threads.mbarrier_arrive(*place, it.known_int(bytes, "the bytes"))
    return None


def _wait(it: SimtInterpreter, barriers: Any, index: Any, phase: Any) -> object:
    place = barrier_of(it, barriers, index, "mbarrier_wait()")
    it.threads.mbarrier_wait(*place, it.number(phase, "mbarrier_wait()"))
    return None


def _try_wait(it: SimtInterpreter, barriers: Any, index: Any, phase: Any) -> object:
    place = barrier_of(it, barriers, index, "mbarrier_try_wait()")
    return it.threads.mbarrier_try_wait(*place, it.number(phase, "mbarrier_try_wait()"))


def _inval(it: SimtInterpreter, barriers: Any, index: Any) -> object:
    it.threads.mbarrier_inval(*barrier_of(it, barriers, index, "mbarrier_inval()"))
    return None


def _tma_load(it: SimtInterpreter, array: Any, index: Any, target: Any, barriers: Any, barrier: Any) -> object:
    memory = it.memory(array, "tma_load()")
    tile = it.threads.in_shared(it.memory(target, "tma_load()"), "tma_load()")
    place = barrier_of(it, barriers, barrier, "tma_load()")
    it.threads.tma_load(memory, it.index(index, memory), tile, *place)
    return None


def _tma_store(it: SimtInterpreter, source: Any, array: Any, index: Any) -> object:
    tile = it.threads.in_shared(it.memory(source, "tma_store()"), "tma_store()")
    memory = it.memory(array, "tma_store()")
    it.threads.tma_store(tile, memory, it.index(index, memory))
    return None


def _tma_commit(it: SimtInterpreter) -> object:
    it.threads.tma_commit()
    return None


def _tma_wait(it: SimtInterpreter, pending: Any, read: Any) -> object:
    it.threads.tma_wait(it.known_int(pending, "pending"), flag(it, read, "read"))
    return None


BARRIERS: dict[str, Intrinsic] = {
    "named_barrier": _named_barrier, "setmaxnreg": _setmaxnreg, "mbarrier_init": _init, "mbarrier_fence": _fence,
    "mbarrier_arrive": _arrive, "mbarrier_arrive_expect_tx": _arrive_expect, "mbarrier_wait": _wait,
    "mbarrier_try_wait": _try_wait, "mbarrier_inval": _inval, "tma_load": _tma_load, "tma_store": _tma_store,
    "tma_commit": _tma_commit, "tma_wait": _tma_wait,
}  # fmt: skip
