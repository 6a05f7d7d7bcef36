"""Every op has its goldens, and every refusal is provoked by some golden or test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tileopt.dialects
from tileopt.dialects.registry import dialect_factories

HERE = Path(__file__).parent
MODULES = sorted(Path(tileopt.dialects.__file__ or "").parent.glob("*.py"))
# What reads, checks and reports IR is not part of the vocabulary, and has tests of its own.
TOOLS = {"arith", "diagnostics", "dominance", "plugins", "registry", "verifier", "xdsl_compat"}
VOCABULARY = [path for path in MODULES if path.stem not in TOOLS]
DIALECTS = [name for name in ("tile", "pipe", "simt", "gpu", "stream") if any(path.stem == name for path in MODULES)]
OPS = sorted({op.name for name in DIALECTS for op in dialect_factories()[name]().operations})


@cache
def checked_lines(prefix: str) -> str:
    """The lines that valid goldens check, of one prefix."""
    text = "\n".join(path.read_text() for path in HERE.rglob("*.mlir") if not path.stem.endswith("_invalid"))
    return "\n".join(re.findall(rf"// {prefix}(?:-[A-Z]+)?: (.*)", text))


@pytest.mark.parametrize("name", OPS)
def test_each_op_has_goldens_in_both_syntaxes(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", checked_lines("CHECK"))
    assert f'"{name}"' in checked_lines("GENERIC")


def refusals(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """What a module says where it raises VerifyException or ValueError, or reports from a parser; by its line."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="VerifyException" | "ValueError"), args=[message, *_])):
                yield node.lineno, message
            case ast.Call(func=ast.Attribute(attr="raise_error"), args=[message, *_]):
                yield node.lineno, message
            case ast.Call(func=ast.Name(id="MessageConstraint"), args=[_, message]):
                yield node.lineno, ast.JoinedStr([message, ast.Constant(" Underlying"), hole()])
            case ast.FunctionDef(name="_problem"):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and isinstance(inner.value, ast.JoinedStr):
                        yield inner.lineno, inner.value
            case _:
                pass


def hole() -> ast.FormattedValue:
    return ast.FormattedValue(ast.Name("_"), -1, None)


def pattern(message: ast.expr) -> str | None:
    """A regular expression for a literal message; None where its text is made elsewhere."""
    match message:
        case ast.Constant(value=str() as text):
            return re.escape(text)
        case ast.JoinedStr(values=values):
            return "".join(pattern(value) or ".*" for value in values)
        case _:
            return None


@cache
def provoked() -> list[str]:
    """The messages that goldens expect and that tests match."""
    found: list[str] = []
    for path in HERE.rglob("*.mlir"):
        found += re.findall(r"expected-error@[+\w]+ \{\{(.*)\}\}", path.read_text())
    for path in HERE.rglob("test_*.py"):
        strings = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [text.replace("\\", "").replace(".*", "[4, -1]") for text in strings if isinstance(text, str)]
    return found


ALL = [
    (f"{path.stem}:{line}", wanted)
    for path in VOCABULARY
    for line, message in refusals(path)
    if (wanted := pattern(message)) is not None
]


@pytest.mark.parametrize(("place", "wanted"), ALL, ids=[place for place, _ in ALL])
def test_each_refusal_is_provoked(place: str, wanted: str) -> None:
    assert any(re.fullmatch(wanted, text) for text in provoked()), f"nothing provokes {place}: {wanted}"


def test_refusals_are_found() -> None:
    assert len(ALL) > 80
