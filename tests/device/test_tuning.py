"""The autotuner and the report against a GPU and its driver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import Config, tile
from tileopt.backends.nvidia import driver
from tileopt.backends.nvidia.occupancy import occupancy
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.backends.runtime import defaults

RNG = np.random.default_rng()


@tile.kernel
def gemm(a: tile.In, b: tile.In, c: tile.Out, BM: tile.Const[int], BN: tile.Const[int], BK: tile.Const[int] = 32):
    i, j = tile.bid(0), tile.bid(1)
    acc = tile.zeros((BM, BN), tile.f32)
    for k in range(tile.cdiv(a.shape[1], BK)):
        acc = tile.mma(tile.load(a, (i, k), (BM, BK)), tile.load(b, (k, j), (BK, BN)), acc)
    tile.store(c, (i, j), acc.astype(c.dtype))


@tile.kernel
def add_one(x: tile.InOut, N: tile.Const[int]):
    tile.store(x, tile.bid(0), tile.load(x, tile.bid(0), N) + 1)


def test_a_product_is_tuned_and_right() -> None:
    """One of the configurations has an accumulator that no thread can hold."""
    configs = [
        Config(BM=64, BN=64),
        Config(BM=128, BN=128),
        Config(BM=1024, BN=1024),
        Config(BM=64, BN=128, num_stages=2),
    ]
    kernel = tileopt.autotune(configs, key=["a", "b"], budget_s=60)(gemm)
    m, n, k = (int(RNG.integers(150, 300)) for _ in range(3))
    a, b = RNG.standard_normal((m, k)).astype(np.float16), RNG.standard_normal((k, n)).astype(np.float16)
    c = tileopt.zeros((m, n), "f32", 0)
    kernel[lambda t: (tileopt.cdiv(m, t.BM), tileopt.cdiv(n, t.BN))](
        tileopt.asarray(a, device="cuda"), tileopt.asarray(b, device="cuda"), c
    )
    np.testing.assert_allclose(tileopt.to_numpy(c), a.astype(np.float64) @ b.astype(np.float64), atol=1e-3, rtol=1e-3)
    (found,) = kernel.tunings.values()
    assert [trial.config.BM for trial in found.failures] == [1024]
    assert all(trial.ms is None or 0 < trial.ms < 1e3 for trial in found.trials)


@pytest.mark.parametrize("captured", [False, True])
def test_arrays_are_what_one_launch_makes_of_them(captured: bool) -> None:
    host = RNG.standard_normal(100_001).astype(np.float32)
    x = tileopt.asarray(host, device="cuda")
    kernel = tileopt.autotune([Config(N=256), Config(N=1024)], key=["x"])(add_one.with_hints())
    grid: Any = lambda c: tileopt.cdiv(len(host), c.N)  # noqa: E731
    kernel[grid](x)
    if captured:
        stream, graph = tileopt.Stream("cuda"), tileopt.Graph()
        tileopt.synchronize()
        with graph.capture(stream):
            kernel[grid](x)
        graph.replay()
        stream.synchronize()
    np.testing.assert_array_equal(tileopt.to_numpy(x), host + np.float32(1) + np.float32(captured))


@pytest.mark.parametrize("shape", [(64, 64), (128, 128)])
def test_occupancy_is_the_drivers(shape: tuple[int, int]) -> None:
    on = driver.device(0)
    target = nvidia_target(defaults.for_device(on.arch).name)
    a = "f16[4096,4096]"
    made = gemm.compile(target.name, a=a, b=a, c=a, BM=shape[0], BN=shape[1])
    report = made.report
    function = driver.Function(on, made.cubin, made.name, report["threads"], report["shared_bytes"])
    with driver.current(0):
        blocks = driver.call(
            "ask for the occupancy",
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            function._handle,
            report["threads"],
            report["shared_bytes"],
        )
    assert report["occupancy"]["blocks"] == int(blocks)
    shared = report["shared_bytes"] + report["static_shared_bytes"]
    assert occupancy(target, report["threads"], report["registers"], shared) == report["occupancy"]
