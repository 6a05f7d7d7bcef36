"""The device on which the kernel tests run: the CPU, or with TILEOPT_TEST_DEVICE=cuda a GPU, through PyTorch.

Outputs are poisoned and stand between guard zones: an element that was not written, or one outside, fails the test.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
# Types that NumPy lacks, by the name that PyTorch and ml_dtypes both give them.
SMALL_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
GUARD = 256  # elements on each side of an output
TARGETS = [os.environ.get("TILEOPT_TEST_DEVICE", "cpu")]


def poison(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """NaN where the type has it, otherwise a pattern that no test computes."""
    if dtype == np.bool_:
        return np.zeros(shape, dtype)
    if dtype.kind in "iu":
        return np.full(shape, 0x5B, dtype)
    return np.full(shape, np.nan, dtype)


class Device:
    """Arrays there and back; `check` after the kernel looks at the guard zones."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.guards: list[tuple[Any, int, np.dtype[Any]]] = []

    def needs(self, arch: int, exactly: tuple[int, ...] = ()) -> None:
        """Skips the test on a GPU that is older, or none of `exactly`; a CPU models them all."""
        if self.name == "cpu":
            return
        import pytest
        import torch

        major, minor = torch.cuda.get_device_capability()
        here = 10 * major + minor
        if here < arch or (exactly and here not in exactly):
            pytest.skip(f"needs sm_{arch}, and this is sm_{here}")

    def put(self, x: Array) -> Any:
        """The array on the device, strides and all."""
        if self.name == "cpu":
            return x
        import torch

        words = x.view(f"u{x.itemsize}") if x.dtype.kind == "V" or x.dtype.name in SMALL_FLOATS else x
        flat = np.lib.stride_tricks.as_strided(words, (self._span(x),), (x.itemsize,)).copy()
        moved = self._to_torch(flat.view(x.dtype)).cuda()
        return torch.as_strided(moved, x.shape, [s // x.itemsize for s in x.strides])

    @staticmethod
    def _span(x: Array) -> int:
        if x.size == 0:
            return 0
        assert all(s >= 0 for s in x.strides), "PyTorch has no negative strides"
        return 1 + sum((n - 1) * s // x.itemsize for n, s in zip(x.shape, x.strides, strict=True))

    @staticmethod
    def _to_torch(x: Array) -> Any:
        import torch

        if x.dtype.name in SMALL_FLOATS:
            return torch.from_numpy(x.view(f"i{x.itemsize}")).view(getattr(torch, x.dtype.name))
        return torch.from_numpy(x)

    def empty(self, shape: Sequence[int] | int, dtype: Any) -> Any:
        """A poisoned output between guard zones."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = np.dtype(dtype)
        size = int(np.prod(shape))
        whole = poison((size + 2 * GUARD,), dtype)
        if self.name == "cpu":
            self.guards.append((whole, size, dtype))
            return whole[GUARD : GUARD + size].reshape(shape)
        moved = self._to_torch(whole).cuda()
        self.guards.append((moved, size, dtype))
        return moved[GUARD : GUARD + size].reshape(shape)

    def get(self, x: Any) -> Array:
        """The array on the host; the guard zones of every output so far are checked."""
        for whole, size, dtype in self.guards:
            host = self._host(whole)
            for zone in (host[:GUARD], host[GUARD + size :]):
                clean = poison(zone.shape, dtype)
                assert zone.tobytes() == clean.tobytes(), "the kernel wrote outside its output"
        return self._host(x)

    def _host(self, x: Any) -> Array:
        if isinstance(x, np.ndarray):
            return x
        import torch

        x = x.cpu()
        name = str(x.dtype).removeprefix("torch.")
        if name in SMALL_FLOATS:
            words = torch.int16 if x.itemsize == 2 else torch.int8
            return x.contiguous().view(words).numpy().view(getattr(ml_dtypes, name))
        return x.numpy()
