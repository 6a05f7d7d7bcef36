"""Arguments against parameters: every mismatch has its own error, which says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime.fakes import FakeKernel, parameter

from tileopt.dialects.diagnostics import LaunchError

KERNEL = (
    parameter("x", "in", "f32", 2),
    parameter("out", "out"),
    parameter("n", "scalar", "i32"),
    parameter("a", "scalar", "f32", default=1.0),
    parameter("K", "const", default=8),
)
X = np.zeros((4, 4), np.float32)


def out() -> Any:
    return np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "words"),
    [
        ((), {}, "missing-argument", ["'x', 'out', 'n'", "a=1.0"]),
        ((X, out()), {}, "missing-argument", ["'n'"]),
        ((X,), {"n": 3}, "missing-argument", ["'out'"]),
        ((X, out(), 1, 1.0, 8, 9), {}, "too-many-arguments", ["takes 5", "6 are given"]),
        ((X, out(), 1), {"BLOCK": 3}, "unexpected-argument", ["'BLOCK'", "x, out, n"]),
        ((X, out(), 1), {"num_warps": 4}, "unexpected-argument", ["'num_warps' is a hint", "with_hints(num_warps="]),
        ((X, out(), 1), {"n": 3}, "repeated-argument", ["'n'"]),
        ((X.astype(np.float16), out(), 1), {}, "argument-dtype", ["'x'", "f32", "f16"]),
        ((X[0], out(), 1), {}, "argument-rank", ["'x'", "rank 2", "(4,)"]),
        (([[1.0]], out(), 1), {}, "not-an-array", ["list", "numpy.asarray"]),
        ((None, out(), 1), {}, "not-an-array", ["NoneType"]),
        ((3, out(), 1), {}, "not-an-array", ["int", "order"]),
        ((X, out(), 1.5), {}, "argument-dtype", ["'n'", "i32", "float 1.5", "int(n)"]),
        ((X, out(), np.float32(1)), {}, "argument-dtype", ["'n'", "float32"]),
        ((X, out(), "3"), {}, "not-a-scalar", ["'n'", "str"]),
        ((X, out(), np.array(3)), {}, "not-a-scalar", ["n.item()"]),
        ((X, out(), None), {}, "not-a-scalar", ["NoneType"]),
        ((X, out(), 1 + 2j), {}, "not-a-scalar", ["complex"]),
        ((X, out(), np.complex64(1)), {}, "not-a-scalar", ["complex64"]),
        ((X, out(), 2**31), {}, "scalar-range", ["'n'", "i32", "2147483647", "wider"]),
        ((X, out(), -(2**31) - 1), {}, "scalar-range", ["-2147483648"]),
        ((X, out(), 1), {"a": 1e300}, "scalar-range", ["'a'", "f32", "1e+300"]),
        ((X, out(), 1), {"a": 10**400}, "scalar-range", ["'a'"]),
        ((X, out(), 1), {"a": "1"}, "not-a-scalar", ["'a'"]),
        ((X, out(), 1), {"K": [1, 2]}, "const-not-hashable", ["'K'", "tuple"]),
        ((X, out(), 1), {"K": ([1], 2)}, "const-not-hashable", ["'K'"]),
    ],
)
def test_mismatches(launch: Any, args: Any, kwargs: Any, code: str, words: list[str]) -> None:
    kernel = FakeKernel(KERNEL)
    launch(kernel, (1,), X, out(), 1)  # what was right before does not hide what is wrong now
    with pytest.raises(LaunchError) as error:
        launch(kernel, (1,), *args, **kwargs)
    assert error.value.code == f"launch/{code}"
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("dtype", "value", "fits"),
    [
        ("bool", 1, False),
        ("bool", np.bool_(1), True),
        ("i64", True, True),
        ("u8", 255, True),
        ("u8", 256, False),
        ("u8", -1, False),
        ("u64", 2**64 - 1, True),
        ("u64", 2**64, False),
        ("i64", 2**63 - 1, True),
        ("i64", 2**63, False),
        ("i8", np.int64(127), True),
        ("i8", np.int64(128), False),
        ("f16", 65504.0, True),
        ("f16", 1e6, False),
        ("f16", float("nan"), True),
        ("bf16", 1e38, True),
        ("bf16", 1e39, False),
        ("f64", 3, True),
        ("f32", np.float64(0.1), True),
        ("f32", False, True),
        (None, 2**63, False),
    ],
)
def test_values_against_declared_scalars(launch: Any, dtype: str | None, value: Any, fits: bool) -> None:
    kernel = FakeKernel((parameter("n", "scalar", dtype),))
    if fits:
        launch(kernel, (1,), value)
    else:
        with pytest.raises(LaunchError):
            launch(kernel, (1,), value)


def test_a_constant_without_default_is_missing(launch: Any) -> None:
    with pytest.raises(LaunchError, match="'K'"):
        launch(FakeKernel((parameter("K", "const"),)), (1,))


def test_a_kernel_without_arguments(launch: Any) -> None:
    launch(FakeKernel(()), (3,))
