"""What a launch must fulfil for a kernel's code to be right, in the words of `backends.runtime.conditions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileopt.dialects.kernel import KernelOp


def launch_conditions(kernel: KernelOp) -> tuple[str, ...]:
    """The relations that the kernel's contract requires, and that the grid has whole clusters."""
    from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr

    from tileopt.dialects.kernel import CLUSTER, PERSISTENT, REQUIRES

    required = kernel.attributes.get(REQUIRES)
    relations = required.data if isinstance(required, ArrayAttr) else ()
    # The clusters of a persistent grid are the launcher's; its passes require what they need of the launch's.
    cluster = None if PERSISTENT in kernel.attributes else kernel.attributes.get(CLUSTER)
    extents = cluster.get_values() if isinstance(cluster, DenseArrayBase) else ()
    whole = [f"grid[{axis}] % {n} == 0" for axis, n in enumerate(extents) if n != 1]
    return (*(text.data for text in relations if isinstance(text, StringAttr)), *whole)


def check_target(kernel: KernelOp, target: str, arch: int, kind: str) -> None:
    """Raises TargetError where the kernel is for later targets (`simt.min_arch`). A CPU does what every GPU does."""
    from xdsl.dialects.builtin import StringAttr

    from tileopt.dialects.diagnostics import TargetError, location_of
    from tileopt.dialects.kernel import MIN_ARCH

    wanted = kernel.attributes.get(MIN_ARCH)
    if not isinstance(wanted, StringAttr) or kind != "cuda":
        return
    number = int("".join(c for c in wanted.data if c.isdigit()) or 0)
    # Instructions with the suffix "a" are of one architecture alone.
    if arch < number or (wanted.data.endswith("a") and target != wanted.data):
        raise TargetError(
            "target/too-old",
            f"the contract of {kernel.sym_name.data!r} needs {wanted.data}, and {target} is asked for",
            location=location_of(kernel),
            help="compile it for a later target, or lower min_arch= in its contract",
        )
