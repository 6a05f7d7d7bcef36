"""Recorded launches and graphs as host programs: what is dumped verifies, runs, and computes the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import OwnershipError, UnsupportedError, simt, tile
from tileopt.backends.runtime.host_run import find_program, run_program
from tileopt.dialects.verifier import verify
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.safety.verify_ownership import VerifyOwnership


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Launches on different streams are not held against each other."""
    tileopt.check_order(False)
    yield
    tileopt.check_order(True)


@tile.kernel
def mix(x: tile.In, y: tile.InOut, a: tile.f32, n: int, BLOCK: tile.Const[int] = 64):
    i = tile.bid(0)
    tile.store(y, i, tile.load(x, i, BLOCK) * a + tile.load(y, i, BLOCK) * n)


@simt.kernel(block=(32,), requires=["len(x) == len(out)"])
def shift(x: simt.Slice, out: simt.DisjointSlice, by: simt.u32, flag: simt.bool_):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i] + simt.f32(by) if flag else x[i]


def run_again(text: str, inputs: list[Any]) -> list[Any]:
    """The results of a dumped program, after it was printed, read, verified and printed again."""
    module = parse_module(create_context(), text)
    assert str(module) + "\n" == text
    verify(module)
    VerifyOwnership().apply(create_context(), module)
    return run_program(module, find_program(module), inputs)


def inputs_of(recording: Any, before: dict[int, Any]) -> list[Any]:
    """What each argument of the program held before the launches."""
    found: dict[Any, Any] = {}
    for step in recording.steps:
        for argument in getattr(step, "arguments", ()):
            if hasattr(argument, "info"):
                found.setdefault((argument.info.pointer, argument.info.shape), before[id(argument.value)])
    return list(found.values())


def written(recording: Any) -> list[Any]:
    """The arrays that the program returns: those that a launch writes, in the order of the first use of any."""
    arrays: dict[Any, Any] = {}
    changed: set[Any] = set()
    for step in recording.steps:
        for argument in getattr(step, "arguments", ()):
            if hasattr(argument, "info"):
                arrays.setdefault(id(argument.value), argument.value)
                if argument.writes:
                    changed.add(id(argument.value))
    return [array for key, array in arrays.items() if key in changed]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_on_streams_run_again(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 300))
    arrays = [random.random(size).astype(np.float32) for _ in range(4)]
    before = {id(a): a.copy() for a in arrays}
    streams = [tileopt.Stream("cpu") for _ in range(int(random.integers(1, 4)))]
    with tileopt.Recording() as recording:
        for _ in range(int(random.integers(1, 9))):
            queue = streams[int(random.integers(len(streams)))]
            for other in streams:
                if other is not queue:
                    queue.wait(other.record())
            x, y = (arrays[i] for i in random.permutation(4)[:2])
            if random.random() < 0.5:
                a = float(np.float32(random.standard_normal()))
                mix[tileopt.cdiv(size, 64)](x, y, a, int(random.integers(-3, 4)), stream=queue)
            else:
                by, flag = np.uint32(random.integers(1 << 31, 1 << 32)), bool(random.random() < 0.5)
                shift[tileopt.cdiv(size, 32)](x, y, by, flag, stream=queue)
    results = run_again(recording.ir(), inputs_of(recording, before))
    expected = written(recording)
    assert len(results) == len(expected)
    for result, array in zip(results, expected, strict=True):
        assert np.array_equal(result, array)


def test_a_graph_is_dumped_and_runs_as_it_replays(unchecked: None) -> None:
    x, y = np.random.default_rng().random(100).astype(np.float32), np.zeros(100, np.float32)
    mix[2](x, y, 1.0, 1)
    y[:] = 0
    graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
    with graph.capture(stream):
        mix[2](x, y, 2.0, 1)
        mix[2](x, y, 0.5, 3, BLOCK=128)
        mix[2](x, y, 0.5, 3, BLOCK=128, stream=tileopt.Stream("cpu"))  # on another stream: it runs, and is none of it
    y[:] = 1
    text = graph.ir()
    assert text.count("stream.launch") == 2 and text.count("tile.kernel @mix") == 2
    assert text.count("stream.graph") == text.count("stream.replay") == 1
    (result,) = run_again(text, [x, y])
    graph.replay()
    assert np.array_equal(result, y)
    assert np.allclose(y, 0.5 * x.astype(np.float64) + 3 * (2 * x.astype(np.float64) + 1), rtol=1e-5)


def test_each_launch_stands_at_its_line(unchecked: None) -> None:
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    with tileopt.Recording() as recording:
        mix[1](x, y, 1.0, 1, stream=tileopt.Stream("cpu"))  #! first
        mix[1](x, y, 1.0, 1, stream=tileopt.Stream("cpu"))  #! second
    with pytest.raises(OwnershipError) as caught:
        VerifyOwnership().apply(create_context(), recording.module())
    assert caught.value.code == "ownership/unordered-access"
    assert "#! second" in str(caught.value) and "#! first" in str(caught.value)


def test_a_stream_is_recorded_alone(unchecked: None) -> None:
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    ours, other = tileopt.Stream("cpu"), tileopt.Stream("cpu")
    with ours.recording() as recording:
        mix[1](x, y, 1.0, 1, stream=other)
        with ours:
            mix[1](x, y, 3.0, 1)
    assert recording.ir().count("stream.launch") == 1 and "3.0" in recording.ir()


def test_other_threads_are_not_recorded() -> None:
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    with tileopt.Recording() as recording:
        thread = threading.Thread(target=lambda: mix[1](x, y, 1.0, 1))
        thread.start()
        thread.join()
    assert not recording.steps
    mix[1](x, y, 1.0, 1)
    assert not recording.steps


def test_what_buffers_cannot_say_is_refused() -> None:
    x = np.ones((10, 20), np.float32)
    rows = np.ones(300, np.float32)

    @tile.kernel
    def flat(x: tile.In, out: tile.Out):
        tile.store(out, tile.bid(0), tile.load(x, tile.bid(0), 64))

    for source, target in ((x.T[0], np.empty(10, np.float32)), (rows[::2], rows[1::2])):
        with tileopt.Recording() as recording:
            flat[3](source, target)  #! here
        with pytest.raises(UnsupportedError) as caught:
            recording.ir()
        assert caught.value.code == "stream/layout" and "#! here" in str(caught.value)
    with tileopt.Recording() as recording:
        flat[2](rows[:100], rows[100:200])
        flat[2](rows[:100], rows[50:100].copy())
        flat[1](rows[200:], rows[100:164])
    with pytest.raises(UnsupportedError, match="shares memory"):
        recording.ir()
    with tileopt.Recording() as recording:  # two parts that are only read, and one that is apart
        flat[2](rows[:100], rows[200:])
        flat[2](rows[50:150], rows[200:])
    assert "borrow %x," in recording.ir() and "borrow %x_a," in recording.ir()


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i8", "u16", "bool"])
def test_elements_of_every_kind(dtype: str) -> None:
    from tileopt.dialects.dtypes import DTYPES

    @tile.kernel
    def copy(x: tile.In, out: tile.Out):
        tile.store(out, (tile.bid(0), 0), tile.load(x, (tile.bid(0), 0), (4, 32)))

    x = np.random.default_rng().integers(0, 2 if dtype == "bool" else 100, (7, 19)).astype(DTYPES[dtype].numpy)
    out = np.zeros_like(x)
    with tileopt.Recording() as recording:
        copy[2](x, out)
    (result,) = run_again(recording.ir(), [x, np.zeros_like(x)])
    assert np.array_equal(result.view(np.uint8), x.view(np.uint8))
