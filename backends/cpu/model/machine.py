"""Runs the threads of a launch: each goes on until it stops with a request, which is done once all have come that it
takes. Threads that wait for what never comes are an error, not a hang.

The blocks of a cluster run together, clusters one after the other. Within a round every thread that can go on does, in
the order of its number; what a round's requests do, they do in that order too, so that a run is the same each time.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Protocol

from tileopt.backends.cpu.model.state import Block, Description, Thread, make_block
from tileopt.dialects.diagnostics import DeviceError, Location
from tileopt.dialects.layout import WARP_SIZE

GROUPS = {"warp": WARP_SIZE, "warpgroup": 4 * WARP_SIZE, "block": 1 << 30}
_LOOKS = frozenset({"yield", "gpu.mbarrier_try_wait"})  # by which a thread in a loop waits for others
MOST_LOOKS = 1_000_000  # of all threads together while none does anything else: some seconds
_MOST_NAMED = 4  # threads that the error of a launch that hangs names


@dataclass(frozen=True)
class Model:
    """What an op does. `apply` gives False where it cannot yet, and then is asked again. `scope`: which threads do it
    together (thread, warp, warpgroup, block, cluster); `whole`: all of them must be there, none have ended.
    `key`: what threads that meet have in common; by default the op itself."""

    apply: Callable[[list[Thread], Description], bool | None]
    scope: str = "thread"
    whole: bool = False
    key: Callable[[Description], object] = id


@lru_cache(maxsize=1)
def models() -> dict[str, Model]:
    """The models by the ops' names."""
    from tileopt.backends.cpu.model import barriers, bulk, copies, meetings, products, tensor

    return {**meetings.MODELS, **barriers.MODELS, **bulk.MODELS, **copies.MODELS, **products.MODELS, **tensor.MODELS}


_WORD = ctypes.c_int64
_RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[_WORD] * 5)
_START = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[_WORD] * 6, ctypes.c_int32, *[ctypes.c_void_p] * 3
)
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_local = threading.local()


class Observer(Protocol):
    """Who is told what the model does; see `observe`."""

    def enter(self, block: Block) -> None:
        """A thread of this block goes on now."""
        ...

    def met(self, threads: list[Thread], asked: Description) -> None:
        """These threads have done an op together."""
        ...

    def done(self, cluster: list[Block]) -> None:
        """A cluster has ended."""
        ...


def observe(observer: Observer | None) -> None:
    """Tells this thread's launches to an observer."""
    _local.observer = observer


