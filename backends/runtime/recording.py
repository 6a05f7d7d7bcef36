"""What a program asked of its streams, noted as it happens: the launches of a graph or of a `with` block, in order."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.dialects.contracts import KernelDefinition, Spec
from tileopt.dialects.diagnostics import Location, call_site

Queue: TypeAlias = int  # a CUDA handle; on the CPU the identity of a Stream, or 0

noting = 0  # how many recordings are open in the process; nothing asks further while it is 0


@dataclass(frozen=True)
class ArrayArgument:
    """An array of a launch. `value` keeps its memory from being given to another while it is noted here."""

    name: str
    info: ArrayInfo
    writes: bool
    value: Any


@dataclass(frozen=True)
class ScalarArgument:
    """A scalar of a launch; `dtype` is an element type's name."""

    name: str
    dtype: str
    value: Any


@dataclass(frozen=True)
class Launched:
    """One launch. `arguments`: in the order of the parameters, without the constants, which `signature` has."""

    queue: Queue
    definition: KernelDefinition
    signature: Mapping[str, Spec]
    arguments: tuple[ArrayArgument | ScalarArgument, ...]
    grid: tuple[int, int, int]
    place: Location | None


@dataclass(frozen=True)
class Recorded:
    """An event at this point of a queue."""

    queue: Queue
    event: int
    place: Location | None


@dataclass(frozen=True)
class Waited:
    """Later work on the queue begins after the event; without one, the program waits for the queue."""

    queue: Queue
    event: int | None
    place: Location | None


Step: TypeAlias = Launched | Recorded | Waited


class Recording:
    """Notes what this thread launches, on any stream or on one, while it is open; the launches run as ever.

        with tileopt.Recording() as recording:
            kernel[grid](x, y)
        print(recording.ir())

    The arrays of its launches stay alive as long as it does.
    """

    def __init__(self, queue: Queue | None = None, captured: bool = False) -> None:
        self.steps: list[Step] = []
        self._queue = queue
        self._captured = captured
        self._kept: list[Any] = []

    def ir(self) -> str:
        """The launches as a module of the stream dialect, with the kernels that they ran: see `host_ir`.

        Errors: `stream/layout` for arrays that are not whole and row-major, or that share memory.
        """
        return str(self.module()) + "\n"

    def module(self) -> Any:
        """The same as IR in memory, each op placed at its line of Python."""
        from tileopt.backends.runtime.host_ir import module_of

        return module_of(self.steps, self._captured)

    def __enter__(self) -> Recording:
        global noting
        _open().append(self)
        noting += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        global noting
        noting -= 1
        _open().remove(self)

    def add(self, step: Step, keep: Any) -> None:
        """Notes a step of a queue that this recording is about. `keep`: what must outlive it."""
        if self._queue is None or self._queue == step.queue:
            self.steps.append(step)
            self._kept.append(keep)


_local = threading.local()


def _open() -> list[Recording]:
    try:
        return _local.open  # type: ignore[no-any-return]
    except AttributeError:
        _local.open = []
        return _local.open  # type: ignore[no-any-return]


def launched(
    queue: Queue,
    definition: KernelDefinition,
    signature: Mapping[str, Spec],
    arguments: Sequence[ArrayArgument | ScalarArgument],
    grid: tuple[int, int, int],
    keep: Any,
) -> None:
    """Notes a launch in every open recording of this thread."""
    step = Launched(queue, definition, signature, tuple(arguments), grid, call_site())
    for recording in _open():
        recording.add(step, keep)


def recorded(queue: Queue, event: Any) -> None:
    """Notes that an event was recorded."""
    for recording in _open():
        recording.add(Recorded(queue, id(event), call_site()), event)


def waited(queue: Queue, event: Any) -> None:
    """Notes that a queue waits for an event or, where that is None, the program for the queue."""
    for recording in _open():
        recording.add(Waited(queue, None if event is None else id(event), call_site()), event)


def is_open() -> bool:
    """Whether this thread notes anything."""
    return bool(_open())
