"""Where the reading of a kernel stands: the function, the path through it, the loops around."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from xdsl.ir import SSAValue

from tileopt.dialects.diagnostics import Location
from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Value, Weak
from tileopt.frontends.python.liveness import Liveness, Names
from tileopt.frontends.python.objects import Unset
from tileopt.frontends.python.source import FunctionSource

Key = tuple[str, int]  # a variable, and which of its numbers


class Exit(Enum):
    """How a path may leave the statements around it."""

    BREAK = auto()
    CONTINUE = auto()
    RETURN = auto()


@dataclass
class Path:
    """The state at one point of a function.

    `flags`: for each exit that a way to this point may have taken, whether it did: True, or a bool known at run time.
    `dead`: every way to this point has taken one, so no statement runs here.
    `result`: what the function has returned, where it has.
    """

    env: dict[str, object]
    flags: dict[Exit, Value | bool] = field(default_factory=dict)
    result: object = Unset
    dead: bool = False
    places: dict[str, Location] = field(default_factory=dict)

    def fork(self) -> Path:
        return Path(dict(self.env), dict(self.flags), self.result, self.dead, dict(self.places))

    def absorb(self, exit: Exit) -> Value | bool:
        """The ways that took this exit go on from here. Gives the exit's flag."""
        flag = self.flags.pop(exit, False)
        if flag is not False:
            self.dead = False
        return flag


@dataclass(frozen=True)
class Loop:
    """A loop around the present statement: what is live after a break, and after a continue.

    `provisional`: values at the start of an iteration whose types are guesses, for they entered as Python's numbers.
    """

    leave: Names
    again: Names
    provisional: dict[SSAValue, Guess] = field(default_factory=dict)


@dataclass(frozen=True)
class Guess:
    """Which number of which variable of which loop has a guessed type, and what it is at the entry."""

    loop: ast.stmt
    key: Key
    start: Weak


class Retype(Exception):
    """A guess was wrong: the loop is to be read again with this type."""

    def __init__(self, guess: Guess, dtype: DType) -> None:
        super().__init__(guess, dtype)
        self.guess = guess
        self.dtype = dtype


@dataclass
class Frame:
    """A function that is being read."""

    name: str
    source: FunctionSource
    liveness: Liveness
    path: Path
    globals: Mapping[str, Any]
    cells: Mapping[str, Any] = field(default_factory=dict)
    outer: Frame | None = None  # of a function that stands in another's source
    identity: object = None  # tells a recursive call
    loops: list[Loop] = field(default_factory=list)
    call: Location | None = None
