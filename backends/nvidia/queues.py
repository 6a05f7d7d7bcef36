"""Streams, events and graphs of the CUDA driver, by integer handle."""

from __future__ import annotations

from typing import Any

from tileopt.backends.nvidia.driver import bindings, call, current, hold_frees, release_frees


def _stream(handle: int) -> Any:
    return bindings().CUstream(handle)


def create_stream(ordinal: int) -> int:
    """A stream that does not wait for the legacy default stream."""
    with current(ordinal):
        flag = bindings().CUstream_flags.CU_STREAM_NON_BLOCKING
        return int(call("create a stream", "cuStreamCreate", int(flag)))


def destroy_stream(ordinal: int, handle: int) -> None:
    with current(ordinal):
        call("destroy a stream", "cuStreamDestroy", _stream(handle))


def synchronize_stream(ordinal: int, handle: int) -> None:
    with current(ordinal):
        call("synchronise a stream", "cuStreamSynchronize", _stream(handle))


def create_event(ordinal: int, timing: bool) -> int:
    with current(ordinal):
        flags = bindings().CUevent_flags
        flag = flags.CU_EVENT_DEFAULT if timing else flags.CU_EVENT_DISABLE_TIMING
        return int(call("create an event", "cuEventCreate", int(flag)))


def destroy_event(ordinal: int, handle: int) -> None:
    with current(ordinal):
        call("destroy an event", "cuEventDestroy", bindings().CUevent(handle))


def record_event(ordinal: int, event: int, stream: int) -> None:
    with current(ordinal):
        call("record an event", "cuEventRecord", bindings().CUevent(event), _stream(stream))


def wait_event(ordinal: int, stream: int, event: int) -> None:
    """Work queued on the stream from now on waits for the event."""
    with current(ordinal):
        call("wait for an event", "cuStreamWaitEvent", _stream(stream), bindings().CUevent(event), 0)


def synchronize_event(ordinal: int, event: int) -> None:
    with current(ordinal):
        call("synchronise an event", "cuEventSynchronize", bindings().CUevent(event))


def query_event(ordinal: int, event: int) -> bool:
    """Whether all that the event stands for is done."""
    cu = bindings()
    with current(ordinal):
        (result,) = cu.cuEventQuery(cu.CUevent(event))
        if result.name == "CUDA_ERROR_NOT_READY":
            return False
        if result:
            call("query an event", "cuEventQuery", cu.CUevent(event))
    return True


def elapsed(ordinal: int, start: int, end: int) -> float:
    """Milliseconds between two events."""
    cu = bindings()
    with current(ordinal):
        return float(call("time events", "cuEventElapsedTime", cu.CUevent(start), cu.CUevent(end)))


def order(ordinal: int, first: int, then: int) -> None:
    """Work queued on `then` from now on waits for what is queued on `first` by now."""
    if first == then:
        return
    event = create_event(ordinal, timing=False)
    try:
        record_event(ordinal, event, first)
        wait_event(ordinal, then, event)
    finally:
        destroy_event(ordinal, event)


def copy(ordinal: int, target: int, source: int, count: int, stream: int) -> None:
    """Queues a copy from device memory to device memory."""
    if count:
        with current(ordinal):
            call("copy on the device", "cuMemcpyDtoDAsync", target, source, count, _stream(stream))


def fill(ordinal: int, target: int, count: int, stream: int) -> None:
    """Queues zero bytes for device memory."""
    with current(ordinal):
        call("clear memory", "cuMemsetD8Async", target, 0, count, _stream(stream))


def begin_capture(ordinal: int, stream: int) -> None:
    mode = bindings().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    with current(ordinal):
        call("begin a capture", "cuStreamBeginCapture", _stream(stream), mode)
    hold_frees()


def is_capturing(stream: int) -> bool:
    """Whether work on the stream goes into a graph, anybody's."""
    status = call("query a stream", "cuStreamIsCapturing", _stream(stream))
    return bool(status != bindings().CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE)


def end_capture(ordinal: int, stream: int) -> Any:
    """The captured graph."""
    try:
        with current(ordinal):
            return call("end a capture", "cuStreamEndCapture", _stream(stream))
    finally:
        release_frees()


def instantiate(ordinal: int, graph: Any) -> Any:
    """An executable of the graph, which is destroyed."""
    with current(ordinal):
        try:
            return call("instantiate a graph", "cuGraphInstantiate", graph, 0)
        finally:
            call("destroy a graph", "cuGraphDestroy", graph)


def launch_graph(ordinal: int, executable: Any, stream: int) -> None:
    with current(ordinal):
        call("launch a graph", "cuGraphLaunch", executable, _stream(stream))


def destroy_executable(ordinal: int, executable: Any) -> None:
    with current(ordinal):
        call("destroy a graph", "cuGraphExecDestroy", executable)
