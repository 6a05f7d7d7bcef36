"""Launches end to end on the CPU with hand-written kernels: the ABI, specialisation, ownership and the grid."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from runtime.fakes import COUNT, EMPTY, PROBE, FakeKernel, parameter

from tileopt.backends.runtime import pool
from tileopt.dialects.contracts import ArraySpec, ConstSpec, ScalarSpec
from tileopt.dialects.diagnostics import LaunchError, OwnershipError, TargetError

PROBES = parameter("out", "out", "i64", 1)


def probe(*more: Any, **fields: Any) -> FakeKernel:
    return FakeKernel((PROBES, *more), PROBE, **fields)


def words(count: int = 64) -> NDArray[np.int64]:
    return np.full(count, -1, np.int64)


# ---- the ABI ----


def test_a_view_is_a_pointer_extents_and_strides_in_elements(launch: Any) -> None:
    out, x = words(), np.zeros((6, 10), np.float32)[::2, ::-1]
    launch(probe(parameter("x")), (1,), out, x)
    pointer = out.__array_interface__["data"][0]
    assert out[:3].tolist() == [pointer, 64, 1]
    assert out[3:8].tolist() == [x.__array_interface__["data"][0], 3, 10, 20, -1]


def test_block_range_and_grid(launch: Any) -> None:
    out = words()
    launch(probe(), (1, 1, 1), out)
    assert out[3:7].tolist() == [0, 1, 1, 1]
    launch(FakeKernel((parameter("out", "inout"),), PROBE), (1, 1), out)
    assert out[3:7].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("value", "dtype", "bits"),
    [
        (7, None, 7),
        (-1, None, 0xFFFFFFFFFFFFFFFF),
        (-1, "i32", 0xFFFFFFFF),
        (200, "u8", 200),
        (True, None, 1),
        (False, "bool", 0),
        (1.5, None, 0x3FC00000),
        (0.1, None, int(np.float32(0.1).view(np.uint32))),
        (0.1, "f64", int(np.float64(0.1).view(np.uint64))),
        (3, "f32", 0x40400000),
        (0.1, "f16", int(np.float16(0.1).view(np.uint16))),
        (1.0, "bf16", 0x3F80),
        (np.float64(0.1), None, int(np.float64(0.1).view(np.uint64))),
        (np.float16(0.1), None, int(np.float16(0.1).view(np.uint16))),
        (np.int8(-2), None, 0xFE),
        (np.uint64(2**64 - 1), None, 2**64 - 1),
        (np.bool_(True), None, 1),
        (np.int32(5), "i64", 5),
        (float("inf"), "f32", 0x7F800000),
        (float("inf"), "f16", 0x7C00),
    ],
)
def test_a_scalar_fills_the_low_bytes_of_its_word(launch: Any, value: Any, dtype: str | None, bits: int) -> None:
    out = words()
    launch(probe(parameter("n", "scalar", dtype)), (1,), out, value)
    assert int(out[3:4].view(np.uint64)[0]) == bits


def test_defaults_of_scalars_and_constants(launch: Any) -> None:
    out = words()
    kernel = probe(parameter("n", "scalar", "i64", default=42), parameter("BLOCK", "const", default=128))
    launch(kernel, (1,), out)
    assert out[3] == 42
    assert kernel.builds[0]["BLOCK"] == ConstSpec(128)
    assert kernel.builds[0]["n"] == ScalarSpec("i64", 2)
    launch(kernel, (1,), out, n=3, BLOCK=64)
    assert out[3] == 3
    assert kernel.builds[1]["BLOCK"] == ConstSpec(64)


def test_keywords_in_any_order(launch: Any) -> None:
    out, x = words(), np.zeros(5, np.float32)
    kernel = probe(parameter("x"), parameter("n", "scalar"))
    launch(kernel, (1,), n=9, x=x, out=out)
    launch(kernel, (1,), x=x, out=out, n=10)
    assert out[6] == 10
    assert out[4] == 5


# ---- specialisation ----


def test_launches_that_look_alike_share_code(launch: Any) -> None:
    kernel = probe(parameter("x"), parameter("n", "scalar"))
    for rows in (16, 32, 48):
        launch(kernel, (1,), words(), np.zeros((rows, 64), np.float32), 8)
    assert len(kernel.builds) == 1
    assert kernel.builds[0]["x"] == ArraySpec("f32", 2, 16, 1, (16, 16), (16, 1), True, True)
    launch(kernel, (1,), words(), np.zeros((17, 64), np.float32), 8)  # another divisor of an extent
    launch(kernel, (1,), words(), np.zeros((16, 64), np.float64), 8)  # another element type
    launch(kernel, (1,), words(), np.zeros((16, 64), np.float32), 7)  # another divisor of a scalar
    launch(kernel, (1,), words(), np.zeros((16, 64), np.float32), np.int32(8))  # another type of a scalar
    assert len(kernel.builds) == 5


def test_an_address_with_less_alignment_gets_other_code(launch: Any) -> None:
    kernel = probe(parameter("x"))
    memory = np.zeros(64, np.float32)
    start = (-memory.__array_interface__["data"][0] % 16) // 4
    launch(kernel, (1,), words(), memory[start : start + 16])
    launch(kernel, (1,), words(), memory[start + 1 : start + 17])
    assert [b["x"].align for b in kernel.builds] == [16, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize(("one", "other"), [(1, True), (0.0, -0.0), (1, 1.0), ((1, 2), (1, 2.0)), ("a", b"a")])
def test_constants_that_python_calls_equal_are_apart(launch: Any, one: Any, other: Any) -> None:
    kernel = probe(parameter("K", "const"))
    for value in (one, other, one):
        launch(kernel, (1,), words(), value)
    assert [b["K"].value for b in kernel.builds] == [one, other]  # type: ignore[union-attr]
    assert len(kernel.builds) == 2


def test_a_nan_constant_compiles_once(launch: Any) -> None:
    kernel = probe(parameter("K", "const"))
    for _ in range(3):
        launch(kernel, (1,), words(), float("nan"))
    assert len(kernel.builds) == 1


def test_a_copied_kernel_launches_itself(launch: Any) -> None:
    import copy

    kernel = probe()
    launch(kernel, (1,), words())
    other = copy.copy(kernel)
    other.builds, other.source = [], "2"
    launch(other, (1,), words())
    assert len(other.builds) == 1


def test_a_changed_kernel_is_compiled_anew(launch: Any) -> None:
    kernel, out = probe(), words()
    for source, builds in [("1", 1), ("2", 2), ("2", 2), ("1", 2), ("3", 3)]:
        kernel.source = source
        launch(kernel, (1,), out)
        assert len(kernel.builds) == builds


# ---- blocks ----


@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 1000, 100_000])
def test_every_block_runs_once(launch: Any, blocks: int) -> None:
    out = np.zeros(blocks, np.int64)
    kernel = FakeKernel((parameter("out", "inout"),), COUNT)
    for times in (1, 2, 3):
        launch(kernel, (blocks,), out)
        assert (out == times).all()


def test_every_block_runs_once_with_many_threads(launch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileopt.backends.runtime import cpu_code

    monkeypatch.setattr(cpu_code, "_INLINE_NS", 0)
    monkeypatch.setattr(pool, "_pool", pool.Pool(8))
    kernel = FakeKernel((parameter("out", "inout"),), COUNT)
    for grid in [(2,), (9,), (33, 3), (5, 7, 11), (4096,)]:
        out = np.zeros(int(np.prod(grid)), np.int64)
        launch(kernel, grid, out)
        assert (out == 1).all()


def test_many_python_threads_launch_one_kernel(launch: Any) -> None:
    kernel = probe(parameter("n", "scalar"))
    wrong: list[int] = []

    def work(number: int) -> None:
        out = words()
        for _ in range(300):
            launch(kernel, (1,), out, number)
            if out[3] != number or out[0] != out.__array_interface__["data"][0]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(16 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(kernel.builds) == 1


def test_arguments_in_use_are_no_others(launch: Any) -> None:
    kernel, out = probe(), words()
    launch(kernel, (1,), out)
    state = launch.engine.dispatcher(kernel)._state
    (plan,) = next(iter(state.entries.values())).plans.values()
    one, other = plan.buffer(), plan.buffer()
    assert one.address != other.address
    plan.free.append(one)
    assert plan.buffer() is one


@pytest.mark.parametrize("grid", [0, (0,), (3, 0), (1, 1, 0)])
def test_an_empty_grid_runs_and_compiles_nothing(launch: Any, grid: Any) -> None:
    out, kernel = words(), probe()
    launch(kernel, grid, out)
    assert (out == -1).all()
    assert not kernel.builds
    with pytest.raises(LaunchError, match="argument-dtype"):
        launch(kernel, grid, np.zeros(4, np.float32))


def test_an_array_of_no_elements_is_no_error(launch: Any) -> None:
    out = words()
    for shape in [(0,), (0, 5), (5, 0)]:
        launch(probe(parameter("x")), (1,), out, np.zeros(shape, np.float32))
        assert tuple(out[4 : 4 + len(shape)]) == shape


@pytest.mark.parametrize(
    ("grid", "code"),
    [
        (4.0, "launch/grid-type"),
        ((4.0,), "launch/grid-type"),
        ((True,), "launch/grid-type"),
        ("4", "launch/grid-type"),
        (-1, "launch/grid-negative"),
        ((2, -3), "launch/grid-negative"),
        ((1, 1, 1, 1), "launch/grid-rank"),
        ((), "launch/grid-rank"),
        ((1 << 40, 1 << 40), "launch/grid-too-large"),
    ],
)
def test_grids_that_are_none(launch: Any, grid: Any, code: str) -> None:
    kernel = probe()
    launch(kernel, (4,), words())
    with pytest.raises(LaunchError) as error:
        launch(kernel, grid, words())
    assert error.value.code == code


@pytest.mark.parametrize(("extent", "word"), [(4.0, "cdiv"), (lambda config: 4, "tuned"), ("4", "counts blocks")])
def test_what_is_no_extent_is_helped_by_its_type(launch: Any, extent: Any, word: str) -> None:
    with pytest.raises(LaunchError) as error:
        launch(probe(), (extent,), words())
    assert error.value.help is not None and word in error.value.help


def test_a_grid_of_numpy_integers(launch: Any) -> None:
    out = np.zeros(6, np.int64)
    launch(FakeKernel((parameter("out", "inout"),), COUNT), (np.int32(2), np.int64(3)), out)
    assert (out == 1).all()


# ---- ownership ----


def aliased(launch: Any, x: Any, out: Any, kind: str = "out") -> str | None:
    """The error's code, with the parameters in either order."""
    codes = set()
    for parameters, args in (
        ((parameter("x"), parameter("out", kind)), (x, out)),
        ((parameter("out", kind), parameter("x")), (out, x)),
    ):
        try:
            launch(FakeKernel(parameters, EMPTY), (1,), *args)
            codes.add(None)
        except OwnershipError as error:
            assert isinstance(error, LaunchError)
            codes.add(error.code)
    (code,) = codes
    return code


