"""Launches of persistent kernels: as many blocks as run at once; the launch's own extents are arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tileopt.backends.compiled import SlotKind

if TYPE_CHECKING:
    from tileopt.backends.nvidia.driver import Function
    from tileopt.backends.runtime.artifact import Artifact
    from tileopt.backends.runtime.plan import ArgumentBuffer, Run


def launch_in_turn(function: Function, artifact: Artifact) -> Callable[[], Run]:
    """Launches with the grid's extents among the arguments."""
    first = next(at for at, slot in enumerate(artifact.params) if slot.kind is SlotKind.GRID)
    most = artifact.persistent * function.device.multiprocessors
    most -= most % artifact.cluster

    def launch(buffer: ArgumentBuffer, grid: tuple[int, int, int], stream: int) -> None:
        x, y, z = grid
        words = buffer.words
        words[first], words[first + 1], words[first + 2] = x, y, z
        function.launch(buffer, (min(x * y * z, most), 1, 1), stream)

    return lambda: launch
