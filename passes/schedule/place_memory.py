"""place-memory: each operand of a product lies where its instruction wants it.

From: tile, products with atoms. To: tile. Invariant: operands a and b of each `tile.mma` are buffers where the atom
demands shared memory and tensors where it demands registers.

What a kernel of threads takes from shared memory is read there, if nothing may have written since. A tile is staged
once, whatever number of products takes it. Transposes and reshapes that only add or drop axes of
extent 1 move behind the staging, where they cost nothing. Operands in registers that come straight from an array are
staged too, and so are tiles that are worked on element by element on the way: the copy into shared memory can then
follow the array's order, and be made ahead of time. What is computed in registers stays there; `assign-layouts` sees
to its layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, NoneAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import MemoryEffectKind, get_effects

from tileopt.dialects import simt, tile
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.dtypes import bit_width, element_type
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Feature, Space, Target, target_of
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.buffers import CHUNK_BYTES
from tileopt.passes.layout.operand_order import left_lies, right_lies
from tileopt.passes.schedule.map_tensor_cores import NUM_WARPS
from tileopt.passes.tile_kernels import tile_kernels

# An operand made before a loop stays in registers in it if it takes at most this many of a thread's; else it is read
# from shared memory in each iteration.
RESIDENT_REGISTERS = 32


@dataclass(frozen=True)
class PlaceMemory(ModulePass):
    name = "place-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tile_kernels(op):
            place_memory(kernel)


def place_memory(kernel: KernelOp) -> None:
    """Moves the operands of the products in `kernel`."""
    products = [op for op in kernel.walk() if isinstance(op, tile.Mma)]
    if not products:
        return
    target = target_of(kernel)
    warps = kernel.attributes.get(NUM_WARPS)
    placement = _Placement(target, warps.value.data if isinstance(warps, IntegerAttr) else target.default_warps)
    for product in products:
        turn = _reads_k_alone(product, target) and not right_lies(product)
        for index, space in enumerate(_spaces(product, target)):
            moved = placement.turned if index == 1 and turn else placement.moved
            operand = moved(product, product.operands[index], space)
            if operand is not product.operands[index]:
                product.operands[index] = operand
    placement.erase_unused()


def _spaces(product: tile.Mma, target: Target) -> tuple[Space, Space]:
    if product.atom is None:
        raise CompileError(
            "schedule/no-atom",
            "this product names no instruction yet",
            location=location_of(product),
            help="run map-tensor-cores before place-memory",
        )
    atom = target.atom(product.atom.data)
    a_space = atom.a_space
    lies_there = _comes_from_array(product.a) or _memory_of(product.a, product) is not None
    unreadable = _reads_k_alone(product, target) and not left_lies(product)
    if a_space is Space.SHARED and "a" in atom.fragments and (unreadable or not lies_there):
        a_space = Space.REGISTER  # the atom takes a from either, and what is computed is in registers already
    return a_space, atom.b_space


def _reads_k_alone(product: tile.Mma, target: Target) -> bool:
    """Whether the product's instruction reads operands with K side by side only."""
    return product.atom is not None and target.atom(product.atom.data).k_major


