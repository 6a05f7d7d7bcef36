"""The functions that the CPU target calls: one that prints, and the C library's, register by register."""

from __future__ import annotations

PRINT = "tileopt_vprintf"  # see `printing`

_NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin",
    "acos", "atan", "asinh", "acosh", "atanh", "atan2", "pow", "erf", "cbrt", "fmod",
)  # fmt: skip

FUNCTIONS = frozenset(_NAMES) | {f"{name}f" for name in _NAMES}


def c_name(function: str, element: str) -> str | None:
    """The C function for a `float` or `double`; None where the library has none."""
    if function not in _NAMES:
        return None
    return f"{function}f" if element == "float" else function
