"""Whether each use of a value is reached by its definition. xDSL parses and verifies what violates this.

The rules are MLIR's: a value may be used by later ops of its block, by ops of the blocks that its block dominates, and
by all that is nested in these, unless an op isolated from above lies between. Code that cannot be reached is not held
to any order, nor is a module's body, which is a graph region.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from tileopt.dialects.diagnostics import CompileError, location_of


def check_dominance(root: Operation) -> list[CompileError]:
    """One error for each use in `root` that its value does not reach."""
    from tileopt.dialects.verifier import walk

    order = {op: position for position, op in enumerate(walk(root))}
    regions: dict[Region, Dominators] = {}
    errors: list[CompileError] = []
    for user in order:
        for index, value in enumerate(user.operands):
            problem = _problem(value, user, order, regions)
            if problem is not None:
                errors.append(_error(value, user, index, problem))
    return errors


def _problem(
    value: SSAValue, user: Operation, order: dict[Operation, int], regions: dict[Region, Dominators]
) -> str | None:
    """Why `value` may not be used by `user`, or None where it may."""
    block = (
        value.block if isinstance(value, BlockArgument) else value.op.parent if isinstance(value, OpResult) else None
    )
    if block is None or block.parent is None:
        return "was erased"
    # The op around `user`, or `user` itself, that lies in the region of the definition.
    holder: Operation | None = user
    isolated: Operation | None = None
    while holder is not None and (holder.parent is None or holder.parent.parent is not block.parent):
        holder = holder.parent_op()
        if holder is not None and isolated is None and holder.has_trait(IsolatedFromAbove):
            isolated = holder
    if holder is None or holder.parent is None:
        return "is defined in a region that does not enclose this use"
    if isolated is not None:
        return f"is defined outside of '{isolated.name}', which is isolated from above"
    if isinstance(value, OpResult) and holder is value.op and holder is not user:
        return "is used inside of the op that defines it"
    if isinstance(block.parent.parent, ModuleOp):
        return None
    if holder.parent is block:
        if not isinstance(value, OpResult) or order[value.op] < order[holder]:
            return None
    if block.parent not in regions:
        regions[block.parent] = Dominators(block.parent)
    dominators = regions[block.parent]
    if not dominators.reachable(holder.parent):
        return None
    if holder.parent is not block and dominators.dominate(block, holder.parent):
        return None
    return "does not dominate this use"


def _error(value: SSAValue, user: Operation, index: int, problem: str) -> CompileError:
    name = "" if value.name_hint is None else f" (%{value.name_hint})"
    notes = []
    if isinstance(value, OpResult):
        notes.append((f"defined here, by '{value.op.name}'", location_of(value.op)))
    elif isinstance(value, BlockArgument) and (parent := value.block.parent_op()) is not None:
        notes.append((f"it is an argument of a block of this '{parent.name}'", location_of(parent)))
    message = f"operand #{index}{name} of '{user.name}' {problem}"
    return CompileError("verify/dominance", message, location=location_of(user), notes=notes)


class Dominators:
    """The dominator tree of a region (Cooper, Harvey and Kennedy: a simple, fast dominance algorithm)."""

    def __init__(self, region: Region) -> None:
        entry = region.first_block
        self._number: dict[Block, int] = {}
        self._idom: dict[Block, Block] = {}
        if entry is None:
            return
        postorder = list(_postorder(entry))
        self._number = {block: position for position, block in enumerate(postorder)}
        predecessors: dict[Block, list[Block]] = {block: [] for block in postorder}
        for block in postorder:
            for successor in _successors(block):
                predecessors[successor].append(block)
        self._idom = {entry: entry}
        changed = True
        while changed:
            changed = False
            for block in reversed(postorder[:-1]):
                known = [p for p in predecessors[block] if p in self._idom]
                best = known[0]
                for other in known[1:]:
                    best = self._meet(best, other)
                if self._idom.get(block) is not best:
                    self._idom[block] = best
                    changed = True

    def _meet(self, a: Block, b: Block) -> Block:
        while a is not b:
            while self._number[a] < self._number[b]:
                a = self._idom[a]
            while self._number[b] < self._number[a]:
                b = self._idom[b]
        return a

    def reachable(self, block: Block) -> bool:
        return block in self._number

    def dominate(self, a: Block, b: Block) -> bool:
        """Whether every path from the entry to `b` passes `a`. Both must be reachable for it to be true."""
        if a not in self._number:
            return False
        while b is not a and self._idom[b] is not b:
            b = self._idom[b]
        return a is b


def _successors(block: Block) -> tuple[Block, ...]:
    return () if block.last_op is None else tuple(block.last_op.successors)


def _postorder(entry: Block) -> Iterator[Block]:
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, pending = stack[-1]
        successor = next(pending, None)
        if successor is None:
            stack.pop()
            yield block
        elif successor not in seen:
            seen.add(successor)
            stack.append((successor, iter(_successors(successor))))
