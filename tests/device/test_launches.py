"""Launches by the short cut on a real GPU: arrays of tileopt and of PyTorch, scalars, streams, threads and checks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import LaunchError, OwnershipError, tile
from tileopt.backends.nvidia import driver
from tileopt.backends.runtime import fast_match, fast_plan


@tile.kernel
def scale(x: tile.In, out: tile.Out, a: float, n: int):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * a + n)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What native code said of the arguments it was asked about."""
    found: list[int] = []
    match = fast_match.match()
    assert match is not None

    def spy(*args: Any) -> int:
        found.append(match(*args))
        return found[-1]

    monkeypatch.setattr(fast_match, "match", lambda: spy)
    return found


def test_the_driver_is_called_natively() -> None:
    assert driver._launch_address()


def test_many_launches_of_our_arrays(said: list[int]) -> None:
    x = np.random.default_rng().random(1001).astype(np.float32)
    source, outs = tileopt.asarray(x, device="cuda"), [tileopt.zeros(1001, device="cuda") for _ in range(3)]
    stream = tileopt.Stream("cuda")
    tileopt.synchronize()
    for k in range(60):
        scale[16](source, outs[k % 3], 0.5 * k, 2 * k + 1, stream=stream if k >= 30 else None)
        if k == 29:
            tileopt.synchronize()
        if k > 50 or k in (5, 29):
            tileopt.synchronize()
            expected = x.astype(np.float64) * (0.5 * k) + 2 * k + 1
            np.testing.assert_allclose(tileopt.to_numpy(outs[k % 3]), expected, rtol=1e-5)
    assert said.count(1) >= 40 and 2 not in said
    with pytest.raises(OwnershipError):
        scale[16](outs[0], outs[0], 1.0, 1)
    with pytest.raises(LaunchError):
        scale[16](source, outs[0], 1.0, 1 << 70)


def test_many_launches_of_tensors(said: list[int]) -> None:
    torch = pytest.importorskip("torch")
    x, out = torch.rand(1001, device="cuda"), torch.empty(1001, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    for k in range(60):
        with torch.cuda.stream(side if k >= 30 else torch.cuda.default_stream()):
            scale[16](x, out, 0.5 * k, 2 * k + 1)
        if k > 50 or k in (5, 29):
            torch.cuda.synchronize()
            assert torch.allclose(out, x * (0.5 * k) + 2 * k + 1)
    if fast_plan._exchange(torch.Tensor):
        assert said.count(1) >= 40
    # Metadata that changes in place, at the same address.
    square, target = torch.arange(64.0, device="cuda").reshape(8, 8), torch.empty(8, 8, device="cuda")

    @tile.kernel
    def copy(x: tile.In, out: tile.Out):
        tile.store(out, (0, 0), tile.load(x, (0, 0), (8, 8)))

    for _ in range(20):
        copy[1](square, target)
    square.t_()
    copy[1](square, target)
    torch.cuda.synchronize()
    assert torch.equal(target, square)
    assert torch.equal(target, torch.arange(64.0, device="cuda").reshape(8, 8).T)
    negated = torch.imag(torch.complex(torch.zeros(8, 8), torch.ones(8, 8)).cuda().conj())
    assert negated.is_neg()
    with pytest.raises(LaunchError):
        copy[1](negated.view(8, 8), target)


def test_threads_launch_at_once() -> None:
    x = np.arange(640, dtype=np.float32)
    source = tileopt.asarray(x, device="cuda")
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            stream, out = tileopt.Stream("cuda"), tileopt.zeros(640, device="cuda")
            for k in range(50):
                scale[10](source, out, float(number), 2 * k + 1, stream=stream)
                if k % 10 == 9:
                    stream.synchronize()
                    expected = x.astype(np.float64) * number + 2 * k + 1
                    np.testing.assert_allclose(tileopt.to_numpy(out), expected, rtol=1e-5)
        except BaseException as error:
            failed.append(error)

    tileopt.synchronize()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
