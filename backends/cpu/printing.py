"""What kernels print on the CPU goes to Python's standard output, where tests and notebooks look for it."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from tileopt.dialects.printf import Conversion, parts

# What a value of the IR is in C.
_C_TYPES: dict[str, Any] = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f64": ctypes.c_double}
_SNPRINTF = ctypes.pythonapi.PyOS_snprintf  # C's own, on every system that Python runs on
_SNPRINTF.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
_SNPRINTF.restype = ctypes.c_int


def rendered(text: str, values: int) -> str:
    """The text with the values that lie at the address `values` as in a C struct."""
    out: list[str] = []
    for part in parts(text):
        if isinstance(part, str):
            out.append(part)
            continue
        type_ = _C_TYPES[part.operand]
        size = ctypes.sizeof(type_)
        values += -values % size
        out.append(_converted(part, type_.from_address(values)))
        values += size
    return "".join(out)


def _converted(conversion: Conversion, value: Any) -> str:
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = _SNPRINTF(buffer, size, conversion.text.encode(), value)
        if 0 <= needed < size:
            # %c of 0 is a byte that ends a C string.
            return buffer.raw[:needed].decode("latin-1")
        size = max(2 * size, needed + 1)


def _print(text: int, values: int | None) -> int:
    """`int vprintf(const char *format, void *values)`."""
    line = rendered(ctypes.string_at(text).decode(), values or 0)
    sys.stdout.write(line)
    return len(line)


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(_print)
