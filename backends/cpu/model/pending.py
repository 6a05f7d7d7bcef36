"""Products that a warpgroup has started and not waited for: what they read from shared memory may not be written.

The model computes a product when it starts, and looks when it is waited for whether its operands still lie there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.backends.cpu.model.state import Block, Description, Thread
from tileopt.dialects.diagnostics import DeviceError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

WARPGROUP = 128  # threads
Read = tuple["Array", "Array"]  # bytes of shared memory, and what they were


class Products:
    """One warpgroup's groups of products, the latest last."""

    def __init__(self) -> None:
        self.groups: list[tuple[Description, list[Read]]] = []

    def wait(self, block: Block, asked: Description) -> None:
        """All but the `pending` latest are done. Raises DeviceError where what one read was written meanwhile."""
        done = max(0, len(self.groups) - int(asked["pending"]))
        for begun, reads in self.groups[:done]:
            for now, before in reads:
                if (now != before).any():
                    byte = int((now != before).argmax()) + now.ctypes.data - block.base
                    raise _overwritten(block, byte, begun, asked)
        del self.groups[:done]


def _overwritten(block: Block, byte: int, begun: Description, asked: Description) -> DeviceError:
    return DeviceError(
        "model/overwritten",
        f"{begun.op} of block {block.place} reads byte {byte} of shared memory, which was written before the product "
        "was waited for",
        location=begun.location,
        notes=[] if asked.location is None else [("it is waited for here", asked.location)],
        help="wait for the product before anything writes what it reads: threads, or the next copy into the slot",
    )


def start(threads: list[Thread], asked: Description, operands: list[Array]) -> None:
    """A group of products begins, which reads these bytes of shared memory."""
    _of(threads[0]).groups.append((asked, [(part, part.copy()) for part in operands]))


def wait(threads: list[Thread], asked: Description) -> None:
    """A warpgroup waits for its products."""
    _of(threads[0]).wait(threads[0].block, asked)


def _of(thread: Thread) -> Products:
    found: Products = thread.block.products.setdefault(thread.rank // WARPGROUP, Products())
    return found
