"""Which threads meet at ops of the gpu dialect, and what the kernel around must be for it. Raises VerifyException."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.kernel import CLUSTER, KernelOp
from tileopt.dialects.layout import WARP_SIZE

WARPGROUP = 4 * WARP_SIZE
_THREADS = "simt.threads"


def kernel_of(op: Operation) -> KernelOp | None:
    """The kernel that an op stands in; None where it stands in none."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp):
        parent = parent.parent_op()
    return parent


def check_threads(op: Operation, multiple: int) -> None:
    """Whole warps or warpgroups: the block's threads are a multiple of so many."""
    kernel = kernel_of(op)
    threads = None if kernel is None else kernel.attributes.get(_THREADS)
    if isinstance(threads, IntegerAttr) and threads.value.data % multiple:
        group = "warps" if multiple == WARP_SIZE else "warpgroups"
        raise VerifyException(
            f"{op.name} is done by whole {group} of {multiple} threads, and the block has {threads.value.data}"
        )


def check_cluster(op: Operation) -> None:
    """The kernel's blocks come in clusters."""
    kernel = kernel_of(op)
    if kernel is not None and CLUSTER not in kernel.attributes:
        raise VerifyException(f"{op.name} needs a kernel whose blocks come in clusters ({CLUSTER})")
