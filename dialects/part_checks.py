"""What a check of one number counts, and what the errors say of it: a row, a column, a window's start or count, ..."""

from __future__ import annotations

from enum import StrEnum

from tileopt.dialects.diagnostics import counted


class Checked(StrEnum):
    """What a `simt.check_index` tests."""

    INDEX = "index"
    ROW = "row"
    COLUMN = "column"
    START = "start"
    COUNT = "count"
    RANK = "rank"

    @property
    def noun(self) -> str:
        """How a sentence calls it."""
        return self.numbered("")

    def numbered(self, number: object) -> str:
        """The noun with its number: `count -2 of a window`."""
        return f"{self} {number}".rstrip() + _OF_WHAT.get(self, "")

    @property
    def help_for_negative(self) -> str:
        """What to write in place of a negative number."""
        return _NEGATIVE[self]


_OF_WHAT = {Checked.START: " of a window", Checked.COUNT: " of a window", Checked.RANK: " of a block"}

_NEGATIVE = {
    Checked.INDEX: "count from the end by len(x) - 1 and so on",
    Checked.ROW: "count from the end by len(a) - 1 and so on",
    Checked.COLUMN: "count from the end by a.shape[1] - 1 and so on",
    Checked.START: "the last count elements begin at len(x) - count",
    Checked.COUNT: "x.window(start, count) has count elements, and none for 0",
    Checked.RANK: "the blocks of a cluster are numbered from 0 on",
}


def outside(what: Checked, of: str, number: int, end: int) -> str:
    """Says that `number` of `of` is not from 0 on and below `end`, with the limit that a reader knows."""
    match what:
        case Checked.ROW:
            return f"row {number} of {of}, which has {counted(end, 'row', 'rows')}"
        case Checked.COLUMN:
            return f"column {number} of {of}, which has {counted(end, 'column', 'columns')}"
        case Checked.START:
            return f"a window of {of} that starts at {number}, whose last start that fits is {end - 1}"
        case Checked.COUNT:
            return f"a window of {counted(number, 'element', 'elements')} of {of}, whose length is {end - 1}"
        case Checked.RANK:
            return f"block {number} of a cluster of {end}"
        case Checked.INDEX:
            return f"index {number} of {of}, whose length is {end}"
