"""The shapes and element types of `mma.sync`, as data.

PTX ISA, "Matrix multiply-accumulate operation using mma instruction": which type goes with which m, n, k, what it
accumulates in, and the first architecture that has it. Operands lie in 32-bit words, elements of less packed lowest
first; f64 has a register for each element.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

LANES = 32
OPERAND_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "i8": 8, "u8": 8, "i4": 4, "u4": 4, "f8e4m3fn": 8, "f8e5m2": 8,
}  # fmt: skip
ACC_WORDS: dict[str, Attribute] = {"f16": i32, "f32": f32, "f64": f64, "i32": i32}
ACC_BITS = {"f16": 16, "f32": 32, "f64": 64, "i32": 32}


@dataclass(frozen=True)
class MmaShape:
    """One row. `kinds`: types of a and b, which may differ; `accs`: what the products are summed in."""

    m: int
    n: int
    k: int
    kinds: tuple[str, ...]
    accs: tuple[str, ...]
    min_arch: int

    @property
    def name(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    def words(self, acc: str) -> tuple[int, int, int]:
        """Registers of a lane for a, b and the accumulator."""
        bits = OPERAND_BITS[self.kinds[0]]
        word = max(32, bits)
        acc_word = max(32, ACC_BITS[acc])
        return (
            self.m * self.k * bits // (LANES * word),
            self.k * self.n * bits // (LANES * word),
            self.m * self.n * ACC_BITS[acc] // (LANES * acc_word),
        )


_I8, _I4, _F8 = ("i8", "u8"), ("i4", "u4"), ("f8e4m3fn", "f8e5m2")
MMA_SHAPES: tuple[MmaShape, ...] = (
    MmaShape(16, 8, 8, ("f16",), ("f16", "f32"), 75),
    MmaShape(16, 8, 16, ("f16",), ("f16", "f32"), 80),
    MmaShape(16, 8, 8, ("bf16",), ("f32",), 80),
    MmaShape(16, 8, 16, ("bf16",), ("f32",), 80),
    MmaShape(16, 8, 4, ("tf32",), ("f32",), 80),
    MmaShape(16, 8, 8, ("tf32",), ("f32",), 80),
    MmaShape(8, 8, 4, ("f64",), ("f64",), 80),
    MmaShape(16, 8, 4, ("f64",), ("f64",), 90),
    MmaShape(16, 8, 8, ("f64",), ("f64",), 90),
    MmaShape(16, 8, 16, ("f64",), ("f64",), 90),
    MmaShape(8, 8, 16, _I8, ("i32",), 75),
    MmaShape(16, 8, 16, _I8, ("i32",), 80),
    MmaShape(16, 8, 32, _I8, ("i32",), 80),
    MmaShape(8, 8, 32, _I4, ("i32",), 75),
    MmaShape(16, 8, 32, _I4, ("i32",), 80),
    MmaShape(16, 8, 64, _I4, ("i32",), 80),
    MmaShape(16, 8, 32, _F8, ("f32",), 89),
)


@lru_cache(maxsize=256)
def mma_shape(shape: str, a: str, b: str, acc: str) -> MmaShape:
    """The row of a product. Raises VerifyException, which names the shapes that there are."""
    if a not in OPERAND_BITS or b not in OPERAND_BITS:
        unknown = a if a not in OPERAND_BITS else b
        raise VerifyException(f"mma.sync has no operands of {unknown}; it has {', '.join(OPERAND_BITS)}")
    rows = [row for row in MMA_SHAPES if a in row.kinds and b in row.kinds]
    if not rows:
        raise VerifyException(f"mma.sync does not multiply {a} by {b}")
    for row in rows:
        if row.name == shape and acc in row.accs:
            return row
    known = ", ".join(f"{row.name} in {x}" for row in rows for x in row.accs)
    raise VerifyException(f"mma.sync has no {shape} of {a} summed in {acc}; it has {known}")
