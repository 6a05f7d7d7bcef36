"""Unrolled stores: the same is accepted and refused as in loops, and the work does not grow with the pairs."""

from __future__ import annotations

from typing import Any

import pytest
from simt_tables import Program, check, kernel_of

from tileopt.passes.analysis.affine import Expr
from tileopt.passes.safety import families, owned_accesses
from tileopt.passes.safety.disjoint import Meeting
from tileopt.passes.safety.families import common
from tileopt.passes.safety.verify_ownership import verify_kernel

MEET, FOREIGN = "ownership/overlapping-stores", "ownership/foreign-read"
P = Program
HEAD = "i = simt.thread_index()\nfor e in simt.static_range({}):\n"
PAIR = "r, q = simt.thread_index_2d()\nfor e in simt.static_range(4):\n    for f in simt.static_range(4):\n"
PLACED = "place = lambda p, e: p * 4 + (e % 4 + 16 * (e // 4))\nt, b = simt.thread_rank() % 4, simt.block_idx()\n"

PROGRAMS = {
    "runs": P(HEAD.format(6) + "    if 6 * i + e < len(out):\n        out[6 * i + e] = 1.0"),
    "runs without a test": P(HEAD.format(6) + "    out[6 * i + e] = 1.0"),
    "runs of one too many": P(HEAD.format(7) + "    if 6 * i + e < len(out):\n        out[6 * i + e] = 1.0  #!", MEET),
    "reversed runs": P(HEAD.format(6) + "    if 6 * i + e < len(out):\n        out[len(out) - 1 - 6 * i - e] = 1.0"),
    "updates": P(HEAD.format(6) + "    if 6 * i + e < len(out):\n        out[6 * i + e] += 1.0"),
    "reads of the next run": P(
        HEAD.format(6) + "    if 6 * i + e + 1 < len(out):\n        out[6 * i + e] = out[6 * i + e + 1]  #!", FOREIGN
    ),
    "two axes": P(
        PAIR + "        if r * 4 + e < len(c) and q * 4 + f < c.shape[1]:\n            c[r * 4 + e, q * 4 + f] = 1.0",
        contract="block=(4, 4)",
    ),
    "two axes, one of them too long": P(
        PAIR + "        if r * 4 + e < len(c) and q * 3 + f < c.shape[1]:\n"
        "            c[r * 4 + e, q * 3 + f] = 1.0  #!",
        MEET,
        contract="block=(4, 4)",
    ),
    "places apart": P(
        PLACED + "for e in simt.static_range(8):\n    j = 32 * b + place(t, e)\n"
        "    if j < len(out):\n        out[j] = 1.0",
        contract="block=4",
    ),
    "places that meet": P(
        PLACED + "for e in simt.static_range(8):\n    j = 31 * b + place(t, e)\n"
        "    if j < len(out):\n        out[j] = 1.0  #!",
        MEET,
        contract="block=4",
    ),
    "rows of a flat matrix": P(
        "r, q = simt.thread_index_2d()\nfor e in simt.static_range(4):\n"
        "    if 4 * r + e < m and q < n:\n        out[(4 * r + e) * n + q] = 1.0",
        contract="block=(8, 8), requires=['len(out) >= m * n', 'm < 100000', 'n < 100000']",
    ),
    "rows of a flat matrix, one too many": P(
        "r, q = simt.thread_index_2d()\nfor e in simt.static_range(5):\n"
        "    if 4 * r + e < m and q < n:\n        out[(4 * r + e) * n + q] = 1.0  #!",
        MEET,
        contract="block=(8, 8), requires=['len(out) >= m * n', 'm < 100000', 'n < 100000', 'n >= 1', 'm >= 9']",
    ),
    "grid-stride": P(
        "i, n0 = simt.thread_index(), 64 * simt.grid_dim()\nfor e in simt.static_range(5):\n"
        "    if i + e * n0 < len(out):\n        out[i + e * n0] = 1.0"
    ),
    "grid-stride, one thread short": P(
        "i, n0 = simt.thread_index(), 64 * simt.grid_dim() - 1\nfor e in simt.static_range(5):\n"
        "    if i + e * n0 < len(out):\n        out[i + e * n0] = 1.0  #!",
        MEET,
    ),
    "two stores, rows apart": P(
        "i = simt.thread_index()\nif i < n:\n    out[2 * n * simt.i64(0) + i] = 1.0\n    out[n + i] = 1.0",
        contract="block=64, requires=['len(out) >= 2 * n', 'n < 100000']",
    ),
    "two stores, rows apart, that are too long": P(
        "i = simt.thread_index()\nif i <= n:\n    out[i] = 1.0\n    out[n + i] = 1.0  #!",
        MEET,
        contract="block=64, requires=['len(out) >= 2 * n + 1', 'n < 100', 'n >= 1']",
    ),
    "stores under conditions of their own": P(
        "i = simt.thread_index()\nif i < 5:\n    out[2 * i] = 1.0\nif i >= 9:\n    out[2 * i + 1] = 1.0\n"
        "if i > 20:\n    out[2 * i] = 2.0"
    ),
    "stores that meet under conditions": P(
        "i = simt.thread_index()\nif i < 5:\n    out[2 * i] = 1.0\nif i >= 9:\n    out[2 * i + 1] = 1.0\n"
        "if i > 20:\n    out[2 * i - 42] = 2.0  #!",
        MEET,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_unrolled(name: str) -> None:
    check(PROGRAMS[name], verify_kernel)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name].code is None])
def test_pair_by_pair_says_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together, apart = kernel_of(PROGRAMS[name]), kernel_of(PROGRAMS[name])
    verify_kernel(together)
    monkeypatch.setattr(families, "MEMBERS_MIN", 1 << 30)
    verify_kernel(apart)
    assert str(together) == str(apart)


@pytest.mark.parametrize("count", [8, 64])
def test_the_work_is_not_that_of_all_pairs(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    class Counted(Meeting):
        def __init__(self, *args: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*args)

    monkeypatch.setattr(families, "Meeting", Counted)
    monkeypatch.setattr(owned_accesses, "Meeting", Counted)
    body = HEAD.format(count) + f"    if {count} * i + e < len(out):\n        out[{count} * i + e] += 1.0"
    verify_kernel(kernel_of(P(body)))
    assert count <= made <= 4 * count  # of more than count * count pairs


def test_stores_of_one_kind_are_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def meetings(count: int) -> int:
        made: list[Meeting] = []

        class Counted(Meeting):
            def __init__(self, *args: Any) -> None:
                made.append(self)
                super().__init__(*args)

        monkeypatch.setattr(families, "Meeting", Counted)
        monkeypatch.setattr(owned_accesses, "Meeting", Counted)
        verify_kernel(
            kernel_of(
                P(
                    f"r, q = simt.thread_index_2d()\nfor e in simt.static_range({count}):\n"
                    "    if r < len(c) and 8 * q + e % 2 < c.shape[1]:\n        c[r, 8 * q + e % 2] = 1.0",
                    contract="block=(4, 4)",
                )
            )
        )
        return len(made)

    assert meetings(4) == meetings(40) < 10


def test_what_is_common() -> None:
    from tileopt.passes.analysis.choices import Symbols
    from tileopt.passes.analysis.ranges import Interval

    symbols = Symbols()
    x, y = (Expr.symbol(symbols.leaf("argument", name, Interval(-9, 9))) for name in "xy")
    assert common([[x - 3, y, x - 5], [x - 4, -y], [x + 1, y - 1]]) == [x + 1]
    assert common([[x - 3, y], [y + 2, x - 3]]) == [x - 3, y + 2]
    assert common([[], [x]]) == common([]) == []
