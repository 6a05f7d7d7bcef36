"""What messages say where two things of two ways do not fit each other: numbers, arrays, and parts of arrays."""

from __future__ import annotations

from tileopt.frontends.builder import Array
from tileopt.frontends.builder_memory import Memory, Part, Window, whole
from tileopt.frontends.python.objects import kind_name, parts_of


def unlike(a: object, b: object) -> tuple[object, object]:
    """The first two of what they hold whose kinds differ, where the things themselves would be called the same."""
    if kind_name(a) == kind_name(b):
        mine, theirs = parts_of(a), parts_of(b)
        if mine is not None and theirs is not None and mine[0] is theirs[0]:
            for x, y in zip(mine[1], theirs[1], strict=False):
                found = unlike(x, y)
                if kind_name(found[0]) != kind_name(found[1]):
                    return found
    return a, b


def kinds(a: object, b: object) -> tuple[str, str]:
    """How a message calls both. An array that meets a part of itself is the whole of it."""
    names = kind_name(a), kind_name(b)
    if isinstance(a, Array) and isinstance(b, Part):
        return names[0].replace("the array", "the whole array", 1), names[1]
    if isinstance(a, Part) and isinstance(b, Array):
        return names[0], names[1].replace("the array", "the whole array", 1)
    return names


def help_to_agree(name: str | None, a: object, b: object) -> str | None:
    """What to write in place of arrays and parts that do not agree, None where neither is one. `name`: the variable."""
    if not isinstance(a, Array | Part) and not isinstance(b, Array | Part):
        return None
    if not isinstance(a, Array | Part) or not isinstance(b, Array | Part):
        return "give it one kind on both ways: an array or a part of it, or a number, as an element of it is"
    if isinstance(a, Array) and isinstance(b, Array):
        return "which array it is must be known to the compiler: do the work with each array on its own way"
    if whole(a).base is whole(b).base:
        for other, window in ((a, b), (b, a)):
            if _windowed(other) == _shape(window):
                text = other.name if isinstance(other, Array) else name or "r"
                text = text if text.isidentifier() else "x"
                where = "in place of the whole array" if isinstance(other, Array) else f"where '{text}' is not a window"
                return f"make it a window everywhere: {text}.window(0, len({text})) {where}"
    return "take the same kind of part (row, column, window) of the same array on both ways"


def _shape(memory: Memory) -> list[type]:
    return [type(axis) for axis in whole(memory).axes]


def _windowed(memory: Memory) -> list[type] | None:
    """How the axes of its window are made, None of what has no axis."""
    part, kinds = whole(memory), _shape(memory)
    if not part.free:
        return None
    kinds[part.free[0]] = Window
    return kinds
