"""A whole frontend: einsum strings to tile kernels, by the builder alone.

    einsum("bik,bkj->bij", a, b)     einsum("ii->", a)     einsum("i,j->ij", x, y)

Each output label is a grid axis (labels past the third are loops), each summed label is a loop over tiles. Of two
operands that share a summed label, the product is a matrix product; everything else multiplies and adds elementwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial, reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tileopt.dialects.contracts import Hints, Parameter, ParamKind, Signature
from tileopt.dialects.diagnostics import KernelTypeError, Location
from tileopt.frontends.builder import ACCUMULATORS, KernelBuilder, Value
from tileopt.frontends.engine import engine

Body = Callable[[Sequence[Value]], Sequence[Value]]
WIDE = 32  # extent of a tile along a label that is wide


def fail(message: str, help: str) -> KernelTypeError:
    return KernelTypeError("einsum/formula", message, help=help)


@dataclass(frozen=True)
class Formula:
    """`operands`: the labels of each operand; `out`: those of the result."""

    text: str
    operands: tuple[str, ...]
    out: str

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> Formula:
        """Raises KernelTypeError (`einsum/formula`) where the text is no formula."""
        plain = text.replace(" ", "")
        if not re.fullmatch(r"[a-zA-Z]*(,[a-zA-Z]*)*->[a-zA-Z]*", plain):
            raise fail(f"'{text}' is not of the form 'ij,jk->ik'", "name each axis by a letter, without ellipses")
        operands, out = tuple(plain.split("->")[0].split(",")), plain.split("->")[1]
        if len(set(out)) < len(out):
            raise fail(f"'{text}' repeats a label of the result", "each axis of the result has a label of its own")
        if missing := set(out) - set(plain.split("->")[0]):
            raise fail(f"'{text}' gives a label that no operand has: {', '.join(sorted(missing))}", "drop it")
        if not all(operands):
            raise fail(f"'{text}' has an operand without axes", "multiply by a scalar outside of einsum")
        return Formula(plain, operands, out)

    @cached_property
    def summed(self) -> list[str]:
        """Labels that the result lacks, in order of appearance; the one that a matrix product contracts comes last."""
        labels = [c for c in dict.fromkeys("".join(self.operands)) if c not in self.out]
        return sorted(labels, key=lambda c: c == self.contracted)

    @cached_property
    def contracted(self) -> str | None:
        """The label of a matrix product: summed, once in each of two operands, one of which has labels of its own."""
        if len(self.operands) != 2 or not any((c in self.operands[0]) != (c in self.operands[1]) for c in self.out):
            return None
        both = [c for c in self.operands[0] if c not in self.out and all(x.count(c) == 1 for x in self.operands)]
        return both[-1] if both else None

    @cached_property
    def wide(self) -> dict[str, int]:
        """Extent of a tile along each label; a label that an operand repeats (a diagonal) is taken one by one."""
        once = [c for c in (*self.out, *self.summed) if all(x.count(c) <= 1 for x in self.operands)]
        if self.contracted is None:
            return dict.fromkeys(sorted(once, key=lambda c: c in self.out)[-2:], WIDE)
        rows, columns = ([c for c in once if c in self.out and c not in x] for x in reversed(self.operands))
        return dict.fromkeys([*rows[-1:], *columns[-1:], self.contracted], WIDE)


@dataclass(frozen=True)
class Einsum:
    """One formula as a kernel (see `tileopt.dialects.contracts.KernelDefinition`): operands x0, x1, ... and out."""

    formula: Formula
    hints: Hints = field(default_factory=Hints)
    location: Location | None = None
    name: str = "einsum"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        inputs = [Parameter(f"x{i}", ParamKind.IN, rank=len(x)) for i, x in enumerate(self.formula.operands)]
        return (*inputs, Parameter("out", ParamKind.OUT, rank=max(1, len(self.formula.out))))

    def fingerprint(self) -> str:
        return f"einsum 1 {self.formula.text}"

    def build(self, signature: Signature) -> ModuleOp:
        return _Kernel(KernelBuilder(self.name, self.parameters, signature, self.hints), self.formula).build()


class _Kernel:
    def __init__(self, builder: KernelBuilder, formula: Formula) -> None:
        self.b, self.formula = builder, formula
        self.arrays = [builder.array(f"x{i}") for i in range(len(formula.operands))]
        self.out = builder.array("out")
        self.acc = ACCUMULATORS.get(self.arrays[0].dtype.name, self.arrays[0].dtype)
        self.at: dict[str, Value] = {}  # the tile index along each label, while its loop or grid axis is open
        self.axes = [c for c in formula.out if self.extent(c) > 1]  # of the accumulator

    def extent(self, label: str) -> int:
        return self.formula.wide.get(label, 1)

    def tiles(self, label: str) -> Value:
        """How many tiles cover the label's axis."""
        array, labels = next((x, y) for x, y in zip(self.arrays, self.formula.operands, strict=True) if label in y)
        return self.b.cdiv(self.b.dim(array, labels.index(label)), self.extent(label))

    def build(self) -> ModuleOp:
        for axis, label in enumerate(self.formula.out[:3]):
            self.at[label] = self.b.bid(axis)
        self.results(self.formula.out[3:])
        return self.b.finish()

    def results(self, labels: str) -> None:
        """Loops over the output labels that have no grid axis; inside, one tile of the result."""
        if labels:
            self.loop(labels[0], [], lambda _: (self.results(labels[1:]), [])[1])
            return
        shape = [self.extent(c) for c in self.axes]
        zero = self.b.constant(0.0 if self.acc.is_float else 0, self.acc)
        total = self.sums(self.formula.summed, self.b.full(shape, zero) if shape else zero)
        tile = self.b.cast(total, self.out.dtype)
        tile = self.b.reshape(tile, [self.extent(c) for c in self.formula.out]) if shape else tile
        self.b.store(self.out, [self.at[c] for c in self.formula.out] or [0], tile)

    def loop(self, label: str, init: Sequence[Value], body: Body) -> list[Value]:
        def step(index: Value, carried: Sequence[Value]) -> Sequence[Value]:
            self.at[label] = index
            return body(carried)

        return self.b.for_(0, self.tiles(label), 1, init, step)

    def sums(self, labels: Sequence[str], total: Value) -> Value:
        """`total` and the sum over these labels of the operands' product."""
        if labels:
            return self.loop(labels[0], [total], lambda carried: [self.sums(labels[1:], carried[0])])[0]
        if self.formula.contracted is not None and self.arrays[0].dtype.name in ACCUMULATORS:
            return self.matrix_product(total, self.formula.contracted)
        labels = [c for c in dict.fromkeys("".join(self.formula.operands)) if self.extent(c) > 1]
        factors = [self.operand(index, labels, self.acc) for index in range(len(self.arrays))]
        product = reduce(partial(self.b.binary, "mul"), factors)
        product = self.b.reduce("sum", product, [i for i, c in enumerate(labels) if c not in self.formula.out])
        kept = [c for c in labels if c in self.formula.out]
        return self.b.binary("add", total, self.b.transpose(product, [kept.index(c) for c in self.axes]))

    def matrix_product(self, total: Value, k: str) -> Value:
        rows, columns = ([c for c in self.axes if c in labels] for labels in self.formula.operands)
        left, right = self.operand(0, [*rows, k]), self.operand(1, [k, *columns])
        m, n = ([self.extent(c) for c in labels] or [1] for labels in (rows, columns))
        swapped = rows + columns != self.axes
        acc = self.b.transpose(total, [1, 0]) if swapped else self.b.reshape(total, [*m, *n])
        product = self.b.mma(self.b.reshape(left, [*m, WIDE]), self.b.reshape(right, [WIDE, *n]), acc)
        return self.b.transpose(product, [1, 0]) if swapped else self.b.reshape(product, total.shape)

    def operand(self, index: int, order: Sequence[str], dtype: Any = None) -> Value:
        """A tile of an operand with its wide labels in `order`, extent 1 for those it lacks."""
        labels = self.formula.operands[index]
        tile = self.b.load(self.arrays[index], [self.at[c] for c in labels], [self.extent(c) for c in labels])
        mine = [c for c in labels if self.extent(c) > 1]
        tile = self.b.reshape(tile, [self.extent(c) for c in mine])
        tile = self.b.transpose(tile, [mine.index(c) for c in order if c in mine])
        if dtype is None:
            return tile
        return self.b.reshape(self.b.cast(tile, dtype), [self.extent(c) if c in mine else 1 for c in order])


