"""Attributes that carry layouts in types: `#tile.layout` (a tensor's encoding) and `#tile.shared` (a buffer's)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tileopt.dialects.layout import Bases, Layout, SharedLayout

MAX_WARP_BITS = 5  # no GPU runs more than 1024 threads a block


def _print_bases(bases: Bases) -> str:
    return "[" + ", ".join("[" + ", ".join(map(str, basis)) + "]" for basis in bases) + "]"


def _parse_ints(parser: AttrParser) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE,
            lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
        )
    )


def _parse_bases(parser: AttrParser, keyword: str) -> Bases:
    parser.parse_characters(keyword)
    parser.parse_punctuation("=")
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_ints(parser)))


@irdl_attr_definition
class LayoutAttr(Data[tuple[Bases, Bases, Bases]]):
    """`#tile.layout<regs = [...], lanes = [...], warps = [...]>`: the bases of a `Layout`; the tensor has the shape."""

    name = "tile.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Bases, Bases, Bases]:
        with parser.in_angle_brackets():
            start = parser.pos
            regs = _parse_bases(parser, "regs")
            parser.parse_punctuation(",")
            lanes = _parse_bases(parser, "lanes")
            parser.parse_punctuation(",")
            warps = _parse_bases(parser, "warps")
        if len(warps) > MAX_WARP_BITS:
            parser.raise_error(f"a block has at most {1 << MAX_WARP_BITS} warps, got {1 << len(warps)}", start)
        rank = len((*lanes, (0,))[0])
        try:  # over its own base tile: what does not depend on the shape is checked where it is written
            Layout((1,) * rank, regs, lanes, warps)
        except ValueError as error:
            parser.raise_error(str(error), start)
        return regs, lanes, warps

    def print_parameter(self, printer: Printer) -> None:
        regs, lanes, warps = self.data
        printer.print_string(
            f"<regs = {_print_bases(regs)}, lanes = {_print_bases(lanes)}, warps = {_print_bases(warps)}>"
        )

    def over(self, shape: Sequence[int]) -> Layout:
        """The layout of a tile of `shape`. Raises ValueError if the rank differs."""
        return _layout(self.data, tuple(shape))

    @staticmethod
    def of(layout: Layout) -> LayoutAttr:
        return _attr(layout.regs, layout.lanes, layout.warps)


@lru_cache(maxsize=4096)
def _layout(data: tuple[Bases, Bases, Bases], shape: tuple[int, ...]) -> Layout:
    return Layout(shape, *data)


@lru_cache(maxsize=4096)
def _attr(regs: Bases, lanes: Bases, warps: Bases) -> LayoutAttr:
    return LayoutAttr((regs, lanes, warps))


SharedData = tuple[tuple[int, ...], int, int, int, int, int]  # order, bits, base, shift, pad, panel


@irdl_attr_definition
class SharedAttr(Data[SharedData]):
    """`#tile.shared<order = [0, 1], swizzle = [bits, base, shift], pad = n, panel = n>`: a buffer's `SharedLayout`."""

    name = "tile.shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedData:
        with parser.in_angle_brackets():
            start = parser.pos
            parser.parse_characters("order")
            parser.parse_punctuation("=")
            order = _parse_ints(parser)
            swizzle: tuple[int, ...] = (0, 0, 0)
            pad = panel = 0
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("swizzle"):
                    parser.parse_punctuation("=")
                    swizzle = _parse_ints(parser)
                elif parser.parse_optional_keyword("panel"):
                    parser.parse_punctuation("=")
                    panel = parser.parse_integer(allow_boolean=False, allow_negative=False)
                else:
                    parser.parse_characters("pad")
                    parser.parse_punctuation("=")
                    pad = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if len(swizzle) != 3 or max(swizzle) > 16:
            parser.raise_error("a swizzle is three small integers [bits, base, shift]", start)
        try:
            SharedLayout((1,) * len(order), order, *swizzle, pad, panel)
        except ValueError as error:
            parser.raise_error(str(error), start)
        return _normal(order, swizzle, pad, panel)

    def print_parameter(self, printer: Printer) -> None:
        order, bits, base, shift, pad, panel = self.data
        text = f"order = {list(order)}"
        if bits:
            text += f", swizzle = [{bits}, {base}, {shift}]"
        if pad:
            text += f", pad = {pad}"
        if panel:
            text += f", panel = {panel}"
        printer.print_string(f"<{text}>")

    def over(self, shape: Sequence[int]) -> SharedLayout:
        return SharedLayout(tuple(shape), *self.data)

    @staticmethod
    def of(layout: SharedLayout) -> SharedAttr:
        swizzle = (layout.bits, layout.base, layout.shift)
        return SharedAttr(_normal(layout.order, swizzle, layout.pad, layout.panel))


def _normal(order: tuple[int, ...], swizzle: Sequence[int], pad: int, panel: int) -> SharedData:
    """A swizzle of no bits is none, so that layouts which do the same are the same attribute."""
    bits, base, shift = swizzle if swizzle[0] else (0, 0, 0)
    return order, bits, base, shift, pad, panel


def layout_of(type_: Attribute) -> Layout:
    """The layout that a tensor type carries. Raises ValueError where it carries none."""
    if isinstance(type_, TensorType) and isinstance(type_.encoding, LayoutAttr):
        return type_.encoding.over(type_.get_shape())
    raise ValueError(f"{type_} has no layout")
