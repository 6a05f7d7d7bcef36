"""Launches on different streams that touch one array, with nothing between them: found when the second is launched.

For each stream a vector clock says which work of the others is over when its next work begins; events, waits and
synchronisations carry it on. For each piece of memory it is known which launches touched it last. Work that only reads,
and atomic operations among each other, need no order.

Only streams are followed whose events are seen: tileopt's own, and PyTorch's where its trace of the GPU can be had
(`torch_trace.py`). Nothing is kept until a program makes a stream or launches on another one than the default.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tileopt.backends.runtime import overlap
from tileopt.backends.runtime.arrays import HOST, ArrayInfo, byte_range
from tileopt.backends.runtime.errors import LaunchOwnershipError
from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import Location, call_site

Clock: TypeAlias = dict[int, int]  # for each queue, how much of its work is over
RECORDS_MAX = 4096  # pieces of memory that are followed at once, and launches that are known
TOUCHES_MAX = 16  # of one piece of memory, before those are sought that say nothing new

wanted = os.environ.get("TILEOPT_ORDER", "1") != "0"
active = False  # whether launches are followed: from the first stream on


class Use(NamedTuple):
    """One array of a launch. `info`: of an array like it, at any address. `owner` gives None once the memory may have
    been given to another array."""

    low: int
    high: int
    kind: ParamKind
    name: str
    pointer: int
    info: ArrayInfo
    owner: Callable[[], Any]


@dataclass(slots=True, eq=False)
class Work:
    """A launch, the `time`-th of its queue; launched again it gets a new time. `stale`: not all it touches is noted."""

    queue: int
    time: int
    kernel: str
    place: Location | None
    stale: bool = False


class _Touch(NamedTuple):
    work: Work
    use: Use


@dataclass(slots=True)
class _Record:
    """What touched the memory from one address on, and how far the longest of that reaches."""

    high: int
    touches: list[_Touch] = field(default_factory=list)


class Tracker:
    """What is known of one device's streams. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clocks: dict[int, Clock] = {}
        self._events: dict[int, Clock] = {}
        self._host: Clock = {}
        self._lows: list[int] = []
        self._records: dict[int, _Record] = {}
        self._longest = 0
        self._known: dict[Hashable, Work] = {}  # launches since work came from another queue
        self._last: int | None = None  # the queue of the last launch

    def launch(self, queue: int, kernel: str, uses: Sequence[Use], key: Hashable = None) -> None:
        """A launch is about to be queued. Raises OwnershipError where it may meet another one.

        `key`: the same for launches that touch the same memory in the same way; see `again`.
        """
        place = call_site()
        with self._lock:
            clock = self._clock(queue)
            for use in uses:
                for work, other in self._over(use):
                    if work.queue != queue and clock.get(work.queue, 0) < work.time and _conflict(use, other):
                        raise _error(kernel, use, work, other, place)
            time = clock[queue] = clock.get(queue, 0) + 1
            made = Work(queue, time, kernel, place)
            for use in uses:
                self._add(_Touch(made, use), clock)
            if queue != self._last or len(self._known) >= RECORDS_MAX:
                self._known.clear()
                self._last = queue
            if key is not None:
                self._known[key] = made

    def again(self, queue: int, key: Hashable) -> bool:
        """Whether this launch was noted before, and no other queue had work since: then it meets nothing new."""
        with self._lock:
            work = self._known.get(key)
            if work is None or work.stale or queue != self._last:
                return False
            clock = self._clock(queue)
            work.time = clock[queue] = clock.get(queue, 0) + 1
            return True

    def record(self, queue: int, event: int) -> None:
        """The event stands for what is on the queue by now."""
        with self._lock:
            self._events[event] = dict(self._clock(queue))

    def wait(self, queue: int, event: int) -> None:
        """Later work of the queue begins after the event."""
        with self._lock:
            _join(self._clock(queue), self._events.get(event, {}))

    def order(self, first: int, then: int) -> None:
        """Later work of one queue begins after what is on the other by now."""
        with self._lock:
            _join(self._clock(then), self._clock(first))

    def synchronize(self, queue: int | None = None) -> None:
        """The program has waited for a queue, or for all."""
        with self._lock:
            for each in list(self._clocks) if queue is None else [queue]:
                _join(self._host, self._clock(each))

    def synchronize_event(self, event: int) -> None:
        """The program has waited for an event."""
        with self._lock:
            _join(self._host, self._events.get(event, {}))

    def forget(self) -> None:
        """All that was queued by now counts as ordered."""
        with self._lock:
            self._records.clear()
            self._lows.clear()
            self._known.clear()

    def freed(self, pointer: int) -> None:
        """The memory at an address may be given to another array."""
        with self._lock:
            record = self._records.pop(pointer, None)
            if record is not None:
                del self._lows[bisect_left(self._lows, pointer)]
                for touch in record.touches:
                    touch.work.stale = True

    def _clock(self, queue: int) -> Clock:
        clock = self._clocks.setdefault(queue, {})
        _join(clock, self._host)
        return clock

    def _over(self, use: Use) -> list[_Touch]:
        """The touches of memory that meets this array's."""
        found: list[_Touch] = []
        at = bisect_left(self._lows, use.high)
        while at > 0 and self._lows[at - 1] > use.low - self._longest:
            at -= 1
            record = self._records[self._lows[at]]
            if record.high > use.low:
                self._keep(record, self._matters)
                found += record.touches
        return found

    def _matters(self, touch: _Touch) -> bool:
        """Whether the memory is still the array's, and the program has not waited for the launch."""
        return touch.use.owner() is not None and self._host.get(touch.work.queue, 0) < touch.work.time

    @staticmethod
    def _keep(record: _Record, wanted: Callable[[_Touch], bool]) -> None:
        kept = []
        for touch in record.touches:
            if wanted(touch):
                kept.append(touch)
            else:
                touch.work.stale = True
        record.touches = kept

    def _add(self, touch: _Touch, clock: Clock) -> None:
        use = touch.use
        if use.low == use.high:
            return
        record = self._records.get(use.low)
        if record is None:
            if len(self._records) >= RECORDS_MAX:
                self.forget()
            record = self._records[use.low] = _Record(use.high)
            insort(self._lows, use.low)
        record.high = max(record.high, use.high)
        self._longest = max(self._longest, record.high - use.low)
        if len(record.touches) >= TOUCHES_MAX:
            # A touch that this one covers, and is ordered after, says no more than this one.
            self._keep(
                record,
                lambda t: (
                    clock.get(t.work.queue, 0) < t.work.time
                    or t.use.high > use.high
                    or (use.kind in (ParamKind.IN, ParamKind.ATOMIC) and t.use.kind is not use.kind)
                ),
            )
        record.touches.append(touch)