def einsum(text: str, *arrays: Any, out: Any = None) -> Any:
    """The einsum of arrays of one element type; a new NumPy array unless `out` is given (which a GPU's arrays need).

    Raises KernelTypeError (`einsum/formula`) where the formula or the extents do not fit the arrays.
    """
    formula = Formula.parse(text)
    ranks, extents = [len(x.shape) for x in arrays], dict[str, int]()
    if [len(x) for x in formula.operands] != ranks:
        raise fail(f"'{text}' does not fit arrays of rank {ranks}", "name each axis by a letter")
    for label, extent in zip("".join(formula.operands), (n for x in arrays for n in x.shape), strict=True):
        if extents.setdefault(label, extent) != extent:
            raise fail(f"'{label}' has the extents {extents[label]} and {extent}", "an axis has one extent")
    shape = tuple(extents[c] for c in formula.out)
    result = np.zeros(shape, arrays[0].dtype) if out is None else out
    grid = tuple(-(-extents[c] // formula.wide.get(c, 1)) for c in formula.out[:3]) or (1,)
    engine().launch(Einsum(formula), grid, (*arrays, result.reshape(shape or (1,))), {}, None, None)
    return result


if __name__ == "__main__":
    a, b = np.random.default_rng(0).random((2, 3, 50, 50))
    np.testing.assert_allclose(einsum("bik,bkj->bij", a, b), np.einsum("bik,bkj->bij", a, b))
    print("einsum: bik,bkj->bij as NumPy's")
