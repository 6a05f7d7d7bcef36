"""Arrays of PyTorch and CuPy that a launch uses on another stream than their framework's current one.

Their allocators give memory back in the order of the stream that it was made on, and know nothing of ours. Such arrays
are therefore kept until the launch is over: an event tells. (Memory of `tileopt.empty` and its like is freed by the
driver, which waits for the work that uses it.)
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from tileopt.backends.nvidia import queues

_held: dict[tuple[int, int], deque[tuple[int, Sequence[Any]]]] = {}
_lock = threading.RLock()  # a finaliser may run while it is held


def hold(device: int, queue: int, arrays: Sequence[Any]) -> None:
    """Keeps the arrays until what is on the queue by now is over."""
    event = queues.create_event(device, timing=False)
    queues.record_event(device, event, queue)
    with _lock:
        _held.setdefault((device, queue), deque()).append((event, arrays))
    release(device, queue)


def release(device: int, queue: int) -> None:
    """Lets go of what is no longer used."""
    with _lock:
        waiting = _held.get((device, queue))
        while waiting and queues.query_event(device, waiting[0][0]):
            queues.destroy_event(device, waiting.popleft()[0])
        if waiting is not None and not waiting:
            del _held[device, queue]


def held(device: int, queue: int) -> int:
    """How many launches of the queue still have their arrays kept."""
    return len(_held.get((device, queue), ()))
