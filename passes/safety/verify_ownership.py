"""verify-ownership: tile, simt, stream -> the same. Afterwards each plain store goes to memory that its block or thread
owns.

A block (on the SIMT track a thread) owns the elements of an owned array that it alone stores to: two different ones
never write a common element, and none reads an element that another one may write. What cannot be proved is refused.

Stamped on the kernel, for a launch to check: `tile.unused_axes`, the grid axes whose block id the kernel never asks for
(their extent must be 1, or blocks would repeat each other's stores), and added to `simt.requires`, that the extents and
integer arguments that a proof divides by are at least 1. For the report: `tile.ownership`, a line of proof a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.kernel import NAME, PERSISTENT, REQUIRES, KernelOp
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.analysis.launch_symbols import Sizes
from tileopt.passes.safety.owned_accesses import OwnedAccesses
from tileopt.passes.safety.owners import parties, unchecked_stores
from tileopt.passes.safety.refusals import refusal

UNUSED_AXES = "tile.unused_axes"  # kernel attribute: grid axes where a launch must have extent 1
OWNERSHIP = "tile.ownership"  # kernel attribute: how each store was proved


@dataclass(frozen=True)
class VerifyOwnership(ModulePass):
    """Refuses stores that two blocks may make to one element."""

    name = "verify-ownership"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel | simt.Kernel):
                verify_kernel(kernel)
        programs = [p for p in op.body.block.ops if p.name == "stream.program"]
        if programs:
            from tileopt.dialects.stream import Program
            from tileopt.passes.safety.host_programs import kernels_of, verify_program

            for program in programs:
                if isinstance(program, Program):
                    verify_program(program, kernels_of(op))


def verify_kernel(kernel: KernelOp) -> None:
    """Verifies one kernel and stamps the proofs on it. Raises OwnershipError."""
    ids = (op for op in kernel.walk() if isinstance(op, tile.Bid | simt.BlockId))
    used = {op.axis.value.data for op in ids if op.result.uses.get_length()}

    def prepare(positive: Sizes) -> list[OwnedAccesses]:
        facts = analyse(kernel, positive)
        return [OwnedAccesses(facts, found, owners) for found, owners in parties(facts, kernel, sorted(used))]

    parts = prepare(Sizes())
    loose = [f"{store.index}: unchecked" for store in unchecked_stores(kernel)]
    if not any(part.stores for part in parts):
        if loose:
            _stamp(kernel, loose, [])
        return
    proofs, failed = _proofs(parts)
    positive = Sizes()
    while failed is not None:
        # A launch can check that what the kernel divides by is not 0.
        more = _named(kernel, failed.divisors()) - positive
        if not more:
            error = refusal(failed)
            if PERSISTENT in kernel.attributes:
                error.help = (
                    "passes made this kernel's grid persistent after its stores were verified, which hides whose they "
                    'are: give the IR from before, the level "tile"'
                )
            raise error
        positive |= more
        proofs, failed = _proofs(prepare(positive))
    _stamp(kernel, [*proofs, *loose], [a for a in (0, 1, 2) if a not in used])
    _require(kernel, positive, used)


def _proofs(parts: list[OwnedAccesses]) -> tuple[list[str], OwnedAccesses | None]:
    """A line for each store, and those among whom the proof failed."""
    proofs: list[str] = []
    for part in parts:
        found = part.verify()
        if found is None:
            return proofs, part
        proofs += found
    return list(dict.fromkeys(proofs)), None


def _stamp(kernel: KernelOp, proofs: list[str], unused: list[int]) -> None:
    kernel.attributes[OWNERSHIP] = ArrayAttr([StringAttr(p) for p in proofs])
    kernel.attributes[UNUSED_AXES] = DenseArrayBase.from_list(i64, unused)


def _named(kernel: KernelOp, sizes: Sizes) -> Sizes:
    """The sizes of parameters with a name, which a launch can check."""
    return frozenset(size for size in sizes if kernel.arg_attr(size[0], NAME) is not None)


def _require(kernel: KernelOp, positive: Sizes, used: set[int]) -> None:
    """Adds to what a launch checks: that the sizes are at least 1, unless one owner runs, which meets no other: one
    block of tiles, or one thread.

    An unused axis 0 is said so too: later passes may build on it (the launch itself is refused by `UNUSED_AXES`).
    """
    found = kernel.attributes.get(REQUIRES)
    texts = [t.data for t in found.data if isinstance(t, StringAttr)] if isinstance(found, ArrayAttr) else []
    if 0 not in used:
        texts.append("grid[0] == 1")
    alone = isinstance(kernel, tile.Kernel) or prod(kernel.block or (0,)) == 1
    for index, axis in sorted(positive):
        name = kernel.arg_name(index)
        size = name if axis < 0 else f"{name}.shape[{axis}]"
        texts.append(f"{size} >= 1" + (" or grid[0] * grid[1] * grid[2] <= 1" if alone else ""))
    if texts:
        kernel.attributes[REQUIRES] = ArrayAttr([StringAttr(t) for t in dict.fromkeys(texts)])


def unused_axes(kernel: KernelOp) -> tuple[int, ...]:
    """The grid axes along which a launch must have extent 1."""
    axes = kernel.attributes.get(UNUSED_AXES)
    return tuple(int(a) for a in axes.get_values()) if isinstance(axes, DenseArrayBase) else ()
