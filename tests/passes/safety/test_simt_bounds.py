"""Indices of threads: which are proved inside, and what is said of the others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from simt_tables import Program, check, kernel_of

from tileopt.dialects.bounds import Outcome
from tileopt.dialects.diagnostics import location_of
from tileopt.dialects.simt import Kernel
from tileopt.passes.analysis.elements import elements
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.safety.elide_bounds import element_outcome

I = "i = simt.thread_index()\n"  # noqa: E741


@dataclass(frozen=True)
class Case:
    """A body in which all accesses are proved, but those at the line with `#!`, for a reason that has these words."""

    body: str
    requires: tuple[str, ...] = ()
    reason: tuple[str, ...] = ()
    block: str = "64"

    @property
    def program(self) -> Program:
        contract = f"block={self.block}, requires={list(self.requires)}"
        return Program(self.body, contract=contract)


C = Case
CASES = {
    # Conditions
    "guard": C(I + "if i < len(x):\n    v = x[i]"),
    "guard of another array": C(
        I + "if i < len(out):\n    v = x[i]  #!", reason=("not known to be below", "len(x) >= len(out)")
    ),
    "equal lengths": C(I + "if i < len(out):\n    out[i] = x[i]", ("len(x) == len(out)",)),
    "longer array": C(I + "if i < len(out):\n    out[i] = x[i]", ("len(out) <= len(x)",)),
    "shorter array": C(I + "if i < len(out):\n    v = x[i]  #!", ("len(x) <= len(out)",), ("len(x) >= len(out)",)),
    "longer by one too few": C(I + "if i < len(out):\n    v = x[i + 1]  #!", ("len(x) >= len(out)",)),
    "longer by one": C(I + "if i < len(out):\n    v = x[i + 1]", ("len(x) >= len(out) + 1",)),
    "early return": C(I + "if i >= len(x):\n    return\nv = x[i]"),
    "two conditions in one": C(I + "if 0 < i and i < len(x) - 1:\n    v = x[i - 1] + x[i + 1]"),
    "two conditions in turn": C(I + "if i > 0:\n    if i + 1 < len(x):\n        v = x[i - 1] + x[i + 1]"),
    "only one of them": C(I + "if i + 1 < len(x):\n    v = x[i - 1]  #!", reason=("may be negative",)),
    "or": C(I + "if i < len(x) or i < n:\n    v = x[i]  #!"),
    "else branch": C(I + "if i >= len(x):\n    v = 0.0\nelse:\n    v = x[i]"),
    "not": C(I + "if not (i >= len(x)):\n    v = x[i]"),
    "chain": C("if 0 <= n < len(x):\n    v = x[n]"),
    "no lower bound": C("if n < len(x):\n    v = x[n]  #!", reason=("n may be negative", "n >= 0")),
    "after the condition": C(I + "if i < len(x):\n    v = x[i]\nw = x[i]  #!"),
    "less or equal": C(I + "if i <= len(x):\n    v = x[i]  #!"),
    "assertion": C(I + "assert i < len(x)\nv = x[i]"),
    "assertion about something else": C(I + "assert i < len(out)\nv = x[i]  #!"),
    "before the assertion": C(I + "v = x[i]  #!\nassert i < len(x)\nw = x[i]"),
    "assertion in a branch": C(I + "if n > 0:\n    assert i < len(x)\nv = x[i]  #!"),
    # Loops
    "loop": C("for j in range(len(x)):\n    v = x[j]"),
    "loop to an argument": C("for j in range(n):\n    v = x[j]  #!", reason=("len(x) >= n",)),
    "loop to an argument of the contract": C("for j in range(n):\n    v = x[j]", ("len(x) >= n",)),
    "loop backwards": C("for j in range(len(x) - 1, -1, -1):\n    v = x[j]"),
    "loop one too far": C("for j in range(len(x) + 1):\n    v = x[j]  #!"),
    "loop in steps": C("for j in range(0, len(x) - 3, 4):\n    v = x[j] + x[j + 3]"),
    "loop in steps, unguarded tail": C("for j in range(0, len(x), 4):\n    v = x[j]\n    w = x[j + 3]  #!"),
    "grid-stride": C("for i in simt.grid_stride(len(x)):\n    v = x[i]"),
    "while": C("j = 0\nwhile j < len(x):\n    v = x[j]\n    j = j + 1"),
    "while in steps": C("j = 0\nwhile j + 1 < len(x):\n    v = x[j] + x[j + 1]\n    j += 2"),
    "while in steps of an argument": C("j = 0\nwhile j < len(x):\n    v = x[j]\n    j += n", ("n >= 1", "n < 1000000")),
    "while in steps that may wrap": C("j = 0\nwhile j < len(x):\n    v = x[j]  #!\n    j += n", ("n >= 1",)),
    "while in steps of either length": C(
        "j = 0\nwhile j < len(x):\n    if x[j] > 0.0:\n        j += 2\n    else:\n        j += 1"
    ),
    "while that steps before it looks": C("j = 0\nwhile j < len(x):\n    j += 1\n    v = x[j]  #!"),
    "while down": C("j = len(x) - 1\nwhile j >= 0:\n    v = x[j]\n    j -= 1"),
    "while down too far": C("j = len(x) - 1\nwhile j >= -1:\n    v = x[j]  #!\n    j -= 1"),
    "while from a thread": C("j = simt.thread_index()\nwhile j < len(x):\n    v = x[j]\n    j += 64 * simt.grid_dim()"),
    "while with a break": C("j = 0\nwhile True:\n    if j >= len(x):\n        break\n    v = x[j]\n    j += 1"),
    "halving": C(
        "s, t, d = simt.shared(64), simt.thread_rank(), 32\nwhile d > 0:\n    if t < d:\n"
        "        s[t] += s[t + d]\n    d //= 2"
    ),
    "halving from too far": C(
        "s, t, d = simt.shared(64), simt.thread_rank(), 33\nwhile d > 0:\n    if t < d:\n"
        "        v = s[t + d]  #!\n    d //= 2"
    ),
    "halving by a shift": C(
        "s, t, d = simt.shared(64), simt.thread_rank(), 32\nwhile d > 0:\n    if t < d:\n"
        "        s[t] += s[t + d]\n    d >>= 1"
    ),
    "doubling": C(
        "s, t, d = simt.shared(64), simt.thread_rank(), 1\nwhile d < 64:\n    if t >= d:\n"
        "        v = s[t - d]\n    d *= 2"
    ),
    "binary search": C(
        "lo, hi = 0, len(x)\nwhile lo < hi:\n    mid = (lo + hi) // 2\n    if x[mid] < 1.0:\n        lo = mid + 1\n"
        "    else:\n        hi = mid"
    ),
    "binary search from one too far": C(
        "lo, hi = 0, len(x) + 1\nwhile lo < hi:\n    mid = (lo + hi) // 2\n    if x[mid] < 1.0:  #!\n"
        "        lo = mid + 1\n"
        "    else:\n        hi = mid"
    ),
    "two places": C(
        "i, j = 0, 0\nwhile i < len(x) and j < len(out):\n    if x[i] < out[j]:\n        i += 1\n    else:\n"
        "        j += 1"
    ),
    "around": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    for _ in range(len(x)):\n        v = x[h]\n"
        "        h = (h + 1) % len(x)"
    ),
    "around by a condition": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    for _ in range(len(x)):\n        v = x[h]\n"
        "        h = h + 1 if h + 1 < len(x) else 0"
    ),
    "around, but one too far": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    for _ in range(len(x)):\n        v = x[h]  #!\n"
        "        h = h + 1 if h < len(x) else 0"
    ),
    "where a search ended": C(
        "lo, hi = 0, len(x)\nwhile lo < hi:\n    mid = (lo + hi) // 2\n    if x[mid] < 1.0:\n        lo = mid + 1\n"
        "    else:\n        hi = mid\nif lo < len(x):\n    v = x[lo]\nw = x[lo]  #!"
    ),
    "where a probe ended": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    while x[h] > 0.0:\n"
        "        h = (h + 1) % len(x)\n    v = x[h]"
    ),
    "where a probe ended, or behind it": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    while x[h] > 0.0:\n"
        "        h = (h + 1) % len(x)\n    v = x[h + 1]  #!"
    ),
    "where a counted probe ended": C(
        "if len(x) > 0:\n    h = simt.thread_index() % len(x)\n    for _ in range(len(x)):\n"
        "        if x[h] > 0.0:\n            h = (h + 1) % len(x)\n    v = x[h]"
    ),
    "where a count ended": C("j = 0\nwhile j < n:\n    j += 1\nif j <= len(x) and n > 0:\n    v = x[n - 1]"),
    "where a count did not end": C("j = 0\nwhile j < n:\n    j += 1\nif j <= len(x):\n    v = x[n - 1]  #!"),
    # Bits
    "number of bits": C("s = simt.shared(33)\nv = s[simt.popc(simt.ballot(n > 0))] + s[simt.clz(simt.u32(n))]"),
    "place among lanes": C("s = simt.shared(32)\nv = s[simt.popc(simt.ballot(n > 0) & simt.lane_mask('lt'))]"),
    "place among lanes, this one too": C(
        "s = simt.shared(32)\nv = s[simt.popc(simt.ballot(n > 0) & simt.lane_mask('le'))]  #!"
    ),
    "first bit": C("s = simt.shared(33)\nv = s[simt.ffs(simt.u32(n))]"),
    "number of bits in too little": C("s = simt.shared(32)\nv = s[simt.popc(simt.ballot(n > 0))]  #!"),
    "each bit": C(
        "s, b = simt.shared(32), simt.ballot(n > 0)\nwhile b != 0:\n    s[simt.ffs(b) - 1] = 1.0\n    b &= b - 1"
    ),
    "each bit but the last": C(
        "s, b = simt.shared(31), simt.ballot(n > 0)\nwhile b != 0:\n    s[simt.ffs(b) - 1] = 1.0  #!\n    b &= b - 1"
    ),
    "a bit that may not be there": C("s = simt.shared(32)\nv = s[simt.ffs(simt.ballot(n > 0)) - 1]  #!"),
    "highest bit": C("s = simt.shared(64)\nif n > 0:\n    v = s[63 - simt.clz(n)]"),
    "highest bit of 0": C("s = simt.shared(64)\nif n >= 0:\n    v = s[63 - simt.clz(n)]  #!"),
    "tiles of a block": C(
        """
        t = simt.thread_rank()
        for base in range(0, len(x), 64):
            if base + t < len(x):
                v = x[base + t]
        """
    ),
    # Products of unknowns
    "row of a flat matrix": C(
        "row = simt.block_idx()\nif row < m:\n    for j in range(k):\n        v = x[row * k + j]", ("len(x) >= m * k",)
    ),
    "row of a flat matrix, no contract": C(
        "row = simt.block_idx()\nif row < m:\n    for j in range(k):\n        v = x[row * k + j]  #!",
        reason=("len(x) >= m * k",),
    ),
    "flat product": C(
        """
        row, col = simt.thread_index_2d()
        if row < m and col < n:
            s = 0.0
            for j in range(k):
                s += x[row * k + j] * x[j * n + col]
        """,
        ("len(x) >= m * k", "len(x) >= k * n"),
        block="(16, 16)",
    ),
    "flat column beyond the row": C(
        "row = simt.block_idx()\nif row < m:\n    for j in range(k + 1):\n        v = x[row * k + j]  #!",
        ("len(x) >= m * k",),
    ),
    "flat with three extents": C(
        """
        b = simt.block_idx()
        if b < n:
            for i in range(m):
                for j in range(k):
                    v = x[(b * m + i) * k + j]
        """,
        ("len(x) >= n * m * k", "m < 100000", "k < 100000", "n < 100000"),
    ),
    "two axes": C(
        "row, col = simt.thread_index_2d()\nif row < len(a) and col < a.shape[1]:\n    v = a[row, col]", block="(8, 8)"
    ),
    "two axes exchanged": C(
        "row, col = simt.thread_index_2d()\nif row < len(a) and col < a.shape[1]:\n    v = a[col, row]  #!",
        block="(8, 8)",
    ),
    "square": C(
        "row, col = simt.thread_index_2d()\nif row < len(a) and col < a.shape[1]:\n    v = a[col, row]",
        ("len(a) == a.shape[1]",),
        block="(8, 8)",
    ),
    # Arithmetic
    "reversed": C(I + "if i < len(x):\n    v = x[len(x) - 1 - i]"),
    "half": C(I + "if i < 2 * len(x):\n    v = x[i // 2]"),
    "double": C(I + "if i < len(x) // 2:\n    v = x[2 * i] + x[2 * i + 1]"),
    "double and one more": C(I + "if i < len(x) // 2:\n    v = x[2 * i + 2]  #!"),
    "clamped": C(I + "if len(x) > 0:\n    v = x[max(0, min(i - 3, len(x) - 1))]"),
    "clamped in an empty array": C(I + "v = x[min(i, len(x) - 1)]  #!", reason=("len(x) >= 1",)),
    "chosen": C(I + "if i < len(x):\n    v = x[i - 1 if i > 0 else 0]"),
    "wrapped around": C(I + "if i < len(x):\n    v = x[(i + 1) % len(x)]"),
    "remainder by a constant": C(I + "v = x[i % 16]", ("len(x) >= 16",)),
    "remainder by too much": C(I + "v = x[i % 17]  #!", ("len(x) >= 16",), ("len(x) >= 17",)),
    "quotient and remainder": C(I + "if i < 8 * len(a):\n    v = a[i // 8, i % 8]", ("a.shape[1] == 8",)),
    "lanes": C("s = simt.shared(2)\ns[simt.thread_rank() // 32] = 1.0"),
    "shared, one too far": C("s = simt.shared(64)\nv = s[simt.thread_rank() + 1]  #!", reason=("below 64",)),
    "bits": C("s = simt.shared(64)\nv = s[simt.thread_rank() ^ 32]"),
    "a sum that may wrap": C("if n + 1 < len(x) and n >= 0:\n    v = x[n + 1]  #!", reason=("beyond 64 bits",)),
    "a sum that cannot": C("if n < len(x) - 1 and n >= 0:\n    v = x[n + 1]"),
    "a product that may wrap": C("if n * m < len(x) and n >= 0 and m >= 0:\n    v = x[n]  #!"),
    # Data
    "index from memory": C(I + "if i < len(idx):\n    v = x[idx[i]]  #!", reason=("may be negative",)),
    "index from memory, tested": C(
        I + "if i < len(idx):\n    j = idx[i]\n    if 0 <= j and j < len(x):\n        v = x[j]"
    ),
    "row parts": C(I + "if i < len(a):\n    for v in a.row(i):\n        w = v"),
    "row of an untested number": C("for v in a.row(n):  #!\n    w = v"),
    "window": C(I + "if 4 * i + 4 <= len(x):\n    w = x.window(4 * i, 4)\n    v = w[0] + w[3]"),
    "zip": C("s = 0.0\nfor v, w in zip(x, out):\n    s += v * w"),
}


def outcomes(kernel: Kernel) -> list[tuple[bool, str, str]]:
    """Of each access: whether it stands at a marked line, outcome, reason."""
    facts = analyse(kernel)
    found = []
    for element in elements(kernel):
        place, bounds = location_of(element), element_outcome(facts, element)
        marked = place is not None and "#!" in (place.snippet() or "")
        found.append((marked, bounds.outcome, bounds.reason))
    return found


@pytest.mark.parametrize("name", CASES)
def test_bounds(name: str) -> None:
    case = CASES[name]
    found = outcomes(kernel_of(case.program))
    assert found
    checked = [reason for _, outcome, reason in found if outcome is Outcome.CHECKED]
    for marked, outcome, reason in found:
        if not marked:
            assert outcome is Outcome.PROVED, reason
    assert bool(checked) == ("#!" in case.body), found
    for word in case.reason:
        assert any(word in reason for reason in checked), checked


def deny(kernel: Kernel) -> None:
    facts = analyse(kernel)
    for element in elements(kernel):
        element_outcome(facts, element, deny_checks=True)


@pytest.mark.parametrize("name", ["guard of another array", "row of a flat matrix, no contract", "index from memory"])
def test_checks_can_be_denied(name: str) -> None:
    case = CASES[name]
    words = tuple(r for r in case.reason if ">=" in r) or ("behind a condition",)
    check(Program(case.body, "bounds/unproved", words, case.program.contract), deny)


@pytest.mark.parametrize("name", ["guard", "flat product", "window"])
def test_nothing_to_deny(name: str) -> None:
    check(CASES[name].program, deny)


def test_a_proposed_requirement_proves() -> None:
    """What a reason proposes leaves nothing to check where it is added."""
    proposed = 0
    for case in CASES.values():
        for _, _, reason in outcomes(kernel_of(case.program)):
            if "requires " in reason:
                relations = reason.split("requires ")[1].removesuffix(" proves it").split(" and ")
                better = Case(case.body, (*case.requires, *relations), (), case.block)
                assert all(outcome is Outcome.PROVED for _, outcome, _ in outcomes(kernel_of(better.program))), case
                proposed += 1
    assert proposed >= 6
