"""How many injective maps verify-ownership accepts. When it learns to accept more, raise FLOOR."""

from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace

from ownership.injective_maps import MAPS, Map
from python_kernels import build, kernel

from tileopt import OwnershipError
from tileopt.dialects.verifier import verify
from tileopt.dialects.xdsl_compat import create_context
from tileopt.passes.safety.verify_ownership import VerifyOwnership

FLOOR = 61


def body(entry: Map) -> str:
    store = f"tile.store(out, ({entry.row}, {entry.column}), tile.zeros((4, 4)))"
    lines = ["p, q, r = tile.bid(0), tile.bid(1), tile.bid(2)"]
    lines += ["P, Q, R = tile.num_blocks(0), tile.num_blocks(1), tile.num_blocks(2)"]
    lines += entry.before.splitlines()
    lines += [f"for t in {entry.loop}:", f"    {store}"] if entry.loop else [store]
    return "\n".join(lines)


def accepted(entry: Map) -> bool:
    made = build(kernel(body(entry), "out: tile.Out['f32', 2], c: int"))
    verify(made)
    try:
        VerifyOwnership().apply(create_context(), made)
    except OwnershipError:
        return False
    return True


def used(entry: Map, name: str) -> bool:
    text = f"{entry.row} {entry.column} {entry.before} {entry.loop}"
    return re.search(rf"\b{name}\b", text) is not None


def meets(entry: Map, grid: tuple[int, ...], c: int) -> bool:
    """Whether two blocks of a grid store to one tile, in Python's integers."""
    owners: dict[tuple[int, int], tuple[int, ...]] = {}
    functions = SimpleNamespace(where=lambda x, a, b: a if x else b, minimum=min, maximum=max)
    for ids in product(*(range(n) for n in grid)):
        scope = dict(zip("pqrPQR", (*ids, *grid), strict=True)) | {"c": c, "tile": functions, "range": range}
        exec(entry.before, scope)
        for t in eval(entry.loop, scope) if entry.loop else [0]:
            scope["t"] = t
            place = eval(f"({entry.row}, {entry.column})", scope)
            if owners.setdefault(place, ids) != ids:
                return True
    return False


def test_the_maps_are_injective() -> None:
    assert len(set(MAPS)) == len(MAPS)
    for entry in MAPS:
        for p, q, r, c in product((1, 2, 5, 12), (1, 3, 4), (1, 2), (1, 2, 3, 7)):
            grid = tuple(n if used(entry, name) else 1 for n, name in zip((p, q, r), "pqr", strict=True))
            assert not meets(entry, grid, c), f"{entry} on {grid} with c = {c}"


def test_the_share_that_is_accepted() -> None:
    found = {entry: accepted(entry) for entry in MAPS}
    count = sum(found.values())
    missing = "\n".join(f"  {entry}" for entry, ok in found.items() if not ok)
    print(f"accepted {count} of {len(MAPS)}; not:\n{missing}")
    assert count >= FLOOR
