"""Ownership across launches with the arrays and streams of PyTorch, on a real GPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tileopt
from tileopt import OwnershipError, tile
from tileopt.backends.runtime import lifetimes

torch: Any = pytest.importorskip("torch")


@tile.kernel
def scale(x: tile.In, out: tile.Out, a: tile.f32 = 2.0):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * a)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_moved_tensors(device: str) -> None:
    x, out = torch.rand(100, device=device), torch.empty(100, device=device)
    owner = tileopt.move(x)
    with pytest.raises(OwnershipError) as caught:
        scale[2](x, out)
    assert caught.value.code == "ownership/use-after-move"
    scale[2](owner, out)
    assert torch.allclose(out, 2 * owner) and owner.data_ptr() == x.data_ptr()


def test_moved_device_arrays() -> None:
    x, out = tileopt.zeros(100, device="cuda"), tileopt.empty(100, device="cuda")
    owner = tileopt.move(x)
    for use in (lambda: scale[2](x, out), lambda: x[1:], lambda: x.T, lambda: x.numpy()):
        with pytest.raises(OwnershipError):
            use()
    scale[2](owner, out)
    assert not tileopt.to_numpy(out).any()


@pytest.fixture
def followed() -> Iterator[None]:
    """Launches are followed from here on, with PyTorch's events."""
    torch.cuda.synchronize()
    tileopt.check_order(True)
    yield
    torch.cuda.synchronize()
    tileopt.check_order(True)


ORDERS = ["wait_stream", "event", "stream", "device", "event on the host", "item"]


@pytest.mark.parametrize("how", ["nothing", *ORDERS])
def test_two_torch_streams(followed: None, how: str) -> None:
    x, y, z = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda"), torch.empty(1000, device="cuda")
    torch.cuda.synchronize()
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(one):
        scale[16](x, y)
        if how == "item":
            y.sum().item()
    if how == "wait_stream":
        two.wait_stream(one)
    elif how == "event":
        two.wait_event(one.record_event())
    elif how == "stream":
        one.synchronize()
    elif how == "device":
        torch.cuda.synchronize()
    elif how == "event on the host":
        one.record_event().synchronize()
    with torch.cuda.stream(two):
        if how == "nothing":
            with pytest.raises(OwnershipError) as caught:
                scale[16](y, z)
            assert caught.value.code == "ownership/unordered-launches"
            return
        scale[16](y, z)
    torch.cuda.synchronize()
    assert (z == 4).all()


def test_a_torch_stream_and_one_of_ours(followed: None) -> None:
    x, y, z = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda"), torch.empty(1000, device="cuda")
    torch.cuda.synchronize()
    ours, theirs = tileopt.Stream("cuda"), torch.cuda.Stream()
    scale[16](x, y, stream=ours)
    with pytest.raises(OwnershipError):
        scale[16](y, z, stream=theirs)
    theirs.wait_stream(torch.cuda.ExternalStream(ours.handle))
    scale[16](y, z, stream=theirs)
    theirs.synchronize()
    assert (z == 4).all()


def test_threads_with_torch_streams(followed: None) -> None:
    x, shared = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda")
    torch.cuda.synchronize()
    start, found = threading.Barrier(4), []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            mine = torch.empty(1000, device="cuda")
            start.wait()
            try:
                for _ in range(20):
                    scale[16](x, mine)
                    scale[16](mine, shared)
            except OwnershipError as error:
                found.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["ownership/unordered-launches"] * 3


def test_a_torch_graph_is_not_held_against_later_launches(followed: None) -> None:
    x, y = torch.ones(1000, device="cuda"), torch.empty(1000, device="cuda")
    scale[16](x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale[16](x, y)
    graph.replay()
    scale[16](x, y)


def test_tensors_live_until_the_stream_has_run(followed: None) -> None:
    stream, out = tileopt.Stream("cuda"), torch.zeros(1 << 22, device="cuda")
    slow = torch.ones(1 << 22, device="cuda")
    torch.cuda.synchronize()
    for _ in range(50):
        x = torch.full((1 << 22,), 3.0, device="cuda")
        torch.cuda.synchronize()
        scale[1 << 16](x, out, stream=stream)
        del x
        torch.full((1 << 22,), 7.0, device="cuda")  # where x was, if its memory were free
    stream.synchronize()
    assert lifetimes.held(0, stream.handle) == 0
    assert (out == 6).all() and slow.all()
