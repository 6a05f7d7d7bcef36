"""What an op needs of a GPU: refused by name before LLVM or ptxas see it."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.dialects.diagnostics import TargetError, location_of
from tileopt.dialects.target import Feature, target_of

# Where an op begins, for people; the features themselves are in the generations' data.
_SINCE = {
    Feature.CP_ASYNC: "sm_80", Feature.LDMATRIX: "sm_75", Feature.STMATRIX: "sm_90", Feature.CLUSTERS: "sm_90",
    Feature.MBARRIER: "sm_80", Feature.TMA: "sm_90", Feature.WGMMA: "sm_90a", Feature.TCGEN05: "sm_100a or sm_103a",
    Feature.SETMAXNREG: "sm_90a",
}  # fmt: skip


def need(op: Operation, feature: Feature) -> None:
    """Raises TargetError (`target/unsupported-...`) where the target lacks a feature."""
    target = target_of(op)
    if not target.has(feature):
        word = feature.value.replace(" ", "-").replace(".", "-")
        raise TargetError(
            f"target/unsupported-{word}",
            f"{target.name} has no {feature.value}, which {op.name} is",
            location=location_of(op),
            help=f"compile it for {_SINCE.get(feature, 'a later target')}; a CPU runs it, too",
        )


def need_arch(op: Operation, arch: int, what: str) -> None:
    """Raises TargetError (`target/unsupported-mma`) for a GPU that is older."""
    target = target_of(op)
    if target.arch < arch:
        raise TargetError(
            "target/unsupported-mma",
            f"{target.name} has no {what}",
            location=location_of(op),
            help=f"compile it for sm_{arch} or later; a CPU runs it, too",
        )
