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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tileopt.backends.runtime import overlap
from tileopt.backends.runtime.arrays import ArrayInfo, byte_range
from tileopt.backends.runtime.errors import LaunchOwnershipError
from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.diagnostics import Location, call_site

Clock: TypeAlias = dict[int, int]  # for each queue, how much of its work is over
RECORDS_MAX = 4096  # pieces of memory that are followed at once

wanted = os.environ.get("TILEOPT_ORDER", "1") != "0"
active = False  # whether launches are followed: from the first stream on


class Use(NamedTuple):
    """One array of a launch. `owner` tells whether the memory may have been given to another array since."""

    low: int
    high: int
    kind: ParamKind
    name: str
    info: ArrayInfo
    owner: Callable[[], Any]


class _Touch(NamedTuple):
    queue: int
    time: int
    kernel: str
    use: Use
    place: Location | None


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

    def launch(self, queue: int, kernel: str, uses: Sequence[Use]) -> None:
        """A launch is about to be queued. Raises OwnershipError where it may meet another one."""
        place = call_site()
        with self._lock:
            clock = self._clock(queue)
            for use in uses:
                for touch in self._over(use):
                    if touch.queue != queue and clock.get(touch.queue, 0) < touch.time and _conflict(use, touch.use):
                        raise _error(kernel, use, touch, place)
            time = clock[queue] = clock.get(queue, 0) + 1
            for use in uses:
                self._add(_Touch(queue, time, kernel, use, place), clock)

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
                record.touches = [t for t in record.touches if t.use.owner() is not None and not self._over_for_all(t)]
                found += record.touches
        return found

    def _over_for_all(self, touch: _Touch) -> bool:
        return self._host.get(touch.queue, 0) >= touch.time

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
        # A touch that this one covers, and is ordered after, says no more than this one.
        record.touches = [
            t
            for t in record.touches
            if not (
                clock.get(t.queue, 0) >= t.time
                and t.use.high <= use.high
                and (use.kind not in (ParamKind.IN, ParamKind.ATOMIC) or t.use.kind is use.kind)
            )
        ]
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
    """The arrays of a launch: parameters with the facts of arrays like these, addresses, and the objects themselves."""
    found = []
    for (parameter, info), pointer, value in zip(arrays, pointers, values, strict=True):
        low, high = byte_range(info)
        here = ArrayInfo(pointer, info.shape, info.strides, info.dtype, info.itemsize, info.device)
        found.append(Use(pointer + low, pointer + high, parameter.kind, parameter.name, here, _owner(value)))
    return found


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
    return overlap.shares_bytes(a.info, b.info) is True


_DOES = {ParamKind.IN: "reads", ParamKind.ATOMIC: "changes"}


def _error(kernel: str, use: Use, before: _Touch, place: Location | None) -> LaunchOwnershipError:
    does, did = (_DOES.get(u.kind, "writes") for u in (use, before.use))
    return LaunchOwnershipError(
        "ownership/unordered-launches",
        f"{kernel} {does} '{use.name}' while {before.kernel}, launched on another stream, may still be at it",
        location=place,
        notes=[(f"{before.kernel} {did} it here, as '{before.use.name}', and nothing orders the two", before.place)],
        help="wait for the other stream before this launch: stream.wait(other.record())",
    )
