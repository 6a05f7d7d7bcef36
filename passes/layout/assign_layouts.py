"""assign-layouts: every tensor and every buffer gets a layout.

From: tile+pipe without layouts. To: tile+pipe in which each tensor type has a `#tile.layout` encoding and each buffer
a `#tile.shared` layout. Invariant: an op's operands lie as the op needs them; where a value's layout differs, a
`tile.convert_layout` stands between. On a GPU each thread has the registers for its part of each tile.

Three tiers, deterministic, each class of values (see `classes.py`) decided once: pinned (accumulators and operands of
tensor-core atoms), propagated (along reductions, broadcasts, reshapes and transposes), coalesced (from the loads and
stores of the class, larger tiles first).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tileopt.dialects import pipe, simt, simt_atomic, simt_thread, tile
from tileopt.dialects.dtypes import bit_width
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import Coord, Layout, coalesced
from tileopt.dialects.target import Target, target_of
from tileopt.dialects.tile_map import along
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.analysis.accesses import Access
from tileopt.passes.invariants import demand
from tileopt.passes.layout.access import access_layout, memory_order
from tileopt.passes.layout.buffers import panelled_layout, staged_layout, unit_reshaped
from tileopt.passes.layout.bulk_stores import panels_of
from tileopt.passes.layout.classes import ValueClasses, collect
from tileopt.passes.layout.direct_stores import stays
from tileopt.passes.layout.matrix_loads import fits_ldmatrix
from tileopt.passes.layout.product_layouts import ProductLayouts, product_layouts
from tileopt.passes.layout.reader_swizzles import swizzled_for
from tileopt.passes.layout.register_limits import check_registers
from tileopt.passes.tile_kernels import tile_kernels

Rule = Callable[[Layout], Layout | None]
Origin = tuple[SSAValue, int]  # what made a buffer, and which of the buffers that it made


@dataclass(frozen=True)
class Traffic:
    """Fragments of threads from and to a buffer."""

    readers: list[Layout]
    writers: list[Layout]


@dataclass(frozen=True)
class AssignLayouts(ModulePass):
    name = "assign-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        demand(self.name, op)
        for kernel in tile_kernels(op):
            _Assigner(kernel, target_of(kernel)).run()


class _Assigner:
    def __init__(self, kernel: KernelOp, target: Target) -> None:
        self.kernel, self.target = kernel, target
        warps = kernel.attributes.get("tile.num_warps")
        self.num_warps = warps.value.data if isinstance(warps, IntegerAttr) else target.default_warps
        self.chosen: dict[SSAValue, Layout] = {}
        self.edges: dict[SSAValue, list[tuple[SSAValue, Rule]]] = {}
        self.classes: ValueClasses
        self.ops: list[Operation] = []
        self.products: dict[tile.Mma, ProductLayouts] = {}

    def run(self) -> None:
        _split_cheap_values(self.kernel)
        self.classes = collect(self.kernel)
        ops = self.ops = list(self.kernel.walk())
        for op in ops:
            self.relate(op)
        for op in ops:
            if isinstance(op, tile.Mma):
                self.choose(op.result, self.product(op).acc)
        for op in ops:
            if isinstance(op, tile.Mma):
                self.pin_operands(op)
        for op in ops:
            if isinstance(op, tile.MapSimt) and op.axis is not None:
                for value in (*op.outs, *op.tiles):
                    self.choose(value, self.map_layout(op, op.axis.value.data))
        self.choose_defaults(ops)
        self.assign_buffers(ops)
        for op in ops:
            self.set_types(op)
        for op in ops:
            self.insert_conversions(op)
        check_registers(self.kernel, self.target)

    # --- choosing --------------------------------------------------------------------------------------------------

    def choose(self, value: SSAValue, layout: Layout) -> None:
        """Decides the class of `value`, and what follows from it; a class that is decided stays."""
        pending = deque([(value, layout)])
        while pending:
            at, new = pending.popleft()
            root = self.classes.find(at)
            if root in self.chosen:
                continue
            self.chosen[root] = new
            for other, rule in self.edges.get(root, ()):
                derived = rule(new)
                if derived is not None:
                    pending.append((other, derived))

    def layout(self, value: SSAValue) -> Layout:
        return self.chosen[self.classes.find(value)]

    def relate(self, op: Operation) -> None:
        """Adds the rules by which a layout travels across an op that is not elementwise."""
        if isinstance(op, tile.Reduce):
            axis = op.axis.value.data
            self.edge(op.source, op.result, lambda layout: layout.drop_axis(axis))
        elif isinstance(op, tile.Broadcast):
            source, result = tile_shape(op.source.type), tile_shape(op.result.type)
            self.edge(op.result, op.source, lambda layout: collapse(layout, source, result))
        elif isinstance(op, tile.Reshape):
            source, result = tile_shape(op.source.type), tile_shape(op.result.type)
            self.edge(op.source, op.result, lambda layout: unit_reshape(layout, result))
            self.edge(op.result, op.source, lambda layout: unit_reshape(layout, source))
        elif isinstance(op, tile.Transpose):
            order = tuple(int(a) for a in op.permutation.get_values())
            inverse = tuple(order.index(a) for a in range(len(order)))
            self.edge(op.source, op.result, lambda layout: layout.permute(order))
            self.edge(op.result, op.source, lambda layout: layout.permute(inverse))
        elif isinstance(op, WIDENING):
            axis, count, few, many = widening(op)
            together = isinstance(op, tile.Repeat)
            self.edge(few, many, lambda layout: layout.widen(axis, count))
            self.edge(many, few, lambda layout: thinned(layout, axis, count, together))

    def edge(self, source: SSAValue, result: SSAValue, rule: Rule) -> None:
        self.edges.setdefault(self.classes.find(source), []).append((result, rule))

    def staged(self, type_: BufferType, order: Coord, described: bool, traffic: Traffic | None = None) -> BufferType:
        """The buffer with the layout of a staged tile; `described`: a matrix descriptor must be able to tell it.
        `traffic`: the fragments that threads read from it and write to it, where all are known."""
        shape, element = type_.get_shape(), type_.element_type
        if described:
            return BufferType.of(shape, element, panelled_layout(shape, element, order))
        usual = BufferType.of(shape, element, staged_layout(shape, element, order, self.target.banked))
        if traffic is None or not self.target.banked or any(fits_ldmatrix(x, usual) for x in traffic.readers):
            return usual
        size = max(1, bit_width(element) // 8)
        return BufferType.of(shape, element, swizzled_for(usual.shared_layout, size, traffic.readers, traffic.writers))

    def product(self, op: tile.Mma) -> ProductLayouts:
        """The layouts of a product, decided once: conversions between its operands do not change them."""
        if op not in self.products:
            self.products[op] = self.product_of(op)
        return self.products[op]

    def product_of(self, op: tile.Mma) -> ProductLayouts:
        assert op.atom is not None
        m, n = tile_shape(op.result.type)
        k = tile_shape(op.a.type)[1]
        atom, block = self.target.atom(op.atom.data), self.target.product_block
        first, across = self.rows_stay_in_warp(op), self.reads_across_rows(op)
        return product_layouts(atom, m, n, k, self.num_warps, first, block, across)

    def reads_across_rows(self, op: tile.Mma) -> bool:
        """Whether the left operands of all products that add to the accumulator come from where their rows lie side by
        side."""
        root = self.classes.find(op.result)
        same = [x for x in self.ops if isinstance(x, tile.Mma) and self.classes.find(x.result) is root]
        return all(isinstance(x.a.owner, tile.Unstage) and self.fastest(x.a.owner.source) == 0 for x in same)

    def fastest(self, buffer: SSAValue) -> int | None:
        """The axis of a staged tile that will lie side by side; None where a reshape hides it."""
        owner = buffer.owner
        if isinstance(owner, tile.TransposeBuffer):
            source = self.fastest(owner.source)
            return None if source is None else [int(a) for a in owner.permutation.get_values()].index(source)
        if isinstance(owner, tile.Stage):
            source_op = owner.source.owner
            if isinstance(source_op, tile.Load):
                return memory_order(source_op.view)[-1]
        elif isinstance(owner, pipe.Wait) and isinstance(buffer, OpResult):
            for use in owner.channel.uses:
                copy = use.operation
                if isinstance(copy, pipe.Copy) and copy.member.value.data == buffer.index:
                    return memory_order(copy.view)[-1]
        return None if isinstance(owner, tile.ReshapeBuffer) else len(tile_shape(buffer.type)) - 1

    def rows_stay_in_warp(self, op: tile.Mma) -> bool:
        """Are the accumulator's rows reduced, or is it the left operand of another product, or another product's
        accumulator its own left operand? Then a warp that owns whole rows needs nothing of other warps."""
        root = self.classes.find(op.result)
        left = self.classes.find(op.a) if isinstance(op.a.type, TensorType) else None
        for other in self.ops:
            if isinstance(other, tile.Reduce):
                if self.classes.find(other.source) is root and other.axis.value.data == 1:
                    return True
            elif isinstance(other, tile.Mma) and other is not op:
                if self.classes.find(other.result) is left:
                    return True
                if isinstance(other.a.type, TensorType) and self.classes.find(other.a) is root:
                    return True
        return False

    def pin_operands(self, op: tile.Mma) -> None:
        """What comes from shared memory for this product only, comes in the fragment's layout."""
        layouts = self.product(op)
        for operand, layout in ((op.a, layouts.a), (op.b, layouts.b)):
            if layout is not None and isinstance(operand.type, TensorType) and self.comes_staged(operand):
                self.choose(operand, layout)
        for scale, layout in zip(op.scales, layouts.scales, strict=True):
            self.choose(scale, layout)
        self.pin_turned(op)

    def pin_turned(self, op: tile.Mma) -> None:
        """A right operand that is turned on its way is read as a left one would be, across its rows."""
        assert op.atom is not None
        atom, view = self.target.atom(op.atom.data), op.b.owner
        if "a" not in atom.fragments or not isinstance(view, tile.TransposeBuffer):
            return
        turned = view.source.owner.source.owner if isinstance(view.source.owner, tile.Stage) else None
        if isinstance(turned, tile.Transpose) and isinstance(turned.source.owner, tile.Unstage):
            k, n = tile_shape(op.b.type)
            if n % (16 * self.num_warps) == 0 and self.fastest(turned.source.owner.source) == 1:
                layout = product_layouts(atom, n, n, k, self.num_warps, False, across_rows=True).a
                assert layout is not None
                self.choose(turned.result, layout)

    def comes_staged(self, value: SSAValue) -> bool:
        """Whether a tile, or one that it is made of element by element, is read from shared memory."""
        root, staged = self.classes.find(value), tile.Unstage | tile.LoadBuffer
        for op in self.ops:
            if isinstance(op, staged) and self.classes.find(op.results[0]) is root:
                return True
            if isinstance(op, tile.Unpack) and self.classes.find(op.result) is root and self.comes_staged(op.source):
                return True
        return False

    def map_layout(self, op: tile.MapSimt, axis: int) -> Layout:
        """The layout in which warps lie along the axis of a map."""
        return along(tile_shape(op.outs[0].type), axis, self.num_warps)

    def choose_defaults(self, ops: list[Operation]) -> None:
        accesses: dict[SSAValue, list[Layout]] = {}
        for op in ops:
            if isinstance(op, Access):
                value = op.result if isinstance(op, tile.Load) else op.value
                accesses.setdefault(self.classes.find(value), []).append(self.access(op))
        for op in ops:
            if isinstance(op, tile.Unpack | tile.Pack):  # bytes that lie side by side should stay so
                axis, count, few, many = widening(op)
                wide = [layout.widen(axis, count) for layout in accesses.get(self.classes.find(few), ())]
                accesses.setdefault(self.classes.find(many), []).extend(wide)
        roots = [v for v in self.classes.values() if self.classes.find(v) is v]
        for root in sorted(roots, key=lambda v: -prod(tile_shape(v.type))):
            candidates = accesses.get(root)
            if candidates:
                best = max(candidates, key=lambda layout: len(layout.regs))
                self.choose(root, best)
            else:
                shape = tile_shape(root.type)
                vector = max(1, self.target.vector_bytes * 8 // bit_width(root.type))
                self.choose(root, coalesced(shape, tuple(range(len(shape))), vector, self.num_warps))

    def access(self, op: Access) -> Layout:
        value = op.result if isinstance(op, tile.Load) else op.value
        return access_layout(op.view, tile_shape(value.type), op.vector, self.target, self.num_warps)

    # --- buffers ---------------------------------------------------------------------------------------------------

    def assign_buffers(self, ops: list[Operation]) -> None:
        orders: dict[tuple[SSAValue, int], Coord] = {}
        bulk = any(isinstance(op, pipe.Roles) for op in ops)  # the copy engine, too, must be able to tell it
        described = {self.origin(v) for op in ops if isinstance(op, tile.Mma) for v in self.described_operands(op)}
        traffic = self.traffic(ops)
        for op in ops:
            if isinstance(op, pipe.Copy):
                orders.setdefault((op.channel, op.member.value.data), memory_order(op.view))
        for op in ops:
            if isinstance(op, pipe.Channel):
                members = pipe.channel_type(op.result).members.data
                keys = [(op.result, i) for i in range(len(members))]
                laid = [
                    self.staged(
                        member,
                        orders.get(key, tuple(range(member.rank))),
                        bulk or key in described,
                        traffic.get(key),
                    )
                    for member, key in zip(members, keys, strict=True)
                ]
                slots: IntAttr = pipe.channel_type(op.result).slots
                set_type(op.result, pipe.ChannelType(slots, ArrayAttr(laid)))
            elif isinstance(op, pipe.Wait):
                for result, member in zip(op.tiles, pipe.channel_type(op.channel).members.data, strict=True):
                    set_type(result, member)
            elif isinstance(op, tile.Stage):
                source = op.source.owner
                order = tuple(range(len(tile_shape(op.source.type))))
                if isinstance(source, tile.Load):
                    order = memory_order(source.view)
                key = (op.result, 0)
                set_type(op.result, self.staged(buffer_type(op.result.type), order, key in described, traffic.get(key)))
            elif isinstance(op, simt.AllocShared) and _tiles_alone_see_layout(op):
                type_ = buffer_type(op.result.type)
                order = tuple(range(type_.rank))
                set_type(op.result, self.staged(type_, order, (op.result, 0) in described))
            elif isinstance(op, tile.TransposeBuffer):
                permutation = tuple(int(a) for a in op.permutation.get_values())
                source_type = buffer_type(op.source.type)
                moved = source_type.shared_layout.permute(permutation)
                set_type(op.result, BufferType.of(moved.shape, source_type.element_type, moved))
            elif isinstance(op, tile.ReshapeBuffer):
                source_type = buffer_type(op.source.type)
                moved = unit_reshaped(source_type.shared_layout, tile_shape(op.result.type))
                set_type(op.result, BufferType.of(moved.shape, source_type.element_type, moved))

    def described_operands(self, op: tile.Mma) -> list[SSAValue]:
        """Operands that the product's instruction reads from shared memory by a matrix descriptor."""
        assert op.atom is not None
        if not self.target.atom(op.atom.data).by_descriptor:
            return []
        return [v for v in (op.a, op.b) if isinstance(v.type, BufferType)]

    def origin(self, buffer: SSAValue) -> tuple[SSAValue, int]:
        """What made a buffer: the staging op's result, or a channel and the number of its member."""
        op = buffer.owner
        while isinstance(op, tile.TransposeBuffer | tile.ReshapeBuffer):
            buffer = op.source
            op = buffer.owner
        if isinstance(op, pipe.Wait) and isinstance(buffer, OpResult):
            return op.channel, buffer.index
        return buffer, 0

    def traffic(self, ops: list[Operation]) -> dict[Origin, Traffic]:
        """For each staged tile that threads read: the fragments in which they do, and in which it is written."""
        found: dict[Origin, Traffic] = {}
        for op in ops:
            if isinstance(op, tile.Unstage):
                buffer, layout = op.source, self.layout(op.result)
                while isinstance(buffer.owner, tile.TransposeBuffer):
                    order = [int(a) for a in buffer.owner.permutation.get_values()]
                    layout = layout.permute([order.index(a) for a in range(len(order))])
                    buffer = buffer.owner.source
                if not isinstance(buffer.owner, tile.ReshapeBuffer):
                    found.setdefault(self.origin(buffer), Traffic([], [])).readers.append(layout)
        for op in ops:
            if isinstance(op, pipe.Copy) and (op.channel, op.member.value.data) in found:
                member = pipe.channel_type(op.channel).members.data[op.member.value.data]
                layout = access_layout(op.view, tile_shape(member), op.vector, self.target, self.num_warps)
                found[op.channel, op.member.value.data].writers.append(layout)
            elif isinstance(op, tile.Stage) and (op.result, 0) in found:
                found[op.result, 0].writers.append(self.layout(op.source))
        return found

    # --- applying --------------------------------------------------------------------------------------------------

    def set_types(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self.set_layout(argument)
        for result in op.results:
            self.set_layout(result)
        if isinstance(op, arith.ConstantOp) and isinstance(op.result.type, TensorType):
            op.properties["value"] = retyped(op.value, op.result.type)

    def set_layout(self, value: SSAValue) -> None:
        if isinstance(value.type, TensorType):
            set_type(value, laid_out(value.type, self.layout(value)))

    def insert_conversions(self, op: Operation) -> None:
        for index, need in self.needs(op):
            operand = op.operands[index]
            assert isinstance(operand.type, TensorType)
            if self.current(operand) != need:
                convert = tile.ConvertLayout.create(operands=[operand], result_types=[laid_out(operand.type, need)])
                convert.location = op.location
                block = op.parent_block()
                assert block is not None
                block.insert_op_before(convert, op)
                op.operands[index] = convert.result
        natural = self.natural_result(op)
        for result in op.results if natural is not None else ():
            if natural is None or natural == self.layout(result):
                continue
            assert isinstance(result.type, TensorType)
            convert = tile.ConvertLayout.create(operands=[result], result_types=[result.type])
            convert.location = op.location
            result.replace_all_uses_with(convert.result)
            convert.operands[0] = result
            set_type(result, laid_out(result.type, natural))
            block = op.parent_block()
            assert block is not None
            block.insert_op_after(convert, op)

    def current(self, value: SSAValue) -> Layout:
        assert isinstance(value.type, TensorType) and isinstance(value.type.encoding, LayoutAttr)
        return value.type.encoding.over(value.type.get_shape())

    def needs(self, op: Operation) -> list[tuple[int, Layout]]:
        """(operand index, layout) for operands that the op needs in a layout of its own choice."""
        if isinstance(op, tile.Mma):
            layouts = self.product(op)
            found = [(0, layouts.a), (1, layouts.b), (2, layouts.acc), *enumerate(layouts.scales, 3)]
            return [
                (i, layout) for i, layout in found if layout is not None and isinstance(op.operands[i].type, TensorType)
            ]
        if isinstance(op, tile.Broadcast):
            source, result = tile_shape(op.source.type), tile_shape(op.result.type)
            return [(0, collapse(self.current(op.result), source, result))]
        if isinstance(op, tile.Unpack | tile.Repeat):
            axis, count, _, many = widening(op)
            layout = thinned(self.current(many), axis, count, isinstance(op, tile.Repeat))
            return [] if layout is None else [(0, layout)]
        if isinstance(op, tile.Pack) and not self.current(op.source).holds_together(op.axis.value.data, 2):
            return [(0, self.current(op.result).widen(op.axis.value.data, 2))]
        if isinstance(op, tile.ToScalar):
            shape = tile_shape(op.source.type)
            return [(0, coalesced(shape, tuple(range(len(shape))), 1, self.num_warps))]
        if isinstance(op, tile.MapSimt) and op.axis is not None:
            layout = self.map_layout(op, op.axis.value.data)
            return [(i, layout) for i in range(len(op.tiles))]
        if isinstance(op, tile.Store) and self.worse(self.current(op.value), self.access(op), op.view):
            if panels_of(op, self.current(op.value), self.target) is None:
                return [] if stays(op, self.current(op.value), self.target) else [(0, self.access(op))]
            op.bulk = UnitAttr()
        return []

    def natural_result(self, op: Operation) -> Layout | None:
        """The layout in which the op itself gives its result, where that is not its class's by construction."""
        if isinstance(op, tile.Mma):
            return self.product(op).acc
        if isinstance(op, tile.MapSimt) and op.axis is not None:
            return self.map_layout(op, op.axis.value.data)
        if isinstance(op, tile.Reduce):
            return self.current(op.source).drop_axis(op.axis.value.data)
        if isinstance(op, tile.Transpose):
            return self.current(op.source).permute([int(a) for a in op.permutation.get_values()])
        if isinstance(op, tile.Unpack) and not self.layout(op.result).holds_together(op.axis.value.data, 2):
            return self.current(op.source).widen(op.axis.value.data, 2)
        if isinstance(op, tile.Pack):
            return self.current(op.source).thin(op.axis.value.data, 2)
        if isinstance(op, tile.Load) and self.worse(self.layout(op.result), self.access(op), op.view):
            return self.access(op)
        return None

    def worse(self, layout: Layout, best: Layout, view: SSAValue) -> bool:
        """Would an access in `layout` move less side by side than in the coalesced one? Or, where each thread holds
        more of a row than it can move at once, and no two lanes parts of one row, move from many rows at a time?"""
        if not layout.shape:
            return False
        fast = memory_order(view)[-1]
        run, most = layout.contiguous(fast), best.contiguous(fast)
        apart = run > most and not any(basis[fast] for basis in layout.lanes)
        return run < most or (apart and any(basis[fast] for basis in best.lanes))


def _tiles_alone_see_layout(op: simt.AllocShared) -> bool:
    """Whether tiles are taken from an array of threads, and all else that is done to it works by index. A layout that
    the source gives stays."""
    if not isinstance(buffer_type(op.result.type).layout, NoneAttr):
        return False
    users = [use.operation for use in op.result.uses]
    tiles = (tile.LoadBuffer, tile.StoreBuffer, tile.Mma)
    indexed = (simt_thread.ElementLoad, simt_thread.ElementStore, simt_atomic.AtomicRmw, simt_atomic.AtomicCas)
    return any(isinstance(user, tiles) for user in users) and all(
        isinstance(user, (*tiles, *indexed)) for user in users
    )


def _split_cheap_values(kernel: KernelOp) -> None:
    """Gives each use of a constant, splat or arange its own copy: making one again is cheaper than moving it."""
    for op in list(kernel.walk()):
        if not isinstance(op, arith.ConstantOp | tile.Splat | tile.Arange):
            continue
        if not isinstance(op.results[0].type, TensorType):
            continue
        for use in list(op.results[0].uses)[1:]:
            copy = op.clone()
            copy.location = op.location
            block = op.parent_block()
            assert block is not None
            block.insert_op_after(copy, op)
            use.operation.operands[use.index] = copy.results[0]


WIDENING = tile.Unpack | tile.Pack | tile.Repeat


def widening(op: tile.Unpack | tile.Pack | tile.Repeat) -> tuple[int, int, SSAValue, SSAValue]:
    """The axis along which one of an op's tiles has several elements for each of the other's; how many; the two."""
    axis = op.axis.value.data
    if isinstance(op, tile.Repeat):
        return axis, op.count.value.data, op.source, op.result
    return (axis, 2, op.source, op.result) if isinstance(op, tile.Unpack) else (axis, 2, op.result, op.source)


def thinned(layout: Layout, axis: int, count: int, repeated: bool) -> Layout | None:
    """The layout from which a tile is widened into `layout` within each thread; None where other threads hold parts of
    what one element gives (`repeated`: which may be a copy of it)."""
    return layout.thin(axis, count) if repeated or layout.holds_together(axis, count) else None


def collapse(layout: Layout, source: Coord, result: Coord) -> Layout:
    """The layout from which a tile is broadcast into `layout` within each thread."""
    for axis, (s, r) in enumerate(zip(source, result, strict=True)):
        if s != r:
            layout = layout.collapse_axis(axis)
    return layout


def unit_reshape(layout: Layout, shape: Coord) -> Layout | None:
    """The layout after axes of extent 1 come or go; None where the reshape does more, or where such an axis has
    phantoms (its threads would pass for replicas)."""
    if [n for n in layout.shape if n != 1] != [n for n in shape if n != 1]:
        return None
    for axis in reversed(range(len(layout.shape))):
        if layout.shape[axis] == 1:
            if layout.base[axis] != 1:
                return None
            layout = layout.drop_axis(axis)
    for axis, extent in enumerate(shape):
        if extent == 1:
            layout = layout.add_axis(axis)
    return layout


def laid_out(type_: TensorType[Attribute], layout: Layout) -> TensorType[Attribute]:
    return TensorType(type_.element_type, type_.get_shape(), LayoutAttr.of(layout))


def retyped(value: Attribute, type_: TensorType[Attribute]) -> Attribute:
    """A dense constant's elements under another type of the same shape."""
    if isinstance(value, DenseIntOrFPElementsAttr):
        return DenseIntOrFPElementsAttr.new([type_, *value.parameters[1:]])
    return value


def buffer_type(type_: Attribute) -> BufferType:
    assert isinstance(type_, BufferType)
    return type_


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Changes a value's type in place."""
    value._type = type_
