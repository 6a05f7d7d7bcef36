"""Streams, events and graphs, on CUDA devices and on the CPU.

On the CPU a launch is done when it returns: a stream there only marks order, an event takes the time, and a graph keeps
its launches and runs them again. A program that uses them is the same on both.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tileopt.backends.runtime import moves, order, recording, torch_trace
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.diagnostics import DeviceError, shown

active = 0  # how many `with stream:` and captures are open in the process; a launch asks no further while it is 0
_local = threading.local()


_OURS: set[int] = set()  # handles of CUDA streams that were made here


def is_followed(stream: Any, handle: int, from_torch: bool) -> bool:
    """Whether all that orders this stream's work is seen (see `order`). `stream`: as given, None for the current."""
    if "cupy" in sys.modules:
        return False  # what it waits for is not seen
    if "torch" in sys.modules and not torch_trace.is_followed():
        order.begin()
        if not torch_trace.is_followed():
            return False
    if handle == 0 or handle in _OURS:
        return True
    if not torch_trace.is_followed() or not (from_torch if stream is None else hasattr(stream, "cuda_stream")):
        return False
    from tileopt.backends.nvidia import queues

    return not queues.is_capturing(handle)  # a graph of PyTorch's does not say when it is replayed


def _stack() -> list[Stream]:
    try:
        return _local.stack  # type: ignore[no-any-return]
    except AttributeError:
        _local.stack = []
        return _local.stack  # type: ignore[no-any-return]


def current_stream() -> Stream | None:
    """The stream of the innermost `with stream:` in this thread."""
    stack = _stack() if active else []
    return stack[-1] if stack else None


def _where(device: int | str | None) -> int:
    from tileopt.backends.runtime.device_array import place

    found = place(device)
    return HOST if found is None else found


class Stream:
    """A queue of work on one device ("cpu", "cuda", "cuda:1" or an ordinal; by default where arrays are made).

    Launches take it as `stream=`, or inside `with stream:`.
    """

    def __init__(self, device: int | str | None = None) -> None:
        from tileopt.backends.nvidia import queues

        self.device = _where(device)
        self.handle = 0
        self.graph: Graph | None = None  # that is being captured from this stream
        order.begin()
        if self.device != HOST:
            self.handle = queues.create_stream(self.device)
            _OURS.add(self.handle)
            weakref.finalize(self, _quietly, queues.destroy_stream, self.device, self.handle).atexit = False

    def __cuda_stream__(self) -> tuple[int, int]:
        if self.device == HOST:
            raise launch_error("stream", "a stream of the CPU is no CUDA stream")
        return 0, self.handle

    def synchronize(self) -> None:
        """Waits for all work on the stream."""
        if recording.noting:
            recording.waited(queue_of(self), None)
        if self.device != HOST:
            from tileopt.backends.nvidia import queues
            from tileopt.backends.runtime import lifetimes

            queues.synchronize_stream(self.device, self.handle)
            lifetimes.release(self.device, self.handle)
        if order.active:
            order.tracker(self.device).synchronize(queue_of(self))

    def wait(self, event: Event) -> None:
        """Work queued from now on waits for the event."""
        if recording.noting:
            recording.waited(queue_of(self), event)
        if order.active and event.device == self.device:
            order.tracker(self.device).wait(queue_of(self), event.key)
        if self.device != HOST and event.handle:
            from tileopt.backends.nvidia import queues

            queues.wait_event(self.device, self.handle, event.handle)
        elif event.device != self.device:
            event.synchronize()

    def record(self) -> Event:
        """A new event for what is on the stream by now."""
        event = Event("cpu" if self.device == HOST else self.device)
        event.record(self)
        return event

    def recording(self) -> recording.Recording:
        """Notes what is launched on this stream in a `with` block: see `tileopt.Recording`."""
        return recording.Recording(queue_of(self))

    def __enter__(self) -> Stream:
        global active
        _stack().append(self)
        active += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        global active
        _stack().pop()
        active -= 1

    def __repr__(self) -> str:
        return "Stream('cpu')" if self.device == HOST else f"Stream('cuda:{self.device}', {self.handle:#x})"


class Event:
    """A point in a stream's work."""

    def __init__(self, device: int | str | None = None) -> None:
        from tileopt.backends.nvidia import queues

        self.device = _where(device)
        self.handle = 0
        self._time = 0.0
        self._recorded = False
        if self.device != HOST:
            self.handle = queues.create_event(self.device, timing=True)
            weakref.finalize(self, _quietly, queues.destroy_event, self.device, self.handle).atexit = False

    @property
    def key(self) -> int:
        """What tells the event apart from others of its device."""
        return self.handle or id(self)

    def record(self, stream: Stream | Any = None) -> None:
        """Stands for all that is on the stream by now (by default the current one)."""
        self._recorded = True
        if recording.noting:
            recording.recorded(queue_of(stream or current_stream()), self)
        if order.active:
            order.tracker(self.device).record(queue_of(stream or current_stream()), self.key)
        if self.device == HOST:
            self._time = time.perf_counter()
            return
        from tileopt.backends.nvidia import queues

        if stream is None:
            stream = current_stream() or 0
        queues.record_event(self.device, self.handle, handle_of(stream))

    def synchronize(self) -> None:
        """Waits for what the event stands for."""
        if self.handle and self._recorded:
            from tileopt.backends.nvidia import queues

            queues.synchronize_event(self.device, self.handle)
        if order.active:
            order.tracker(self.device).synchronize_event(self.key)

    def done(self) -> bool:
        """Whether what the event stands for is done."""
        if not self.handle or not self._recorded:
            return True
        from tileopt.backends.nvidia import queues

        return queues.query_event(self.device, self.handle)

    def elapsed(self, end: Event) -> float:
        """Milliseconds from this event to a later one."""
        if not isinstance(end, Event):
            raise launch_error(
                "event",
                f"elapsed() takes the later event, not {shown(end)}",
                help="write start.elapsed(end), both of them tileopt.Event",
            )
        if not self._recorded or not end._recorded:
            raise launch_error("event", "an event that was not recorded has no time", help="record both events first")
        if self.device != end.device:
            raise launch_error("event", "the events are of different devices")
        if self.device == HOST:
            return (end._time - self._time) * 1e3
        from tileopt.backends.nvidia import queues

        end.synchronize()
        return queues.elapsed(self.device, self.handle, end.handle)