@dataclass(slots=True)
class _Placement:
    target: Target
    num_warps: int
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict)  # a tile in registers, and the same in memory
    fragments: dict[tuple[SSAValue, Block], SSAValue] = field(default_factory=dict)  # a buffer, as read in a block
    reordered: dict[SSAValue, SSAValue] = field(default_factory=dict)  # a tile, and the same with K side by side
    passed: dict[Operation, None] = field(default_factory=dict)  # ops on tiles that have a twin on buffers

    def moved(self, product: tile.Mma, operand: SSAValue, space: Space) -> SSAValue:
        """The operand in that space."""
        in_memory = isinstance(operand.type, BufferType)
        if space is Space.SHARED and not in_memory:
            if self.target.has(Feature.TMA) and not _comes_from_array(operand):
                for load in _loads_behind(operand, product):
                    self.through_memory(load)
            return self.buffer(operand, product)
        if space is Space.REGISTER and in_memory:
            return self.fragment(operand, product)
        if space is Space.REGISTER and _comes_from_array(operand):
            return self.fragment(self.buffer(operand, product), product)
        if space is Space.REGISTER:
            for load in _loads_behind(operand, product):
                self.through_memory(load)
        return operand

    def turned(self, product: tile.Mma, operand: SSAValue, space: Space) -> SSAValue:
        """The right operand in shared memory with K side by side, by way of registers."""
        assert space is Space.SHARED and isinstance(operand.type, TensorType)
        if operand not in self.reordered:
            held = self.moved(product, operand, Space.REGISTER)
            after = held.owner.next_op if isinstance(held.owner, Operation) else held.owner.first_op
            assert after is not None
            shape, element = tile_shape(operand.type), element_type(operand.type)
            across = TensorType(element, list(reversed(shape)))
            order: dict[str, Attribute] = {"permutation": DenseArrayBase.from_list(i64, [1, 0])}
            transposed = _insert(tile.Transpose, held, across, product, after, order)
            staged = _insert(tile.Stage, transposed, BufferType.of(across.get_shape(), element), product, after)
            seen = BufferType.of(shape, element)
            self.reordered[operand] = _insert(tile.TransposeBuffer, staged, seen, product, after, order)
        return self.reordered[operand]

    def through_memory(self, load: tile.Load) -> None:
        """Has a loaded tile that is worked on in registers come by way of shared memory."""
        after, type_ = load.next_op, BufferType.of(tile_shape(load.result.type), element_type(load.result.type))
        assert after is not None
        users = [(use.operation, use.index) for use in load.result.uses]
        staged = _insert(tile.Stage, load.result, type_, load, after)
        read = _insert(tile.Unstage, staged, load.result.type, load, after)
        for user, index in users:
            user.operands[index] = read

    def buffer(self, value: SSAValue, product: tile.Mma) -> SSAValue:
        """The buffer that holds a tile."""
        memory = _memory_of(value, product)
        if memory is not None and isinstance(value.owner, tile.LoadBuffer):
            self.passed[value.owner] = None
            return memory
        if value not in self.buffers:
            self.buffers[value] = self.make_buffer(value, product)
        return self.buffers[value]

    def make_buffer(self, value: SSAValue, product: tile.Mma) -> SSAValue:
        op = value.owner
        type_ = BufferType.of(tile_shape(value.type), element_type(value.type))
        if isinstance(op, tile.Unstage):
            self.passed[op] = None
            return op.source
        if isinstance(op, tile.Transpose):
            self.passed[op] = None
            properties: dict[str, Attribute] = {"permutation": op.permutation}
            return _insert(tile.TransposeBuffer, self.buffer(op.source, product), type_, op, op, properties)
        if isinstance(op, tile.Reshape) and _keeps_extents(op):
            self.passed[op] = None
            return _insert(tile.ReshapeBuffer, self.buffer(op.source, product), type_, op, op)
        if isinstance(op, Operation):
            after = op.next_op
            assert after is not None, "a tile is not made by a terminator"
            return _insert(tile.Stage, value, type_, op, after)
        first = op.first_op
        assert first is not None
        return _insert(tile.Stage, value, type_, product, first)

    def fragment(self, buffer: SSAValue, product: tile.Mma) -> SSAValue:
        """A buffer as registers for `product`, read once for all products of a block."""
        block = product.parent
        home = buffer.owner.parent if isinstance(buffer, OpResult) else buffer.owner
        assert block is not None and isinstance(home, Block)
        if block is not home and self.registers(buffer.type) <= RESIDENT_REGISTERS:
            block = home
        key = (buffer, block)
        if key not in self.fragments:
            at: Operation = product
            while at.parent is not block:
                parent = at.parent_op()
                assert parent is not None
                at = parent
            assert isinstance(buffer.type, BufferType)
            type_ = TensorType(buffer.type.element_type, buffer.type.get_shape())
            self.fragments[key] = _insert(tile.Unstage, buffer, type_, product, at)
        return self.fragments[key]

    def registers(self, type_: Attribute) -> int:
        """32-bit registers of a thread that a tile takes, if no element is held twice."""
        assert isinstance(type_, BufferType)
        return prod(type_.get_shape()) * bit_width(type_.element_type) // (32 * 32 * self.num_warps)

    def erase_unused(self) -> None:
        for op in self.passed:
            at: Operation | Block = op
            while isinstance(at, Operation) and at in self.passed and at.parent and at.results[0].first_use is None:
                source = at.operands[0]
                at.parent.erase_op(at)
                at = source.owner


