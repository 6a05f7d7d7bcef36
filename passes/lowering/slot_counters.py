"""The slot of an iteration, `iteration mod slots`, without a division in each iteration.

Where the iteration is a loop's own count (from 0 by 1) plus a constant, the slot is carried around the loop and goes
back to 0 at the end of the ring; a power of two of slots takes a mask. `linear_forms.modular_form` knows these shapes.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tileopt.passes.building import EQUAL, NO_FLAGS, NOT_BELOW, add, choose, compare, emit, number
from tileopt.passes.loops import carry
from tileopt.passes.lowering.linear_forms import constant_of, linear_form


class SlotCounters:
    """Makes slot indices, each once in a block, and one counter for each loop and number of slots."""

    def __init__(self) -> None:
        self.indices: dict[tuple[SSAValue, int, Block], SSAValue] = {}
        self.counters: dict[tuple[SSAValue, int], SSAValue] = {}

    def index(self, at: Operation, iteration: SSAValue, slots: int) -> SSAValue:
        """`iteration` modulo `slots`, for use from `at` on to the end of its block."""
        assert at.parent is not None
        key = (iteration, slots, at.parent)
        if key not in self.indices:
            self.indices[key] = self.make(at, iteration, slots)
        return self.indices[key]

    def make(self, at: Operation, iteration: SSAValue, slots: int) -> SSAValue:
        known = constant_of(iteration)
        if known is not None:
            return number(at, known % slots)
        if slots & (slots - 1) == 0:
            return emit(at, arith.AndIOp, [iteration, number(at, slots - 1)], [i64])
        counted = self.counted(iteration)
        if counted is None:
            return emit(at, arith.RemUIOp, [iteration, number(at, slots)], [i64])
        variable, ahead = counted
        slot = self.counter(variable, slots)
        if ahead % slots == 0:
            return slot
        moved = add(at, slot, number(at, ahead % slots))
        end = number(at, slots)
        back = emit(at, arith.SubiOp, [moved, end], [i64], NO_FLAGS)
        return choose(at, compare(at, NOT_BELOW, moved, end), back, moved)

    def counted(self, iteration: SSAValue) -> tuple[BlockArgument, int] | None:
        """The loop variable, counting from 0 by 1, of which `iteration` is a constant ahead."""
        form = linear_form(iteration)
        if len(form.terms) != 1 or form.const < 0:
            return None
        ((variable, factor),) = form.terms
        if factor != 1 or not isinstance(variable, BlockArgument) or variable.index != 0:
            return None
        loop = variable.block.parent_op()
        if not isinstance(loop, scf.ForOp) or constant_of(loop.lb) != 0 or constant_of(loop.step) != 1:
            return None
        return variable, form.const

    def counter(self, variable: BlockArgument, slots: int) -> SSAValue:
        """The slot of a loop's own iteration, carried around the loop."""
        key = (variable, slots)
        if key not in self.counters:
            loop = variable.block.parent_op()
            assert isinstance(loop, scf.ForOp)
            slot = carry(loop, number(loop, 0))
            end = variable.block.last_op
            assert end is not None
            full = compare(end, EQUAL, slot, number(end, slots - 1))
            following = choose(end, full, number(end, 0), add(end, slot, number(end, 1)))
            end.operands = [*end.operands, following]
            self.counters[key] = slot
        return self.counters[key]
