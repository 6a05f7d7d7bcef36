"""map-tensor-cores: each matrix product names the instruction that computes it.

From: tile. To: tile. Invariant: every `tile.mma` has an `atom` that the target has and that fits the operands' types,
and every kernel has `tile.num_warps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from tileopt.dialects import simt, tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.target import Atom, Scope, Space, Target, target_of
from tileopt.dialects.tile_types import tile_shape
from tileopt.passes.layout.operand_order import fastest_axis, fits_order
from tileopt.passes.layout.register_limits import crowds
from tileopt.passes.tile_kernels import block_threads, first_collective, tile_kernels

NUM_WARPS = "tile.num_warps"
# An accumulator of this many elements of each thread of the default block leaves no room for operands.
ACCUMULATOR_ELEMENTS = 64
MAX_WARPS = 16


WARPGROUP = 4  # warps
# Registers of a thread that ptxas keeps beside the accumulators of one instruction of a warpgroup (its message C7602).
BESIDE_ACCUMULATORS = 26
NARROWEST_SWIZZLE = 32  # bytes
WARPGROUP_ROWS = 64  # of the accumulator, of any atom that a warpgroup issues
TENSOR_LANES, TENSOR_COLUMNS = 128, 512  # of tensor memory, 32 bits each
# The most registers of a thread that an accumulator may take on its way from tensor memory.
TENSOR_FRAGMENT = 128


def legal_atoms(target: Target, op: tile.Mma) -> list[Atom]:
    """The target's atoms for a product, best first. The IR's integers are signless, so the product says whether its own
    are. Atoms that read operands as a narrower type than theirs need the `precision` of that name."""
    if op.scales:
        return scaled_atoms(target, op.a_format, op.b_format, tile.element_type_of(op.scales[0].type))
    precision = None if op.precision is None else op.precision.data
    a, b, acc = (tile.element_type_of(v.type) for v in (op.a, op.b, op.acc))

    def fits(name: str, type_: Attribute) -> bool:
        if DTYPES[stored(name)].ir != type_ or not (name in DTYPES or name == precision):
            return False
        return not isinstance(type_, IntegerType) or (DTYPES[name].kind == "u") is (op.unsigned is not None)

    plain = [x for x in target.atoms if x.scale is None]
    found = [x for x in plain if fits(x.a, a) and fits(x.b, b) and DTYPES[x.acc].ir == acc]
    return sorted(found, key=lambda x: (-x.preference, -prod(x.shape)))


def scaled_atoms(target: Target, a: StringAttr | None, b: StringAttr | None, scale: Attribute) -> list[Atom]:
    """The target's atoms for operands of these formats with scales of this type."""
    return [
        x
        for x in target.atoms
        if x.scale is not None and DTYPES[x.scale].ir == scale and a and b and (x.a, x.b) == (a.data, b.data)
    ]


def fits_extents(atom: Atom, m: int, n: int, k: int, n_major: bool = True) -> bool:
    """Whether the atom can compute a product of these extents: one that reads whole operands from shared memory needs
    multiples of its own shape, and rows of at least the narrowest swizzle, 32 bytes; others pad. What lies in tensor
    memory must fit there. `n_major`: the right operand may lie with N side by side."""
    if not atom.by_descriptor:
        return True
    if atom.acc_space is Space.TENSOR and tensor_columns(m, n) > TENSOR_COLUMNS:
        return False
    narrowest = NARROWEST_SWIZZLE * 8 // DTYPES[stored(atom.b)].bits
    rows = k % narrowest or (n % narrowest and n_major and not atom.k_major)
    return not (m % atom.shape[0] or n % atom.shape[1] or k % atom.shape[2] or rows)