_TRACKERS: dict[int, Tracker] = {}


def tracker(device: int) -> Tracker:
    """The device's tracker."""
    found = _TRACKERS.get(device)
    return found if found is not None else _TRACKERS.setdefault(device, Tracker())


def check_order(on: bool = True) -> None:
    """Whether launches on different streams are checked for their order; on unless TILEOPT_ORDER=0.

    To be called where a program begins: from then on all launches are followed, on every stream, with PyTorch's events
    where PyTorch is imported by then. Else that begins with the first stream that the program makes or launches on.
    """
    global wanted, active
    wanted = on
    active = False
    for each in _TRACKERS.values():
        each.forget()
    if on:
        begin()


def begin() -> None:
    """Launches are followed from here on."""
    global active
    if wanted and not active:
        active = True
    if wanted and "torch" in sys.modules:
        from tileopt.backends.runtime import torch_trace

        if torch_trace.begin():
            for each in _TRACKERS.values():
                each.forget()  # what PyTorch ordered before was not seen


def uses_of(arrays: Sequence[tuple[Any, ArrayInfo]], pointers: Sequence[int], values: Sequence[Any]) -> list[Use]:
    """The arrays of a launch: parameters with the facts of arrays like these, addresses, and the objects themselves.

    On a GPU memory is given to another array by frameworks that say so (`freed`), or that wait for the device first.
    """
    found = []
    for (parameter, info), pointer, value in zip(arrays, pointers, values, strict=True):
        low, high = byte_range(info)
        owner = _owner(value) if info.device == HOST else _always
        found.append(Use(pointer + low, pointer + high, parameter.kind, parameter.name, pointer, info, owner))
    return found


def _always() -> bool:
    return True


def _owner(value: Any) -> Callable[[], Any]:
    """What gives None once the memory of an array may belong to another."""
    memory = getattr(value, "_memory", None)
    if memory is None:
        memory = value
        for name in ("_base", "base"):
            while getattr(memory, name, None) is not None:
                memory = getattr(memory, name)
    try:
        return weakref.ref(memory)
    except TypeError:
        try:
            return weakref.ref(value)
        except TypeError:
            return lambda: None


def _join(into: Clock, other: Clock) -> None:
    for queue, time in other.items():
        if into.get(queue, 0) < time:
            into[queue] = time


def _conflict(a: Use, b: Use) -> bool:
    """Whether two uses may not run at once. Where it is too hard to decide whether they share bytes, they may."""
    if a.kind is b.kind and a.kind in (ParamKind.IN, ParamKind.ATOMIC):
        return False
    return overlap.shares_bytes(_here(a), _here(b)) is True


def _here(use: Use) -> ArrayInfo:
    info = use.info
    return ArrayInfo(use.pointer, info.shape, info.strides, info.dtype, info.itemsize, info.device)


_DOES = {ParamKind.IN: "reads", ParamKind.ATOMIC: "changes"}


def _error(kernel: str, use: Use, before: Work, other: Use, place: Location | None) -> LaunchOwnershipError:
    does, did = (_DOES.get(u.kind, "writes") for u in (use, other))
    return LaunchOwnershipError(
        "ownership/unordered-launches",
        f"{kernel} {does} '{use.name}' while {before.kernel}, launched on another stream, may still be at it",
        location=place,
        notes=[(f"{before.kernel} {did} it here, as '{other.name}', and nothing orders the two", before.place)],
        help="wait for the other stream before this launch: stream.wait(other.record())",
    )