class Machine:
    """One launch."""

    def __init__(self, facts: dict[str, Any], start: int, resume: int, free: int, slots: int) -> None:
        self.facts, self.slots = facts, slots
        self.start, self.resume, self.free = _START(start), _CALL(resume), _CALL(free)
        self.known: dict[int, Description] = {}
        self.groups: dict[tuple[object, ...], list[Thread]] = {}
        self.cluster: list[Block] = []
        self.observer: Observer | None = getattr(_local, "observer", None)

    @cached_property
    def models(self) -> dict[str, Model]:
        return models()

    def launch(self, grid: tuple[int, int, int]) -> None:
        """All clusters of the grid."""
        cx, cy, cz = self.facts["cluster"]
        for z, y, x in product(range(0, grid[2], cz), range(0, grid[1], cy), range(0, grid[0], cx)):
            cluster: list[Block] = []
            for dz, dy, dx in product(range(cz), range(cy), range(cx)):
                facts = self.facts
                place = (x + dx, y + dy, z + dz)
                sizes = facts["threads"], facts["words"], facts["shared"], facts["exchange"]
                cluster.append(make_block(place, cluster, *sizes))
            self.run(cluster, grid)

    def run(self, cluster: list[Block], grid: tuple[int, int, int]) -> None:
        """One cluster to its end."""
        self.groups.clear()
        self.cluster = cluster
        try:
            for block in cluster:
                for rank in range(self.facts["threads"]):
                    self._begin(block, rank, grid)
            looks = 0
            while any(not t.ended for block in cluster for t in block.threads):
                moving = any(block.transfers for block in cluster)
                ready = self._serve()
                only = not moving and all(t.waits is not None and t.waits.op in _LOOKS for t in ready)
                late = only and self._do_late(cluster)
                if not ready and not moving and not late:
                    raise self._hangs(cluster)
                looks = looks + len(ready) if only else 0
                if looks > MOST_LOOKS:
                    raise self._hangs(cluster)
                for thread in ready:
                    self._enter(thread.block)
                    self.resume(thread.handle)
                    self._stopped(thread)
        finally:
            if self.observer is not None:
                self.observer.done(cluster)
            for block in cluster:
                for kept in block.keeps.tolist():
                    if kept:
                        self.free(kept)

    def _enter(self, block: Block) -> None:
        if self.observer is not None:
            self.observer.enter(block)

    def _begin(self, block: Block, rank: int, grid: tuple[int, int, int]) -> None:
        thread = Thread(block, rank)
        block.threads.append(thread)
        for scope, size in GROUPS.items():
            block.live[scope, rank // size] = block.live.get((scope, rank // size), 0) + 1
        request = block.requests.ctypes.data + rank * block.requests.strides[0]
        keep = block.keeps.ctypes.data + 8 * rank
        self._enter(block)
        thread.handle = self.start(
            self.slots, block.base, *block.place, *grid, rank, block.exchange.ctypes.data, request, keep
        )
        self._stopped(thread)

    def _stopped(self, thread: Thread) -> None:
        """Reads the request that a thread has stopped with."""
        block = thread.block
        address = int(block.requests[thread.rank, 0])
        if not address:
            thread.ended, thread.waits = True, None
            for scope, size in GROUPS.items():
                block.live[scope, thread.rank // size] -= 1
            return
        asked = self.known.get(address)
        if asked is None:
            asked = self.known[address] = Description(ctypes.string_at(address).decode())
        thread.waits = asked
        model = self.models[asked.op]
        key: tuple[object, ...]
        if model.scope == "thread":
            key = (id(thread),)
        elif model.scope == "cluster":
            key = ("cluster", model.key(asked))
        else:
            key = (block.rank, model.scope, thread.rank // GROUPS[model.scope], model.key(asked))
        self.groups.setdefault(key, []).append(thread)

    def _serve(self) -> list[Thread]:
        """Does what can be done; gives the threads that go on."""
        ready: list[Thread] = []
        for block in self.cluster:
            transfers, block.transfers = block.transfers, []
            for transfer in transfers:
                transfer.run()
        for key, threads in list(self.groups.items()):
            asked = threads[0].waits
            assert asked is not None
            model = self.models[asked.op]
            if self._complete(model, threads) and model.apply(threads, asked) is not False:
                del self.groups[key]
                if self.observer is not None:
                    self.observer.met(threads, asked)
                ready += threads
        return ready

    def _do_late(self, cluster: list[Block]) -> bool:
        """Does the first of what each block leaves until all threads wait; whether there was some."""
        found = [block.late.pop(0) for block in cluster if block.late]
        for transfer in found:
            transfer.run()
        return bool(found)

    def _complete(self, model: Model, threads: list[Thread]) -> bool:
        first = threads[0]
        if model.scope == "thread":
            return True
        if model.scope == "cluster":
            return len(threads) == sum(block.live["block", 0] for block in first.block.cluster)
        size = GROUPS[model.scope]
        live = first.block.live[model.scope, first.rank // size]
        if model.scope == "block" and first.waits is not None and first.waits.get("threads") is not None:
            return len(threads) >= int(first.waits["threads"])
        if len(threads) < live:
            return False
        assert first.waits is not None
        if model.whole and live < size:
            raise first.waits.error(
                "lanes", f"{first.waits.op} needs all {size} threads of a {model.scope}, and {live} are left"
            )
        if model.scope == "warp" and first.waits.get("meets"):
            self._all_came(first, first.waits)
        return True

    def _all_came(self, first: Thread, asked: Description) -> None:
        """Raises DeviceError where a lane of the warp has ended while others meet."""
        gone = next((t for t in first.block.threads if t.warp == first.warp and t.ended), None)
        if gone is None:
            return
        around = asked.get("around")
        raise DeviceError(
            "race/divergent-lanes",
            f"kernel '{self.facts['kernel']}': thread {first.rank} of block {first.block.place} waits at this meeting "
            f"of the warp's lanes, and thread {gone.rank} of the same warp has ended",
            location=asked.location,
            help="let all lanes come to it: move it out of the condition, and let no thread return before it",
            notes=[("the condition or loop around it is here", Location(*around))] if around else (),
        )

    def _hangs(self, cluster: list[Block]) -> DeviceError:
        waiting = [t for block in cluster for t in block.threads if not t.ended]
        places: dict[int, Thread] = {}
        for thread in waiting:
            places.setdefault(id(thread.waits), thread)
        named = list(places.values())[:_MOST_NAMED]
        first = named[0].waits
        assert first is not None
        notes = [
            (f"thread {t.rank} of block {t.block.place} waits here ({t.waits.op})", t.waits.location)
            for t in named
            if t.waits is not None
        ]
        return DeviceError(
            "model/deadlock",
            f"kernel '{self.facts['kernel']}': {len(waiting)} threads wait for what does not come",
            location=first.location,
            notes=notes,
            help="let all threads that an op takes come to it, and each barrier get all its arrivals and bytes",
        )


def _run(facts: int, start: int, resume: int, free: int, slots: int, first: int, last: int, *grid: int) -> None:
    """What `@tileopt_model` does: all blocks of the grid, whatever `first` and `last` say."""
    try:
        machine = Machine(json.loads(ctypes.string_at(facts)), start, resume, free, slots)
        machine.launch((grid[0], grid[1], grid[2]))
    except BaseException as error:  # nothing can pass through native code
        _local.error = error


_ENTRY = _RUN(_run)


def address() -> int:
    """Where `@tileopt_model` is."""
    found = ctypes.cast(_ENTRY, ctypes.c_void_p).value
    assert found is not None
    return found


def take_error() -> BaseException | None:
    """What the model's last launch in this thread ended with."""
    error: BaseException | None = getattr(_local, "error", None)
    _local.error = None
    return error
