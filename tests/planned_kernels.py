"""The code that launches get on a GPU, without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileopt.backends.runtime import defaults, specialise
from tileopt.backends.runtime.arrays import ArrayInfo
from tileopt.backends.runtime.compiled_kernel import CompiledKernel
from tileopt.backends.runtime.conditions import ArrayView, compile_condition
from tileopt.backends.runtime.signature import array_spec


def fresh(*shape: int) -> ArrayInfo:
    """A new array of f32 of this shape."""
    strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    return ArrayInfo(4096, shape, strides, "f32", 4)


def planned(kernel: Any, target: str, **arrays: ArrayInfo) -> CompiledKernel:
    """The code of a kernel without constants in a launch with such arrays."""
    views = {name: ArrayView(info.shape, info.strides) for name, info in arrays.items()}
    signature = {name: array_spec(info) for name, info in arrays.items()}
    module = specialise.compile_kernel(
        kernel, signature, defaults.resolve(target), lambda text: compile_condition(text).holds(views)
    )
    return CompiledKernel(module, signature)
