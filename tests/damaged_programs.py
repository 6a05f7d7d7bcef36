"""Kernels damaged at random: parts of their syntax trees exchanged, dropped and added."""

from __future__ import annotations

import ast
import copy
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from python_kernels import module, signature

from tileopt import TileoptError
from tileopt.dialects.verifier import verify

OPERATORS = (ast.Add, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.MatMult, ast.BitAnd, ast.Div)


@dataclass(frozen=True)
class Grammar:
    """Programs, and what they are damaged with."""

    programs: Sequence[str]
    expressions: Sequence[str]
    statements: Sequence[str]
    names: Sequence[str]
    attributes: Sequence[str]


Slot = tuple[ast.AST, str, int | None]


def expression_slots(tree: ast.AST) -> Iterator[Slot]:
    """The places in which expressions stand that can be replaced."""
    for parent in ast.walk(tree):
        if isinstance(parent, ast.arg | ast.Module):
            continue
        for name, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                yield parent, name, None
            elif isinstance(value, list) and name not in ("decorator_list", "bases"):
                for index, item in enumerate(value):
                    if isinstance(item, ast.expr) and not isinstance(getattr(item, "ctx", None), ast.Store):
                        yield parent, name, index


def take(slot: Slot) -> ast.AST:
    parent, name, index = slot
    value = getattr(parent, name)
    return value if index is None else value[index]


def put(slot: Slot, node: ast.AST) -> None:
    parent, name, index = slot
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def damage(tree: ast.Module, rng: random.Random, grammar: Grammar) -> None:
    nodes = list(ast.walk(tree))
    slots = list(expression_slots(tree))
    bodies = [n.body for n in nodes if isinstance(n, ast.FunctionDef | ast.For | ast.While | ast.If)]
    kind = rng.randrange(8)
    if kind < 3:
        put(rng.choice(slots), ast.parse(rng.choice(grammar.expressions).strip(), mode="eval").body)
    elif kind == 3:
        put(rng.choice(slots), copy.deepcopy(take(rng.choice(slots))))
    elif kind == 4:
        body = rng.choice(bodies)
        if rng.random() < 0.5 and len(body) > 1:
            body.pop(rng.randrange(len(body)))
        else:
            rng.shuffle(body)
    elif kind == 5:
        new = ast.parse(rng.choice(grammar.statements).strip()).body[0]
        source = rng.choice([[new], rng.choice(bodies)])
        body = rng.choice(bodies)
        body.insert(rng.randrange(len(body) + 1), copy.deepcopy(rng.choice(source)))
    elif kind == 6:
        rng.choice([n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]).id = rng.choice(
            grammar.names
        )
        rng.choice([n for n in nodes if isinstance(n, ast.Attribute)]).attr = rng.choice(grammar.attributes)
    else:
        operators = [n for n in nodes if isinstance(n, ast.BinOp)]
        rng.choice(operators).op = rng.choice(OPERATORS)()


def damaged(seed: int, grammar: Grammar) -> str | None:
    """A damaged program, or None where Python itself does not take it."""
    rng = random.Random(seed)
    tree = ast.parse(rng.choice(grammar.programs))
    for _ in range(rng.randint(1, 3)):
        damage(tree, rng, grammar)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        compile("from __future__ import annotations\n" + text, "damaged", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return None
    return text


def check(seeds: range, grammar: Grammar) -> None:
    """Builds the damaged programs of these seeds. Each is verified IR or an error with a place."""
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            text = damaged(seed, grammar)
            if text is None:
                continue
            try:
                made = module(text)["k"]
                given = signature(made)
            except Exception:  # the damage hit what stands around the kernel: that is Python's to run
                continue
            try:
                verify(made.build(given))
            except TileoptError as error:
                assert not error.code.startswith(("internal", "verify")), f"seed {seed}: {error}\n{text}"
                assert error.location is not None, f"seed {seed}: {error}\n{text}"
