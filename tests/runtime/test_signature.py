"""Facts that code is specialised on, and signatures as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.fakes import parameter

from tileopt.backends.runtime.arrays import ArrayInfo, reader_for
from tileopt.backends.runtime.binding import bind
from tileopt.backends.runtime.signature import array_spec, launch_strides, signature_of
from tileopt.dialects.contracts import ArraySpec, ConstSpec, ScalarSpec
from tileopt.dialects.diagnostics import LaunchError


def spec(x: Any) -> ArraySpec:
    reader = reader_for(x)
    assert reader is not None
    return array_spec(reader.inspect(x))


@pytest.mark.parametrize(
    ("make", "unit"),
    [
        (lambda: np.zeros((4, 8)), 1),
        (lambda: np.zeros((4, 8)).T, 0),
        (lambda: np.zeros((4, 8))[:, ::2], None),
        (lambda: np.zeros((8, 1)), 0),
        (lambda: np.zeros((8, 5))[:, :1], 1),  # an axis of one element has any stride, so also 1
        (lambda: np.zeros((1, 8)), 1),
        (lambda: np.zeros((1, 1)), 1),
        (lambda: np.zeros((0, 8))[:, ::2], 1),
        (lambda: np.zeros(()), None),
    ],
)
def test_the_axis_of_stride_one(make: Any, unit: int | None) -> None:
    assert spec(make()).unit_axis == unit


infos = st.integers(0, 3).flatmap(
    lambda rank: st.builds(
        ArrayInfo,
        st.integers(1, 1 << 20).map(lambda n: n * 8),
        st.tuples(*[st.integers(0, 70)] * rank),
        st.tuples(*[st.integers(-70, 70)] * rank),
        st.just("f64"),
        st.just(8),
    )
)


@given(infos)
def test_every_promise_holds(info: ArrayInfo) -> None:
    found, (strides, unit) = array_spec(info), launch_strides(info)
    assert info.pointer % found.align == 0
    assert found.unit_axis == (unit if info.shape else found.unit_axis)
    for axis, extent in enumerate(info.shape):
        assert extent % found.shape_div[axis] == 0
        assert strides[axis] % found.stride_div[axis] == 0
        # Divisors are the greatest powers of two up to 16.
        assert found.shape_div[axis] == 16 or extent % (2 * found.shape_div[axis]) != 0
        # The kernel's strides address the same elements.
        assert strides[axis] == info.strides[axis] or extent == 1 or info.empty
    if found.unit_axis is not None and info.shape:
        assert strides[found.unit_axis] == 1


def test_small_means_offsets_of_31_bits() -> None:
    def small(extent: int, stride: int) -> bool:
        return array_spec(ArrayInfo(1 << 20, (extent,), (stride,), "f32", 4)).small

    assert small(2**29 - 1, 1)
    assert not small(2**29, 1)
    assert not small(2, -(2**29) - 1)
    assert small(2, -(2**28))
    assert not array_spec(ArrayInfo(1 << 20, (65536, 40000), (40000, 1), "f32", 4)).small


@pytest.mark.parametrize(
    ("shape", "strides", "regular"),
    [
        ((8, 16), (16, 1), True),
        ((1, 16), (-5, 1), True),  # a stride that addresses nothing
        ((8, 16), (-16, 1), False),
        ((8, 16), (0, 1), False),
        ((8, 2**30), (2**30, 1), False),
        ((8, 2**30 - 1), (2**30, 1), True),
        ((8, 16), (2**38, 1), False),
        ((8, 16), (2**38 - 1, 1), True),
    ],
)
def test_regular_means_what_a_tensor_map_can_describe(
    shape: tuple[int, ...], strides: tuple[int, ...], regular: bool
) -> None:
    assert array_spec(ArrayInfo(1 << 20, shape, strides, "f32", 4)).regular == regular


X = (parameter("x"), parameter("n", "scalar"), parameter("K", "const", default=8))


def parsed(**given: object) -> dict[str, Any]:
    return signature_of(X, given)


def test_signatures_as_text() -> None:
    assert parsed(x="f32[?]", n="i64") == {
        "x": ArraySpec("f32", 1, 16, 0, (1,), (1,), False, True),
        "n": ScalarSpec("i64"),
        "K": ConstSpec(8),
    }
    assert parsed(x=" bf16[ ?, 128 ] ", n="i32", K=(1, 2))["x"] == ArraySpec(
        "bf16", 2, 16, 1, (1, 16), (16, 1), False, True
    )
    assert parsed(x="f32[?, 6, ?]", n="i32")["x"] == ArraySpec("f32", 3, 16, 2, (1, 2, 1), (2, 1, 1), False, True)
    assert parsed(x="u8[12, 4]", n="i32")["x"] == ArraySpec("u8", 2, 16, 1, (4, 4), (4, 1), True, True)
    assert parsed(x="f32[]", n="i32")["x"] == ArraySpec("f32", 0, 16, None, (), (), True, True)
    given = ArraySpec("f16", 2)
    assert parsed(x=given, n=ScalarSpec("u8"))["x"] is given


@given(st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=3))
def test_text_promises_no_more_than_a_fresh_array_keeps(extents: list[int | None]) -> None:
    text = ", ".join("?" if n is None else str(n) for n in extents)
    promised = parsed(x=f"f64[{text}]", n="i64")["x"]
    for unknown in (0, 1, 3, 24):
        shape = tuple(unknown if n is None else n for n in extents)
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        for axis, extent in enumerate(shape):
            assert extent % promised.shape_div[axis] == 0
            assert strides[axis] % promised.stride_div[axis] == 0


@pytest.mark.parametrize(
    "given",
    [
        {"n": "i64"},
        {"x": "f32[?]"},
        {"x": "f33[?]", "n": "i64"},
        {"x": "f32[?,]", "n": "i64"},
        {"x": "f32[-1]", "n": "i64"},
        {"x": "f32[?:0]", "n": "i64"},
        {"x": "f32[m:00]", "n": "i64"},
        {"x": "f32[?", "n": "i64"},
        {"x": "f32", "n": "i64"},
        {"x": "f32[?]", "n": "i64[3]"},
        {"x": 3, "n": "i64"},
        {"x": "f32[?]", "n": "i64", "z": 1},
        {"x": "f32[?]", "n": 3},
        {"x": ConstSpec(3), "n": "i64"},
        {"x": "f32[?]", "n": "i64", "K": ScalarSpec("i64")},
    ],
)
def test_bad_signatures(given: dict[str, object]) -> None:
    with pytest.raises(LaunchError) as error:
        parsed(**given)
    assert error.value.code == "launch/signature"


def test_a_hint_is_no_parameter() -> None:
    with pytest.raises(LaunchError) as error:
        parsed(x="f32[?]", n="i64", num_warps=3)
    assert error.value.help is not None
    assert "'num_warps' is a hint" in error.value.help and "with_hints(num_warps=" in error.value.help


@pytest.mark.parametrize(
    ("declared", "right", "wrong"),
    [
        (int, (3, True, np.int64(3)), (2.5, "3", None, (1,))),
        (float, (2.5, 3, np.float32(1)), ("1", None)),
        (str, ("a",), (3, b"a")),
        (bool, (True, np.bool_(False)), (2, 0.0, "no")),
        (tuple, ((1, 2), ()), (1, "ab")),
        (None, (1, 2.5, "a", None), ()),
    ],
)
def test_constants_are_of_their_type(declared: type | None, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    parameters = (parameter("C", "const", python=declared),)
    for value in right:
        assert signature_of(parameters, {"C": value}) == {"C": ConstSpec(value)}
        assert len(bind(parameters, [value], {}, "k")) == 1
    for value in wrong:
        for code, give in (
            ("signature", lambda v: signature_of(parameters, {"C": v})),
            ("argument-dtype", lambda v: bind(parameters, [v], {}, "k")),
        ):
            with pytest.raises(LaunchError, match="'C' is declared Const") as error:
                give(value)
            assert error.value.code == f"launch/{code}"


def test_declared_types_and_ranks() -> None:
    parameters = (parameter("x", "in", "f32", 2), parameter("n", "scalar", "i64"))
    assert signature_of(parameters, {"x": "f32[?, ?]"})["n"] == ScalarSpec("i64")
    for wrong in ({"x": "f16[?, ?]"}, {"x": "f32[?]"}, {"x": "f32[?, ?]", "n": "i32"}):
        with pytest.raises(LaunchError):
            signature_of(parameters, wrong)
