"""What PyTorch does to order its streams, told by its own trace of the GPU (`torch.cuda._gpu_trace`).

The trace is made for checkers such as PyTorch's CUDA sanitizer: it calls back with event and stream handles. It says
nothing of the device: handles are unique in a process.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

_began = False


def begin() -> bool:
    """Follows PyTorch from here on; whether that began just now. Nothing happens where PyTorch has no such trace."""
    global _began
    torch: Any = sys.modules.get("torch")
    if _began or torch is None:
        return False
    try:
        trace: Any = importlib.import_module("torch.cuda._gpu_trace")
        activate: Callable[[], None] = torch._C._activate_gpu_trace
    except (ImportError, AttributeError):
        return False
    from tileopt.backends.runtime import order

    def every(name: str) -> Callable[..., None]:
        def tell(*handles: int) -> None:
            for tracker in list(order._TRACKERS.values()) if order.active else ():
                getattr(tracker, name)(*handles)

        return tell

    record, wait = every("record"), every("wait")
    trace.register_callback_for_memory_deallocation(every("freed"))
    trace.register_callback_for_event_record(lambda event, stream: record(stream, event))
    trace.register_callback_for_event_wait(lambda event, stream: wait(stream, event))
    trace.register_callback_for_device_synchronization(every("synchronize"))
    trace.register_callback_for_stream_synchronization(every("synchronize"))
    trace.register_callback_for_event_synchronization(every("synchronize_event"))
    activate()
    _began = True
    return True


def is_followed() -> bool:
    """Whether PyTorch's events are seen."""
    return _began