def _memory_of(value: SSAValue, product: tile.Mma) -> SSAValue | None:
    """The array of threads in shared memory that still holds the tile when the product runs."""
    op = value.owner
    if not isinstance(op, tile.LoadBuffer) or not isinstance(op.mem.owner, simt.AllocShared):
        return None
    # A layout that the source gives may be one that the instruction cannot be told.
    free = isinstance(op.mem.type, BufferType) and isinstance(op.mem.type.layout, NoneAttr)
    return op.mem if free and _unchanged(op, product) else None


def _unchanged(load: tile.LoadBuffer, product: tile.Mma) -> bool:
    """Whether nothing between the two may write memory."""
    if load.parent is not product.parent:
        return False
    op = load.next_op
    while op is not None and op is not product:
        effects = get_effects(op)
        if effects is None or any(e.kind is MemoryEffectKind.WRITE for e in effects):
            return False
        op = op.next_op
    return op is product


def _keeps_extents(op: tile.Reshape) -> bool:
    """Whether a reshape only adds or drops axes of extent 1."""
    source, result = tile_shape(op.source.type), tile_shape(op.result.type)
    return [n for n in source if n != 1] == [n for n in result if n != 1]


def _comes_from_array(value: SSAValue) -> bool:
    """Whether a tile is loaded, perhaps rearranged, and taken by products alone."""
    op = value.owner
    while isinstance(op, tile.Transpose) or (isinstance(op, tile.Reshape) and _keeps_extents(op)):
        op = op.source.owner
    return isinstance(op, tile.Load) and _only_multiplied(op.result)


def _loads_behind(operand: SSAValue, product: tile.Mma) -> list[tile.Load]:
    """The loads of a loop's iteration whose tiles, worked on element by element, are what the product takes; those of
    packed values, too. What is loaded is not wider than what becomes of it, and has rows that copies are made of."""
    block = product.parent
    if block is None or not isinstance(block.parent_op(), scf.ForOp) or len(tile_shape(operand.type)) != 2:
        return []
    found: dict[tile.Load, None] = {}
    pending, seen = [operand], {operand}
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or op.parent is not block:
            continue
        if isinstance(op, tile.Load):
            bits, row = bit_width(op.result.type), tile_shape(op.result.type)[memory_order(op.view)[-1]]
            if bits <= bit_width(operand.type) and bits * row >= 8 * CHUNK_BYTES:
                found[op] = None
        elif op.name.startswith(("arith.", "math.")) or isinstance(op, tile.Unpack | tile.Transpose):
            for value in op.operands:
                if isinstance(value.type, TensorType) and value not in seen:
                    seen.add(value)
                    pending.append(value)
    return [load for load in found if load.result.has_one_use()]


def _only_multiplied(value: SSAValue) -> bool:
    for use in value.uses:
        op = use.operation
        if isinstance(op, tile.Transpose) or (isinstance(op, tile.Reshape) and _keeps_extents(op)):
            if not _only_multiplied(op.result):
                return False
        elif not (isinstance(op, tile.Stage) or (isinstance(op, tile.Mma) and use.index < 2)):
            return False
    return True


def _insert(
    op_type: type[Operation],
    source: SSAValue,
    result: Attribute,
    origin: Operation,
    before: Operation,
    properties: dict[str, Attribute] | None = None,
) -> SSAValue:
    """The result of a new op in front of `before` that comes from where `origin` does."""
    op = op_type.create(operands=[source], result_types=[result], properties=properties or {})
    op.location = origin.location
    block = before.parent
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]
