"""Types of the tile dialect: `!tile.view` (an array in global memory) and `!tile.buffer` (a tile in shared memory)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntAttr,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.encodings import SharedAttr
from tileopt.dialects.layout import SharedLayout

DYNAMIC = DYNAMIC_INDEX
ELEMENT_TYPES: frozenset[Attribute] = frozenset(d.ir for d in DTYPES.values())
MAX_EXTENT = (1 << 63) - 1


class Access(StrEnum):
    """What a kernel may do with an array."""

    SHARED = "shared"  # read only; others may read it too
    OWNED = "owned"  # each block reads and writes the part that its id owns
    ATOMIC = "atomic"  # any thread, by atomic operations only


def check_element(element: Attribute) -> None:
    """Raises VerifyException for what cannot be an element of an array or a tile."""
    if element not in ELEMENT_TYPES:
        raise VerifyException(
            f"{element} is not an element type (i1, i8 to i64, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU)"
        )


@irdl_attr_definition
class ViewType(ParametrizedAttribute, TypeAttribute):
    """`!tile.view<?x128xf32, owned>`: an array in global memory with run-time strides; `?` is a run-time extent."""

    name = "tile.view"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    access: StringAttr

    @property
    def rank(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        """Extents; DYNAMIC where known at run time only."""
        return tuple(n.data for n in self.shape.data)

    @property
    def owned(self) -> bool:
        return self.access.data == Access.OWNED

    def verify(self) -> None:
        check_element(self.element_type)
        if self.access.data not in tuple(Access):
            raise VerifyException(f"a view is shared, owned or atomic, not '{self.access.data}'")
        if any(not 0 <= n <= MAX_EXTENT and n != DYNAMIC for n in self.get_shape()):
            raise VerifyException("a view's extent is 0 to 2**63 - 1, or '?'")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            start = parser.pos
            access = parser.parse_identifier()
            if access not in tuple(Access):
                parser.raise_error(f"a view is shared, owned or atomic, not '{access}'", start)
        return [ArrayAttr([IntAttr(n) for n in dims]), element, StringAttr(access)]

    def print_parameters(self, printer: Printer) -> None:
        dims = "".join(("?" if n == DYNAMIC else str(n)) + "x" for n in self.get_shape())
        with printer.in_angle_brackets():
            printer.print_string(dims)
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.access.data}")

    @staticmethod
    def of(shape: Sequence[int], element: Attribute, access: Access) -> ViewType:
        return ViewType(ArrayAttr([IntAttr(n) for n in shape]), element, StringAttr(access.value))


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`!tile.buffer<128x64xbf16, #tile.shared<...>>`: a tile in shared memory; the layout is absent until assigned."""

    name = "tile.buffer"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    layout: SharedAttr | NoneAttr

    @property
    def rank(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(n.data for n in self.shape.data)

    @property
    def shared_layout(self) -> SharedLayout:
        """Where its elements lie; row-major where no layout was assigned."""
        if isinstance(self.layout, SharedAttr):
            return self.layout.over(self.get_shape())
        return SharedLayout(self.get_shape(), tuple(range(self.rank)))

    def verify(self) -> None:
        check_element(self.element_type)
        if any(n < 1 for n in self.get_shape()):
            raise VerifyException("a buffer needs static, positive extents")
        if isinstance(self.layout, SharedAttr) and len(self.layout.data[0]) != self.rank:
            raise VerifyException(f"the layout orders {len(self.layout.data[0])} axes, the buffer has rank {self.rank}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
            layout: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(","):
                start = parser.pos
                layout = parser.parse_attribute()
                if not isinstance(layout, SharedAttr):
                    parser.raise_error(f"a buffer's layout is #tile.shared, not {layout}", start)
        return [ArrayAttr([IntAttr(n) for n in dims]), element, layout]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("".join(f"{n}x" for n in self.get_shape()))
            printer.print_attribute(self.element_type)
            if isinstance(self.layout, SharedAttr):
                printer.print_string(", ")
                printer.print_attribute(self.layout)

    @staticmethod
    def of(shape: Sequence[int], element: Attribute, layout: SharedLayout | None = None) -> BufferType:
        attr = NoneAttr() if layout is None else SharedAttr.of(layout)
        return BufferType(ArrayAttr([IntAttr(n) for n in shape]), element, attr)


def tile_shape(type_: Attribute) -> tuple[int, ...]:
    """Extents of a tile, in registers (tensor) or in shared memory (buffer)."""
    if isinstance(type_, TensorType | BufferType):
        return type_.get_shape()
    raise VerifyException(f"{type_} is not a tile")
