"""A fixed corpus of index maps under which no two blocks meet, easy and hard: how many are proved may only grow.

`p`, `q`, `r` are block ids, `P`, `Q`, `R` the grid's extents, `c` an argument of at least 1. Each map is the index, in
tiles of 4 by 4, that a block stores to. `loops` repeat the store with `t`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Map:
    """`row`, `column`: the index. `before`: statements. `loop`: the head of a loop around the store, over `t`."""

    row: str
    column: str = "0"
    before: str = ""
    loop: str = ""


M = Map
MAPS = [
    # Ids as they are, in any order, shifted, spread, reversed
    M("p"), M("q", "p"), M("p", "q"), M("p + 3"), M("3 * p"), M("3 * p + 2", "2 * q + 1"), M("P - 1 - p"),
    M("P - 1 - p", "Q - 1 - q"), M("p + P * q"), M("q * P + p", "r"), M("p * Q + q"), M("(p * Q + q) * R + r"),
    M("p * c"), M("p + c"), M("c - p + 100"), M("2 * (3 * p + 1)"), M("p", "q * R + r"), M("r * Q + q", "p"),
    # One id taken apart
    M("p // 4", "p % 4"), M("p % 4", "p // 4"), M("p // c", "p % c"), M("p % c", "p // c"),
    M("p // (4 * 3)", "p % (4 * 3)"), M("p // 6", "p // 3 % 2 * 3 + p % 3"), M("p // 2 * 2 + p % 2"),
    M("p // c * c + p % c"), M("p // 4 * 4 + 3 - p % 4"), M("p // c", "c - 1 - p % c"),
    M("p % 4 * 100 + p // 4"), M("(p + 5) // 4", "(p + 5) % 4"), M("(P - 1 - p) // c", "(P - 1 - p) % c"),
    M("p // 8 * 2 + p % 2", "p // 2 % 4"), M("p // (2 * c)", "p % (2 * c)"),
    M("(p * Q + q) // c", "(p * Q + q) % c"), M("p // 7", "p % 7"), M("p // c * 2 + 1", "p % c * 3"),
    # Groups of rows, the last one smaller
    M("first + p % (3 * c) % rows", "p % (3 * c) // rows",
      before="first = p // (3 * c) * 3\nrows = tile.minimum(100 - first, 3)"),
    M("first + p % rows", "p // rows % c", before="first = p // (2 * c) * 2\nrows = 2"),
    # Diagonals, rotations and other permutations
    M("p", "(p + q) % Q"), M("(p + q) % P", "q"), M("p", "p + q"), M("p + q", "q"), M("p - q + 100", "q"),
    M("p", "(q + 1) % Q"), M("p", "(Q - 1 - q + p) % Q"), M("(p + 1) % P"), M("p", "(q + c) % Q"),
    M("tile.where(p % 2 == 0, p, p)"), M("tile.where(p < 3, p, p + 7)"), M("tile.where(p % 2 == 0, p + 1, p - 1)"),
    M("tile.where(p < c, p, p + c)"), M("tile.where(p == 0, 0, 2 * p)"), M("tile.minimum(p, p + 1)"),
    M("tile.maximum(p, 0)"), M("p ^ 1"), M("p ^ 5"), M("p ^ (p >> 1)"), M("p << 2"), M("(p << 3) | 5"), M("p | 0"),
    M("(p >> 2 << 2) + (p & 3)"), M("p >> 2", "p & 3"), M("p", "q ^ (p & 1)"), M("(p & 1) * 64 + (p >> 1)"),
    # Polynomials
    M("p * p"), M("p * (p + 1) // 2"), M("p * p + p"), M("(p + q) * (p + q + 1) // 2 + q"), M("p * p", "q"),
    M("p * (c + 1)"), M("p * c * c"), M("p * c + c"), M("2 * p + p // 100"), M("p + p // 4"), M("p * 5 // 4"),
    M("(3 * p + 1) // 2"), M("p * 7 % 1009"), M("-p + 50"), M("5 * p - 3 * p"),
    # Several tiles a block
    M("4 * p + t", loop="range(4)"), M("t * P + p", loop="range(3)"), M("t", loop="range(p, 40, P)"),
    M("t // c", "t % c", loop="range(p, 40, P)"), M("p", "t", loop="range(c)"), M("c * p + t", loop="range(c)"),
    M("t", "q", loop="range(p * 5, p * 5 + 5)"), M("39 - t", loop="range(p, 40, P)"),
    M("p", "t * Q + q", loop="range(3)"), M("t // 2", "t % 2", loop="range(4 * p, 4 * p + 4)"),
    M("t", loop="range(p, 60, 2 * P)"), M("2 * t + q % 2", "q // 2", loop="range(p, 20, P)"),
]  # fmt: skip
