"""Kernels damaged at random: whatever stands in them, the answer is verified IR or an error with a place."""

from __future__ import annotations

import ast
import copy
import random
import warnings
from collections.abc import Iterator

import pytest
from python_kernels import module, signature

from tileopt import TileoptError
from tileopt.dialects.verifier import verify

PROGRAMS = [
    """
K = 4
def helper(a, b=2, *rest, c=1.0):
    if a > b:
        return a, c
    for i in range(3):
        b = b + i
    return b, c * 2
@tile.kernel
def k(x: tile.In, y: tile.In, out: tile.Out, n: int, f: float, flag: bool, B: tile.Const[int] = 8):
    i = tile.bid(0)
    a = tile.load(x, (i,), (B,), padding=-1)
    total = 0
    for j in range(tile.cdiv(n, B)):
        b = tile.load(y, j, B)
        if j == 3 and flag or n > 7:
            continue
        if tile.sum(b) > f:
            break
        total += (a * b).sum()
        a = tile.where(b > 0, a + 1, a - b)
    while total > 10:
        total = total / 2
        if flag:
            return
    u, v = helper(n, b=3)
    w = lambda q: q * u + K
    tile.store(out, i, a * v + w(total) if flag else a)
""",
    """
@tile.kernel
def k(x: tile.In["f16", 2], y: tile.In["f16", 2], out: tile.Out["f32", 2], M: tile.Const = 16, N: tile.Const = 16):
    m, n = tile.bid(0) // 2, tile.bid(1) % tile.num_blocks(1)
    acc = tile.zeros((M, N), tile.f32)
    for k in range(0, x.shape[1], 16):
        acc = tile.mma(tile.load(x, (m, k // 16), (M, 16)), tile.load(y, (k // 16, n), (16, N)), acc)
    row = tile.arange(M)[:, None]
    acc = tile.where((row >= 3) & ~(row == 5), acc, tile.exp(acc) ** 2)
    best = acc.max(axis=1, keepdims=True)
    for t in tile.static_range(2):
        best = tile.maximum(best, -abs(best)) + t
    state = (best, 0)
    for s, t in enumerate((1, 2.5, 3)):
        state = (state[0] * t, state[1] + s)
    tile.store(out, (m, n), acc.T.reshape(N, M).transpose() - state[0] + state[1])
""",
]
EXPRESSIONS = """
None; n; x; out; tile; 's'; 1.5; -1; (1, 2); tile.f16; tile.zeros(4); lambda z: z; helper; a; True; tile.load; x.shape;
i; 10**9; [1]; ...; {}; tile.sum; range(3); range; int; x.dtype; a.sum; math; K; n // 0; a if n else x; (n := 3)
""".replace("\n", " ").split("; ")
STATEMENTS = """
break; continue; return; return 1; pass; del a; a = n; n += 1; a: int = 3; out[0] = 1; assert n > 3; global a; raise a;
def g(): return a; for i in range(n): break; while n: n = n - 1; x = y; i, n = n, i; a = a.astype(tile.f16); total = a
""".replace("\n", " ").split("; ")
NAMES = ("a", "b", "n", "i", "total", "zz", "acc", "best", "x", "out", "w", "state")
ATTRIBUTES = (
    "sum",
    "T",
    "shape",
    "dtype",
    "zeros",
    "load",
    "store",
    "mma",
    "astype",
    "f16",
    "exp",
    "where",
    "item",
    "bid",
)
OPERATORS = (ast.Add, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.MatMult, ast.BitAnd, ast.Div)

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


def damage(tree: ast.Module, rng: random.Random) -> None:
    nodes = list(ast.walk(tree))
    slots = list(expression_slots(tree))
    bodies = [n.body for n in nodes if isinstance(n, ast.FunctionDef | ast.For | ast.While | ast.If)]
    kind = rng.randrange(8)
    if kind < 3:
        put(rng.choice(slots), ast.parse(rng.choice(EXPRESSIONS).strip(), mode="eval").body)
    elif kind == 3:
        put(rng.choice(slots), copy.deepcopy(take(rng.choice(slots))))
    elif kind == 4:
        body = rng.choice(bodies)
        if rng.random() < 0.5 and len(body) > 1:
            body.pop(rng.randrange(len(body)))
        else:
            rng.shuffle(body)
    elif kind == 5:
        new = ast.parse(rng.choice(STATEMENTS).strip()).body[0]
        source = rng.choice([[new], rng.choice(bodies)])
        body = rng.choice(bodies)
        body.insert(rng.randrange(len(body) + 1), copy.deepcopy(rng.choice(source)))
    elif kind == 6:
        rng.choice([n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]).id = rng.choice(
            NAMES
        )
        rng.choice([n for n in nodes if isinstance(n, ast.Attribute)]).attr = rng.choice(ATTRIBUTES)
    else:
        operators = [n for n in nodes if isinstance(n, ast.BinOp)]
        rng.choice(operators).op = rng.choice(OPERATORS)()


def damaged(seed: int) -> str | None:
    """A damaged program, or None where Python itself does not take it."""
    rng = random.Random(seed)
    tree = ast.parse(rng.choice(PROGRAMS))
    for _ in range(rng.randint(1, 3)):
        damage(tree, rng)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        compile("from __future__ import annotations\n" + text, "damaged", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return None
    return text


def test_the_programs_are_right() -> None:
    for text in PROGRAMS:
        made = module(text)["k"]
        verify(made.build(signature(made)))


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_damaged_programs(first: int) -> None:
    for seed in range(first, first + 25):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            text = damaged(seed)
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
