"""What is known on one path of a host program: owners of buffers, what touched them, and what each stream has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue

from tileopt.dialects import stream
from tileopt.dialects.diagnostics import OwnershipError, location_of
from tileopt.dialects.stream import BufferType

Clock: TypeAlias = dict[SSAValue, int]  # for each stream, how much of its work is over


class Touch(NamedTuple):
    """One piece of work on a buffer: the `time`-th of its stream."""

    op: Operation
    stream: SSAValue
    time: int
    writes: bool


@dataclass
class BufferState:
    """One buffer: where it came from, what has touched it, and where it went."""

    origin: Operation
    borrowed: bool
    touches: list[Touch] = field(default_factory=list)
    gone: Operation | None = None
    how: str = ""


class HostState:
    """The state of one path. A value stands for a buffer; control flow passes it on under other names."""

    def __init__(self) -> None:
        self.buffers: dict[SSAValue, BufferState] = {}
        self.clocks: dict[SSAValue, Clock] = {}
        self.events: dict[SSAValue, Clock] = {}
        self.host: Clock = {}

    def copy(self) -> HostState:
        other = HostState()
        other.buffers = {v: replace(b, touches=list(b.touches)) for v, b in self.buffers.items()}
        other.clocks = {s: dict(c) for s, c in self.clocks.items()}
        other.events = {e: dict(c) for e, c in self.events.items()}
        other.host = dict(self.host)
        return other

    def key(self) -> object:
        """Equal for states that behave the same."""
        buffers = frozenset((v, b.gone, frozenset(b.touches)) for v, b in self.buffers.items())
        clocks = frozenset((s, frozenset(c.items())) for s, c in (self.clocks | self.events).items())
        return buffers, clocks, frozenset(self.host.items())

    def hold(self, buffer: SSAValue, origin: Operation) -> None:
        """A buffer that the program has from here on."""
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        old = self.buffers.get(buffer)
        if old is not None and old.gone is None:
            # The allocation runs again, in a loop, and the buffer that it made before is lost.
            raise _leak(buffer, old)
        self.buffers[buffer] = BufferState(origin, not type_.owned)

    def start(self, queue: SSAValue) -> None:
        """A new stream. Work on it begins after what the program has waited for."""
        self.clocks[queue] = dict(self.host)

    def use(self, buffer: SSAValue, op: Operation) -> BufferState:
        """The buffer's state. Raises OwnershipError where it is no longer the program's."""
        state = self.buffers[buffer]
        if state.gone is None:
            return state
        again = isinstance(op, stream.Free) and state.how == "freed"
        name = _name(buffer)
        raise OwnershipError(
            "ownership/double-free" if again else "ownership/use-after-move",
            f"{name} is freed a second time" if again else f"{name} is used here and was {state.how} before",
            location=location_of(op),
            notes=[(f"it was {state.how} here", location_of(state.gone))],
            help="give it away after its last use" if not again else "free it once",
        )

    def touch(self, op: Operation, queue: SSAValue, buffers: Sequence[tuple[SSAValue, bool]]) -> None:
        """Work on a stream that reads or writes buffers. Raises where it is not ordered after conflicting work."""
        clock = self._clock(queue)
        now = clock.get(queue, 0) + 1
        for buffer, writes in buffers:
            state = self.use(buffer, op)
            for before in state.touches:
                ordered = before.stream is queue or clock.get(before.stream, 0) >= before.time
                if not ordered and (writes or before.writes):
                    raise _unordered(op, buffer, writes, before)
        clock[queue] = now
        for buffer, writes in buffers:
            state = self.buffers[buffer]
            # Work that the new one is ordered after, and conflicts with, can be forgotten: later work is after this.
            if writes:
                state.touches.clear()
            state.touches.append(Touch(op, queue, now, writes))

    def give(self, buffer: SSAValue, op: Operation, how: str) -> None:
        """The buffer is no longer the program's."""
        state = self.buffers[buffer]
        state.gone, state.how = op, how

    def record(self, queue: SSAValue, event: SSAValue) -> None:
        self.events[event] = dict(self._clock(queue))

    def wait(self, queue: SSAValue, event: SSAValue) -> None:
        _join(self._clock(queue), self.events.get(event, {}))

    def sync(self, queue: SSAValue) -> None:
        """The program waits, and with it all that it asks of any stream from now on."""
        _join(self.host, self._clock(queue))

    def rename(self, pairs: Sequence[tuple[SSAValue, SSAValue]], op: Operation) -> None:
        """Each first buffer goes on as the second."""
        found = []
        for source, _ in pairs:
            state = self.use(source, op)
            found.append(replace(state, touches=list(state.touches)))
            self.give(source, op, "passed on")
        for (_, target), state in zip(pairs, found, strict=True):
            self.buffers[target] = state

    def check_leaks(self) -> None:
        """Raises where the program still owns a buffer at its end."""
        for buffer, state in self.buffers.items():
            if state.gone is None and not state.borrowed:
                raise _leak(buffer, state)

    def _clock(self, queue: SSAValue) -> Clock:
        clock = self.clocks.setdefault(queue, {})
        _join(clock, self.host)
        return clock


def _join(into: Clock, other: Clock) -> None:
    for queue, time in other.items():
        into[queue] = max(into.get(queue, 0), time)


def _name(buffer: SSAValue) -> str:
    return f"%{buffer.name_hint}" if buffer.name_hint else "the buffer"


def _leak(buffer: SSAValue, state: BufferState) -> OwnershipError:
    return OwnershipError(
        "ownership/leak",
        f"{_name(buffer)} is neither freed, moved nor returned on some path",
        location=location_of(state.origin),
        help="free it where it is no longer needed, or return it",
    )


def _unordered(op: Operation, buffer: SSAValue, writes: bool, before: Touch) -> OwnershipError:
    now, then = ("writes" if w else "reads" for w in (writes, before.writes))
    return OwnershipError(
        "ownership/unordered-access",
        f"this {now} {_name(buffer)} while work on another stream may still be at it",
        location=location_of(op),
        notes=[(f"the other work {then} it here", location_of(before.op))],
        help="record an event after the other work and wait for it on this stream",
    )
