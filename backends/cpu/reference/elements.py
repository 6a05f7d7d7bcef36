"""Bits to numbers and back: elements as the hardware's types have them, packed in words lowest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileopt.backends.nvidia.atoms.mma_sync import as_tf32
from tileopt.dialects.dtypes import DTYPES

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def numbers(data: Array, type_: str) -> Array:
    """The numbers in bytes (the last axis), each exact in the array's type: f32 for tf32, int8 for i4."""
    import numpy as np

    raw = np.ascontiguousarray(data)
    if type_ == "tf32":
        return as_tf32(raw.view(np.float32))
    if type_ in ("i4", "u4"):
        halves = np.stack([raw & 15, raw >> 4], -1).reshape(*raw.shape[:-1], -1).astype(np.int8)
        return halves - ((halves >= 8) * np.int8(16)) if type_ == "i4" else halves
    return raw.view(DTYPES[type_].numpy)


def unpack(words: Array, type_: str) -> Array:
    """(lanes, words) to (lanes, elements). `words`: uint64, of which 32 bits count unless the type has 64."""
    import numpy as np

    return numbers((words if type_ == "f64" else words.astype(np.uint32)).view(np.uint8), type_)


def pack(elements: Array, type_: str) -> Array:
    """(lanes, elements) to (lanes, words) as uint64; what is narrower than a word shares one."""
    import numpy as np

    typed = np.ascontiguousarray(elements.astype(DTYPES[type_].numpy))
    word: Any = np.uint64 if DTYPES[type_].bits == 64 else np.uint32
    packed: Array = typed.view(np.uint8).view(word).astype(np.uint64)
    return packed
