"""What a loop carries: variables as the values that its iterations hand on.

A Python number that enters a loop has no type of its own yet. The loop is read with its default type first; where an
iteration then gives another, it is read again with that one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Value
from tileopt.frontends.builder_core import Core
from tileopt.frontends.builder_values import default_dtype, fit
from tileopt.frontends.python.frames import Guess, Key, Retype
from tileopt.frontends.python.objects import flatten, rebuild, same_spec


@dataclass
class Carried:
    """One variable: what it is at the loop's entry, the typed values in it, and which of their types are guesses."""

    name: str
    thing: object
    spec: object
    entry: list[Value]
    guesses: list[Guess | None]

    @property
    def types(self) -> list[tuple[DType, tuple[int, ...]]]:
        return [(v.dtype, v.shape) for v in self.entry]

    def holding(self, values: Sequence[object]) -> object:
        """The variable with other values in it."""
        return rebuild(self.thing, values)


def carry(
    loop: ast.stmt,
    name: str,
    thing: object,
    types: Mapping[Key, DType],
    around: Mapping[SSAValue, Guess],
    builder: Core,
) -> Carried:
    """A variable at the entry. `types`: those found by reading the loop before; `around`: guesses of outer loops."""
    spec, leaves = flatten(thing)
    entry: list[Value] = []
    guesses: list[Guess | None] = []
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, Value):
            entry.append(leaf)
            guesses.append(None if leaf.ssa is None else around.get(leaf.ssa))
        else:
            entry.append(builder.constant(leaf, types.get((name, index), default_dtype(leaf))))
            guesses.append(Guess(loop, (name, index), leaf))
    return Carried(name, thing, spec, entry, guesses)


def guesses_of(carried: Sequence[Carried], arguments: Sequence[Value]) -> dict[SSAValue, Guess]:
    """The values at the start of an iteration whose types are guesses."""
    guesses = [g for c in carried for g in c.guesses]
    return {v.ssa: g for v, g in zip(arguments, guesses, strict=True) if g is not None and v.ssa is not None}


def ends_of(carried: Carried, thing: object, builder: Core) -> list[Value] | None:
    """The values that an iteration hands on, or None where the variable has become something else.

    Raises Retype where reading the loop again with another type may help.
    """
    spec, leaves = flatten(thing)
    if not same_spec(spec, carried.spec):
        return None
    result: list[Value] = []
    for leaf, entry, guess in zip(leaves, carried.entry, carried.guesses, strict=True):
        if isinstance(leaf, Value) and (leaf.dtype, leaf.shape) == (entry.dtype, entry.shape):
            result.append(leaf)
            continue
        held = None if isinstance(leaf, Value) or entry.shape else fit(leaf, entry.dtype)
        if held is not None and (entry.dtype.kind != "b" or isinstance(leaf, bool)):
            result.append(builder.constant(held, entry.dtype))
            continue
        if guess is not None:
            retype(guess, entry.dtype, leaf)
        return None
    return result


def retype(guess: Guess, held: DType, thing: object) -> None:
    """Raises Retype where a variable that was guessed to be `held` might as well be of the type of `thing`."""
    if isinstance(thing, Value):
        if thing.shape:
            return
        wanted = thing.dtype
    elif isinstance(thing, bool | int | float):
        wanted = default_dtype(thing)
    else:
        return
    ranks = {"b": 0, "i": 1, "u": 1, "f": 2}
    # Types change in one direction, so that this ends: from bool to integer to float, from a default to what is said.
    further = ranks[wanted.kind] > ranks[held.kind] or (
        wanted.kind == held.kind and wanted != held and held == default_dtype(guess.start)
    )
    if further and fit(guess.start, wanted) is not None:
        raise Retype(guess, wanted)
