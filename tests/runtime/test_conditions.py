"""Launch conditions: exact integers, and a language that holds nothing else."""

from __future__ import annotations

import pytest

from tileopt.backends.runtime.conditions import ArrayView, compile_condition
from tileopt.dialects.diagnostics import LaunchError, UnsupportedError

VALUES = {"x": ArrayView((6, 4), (4, 1)), "n": 7, "grid": (3, 1, 1)}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("len(x) == 6", True),
        ("x.shape[1] * n <= 28", True),
        ("x.stride[0] % 4 == 0 and not n == 8", True),
        ("grid[0] * 2 >= len(x) or n < 0", True),
        ("-n // 2 == -4", True),
        ("min(n, len(x)) == 6", True),
        ("1 < n < 7", False),
        ("n * 1000000007 * 1000000009 * 998244353 > 0", True),
    ],
)
def test_relations(text: str, holds: bool) -> None:
    condition = compile_condition(text)
    if holds:
        condition.check(VALUES, "kernel")
    else:
        with pytest.raises(LaunchError, match="n is 7"):
            condition.check(VALUES, "kernel")


@pytest.mark.parametrize(
    "text",
    ["", "n =", "__import__('os')", "x.data == 1", "open('f')", "n ** 9", "n == 1.5", "'a' == 'a'", "[n]", "lambda: 1",
     "len(x, key=1)", "x[0] == 1", "(n := 3) == 3", "n if n else 1", "x.shape[0].bit_length() == 1", "n << 99999999"],
)  # fmt: skip
def test_what_is_not_in_the_language(text: str) -> None:
    with pytest.raises(UnsupportedError):
        compile_condition(text)


@pytest.mark.parametrize("text", ["n // (n - 7) == 1", "x.shape[5] == 1"])
def test_what_cannot_be_evaluated(text: str) -> None:
    with pytest.raises(LaunchError, match="cannot be evaluated"):
        compile_condition(text).check(VALUES, "kernel")


def test_names() -> None:
    assert compile_condition("len(x) <= n * grid[0]").names == {"x", "n", "grid"}
