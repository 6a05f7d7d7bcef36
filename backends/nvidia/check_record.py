"""The record of a failed check on a GPU: in the host's memory, so that it outlives the device's context."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from tileopt.backends.nvidia import driver
from tileopt.backends.runtime.check_errors import RECORD_WORDS, check_error
from tileopt.dialects.diagnostics import TileoptError

if TYPE_CHECKING:
    from tileopt.backends.runtime.artifact import Artifact
    from tileopt.backends.runtime.plan import ArgumentBuffer

_PORTABLE_AND_MAPPED = 3  # CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP


def launcher(
    function: driver.Function, artifact: Artifact
) -> Callable[[], Callable[[ArgumentBuffer, tuple[int, int, int], int], None]]:
    """Launches with the record's address as the last argument. A check that fails ends the context; whatever call of
    the driver says so raises the BoundsError."""
    with driver.current(function.device.ordinal):
        address = int(driver.call("allocate host memory", "cuMemHostAlloc", 8 * RECORD_WORDS, _PORTABLE_AND_MAPPED))
    record = (ctypes.c_int64 * RECORD_WORDS).from_address(address)
    ctypes.memset(address, 0, 8 * RECORD_WORDS)
    last = len(artifact.params) - 1

    def failed() -> TileoptError | None:
        return check_error(artifact, list(record)) if record[0] else None

    driver.FAILED_CHECKS.append(failed)

    def launch(buffer: ArgumentBuffer, grid: tuple[int, int, int], stream: int) -> None:
        buffer.words[last] = address
        function.launch(buffer, grid, stream)

    return lambda: launch
