"""Host programs on a real GPU: a captured graph and a recording of PyTorch's launches, dumped and run again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import tile
from tileopt.backends.nvidia import driver
from tileopt.backends.runtime import defaults
from tileopt.backends.runtime.host_run import find_program, run_program
from tileopt.dialects.xdsl_compat import create_context, parse_module


@tile.kernel
def mix(x: tile.In, y: tile.InOut, a: tile.f32):
    i = tile.bid(0)
    tile.store(y, i, tile.load(x, i, 64) * a + tile.load(y, i, 64))


def run_again(text: str, *inputs: Any) -> list[Any]:
    module = parse_module(create_context(), text)
    return run_program(module, find_program(module), inputs, defaults.for_device(driver.device(0).arch))


def test_a_graph_runs_again() -> None:
    x, start = (np.random.default_rng().random(1001).astype(np.float32) for _ in range(2))
    gpu_x, y = tileopt.asarray(x, device="cuda"), tileopt.asarray(start, device="cuda")
    mix[16](gpu_x, y, 0.0)
    tileopt.synchronize()
    graph, stream = tileopt.Graph(), tileopt.Stream("cuda")
    with graph.capture(stream):
        mix[16](gpu_x, y, 2.0)
        mix[16](gpu_x, y, -0.5)
    (result,) = run_again(graph.ir(), x, start)
    graph.replay()
    stream.synchronize()
    assert np.array_equal(result, tileopt.to_numpy(y))
    assert np.allclose(result, start.astype(np.float64) + 1.5 * x, atol=1e-5)


def test_a_recording_of_two_torch_streams_runs_again() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.rand(1001, device="cuda"), torch.zeros(1001, device="cuda")
    one, two = tileopt.Stream("cuda"), tileopt.Stream("cuda")
    torch.cuda.synchronize()
    with tileopt.Recording() as recording:
        mix[16](x, y, 2.0, stream=one)
        two.wait(one.record())
        mix[16](x, y, 3.0, stream=two)
        two.synchronize()
    (result,) = run_again(recording.ir(), x.cpu().numpy(), np.zeros(1001, np.float32))
    assert np.array_equal(result, y.cpu().numpy())
