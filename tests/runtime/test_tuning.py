"""The autotuner: what it tries, survives and keeps, and that it changes no array. No real time is asked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.fake_cuda import FakeCuda

import tileopt
from tileopt import Config, simt, tile
from tileopt.backends.runtime.tuning import TunedKernel
from tileopt.backends.runtime.tuning import compiler as compiling
from tileopt.backends.runtime.tuning.snapshot import Snapshot
from tileopt.dialects.contracts import Parameter, ParamKind

RNG = np.random.default_rng()


@tile.kernel
def scale(x: tile.InOut, factor: tile.f32, BLOCK: tile.Const[int] = 64):
    i = tile.bid(0)
    tile.store(x, (i,), tile.load(x, (i,), (BLOCK,)) * factor)


class Watch:
    """In place of a clock: each configuration's time by its BLOCK, and a note of each run."""

    def __init__(self, times: dict[int, float], name: str = "BLOCK") -> None:
        self.times, self.name = times, name
        self.runs: list[int] = []

    def __call__(self, run: Callable[[], None], config: Config) -> float:
        run()
        self.runs.append(getattr(config, self.name))
        return self.times[self.runs[-1]]


def blocks(*sizes: int, **more: Any) -> list[Config]:
    return [Config(BLOCK=size, **more) for size in sizes]


def tuned(kernel: Any, watch: Watch, configs: Any, **more: Any) -> TunedKernel:
    return tileopt.autotune(configs, processes=1, measure=watch, **more)(kernel)


def launch(kernel: TunedKernel, x: np.ndarray[Any, Any], **more: Any) -> None:
    kernel[lambda c: (tileopt.cdiv(len(x), c.BLOCK),)](x, 2.0, **more)


def test_the_fastest_is_launched_once_and_no_array_is_changed_by_the_search() -> None:
    watch = Watch({32: 3.0, 128: 1.0, 256: 1.2})
    kernel = tuned(scale, watch, blocks(32, 128, 256))
    x = RNG.standard_normal(1000 + int(RNG.integers(50))).astype(np.float32)
    expected = x.astype(np.float64) * 2
    launch(kernel, x)
    np.testing.assert_array_equal(x, expected.astype(np.float32))
    assert kernel.best == Config(BLOCK=128)
    assert set(watch.runs) == {32, 128, 256}
    count = len(watch.runs)
    launch(kernel, x)
    assert len(watch.runs) == count  # known now
    np.testing.assert_array_equal(x, (expected * 2).astype(np.float32))


def test_hopeless_configurations_are_given_up_early() -> None:
    watch = Watch({32: 1.0, 64: 1.51, 128: 1.4})
    kernel = tuned(scale, watch, blocks(32, 64, 128))
    launch(kernel, np.ones(500, np.float32))
    (found,) = kernel.tunings.values()
    samples = {trial.config.BLOCK: trial.samples for trial in found.trials}
    assert samples == {32: 30, 64: 2, 128: 30}
    assert "given up" in str(found) and str(found).startswith("* Config(BLOCK=32): 1.0000 ms")


def test_those_close_to_the_best_are_measured_again_in_turns() -> None:
    times = {32: itertools.chain([1.0] * 31, itertools.repeat(9.0)), 64: itertools.repeat(1.04)}
    runs: list[int] = []

    def watch(run: Callable[[], None], config: Config) -> float:
        run()
        runs.append(config.BLOCK)
        return next(times[config.BLOCK])  # type: ignore[call-overload, no-any-return]

    kernel = tileopt.autotune(blocks(32, 64), processes=1, measure=watch)(scale)
    launch(kernel, np.ones(500, np.float32))
    assert runs[-20:] == [32, 64] * 10
    assert kernel.best == Config(BLOCK=32)  # its median is still the first runs'


def test_what_fails_is_told_and_the_rest_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch({64: 1.0, 0: 0.1})
    kernel = tuned(scale, watch, blocks(0, 64))
    x = np.ones(100, np.float32)
    launch(kernel, x)
    assert kernel.best == Config(BLOCK=64)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "tuning scale: 1 of 2 configurations failed"
    assert len(told) == 2 and told[1].startswith("  Config(BLOCK=0): ")


