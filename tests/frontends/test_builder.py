"""The builder on its own: how types meet, how constants round and fold, and control flow for other frontends."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_kernels import find, ops

from tileopt import KernelTypeError
from tileopt.dialects.contracts import ArraySpec, Hints, Parameter, ParamKind, ScalarSpec
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.verifier import verify
from tileopt.frontends.builder import KernelBuilder, Value
from tileopt.frontends.builder_values import fit, promote, round_to, wrap

PARAMETERS = (
    Parameter("x", ParamKind.IN),
    Parameter("out", ParamKind.OUT),
    Parameter("n", ParamKind.SCALAR, "i64"),
)
SIGNATURE = {"x": ArraySpec("f32", 1, 16, 0), "out": ArraySpec("f32", 1, 16, 0), "n": ScalarSpec("i64", 4)}


@pytest.fixture
def builder() -> KernelBuilder:
    return KernelBuilder("k", PARAMETERS, SIGNATURE, Hints(num_warps=2))


def scalar(builder: KernelBuilder, name: str) -> Value:
    found = builder.arguments[name]
    assert isinstance(found, Value)
    return found


INTEGERS = [d for d in DTYPES.values() if d.kind in "iub"]


@pytest.mark.parametrize(("a", "b"), itertools.combinations_with_replacement(INTEGERS, 2))
def test_integers_meet_as_in_numpy(a: object, b: object) -> None:
    assert a in INTEGERS and b in INTEGERS
    wanted = np.promote_types(a.numpy, b.numpy)  # type: ignore[attr-defined]
    met = promote(a, b)  # type: ignore[arg-type]
    assert met == promote(b, a)  # type: ignore[arg-type]
    assert (met is None) == (wanted.kind == "f")
    assert met is None or met.numpy == wanted


def test_floats_meet() -> None:
    table = [
        ("f16", "bf16", "f32"), ("f16", "f32", "f32"), ("bf16", "f64", "f64"), ("f8e5m2", "f16", "f16"),
        ("f8e4m3fn", "f8e5m2", None), ("i64", "f16", "f16"), ("bool", "f8e5m2", "f8e5m2"), ("u8", "f64", "f64"),
    ]  # fmt: skip
    for a, b, wanted in table:
        met = promote(DTYPES[a], DTYPES[b])
        assert (None if met is None else met.name) == wanted
        assert promote(DTYPES[b], DTYPES[a]) == met


NARROW = {
    "f16": np.float16,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}


@given(st.sampled_from(sorted(NARROW)), st.floats(-500, 500) | st.floats(-1e-4, 1e-4) | st.floats(allow_nan=False))
def test_constants_round_to_nearest_even(name: str, value: float) -> None:
    with np.errstate(over="ignore"):
        wanted = float(np.float64(value).astype(NARROW[name]))
    got = round_to(value, DTYPES[name])
    if name == "f8e4m3fn" and abs(value) > 448 and math.isnan(wanted):
        assert math.isinf(got)  # the type has no infinity: such a constant does not fit
        return
    # NumPy rounds to the narrow floats through f32: twice. Where that differs, the exact middle decides.
    if got != wanted and name in ("bf16", "f8e4m3fn", "f8e5m2"):
        assert float(np.float32(value)) != value
        return
    assert got == wanted or (math.isnan(got) and math.isnan(wanted))
    assert math.copysign(1, got) == math.copysign(1, wanted)


def test_what_fits() -> None:
    assert fit(255, DTYPES["u8"]) == 255 and fit(256, DTYPES["u8"]) is None and fit(-1, DTYPES["u8"]) is None
    assert fit(2.0, DTYPES["i8"]) == 2 and fit(2.5, DTYPES["i8"]) is None and fit(math.inf, DTYPES["i8"]) is None
    assert fit(1e6, DTYPES["f16"]) is None and fit(math.inf, DTYPES["f16"]) == math.inf
    assert (
        fit(math.inf, DTYPES["f8e4m3fn"]) is None and fit(1, DTYPES["bool"]) is True and fit(2, DTYPES["bool"]) is None
    )
    assert fit(10**400, DTYPES["f32"]) is None


@given(st.sampled_from([d for d in INTEGERS if d.kind != "b"]), st.integers(-(2**70), 2**70))
def test_wrapping(dtype: object, value: int) -> None:
    made = wrap(value, dtype)  # type: ignore[arg-type]
    assert fit(made, dtype) == made and (made - value) % (1 << dtype.bits) == 0  # type: ignore[arg-type, attr-defined]


def test_constants_of_integers_fold(builder: KernelBuilder) -> None:
    def constant(value: int) -> Value:
        return builder.constant(value, DTYPES["i32"])

    assert builder.binary("add", constant(2), 3).const == 5
    assert builder.binary("mul", constant(2**30), 4).const == 0
    assert builder.binary("floordiv", constant(-7), 2).const == -4
    assert builder.binary("mod", constant(-7), 2).const == 1
    assert builder.compare("lt", constant(1), 2).const is True
    assert builder.cast(constant(-1), DTYPES["u8"]).const == 255
    n = scalar(builder, "n")
    for same in (builder.binary("add", n, 0), builder.binary("mul", 1, n), builder.binary("floordiv", n, 1)):
        assert same is n
    assert not ops(builder.finish())


def test_one_op_for_a_constant(builder: KernelBuilder) -> None:
    n = scalar(builder, "n")
    for _ in range(3):
        builder.store(builder.array("out"), [builder.binary("mul", n, 7)], 1.0)
    module = builder.finish()
    verify(module)
    assert len(find(module, "arith.constant")) == 2


def test_division_by_what_is_positive_is_one_op(builder: KernelBuilder) -> None:
    position, out = builder.bid(0), builder.array("out")
    builder.store(out, [builder.binary("floordiv", position, builder.num_blocks(1))], 1.0)
    total = builder.binary("add", position, builder.dim(builder.array("x"), 0))
    builder.store(out, [builder.binary("mod", total, 8)], 1.0)
    assert [n for n in ops(builder.finish()) if n.startswith("arith")] == ["arith.divsi", "arith.addi", "arith.remsi"]


def test_control_flow_of_other_frontends(builder: KernelBuilder) -> None:
    n, out = scalar(builder, "n"), builder.array("out")
    zero = builder.full([8], 0.0)
    tile_, count = builder.for_(
        0,
        n,
        2,
        [zero, builder.constant(0)],
        lambda i, c: [builder.load(builder.array("x"), [i], [8]), builder.binary("add", c[1], i)],
    )
    (halved,) = builder.while_(
        [count], lambda c: builder.compare("gt", c[0], 10), lambda c: [builder.binary("floordiv", c[0], 2)]
    )
    (chosen,) = builder.if_(builder.compare("eq", halved, 3), lambda: [tile_], lambda: [zero])
    builder.store(out, [halved], chosen)
    module = builder.finish()
    verify(module)
    assert [n for n in ops(module) if n.startswith("scf") and n not in ("scf.yield", "scf.condition")] == [
        "scf.for", "scf.while", "scf.if",
    ]  # fmt: skip


def test_branches_of_different_types_are_refused(builder: KernelBuilder) -> None:
    n = scalar(builder, "n")
    with pytest.raises(KernelTypeError) as caught:
        builder.if_(builder.compare("eq", n, 3), lambda: [n], lambda: [builder.constant(1.0)])
    assert caught.value.code == "control/type-change"


def test_divisors_and_hints_reach_the_kernel(builder: KernelBuilder) -> None:
    text = str(builder.finish())
    assert "tile.divisor = 4 : i64" in text and "tile.num_warps = 2 : i64" in text
