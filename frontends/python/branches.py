"""Ways that part and meet: `if`, and what follows a statement that may have left by break, continue or return.

Where one branch of an `if` always leaves, what follows the `if` moves into the other branch. Where a branch only may
leave, a bool says at run time whether it did, and what follows stands under that bool.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from xdsl.ir import Block

from tileopt.frontends.builder import Value
from tileopt.frontends.python.frames import Retype
from tileopt.frontends.python.joins import Joins
from tileopt.frontends.python.liveness import NONE, Names
from tileopt.frontends.python.objects import Poison

Action = Callable[[], None]


class Branches(Joins):
    """Splits and joins paths."""

    def split(
        self,
        condition: Value,
        then: Action,
        other: Action,
        after: Action | None,
        out: Names,
        live: Names,
        node: ast.AST,
    ) -> bool:
        """Reads both branches. Where one of them ends there, `after` is read in the other, and the answer is True.

        `out`: what matters right after; `live`: what matters after `after`.
        """
        base, sides = self.frame.path, []
        blocks: list[Block] = []
        try:
            for action in (then, other):
                blocks.append(self.builder.new_block()[0])
                self.frame.path = base.fork()
                with self.builder.into(blocks[-1]):
                    action()
                sides.append((blocks[-1], self.frame.path))
            followed = after is not None and sides[0][1].dead != sides[1][1].dead
            if followed and after is not None:
                index = 1 if sides[0][1].dead else 0
                block, self.frame.path = sides[index]
                with self.builder.into(block):
                    self.follow(after, live, node)
                sides[index] = (block, self.frame.path)
            self.at(node)
            self.frame.path = self.join(condition, (sides[0], sides[1]), live if followed else out, node)
        except Retype:
            for block in blocks:
                self.builder.discard(block)
            raise
        return followed

    def follow(self, after: Action, live: Names, node: ast.AST) -> None:
        """Reads what follows a statement that may have left."""
        path = self.frame.path
        if path.dead:
            return
        if not path.flags:
            after()
            return
        left: Value | None = None
        for flag in path.flags.values():
            assert isinstance(flag, Value)  # a path that surely left is dead
            left = flag if left is None else self.builder.binary("or", left, flag)
        assert left is not None

        def stay() -> None:
            self.frame.path.flags.clear()
            after()

        def leave() -> None:
            here = self.frame.path
            here.dead = True
            if len(here.flags) == 1:
                here.flags = dict.fromkeys(here.flags, True)

        self.at(node)
        self.split(self.builder.logical_not(left), stay, leave, None, live, live, node)

    def choose(
        self, condition: Value, then: Callable[[], object], other: Callable[[], object], node: ast.AST
    ) -> object:
        """What one of two expressions gives; only that one runs."""
        name = f"<{id(node)}>"

        def keep(side: Callable[[], object]) -> Action:
            def action() -> None:
                thing = side()
                self.frame.path.env[name] = thing

            return action

        everything = frozenset((*self.frame.path.env, name)) | self.frame.liveness.local
        self.split(condition, keep(then), keep(other), None, everything, NONE, node)
        result = self.frame.path.env.pop(name)
        if isinstance(result, Poison):
            raise self.poisoned(result)
        return result
