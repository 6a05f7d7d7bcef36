"""verify-ownership: tile, stream -> the same. Afterwards each plain store goes to memory that its block owns.

A block owns the tiles of an owned array that it alone stores to: two different blocks never write a common element,
and no block reads an element that another one may write. What cannot be proved is refused.

Stamped on the kernel, for a launch to check: `tile.unused_axes`, the grid axes whose block id the kernel never asks for
(their extent must be 1, or blocks would repeat each other's stores), and `tile.positive`, the extents and integer
arguments that the proof divides by (a launch of more than one block needs them to be at least 1). For the report:
`tile.ownership`, one line of proof for each store.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.safety.owned_accesses import OwnedAccesses

UNUSED_AXES = "tile.unused_axes"  # kernel attribute: grid axes where a launch must have extent 1
POSITIVE = "tile.positive"  # kernel attribute: pairs of an argument and an axis (-1: a scalar) that must be at least 1
OWNERSHIP = "tile.ownership"  # kernel attribute: how each store was proved


@dataclass(frozen=True)
class VerifyOwnership(ModulePass):
    """Refuses stores that two blocks may make to one element."""

    name = "verify-ownership"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                verify_kernel(kernel)
        programs = [p for p in op.body.block.ops if p.name == "stream.program"]
        if programs:
            from tileopt.dialects.stream import Program
            from tileopt.passes.safety.host_programs import kernels_of, verify_program

            for program in programs:
                if isinstance(program, Program):
                    verify_program(program, kernels_of(op))


def verify_kernel(kernel: tile.Kernel) -> None:
    """Verifies one kernel and stamps the proofs on it. Raises OwnershipError."""
    used = {bid.axis.value.data for bid in kernel.walk() if isinstance(bid, tile.Bid) and bid.result.uses.get_length()}
    owned = OwnedAccesses(analyse(kernel), kernel, sorted(used))
    if not owned.stores:
        return
    proofs, positive = owned.verify(), frozenset[tuple[int, int]]()
    if proofs is None and (positive := owned.divisors()):
        # A launch can check that what the kernel divides by is not 0.
        owned = OwnedAccesses(analyse(kernel, positive), kernel, sorted(used))
        proofs = owned.verify()
    if proofs is None:
        owned.refuse()
    kernel.attributes[OWNERSHIP] = ArrayAttr([StringAttr(p) for p in proofs])
    kernel.attributes[UNUSED_AXES] = DenseArrayBase.from_list(i64, [a for a in (0, 1, 2) if a not in used])
    if positive:
        kernel.attributes[POSITIVE] = DenseArrayBase.from_list(i64, [n for pair in sorted(positive) for n in pair])
