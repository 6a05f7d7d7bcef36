"""fold-layouts: what conversions remain are real movement.

From: tile+pipe with layouts. To: the same. Invariant: no `tile.convert_layout` keeps the layout, follows another one,
or moves what can be made again in the layout that is asked for (splats, coordinates, and arithmetic on them).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import tile
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.layout import Layout
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.layout.assign_layouts import collapse, laid_out, retyped, unit_reshape
from tileopt.passes.tile_kernels import tile_kernels

MAX_DEPTH = 8  # of the expression that is made again; longer ones cost more than the movement


@dataclass(frozen=True)
class FoldLayouts(ModulePass):
    name = "fold-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tile_kernels(op):
            for inner in list(kernel.walk()):
                if isinstance(inner, tile.ConvertLayout):
                    _fold(inner)


def _fold(convert: tile.ConvertLayout) -> None:
    source = convert.source
    while isinstance(source.owner, tile.ConvertLayout):
        source = source.owner.source
    replacement: SSAValue | None = None
    if source.type == convert.result.type:
        replacement = source
    else:
        plan = _plan(source, layout_of(convert.result.type), 0)
        if plan is not None:
            replacement = _make(source, plan, convert)
    if replacement is None:
        skipped = convert.source.owner
        convert.operands[0] = source
        if isinstance(skipped, tile.ConvertLayout):
            _erase_unused(skipped)
    else:
        convert.result.replace_all_uses_with(replacement)
        _erase_unused(convert)
        return


def _erase_unused(op: Operation) -> None:
    """Erases an op that nothing uses, and the cheap producers that it leaves unused."""
    pending = [op]
    while pending:
        dead = pending.pop()
        if any(result.uses for result in dead.results):
            continue
        operands = [v.owner for v in dead.operands if isinstance(v, OpResult)]
        block = dead.parent_block()
        if block is None:
            continue
        block.erase_op(dead)
        pending += [o for o in operands if isinstance(o, tile.ConvertLayout) or _is_cheap(o)]


def _is_cheap(op: Operation | Block) -> bool:
    if isinstance(op, tile.Splat | tile.Arange | tile.Reshape | tile.Broadcast):
        return True
    return isinstance(op, Operation) and op.name.startswith("arith.") and not op.regions


_Plan = dict[SSAValue, Layout]


def _plan(value: SSAValue, layout: Layout, depth: int) -> _Plan | None:
    """The layouts in which `value` and its producers would be made again, or None where that is not cheap."""
    op = value.owner
    if depth > MAX_DEPTH or not isinstance(op, Operation) or not _is_cheap(op):
        return None
    plan: _Plan = {value: layout}
    needed: list[tuple[SSAValue, Layout]] = []
    if isinstance(op, tile.Reshape):
        source = unit_reshape(layout, tile_shape(op.source.type))
        if source is None:
            return None
        needed.append((op.source, source))
    elif isinstance(op, tile.Broadcast):
        needed.append((op.source, collapse(layout, tile_shape(op.source.type), tile_shape(op.result.type))))
    elif not isinstance(op, tile.Splat | tile.Arange):
        needed += [(v, layout) for v in op.operands if isinstance(v.type, TensorType)]
    for operand, want in needed:
        below = _plan(operand, want, depth + 1)
        if below is None or any(plan.get(v, x) != x for v, x in below.items()):
            return None
        plan |= below
    return plan


def _make(value: SSAValue, plan: _Plan, before: Operation) -> SSAValue:
    made: dict[SSAValue, SSAValue] = {}
    block = before.parent_block()
    assert block is not None

    def make(old: SSAValue) -> SSAValue:
        if old not in plan:
            return old
        if old not in made:
            op = old.owner
            assert isinstance(op, Operation)
            operands = [make(v) for v in op.operands]
            assert isinstance(old.type, TensorType)
            type_ = laid_out(old.type, plan[old])
            properties = dict(op.properties)
            if isinstance(op, arith.ConstantOp):
                properties["value"] = retyped(op.value, type_)
            new = type(op).create(
                operands=operands, result_types=[type_], properties=properties, attributes=dict(op.attributes)
            )
            new.location = op.location
            block.insert_op_before(new, before)
            made[old] = new.results[0]
        return made[old]

    return make(value)
