"""`for`: a range stays a loop however short it is; tuples and `static_range` are unrolled.

A loop that nothing leaves early is an `scf.for`. With a break or a return in it, it is an `scf.while` that carries a
bool which says that something left.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block

from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.builder_values import BOOL, I64, ir_type
from tileopt.frontends.python.base import COPIES_LIMIT, UNROLL_LIMIT
from tileopt.frontends.python.carried import carry
from tileopt.frontends.python.frames import Exit, Key, Loop, Path, Retype
from tileopt.frontends.python.liveness import assigned
from tileopt.frontends.python.loop_bodies import TRIES, Body, LoopBodies, name_values
from tileopt.frontends.python.objects import Items, Poison, Range, Unset, name_of


@dataclass(frozen=True)
class _Bounds:
    """`index` counts from `start` to `stop`; the loop variable is `first + index * stride`, or the index itself."""

    start: Value
    stop: Value
    step: Value
    trips: int | None
    first: Value | int = 0
    stride: Value | int | None = None
    take: Callable[[Value], object] | None = None  # what the loop variable is, if not the number
    unroll: bool = False


class CountedLoops(LoopBodies):
    """Reads `for`."""

    def for_loop(self, node: ast.For) -> None:
        if node.orelse:
            raise self.unsupported("for-else", "'else' after 'for'", "set a flag before the break", node.orelse[0])
        things = self.evaluate(node.iter)
        self.at(node.iter)
        if isinstance(things, Range) and not things.unrolled:
            self._rolled(node, things)
            return
        items = self.items(things)
        if items is not None:
            self._over(node, items)
            return
        if isinstance(things, Range) and things.known is not None:
            self._limit_copies(things.count or 0)
            things = tuple(range(*things.known))
        if not isinstance(things, tuple):
            help = None
            if isinstance(things, Array):
                help = f"count: for i in range(len({things.name}))"
            elif isinstance(things, Value | int):
                help = "count: for i in range(n)"
            raise self.unsupported("iteration", f"a loop over {name_of(things)}", help)
        self._limit_copies(len(things))
        live = self.frame.liveness
        self.frame.loops.append(Loop(live.live_after(node), live.live_at_head(node)))
        self._copies(node, things, 0)
        self.frame.loops.pop()
        self.frame.path.absorb(Exit.BREAK)

    def _limit_copies(self, count: int) -> None:
        if count > UNROLL_LIMIT:
            raise self.fail(
                "limits/unroll", f"{count} copies of a loop's body; the limit is {UNROLL_LIMIT}", "use range()"
            )

    def _copies(self, node: ast.For, things: Sequence[object], index: int) -> None:
        """The body for `things[index:]`."""
        head = self.frame.liveness.live_at_head(node)
        for at in range(index, len(things)):
            self.copies += 1
            if self.copies > COPIES_LIMIT:
                help = "use range(): the copies of nested loops multiply"
                raise self.fail("limits/unroll", f"more than {COPIES_LIMIT} copies of loop bodies", help, node)
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
        if things.late:
            self._limit_copies(things.count or 0)
        self._count(node, replace(self._bounds(things), unroll=things.late))

    def _over(self, node: ast.For, items: Items) -> None:
        """The loop variables of a loop over elements end with it."""
        self._count(node, replace(self._bounds(Range(0, items.count, 1)), take=items.take))
        out, path = self.frame.liveness.live_after(node), self.frame.path
        for name in assigned([node.target]) & out:
            path.env[name] = Poison(
                "name/maybe-unset",
                f"'{name}' is not kept after the loop over {name_of(items)}",
                "copy it to another variable in the loop",
            )

    def _count(self, node: ast.For, bounds: _Bounds) -> None:
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
        trips = things.count
        if step.low is not None and step.low > 0:
            return _Bounds(start, stop, step, trips)
        # Counted from 0: an scf.for goes up.
        if isinstance(things.step, int):
            count = make.cdiv(make.binary("sub", start, stop), make.constant(-things.step, I64))
        else:
            distance = make.binary("sub", stop, start)
            forward = make.compare("gt", step, 0)
            # (distance - 1) // step + 1 forward, (distance + 1) // step + 1 backward: no sum with the step may wrap.
            nearer = make.binary("add", distance, make.where(forward, -1, 1))
            count = make.binary("add", make.binary("floordiv", nearer, step), 1)
            count = make.where(make.compare("eq", step, 0), 0, count)  # Python raises, a kernel cannot
        zero = make.constant(0, I64)
        return _Bounds(zero, count, make.constant(1, I64), trips, start, step)

    def _read(self, node: ast.For, bounds: _Bounds) -> Body:
        """The body of a counted loop, with the types that its variables turn out to have."""
        types: dict[Key, DType] = {}
        base = self.frame.path
        names = self.frame.liveness.changes[node]
        around = self.guesses()
        for _ in range(TRIES):
            carried = [
                carry(node, n, base.env[n], types, around, self.builder) for n in self.carriable(names, base, node)
            ]
            self.at(node)
            shapes = [t for c in carried for t in c.types]
            block, (index, *arguments) = self.builder.new_block([(I64, ()), *shapes])
            low = bounds.start.low if bounds.stride is None else 0
            index = Value(I64, (), index.ssa, low=low)
            body = Body(carried, block, index)
            name_values(carried, arguments)
            try:
                with self.builder.into(block):
                    self.enter(node, base, carried, arguments, names)
                    thing: Value = index
                    if bounds.stride is not None:
                        product = self.builder.binary("mul", index, bounds.stride)
                        thing = self.builder.binary("add", bounds.first, product)
                    self.bind(node.target, thing if bounds.take is None else bounds.take(thing))
                    body.index = thing
                    self.block(node.body, self.frame.liveness.live_at_head(node))
                    self.leave_body(node, body, base, always=bounds.trips is not None, arguments=arguments)
                return body
            except Retype as found:
                self.builder.discard(block)
                if found.guess.loop is not node:
                    raise
                types[found.guess.key] = found.dtype
                self.frame.path = base
            finally:
                self.frame.loops.pop()
        raise self.fail("control/type-change", "the types of this loop's variables do not settle", node=node)

    def _finish_for(self, node: ast.For, bounds: _Bounds, body: Body, before: Path) -> None:
        late = [v for item in body.late for v in item.values]
        init = [v for c in body.carried for v in c.entry]
        kept = self.drop_unchanged(body, init, first=1)
        block = body.block
        for value in late:
            block.insert_arg(ir_type(value.dtype, value.shape), len(block.args))
        fillers = [self.builder.dummy(v.dtype, v.shape) for v in late]
        ends = [body.ends[i] for i in kept] + late
        entry = [init[i] for i in kept] + fillers
        results = self.builder.finish_for(bounds.start, bounds.stop, bounds.step, entry, block, ends, bounds.unroll)
        values = list(init)
        for position, value in zip(kept, results, strict=False):
            values[position] = value
        self.continue_after(node, body, before, values, results[len(kept) :])
        self._loop_variable(node, bounds, body, before, None)

    def _finish_for_with_exit(self, node: ast.For, bounds: _Bounds, body: Body, before: Path) -> None:
        init = [v for c in body.carried for v in c.entry]
        entry, ends = [bounds.start, *init], list(body.ends)
        with self.builder.into(body.block):
            index = Value(I64, (), body.block.args[0])
            ends.insert(0, self.builder.binary("add", index, bounds.step))
        flags = self.flags_of(body)
        test, forwarded, entry, ends = self._before(body, entry, ends, flags)
        with self.builder.into(test):
            goes = self.builder.compare("lt", forwarded[0], bounds.stop)
            goes = self.builder.binary("and", goes, self.builder.logical_not(forwarded[-len(flags)]))
        results = self.builder.finish_while(entry, test, goes, forwarded, body.block, ends)
        self.after_exit(node, body, before, results[1:], len(init), flags)
        self._loop_variable(node, bounds, body, before, results[0])

    def _before(
        self, body: Body, entry: list[Value], ends: list[Value], flags: list[Value]
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

    def _loop_variable(self, node: ast.For, bounds: _Bounds, body: Body, before: Path, reached: Value | None) -> None:
        """After the loop its variable keeps its last value. Where the loop did not run it is what it was before, or,
        where it was nothing, one step before the start."""
        if bounds.take is not None:
            return
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
        if bounds.trips is None and earlier is not Unset and not isinstance(earlier, Poison):
            pair = self._unify(last, earlier)
            if pair is None:
                path.env[name] = self._mismatch(f"'{name}'", earlier, last, node)
                return
            last = make.where(make.compare("lt", bounds.start, bounds.stop), *pair)
        path.env[name] = last
