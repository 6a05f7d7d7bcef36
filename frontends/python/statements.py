"""Statements but loops."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tileopt.dialects.diagnostics import counted
from tileopt.frontends.builder import Array, Value
from tileopt.frontends.python.calls import Calls
from tileopt.frontends.python.expressions import _BINARY
from tileopt.frontends.python.frames import Exit, Frame
from tileopt.frontends.python.liveness import Names
from tileopt.frontends.python.objects import name_of

_REFUSED: dict[str, tuple[str, str | None]] = {
    "Try": ("try", "kernels raise no exceptions"),
    "TryStar": ("try", "kernels raise no exceptions"),
    "Raise": ("raise", "check arguments before the launch, or compile-time constants by static_assert()"),
    "With": ("with", None),
    "AsyncWith": ("async with", None),
    "AsyncFor": ("async for", None),
    "AsyncFunctionDef": ("async def", None),
    "ClassDef": ("class", "define it outside the kernel"),
    "Delete": ("del", "variables end with the kernel"),
    "Global": ("global", "store results to an array"),
    "Nonlocal": ("nonlocal", "return the new value and assign it"),
    "Import": ("import", "import outside the kernel"),
    "ImportFrom": ("import", "import outside the kernel"),
    "Match": ("match", "write if and elif"),
}


class Statements(Calls):
    """Reads statements."""

    def block(self, statements: Sequence[ast.stmt], live: Names) -> None:
        for index, node in enumerate(statements):
            if self.frame.path.dead:
                return
            rest = statements[index + 1 :]
            self.at(node)
            if isinstance(node, ast.If):
                if self._if(node, rest, live):
                    return
            else:
                self._statement(node)
            path = self.frame.path
            if rest and path.flags and not path.dead:
                self.follow(lambda rest=rest: self.block(rest, live), live, node)  # type: ignore[misc]
                return

    def _statement(self, node: ast.stmt) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            name = type(node).__name__
            what, help = _REFUSED.get(name, (name, None))
            raise self.unsupported("statement", f"'{what}' cannot stand in a kernel", help)
        handler(self, node)

    # Choices and exits

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], live: Names) -> bool:
        held = self.truth(self.evaluate(node.test))
        out = self.frame.liveness.live_after(node)
        if isinstance(held, bool):
            self.block(node.body if held else node.orelse, out)
            return False
        after = (lambda: self.block(rest, live)) if rest else None
        return self.split(
            held, lambda: self.block(node.body, out), lambda: self.block(node.orelse, out), after, out, live, node
        )

    def _leave(self, exit: Exit) -> None:
        self.frame.path.flags[exit] = True
        self.frame.path.dead = True

    def _break(self, node: ast.Break) -> None:
        self._leave(Exit.BREAK)

    def _continue(self, node: ast.Continue) -> None:
        self._leave(Exit.CONTINUE)

    def _return(self, node: ast.Return) -> None:
        result = None if node.value is None else self.evaluate(node.value)
        if result is not None and len(self.frames) == 1:
            raise self.fail("kernel/returns", "a kernel returns nothing", "store the result to an array", node)
        self.frame.path.result = result
        self._leave(Exit.RETURN)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        thing = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, thing)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self._unassignable(node.target)
        left = self.evaluate(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        right = self.evaluate(node.value)
        self.at(node)
        self.bind(node.target, self.operate(_BINARY[type(node.op)], left, right))

    def bind(self, target: ast.expr, thing: object) -> None:
        if isinstance(target, ast.Name):
            self._set(target, thing)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, thing)
        else:
            raise self._unassignable(target)

    def _set(self, target: ast.Name, thing: object) -> None:
        path = self.frame.path
        path.env[target.id] = thing
        path.places[target.id] = self.frame.source.location(target)
        if isinstance(thing, Value):
            name_value(thing, target.id)

    def _unpack(self, target: ast.Tuple | ast.List, thing: object) -> None:
        names = counted(len(target.elts), "name", "names")
        if not isinstance(thing, tuple):
            self.at(target)
            raise self.mistyped("type/unpack", f"{name_of(thing)} cannot be unpacked into {names}")
        targets = target.elts
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        parts: list[object] = list(thing)
        if starred:
            at = starred[0]
            tail = len(targets) - at - 1
            if len(parts) >= len(targets) - 1:
                parts[at : len(parts) - tail] = [tuple(parts[at : len(parts) - tail])]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(parts) != len(targets):
            self.at(target)
            values = counted(len(thing), "value", "values")
            raise self.mistyped("type/unpack", f"{values} for {names}")
        for inner, part in zip(targets, parts, strict=True):
            self.bind(inner, part)

    def _unassignable(self, target: ast.expr) -> Exception:
        self.at(target)
        if isinstance(target, ast.Subscript):
            thing = self.evaluate(target.value)
            self.at(target)
            help = "tiles do not change: make a new one with where()"
            if isinstance(thing, tuple):
                help = "lists and tuples do not change in a kernel: build a new one in place of it"
                if self.track == "simt":
                    help += ", or take an array in shared memory, simt.shared(...), whose elements are stored to"
            if isinstance(thing, Array):
                help = f"write {self.track}.store({thing.name}, index, value)"
            return self.unsupported("assignment", f"an element of {name_of(thing)} cannot be assigned", help)
        if isinstance(target, ast.Attribute):
            return self.unsupported("assignment", f"the attribute '{target.attr}' cannot be assigned", "use a variable")
        return self.unsupported("assignment", "this cannot be assigned to")

    # The rest

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.evaluate(node.value)

    def _pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def _assert(self, node: ast.Assert) -> None:
        condition = self.evaluate(node.test)
        message = "" if node.msg is None else self.evaluate(node.msg)
        self.at(node)
        self.assertion(condition, message)

    def assertion(self, condition: object, message: object) -> None:
        """Refuses a condition that is known not to hold; one that is not known stops the kernel when it runs."""
        held = self.truth(condition)
        if not isinstance(message, str):
            raise self.mistyped("type/constant", f"an assertion's message is a string, not {name_of(message)}")
        if isinstance(held, Value):
            self.builder.assert_(held, message)
        elif not held:
            raise self.fail("kernel/assertion", f"the assertion does not hold{f': {message}' if message else ''}")

    def _function(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.unsupported("decorator", f"a decorator of the inner function '{node.name}'", node=node)
        self.frame.path.env[node.name] = self.closure(node)

    @abstractmethod
    def for_loop(self, node: ast.For) -> None:
        """A `for`."""

    @abstractmethod
    def while_loop(self, node: ast.While) -> None:
        """A `while`."""

    def run(self, frame: Frame, arguments: Mapping[str, object]) -> None:
        """Reads a kernel: the frame of its function, and what its parameters stand for."""
        tree = frame.source.tree
        assert isinstance(tree, ast.FunctionDef)
        self.frames.append(frame)
        for name, thing in arguments.items():
            frame.path.env[name] = self.captured(thing, name, tree)
        self.block(tree.body, frozenset())


def name_value(value: Value, name: str) -> None:
    """Printed IR calls the value so, unless it has a name."""
    ssa = value.ssa
    if ssa is not None and ssa.name_hint is None and name.isascii():
        ssa.name_hint = name


_HANDLERS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated,
    ast.AugAssign: Statements._augmented,
    ast.Expr: Statements._expression,
    ast.Pass: Statements._pass,
    ast.Break: Statements._break,
    ast.Continue: Statements._continue,
    ast.Return: Statements._return,
    ast.Assert: Statements._assert,
    ast.FunctionDef: Statements._function,
    ast.For: lambda self, node: self.for_loop(node),
    ast.While: lambda self, node: self.while_loop(node),
}
