"""How long one run takes, in milliseconds: by events on a GPU, whose L2 is flushed before, by the clock on a CPU."""

from __future__ import annotations

import time
from collections.abc import Callable

from tileopt.backends.runtime.arrays import HOST

Run = Callable[[], None]

# The flush also keeps the GPU busy while the host queues the kernel, so that the events enclose nothing but the kernel.
LEAST_FLUSH = 64 << 20


class HostTimer:
    """Launches on the host return when they are done."""

    def __call__(self, run: Run) -> float:
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3

    def close(self) -> None:
        """Nothing is held."""


class GpuTimer:
    """Events on one stream of one device."""

    def __init__(self, device: int, stream: int) -> None:
        from tileopt.backends.nvidia import driver, queues

        self._device, self._stream = device, stream
        self._bytes = max(LEAST_FLUSH, 2 * driver.l2_bytes(device))
        self._buffer = driver.allocate(device, self._bytes)
        self._events = [queues.create_event(device, timing=True) for _ in range(2)]

    def __call__(self, run: Run) -> float:
        from tileopt.backends.nvidia import queues

        start, end = self._events
        queues.fill(self._device, self._buffer, self._bytes, self._stream)
        queues.record_event(self._device, start, self._stream)
        run()
        queues.record_event(self._device, end, self._stream)
        queues.synchronize_event(self._device, end)
        return queues.elapsed(self._device, start, end)

    def close(self) -> None:
        """Gives back what the timer holds of the device."""
        from tileopt.backends.nvidia import driver, queues

        for event in self._events:
            queues.destroy_event(self._device, event)
        driver.free(self._device, self._buffer)


def timer_for(device: int, stream: int) -> HostTimer | GpuTimer:
    """The timer of launches on a device."""
    return HostTimer() if device == HOST else GpuTimer(device, stream)
