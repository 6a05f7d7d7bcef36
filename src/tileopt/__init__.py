"""tileopt: a compiler for GPU kernels with a tile track and a SIMT track.

Names are imported when they are first used: `import tileopt` alone loads neither xDSL nor LLVM nor CUDA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.frontends.engine import set_engine_factory as _set_engine_factory

if TYPE_CHECKING:
    from tileopt.backends.runtime.compiled_kernel import CompiledKernel
    from tileopt.backends.runtime.defaults import set_default_target
    from tileopt.backends.runtime.device_array import DeviceArray, asarray, empty, to_numpy, zeros
    from tileopt.backends.runtime.engine import Engine
    from tileopt.backends.runtime.moves import consumes, move
    from tileopt.backends.runtime.order import check_order
    from tileopt.backends.runtime.recording import Recording
    from tileopt.backends.runtime.streams import Event, Graph, Stream, synchronize
    from tileopt.backends.runtime.tuning import Config, autotune
    from tileopt.dialects.diagnostics import (
        BoundsError,
        CheckError,
        CompileError,
        DeviceError,
        KernelAssertionError,
        KernelTypeError,
        LaunchError,
        OwnershipError,
        TargetError,
        TileoptError,
        UnsupportedError,
    )
    from tileopt.dialects.target import Target
    from tileopt.frontends import simt_python as simt
    from tileopt.frontends import tile_python as tile

__version__ = "0.1.0"

_RUNTIME = "tileopt.backends.runtime."
_DIAGNOSTICS = "tileopt.dialects.diagnostics"
_HOMES = {
    "CompiledKernel": _RUNTIME + "compiled_kernel",
    "set_default_target": _RUNTIME + "defaults",
    "DeviceArray": _RUNTIME + "device_array",
    "asarray": _RUNTIME + "device_array",
    "empty": _RUNTIME + "device_array",
    "to_numpy": _RUNTIME + "device_array",
    "zeros": _RUNTIME + "device_array",
    "consumes": _RUNTIME + "moves",
    "move": _RUNTIME + "moves",
    "Recording": _RUNTIME + "recording",
    "check_order": _RUNTIME + "order",
    "Config": _RUNTIME + "tuning",
    "autotune": _RUNTIME + "tuning",
    "Event": _RUNTIME + "streams",
    "Graph": _RUNTIME + "streams",
    "Stream": _RUNTIME + "streams",
    "synchronize": _RUNTIME + "streams",
    "Target": "tileopt.dialects.target",
    "BoundsError": _DIAGNOSTICS,
    "CheckError": _DIAGNOSTICS,
    "CompileError": _DIAGNOSTICS,
    "DeviceError": _DIAGNOSTICS,
    "KernelAssertionError": _DIAGNOSTICS,
    "KernelTypeError": _DIAGNOSTICS,
    "LaunchError": _DIAGNOSTICS,
    "OwnershipError": _DIAGNOSTICS,
    "TargetError": _DIAGNOSTICS,
    "TileoptError": _DIAGNOSTICS,
    "UnsupportedError": _DIAGNOSTICS,
}
_MODULES = {"simt": "tileopt.frontends.simt_python", "tile": "tileopt.frontends.tile_python"}

__all__ = [
    "BoundsError",
    "CheckError",
    "CompileError",
    "CompiledKernel",
    "Config",
    "DeviceArray",
    "DeviceError",
    "Event",
    "Graph",
    "KernelAssertionError",
    "KernelTypeError",
    "LaunchError",
    "OwnershipError",
    "Recording",
    "Stream",
    "Target",
    "TargetError",
    "TileoptError",
    "UnsupportedError",
    "asarray",
    "autotune",
    "cdiv",
    "check_order",
    "compile",
    "consumes",
    "empty",
    "move",
    "set_default_target",
    "simt",
    "synchronize",
    "tile",
    "to_numpy",
    "zeros",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        found: Any = importlib.import_module(_MODULES[name])
    elif name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'tileopt' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def cdiv(a: int, b: int) -> int:
    """a / b rounded up: how many tiles of b cover a elements."""
    if b == 0:
        raise ZeroDivisionError("cdiv() by 0")
    return -(-a // b)


def compile(kernel: Any, target: Any = None, **given: object) -> CompiledKernel:
    """The kernel for a target without launching it; the same as `kernel.compile(target, ...)`.

    Errors: `kernel/function` where `kernel` is none.
    """
    if not callable(getattr(kernel, "compile", None)):
        from tileopt.dialects.diagnostics import CompileError, call_site, shown

        raise CompileError(
            "kernel/function",
            f"compile() takes a kernel, not {shown(kernel)}",
            location=call_site(),
            help="make a kernel of a function by @tile.kernel or @simt.kernel",
        )
    result: CompiledKernel = kernel.compile(target, **given)
    return result


def _make_engine() -> Engine:
    from tileopt.backends.runtime.engine import Engine

    return Engine()


_set_engine_factory(_make_engine)