class Graph:
    """Launches that were captured once and are replayed together.

        graph = tileopt.Graph()
        with graph.capture(stream):
            kernel[grid](x, y)
        graph.replay()

    Each kernel must have run once before with arguments like these, so that nothing is compiled during the capture. The
    graph keeps the arrays of its launches alive.
    """

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._capturing = False
        self._executable: Any = None
        self._calls: list[Callable[[], None]] = []
        self._kept: list[Sequence[Any]] = []
        self._recording = recording.Recording()
        self._uses: list[order.Use] = []

    @contextmanager
    def capture(self, stream: Stream | None = None) -> Iterator[Graph]:
        """Launches on the stream in this block are kept, not run. An error inside discards them."""
        stream = stream or Stream()
        if stream.graph is not None:
            raise launch_error(
                "graph",
                "the stream is being captured already",
                help="end that capture first, or capture from another tileopt.Stream",
            )
        if self._capturing:
            raise launch_error(
                "graph",
                "the graph is being captured already",
                help="launch inside one `with graph.capture(stream):`, or make another tileopt.Graph",
            )
        if self._stream is not None:
            raise launch_error("graph", "the graph was captured already", help="make another tileopt.Graph")
        from tileopt.backends.nvidia import queues

        on_gpu = stream.device != HOST
        if on_gpu:
            queues.begin_capture(stream.device, stream.handle)
        stream.graph, self._capturing = self, True
        self._recording = recording.Recording(queue_of(stream), captured=True)
        try:
            with stream, self._recording:
                yield self
        except BaseException:
            self._calls.clear()
            self._kept.clear()
            if on_gpu:
                _quietly(queues.end_capture, stream.device, stream.handle)
            raise
        finally:
            stream.graph, self._capturing = None, False
        if on_gpu:
            captured = queues.end_capture(stream.device, stream.handle)
            self._executable = queues.instantiate(stream.device, captured)
            weakref.finalize(self, _quietly, queues.destroy_executable, stream.device, self._executable).atexit = False
        self._stream = stream

    def ir(self) -> str:
        """The captured launches as a module of the stream dialect, whose program captures them in a `stream.graph` and
        replays it once: see `tileopt.Recording.ir`."""
        return self._recording.ir()

    def add(self, call: Callable[[], None]) -> None:
        """Keeps a launch on the CPU."""
        self._calls.append(call)

    def keep(self, values: Sequence[Any]) -> None:
        """Keeps the arguments of a launch alive as long as the graph."""
        self._kept.append(values)

    def use(self, uses: Sequence[order.Use]) -> None:
        """Notes the arrays that a launch touches."""
        self._uses += uses

    def replay(self, stream: Stream | Any = None) -> None:
        """Runs the captured launches, on the stream that they were captured from or another."""
        if self._stream is None:
            raise launch_error(
                "graph", "nothing was captured", help="launch kernels inside `with graph.capture(stream):`"
            )
        if moves.MOVED:
            for values in self._kept:
                moves.check(values)
        if order.active:
            queue = queue_of(self._stream if stream is None else stream)
            order.tracker(self._stream.device).launch(queue, "the graph", self._uses)
        if self._stream.device == HOST:
            for call in self._calls:
                call()
            return
        from tileopt.backends.nvidia import queues

        handle = self._stream.handle if stream is None else handle_of(stream)
        queues.launch_graph(self._stream.device, self._executable, handle)


def _quietly(function: Callable[..., Any], *args: Any) -> None:
    try:
        function(*args)
    except DeviceError:
        return  # in a finaliser, or while another error is on its way: there is nobody to tell


def handle_of(stream: Any) -> int:
    """The CUDA handle of a stream of ours, of PyTorch, CuPy, Numba or cuda.core, or of an int."""
    if isinstance(stream, Stream):
        return stream.handle
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found: Any = protocol() if callable(protocol) else protocol
        return int(found[1])
    for name in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    numba = getattr(getattr(stream, "handle", None), "value", None)
    if numba is not None or hasattr(stream, "handle"):
        return int(numba or 0)
    raise launch_error(
        "stream",
        f"{type(stream).__name__} is no stream",
        help="pass a tileopt.Stream, a stream of PyTorch or CuPy, or a handle as int",
    )


def queue_of(stream: Any) -> recording.Queue:
    """What tells a stream's work apart from that of others."""
    if stream is None:
        return 0
    if isinstance(stream, Stream) and stream.device == HOST:
        return id(stream)
    return handle_of(stream)


def synchronize(device: int | str | None = None) -> None:
    """Waits for all work of one device; by default of every device that was used. Nothing to do on the CPU."""
    from tileopt.backends.nvidia import driver

    if device is None:
        for ordinal in driver.opened():
            driver.synchronize(ordinal)
        order.tracker(HOST).synchronize()
        return
    where = _where(device)
    if where != HOST:
        driver.synchronize(where)
    else:
        order.tracker(HOST).synchronize()
