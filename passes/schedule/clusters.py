"""What the blocks of a cluster load together: the part of pipeline-loops for the hint `num_ctas`.

Blocks that take neighbouring tiles of the grid often load the same tile of an array at the same time: all of a column
of a product's tiles read the same columns of B. In a cluster each of them copies one part and sends it to all
(multicast), which divides what is read from the L2 cache. For that they must run the same loops as often: nothing that
decides about the copy may depend on the axis along which they are neighbours.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import UnsupportedError, location_of
from tileopt.dialects.kernel import CLUSTER, NUM_CTAS, REQUIRES, KernelOp
from tileopt.dialects.target import Feature, Target
from tileopt.dialects.tensor_map import parted_axis
from tileopt.dialects.tile_types import BufferType, tile_shape
from tileopt.passes.layout.access import memory_order
from tileopt.passes.layout.buffers import panelled_layout
from tileopt.passes.schedule.pipeline_rewrite import Stream

SHARED_PARTS = "tile.parts"  # on a load: blocks of the cluster that copy it together


def cluster_size(kernel: KernelOp, target: Target) -> int:
    """The hint, or 1. Raises UnsupportedError (`kernel/num-ctas`) for a GPU without clusters."""
    hint = kernel.attributes.get(NUM_CTAS)
    size = hint.value.data if isinstance(hint, IntegerAttr) else 1
    if size > 1 and target.is_gpu and not target.has(Feature.CLUSTERS):
        raise UnsupportedError(
            "kernel/num-ctas",
            f"num_ctas = {size}: {target.name} has no clusters of blocks",
            location=location_of(kernel),
            help="compile for sm_90 or later, or leave num_ctas out",
        )
    return size


def share(streams: list[Stream], axis: int, size: int) -> bool:
    """Marks the loads that neighbours along an axis of the grid have in common, and that can be copied in parts; says
    whether there are some."""
    found = False
    for stream in streams:
        if not _differs(stream.load, axis) and _divides(stream.load, size):
            stream.load.attributes[SHARED_PARTS] = IntegerAttr(size, i64)
            found = True
    return found


def make_cluster(kernel: KernelOp, axis: int, size: int) -> None:
    """Blocks come in clusters, whose blocks are neighbours along `axis` of the launch's grid."""
    kernel.attributes[CLUSTER] = DenseArrayBase.from_list(i64, [size, 1, 1])
    required = kernel.attributes.get(REQUIRES)
    relations = list(required.data) if isinstance(required, ArrayAttr) else []
    kernel.attributes[REQUIRES] = ArrayAttr([*relations, StringAttr(f"grid[{axis}] % {size} == 0")])


def _divides(load: tile.Load, size: int) -> bool:
    type_ = BufferType.of(tile_shape(load.result.type), tile.element_type_of(load.result.type))
    layout = panelled_layout(type_.get_shape(), type_.element_type, memory_order(load.view))
    return parted_axis(layout, size) is not None


def _differs(load: tile.Load, axis: int) -> bool:
    """Whether what a load reads, or how often it is made, may depend on the block's id along an axis."""
    pending: list[SSAValue] = list(load.operands)
    around = load.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        pending += _deciding(around)
        around = around.parent_op()
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, tile.Bid):
            if owner.axis.value.data == axis:
                return True
        elif isinstance(owner, Operation):
            pending += owner.operands
            pending += [v for region in owner.regions for block in region.blocks for v in _given(block)]
        else:
            parent = owner.parent_op()
            if isinstance(parent, scf.ForOp):
                pending += _deciding(parent)
                if value is not owner.args[0]:
                    pending += [*parent.operands, *_given(owner)]
            elif isinstance(parent, scf.WhileOp):
                pending += [*_deciding(parent), *_before(parent, value)]
            elif not isinstance(parent, KernelOp):
                return True
    return False


def _deciding(op: Operation) -> list[SSAValue]:
    """What decides how often the body of an op runs."""
    if isinstance(op, scf.WhileOp):
        return _given(op.before_region.block)[:1]
    return [op.lb, op.ub, op.step] if isinstance(op, scf.ForOp) else list(op.operands)


def _before(loop: scf.WhileOp, value: SSAValue) -> list[SSAValue]:
    """What an argument of one of a loop's blocks may have been before."""
    assert isinstance(value, BlockArgument)
    if value.block is loop.before_region.block:
        return [loop.arguments[value.index], _given(loop.after_region.block)[value.index]]
    return [_given(loop.before_region.block)[1 + value.index]]


def _given(block: Block) -> list[SSAValue]:
    """What a block hands to the op around it."""
    return [] if block.last_op is None else list(block.last_op.operands)


def parts_of(load: Operation) -> Attribute | None:
    """The property of a copy that is made in parts."""
    return load.attributes.get(SHARED_PARTS)