def tensor_columns(m: int, n: int) -> int:
    """Columns of tensor memory that an accumulator takes."""
    return -(-m // TENSOR_LANES) * n


def fits_warps(atom: Atom, m: int, n: int, num_warps: int, target: Target) -> bool:
    """Whether a block of so many warps can share the rows: a warpgroup's atom needs whole warpgroups with rows each.
    And whether the registers that such a block's threads have hold the atom's accumulators."""
    if atom.acc_space is Space.TENSOR:
        held = m * n // (32 * num_warps)
        room = target.register_file // (32 * num_warps) // 2  # as much again for all else
        return num_warps % WARPGROUP == 0 and held <= min(TENSOR_FRAGMENT, room)
    if atom.scope is not Scope.WARPGROUP:
        return True
    whole = num_warps >= WARPGROUP and m % (WARPGROUP_ROWS * num_warps // WARPGROUP) == 0
    return whole and atom_registers(atom) <= target.register_file // (32 * num_warps)


def atom_registers(atom: Atom) -> int:
    """Registers of a thread that one instruction of a warpgroup takes."""
    return prod(atom.shape[:2]) * DTYPES[atom.acc].bits // (32 * 32 * WARPGROUP) + BESIDE_ACCUMULATORS


def choose_warps(target: Target, products: list[tuple[Atom, int, int]], given: int | None) -> int:
    """Warps of a block: the hint, or the target's default, doubled while an accumulator would crowd a thread.
    `products`: the best atom, rows and columns of each."""
    if given is not None:
        return given
    warps = target.default_warps
    # Tensor cores of f64 are slow beside shared memory, so few warps with large shares of the accumulator feed them
    # best; multiply-adds need registers for more operands at once.
    largest = max((m * n * _registers_of_element(atom) for atom, m, n in products), default=0)
    groups = [m // WARPGROUP_ROWS for atom, m, _ in products if atom.scope is Scope.WARPGROUP]
    if groups:
        warps = max(warps, WARPGROUP * min(2, *(g & -g for g in groups)))
    tensor = sum(m * n for atom, m, n in products if atom.acc_space is Space.TENSOR)
    if tensor:  # all of them may come to the threads at once, and be rearranged there for a store
        return max(warps, 2 * WARPGROUP if tensor > ACCUMULATOR_ELEMENTS // 2 * 32 * WARPGROUP else WARPGROUP)
    while largest > ACCUMULATOR_ELEMENTS * 32 * warps and warps < MAX_WARPS and target.is_gpu and not groups:
        warps *= 2
    return warps


def _registers_of_element(atom: Atom) -> int:
    """What an element of the accumulator counts."""
    return max(1, DTYPES[atom.acc].bits // 32) if atom.scope is Scope.THREAD else 1


def warps_for_tiles(kernel: KernelOp, warps: int, registers: int, max_threads: int) -> int:
    """Warps, doubled while the kernel's largest tile would take more registers of a thread than `registers`."""
    results = (r.type for op in kernel.walk() for r in op.results)
    largest = max((prod(t.get_shape()) for t in results if isinstance(t, TensorType)), default=0)
    while largest > registers * 32 * warps and 64 * warps <= max_threads:
        warps *= 2
    return warps


def warps_of_block(kernel: KernelOp) -> int:
    """The warps that the block of a kernel of threads has. Raises UnsupportedError (`kernel/block-warps`)."""
    threads = block_threads(kernel) or 0
    if threads < 32 or threads & (threads - 1):
        first = first_collective(kernel)
        raise UnsupportedError(
            "kernel/block-warps",
            f"this works on a tile, which 1, 2, 4, 8, ... whole warps share; the block has {threads or 'unknown'} "
            "threads",
            location=location_of(kernel if first is None else first),
            help="launch blocks of 32, 64, 128, 256, ... threads: block=(128,)",
        )
    return threads // 32


def given_warps(kernel: KernelOp, target: Target) -> int | None:
    """The warps that a block is to have, by the kernel's text or its hint. Raises UnsupportedError
    (`kernel/num-warps`, `kernel/block-warps`)."""
    if isinstance(kernel, simt.Kernel):
        return warps_of_block(kernel)
    hint = kernel.attributes.get(NUM_WARPS)
    given = hint.value.data if isinstance(hint, IntegerAttr) else None
    if given is not None and (given < 1 or given & (given - 1) or given * 32 > target.max_threads):
        raise UnsupportedError(
            "kernel/num-warps",
            f"num_warps = {given}: a block has a power of two of warps, at most {target.max_threads // 32}",
            location=location_of(kernel),
            help="use 1, 2, 4, 8, ... or leave the choice to the compiler",
        )
    return given


def by_warpgroup(
    op: tile.Mma, target: Target, warps: int | None, *, swapped: bool = False, turned: bool = False
) -> bool:
    """Whether an atom that a warpgroup issues computes a product; `swapped`: as b^T by a^T; `turned`: if the right
    operand is turned on its way."""
    (m, n), k = tile_shape(op.acc.type), tile_shape(op.a.type)[1]
    right, k_axis = (op.a, 1) if swapped else (op.b, 0)
    m, n = (n, m) if swapped else (m, n)
    return any(
        atom.scope is Scope.WARPGROUP
        and fits_extents(atom, m, n, k, fastest_axis(right) != k_axis)
        and fits_order(op, atom, swapped=swapped, turned=turned)
        and (warps is None or fits_warps(atom, m, n, warps, target))
        for atom in legal_atoms(target, op)
    )


@dataclass(frozen=True)
class MapTensorCores(ModulePass):
    name = "map-tensor-cores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tile_kernels(op):
            self.map_kernel(kernel, target_of(kernel))

    def map_kernel(self, kernel: KernelOp, target: Target) -> None:
        products = [op for op in kernel.walk() if isinstance(op, tile.Mma)]
        given = given_warps(kernel, target)
        tensor = _may_use_tensor_memory(kernel, products)
        best = self.best_atoms(products, target, given, tensor)
        columns = sum(tensor_columns(m, n) for atom, m, n in best if atom.acc_space is Space.TENSOR)
        if columns > TENSOR_COLUMNS:
            tensor = False
            best = self.best_atoms(products, target, given, tensor)
        warps = choose_warps(target, best, given)
        # On a GPU products decide alone: their accumulators fill a thread's registers on purpose.
        if given is None and target.tile_registers is not None and not (products and target.is_gpu):
            warps = warps_for_tiles(kernel, warps, target.tile_registers, target.max_threads)
        if given is None and products and target.is_gpu and not any(x.acc_space is Space.TENSOR for x, _, _ in best):
            warps = _relieved(kernel, target, warps)
        for op in products:
            if op.atom is None:
                op.atom = StringAttr(self.atom_of(op, target, warps, tensor).name)
            else:
                target.atom(op.atom.data)
        kernel.attributes[NUM_WARPS] = IntegerAttr(warps, i64)

    def best_atoms(
        self, products: list[tile.Mma], target: Target, warps: int | None, tensor: bool
    ) -> list[tuple[Atom, int, int]]:
        """The best atom of each product, with the accumulator's rows and columns."""
        return [(self.atom_of(op, target, warps, tensor), *_extents(op)) for op in products]

    def atom_of(self, op: tile.Mma, target: Target, warps: int | None, tensor: bool) -> Atom:
        """`tensor`: whether the accumulator may lie in tensor memory."""
        types = [tile.element_type_of(v.type) for v in (op.a, op.b, op.acc)]
        (m, n), k = _extents(op), tile_shape(op.a.type)[1]
        # A sum that would fill the deepest instruction in part only goes to one that it fills.
        filled = sorted(legal_atoms(target, op), key=lambda x: (x.scope is Scope.THREAD, k % x.shape[2] != 0))
        for atom in filled:
            if atom.acc_space is Space.TENSOR and not tensor:
                continue
            fits = fits_extents(atom, m, n, k, fastest_axis(op.b) != 0) and fits_order(op, atom, turned=True)
            if fits and (warps is None or fits_warps(atom, m, n, warps, target)):
                return atom
        sign = "" if op.unsigned is None else "unsigned "
        known = sorted({f"{a.a} x {a.b} -> {a.acc}" for a in target.atoms})
        raise UnsupportedError(
            "target/no-atom",
            f"{target.name} cannot multiply {sign}{types[0]} by {types[1]} into {types[2]}",
            location=location_of(op),
            help=f"convert the operands with astype; {target.name} multiplies {', '.join(known) or 'nothing'}",
        )


def _extents(op: tile.Mma) -> tuple[int, int]:
    m, n = tile_shape(op.acc.type)
    return m, n


def _relieved(kernel: KernelOp, target: Target, warps: int) -> int:
    """Warps, more than given where a loop carries accumulators that leave the threads no registers for operands, if
    more leave them some."""
    if not crowds(kernel, target, 32 * warps, BESIDE_ACCUMULATORS):
        return warps
    more = warps
    while more < MAX_WARPS:
        more *= 2
        if not crowds(kernel, target, 32 * more, BESIDE_ACCUMULATORS):
            return more
    return warps


def _may_use_tensor_memory(kernel: KernelOp, products: list[tile.Mma]) -> bool:
    """Whether it can be counted how often each product is waited for: threads that go ways of their own, and the test
    of a `while`, have no such count."""
    return not isinstance(kernel, simt.Kernel) and all(_may_count(op) for op in products)


def _may_count(op: Operation) -> bool:
    block, parent = op.parent, op.parent_op()
    if block is None or parent is None or isinstance(parent, KernelOp):
        return True
    if isinstance(parent, scf.WhileOp):
        return block is parent.after_region.block and _may_count(parent)
    return isinstance(parent, scf.ForOp | scf.IfOp) and _may_count(parent)