def test_an_owned_array_aliases_no_other_argument(launch: Any) -> None:
    a = np.zeros((8, 8), np.float32)
    assert aliased(launch, a, a) == "ownership/aliased-argument"
    assert aliased(launch, a, a, "inout") == "ownership/aliased-argument"
    assert aliased(launch, a[:5], a[4:]) == "ownership/aliased-argument"
    assert aliased(launch, a[:4], a[4:]) is None
    assert aliased(launch, a[:, 0::2], a[:, 1::2]) is None
    assert aliased(launch, a[:, 0::2], a[:, 2::2]) == "ownership/aliased-argument"
    assert aliased(launch, a[::-1], a.T) == "ownership/aliased-argument"
    assert aliased(launch, a.view(np.uint8).reshape(-1)[3:5], a) == "ownership/aliased-argument"


def test_aliasing_is_seen_at_every_launch(launch: Any) -> None:
    kernel = FakeKernel((parameter("x"), parameter("out", "out")), EMPTY)
    a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
    launch(kernel, (1,), a, b)
    launch(kernel, (1,), b, a)
    with pytest.raises(OwnershipError, match="aliased-argument"):
        launch(kernel, (1,), a, a)
    launch(kernel, (1,), a, b)


def test_two_shared_arrays_may_alias(launch: Any) -> None:
    a = np.zeros(64, np.float32)
    launch(FakeKernel((parameter("x"), parameter("y"), parameter("out", "out"))), (1,), a, a, np.zeros_like(a))


