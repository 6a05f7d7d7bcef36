"""Element types by name: IR type, NumPy type, width. Signedness lives in the name; IR integers are signless."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class DType:
    """`kind`: "b" bool, "i" signed, "u" unsigned, "f" float. `bits`: width in memory (bool: 8; packed types: 4)."""

    name: str
    kind: str
    bits: int

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def ir(self) -> IntegerType | AnyFloat:
        """The IR's element type; bool is i1 in registers."""
        return _IR[self.name]

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type (ml_dtypes for those NumPy lacks)."""
        return _numpy(self.name)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    def __str__(self) -> str:
        return self.name


_ROWS = [("bool", "b", 8)]
_ROWS += [(f"{'i' if kind == 'i' else 'u'}{bits}", kind, bits) for bits in (8, 16, 32, 64) for kind in "iu"]
_ROWS += [("f16", "f", 16), ("bf16", "f", 16), ("f32", "f", 32), ("f64", "f", 64)]
_ROWS += [("f8e4m3fn", "f", 8), ("f8e5m2", "f", 8), ("f8e8m0fnu", "f", 8)]
DTYPES: dict[str, DType] = {row[0]: DType(*row) for row in _ROWS}

# Two of these lie in a byte; a tile of them has, in the IR, the element type of 8 bits that holds all their values.
PACKED: dict[str, DType] = {row[0]: DType(*row) for row in (("i4", "i", 4), ("u4", "u", 4), ("f4e2m1fn", "f", 4))}

_IR: dict[str, IntegerType | AnyFloat] = {
    "bool": IntegerType(1),
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
    "f8e4m3fn": Float8E4M3FNType(),
    "f8e5m2": Float8E5M2Type(),
    "f8e8m0fnu": Float8E8M0FNUType(),
}
_IR |= {name: IntegerType(d.bits) for name, d in DTYPES.items() if d.kind in "iu"}
_IR |= {"i4": IntegerType(8), "u4": IntegerType(8), "f4e2m1fn": Float8E4M3FNType()}
_BITS: dict[Attribute, int] = {d.ir: d.bits for d in DTYPES.values()}


@lru_cache(maxsize=64)
def _numpy(name: str) -> np.dtype[np.generic]:
    import ml_dtypes
    import numpy as np

    special = {
        "bf16": ml_dtypes.bfloat16,
        "f8e4m3fn": ml_dtypes.float8_e4m3fn,
        "f8e5m2": ml_dtypes.float8_e5m2,
        "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    }
    kind = DTYPES[name].kind
    found: np.dtype[np.generic] = np.dtype(
        special[name] if name in special else "bool" if kind == "b" else f"{kind}{DTYPES[name].bytes}"
    )
    return found


@lru_cache(maxsize=64)
def from_numpy(dtype: np.dtype[np.generic]) -> DType | None:
    """The element type of a NumPy dtype, or None where there is none (big-endian, complex, object, ...)."""
    return next(
        (d for name, d in DTYPES.items() if _numpy(name) == dtype and dtype.isnative),
        None,
    )


def element_type(type_: Attribute) -> Attribute:
    """Element type of a tensor or vector, or the type itself for a scalar."""
    return type_.element_type if isinstance(type_, TensorType | VectorType) else type_


def bit_width(type_: Attribute) -> int:
    """Bits that one element takes in memory: i1 takes 8. Raises ValueError for what is no element type."""
    element = element_type(type_)
    if element not in _BITS:
        raise ValueError(f"{element} has no width in memory")
    return _BITS[element]
