"""overlap-products: asynchronous products run while the threads do other work.

From: simt+gpu with barriers. To: the same. Invariant: a `gpu.wgmma` stands directly behind the last op of its block
that it depends on, that meets other threads or that waits; a `gpu.wgmma_wait` directly before the first op that uses
its result, meets other threads or ends the block.

Nothing that they pass writes what the product reads: where some op did, `insert-fences` put a barrier between. So the
pass runs last, and the copies for a later iteration are issued while the tensor cores work.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from tileopt.dialects import gpu, gpu_cluster, gpu_mbarrier, gpu_wgmma, simt
from tileopt.dialects.verifier import walk

# What other threads, or earlier groups of the unit, are met at.
MEETINGS = (
    simt.Barrier,
    gpu.CpAsyncWait,
    gpu_wgmma.Wgmma,
    gpu_wgmma.WgmmaWait,
    gpu_mbarrier.MbarrierWait,
    gpu_mbarrier.MbarrierArrive,
    gpu_cluster.RemoteArrive,
)


@dataclass(frozen=True)
class OverlapProducts(ModulePass):
    name = "overlap-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, simt.Kernel):
                ops = [x for x in walk(kernel) if isinstance(x, gpu_wgmma.Wgmma | gpu_wgmma.WgmmaWait)]
                for product in ops:
                    if isinstance(product, gpu_wgmma.Wgmma):
                        _hasten(product)
                for wait in ops:
                    if isinstance(wait, gpu_wgmma.WgmmaWait):
                        _delay(wait)


def _hasten(product: gpu_wgmma.Wgmma) -> None:
    """Moves a product up to behind what makes its operands."""
    at = product.prev_op
    makers = {v.owner for v in product.operands}
    while at is not None and at not in makers and not _meets(at):
        at = at.prev_op
    if at is not None and at is not product.prev_op:
        block = at.parent
        assert block is not None
        block.detach_op(product)
        block.insert_op_after(product, at)


def _delay(wait: gpu_wgmma.WgmmaWait) -> None:
    users = {use.operation for use in wait.result.uses}
    at = wait.next_op
    while at is not None and not (at.has_trait(IsTerminator) or _meets(at) or any(x in users for x in walk(at))):
        at = at.next_op
    if at is not None and at is not wait.next_op:
        block = at.parent
        assert block is not None
        block.detach_op(wait)
        block.insert_op_before(wait, at)


def _meets(op: Operation) -> bool:
    return any(isinstance(x, MEETINGS) for x in walk(op))
