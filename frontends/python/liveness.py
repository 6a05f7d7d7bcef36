"""Which variables matter where: what a branch must give on, and what a loop must carry.

A variable is live where some later statement may read its present value. The answers err on the side of too many: code
behind a condition that turns out to be constant counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tileopt.frontends.python.source import Function

Names = frozenset[str]
NONE: Names = frozenset()
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """The names that these nodes may bind in their own scope."""
    return frozenset(_bound(nodes))


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, _SCOPES):
            if not isinstance(node, ast.Lambda):
                yield node.name
        else:
            pending.extend(ast.iter_child_nodes(node))


def used(nodes: Iterable[ast.AST | None]) -> Names:
    """The names that these nodes may read, inner functions included."""
    return frozenset(
        inner.id
        for node in nodes
        if node is not None
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    )


@dataclass
class Liveness:
    """Of one function."""

    after: dict[ast.stmt, Names] = field(default_factory=dict)  # live after a statement
    heads: dict[ast.stmt, Names] = field(default_factory=dict)  # live before the test of a loop
    changes: dict[ast.stmt, Names] = field(default_factory=dict)  # what a loop's body and test bind
    local: Names = NONE  # what the function binds: parameters and assigned names
    shared: Names = NONE  # read by inner functions, which may run at any time: always live
    parameters: tuple[str, ...] = ()

    def live_after(self, node: ast.stmt) -> Names:
        return self.after.get(node, NONE) | self.shared

    def live_at_head(self, loop: ast.stmt) -> Names:
        return self.heads.get(loop, NONE) | self.shared


def analyse(function: Function) -> Liveness:
    """The liveness of a function's variables."""
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    parameters = tuple(a.arg for a in listed)
    body: Sequence[ast.AST] = function.body if isinstance(function, ast.FunctionDef) else [function.body]
    result = Liveness(parameters=parameters, local=assigned(body) | frozenset(parameters))
    inner = [n for node in body for n in ast.walk(node) if isinstance(n, _SCOPES)]
    result.shared = used(inner) & result.local
    if isinstance(function, ast.FunctionDef):
        _Walk(result).block(function.body, NONE, NONE, NONE)
    return result


class _Walk:
    """Backwards through the statements; `leave` and `again` are what is live after a break and a continue."""

    def __init__(self, result: Liveness) -> None:
        self.result = result

    def block(self, statements: Sequence[ast.stmt], out: Names, leave: Names, again: Names) -> Names:
        for node in reversed(statements):
            self.result.after[node] = self.result.after.get(node, NONE) | out
            out = self.statement(node, out, leave, again)
        return out

    def statement(self, node: ast.stmt, out: Names, leave: Names, again: Names) -> Names:
        match node:
            case ast.Return():
                return used([node.value])
            case ast.Break():
                return leave
            case ast.Continue():
                return again
            case ast.If():
                then = self.block(node.body, out, leave, again)
                return then | self.block(node.orelse, out, leave, again) | used([node.test])
            case ast.For() | ast.While():
                return self.loop(node, out)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                return (out - {name}) | used([node.value])
            case ast.Assign(targets=[ast.Tuple(elts=targets)]) if all(isinstance(t, ast.Name) for t in targets):
                return (out - assigned(targets)) | used([node.value])
            case ast.AugAssign(target=ast.Name(id=name)):
                return out | {name} | used([node.value])
            case ast.FunctionDef():
                return out - {node.name}
            case _:
                return out | used([node])

    def loop(self, node: ast.For | ast.While, out: Names) -> Names:
        targets: Names = NONE
        before: Names
        if isinstance(node, ast.For):
            before, targets, head = used([node.iter]), assigned([node.target]), out
        else:
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
            before, head = NONE, used([node.test]) | (NONE if endless else out)
        while True:
            body = self.block(node.body, head, out, head)
            grown = head | (body - targets)
            if grown == head:
                break
            head = grown
        self.result.heads[node] = head
        test = [node.test] if isinstance(node, ast.While) else []
        self.result.changes[node] = assigned([*node.body, *test])
        return before | head | self.block(node.orelse, out, NONE, NONE)
