"""How `tile.map_simt` becomes what each thread does with the registers of its fragments.

A region of elementwise ops alone becomes the same ops on whole fragments. Any other is copied for each register; where
that would be much code, a loop takes some registers at a time from the front of the fragments, which are turned so that
the next come to the front: registers have no addresses, and indexing them at run time would put them into memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, VectorType, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from tileopt.dialects import simt, simt_host, simt_thread, tile
from tileopt.dialects.encodings import layout_of
from tileopt.dialects.layout import Layout
from tileopt.dialects.tile_map import LANE_OPS
from tileopt.passes.lowering.lower_tile_to_simt import Lowering, fragment_type

# Copies of a region hold so many ops at most. More would only cost compile time: 16 copies hide what one op waits for.
UNROLLED_OPS = 384
ROLLED_OPS = 96
MOST_COPIES = 16
LANES_WEIGHT = 4  # ops that one of a warp's lanes counts as: on a CPU all threads meet there
_ELEMENTWISE = frozenset((*arith.Arith.operations, *math.Math.operations))
_SCALAR = (simt.ThreadId, simt.BlockId, simt.GridDim, simt.Dim, arith.ConstantOp)
# What must not run on registers that hold nothing: a loop might not end, an index might be outside.
_GUARDED = (scf.ForOp, scf.WhileOp, simt_thread.ElementLoad, simt_thread.CheckIndex, simt_host.Assert)


def lower_map(state: Lowering, op: Operation) -> None:
    """The rule for `tile.map_simt`."""
    assert isinstance(op, tile.MapSimt)
    fragments = [state.value(v) for v in op.tiles]
    body = op.body.block
    inner = [o for o in body.walk() if not isinstance(o, tile.MapYield)]
    if all(not o.regions and (type(o) in _ELEMENTWISE or isinstance(o, _SCALAR)) for o in inner):
        results = _elementwise(state, op, fragments)
    else:
        results = _each(state, op, fragments, inner)
    for out, made in zip(op.outs, results, strict=True):
        state.map(out, made)


# --- whole fragments -----------------------------------------------------------------------------------------------


def _elementwise(state: Lowering, op: tile.MapSimt, fragments: Sequence[SSAValue]) -> list[SSAValue]:
    """The region's ops on whole fragments; what rests on no element stays a scalar."""
    registers = layout_of(op.tiles[0].type).registers
    body, at = op.body.block, state.at
    state.values.update(zip(body.args, fragments, strict=True))

    def spread(value: SSAValue) -> SSAValue:
        if isinstance(value.type, VectorType):
            return value
        return state.emit(simt.Splat, [value], [VectorType(value.type, [registers])]).results[0]

    last = body.last_op
    for inner in body.ops:
        if inner is last:
            break
        state.at = inner
        operands = [state.value(v) for v in inner.operands]
        if not any(isinstance(v.type, VectorType) for v in operands):
            state.take_over(inner)
            continue
        results = [VectorType(r.type, [registers]) for r in inner.results]
        new = state.emit(type(inner), [spread(v) for v in operands], results, dict(inner.properties))
        for mine, theirs in zip(inner.results, new.results, strict=True):
            state.map(mine, theirs)
    state.at = at
    assert last is not None
    return [spread(state.value(v)) for v in last.operands]


# --- register by register ------------------------------------------------------------------------------------------


def _each(state: Lowering, op: tile.MapSimt, tiles: list[SSAValue], inner: list[Operation]) -> list[SSAValue]:
    layout = layout_of(op.tiles[0].type)
    fragments = list(tiles)
    axis = None if op.axis is None else op.axis.value.data
    ended = None if axis is None else _inside(state, layout, [axis])
    if ended is not None:
        fragments = [_padded(state, op, index, ended) for index in range(len(fragments))]
    # Lanes lie along the axis, so all of a warp hold elements here, or none does.
    mask = None
    if any(isinstance(o, _GUARDED) for o in inner):
        mask = _inside(state, layout, [a for a in range(len(layout.shape)) if a != axis])
    guarded = mask is not None
    if mask is not None:
        fragments.append(mask)
    empty = [_zeros(state, fragment_type(out.type)) for out in op.outs]
    copies = copies_of(layout.registers, sum(LANES_WEIGHT if isinstance(o, LANE_OPS) else 1 for o in inner))
    if copies < layout.registers:
        fragments, empty = _rolled(state, op, fragments, empty, copies, guarded)
        copies = layout.registers % copies
    return _copies(state, op, fragments, empty, copies, guarded) if copies else empty


