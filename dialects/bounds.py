"""`#tile.bounds`: what was found out about the bounds of one access, and why."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class Outcome(StrEnum):
    """From the cheapest to the dearest, and what is no outcome of an analysis."""

    PROVED = "proved"  # no element of the access can be outside
    LAUNCH = "launch"  # true if a condition holds that the host checks once a launch
    HOISTED = "hoisted"  # a uniform test chooses between an unmasked and a masked path
    MASKED = "masked"  # outside elements read as padding and are not written
    CHECKED = "checked"  # each access is tested and traps
    UNCHECKED = "unchecked"  # not proved, and the kernel's author asked that nothing be tested


@irdl_attr_definition
class BoundsAttr(Data[tuple[Outcome, tuple[int, ...], str]]):
    """`#tile.bounds<masked [0, 1] "reason">`: the outcome, the axes that still need a test, and the reason."""

    name = "tile.bounds"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Outcome, tuple[int, ...], str]:
        with parser.in_angle_brackets():
            start = parser.pos
            word = parser.parse_identifier()
            if word not in tuple(Outcome):
                parser.raise_error(f"an outcome is one of {', '.join(Outcome)}", start)
            axes = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE,
                lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
            )
            reason = parser.parse_optional_str_literal() or ""
        problem = _problem(Outcome(word), tuple(axes))
        if problem is not None:
            parser.raise_error(problem, start)
        return Outcome(word), tuple(axes), reason

    def verify(self) -> None:
        problem = _problem(self.outcome, self.axes)
        if problem is not None:
            raise VerifyException(problem)

    def print_parameter(self, printer: Printer) -> None:
        outcome, axes, reason = self.data
        printer.print_string(f"<{outcome} {list(axes)}")
        if reason:
            printer.print_string(" ")
            printer.print_string_literal(reason)
        printer.print_string(">")

    @property
    def outcome(self) -> Outcome:
        return self.data[0]

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes along which elements may be outside."""
        return self.data[1]

    @property
    def reason(self) -> str:
        return self.data[2]


CLAIMED = "tile.claimed"  # op attribute: the axes that need no test by what was found out, and are tested all the same


def axes_attribute(axes: Iterable[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(axes))


def claimed_axes(op: Operation) -> tuple[int, ...]:
    """The axes in the op's attribute `CLAIMED`."""
    found = op.attributes.get(CLAIMED)
    return tuple(int(axis) for axis in found.get_values()) if isinstance(found, DenseArrayBase) else ()


def _problem(outcome: Outcome, axes: tuple[int, ...]) -> str | None:
    if list(axes) != sorted(set(axes)) or any(axis < 0 for axis in axes):
        return f"the axes {list(axes)} are not distinct and in order"
    if outcome is Outcome.PROVED and axes:
        return f"a proved access leaves no axis to test, this one leaves {list(axes)}"
    return None
