"""The values that passes work with: element types, types, attributes and their Python side, kernels, targets."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_strategies import layouts, shared_layouts
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    VectorType,
    f32,
    i1,
    i8,
    i64,
)
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects import simt, tile
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.checks import check_fragment
from tileopt.dialects.contracts import ArraySpec, ContractAttr, ParamKind
from tileopt.dialects.diagnostics import TargetError
from tileopt.dialects.dtypes import DTYPES, bit_width, element_type, from_numpy
from tileopt.dialects.encodings import LayoutAttr, SharedAttr, layout_of
from tileopt.dialects.kernel import CONTRACT, NAME
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.target import Atom, Fragment, Scope, Target, get_target, register_target, target_names, target_of
from tileopt.dialects.tile_types import DYNAMIC, Access, BufferType, ViewType, tile_shape
from tileopt.dialects.xdsl_compat import create_context, parse_module

# --- element types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_an_element_type_takes_in_numpy_what_it_says(name: str) -> None:
    dtype = DTYPES[name]
    assert dtype.numpy.itemsize == dtype.bytes == dtype.bits // 8 == bit_width(dtype.ir) // 8
    assert from_numpy(dtype.numpy) is dtype
    assert str(dtype) == name
    if dtype.kind in "iu":
        info = np.iinfo(dtype.numpy)
        assert (info.min < 0) == (dtype.kind == "i")
    assert dtype.is_float == (dtype.kind == "f")
    if dtype.is_float:
        assert ml_dtypes.finfo(dtype.numpy).bits == dtype.bits


@pytest.mark.parametrize("dtype", [">f4", ">i2", "c8", "O", "U3", "f2,f4", "M8[s]"])
def test_what_numpy_has_and_we_have_not(dtype: str) -> None:
    assert from_numpy(np.dtype(dtype)) is None


def test_elements_of_types() -> None:
    assert element_type(TensorType(f32, [4])) == element_type(VectorType(f32, [4])) == element_type(f32) == f32
    assert bit_width(i1) == 8 and bit_width(VectorType(i8, [4])) == 8
    for unknown in (IndexType(), IntegerType(4), StringAttr("f32")):
        with pytest.raises(ValueError, match=".* has no width in memory"):
            bit_width(unknown)


# --- types and attributes ----------------------------------------------------------------------------------------


def test_views() -> None:
    view = ViewType.of((DYNAMIC, 128), f32, Access.OWNED)
    assert str(view) == "!tile.view<?x128xf32, owned>"
    assert (view.rank, view.get_shape(), view.owned) == (2, (DYNAMIC, 128), True)
    assert not ViewType.of((), f32, Access.SHARED).owned


def test_buffers() -> None:
    plain = BufferType.of((8, 16), f32)
    assert plain.shared_layout == SharedLayout((8, 16), (0, 1))
    laid = BufferType.of((8, 16), f32, SharedLayout((8, 16), (1, 0), pad=4))
    assert laid.shared_layout == SharedLayout((8, 16), (1, 0), pad=4)
    assert tile_shape(laid) == tile_shape(TensorType(f32, [8, 16])) == (8, 16)
    with pytest.raises(VerifyException, match="f32 is not a tile"):
        tile_shape(f32)


def test_what_is_no_fragment() -> None:
    with pytest.raises(VerifyException, match="the result is f32, not a fragment"):
        check_fragment(f32, "the result")


@given(layouts())
def test_a_layout_survives_its_attribute(layout: Layout) -> None:
    attr = LayoutAttr.of(layout)
    assert attr.over(layout.shape) == layout
    assert layout_of(TensorType(f32, layout.shape, attr)) == layout
    assert reparsed(f"tensor<{'x'.join(map(str, (*layout.shape, 'f32')))}, {attr}>") == TensorType(
        f32, layout.shape, attr
    )


@given(shared_layouts())
def test_a_shared_layout_survives_its_attribute(shared: SharedLayout) -> None:
    attr = SharedAttr.of(shared)
    assert attr.over(shared.shape) == shared
    assert reparsed(str(attr)) == attr
    buffer = BufferType.of(shared.shape, f32, shared)
    assert buffer.shared_layout == shared
    assert reparsed(str(buffer)) == buffer


def test_a_swizzle_of_no_bits_is_none() -> None:
    assert SharedAttr.of(SharedLayout((8, 8), (0, 1), 0, 3, 3)) == SharedAttr.of(SharedLayout((8, 8), (0, 1)))


def test_a_type_without_layout() -> None:
    with pytest.raises(ValueError, match="tensor<4xf32> has no layout"):
        layout_of(TensorType(f32, [4]))


def reparsed(text: str) -> object:
    """The attribute that a text stands for."""
    module = parse_module(create_context(), f'"test.op"() {{it = {text}}} : () -> ()')
    (op,) = module.body.block.ops
    return op.attributes["it"]


@given(st.sampled_from(Outcome), st.sets(st.integers(0, 9)), st.text())
def test_bounds_survive_their_text(outcome: Outcome, axes: set[int], reason: str) -> None:
    left = () if outcome is Outcome.PROVED else tuple(sorted(axes))
    attr = BoundsAttr((outcome, left, reason))
    assert (attr.outcome, attr.axes, attr.reason) == (outcome, left, reason)
    assert reparsed(str(attr)) == attr


@pytest.mark.parametrize("axes", [(1, 0), (0, 0), (-1,)])
def test_axes_of_bounds_are_distinct_and_in_order(axes: tuple[int, ...]) -> None:
    with pytest.raises(VerifyException, match="are not distinct and in order"):
        BoundsAttr((Outcome.MASKED, axes, ""))
    with pytest.raises(VerifyException, match="a proved access leaves no axis to test"):
        BoundsAttr((Outcome.PROVED, (0,), ""))


powers = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def array_specs(draw: st.DrawFn) -> ArraySpec:
    rank = draw(st.integers(0, 3))
    divisors = st.tuples(*[powers] * rank)
    unit = draw(st.sampled_from([None, *range(rank)]))
    return ArraySpec("f32", rank, draw(powers), unit, draw(divisors), draw(divisors), draw(st.booleans()))


@given(array_specs())
def test_a_contract_says_what_the_array_promised(spec: ArraySpec) -> None:
    contract = ContractAttr.of(spec)
    assert (contract.align, contract.unit_axis, contract.small) == (spec.align, spec.unit_axis, spec.small)
    assert (contract.shape_div, contract.stride_div) == (spec.shape_div, spec.stride_div)
    assert reparsed(str(contract)) == contract


def test_what_an_array_does_not_promise() -> None:
    contract = ContractAttr.of(ArraySpec("f32", 2))
    assert (contract.align, contract.unit_axis, contract.shape_div, contract.stride_div) == (1, None, (1, 1), (1, 1))
    assert [kind for kind in ParamKind if not kind.is_array] == [ParamKind.CONST, ParamKind.SCALAR]


# --- kernels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "ending"), [(tile.Kernel, tile.Return), (simt.Kernel, simt.Return)])
def test_a_kernel_made_in_python(
    kernel: type[tile.Kernel | simt.Kernel], ending: type[tile.Return | simt.Return]
) -> None:
    view = ViewType.of((DYNAMIC,), f32, Access.SHARED)
    contract = ContractAttr.of(ArraySpec("f32", 1, 16, 0))
    made = kernel.make("k", [view, i64], arg_attrs=[{NAME: StringAttr("x"), CONTRACT: contract}, {}])
    made.body.block.add_op(ending.create())
    module = ModuleOp([made])
    module.verify()
    assert (made.arg_name(0), made.arg_name(1)) == ("x", "%1")
    assert (made.contract(0), made.contract(1), made.arg_attr(1, NAME)) == (contract, None, None)
    assert parse_module(create_context(), str(module)).is_structurally_equivalent(module)
    for argument, hint in zip(made.body.block.args, ("rows", "count"), strict=True):
        argument.name_hint = hint
    assert (made.arg_name(0), made.arg_name(1)) == ("x", "%count")
    for argument in made.body.block.args:
        argument.name_hint = "same"
    assert made.arg_name(1) == "%1"
    bare = kernel.make("k", [i64], attributes={"tile.num_warps": IntegerAttr(4, i64)})
    assert bare.arg_attr(0, NAME) is None and "tile.num_warps" in bare.attributes


# --- targets -----------------------------------------------------------------------------------------------------


def test_a_fragment_tiles_a_matrix() -> None:
    fragment = Fragment((16, 8), ((0, 1), (8, 0)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)))
    layout = fragment.tiled((64, 24), [0, 1, None])
    assert layout.warps == ((16, 0), (0, 8), (0, 0))
    assert (layout.base, layout.repeats, layout.registers) == ((32, 16), (2, 2), 16)


def test_atoms_and_targets_by_name() -> None:
    atom = Atom("one", (16, 8, 16), "f16", "f16", "f32", 80, Scope.WARP)
    made: list[str] = []

    def make() -> Target:
        made.append("test-target")
        return Target("test-target", "cuda", 80, atoms=(atom,))

    register_target("test-target", make)
    assert "test-target" in target_names() and not made
    target = get_target("test-target")
    assert get_target("test-target") is target and made == ["test-target"]
    assert target.atom("one") is atom
    with pytest.raises(TargetError, match="test-target has no atom 'two'") as refused:
        target.atom("two")
    assert (refused.value.code, refused.value.help) == ("target/unknown-atom", "it has: one")
    with pytest.raises(TargetError, match="unknown target 'none-such'") as unknown:
        get_target("none-such")
    assert unknown.value.code == "target/unknown"
    import tileopt.backends.targets  # noqa: F401  # importing it registers families of targets

    with pytest.raises(TargetError) as unknown:
        get_target("none-such")
    assert unknown.value.help is not None and "model:NAME" in unknown.value.help


def test_the_target_that_the_module_names() -> None:
    register_target("test-target", lambda: Target("test-target", "cpu", 0))
    kernel = tile.Kernel.make("k", [])
    module = ModuleOp([kernel], {"tile.target": StringAttr("test-target")})
    assert target_of(kernel) is target_of(module) is get_target("test-target")
    with pytest.raises(TargetError, match="this pass needs a target and the module names none") as missing:
        target_of(tile.Kernel.make("k", []))
    assert missing.value.code == "target/missing"


def test_default_layouts_are_made_once() -> None:
    assert coalesced((64, 64), (0, 1), 4, 4) is coalesced((64, 64), (0, 1), 4, 4)