def copies_of(registers: int, ops: int) -> int:
    """How often a region of so many ops is written side by side: for all registers, or for those of an iteration."""
    if registers * ops <= UNROLLED_OPS:
        return registers
    most = max(1, min(MOST_COPIES, registers // 2, ROLLED_OPS // max(1, ops)))
    # Few registers should be left for after the loop, which are one more piece of code.
    return max(range(most, most // 2, -1), key=lambda n: registers % n == 0)


def _rolled(
    state: Lowering,
    op: tile.MapSimt,
    fragments: list[SSAValue],
    empty: list[SSAValue],
    copies: int,
    guarded: bool,
) -> tuple[list[SSAValue], list[SSAValue]]:
    """A loop that takes `copies` registers in each iteration and turns the fragments by as many: what is left for after
    it is in front then. Gives the fragments and the results so far."""
    registers = layout_of(op.tiles[0].type).registers
    start, stop, step = (_constant(state, n, i64) for n in (0, registers // copies, 1))
    body = Block(arg_types=[i64, *(v.type for v in (*fragments, *empty))])
    outer, state.block = state.block, body
    taken, given = list(body.args[1 : 1 + len(fragments)]), list(body.args[1 + len(fragments) :])
    results = _copies(state, op, taken, given, copies, guarded)
    turned = [_turned(state, v, copies) for v in taken]
    state.emit(scf.YieldOp, [*turned, *results])
    state.block = outer
    carried = [*fragments, *empty]
    loop = state.emit(scf.ForOp, [start, stop, step, *carried], [v.type for v in carried], regions=[Region(body)])
    return list(loop.results[: len(fragments)]), list(loop.results[len(fragments) :])


def _copies(
    state: Lowering,
    op: tile.MapSimt,
    fragments: Sequence[SSAValue],
    into: Sequence[SSAValue],
    copies: int,
    guarded: bool,
) -> list[SSAValue]:
    """The region on the first registers of the fragments; its results are shifted into `into`."""
    rows: list[list[SSAValue]] = []
    taken = [[_register(state, v, r) for v in fragments] for r in range(copies)]
    for scalars in taken:
        condition = scalars.pop() if guarded else None
        rows.append(_once(state, op, scalars, condition))
    return [
        state.emit(simt.ShiftIn, [before, *(row[i] for row in rows)], [before.type]).results[0]
        for i, before in enumerate(into)
    ]


def _once(state: Lowering, op: tile.MapSimt, elements: list[SSAValue], condition: SSAValue | None) -> list[SSAValue]:
    """The region on one element of each tile; zeros where the condition does not hold."""
    if condition is None:
        return _inlined(state, op, elements)
    outer, then, other = state.block, Block(), Block()
    state.block = then
    state.emit(scf.YieldOp, _inlined(state, op, elements))
    state.block = other
    types = [v.type for v in (op.body.block.last_op or op).operands]
    state.emit(scf.YieldOp, [_constant(state, 0, t) for t in types])
    state.block = outer
    chosen = state.emit(scf.IfOp, [condition], types, regions=[Region(then), Region(other)])
    return list(chosen.results)


def _inlined(state: Lowering, op: tile.MapSimt, elements: list[SSAValue]) -> list[SSAValue]:
    body, at = op.body.block, state.at
    arguments: tuple[BlockArgument, ...] = body.args
    state.values.update(zip(arguments, elements, strict=True))
    last = body.last_op
    assert last is not None
    for inner in body.ops:
        if inner is not last:
            state.at = inner
            state.table.get(type(inner), Lowering.take_over)(state, inner)
    state.at = at
    return [state.value(v) for v in last.operands]


def _register(state: Lowering, fragment: SSAValue, register: int) -> SSAValue:
    assert isinstance(fragment.type, VectorType)
    properties: dict[str, Attribute] = {"register": IntegerAttr(register, i64)}
    return state.emit(simt.Extract, [fragment], [fragment.type.element_type], properties).results[0]


def _turned(state: Lowering, fragment: SSAValue, by: int) -> SSAValue:
    from tileopt.passes.lowering.registers import select

    assert isinstance(fragment.type, VectorType)
    count = fragment.type.get_shape()[0]
    return select(state, fragment, tuple((r + by) % count for r in range(count)))


# --- what lies outside ---------------------------------------------------------------------------------------------


def _inside(state: Lowering, layout: Layout, axes: Sequence[int]) -> SSAValue | None:
    """A fragment of bools: which registers lie inside the tile along these axes; None where all do."""
    from tileopt.passes.lowering.registers import span

    type_ = VectorType(i32, [layout.registers])
    found: SSAValue | None = None
    for axis in axes:
        extent = layout.shape[axis]
        if extent == layout.padded[axis]:
            continue
        properties = span(layout) | {"axis": IntegerAttr(axis, i64)}
        place = state.emit(simt.FragmentCoord, [], [type_], properties).results[0]
        end = state.emit(simt.Splat, [_constant(state, extent, i32)], [type_]).results[0]
        less = IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index("slt"), i64)
        bools = VectorType(i1, [layout.registers])
        here = state.emit(arith.CmpiOp, [place, end], [bools], {"predicate": less}).results[0]
        found = here if found is None else state.emit(arith.AndIOp, [found, here], [bools]).results[0]
    return found


def _padded(state: Lowering, op: tile.MapSimt, index: int, inside: SSAValue) -> SSAValue:
    """A tile's fragment with the padding in the registers that hold no element."""
    fragment = state.value(op.tiles[index])
    assert isinstance(fragment.type, VectorType)
    element = fragment.type.element_type
    number: Attribute | None = None if op.padding is None else op.padding.data[index]
    scalar = _constant(state, 0, element) if number is None else _of(state, number, element)
    fill = state.emit(simt.Splat, [scalar], [fragment.type]).results[0]
    return state.emit(arith.SelectOp, [inside, fragment, fill], [fragment.type]).results[0]


def _zeros(state: Lowering, type_: Attribute) -> SSAValue:
    assert isinstance(type_, VectorType)
    return state.emit(simt.Splat, [_constant(state, 0, type_.element_type)], [type_]).results[0]


def _constant(state: Lowering, value: int, type_: Attribute) -> SSAValue:
    if isinstance(type_, IntegerType):
        return _of(state, IntegerAttr(value, type_), type_)
    assert isinstance(type_, AnyFloat)
    return _of(state, FloatAttr(float(value), type_), type_)


def _of(state: Lowering, value: Attribute, type_: Attribute) -> SSAValue:
    return state.emit(arith.ConstantOp, [], [type_], {"value": value}).results[0]
