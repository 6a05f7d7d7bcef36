"""map-tensor-cores: each matrix product names the instruction that computes it.

From: tile. To: tile. Invariant: every `tile.mma` has an `atom` that the target has and that fits the operands' types,
and every kernel has `tile.num_warps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.target import Atom, Target, target_of
from tileopt.dialects.tile_types import tile_shape

NUM_WARPS = "tile.num_warps"
# An accumulator of this many elements for each thread of the default block leaves no room for operands.
ACCUMULATORS_PER_THREAD = 64
MAX_WARPS = 16


def legal_atoms(target: Target, a: Attribute, b: Attribute, acc: Attribute) -> list[Atom]:
    """The target's atoms for these element types, best first. IR integers are signless: products are of signed ones."""

    def fits(name: str, type_: Attribute) -> bool:
        return DTYPES[name].ir == type_ and DTYPES[name].kind != "u"

    found = [x for x in target.atoms if fits(x.a, a) and fits(x.b, b) and fits(x.acc, acc)]
    return sorted(found, key=lambda x: (-x.preference, -prod(x.shape)))


def choose_warps(target: Target, accumulators: list[tuple[int, ...]], given: int | None) -> int:
    """Warps of a block: the hint, or the target's default, doubled while an accumulator would crowd a thread."""
    if given is not None:
        return given
    warps = target.default_warps
    largest = max((prod(shape) for shape in accumulators), default=0)
    while largest > ACCUMULATORS_PER_THREAD * 32 * warps and warps < MAX_WARPS and target.kind == "cuda":
        warps *= 2
    return warps


@dataclass(frozen=True)
class MapTensorCores(ModulePass):
    name = "map-tensor-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.Kernel):
                self.map_kernel(kernel, target_of(kernel))

    def map_kernel(self, kernel: tile.Kernel, target: Target) -> None:
        accumulators: list[tuple[int, ...]] = []
        for op in kernel.walk():
            if isinstance(op, tile.Mma):
                accumulators.append(tile_shape(op.acc.type))
                if op.atom is None:
                    op.atom = StringAttr(self.atom_of(op, target).name)
                else:
                    target.atom(op.atom.data)
        hint = kernel.attributes.get(NUM_WARPS)
        given = hint.value.data if isinstance(hint, IntegerAttr) else None
        if given is not None and (given < 1 or given & (given - 1) or given * 32 > target.max_threads):
            raise UnsupportedError(
                "kernel/num-warps",
                f"num_warps = {given}: a block has a power of two of warps, at most {target.max_threads // 32}",
                location=location_of(kernel),
                help="use 1, 2, 4, 8, ... or leave the choice to the compiler",
            )
        kernel.attributes[NUM_WARPS] = IntegerAttr(choose_warps(target, accumulators, given), i64)

    def atom_of(self, op: tile.Mma, target: Target) -> Atom:
        types = [tile.element_type_of(v.type) for v in (op.a, op.b, op.acc)]
        atoms = legal_atoms(target, *types)
        if atoms:
            return atoms[0]
        known = sorted({f"{a.a} x {a.b} -> {a.acc}" for a in target.atoms})
        raise UnsupportedError(
            "target/no-atom",
            f"{target.name} cannot multiply {types[0]} by {types[1]} into {types[2]}",
            location=location_of(op),
            help=f"convert the operands with astype; {target.name} multiplies {', '.join(known) or 'nothing'}",
        )
