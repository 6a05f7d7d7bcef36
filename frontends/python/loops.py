"""`while`, and with it all of Python that kernels have."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.ir import Block

from tileopt.dialects.dtypes import DType
from tileopt.frontends.builder import Value
from tileopt.frontends.builder_values import BOOL, ir_type
from tileopt.frontends.python.carried import Carried, carry, guesses_of
from tileopt.frontends.python.counted_loops import CountedLoops
from tileopt.frontends.python.frames import Exit, Key, Path, Retype
from tileopt.frontends.python.liveness import assigned
from tileopt.frontends.python.loop_bodies import TRIES, Body, name_values


class Interpreter(CountedLoops):
    """Reads kernels. A track adds its own functions, attributes and indexing."""

    def while_loop(self, node: ast.While) -> None:
        if node.orelse:
            raise self.unsupported("while-else", "'else' after 'while'", "set a flag before the break", node.orelse[0])
        types: dict[Key, DType] = {}
        base = self.frame.path
        for _ in range(TRIES):
            blocks: list[Block] = []
            try:
                self._try_while(node, base, types, blocks)
                return
            except Retype as found:
                for block in blocks:
                    self.builder.discard(block)
                if found.guess.loop is not node:
                    raise
                types[found.guess.key] = found.dtype
                self.frame.path = base
        raise self.fail("control/type-change", "the types of this loop's variables do not settle", node=node)

    def _try_while(self, node: ast.While, base: Path, types: dict[Key, DType], blocks: list[Block]) -> None:
        names = self.frame.liveness.changes[node]
        around = self.guesses()
        depth = len(self.frame.loops)
        carried = [carry(node, n, base.env[n], types, around, self.builder) for n in self.carriable(names, base, node)]
        test, arguments = self.builder.new_block([t for c in carried for t in c.types])
        blocks.append(test)
        try:
            with self.builder.into(test):
                self.enter(node, base, carried, arguments, names)
                held = self.truth(self.evaluate(node.test))
            if held is False:
                self.builder.discard(test)
                self.frame.path = base
                return
            tested = self.frame.path
            # What the test itself set goes on with the rest.
            shown = [
                carry(node, n, tested.env[n], {}, self.guesses(), self.builder)
                for n in self._shown(node, carried, tested)
            ]
            block, given = self.builder.new_block([t for c in shown for t in c.types])
            blocks.append(block)
            name_values(shown, given)
            self.frame.loops[-1].provisional.update(guesses_of(shown, given))
            body = Body(carried, block)
            with self.builder.into(block):
                self.assign_carried(tested, shown, given)
                self.block(node.body, self.frame.liveness.live_at_head(node))
                self.leave_body(node, body, base, held is True, self._own(carried, shown, given))
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
        body: Body,
        before: Path,
        test: Block,
        held: bool | Value,
        shown: Sequence[Carried],
        arguments: Sequence[Value],
    ) -> None:
        make = self.builder
        flags = [] if body.stop is False else self.flags_of(body)
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
        self.after_exit(node, body, before, results, count, flags)
        if held is True and Exit.BREAK not in body.path.flags:
            self.frame.path.dead = True  # it ends by a return only
            self.frame.path.flags[Exit.RETURN] = True
