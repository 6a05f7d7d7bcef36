"""What a kernel writes, saved before measurements and put back after them: tuning changes no array.

Bytes are saved, not elements: from the first to the last that an array reaches, whatever its strides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from tileopt.backends.runtime.arrays import HOST, ArrayInfo, byte_range
from tileopt.dialects.contracts import Parameter, ParamKind


@dataclass(frozen=True, slots=True)
class _Saved:
    address: int
    count: int
    copy: int  # its address
    is_read: bool


class Snapshot:
    """Copies of the arrays that are written, on the device where they are. `with` gives their memory back."""

    def __init__(self, arrays: Sequence[tuple[Parameter, ArrayInfo]], device: int, stream: int) -> None:
        self._device, self._stream = device, stream
        self._kept: list[ctypes.Array[ctypes.c_char]] = []
        self._saved: list[_Saved] = []
        try:
            for parameter, info in arrays:
                low, high = byte_range(info)
                if parameter.kind is not ParamKind.IN and high > low:
                    copy = self._allocate(high - low)
                    is_read = parameter.kind is not ParamKind.OUT
                    self._saved.append(_Saved(info.pointer + low, high - low, copy, is_read))
                    self._copy(copy, info.pointer + low, high - low)
        except BaseException:
            self.free()
            raise

    def restore(self, *, only_read: bool = False) -> None:
        """Puts everything back; `only_read`: what the kernel reads before it writes, which is enough between runs."""
        for saved in self._saved:
            if saved.is_read or not only_read:
                self._copy(saved.address, saved.copy, saved.count)

    def free(self) -> None:
        """Gives the copies' memory back."""
        saved, self._saved = self._saved, []
        self._kept.clear()
        if self._device != HOST:
            from tileopt.backends.nvidia import driver

            for one in saved:
                driver.free(self._device, one.copy)

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *error: object) -> None:
        self.free()

    def _allocate(self, count: int) -> int:
        if self._device == HOST:
            self._kept.append(ctypes.create_string_buffer(count))
            return ctypes.addressof(self._kept[-1])
        from tileopt.backends.nvidia import driver

        return driver.allocate(self._device, count)

    def _copy(self, target: int, source: int, count: int) -> None:
        if self._device == HOST:
            ctypes.memmove(target, source, count)
            return
        from tileopt.backends.nvidia import queues

        queues.copy(self._device, target, source, count, self._stream)
