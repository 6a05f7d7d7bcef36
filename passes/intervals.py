"""Structured control flow as numbers: each op has one, in the order of the text, and ends at the last op inside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tileopt.dialects.verifier import walk

LOOPS = (scf.ForOp, scf.WhileOp)


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers of the first and the last op, both included."""

    first: int
    last: int

    def meets(self, other: Interval) -> bool:
        return self.first <= other.last and other.first <= self.last


class Order:
    """The number of each op inside `root`, and that of the last op in it."""

    def __init__(self, root: Operation) -> None:
        self.number = {op: number for number, op in enumerate(walk(root))}
        self.end = dict(self.number)
        for op in reversed(self.number):
            parent = op.parent_op()
            if parent is not None and op is not root:
                self.end[parent] = max(self.end[parent], self.end[op])

    def of(self, op: Operation) -> Interval:
        return Interval(self.number[op], self.end[op])

    def around(self, uses: Iterable[Operation], home: Block) -> Interval:
        """From the first to the last use of something made in the block `home`: all of a loop that uses it counts."""
        widest = [widest_loop(op, home) for op in uses]
        return Interval(min(self.number[op] for op in widest), max(self.end[op] for op in widest))


def widest_loop(op: Operation, home: Block) -> Operation:
    """The outermost loop around `op` in the block `home`, or `op` itself."""
    widest = op
    while op.parent is not home:
        parent = op.parent_op()
        if parent is None:
            return op  # it is used outside of that block, which is to say anywhere
        op = parent
        if isinstance(op, LOOPS):
            widest = op
    return widest
