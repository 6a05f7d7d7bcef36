"""What the host promises about a kernel's parameters: the specialisation that code is compiled for.

Frontends turn a `Signature` into IR, the runtime derives one from the arguments of a launch, and the passes read it
from the kernel as `#tile.contract` (one for each array parameter).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tileopt.dialects.diagnostics import Location


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array argument.

    `dtype`: an element type's name as in `tileopt.dialects.dtypes` (signed and unsigned apart).
    `align`: bytes, a power of two, that divide the address of element 0 (at most 16 are told apart).
    `unit_axis`: the axis whose stride is 1 element, or None.
    `shape_div`, `stride_div`: for each axis a power of two up to 16 that divides the extent or the stride in elements.
    `small`: every byte offset inside the array fits in 31 bits.
    `regular`: strides are positive and below 2**40 bytes, extents below 2**30: what a tensor map can describe.
    """

    dtype: str
    rank: int
    align: int = 1
    unit_axis: int | None = None
    shape_div: tuple[int, ...] = ()
    stride_div: tuple[int, ...] = ()
    small: bool = False
    regular: bool = False


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """One scalar argument: its type's name; for integers a power of two up to 16 that divides it."""

    dtype: str
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class ConstSpec:
    """One compile-time constant: any hashable Python value."""

    value: object


Spec = ArraySpec | ScalarSpec | ConstSpec
Signature = Mapping[str, Spec]


class ParamKind(StrEnum):
    """How a kernel holds a parameter."""

    IN = "in"  # array, shared and read-only
    OUT = "out"  # array, owned
    INOUT = "inout"  # array, owned and read
    ATOMIC = "atomic"  # array, of any thread by atomic operations
    CONST = "const"  # compile-time constant
    SCALAR = "scalar"

    @property
    def is_array(self) -> bool:
        return self in (ParamKind.IN, ParamKind.OUT, ParamKind.INOUT, ParamKind.ATOMIC)


class Missing:
    """The default of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel as its source declares it; `dtype` and `rank` are None where left open. `python`: of a
    constant the type of its values, one of Python's, where it is declared."""

    name: str
    kind: ParamKind
    dtype: str | None = None
    rank: int | None = None
    default: object = Missing
    python: type | None = None

    def takes(self, value: object) -> bool:
        """Whether this is a value for a constant: of its type, or one that Python takes for it (`True` for an int)."""
        if self.python is int:
            return hasattr(value, "__index__")
        if self.python is float:
            return hasattr(value, "__float__")
        if self.python is bool:
            return type(value).__name__ in ("bool", "bool_")  # NumPy's too
        return self.python is None or isinstance(value, self.python)


@dataclass(frozen=True, slots=True)
class Hints:
    """What the author asks of the compiler; None leaves the choice to it. None of them changes what a kernel computes,
    but `fma` (contract a*b+c into one rounding), `fast_math` (hardware's approximate functions) and, in the last bit,
    `exp2_eighths` (see `balance-units`). `num_ctas`: blocks of a cluster, which share what they load.
    `occupancy`: blocks of a multiprocessor."""

    num_warps: int | None = None
    num_stages: int | None = None
    fma: bool = True
    fast_math: bool = False
    num_ctas: int | None = None
    exp2_eighths: int | None = None
    late_waits: bool | None = None
    take_turns: bool | None = None
    occupancy: int | None = None


HINTS = frozenset(f.name for f in fields(Hints))


class KernelDefinition(Protocol):
    """What a frontend hands to the runtime: enough to specialise, build and cache a kernel."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def hints(self) -> Hints: ...
    @property
    def location(self) -> Location | None: ...

    def build(self, signature: Signature) -> ModuleOp:
        """A module with one kernel op, whose arguments are the parameters in order without the constants."""
        ...

    def fingerprint(self) -> str:
        """Changes whenever the source of the kernel, a helper function or a captured constant changes."""
        ...


@irdl_attr_definition
class ContractAttr(Data[tuple[int, int, tuple[int, ...], tuple[int, ...], bool, bool]]):
    """`#tile.contract<align = 16, unit = 1, shape = [16, 1], stride = [16, 1], small, regular>`: facts of one array
    parameter, the last two where they hold.

    `unit = -1`: no axis is known to have stride 1. `shape`, `stride`: divisors. See `ArraySpec`.
    """

    name = "tile.contract"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, int, tuple[int, ...], tuple[int, ...], bool, bool]:
        def number() -> int:
            return parser.parse_integer(allow_boolean=False, allow_negative=True)

        def numbers() -> tuple[int, ...]:
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, number))

        def field(word: str) -> None:
            parser.parse_characters(word)
            parser.parse_punctuation("=")

        with parser.in_angle_brackets():
            start = parser.pos
            field("align")
            align = number()
            parser.parse_punctuation(",")
            field("unit")
            unit = number()
            parser.parse_punctuation(",")
            field("shape")
            shape = numbers()
            parser.parse_punctuation(",")
            field("stride")
            stride = numbers()
            small = regular = False
            if parser.parse_optional_punctuation(","):
                small = parser.parse_optional_characters("small") is not None
                if not small or parser.parse_optional_punctuation(","):
                    parser.parse_characters("regular")
                    regular = True
        for value in (align, *shape, *stride):
            if value < 1 or value & (value - 1):
                parser.raise_error(f"alignment and divisors are powers of two, got {value}", start)
        if len(shape) != len(stride) or not -1 <= unit < max(1, len(shape)):
            parser.raise_error(
                "shape and stride name each axis once, and unit is one of them or -1",
                start,
            )
        return align, unit, shape, stride, small, regular

    def print_parameter(self, printer: Printer) -> None:
        align, unit, shape, stride, small, regular = self.data
        tail = ", small" * small + ", regular" * regular
        printer.print_string(f"<align = {align}, unit = {unit}, shape = {list(shape)}, stride = {list(stride)}{tail}>")

    @property
    def align(self) -> int:
        return self.data[0]

    @property
    def unit_axis(self) -> int | None:
        return None if self.data[1] < 0 else self.data[1]

    @property
    def shape_div(self) -> tuple[int, ...]:
        return self.data[2]

    @property
    def stride_div(self) -> tuple[int, ...]:
        return self.data[3]

    @property
    def small(self) -> bool:
        return self.data[4]

    @property
    def regular(self) -> bool:
        return self.data[5]

    @staticmethod
    def of(spec: ArraySpec) -> ContractAttr:
        ones = (1,) * spec.rank
        unit = -1 if spec.unit_axis is None else spec.unit_axis
        return ContractAttr(
            (
                spec.align,
                unit,
                spec.shape_div or ones,
                spec.stride_div or ones,
                spec.small,
                spec.regular,
            )
        )
