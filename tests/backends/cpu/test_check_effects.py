"""Every op that threads touch memory or meet by is known to the checking mode, or is named here."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation
from xdsl.traits import Pure

from tileopt.backends.cpu import requests
from tileopt.backends.cpu.check.effects import EFFECTS
from tileopt.backends.cpu.check.hardware import EFFECTS as HARDWARE
from tileopt.backends.cpu.uniform import MEETINGS
from tileopt.dialects import (
    gpu,
    gpu_accumulator,
    gpu_cluster,
    gpu_mbarrier,
    gpu_tensor,
    gpu_tma,
    gpu_warpgroup,
    gpu_words,
    simt,
)
from tileopt.dialects.simt_atomic import AtomicOps

# Nothing of what they do is seen by other threads, or it is not told from what stands beside it.
NOTHING: set[type[Operation]] = {
    gpu.CpAsyncCommit,
    gpu.CpAsyncWait,
    gpu_words.FenceProxyAsync,
    gpu_mbarrier.MbarrierFence,
    gpu_mbarrier.SetMaxRegisters,
    gpu_tma.TmaCommit,
    gpu_warpgroup.WgmmaWaitWords,
    gpu_accumulator.AccumulatorLoad,
    gpu_accumulator.AccumulatorStore,
    gpu_tensor.Tcgen05Dealloc,
    gpu_tensor.Tcgen05Relinquish,
    gpu_tensor.Tcgen05Load,
    gpu_tensor.Tcgen05Store,
    gpu_tensor.Tcgen05Wait,
    gpu_tensor.Tcgen05Fence,
    gpu_cluster.ClusterArrive,
    gpu_cluster.ClusterWait,  # the model says when it opens
}
# Kernels with these are run without a look at races.
NOT_FOLLOWED = {gpu_cluster.RemoteLoad, gpu_cluster.RemoteStore, gpu_cluster.RemoteArrive}


def test_every_op_of_the_hardware_is_known() -> None:
    known = set(EFFECTS) | set(HARDWARE) | NOTHING | NOT_FOLLOWED
    assert not {op.name for op in set(requests.HARDWARE) - known}


def test_every_op_of_threads_is_known() -> None:
    assert {*MEETINGS, *AtomicOps} <= set(EFFECTS)
    touching = {op for op in simt.SimtOps if _takes_memory(op) and not op.has_trait(Pure)}
    assert len(touching) > 8 and touching <= set(EFFECTS), touching - set(EFFECTS)


def _takes_memory(op: type[Operation]) -> bool:
    """Whether an operand may be an array or a buffer."""
    definition: Any = op.get_irdl_definition()  # type: ignore[attr-defined]
    bases = [str(operand.constr) for _, operand in definition.operands]
    return any("ViewType" in text or "BufferType" in text for text in bases)
