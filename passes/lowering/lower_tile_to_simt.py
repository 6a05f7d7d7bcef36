"""lower-tile-to-simt: what a block does with tiles becomes what each thread does with its fragments.

From: tile+pipe with layouts. To: simt+pipe+gpu. Invariant: no tensors; a tile is `vector<Nxt>`, one op moves or
combines a whole fragment, and loops stay as they are.

One forward walk builds the new kernel beside the old one with a value map; `TABLE` has the rule for each op, and what
has none is taken over with its types converted (elementwise `arith` and `math`, `scf`, pipe).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import pipe, simt, tile
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_types import BufferType, ViewType
from tileopt.passes.invariants import demand
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS
from tileopt.passes.tile_kernels import tile_kernels


@dataclass(frozen=True)
class LowerTileToSimt(ModulePass):
    name = "lower-tile-to-simt"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        demand(self.name, op)
        for kernel in tile_kernels(op):
            lowered = Lowering(kernel, target_of(kernel)).run()
            op.body.block.insert_op_before(lowered, kernel)
            op.body.block.erase_op(kernel)


def fragment_type(type_: Attribute) -> Attribute:
    """The type at the SIMT level: a tensor's fragment, anything else unchanged."""
    if isinstance(type_, TensorType):
        return VectorType(type_.element_type, [layout_of(type_).registers])
    return type_


Rule = Callable[["Lowering", Operation], None]


class Lowering:
    """The state of one kernel's lowering; rules create ops with `emit` and record results with `map`."""

    def __init__(self, kernel: KernelOp, target: Target) -> None:
        self.kernel, self.target = kernel, target
        self.values: dict[SSAValue, SSAValue] = {}
        self.block = Block()
        self.at: Operation = kernel  # the op being lowered: new ops take its location
        self.of_threads = isinstance(kernel, simt.Kernel)
        self.bulk_stores = False  # whether copies may be reading shared memory
        warps = kernel.attributes.get(NUM_WARPS)
        self.num_warps = warps.value.data if isinstance(warps, IntegerAttr) else target.default_warps

    def run(self) -> simt.Kernel:
        from tileopt.passes.lowering.fragments import TABLE

        self.table = TABLE
        body = self.region(self.kernel.body)
        attributes = {k: v for k, v in self.kernel.attributes.items() if k != NUM_WARPS}
        attributes[simt.THREADS] = IntegerAttr(32 * self.num_warps, i64)
        properties = {k: self.kernel.properties[k] for k in KernelOp.RESERVED if k in self.kernel.properties}
        lowered = simt.Kernel.create(properties=properties, attributes=attributes, regions=[body])
        lowered.location = self.kernel.location
        return lowered

    # --- what rules use --------------------------------------------------------------------------------------------

    def value(self, old: SSAValue) -> SSAValue:
        return self.values[old]

    def emit(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute] = (),
        properties: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        op = op_type.create(operands=operands, result_types=results, properties=properties or {}, regions=list(regions))
        op.location = self.at.location
        if self.of_threads and any(isinstance(v.type, BufferType | ViewType) for v in operands):
            op.attributes[simt.TOGETHER] = UnitAttr()
        self.block.add_op(op)
        return op

    def map(self, old: SSAValue, new: SSAValue) -> None:
        self.values[old] = new

    # --- structure -------------------------------------------------------------------------------------------------

    def region(self, old: Region) -> Region:
        outer, at = self.block, self.at
        blocks: list[Block] = []
        for block in old.blocks:
            new = Block(arg_types=[fragment_type(a.type) for a in block.args])
            for mine, theirs in zip(block.args, new.args, strict=True):
                theirs.name_hint = mine.name_hint
                self.values[mine] = theirs
            self.block = new
            for op in block.ops:
                self.at = op
                self.table.get(type(op), Lowering.take_over)(self, op)
            blocks.append(new)
        self.block, self.at = outer, at
        return Region(blocks)

    def take_over(self, op: Operation) -> None:
        """The same op on fragments."""
        operands = [self.values[v] for v in op.operands]
        regions = [self.region(r) for r in op.regions]
        new = type(op).create(
            operands=operands,
            result_types=[fragment_type(r.type) for r in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=regions,
        )
        new.location = op.location
        self.block.add_op(new)
        for mine, theirs in zip(op.results, new.results, strict=True):
            theirs.name_hint = mine.name_hint
            self.values[mine] = theirs


def lower_constant(state: Lowering, op: Operation) -> None:
    """A dense constant is a splat (the frontends make no other); a scalar stays."""
    assert isinstance(op, arith.ConstantOp)
    if not isinstance(op.value, DenseIntOrFPElementsAttr):
        state.take_over(op)
        return
    element = op.value.get_element_type()
    first = next(iter(op.value.iter_attrs()))
    assert isinstance(first, IntegerAttr | FloatAttr)
    scalar = state.emit(arith.ConstantOp, [], [element], {"value": first})
    splat = state.emit(simt.Splat, [scalar.results[0]], [fragment_type(op.result.type)])
    state.map(op.result, splat.results[0])


def renamed(op_type: type[Operation]) -> Rule:
    """A rule for an op that another takes the place of, properties and all."""

    def rule(state: Lowering, op: Operation) -> None:
        new = state.emit(
            op_type,
            [state.value(v) for v in op.operands],
            [fragment_type(r.type) for r in op.results],
            dict(op.properties),
        )
        for mine, theirs in zip(op.results, new.results, strict=True):
            state.map(mine, theirs)

    return rule


def lower_end(state: Lowering, op: Operation) -> None:
    """The end of the kernel, or of a role."""
    from tileopt.passes.lowering.bulk_store import finish

    finish(state)
    if isinstance(op, tile.Return):
        state.emit(simt.Return, [])
    else:
        state.take_over(op)


STRUCTURE: dict[type[Operation], Rule] = {
    arith.ConstantOp: lower_constant,
    tile.Bid: renamed(simt.BlockId),
    tile.NumBlocks: renamed(simt.GridDim),
    tile.Dim: renamed(simt.Dim),
    tile.Splat: renamed(simt.Splat),
    tile.Return: lower_end,
    pipe.EndRole: lower_end,
    simt.Return: lower_end,
    scf.YieldOp: Lowering.take_over,
}
