"""The source of a function as a syntax tree with places."""

from __future__ import annotations

import ast
import inspect
import linecache
from dataclasses import dataclass, field
from types import CodeType, FunctionType

from tileopt.dialects.diagnostics import CompileError, Location, UnsupportedError

Function = ast.FunctionDef | ast.Lambda


@dataclass
class FunctionSource:
    """One function. Lines and columns of the tree count from `first_line` and are those of the file."""

    name: str
    file: str
    tree: Function
    lines: list[str]
    first_line: int
    text: str
    _places: dict[tuple[int, int], Location] = field(default_factory=dict)

    def location(self, node: ast.AST) -> Location:
        """Where a node begins."""
        line, byte = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        place = self._places.get((line, byte))
        if place is None:
            index = line - 1
            text = self.lines[index] if index < len(self.lines) else ""
            column = byte if text.isascii() else len(text.encode()[:byte].decode(errors="replace"))
            number = line + self.first_line - 1
            place = self._places[line, byte] = Location(self.file, number, column + 1, text.rstrip("\r\n"))
        return place


# By identity, and with the code so that it lives: equal code may stand in several files.
_SOURCES: dict[int, tuple[CodeType, FunctionSource]] = {}


def source_of(function: FunctionType) -> FunctionSource:
    """The source of a function as it was when it was first asked for. Raises CompileError where there is none."""
    code = function.__code__
    found = _SOURCES.get(id(code))
    if found is None:
        found = _SOURCES[id(code)] = code, _read(function)
    return found[1]


def function_place(function: FunctionType) -> Location:
    """Where a function begins, as far as can be told without its source."""
    code = function.__code__
    return Location(code.co_filename, code.co_firstlineno, 1)


def _read(function: FunctionType) -> FunctionSource:
    code, place = function.__code__, function_place(function)
    if function.__name__ == "<lambda>":
        return _read_lambda(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise CompileError(
            "source/missing",
            f"the source of '{function.__name__}' cannot be read: {error}",
            location=place,
            help="define it in a file or a notebook cell: a kernel is compiled from its source text",
        ) from None
    text = "".join(lines)
    indented = text[:1].isspace()
    # Under an `if` the body keeps its columns, and lines of strings and comments that reach further left are harmless.
    try:
        module = ast.parse("if 1:\n" + text if indented else text, code.co_filename)
    except SyntaxError as error:
        raise CompileError(
            "source/syntax", f"the source of '{function.__name__}' cannot be parsed: {error}", location=place
        ) from None
    body = module.body
    if indented:
        assert isinstance(body[0], ast.If)
        body, lines, first = body[0].body, ["", *lines], first - 1
    tree = body[0]
    if isinstance(tree, ast.AsyncFunctionDef):
        raise UnsupportedError("unsupported/async", f"'{function.__name__}' is asynchronous", location=place)
    if not isinstance(tree, ast.FunctionDef) or tree.name != code.co_name:
        raise CompileError("source/missing", f"the source of '{function.__name__}' cannot be found", location=place)
    return FunctionSource(function.__name__, code.co_filename, tree, lines, first, text)


def _read_lambda(function: FunctionType) -> FunctionSource:
    code, place = function.__code__, function_place(function)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        module = ast.parse("".join(lines), code.co_filename)
    except SyntaxError:
        module = ast.Module([], [])
    found = [n for n in ast.walk(module) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    if len(found) > 1:
        # Several on one line: the one whose body the code's own columns fall into.
        columns = [(line, column) for line, _, column, _ in code.co_positions() if line and column is not None]
        found = [n for n in found if any(_covers(n.body, line, column) for line, column in columns)]
        found = [n for n in found if [a.arg for a in n.args.args] == list(code.co_varnames[: code.co_argcount])]
    if len(found) != 1:
        raise CompileError(
            "source/missing",
            "the source of a lambda cannot be found" if not found else "several lambdas of this line look alike",
            location=place,
            help="write it as a function",
        )
    tree = found[0]
    return FunctionSource("lambda", code.co_filename, tree, lines, 1, ast.unparse(tree))


def _covers(node: ast.AST, line: int, column: int) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return bool(start <= (line, column) < end)
