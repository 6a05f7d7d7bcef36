"""Streams, events and graphs on the CPU: the same program as on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime.fakes import COUNT, FakeKernel, parameter

import tileopt
from tileopt.dialects.diagnostics import LaunchError

KERNEL = (parameter("out", "inout"),)


def test_launches_on_a_cpu_stream(launch: Any) -> None:
    out, stream = np.zeros(4, np.int64), tileopt.Stream("cpu")
    launch(FakeKernel(KERNEL, COUNT), (4,), out, stream=stream)
    with stream:
        launch(FakeKernel(KERNEL, COUNT), (4,), out)
    stream.synchronize()
    tileopt.synchronize()
    assert (out == 2).all()


def test_a_gpus_stream_is_refused_for_host_arrays(launch: Any) -> None:
    for stream in (7, "s", object()):
        with pytest.raises(LaunchError) as error:
            launch(FakeKernel(KERNEL, COUNT), (4,), np.zeros(4, np.int64), stream=stream)
        assert error.value.code == "launch/stream"
        assert ("is no stream" in error.value.message) == (stream != 7)


def test_a_graph_replays_its_writes(launch: Any) -> None:
    kernel, graph, stream = FakeKernel(KERNEL, COUNT), tileopt.Graph(), tileopt.Stream("cpu")
    a, b = np.zeros(4, np.int64), np.zeros(6, np.int64)
    with graph.capture(stream):
        launch(kernel, (4,), a)
        launch(kernel, (6,), b, stream=stream)
    assert not a.any()  # captured, not run
    assert not b.any()
    for times in (1, 2, 3):
        graph.replay()
        assert (a == times).all()
        assert (b == times).all()
    launch(kernel, (4,), a)
    assert (a == 4).all()
    graph.replay()
    assert (a == 5).all()


def test_a_graph_keeps_its_arrays(launch: Any) -> None:
    graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
    with graph.capture(stream):
        launch(FakeKernel(KERNEL, COUNT), (4,), np.zeros(4, np.int64))
    graph.replay()


def test_misuse_of_graphs(launch: Any) -> None:
    graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
    with pytest.raises(LaunchError, match="nothing was captured"):
        graph.replay()
    with graph.capture(stream), pytest.raises(LaunchError, match="being captured"), tileopt.Graph().capture(stream):
        pass
    with pytest.raises(LaunchError, match="captured already") as again, graph.capture(stream):
        pass
    other = tileopt.Graph()
    with other.capture(stream), pytest.raises(LaunchError, match="graph is being captured") as nested:
        with other.capture(tileopt.Stream("cpu")):
            pass
    for error in (again.value, nested.value):
        assert error.help is not None
        assert error.location is not None and error.location.file == __file__
    failed = tileopt.Graph()
    with pytest.raises(KeyError), failed.capture(stream):
        raise KeyError
    with pytest.raises(LaunchError, match="nothing was captured"):
        failed.replay()
    launch(FakeKernel(KERNEL, COUNT), (1,), np.zeros(4, np.int64), stream=stream)


def test_no_event_and_no_kernel() -> None:
    start = tileopt.Event("cpu")
    start.record()
    with pytest.raises(LaunchError, match="takes the later event, not 3"):
        start.elapsed(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(tileopt.CompileError, match="takes a kernel, not 3") as error:
        tileopt.compile(3, "sm_90a")
    assert error.value.code == "kernel/function"


def test_events_take_the_time() -> None:
    stream = tileopt.Stream("cpu")
    start = stream.record()
    end = tileopt.Event("cpu")
    with pytest.raises(LaunchError, match="not recorded"):
        start.elapsed(end)
    end.record(stream)
    assert end.done()
    assert start.elapsed(end) >= 0
    stream.wait(end)
    end.synchronize()