def test_two_owned_arrays_may_not_alias(launch: Any) -> None:
    kernel = FakeKernel((parameter("x", "inout"), parameter("y", "out")))
    a = np.zeros(64, np.float32)
    with pytest.raises(OwnershipError, match="aliased-argument"):
        launch(kernel, (1,), a[10:], a[:11])
    launch(kernel, (1,), a[10:], a[:10])


def test_read_only_arrays_are_not_owned(launch: Any) -> None:
    kernel = FakeKernel((parameter("x"), parameter("out", "out")))
    a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
    launch(kernel, (1,), a, b)
    b.setflags(write=False)
    with pytest.raises(OwnershipError, match="read-only-argument"):
        launch(kernel, (1,), a, b)
    launch(kernel, (1,), b, a)


@pytest.mark.parametrize(
    ("make", "fine"),
    [
        (lambda a: np.broadcast_to(a, (4, 64)), False),
        (lambda a: np.lib.stride_tricks.as_strided(a, (8, 8), (4, 4)), False),
        (lambda a: np.lib.stride_tricks.as_strided(a, (8, 8), (0, 4)), False),
        (lambda a: np.lib.stride_tricks.as_strided(a, (1, 8), (0, 4)), True),
        (lambda a: a.reshape(8, 8).T[::-1], True),
    ],
)
def test_an_owned_array_does_not_overlap_itself(launch: Any, make: Any, fine: bool) -> None:
    kernel = FakeKernel((parameter("out", "out"),))
    view = make(np.zeros(64, np.float32))
    if not view.flags.writeable:
        view = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), view.shape, view.strides)
    for _ in range(2):
        if fine:
            launch(kernel, (1,), view)
        else:
            with pytest.raises(OwnershipError, match="self-overlap"):
                launch(kernel, (1,), view)
    launch(FakeKernel((parameter("x"),)), (1,), view)  # sharing such an array is fine


