"""Launches on different streams: conflicts without an order are found, and ordered programs are left alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import LaunchError, OwnershipError, simt, tile
from tileopt.backends.runtime import order, torch_trace
from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.backends.runtime.order import Tracker, Use
from tileopt.dialects.contracts import ParamKind


@tile.kernel
def scale(x: tile.In, out: tile.Out):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * 2.0)


@simt.kernel(block=(64,))
def count(hist: simt.Atomic["i32"]):
    simt.atomic_add(hist, 0, 1)


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    tileopt.check_order(True)
    yield
    tileopt.check_order(True)


def three() -> tuple[Any, Any, Any]:
    return np.ones(100, np.float32), np.empty(100, np.float32), np.empty(100, np.float32)


def streams(count: int = 2) -> list[Any]:
    return [tileopt.Stream("cpu") for _ in range(count)]


def test_a_read_after_a_write_on_another_stream() -> None:
    (x, y, z), (s, t) = three(), streams()
    scale[2](x, y, stream=s)  #! first
    with pytest.raises(OwnershipError) as caught:
        scale[2](y, z, stream=t)  #! second
    error = caught.value
    assert error.code == "ownership/unordered-launches" and isinstance(error, LaunchError)
    assert "'x'" in error.message and "#! second" in str(error) and "#! first" in str(error)


@pytest.mark.parametrize("how", ["wait", "event", "stream", "device", "third", "same"])
def test_what_orders(how: str) -> None:
    (x, y, z), (s, t, u) = three(), streams(3)
    scale[2](x, y, stream=s)
    if how == "wait":
        t.wait(s.record())
    elif how == "event":
        s.record().synchronize()
    elif how == "stream":
        s.synchronize()
    elif how == "device":
        tileopt.synchronize("cpu")
    elif how == "third":
        u.wait(s.record())
        t.wait(u.record())
    scale[2](y, z, stream=s if how == "same" else t)
    assert (z == 4).all()


def test_an_event_of_before_orders_nothing_after_it() -> None:
    (x, y, z), (s, t) = three(), streams()
    early = s.record()
    scale[2](x, y, stream=s)
    t.wait(early)
    with pytest.raises(OwnershipError):
        scale[2](y, z, stream=t)


def test_writes_after_reads_and_after_writes() -> None:
    (x, y, z), (s, t) = three(), streams()
    scale[2](x, y, stream=s)
    with pytest.raises(OwnershipError, match="writes 'out'"):
        scale[2](z, y, stream=t)
    with pytest.raises(OwnershipError, match="scale reads it here"):
        scale[2](z, x, stream=t)
    scale[2](x, z, stream=t)  # both only read x


def test_all_readers_must_be_over_before_a_write() -> None:
    (x, y, z), (s, t, u) = three(), streams(3)
    scale[2](x, y, stream=s)
    scale[2](x, z, stream=t)
    u.wait(t.record())
    with pytest.raises(OwnershipError):
        scale[2](np.ones(100, np.float32), x, stream=u)
    u.wait(s.record())
    scale[2](np.ones(100, np.float32), x, stream=u)


def test_parts_of_one_array() -> None:
    whole, (s, t) = np.ones(400, np.float32), streams()
    out = np.empty(400, np.float32)
    scale[4](whole[::2], out[::2], stream=s)
    scale[4](whole[1::2], out[1::2], stream=t)  # interleaved, and apart
    with pytest.raises(OwnershipError):
        scale[2](out[100:200], np.empty(100, np.float32), stream=s)


def test_atomics_meet() -> None:
    hist, (s, t) = np.zeros(4, np.int32), streams()
    count[1](hist, stream=s)
    count[1](hist, stream=t)
    assert hist[0] == 128


def test_memory_that_was_given_to_another_array() -> None:
    (_, y, z), (s, t) = three(), streams()
    for _ in range(20):
        x = np.ones(100, np.float32)
        scale[2](y, x, stream=s)
        del x
        x = np.ones(100, np.float32)  # most likely where the other was
        scale[2](x, z, stream=t)


def test_graphs_are_work_of_their_stream() -> None:
    (x, y, z), (s, t) = three(), streams()
    scale[2](x, y)
    graph = tileopt.Graph()
    with graph.capture(s):
        scale[2](x, y)
    scale[2](y, z, stream=t)  # nothing ran yet
    with pytest.raises(OwnershipError, match="the graph writes 'out'"):
        graph.replay()
    s.wait(t.record())
    graph.replay()
    with pytest.raises(OwnershipError):
        scale[2](y, z, stream=t)


def test_launches_without_a_stream_are_done_when_they_return() -> None:
    (x, y, z), (s,) = three(), streams(1)
    scale[2](x, y)
    scale[2](y, z, stream=s)
    scale[2](y, x)


def test_it_can_be_turned_off() -> None:
    (x, y, z), (s, t) = three(), streams()
    tileopt.check_order(False)
    scale[2](x, y, stream=s)
    scale[2](y, z, stream=t)
    assert not order.active
    tileopt.check_order(True)
    scale[2](z, y, stream=s)  # what came before is not held against it
    with pytest.raises(OwnershipError):
        scale[2](y, x, stream=t)


def test_threads_with_streams_of_their_own() -> None:
    x, shared = np.ones(100, np.float32), np.empty(100, np.float32)
    scale[2](x, shared)
    found: list[str] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        stream, mine = tileopt.Stream("cpu"), np.empty(100, np.float32)
        start.wait()
        try:
            for _ in range(20):
                scale[2](x, mine, stream=stream)
                scale[2](mine, shared, stream=stream)
        except OwnershipError as error:
            found.append(error.code)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["ownership/unordered-launches"] * 7  # all but the first to write


def test_threads_that_hand_over_by_events() -> None:
    array, events, turn = np.zeros(100, np.float32), [], threading.Condition()
    failed: list[BaseException] = []

    def work(number: int) -> None:
        stream, mine = tileopt.Stream("cpu"), np.ones(100, np.float32)
        try:
            with turn:
                turn.wait_for(lambda: len(events) == number)
                if events:
                    stream.wait(events[-1])
                scale[2](mine, array, stream=stream)
                events.append(stream.record())
                turn.notify_all()
        except BaseException as error:
            failed.append(error)
            with turn:  # the others need not wait for what does not come
                events.append(stream.record())
                turn.notify_all()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(events) == 8


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_against_happens_before(seed: int) -> None:
    """The tracker raises exactly where no chain of stream order and events leads from an earlier conflicting launch."""
    random = np.random.default_rng(seed)
    tracker, keep = Tracker(), [object() for _ in range(5)]
    edges: dict[int, set[int]] = {}  # each node's direct predecessors
    last: dict[int, set[int]] = {q: set() for q in range(4)}
    events: dict[int, set[int]] = {}
    done: set[int] = set()
    launched: list[tuple[int, list[tuple[int, bool]]]] = []

    def before(nodes: set[int]) -> set[int]:
        found, todo = set(), set(nodes)
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo |= edges[node]
        return found

    for node in range(120):
        queue, action = int(random.integers(4 if seed % 2 else 2)), random.random()
        if action < 0.55:
            uses = [(int(b), bool(random.random() < 0.4)) for b in random.permutation(5 if seed % 3 else 2)[:2]]
            ordered = before(last[queue] | done)
            clash = any(
                b == other_b and (w or other_w) and earlier not in ordered
                for earlier, others in launched
                for other_b, other_w in others
                for b, w in uses
            )
            made = [
                Use(100 * b, 100 * b + 40, ParamKind.OUT if w else ParamKind.IN, "x",
                    100 * b, ArrayInfo(100 * b, (10,), (1,), "f32", 4), lambda b=b: keep[b])  # type: ignore[misc]
                for b, w in uses
            ]  # fmt: skip
            try:
                if not tracker.again(queue, tuple(uses)):
                    tracker.launch(queue, "k", made, tuple(uses))
                raised = False
            except OwnershipError:
                raised = True
            assert raised == clash
            if not raised:
                edges[node] = last[queue] | done
                last[queue] = {node}
                launched.append((node, uses))
        elif action < 0.7:
            event = int(random.integers(6))
            tracker.record(queue, event)
            events[event] = last[queue] | done
        elif action < 0.9:
            event = int(random.integers(6))
            tracker.wait(queue, event)
            last[queue] = last[queue] | events.get(event, set())
        elif action < 0.97:
            tracker.synchronize(queue)
            done |= last[queue]
        else:
            tracker.synchronize()
            done |= set().union(*last.values())


def test_torchs_events_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: dict[str, Any] = {}
    trace = ModuleType("torch.cuda._gpu_trace")
    for name in ("event_record", "event_wait", "device_synchronization", "stream_synchronization",
                 "event_synchronization", "memory_deallocation"):  # fmt: skip
        setattr(trace, f"register_callback_for_{name}", lambda f, name=name: registered.__setitem__(name, f))
    torch: Any = ModuleType("torch")
    torch._C = SimpleNamespace(_activate_gpu_trace=lambda: registered.__setitem__("active", True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.cuda", ModuleType("torch.cuda"))
    monkeypatch.setitem(sys.modules, "torch.cuda._gpu_trace", trace)
    monkeypatch.setattr(torch_trace, "_began", False)
    monkeypatch.setattr(order, "_TRACKERS", {})
    order.check_order(True)
    assert registered["active"] and torch_trace.is_followed()
    tracker, info = order.tracker(0), ArrayInfo(0, (10,), (1,), "f32", 4)
    use = [Use(0, 40, ParamKind.OUT, "x", 0, info, lambda: info)]
    tracker.launch(7, "k", use)
    with pytest.raises(OwnershipError):
        tracker.launch(8, "k", use)
    registered["event_record"](99, 7)
    registered["event_wait"](99, 8)
    tracker.launch(8, "k", use)
    registered["stream_synchronization"](8)
    tracker.launch(9, "k", use)
    registered["event_record"](98, 9)
    registered["event_synchronization"](98)
    tracker.launch(10, "k", use)
    registered["device_synchronization"]()
    tracker.launch(11, "k", use)
