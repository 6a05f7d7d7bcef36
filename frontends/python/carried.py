"""What a loop carries: variables as the values that its iterations hand on.

A Python number that enters a loop has no type of its own yet. The loop is read with its default type first; where an
iteration then gives another, it is read again with that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Value, Weak
from tileopt.frontends.builder_values import default_dtype, fit
from tileopt.frontends.python.objects import flatten, rebuild, same_spec

Key = tuple[str, int]  # a variable, and which of its numbers


class Retype(Exception):
    """An iteration gives a number that entered as Python's the type `dtype`."""

    def __init__(self, key: Key, dtype: DType) -> None:
        super().__init__(key, dtype)
        self.key = key
        self.dtype = dtype


@dataclass
class Carried:
    """One variable: what it is at the loop's entry, and the typed values in it."""

    name: str
    thing: object
    spec: object
    entry: list[Value]
    weak: list[bool]

    @property
    def types(self) -> list[tuple[DType, tuple[int, ...]]]:
        return [(v.dtype, v.shape) for v in self.entry]

    def holding(self, values: Sequence[object]) -> object:
        """The variable with other values in it."""
        return rebuild(self.thing, values)


def carry(name: str, thing: object, types: Mapping[Key, DType], make: object) -> Carried:
    """A variable at the entry. `types`: those found by reading the loop before; `make`: constants of a builder."""
    from tileopt.frontends.builder_core import Core

    assert isinstance(make, Core)
    spec, leaves = flatten(thing)
    entry = [
        leaf if isinstance(leaf, Value) else make.constant(leaf, types.get((name, index), default_dtype(leaf)))
        for index, leaf in enumerate(leaves)
    ]
    return Carried(name, thing, spec, entry, [not isinstance(leaf, Value) for leaf in leaves])


def ends_of(carried: Carried, thing: object, make: object) -> list[Value] | None:
    """The values that an iteration hands on, or None where the variable has become something else.

    Raises Retype where reading the loop again with another type may help.
    """
    from tileopt.frontends.builder_core import Core

    assert isinstance(make, Core)
    spec, leaves = flatten(thing)
    if not same_spec(spec, carried.spec):
        return None
    result: list[Value] = []
    for index, (leaf, entry) in enumerate(zip(leaves, carried.entry, strict=True)):
        if isinstance(leaf, Value):
            if (leaf.dtype, leaf.shape) == (entry.dtype, entry.shape):
                result.append(leaf)
                continue
            wanted = leaf.dtype
            if leaf.shape or not carried.weak[index]:
                return None
        else:
            held = None if entry.shape else fit(leaf, entry.dtype)
            if held is not None and not (entry.dtype.kind == "b" and not isinstance(leaf, bool)):
                result.append(make.constant(held, entry.dtype))
                continue
            wanted = default_dtype(leaf)
            if entry.shape or not carried.weak[index]:
                return None
        start = entry.const
        assert start is not None
        if not _wider(wanted, entry.dtype) or fit(start, wanted) is None:
            return None
        raise Retype((carried.name, index), wanted)
    return result


def _wider(new: DType, old: DType) -> bool:
    """Whether reading again leads further: types change in one direction, so that it ends."""
    return _rank(new) > _rank(old) or (new.kind == old.kind and new != old and old.name in ("i64", "f32"))


def _rank(dtype: DType) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


def is_weak(thing: object) -> bool:
    return isinstance(thing, bool | int | float)


__all__ = ["Carried", "Key", "Retype", "Weak", "carry", "ends_of", "is_weak"]