# ---- targets ----


def test_host_arrays_are_refused_for_a_gpu_target(launch: Any) -> None:
    with pytest.raises(LaunchError) as error:
        launch(probe(), (1,), words(), target="sm_90a")
    assert error.value.code == "launch/target"
    with pytest.raises(TargetError):
        launch(probe(), (1,), words(), target="sm_9")
    launch(probe(), (1,), words(), target="cpu")


def test_the_default_target(launch: Any) -> None:
    import tileopt

    kernel = probe()
    launch(kernel, (1,), words())
    tileopt.set_default_target("sm_90a")
    try:
        with pytest.raises(LaunchError, match="target"):
            launch(kernel, (1,), words())
        launch(kernel, (1,), words(), target="cpu")
    finally:
        tileopt.set_default_target(None)
    launch(kernel, (1,), words())


def test_errors_point_at_the_launch(launch: Any) -> None:
    with pytest.raises(LaunchError) as error:
        launch(probe(), (1,), np.zeros(3, np.complex64))
    assert error.value.location is not None
    assert error.value.location.file.endswith(("conftest.py", "test_launch.py"))


def test_conditions_are_checked_at_each_launch(launch: Any) -> None:
    kernel = probe(
        parameter("x"), parameter("n", "scalar"), conditions=("len(out) >= n * x.shape[1]", "grid[0] * 2 <= len(x)")
    )
    x = np.zeros((8, 2), np.float32)
    launch(kernel, (4,), words(), x, 32)
    with pytest.raises(LaunchError) as error:
        launch(kernel, (4,), words(), x, 33)
    assert error.value.code == "launch/condition"
    assert "len(out) is 64" in error.value.message
    assert "n * x.shape[1] is 66" in error.value.message
    with pytest.raises(LaunchError, match="len\\(x\\) is 8"):
        launch(kernel, (5,), words(), x, 32)
