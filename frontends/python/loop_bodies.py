"""What all loops do: which variables an iteration is given, hands on, and hands out."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block

from tileopt.frontends.builder import Value
from tileopt.frontends.builder_values import BOOL
from tileopt.frontends.python.carried import Carried, ends_of, guesses_of
from tileopt.frontends.python.frames import Exit, Loop, Path
from tileopt.frontends.python.liveness import Names
from tileopt.frontends.python.meetings import help_to_agree, kinds, unlike
from tileopt.frontends.python.objects import Poison, Unset, flatten, rebuild
from tileopt.frontends.python.statements import Statements, name_value

TRIES = 8  # readings of one loop until the types of its variables settle


@dataclass
class Late:
    """What an iteration hands out and no iteration reads: variables first set in the loop, and the return value."""

    name: str | None
    thing: object
    values: list[Value]


@dataclass
class Body:
    """A loop's body, read once."""

    carried: list[Carried]
    block: Block
    index: Value | None = None
    ends: list[Value] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    stop: Value | bool = False  # left by break or return
    returned: Value | bool = False
    path: Path = field(default_factory=lambda: Path({}))
    poisons: dict[str, Poison] = field(default_factory=dict)


class LoopBodies(Statements):
    """Enters and leaves iterations."""

    def carriable(self, names: Names, path: Path, node: ast.stmt) -> list[str]:
        """The variables that iterations hand on: set in the loop, and set before it."""
        live = self.frame.liveness
        wanted = names & (live.live_at_head(node) | live.live_after(node))
        return [n for n in path.env if n in wanted and not isinstance(path.env[n], Poison)]

    def enter(
        self, node: ast.stmt, base: Path, carried: Sequence[Carried], arguments: Sequence[Value], names: Names
    ) -> None:
        """The path at the start of an iteration."""
        path = self.frame.path = base.fork()
        path.flags, path.result = {}, Unset
        live = self.frame.liveness
        guesses = guesses_of(carried, arguments)
        self.frame.loops.append(Loop(live.live_after(node), live.live_at_head(node), guesses))
        self.assign_carried(path, carried, arguments)
        place = self.frame.source.location(node)
        for name in names - frozenset(c.name for c in carried):
            # Whatever it was, an iteration before this one may have set it.
            if name in live.live_at_head(node):
                path.env[name] = base.env.get(name, Unset)
                if not isinstance(path.env[name], Poison):
                    path.env[name] = Poison(
                        "name/maybe-unset",
                        f"'{name}' may not be set here",
                        f"set '{name}' before the loop",
                        (("it is not set in the first iteration of this loop", place),),
                    )

    @staticmethod
    def assign_carried(path: Path, carried: Sequence[Carried], values: Sequence[Value]) -> None:
        rest = list(values)
        for item in carried:
            count = len(item.entry)
            path.env[item.name] = item.holding(rest[:count])
            del rest[:count]

    def leave_body(
        self, node: ast.For | ast.While, body: Body, base: Path, always: bool, arguments: Sequence[Value]
    ) -> None:
        """What an iteration hands on and out. `always`: the loop runs at least once."""
        path = body.path = self.frame.path
        path.absorb(Exit.CONTINUE)
        live = self.frame.liveness
        out, head = live.live_after(node), live.live_at_head(node)
        broke, returned = path.flags.get(Exit.BREAK, False), path.flags.get(Exit.RETURN, False)
        body.returned = returned
        if broke is not False and returned is not False:
            body.stop = self.builder.binary("or", broke, returned)
            if path.dead:
                body.stop = True
        else:
            body.stop = broke if broke is not False else returned
        if path.dead:
            body.stop = True
        rest = list(arguments)
        for item in body.carried:
            own = rest[: len(item.entry)]
            del rest[: len(item.entry)]
            thing = path.env.get(item.name, Unset)
            if thing is Unset or (path.dead and broke is False):
                body.ends += own  # nobody reads it: every way returned
                continue
            if isinstance(thing, Poison):
                if item.name in head:
                    raise self.poisoned(thing)
                body.poisons[item.name] = thing
                body.ends += own
                continue
            ends = ends_of(item, thing, self.builder)
            if ends is None:
                raise self._changed(node, item, thing, path, base)
            body.ends += ends
        known = {c.name for c in body.carried}
        for name in sorted(live.changes[node] - known):
            if name not in out:
                continue
            thing = path.env.get(name, Unset)
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and name == node.target.id:
                if thing is body.index:
                    continue
            if thing is Unset or isinstance(thing, Poison):
                body.poisons[name] = thing if isinstance(thing, Poison) else self._not_run(node, name)
            elif not always:
                body.poisons[name] = self._not_run(node, name)
            else:
                body.late.append(self._late(name, thing))
        if returned is not False and path.result is not Unset and path.result is not None:
            body.late.append(self._late(None, path.result))

    def _late(self, name: str | None, thing: object) -> Late:
        if isinstance(thing, Poison):
            raise self.poisoned(thing)
        return Late(name, thing, [self.builder.as_value(leaf) for leaf in flatten(thing)[1]])

    def _not_run(self, node: ast.stmt, name: str) -> Poison:
        return Poison(
            "name/maybe-unset",
            f"'{name}' may not be set here",
            f"set '{name}' before the loop",
            (("it is set only where this loop runs", self.frame.source.location(node)),),
        )

    def _changed(self, node: ast.stmt, item: Carried, thing: object, path: Path, base: Path) -> Exception:
        place = path.places.get(item.name)
        a, b = unlike(item.holding(item.entry), thing)
        before, after = kinds(a, b)
        error = self.mistyped(
            "control/type-change",
            f"'{item.name}' is {before} when the loop begins and {after} after an iteration",
            help_to_agree(item.name, a, b)
            or "a variable keeps its type and shape in a loop: cast or broadcast it here or before the loop",
            node,
        )
        notes = [] if item.name not in base.places else [(f"'{item.name}' is set here first", base.places[item.name])]
        return type(error)(error.code, error.message, location=place or error.location, help=error.help, notes=notes)

    def drop_unchanged(self, body: Body, init: Sequence[Value], first: int) -> list[int]:
        """Which of the carried values change; the others are what they were, inside and after the loop."""
        kept: list[int] = []
        arguments = body.block.args
        for index in reversed(range(len(init))):
            argument = arguments[first + index]
            if body.ends[index].ssa is argument:
                argument.replace_all_uses_with(self.builder.ssa(init[index]))
                body.block.erase_arg(argument)
                self._rename(body, argument, init[index])
            else:
                kept.insert(0, index)
        return kept

    @staticmethod
    def _rename(body: Body, argument: object, value: Value) -> None:
        """Values handed on or out that were this argument are now the value that entered."""
        body.ends = [value if v.ssa is argument else v for v in body.ends]
        for item in body.late:
            item.values = [value if v.ssa is argument else v for v in item.values]

    def flags_of(self, body: Body) -> list[Value]:
        flags = [body.stop] if body.returned is False or body.returned is body.stop else [body.stop, body.returned]
        return [f if isinstance(f, Value) else self.builder.constant(f, BOOL) for f in flags]

    def after_exit(
        self, node: ast.stmt, body: Body, before: Path, results: Sequence[Value], count: int, flags: Sequence[Value]
    ) -> None:
        """The path after a loop that may have been left early."""
        late = results[count : len(results) - len(flags)]
        self.continue_after(node, body, before, results[:count], late)
        if body.returned is not False:
            self.frame.path.flags[Exit.RETURN] = results[-1]

    def continue_after(
        self, node: ast.stmt, body: Body, before: Path, values: Sequence[Value], late: Sequence[Value]
    ) -> None:
        path = self.frame.path = before.fork()
        unchanged = {c.name: before.env.get(c.name) for c in body.carried}
        name_values(body.carried, values)
        path.places |= {k: v for k, v in body.path.places.items() if k in path.env or k in body.path.env}
        self.assign_carried(path, body.carried, values)
        rest = list(values)
        for carried in body.carried:
            if all(v is e for v, e in zip(rest, carried.entry, strict=False)):
                path.env[carried.name] = unchanged[carried.name]  # a Python number that stayed what it was stays weak
            del rest[: len(carried.entry)]
        rest = list(late)
        for item in body.late:
            thing = rebuild(item.thing, rest[: len(item.values)])
            del rest[: len(item.values)]
            if item.name is None:
                path.result = thing
            else:
                path.env[item.name] = thing
        if body.returned is not False and path.result is Unset and body.path.result is None:
            path.result = None
        path.env.update(body.poisons)


def name_values(carried: Sequence[Carried], values: Sequence[Value]) -> None:
    """Printed IR calls values as the source calls the variables."""
    rest = list(values)
    for item in carried:
        for value in rest[: len(item.entry)]:
            name_value(value, item.name)
        del rest[: len(item.entry)]
