"""Whatever an op is given, its verifier raises VerifyException or nothing; what it accepts can be printed and folded.

Ops of the goldens are taken apart and put together with other operands, results and properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    VectorType,
    bf16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region
from xdsl.parser import IndexType
from xdsl.traits import HasFolder, get_effects, is_speculatable
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.contracts import ArraySpec, ContractAttr
from tileopt.dialects.encodings import LayoutAttr, SharedAttr
from tileopt.dialects.layout import Layout, SharedLayout, coalesced
from tileopt.dialects.pipe import ChannelType
from tileopt.dialects.tile_types import DYNAMIC, Access, BufferType, ViewType
from tileopt.dialects.verifier import walk
from tileopt.dialects.xdsl_compat import create_context, parse_module

HERE = Path(__file__).parent
OURS = ("tile.", "pipe.", "simt.", "gpu.", "stream.")

ROW = LayoutAttr.of(coalesced((64,), (0,), 2, 1))
MATRIX = LayoutAttr.of(coalesced((8, 16), (0, 1), 2, 1))
SCALAR = LayoutAttr.of(Layout((), (), ((),) * 5, ()))
ENDLESS = LayoutAttr.of(Layout((1,), tuple((1 << bit,) for bit in range(60)), ((0,),) * 5, ()))

TYPES: list[Attribute] = [
    i1, i8, i32, i64, IntegerType(128), IndexType(), f32, f64, bf16, FunctionType.from_lists([], []),
    TensorType(f32, []), TensorType(f32, [4]), TensorType(f32, [1, 1]), TensorType(f32, [4, 8]), TensorType(i64, [4]),
    TensorType(f32, [DYNAMIC]), TensorType(f32, [0]), TensorType(f32, [-5]), TensorType(f32, [1 << 40, 1 << 40]),
    TensorType(IndexType(), [4]), TensorType(TensorType(f32, [4]), [4]), TensorType(f32, [4], StringAttr("other")),
    TensorType(f32, [4], ROW), TensorType(f32, [64], ROW), TensorType(f32, [8, 16], ROW), TensorType(f32, [64], SCALAR),
    TensorType(f32, [64], ENDLESS), TensorType(f32, [8, 16], SharedAttr.of(SharedLayout((8, 16), (0, 1)))),
    UnrankedTensorType(f32),
    VectorType(f32, []), VectorType(f32, [1]), VectorType(f32, [2]), VectorType(f32, [2, 2]), VectorType(i32, [2]),
    VectorType(f32, [0]), VectorType(f32, [-1]), VectorType(f32, [1 << 60]), VectorType(IndexType(), [2]),
    ViewType.of((), f32, Access.SHARED), ViewType.of((DYNAMIC,), f32, Access.OWNED),
    ViewType.of((DYNAMIC, 16), f32, Access.OWNED), ViewType.of((0, 1 << 62), i8, Access.SHARED),
    BufferType.of((), f32), BufferType.of((64,), f32), BufferType.of((8, 16), bf16), BufferType.of((1 << 40,), f32),
    BufferType.of((8, 16), bf16, SharedLayout((8, 16), (1, 0), pad=8)),
    ChannelType.new([IntegerAttr(2, 64).value, ArrayAttr([BufferType.of((64,), f32)])]),
]  # fmt: skip

ATTRIBUTES: list[Attribute] = [
    *(IntegerAttr(n, t) for n in (0, 1, -1, 2, 3, 8, 31, 1 << 30) for t in (i32, i64, IndexType())),
    IntegerAttr(-(1 << 100), IntegerType(128)), IntegerAttr(1 << 100, IntegerType(128)), IntegerAttr(1, i1),
    FloatAttr(1.0, f32), FloatAttr(float("nan"), f64), UnitAttr(), StringAttr(""), StringAttr("sum"), StringAttr("xor"),
    ArrayAttr([]), ArrayAttr([DictionaryAttr({})]), ArrayAttr([IntegerAttr(0, i64)]), DictionaryAttr({}),
    DenseArrayBase.from_list(i64, []), DenseArrayBase.from_list(i64, [0]), DenseArrayBase.from_list(i64, [1, 0]),
    DenseArrayBase.from_list(i32, [0, 1]), DenseArrayBase.from_list(i8, [-1, 1]), DenseArrayBase.from_list(i64, [64]),
    DenseArrayBase.from_list(i64, [0, 0]), DenseArrayBase.from_list(i64, [8, 16]),
    DenseArrayBase.from_list(i64, [-8, 16]),
    DenseArrayBase.from_list(i64, [1 << 62, 1 << 62]), DenseArrayBase.from_list(f32, [0.0, 1.0]),
    DenseArrayBase.from_list(f64, [float("nan")]), DenseArrayBase.from_list(i1, [1, 0]),
    ROW, MATRIX, SCALAR, ENDLESS, SharedAttr.of(SharedLayout((4,), (0,))),
    BoundsAttr((Outcome.MASKED, (0, 1, 7), "")), BoundsAttr((Outcome.PROVED, (), "why")),
    ContractAttr.of(ArraySpec("f32", 2)), FunctionType.from_lists([i64], []), FunctionType.from_lists([], [i64]),
    *TYPES,
]  # fmt: skip


@cache
def golden_ops() -> list[Operation]:
    """Every op of ours in the goldens that are valid."""
    found: list[Operation] = []
    for path in sorted(HERE.rglob("*.mlir")):
        if not path.stem.endswith("_invalid") and path.parent != HERE:
            module = parse_module(create_context(), path.read_text(), path.name)
            found += [op for op in walk(module) if op.name.startswith(OURS)]
    return found


@dataclass
class Parts:
    """What an op is made of."""

    kind: type[Operation]
    operands: list[Attribute]
    results: list[Attribute]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    regions: list[Region]

    @staticmethod
    def of(op: Operation) -> Parts:
        operands, results = [v.type for v in op.operands], [v.type for v in op.results]
        return Parts(type(op), operands, results, dict(op.properties), dict(op.attributes), list(op.regions))

    def put_together(self) -> Operation:
        return self.kind.create(
            operands=test.TestOp(result_types=self.operands).results,
            result_types=self.results,
            properties=self.properties,
            attributes=self.attributes,
            regions=[region.clone() for region in self.regions],
        )


def judge(parts: Parts) -> bool:
    """Whether the op is valid. What is valid has effects, folds and prints; what is not, is refused with a reason."""
    op = parts.put_together()
    try:
        op.verify_()
    except VerifyException as refusal:
        assert str(refusal).strip()
        return False
    assert str(op)
    get_effects(op)
    is_speculatable(op)
    if (folder := op.get_trait(HasFolder)) is not None:
        folder.fold(op)
    return True


def others(op: Operation) -> Iterator[Parts]:
    """The op with each of its parts exchanged for each of what there is, or left out."""
    for place in range(len(op.operands)):
        for type_ in TYPES:
            parts = Parts.of(op)
            parts.operands[place] = type_
            yield parts
            for result in range(len(op.results)):  # an op that keeps a type is not refused for changing it
                parts = Parts.of(op)
                parts.operands[place] = parts.results[result] = type_
                yield parts
        parts = Parts.of(op)
        del parts.operands[place]
        yield parts
    for place, type_ in product(range(len(op.results)), TYPES):
        parts = Parts.of(op)
        parts.results[place] = type_
        yield parts
    for name in {*op.properties, *type(op).get_irdl_definition().properties}:  # type: ignore[attr-defined]
        parts = Parts.of(op)
        parts.properties.pop(name, None)
        yield parts
        for attribute in ATTRIBUTES:
            parts = Parts.of(op)
            parts.properties[name] = attribute
            yield parts


@pytest.mark.parametrize("name", sorted({op.name for op in golden_ops()}))
def test_each_part_exchanged(name: str) -> None:
    # Of each form of the op (which properties, how many operands) the one with the smallest body.
    forms: dict[tuple[object, ...], Operation] = {}
    for op in sorted(golden_ops(), key=lambda op: sum(1 for _ in walk(op))):
        if op.name == name:
            forms.setdefault((frozenset(op.properties), len(op.operands)), op)
    verdicts = [judge(parts) for op in forms.values() for parts in others(op)]
    assert not verdicts or not all(verdicts)


@st.composite
def tampered(draw: st.DrawFn) -> Parts:
    """An op of the goldens, two or three of whose parts were exchanged."""
    parts = Parts.of(draw(st.sampled_from(golden_ops())))
    for _ in range(draw(st.integers(2, 3))):
        match draw(st.sampled_from(["operand", "result", "property", "more", "attribute"])):
            case "operand" if parts.operands:
                parts.operands[draw(st.integers(0, len(parts.operands) - 1))] = draw(st.sampled_from(TYPES))
            case "result" if parts.results:
                parts.results[draw(st.integers(0, len(parts.results) - 1))] = draw(st.sampled_from(TYPES))
            case "property" if parts.properties:
                parts.properties[draw(st.sampled_from(sorted(parts.properties)))] = draw(st.sampled_from(ATTRIBUTES))
            case "more":
                parts.operands.append(draw(st.sampled_from(TYPES)))
            case "attribute":
                named = st.sampled_from(["tile.num_warps", "tile.num_stages", "tile.fma", "simt.threads"])
                parts.attributes[draw(named)] = draw(st.sampled_from(ATTRIBUTES))
            case _:
                pass
    return parts


@settings(max_examples=500)
@given(tampered())
def test_several_parts_exchanged(parts: Parts) -> None:
    judge(parts)


def test_the_ops_of_the_goldens_are_all_valid() -> None:
    assert all(judge(Parts.of(op)) for op in golden_ops())
