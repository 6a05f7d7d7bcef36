"""Loops: `scf.for` where nothing leaves them early, else `scf.while` with a bool that says that something did.

A range stays a loop however short it is; tuples and `static_range` are unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block

from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.builder_values import BOOL, I64, ir_type
from tileopt.frontends.python.base import UNROLL_LIMIT
from tileopt.frontends.python.carried import Carried, Key, Retype, carry, ends_of
from tileopt.frontends.python.frames import Exit, Loop, Path
from tileopt.frontends.python.liveness import Names, assigned
from tileopt.frontends.python.objects import Poison, Range, Unset, flatten, name_of, rebuild, type_name
from tileopt.frontends.python.statements import Statements

_TRIES = 8


@dataclass
class _Late:
    """What an iteration hands out and no iteration reads: variables first set in the loop, and the return value."""

    name: str | None
    thing: object
    values: list[Value]


@dataclass
class _Body:
    """A loop's body, read once."""

    carried: list[Carried]
    block: Block
    index: Value | None = None
    ends: list[Value] = field(default_factory=list)
    late: list[_Late] = field(default_factory=list)
    stop: Value | bool = False  # left by break or return
    returned: Value | bool = False
    path: Path = field(default_factory=lambda: Path({}))
    poisons: dict[str, Poison] = field(default_factory=dict)


@dataclass(frozen=True)
class _Bounds:
    """`index` counts from `start` to `stop`; the loop variable is `first + index * stride`, or the index itself."""

    start: Value
    stop: Value
    step: Value
    trips: int | None
    first: Value | int = 0
    stride: Value | int | None = None


