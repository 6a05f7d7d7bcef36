"""Classes of tile values that lie in one layout: elementwise operands and results, and what control flow carries."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tileopt.dialects import tile


class ValueClasses:
    """A union-find over the tensor values of one kernel, in program order."""

    def __init__(self) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}

    def add(self, value: SSAValue) -> None:
        self._parent.setdefault(value, value)

    def find(self, value: SSAValue) -> SSAValue:
        """The class's representative: its first value in program order."""
        root = value
        while self._parent[root] is not root:
            root = self._parent[root]
        while self._parent[value] is not root:
            self._parent[value], value = root, self._parent[value]
        return root

    def union(self, values: Iterable[SSAValue]) -> None:
        first: SSAValue | None = None
        for value in values:
            if not isinstance(value.type, TensorType):
                continue
            self.add(value)
            root = self.find(value)
            if first is None:
                first = root
            else:
                self._parent[root] = first

    def values(self) -> Iterable[SSAValue]:
        return self._parent.keys()


# Ops whose operands and results need not lie alike: assign-layouts has a rule for each.
RELATING = (
    tile.Load, tile.Store, tile.AtomicRmw, tile.Splat, tile.ToScalar, tile.Arange, tile.Broadcast, tile.Reshape,
    tile.Transpose, tile.Reduce, tile.Mma, tile.Stage, tile.Unstage, tile.ConvertLayout, tile.LoadBuffer,
    tile.StoreBuffer, tile.Unpack, tile.Pack, tile.Repeat,
)  # fmt: skip


def collect(kernel: Operation) -> ValueClasses:
    """The classes of a kernel's tensor values."""
    classes = ValueClasses()
    for op in kernel.walk():
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    if isinstance(argument.type, TensorType):
                        classes.add(argument)
        for result in op.results:
            if isinstance(result.type, TensorType):
                classes.add(result)
        if isinstance(op, scf.ForOp):
            body = op.body.block
            last = body.last_op
            assert last is not None
            for parts in zip(op.iter_args, body.args[1:], last.operands, op.results, strict=True):
                classes.union(parts)
        elif isinstance(op, scf.IfOp):
            for index, result in enumerate(op.results):
                yields = [r.block.last_op for r in op.regions if r.blocks]
                classes.union([result, *(y.operands[index] for y in yields if y is not None)])
        elif isinstance(op, scf.WhileOp):
            before, after = op.before_region.block, op.after_region.block
            condition, back = before.last_op, after.last_op
            assert condition is not None and back is not None
            for entering in zip(op.arguments, before.args, back.operands, strict=True):
                classes.union(entering)
            for passed in zip(condition.operands[1:], after.args, op.results, strict=True):
                classes.union(passed)
        elif isinstance(op, tile.Mma):
            classes.union((op.acc, op.result))
        elif isinstance(op, tile.MapSimt):
            if op.axis is None:
                classes.union((*op.tiles, *op.outs))
        elif op.results and not op.regions and not isinstance(op, RELATING):  # elementwise
            classes.union((*op.operands, *op.results))
    return classes
