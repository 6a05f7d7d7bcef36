"""Where two ways meet: which variables go on, as what, and which cannot."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tileopt.dialects.diagnostics import Location
from tileopt.frontends.builder import Value, Weak
from tileopt.frontends.builder_memory import Part
from tileopt.frontends.builder_values import BOOL, I64, default_dtype, fit, promote
from tileopt.frontends.python.base import Base
from tileopt.frontends.python.carried import retype
from tileopt.frontends.python.frames import Exit, Guess, Path
from tileopt.frontends.python.liveness import Names
from tileopt.frontends.python.meetings import help_to_agree, kinds
from tileopt.frontends.python.objects import Poison, Unset, is_number, parts_of, same, type_name


@dataclass
class _Meeting:
    """Two paths that meet, and the values that they give on."""

    condition: Value
    sides: tuple[tuple[Block, Path], tuple[Block, Path]]
    given: tuple[list[Value], list[Value]] = field(default_factory=lambda: ([], []))
    setters: list[Callable[[Sequence[Value]], None]] = field(default_factory=list)


@dataclass(frozen=True)
class _Slot:
    """The place of a value that the finished `if` gives."""

    index: int


class Joins(Base):
    """Joins paths."""

    def _cares(self, path: Path, name: str, needed: Names) -> bool:
        """Whether anyone reads a variable of this path."""
        if not path.dead and name in needed:
            return True
        loop = self.frame.loops[-1] if self.frame.loops else None
        if loop is None:
            return False
        leaves = Exit.BREAK in path.flags and name in loop.leave
        return leaves or (Exit.CONTINUE in path.flags and name in loop.again)

    def join(
        self, condition: Value, sides: tuple[tuple[Block, Path], tuple[Block, Path]], needed: Names, node: ast.AST
    ) -> Path:
        a, b = sides[0][1], sides[1][1]
        meeting = _Meeting(condition, sides)
        joined = Path({}, dead=a.dead and b.dead, places=a.places | b.places)
        for exit in Exit:
            if exit in a.flags or exit in b.flags:
                self._join_flag(meeting, joined, exit)
        for name in dict.fromkeys([*a.env, *b.env]):
            mine, theirs = a.env.get(name, Unset), b.env.get(name, Unset)
            wanted = self._cares(a, name, needed), self._cares(b, name, needed)
            if mine is theirs:
                joined.env[name] = mine
            elif any(wanted):
                self._join_name(meeting, joined, name, mine, theirs, wanted, node)
        returns = Exit.RETURN in a.flags and a.result is not Unset, Exit.RETURN in b.flags and b.result is not Unset
        if any(returns):
            merged = self._merge(meeting, "the return value", a.result, b.result, returns, node)

            def set_result(values: Sequence[Value]) -> None:
                joined.result = _filled(merged, values)

            meeting.setters.append(set_result)
        (then, _), (other, _) = sides
        results = self.builder.finish_if(condition, then, meeting.given[0], other, meeting.given[1])
        for setter in meeting.setters:
            setter(results)
        return joined

    def _join_flag(self, meeting: _Meeting, joined: Path, exit: Exit) -> None:
        flags = [side[1].flags.get(exit, False) for side in meeting.sides]
        a, b = flags
        if a is b:
            joined.flags[exit] = a
        elif a is True and b is False:
            joined.flags[exit] = meeting.condition
        elif a is False and b is True:
            # Not until the `if` is closed: its place is here.
            meeting.setters.append(
                lambda _: joined.flags.__setitem__(exit, self.builder.logical_not(meeting.condition))
            )
        else:
            slot = self._give(meeting, *(f if isinstance(f, Value) else self.builder.constant(f, BOOL) for f in flags))
            meeting.setters.append(lambda values: joined.flags.__setitem__(exit, values[slot.index]))

    def _join_name(
        self,
        meeting: _Meeting,
        joined: Path,
        name: str,
        mine: object,
        theirs: object,
        wanted: tuple[bool, bool],
        node: ast.AST,
    ) -> None:
        if Unset in (mine, theirs) and (mine if theirs is Unset else theirs) is not Unset and all(wanted):
            joined.env[name] = self._maybe_unset(name, theirs is Unset, node)
            return
        what = "this expression" if name.startswith("<") else f"'{name}'"
        merged = self._merge(meeting, what, mine, theirs, wanted, node)
        if merged is Unset:
            return

        def set_name(values: Sequence[Value]) -> None:
            joined.env[name] = _filled(merged, values)

        meeting.setters.append(set_name)

    def _maybe_unset(self, name: str, in_else: bool, node: ast.AST) -> Poison:
        which = "when the condition does not hold" if in_else else "when the condition holds"
        return Poison(
            "name/maybe-unset",
            f"'{name}' may not be set here",
            f"set '{name}' on both ways, or before the condition",
            ((f"it stays unset {which}", self.frame.source.location(node)),),
        )

    def _give(self, meeting: _Meeting, a: Value, b: Value) -> _Slot:
        meeting.given[0].append(a)
        meeting.given[1].append(b)
        return _Slot(len(meeting.given[0]) - 1)

    def _merge(
        self, meeting: _Meeting, what: str, a: object, b: object, wanted: tuple[bool, bool], node: ast.AST
    ) -> object:
        """What stands for `a` or `b` after the join, with slots for what the `if` gives."""
        if a is b:
            return a
        if not all(wanted):
            return self._export(meeting, a if wanted[0] else b, 0 if wanted[0] else 1)
        for thing in (a, b):
            if isinstance(thing, Poison):
                return thing
        numeric = [isinstance(t, Value) or is_number(t) for t in (a, b)]
        if all(numeric):
            if same(a, b):
                return a
            pair = self._unify(a, b)
            if pair is not None:
                return self._give(meeting, *pair)
            self._settle(a, b)
            self._settle(b, a)
        elif not any(numeric):
            parts, others = parts_of(a), parts_of(b)
            if parts is not None and others is not None:
                if parts[0] is others[0] and len(parts[1]) == len(others[1]):
                    merged = [
                        self._merge(meeting, what, x, y, wanted, node) for x, y in zip(parts[1], others[1], strict=True)
                    ]
                    poison = next((m for m in merged if isinstance(m, Poison)), None)
                    if poison is not None and isinstance(a, Part):
                        return self._mismatch(what, a, b, node)  # says what parts they are, not how parts are held
                    return poison or parts[2](merged)
            elif same(a, b):
                return a
        return self._mismatch(what, a, b, node)

    def _settle(self, guessed: object, thing: object) -> None:
        """Where the type of one of two things is a guess of a loop around, takes the loop back to it."""
        if isinstance(guessed, Value) and guessed.ssa is not None:
            guess = self.guesses().get(guessed.ssa)
            if guess is not None:
                retype(guess, guessed.dtype, thing)

    def guesses(self) -> dict[SSAValue, Guess]:
        """The values whose types are guesses of the loops around."""
        return {ssa: g for frame in self.frames for loop in frame.loops for ssa, g in loop.provisional.items()}

    def _unify(self, a: object, b: object) -> tuple[Value, Value] | None:
        """Two numbers or values in one type, or None where they have none. Python's numbers take the other's type."""
        values: list[Value] = []
        dtype = shape = None
        for thing in (a, b):
            if isinstance(thing, Value):
                if dtype is not None and (dtype, shape) != (thing.dtype, thing.shape):
                    return None
                dtype, shape = thing.dtype, thing.shape
        if shape:
            return None if not (isinstance(a, Value) and isinstance(b, Value)) else (a, b)
        weak: list[Weak] = [t for t in (a, b) if isinstance(t, bool | int | float)]
        if dtype is None:
            dtype = promote(default_dtype(weak[0]), default_dtype(weak[1]))
            if dtype == BOOL and not all(isinstance(w, bool) for w in weak):
                dtype = I64
        if dtype is None or any(fit(w, dtype) is None for w in weak):
            return None
        for thing in (a, b):
            values.append(thing if isinstance(thing, Value) else self.builder.constant(thing, dtype))  # type: ignore[arg-type]
        return values[0], values[1]

    def _mismatch(self, what: str, a: object, b: object, node: ast.AST) -> Poison:
        place: Location = self.frame.source.location(node)
        mine, theirs = kinds(a, b)
        if mine != theirs:
            name = what.strip("'") if what.startswith("'") else None
            return Poison(
                "control/type-change",
                f"{what} is {mine} on one way to here and {theirs} on the other",
                help_to_agree(name, a, b)
                or "give it one type and shape on both ways, for example with .astype() or broadcast_to()",
                (("the ways part at this condition", place),),
            )
        return Poison(
            "control/static-choice",
            f"{what} is chosen by a condition of run time, but it is known only to the compiler: {type_name(a)}",
            "choose it by a compile-time constant, or choose numbers or tiles instead",
            (("the ways part at this condition", place),),
        )

    def _export(self, meeting: _Meeting, thing: object, side: int) -> object:
        """A thing that only one side has a reader for: what the side made itself goes through the `if`."""
        if isinstance(thing, Value):
            block = meeting.sides[side][0]
            if thing.ssa is None or not _inside(thing.ssa, block):
                return thing
            with self.builder.into(meeting.sides[1 - side][0]):
                filler = self.builder.dummy(thing.dtype, thing.shape)
            pair = (thing, filler) if side == 0 else (filler, thing)
            return self._give(meeting, *pair)
        parts = parts_of(thing)
        return thing if parts is None else parts[2]([self._export(meeting, p, side) for p in parts[1]])

    def poisoned(self, poison: Poison) -> Exception:
        """The error for reading such a variable here."""
        error = self.fail(poison.code, poison.message, poison.help)
        return type(error)(error.code, error.message, location=error.location, help=error.help, notes=poison.notes)


def _filled(thing: object, values: Sequence[Value]) -> object:
    """A merged thing with the values in its slots."""
    if isinstance(thing, _Slot):
        return values[thing.index]
    parts = parts_of(thing) if not isinstance(thing, Poison) else None
    return thing if parts is None else parts[2]([_filled(p, values) for p in parts[1]])


def _inside(value: SSAValue, block: Block) -> bool:
    """Whether a value is made in a block or in one nested in it."""
    owner = value.owner
    at = owner.parent if isinstance(owner, Operation) else owner
    while at is not None:
        if at is block:
            return True
        parent = at.parent_op()
        at = parent.parent if parent is not None else None
    return False