class Interpreter(Statements):
    """Reads kernels. A track adds its own functions, attributes and indexing."""

    # for

    def for_loop(self, node: ast.For) -> None:
        if node.orelse:
            raise self.unsupported("for-else", "'else' after 'for'", "set a flag before the break", node.orelse[0])
        things = self.evaluate(node.iter)
        self.at(node.iter)
        if isinstance(things, Range) and not things.unrolled:
            self._rolled(node, things)
            return
        if isinstance(things, Range):
            things = tuple(range(things.start, things.stop, things.step))  # type: ignore[arg-type]
        if not isinstance(things, tuple):
            help = None
            if isinstance(things, Array):
                help = f"count: for i in range(len({things.name}))"
            elif isinstance(things, Value | int):
                help = "count: for i in range(n)"
            raise self.unsupported("iteration", f"a loop over {name_of(things)}", help)
        if len(things) > UNROLL_LIMIT:
            raise self.fail(
                "limits/unroll", f"{len(things)} copies of a loop's body; the limit is {UNROLL_LIMIT}", "use range()"
            )
        live = self.frame.liveness
        self.frame.loops.append(Loop(live.live_after(node), live.live_at_head(node)))
        self._copies(node, things, 0)
        self.frame.loops.pop()
        self.frame.path.absorb(Exit.BREAK)

    def _copies(self, node: ast.For, things: Sequence[object], index: int) -> None:
        """The body for `things[index:]`."""
        head = self.frame.liveness.live_at_head(node)
        for at in range(index, len(things)):
            self.bind(node.target, things[at])
            self.block(node.body, head)
            path = self.frame.path
            path.absorb(Exit.CONTINUE)
            if path.dead:
                return
            if path.flags and at + 1 < len(things):
                self.follow(lambda at=at: self._copies(node, things, at + 1), head, node)  # type: ignore[misc]
                return

    def _rolled(self, node: ast.For, things: Range) -> None:
        if not isinstance(node.target, ast.Name):
            self.at(node.target)
            raise self.mistyped("type/unpack", "range() gives one number at a time")
        bounds = self._bounds(things)
        if bounds.trips == 0:
            return
        before = self.frame.path
        body = self._read(node, bounds)
        self.at(node)
        if body.stop is False:
            self._finish_for(node, bounds, body, before)
        else:
            self._finish_for_with_exit(node, bounds, body, before)

    def _bounds(self, things: Range) -> _Bounds:
        make = self.builder
        start, stop, step = (make.cast(b, I64) for b in (things.start, things.stop, things.step))
        if all(isinstance(b, int) for b in (things.start, things.stop, things.step)):
            trips: int | None = len(range(things.start, things.stop, things.step))  # type: ignore[arg-type]
        else:
            trips = None
        if isinstance(things.step, int) and things.step > 0:
            return _Bounds(start, stop, step, trips)
        # Counted from 0: an scf.for goes up.
        if isinstance(things.step, int):
            count = make.cdiv(make.binary("sub", start, stop), make.constant(-things.step, I64))
        else:
            distance = make.binary("sub", stop, start)
            forward = make.compare("gt", step, 0)
            # Rounded away from the start: the numbers of both directions are counted by one division.
            rounding = make.where(forward, make.binary("sub", step, 1), make.binary("add", step, 1))
            count = make.binary("floordiv", make.binary("add", distance, rounding), step)
        zero = make.constant(0, I64)
        return _Bounds(zero, count, make.constant(1, I64), trips, start, step)

    def _carriable(self, names: Names, path: Path, node: ast.stmt) -> list[str]:
        """The variables that iterations hand on: set in the loop, and set before it."""
        live = self.frame.liveness
        wanted = names & (live.live_at_head(node) | live.live_after(node))
        return [n for n in path.env if n in wanted and not isinstance(path.env[n], Poison)]

    def _read(self, node: ast.For, bounds: _Bounds) -> _Body:
        """The body of a counted loop, with the types that its variables turn out to have."""
        types: dict[Key, DType] = {}
        base = self.frame.path
        assert isinstance(node.target, ast.Name)
        names = self.frame.liveness.changes[node]
        for _ in range(_TRIES):
            carried = [carry(n, base.env[n], types, self.builder) for n in self._carriable(names, base, node)]
            self.at(node)
            shapes = [t for c in carried for t in c.types]
            block, (index, *arguments) = self.builder.new_block([(I64, ()), *shapes])
            low = bounds.start.low if bounds.stride is None else 0
            index = Value(I64, (), index.ssa, low=low)
            body = _Body(carried, block, index)
            try:
                with self.builder.into(block):
                    self._enter(node, base, carried, arguments, names)
                    thing: Value = index
                    if bounds.stride is not None:
                        product = self.builder.binary("mul", index, bounds.stride)
                        thing = self.builder.binary("add", bounds.first, product)
                    self.bind(node.target, thing)
                    body.index = thing
                    self.block(node.body, self.frame.liveness.live_at_head(node))
                    self._leave_body(node, body, base, always=bounds.trips is not None, arguments=arguments)
                return body
            except Retype as found:
                types[found.key] = found.dtype
                self.builder.discard(block)
                self.frame.path = base
            finally:
                self.frame.loops.pop()
        raise self.fail("control/type-change", "the types of this loop's variables do not settle", node=node)

    def _enter(
        self, node: ast.stmt, base: Path, carried: Sequence[Carried], arguments: Sequence[Value], names: Names
    ) -> None:
        """The path at the start of an iteration."""
        path = self.frame.path = base.fork()
        path.flags, path.result = {}, Unset
        live = self.frame.liveness
        self.frame.loops.append(Loop(live.live_after(node), live.live_at_head(node)))
        self._assign_carried(path, carried, arguments)
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
    def _assign_carried(path: Path, carried: Sequence[Carried], values: Sequence[Value]) -> None:
        rest = list(values)
        for item in carried:
            count = len(item.entry)
            path.env[item.name] = item.holding(rest[:count])
            del rest[:count]

    def _leave_body(
        self, node: ast.For | ast.While, body: _Body, base: Path, always: bool, arguments: Sequence[Value]
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

    def _late(self, name: str | None, thing: object) -> _Late:
        if isinstance(thing, Poison):
            raise self.poisoned(thing)
        return _Late(name, thing, [self.builder.as_value(leaf) for leaf in flatten(thing)[1]])

    def _not_run(self, node: ast.stmt, name: str) -> Poison:
        return Poison(
            "name/maybe-unset",
            f"'{name}' may not be set here",
            f"set '{name}' before the loop",
            (("it is set only where this loop runs", self.frame.source.location(node)),),
        )

    def _changed(self, node: ast.stmt, item: Carried, thing: object, path: Path, base: Path) -> Exception:
        place = path.places.get(item.name)
        before = type_name(item.holding(item.entry))
        error = self.mistyped(
            "control/type-change",
            f"'{item.name}' is a {before} when the loop begins and a {type_name(thing)} after an iteration".replace(
                "a the", "the"
            ),
            "a variable keeps its type and shape in a loop: cast or broadcast it here or before the loop",
            node,
        )
        notes = [] if item.name not in base.places else [(f"'{item.name}' is set here first", base.places[item.name])]
        return type(error)(error.code, error.message, location=place or error.location, help=error.help, notes=notes)

    # Closing a loop

    def _finish_for(self, node: ast.For, bounds: _Bounds, body: _Body, before: Path) -> None:
        late = [v for item in body.late for v in item.values]
        init = [v for c in body.carried for v in c.entry]
        kept = self._drop_unchanged(body, init, first=1)
        block = body.block
        for value in late:
            block.insert_arg(ir_type(value.dtype, value.shape), len(block.args))
        fillers = [self.builder.dummy(v.dtype, v.shape) for v in late]
        ends = [body.ends[i] for i in kept] + late
        entry = [init[i] for i in kept] + fillers
        results = self.builder.finish_for(bounds.start, bounds.stop, bounds.step, entry, block, ends)
        values = list(init)
        for position, value in zip(kept, results, strict=False):
            values[position] = value
        self._continue_after(node, body, before, values, results[len(kept) :])
        self._loop_variable(node, bounds, body, before, None)

    def _drop_unchanged(self, body: _Body, init: Sequence[Value], first: int) -> list[int]:
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
    def _rename(body: _Body, argument: object, value: Value) -> None:
        """Values handed on or out that were this argument are now the value that entered."""
        body.ends = [value if v.ssa is argument else v for v in body.ends]
        for item in body.late:
            item.values = [value if v.ssa is argument else v for v in item.values]

    def _finish_for_with_exit(self, node: ast.For, bounds: _Bounds, body: _Body, before: Path) -> None:
        init = [v for c in body.carried for v in c.entry]
        entry, ends = [bounds.start, *init], list(body.ends)
        with self.builder.into(body.block):
            index = Value(I64, (), body.block.args[0])
            ends.insert(0, self.builder.binary("add", index, bounds.step))
        flags = self._flags_of(body)
        test, forwarded, entry, ends = self._before(body, entry, ends, flags)
        with self.builder.into(test):
            goes = self.builder.compare("lt", forwarded[0], bounds.stop)
            goes = self.builder.binary("and", goes, self.builder.logical_not(forwarded[-len(flags)]))
        results = self.builder.finish_while(entry, test, goes, forwarded, body.block, ends)
        self._after_exit(node, body, before, results[1:], len(init), flags)
        self._loop_variable(node, bounds, body, before, results[0])

    def _flags_of(self, body: _Body) -> list[Value]:
        flags = [body.stop] if body.returned is False or body.returned is body.stop else [body.stop, body.returned]
        return [f if isinstance(f, Value) else self.builder.constant(f, BOOL) for f in flags]

    def _before(
        self, body: _Body, entry: list[Value], ends: list[Value], flags: list[Value]
    ) -> tuple[Block, list[Value], list[Value], list[Value]]:
        """The block of the test of a loop that may be left early, which hands on all that is carried."""
        late = [v for item in body.late for v in item.values]
        entry = [*entry, *(self.builder.dummy(v.dtype, v.shape) for v in late)]
        entry += [self.builder.constant(False, BOOL) for _ in flags]
        ends = [*ends, *late, *flags]
        test, forwarded = self.builder.new_block([(v.dtype, v.shape) for v in entry])
        for value in entry[len(body.block.args) :]:
            body.block.insert_arg(ir_type(value.dtype, value.shape), len(body.block.args))
        return test, forwarded, entry, ends

    def _after_exit(
        self, node: ast.stmt, body: _Body, before: Path, results: Sequence[Value], count: int, flags: Sequence[Value]
    ) -> None:
        """The path after a loop that may have been left early."""
        late = results[count : len(results) - len(flags)]
        self._continue_after(node, body, before, results[:count], late)
        if body.returned is not False:
            self.frame.path.flags[Exit.RETURN] = results[-1]

    def _continue_after(
        self, node: ast.stmt, body: _Body, before: Path, values: Sequence[Value], late: Sequence[Value]
    ) -> None:
        path = self.frame.path = before.fork()
        unchanged = {c.name: before.env.get(c.name) for c in body.carried}
        path.places |= {k: v for k, v in body.path.places.items() if k in path.env or k in body.path.env}
        self._assign_carried(path, body.carried, values)
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

    def _loop_variable(self, node: ast.For, bounds: _Bounds, body: _Body, before: Path, reached: Value | None) -> None:
        """After the loop its variable keeps its last value. Where the loop did not run it is what it was before, or,
        where it was nothing, one step before the start."""
        assert isinstance(node.target, ast.Name)
        name, path = node.target.id, self.frame.path
        out = self.frame.liveness.live_after(node)
        if name not in out or body.path.env.get(name) is not body.index:
            return
        make = self.builder
        if bounds.trips is not None and reached is None:
            last: Value = make.binary("add", bounds.start, (bounds.trips - 1) * int(bounds.step.const or 1))
        else:
            if reached is None:
                distance = make.binary("sub", bounds.stop, bounds.start)
                count = make.maximum(make.cdiv(distance, bounds.step), 0)
                reached = make.binary("add", bounds.start, make.binary("mul", count, bounds.step))
            last = make.binary("sub", reached, bounds.step)
        if bounds.stride is not None:
            last = make.binary("add", bounds.first, make.binary("mul", last, bounds.stride))
        earlier = before.env.get(name, Unset)
        if bounds.trips is None and (isinstance(earlier, Value | int | float)):
            if not isinstance(earlier, Value) or (earlier.is_scalar and earlier.dtype == I64):
                last = make.where(make.compare("lt", bounds.start, bounds.stop), last, earlier)
        path.env[name] = last

    # while

    def while_loop(self, node: ast.While) -> None:
        if node.orelse:
            raise self.unsupported("while-else", "'else' after 'while'", "set a flag before the break", node.orelse[0])
        types: dict[Key, DType] = {}
        base = self.frame.path
        for _ in range(_TRIES):
            blocks: list[Block] = []
            try:
                self._try_while(node, base, types, blocks)
                return
            except Retype as found:
                types[found.key] = found.dtype
                for block in blocks:
                    self.builder.discard(block)
                self.frame.path = base
        raise self.fail("control/type-change", "the types of this loop's variables do not settle", node=node)

    def _try_while(self, node: ast.While, base: Path, types: dict[Key, DType], blocks: list[Block]) -> None:
        names = self.frame.liveness.changes[node]
        depth = len(self.frame.loops)
        carried = [carry(n, base.env[n], types, self.builder) for n in self._carriable(names, base, node)]
        test, arguments = self.builder.new_block([t for c in carried for t in c.types])
        blocks.append(test)
        try:
            with self.builder.into(test):
                self._enter(node, base, carried, arguments, names)
                held = self.truth(self.evaluate(node.test))
            if held is False:
                self.builder.discard(test)
                self.frame.path = base
                return
            tested = self.frame.path
            # What the test itself set goes on with the rest.
            shown = [carry(n, tested.env[n], {}, self.builder) for n in self._shown(node, carried, tested)]
            block, given = self.builder.new_block([t for c in shown for t in c.types])
            blocks.append(block)
            body = _Body(carried, block)
            with self.builder.into(block):
                self._assign_carried(tested, shown, given)
                self.block(node.body, self.frame.liveness.live_at_head(node))
                self._leave_body(node, body, base, held is True, self._own(carried, shown, given))
        finally:
            del self.frame.loops[depth:]
        self.at(node)
        if held is True and body.stop is False:
            raise self.fail("control/endless-loop", "this loop never ends: it has no break and no return", node=node)
        self._finish_while(node, body, base, test, held, shown, arguments)

    @staticmethod
    def _shown(node: ast.While, carried: Sequence[Carried], tested: Path) -> list[str]:
        names = [c.name for c in carried]
        inner = assigned([node.test])
        return names + [n for n in tested.env if n in inner and n not in names]

    @staticmethod
    def _own(carried: Sequence[Carried], shown: Sequence[Carried], given: Sequence[Value]) -> list[Value]:
        return list(given[: sum(len(c.entry) for c in carried)]) if carried or shown else []

    def _finish_while(
        self,
        node: ast.While,
        body: _Body,
        before: Path,
        test: Block,
        held: bool | Value,
        shown: Sequence[Carried],
        arguments: Sequence[Value],
    ) -> None:
        make = self.builder
        flags = [] if body.stop is False else self._flags_of(body)
        if flags and assigned([node.test]):
            raise self.unsupported("walrus", "':=' in the head of a loop that has a break or a return", node=node.test)
        late = [v for item in body.late for v in item.values]
        extra = [*late, *flags]
        entry = [v for c in body.carried for v in c.entry]
        entry += [make.dummy(v.dtype, v.shape) for v in late] + [make.constant(False, BOOL) for _ in flags]
        given: list[Value] = []
        for value in extra:
            type_ = ir_type(value.dtype, value.shape)
            given.append(Value(value.dtype, value.shape, test.insert_arg(type_, len(test.args))))
            body.block.insert_arg(type_, len(body.block.args))
        forwarded = [v for c in shown for v in c.entry]
        with make.into(test):
            goes = held if isinstance(held, Value) else make.constant(True, BOOL)
            if flags:
                goes = make.binary("and", goes, make.logical_not(given[len(late)]))
        results = make.finish_while(entry, test, goes, [*forwarded, *given], body.block, [*body.ends, *extra])
        count = len(forwarded)
        body.carried = list(shown)
        self._after_exit(node, body, before, results, count, flags)