def test_where_nothing_runs_the_reasons_are_the_error() -> None:
    kernel = tuned(scale, Watch({}), blocks(0, -1))
    with pytest.raises(tileopt.CompileError) as caught:
        launch(kernel, np.ones(100, np.float32))
    assert caught.value.code == "tune/no-config"
    assert "Config(BLOCK=0)" in str(caught.value) and "Config(BLOCK=-1)" in str(caught.value)


def test_a_run_that_fails_leaves_the_arrays_alone() -> None:
    def watch(run: Callable[[], None], config: Config) -> float:
        run()
        if config.BLOCK == 32:
            raise tileopt.LaunchError("launch/example", "it does not go")
        return 1.0

    kernel = tileopt.autotune(blocks(32, 64, 128), processes=1, measure=watch)(scale)
    x = RNG.standard_normal(300).astype(np.float32)
    expected = x * np.float32(2)
    launch(kernel, x)
    np.testing.assert_array_equal(x, expected)
    (found,) = kernel.tunings.values()
    assert [trial.config.BLOCK for trial in found.failures] == [32]


def test_atomics_start_from_what_was_there() -> None:
    @tile.kernel
    def total(x: tile.In, out: tile.Atomic, BLOCK: tile.Const[int]):
        tile.atomic_add(out, 0, tile.sum(tile.load(x, (0, tile.bid(0)), (16, BLOCK)), axis=1))

    x = RNG.integers(0, 10, (16, 640)).astype(np.int32)
    out = np.arange(16, dtype=np.int32)

    def watch(run: Callable[[], None], config: Config) -> float:
        np.testing.assert_array_equal(out, np.arange(16))  # each run begins with this
        run()
        return 1.0

    kernel = tileopt.autotune(blocks(32, 64), processes=1, measure=watch)(total)
    kernel[lambda c: (640 // c.BLOCK,)](x, out)
    np.testing.assert_array_equal(out, np.arange(16) + x.sum(axis=1))


def test_tune_launches_nothing_besides() -> None:
    kernel = tuned(scale, Watch({32: 2.0, 64: 1.0}), blocks(32, 64))
    x = RNG.standard_normal(100).astype(np.float32)
    before = x.copy()
    found = kernel.tune(lambda c: (tileopt.cdiv(100, c.BLOCK),), x, 2.0)
    assert found.best == Config(BLOCK=64)
    np.testing.assert_array_equal(x, before)


def test_each_key_is_measured_and_each_element_type() -> None:
    watch = Watch({32: 1.0, 64: 2.0})
    kernel = tuned(scale, watch, blocks(32, 64), key=["x"])
    for x in (np.ones(100, np.float32), np.ones(200, np.float32), np.ones(100, np.float64), np.ones(100, np.float32)):
        launch(kernel, x)
    assert len(kernel.tunings) == 3


def test_the_disk_keeps_results(own_cache: Path) -> None:
    x = np.ones(100, np.float32)
    launch(tuned(scale, Watch({32: 2.0, 64: 1.0}), blocks(32, 64)), x)
    silent = Watch({})
    again = tuned(scale, silent, blocks(32, 64))
    launch(again, x)
    assert again.best == Config(BLOCK=64) and not silent.runs
    (found,) = again.tunings.values()
    assert found.from_disk and [trial.ms for trial in found.trials] == [2.0, 1.0]
    other = Watch({32: 1.0, 128: 2.0})
    launch(tuned(scale, other, blocks(32, 128)), x)  # another search
    assert other.runs


def test_a_damaged_result_is_measured_anew(own_cache: Path) -> None:
    x = np.ones(100, np.float32)
    launch(tuned(scale, Watch({32: 2.0, 64: 1.0}), blocks(32, 64)), x)
    for path in own_cache.rglob("*.bin"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    watch = Watch({32: 1.0, 64: 2.0})
    kernel = tuned(scale, watch, blocks(32, 64))
    launch(kernel, x)
    assert watch.runs and kernel.best == Config(BLOCK=32)


def test_the_budget_ends_the_search() -> None:
    """A clock that goes on by a second at each look: the first is compiled whatever it takes, some are left out."""
    watch = Watch(dict.fromkeys((16, 32, 64, 128), 1.0))
    kernel = tuned(scale.with_hints(), watch, blocks(16, 32, 64, 128), budget_s=4.0)
    kernel.clock = itertools.count().__next__
    launch(kernel, np.ones(100, np.float32))
    (found,) = kernel.tunings.values()
    assert "not compiled within the budget" in {trial.why for trial in found.trials}
    assert not found.failures
    unlimited = tuned(scale, watch, blocks(16, 32, 64, 128), budget_s=0.0)
    unlimited.tune(4, np.ones(64, np.float32), 2.0)


def test_no_measurement_in_a_capture() -> None:
    watch = Watch({32: 2.0, 64: 1.0})
    kernel = tuned(scale, watch, blocks(32, 64))
    x = np.ones(100, np.float32)
    stream, graph = tileopt.Stream("cpu"), tileopt.Graph()
    with graph.capture(stream):
        launch(kernel, x)
        assert kernel.best == Config(BLOCK=32) and not watch.runs
        with pytest.raises(tileopt.LaunchError, match="captured"):
            kernel.tune(2, x, 2.0)
    np.testing.assert_array_equal(x, np.ones(100))
    graph.replay()
    np.testing.assert_array_equal(x, np.full(100, 2))
    launch(kernel, x)  # the capture decided nothing
    assert kernel.best == Config(BLOCK=64)
    with tileopt.Graph().capture(tileopt.Stream("cpu")):
        launch(kernel, x)
        assert kernel.best == Config(BLOCK=64)


def test_recordings_hold_the_launch_alone() -> None:
    kernel = tuned(scale, Watch({32: 2.0, 64: 1.0}), blocks(32, 64))
    with tileopt.Recording() as recording:
        launch(kernel, np.ones(128, np.float32))
    assert recording.ir().count("stream.launch") == 1


def test_constants_of_the_call_and_their_order() -> None:
    @tile.kernel
    def fill(out: tile.Out, VALUE: tile.Const[int], BLOCK: tile.Const[int], SHIFT: tile.Const[int] = 3):
        tile.store(out, (tile.bid(0),), tile.full((BLOCK,), VALUE + SHIFT, tile.i32))

    watch = Watch({32: 2.0, 64: 1.0})
    kernel = tileopt.autotune(blocks(32, 64), processes=1, measure=watch)(fill)
    out = np.zeros(100, np.int32)
    seen: list[Config] = []

    def grid(c: Config) -> tuple[int]:
        seen.append(c)
        return (tileopt.cdiv(100, c.BLOCK),)

    kernel[grid](out, VALUE=7)
    np.testing.assert_array_equal(out, np.full(100, 10))
    assert (seen[0].VALUE, seen[0].SHIFT) == (7, 3)
    kernel[grid](out, 8)
    np.testing.assert_array_equal(out, np.full(100, 11))
    assert (seen[-1].VALUE, seen[-1].SHIFT, seen[-1].BLOCK) == (8, 3, 64)
    with pytest.raises(tileopt.LaunchError, match="'BLOCK' of fill is tuned"):
        kernel[grid](out, VALUE=7, BLOCK=16)


def test_a_constant_before_the_tuned_ones_is_seen_by_the_grid() -> None:
    @tile.kernel
    def fill(out: tile.Out, VALUE: tile.Const[int], BLOCK: tile.Const[int]):
        tile.store(out, (tile.bid(0),), tile.full((BLOCK,), VALUE, tile.i32))

    kernel = tileopt.autotune(blocks(32, 64), processes=1, measure=Watch({32: 2.0, 64: 1.0}))(fill)
    out = np.zeros(100, np.int32)
    for value in (5, 6):
        kernel[lambda c: (tileopt.cdiv(100, c.BLOCK) if c.VALUE == value else 0,)](out, value)  # noqa: B023
        np.testing.assert_array_equal(out, np.full(100, value))


def test_hints_make_kernels_of_their_own() -> None:
    kernel = tileopt.autotune([Config(num_warps=8, num_stages=2), Config()], processes=1)(scale)
    assert kernel.compile("sm_90a", x="f32[4096]", factor="f32").report["threads"] == 256
    other = kernel.compile("sm_90a", config=Config(), x="f32[4096]", factor="f32")
    assert other.report["threads"] == scale.compile("sm_90a", x="f32[4096]", factor="f32").report["threads"] != 256


def test_equal_code_is_measured_once() -> None:
    """The CPU has no asynchronous copies: there, stages change nothing."""
    runs = []

    def watch(run: Callable[[], None], config: Config) -> float:
        run()
        runs.append(config)
        return 1.0

    kernel = tileopt.autotune("auto", processes=1, measure=watch)(scale)
    kernel[2](np.ones(128, np.float32), 2.0)
    assert len(kernel.configs) == 12 and set(runs) == {Config(), Config(num_warps=4), Config(num_warps=8)}


def test_threads_and_their_block() -> None:
    @simt.kernel
    def double(x: simt.DisjointSlice["f32", 1]):
        i = simt.thread_index()
        if i < len(x):
            x[i] = x[i] * 2.0

    watch = Watch({(64,): 2.0, (128,): 1.0}, "block")  # type: ignore[dict-item]
    kernel = tileopt.autotune([Config(block=(64,)), Config(block=(128,))], processes=1, measure=watch)(double)
    x = RNG.standard_normal(333).astype(np.float32)
    expected = x * np.float32(2)
    kernel[lambda c: tileopt.cdiv(333, c.block[0])](x)
    np.testing.assert_array_equal(x, expected)
    assert kernel.best == Config(block=(128,))


@pytest.mark.parametrize(
    ("configs", "key", "code", "text"),
    [
        ([Config(SIZE=1)], (), "tune/config", "nothing named 'SIZE'"),
        ([Config(fma=False)], (), "tune/config", "may change results"),
        ([], (), "tune/config", "no configuration"),
        ([{"BLOCK": 1}], (), "tune/config", "is a tileopt.Config"),
        ("all", (), "tune/config", "'auto'"),
        ([Config(num_warps=3)], (), "kernel/hint", "power of two"),
        ("auto", ("y",), "tune/key", "no parameter 'y'"),
    ],
)
def test_what_is_no_configuration(configs: Any, key: Any, code: str, text: str) -> None:
    with pytest.raises(tileopt.CompileError, match=text) as caught:
        tileopt.autotune(configs, key=key)(scale)
    assert caught.value.code == code


def test_it_stands_over_a_kernel() -> None:
    with pytest.raises(tileopt.CompileError, match="stands over a kernel"):
        tileopt.autotune("auto")(len)


@pytest.mark.parametrize("steps", [(1,), (-1,), (3,), (2, -3), (0,)])
def test_snapshots_of_any_strides(steps: tuple[int, ...]) -> None:
    from tileopt.backends.runtime.arrays import reader_for

    base = RNG.standard_normal((12,) * len(steps))
    view = base[tuple(slice(None, None, s) if s else slice(0, 0) for s in steps)]
    reader = reader_for(view)
    assert reader is not None
    before = base.copy()
    for kind in ("out", "inout", "atomic"):
        with Snapshot([(Parameter("x", ParamKind(kind)), reader.inspect(view))], -1, 0) as snapshot:
            view += 1
            snapshot.restore(only_read=True)
            assert np.array_equal(base, before) is (kind != "out" or view.size == 0)
            snapshot.restore()
            np.testing.assert_array_equal(base, before)


# ---- other processes ----


def test_processes_compile(own_cache: Path) -> None:
    """Four kernels by two processes, the one that fails included; the launch that follows finds the code there."""
    watch = Watch({32: 2.0, 64: 1.0, 128: 3.0})
    kernel = tileopt.autotune(blocks(32, 64, 0, 128), processes=2, measure=watch)(scale)
    x = RNG.standard_normal(777).astype(np.float32)
    expected = x * np.float32(2)
    launch(kernel, x)
    np.testing.assert_array_equal(x, expected)
    assert kernel.best == Config(BLOCK=64)


def test_a_process_that_dies_costs_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        compiling,
        "_WORKER",
        "import os\nfrom tileopt.backends.runtime.tuning import compiler as c\nreal = c.compile_text\n"
        "def compile_text(text, target):\n"
        "    if '<64xf32>' in text: os.write(2, b'LLVM ERROR: no'); os.abort()\n"
        "    return real(text, target)\n"
        "c.compile_text = compile_text; c.serve()",
    )
    given = {"x": "f32[4096]", "factor": "f32"}
    texts = {size: compiling.text_of(scale.build(signature_of(scale, BLOCK=size, **given))) for size in (64, 32, 128)}
    answers: dict[int, compiling.Answer] = {}
    compiling.compile_all([compiling.Job(t, "cpu") for t in texts.values()], 1, answers.__setitem__, lambda: False)
    assert isinstance(answers[0], tileopt.CompileError)
    assert answers[0].message == "the process that compiled it was killed by signal 6: LLVM ERROR: no"
    assert [getattr(answers[i], "name", None) for i in (1, 2)] == ["scale", "scale"]


def signature_of(kernel: Any, **given: object) -> Any:
    from tileopt.frontends.engine import engine

    return engine().signature(kernel, given)


# ---- GPUs ----


@pytest.fixture
def gpu_scale(cuda: FakeCuda) -> Any:
    cuda.words = 4
    return scale.with_hints()  # one that no other device knows


def test_gpu_runs_between_events_behind_a_flush(cuda: FakeCuda, gpu_scale: Any) -> None:
    times = iter([9.0, 2.0, 2.0] + [2.0] * 100)
    cuda.elapsed = lambda: next(times)
    kernel = tileopt.autotune(blocks(64, 128), processes=1)(gpu_scale)
    x = tileopt.zeros((1024,), "f32", 0)
    kernel[lambda c: (1024 // c.BLOCK,)](x, 2.0)
    names = cuda.calls
    at = names.index("cuMemsetD8Async")
    order = [n for n in names[at:] if n in ("cuMemsetD8Async", "cuEventRecord", "cuLaunchKernel", "cuEventSynchronize")]
    assert order[:5] == ["cuMemsetD8Async", "cuEventRecord", "cuLaunchKernel", "cuEventRecord", "cuEventSynchronize"]
    assert names.count("cuEventCreate") == names.count("cuEventDestroy") == 2
    assert {grid for _, grid, *_ in cuda.launches} == {(16, 1, 1), (8, 1, 1)}
    assert len(cuda.memory) == 1  # the array; the copy and the flushed buffer were given back


def test_a_capture_of_another_library(cuda: FakeCuda, gpu_scale: Any) -> None:
    cuda.capturing = {0}
    kernel = tileopt.autotune(blocks(64, 128), processes=1)(gpu_scale)
    kernel[lambda c: (1024 // c.BLOCK,)](tileopt.zeros((1024,), "f32", 0), 2.0)
    assert len(cuda.launches) == 1 and "cuMemsetD8Async" not in cuda.calls
    assert kernel.best == Config(BLOCK=64)


def test_a_lost_context_ends_the_search(cuda: FakeCuda, gpu_scale: Any) -> None:
    from runtime.fake_cuda import CUresult

    kernel = tileopt.autotune(blocks(64, 128), processes=1)(gpu_scale)
    x = tileopt.zeros((1024,), "f32", 0)
    for name in ("cuEventSynchronize", "cuCtxSynchronize", "cuStreamSynchronize"):
        cuda.fail[name] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(tileopt.DeviceError):
        kernel[lambda c: (1024 // c.BLOCK,)](x, 2.0)
    assert len(cuda.launches) == 1


def test_the_clock_of_the_host_and_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    kernel = tileopt.autotune(blocks(32, 64), processes=1)(scale.with_hints())
    x = RNG.standard_normal(100).astype(np.float32)
    expected = x * np.float32(2)
    launch(kernel, x)
    np.testing.assert_array_equal(x, expected)
    (found,) = kernel.tunings.values()
    assert all(trial.ms is not None and trial.ms > 0 for trial in found.trials)
    assert not capsys.readouterr().out


def test_hints_by_name() -> None:
    assert scale.with_hints(num_warps=2).hints.num_warps == 2
    with pytest.raises(tileopt.CompileError, match="no hint 'stages'"):
        scale.with_hints(stages=2)
