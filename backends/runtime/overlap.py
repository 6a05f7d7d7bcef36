"""Whether strided arrays share bytes: exact where a bounded search decides it, and None where it does not.

Both questions are one: has `sum(coefficient_i * x_i) = target` a solution with `0 <= x_i <= bound_i` (and, for an array
with itself, two different index vectors)? Terms go from the largest coefficient to the smallest; the search keeps to
what the rest can still reach and to what the gcd of the rest divides, so it ends after few steps for the arrays that
people have: slices, transposes, interleaved columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from tileopt.backends.runtime.arrays import ArrayInfo, byte_range

BUDGET = 10_000  # steps of one search, a few milliseconds


class _Undecided(Exception):
    """The budget is spent."""


def shares_bytes(a: ArrayInfo, b: ArrayInfo, budget: int = BUDGET) -> bool | None:
    """Whether any byte belongs to both arrays. None: not decided within the budget."""
    if a.empty or b.empty:
        return False
    (low_a, high_a), (low_b, high_b) = byte_range(a), byte_range(b)
    if a.pointer + high_a <= b.pointer + low_b or b.pointer + high_b <= a.pointer + low_a:
        return False
    # First byte of an element of a, plus a byte inside it, equals the same of b. With all strides made positive, b's
    # indices are counted from its other end, which turns the difference into a sum.
    terms = [*_terms(a), *_terms(b), (1, a.itemsize - 1), (1, b.itemsize - 1)]
    return _search(terms, b.pointer + high_b - 1 - (a.pointer + low_a), budget)


def overlaps_itself(a: ArrayInfo, budget: int = BUDGET) -> bool | None:
    """Whether two different indices of the array name one element. None: not decided within the budget."""
    if a.empty:
        return False
    axes = sorted((abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1)
    reach = 0  # of all smaller axes, in elements
    plain = True
    for stride, extent in axes:
        if stride == 0:
            return True
        plain = plain and stride > reach
        reach += stride * (extent - 1)
    if plain:
        return False
    # Two indices that meet differ by some d: sum(s_i * d_i) = 0, |d_i| < n_i and, up to sign, first nonzero d_k > 0.
    # With e_i = d_i + (n_i - 1) >= 0 for i > k and e_k = d_k - 1 this is the same kind of search.
    axes.reverse()
    for k, (stride, extent) in enumerate(axes):
        rest = axes[k + 1 :]
        terms = [(stride, extent - 2), *((s, 2 * (n - 1)) for s, n in rest)]
        target = sum(s * (n - 1) for s, n in rest) - stride
        found = _search(terms, target, budget)
        if found is not False:
            return found
    return False


def _terms(a: ArrayInfo) -> list[tuple[int, int]]:
    return [(abs(s) * a.itemsize, n - 1) for s, n in zip(a.strides, a.shape, strict=True) if n > 1 and s]


def _search(terms: Iterable[tuple[int, int]], target: int, budget: int) -> bool | None:
    """Whether sum(c_i * x_i) = target for some 0 <= x_i <= bound_i; coefficients are positive."""
    merged: dict[int, int] = {}
    for coefficient, bound in terms:
        if bound > 0:
            merged[coefficient] = merged.get(coefficient, 0) + bound
    ordered = sorted(merged.items(), reverse=True)
    reach, divisor = [0], [0]  # of the terms from i on, filled from the end
    for coefficient, bound in reversed(ordered):
        reach.append(reach[-1] + coefficient * bound)
        divisor.append(gcd(divisor[-1], coefficient))
    reach.reverse()
    divisor.reverse()
    steps = 0

    def solve(i: int, left: int) -> bool:
        nonlocal steps
        steps += 1
        if steps > budget:
            raise _Undecided
        if left < 0 or left > reach[i]:
            return False
        if left == 0:
            return True
        if i == len(ordered) or left % divisor[i]:
            return False
        coefficient, bound = ordered[i]
        # What the smaller terms cannot reach, this one must give.
        least = max(0, -((reach[i + 1] - left) // coefficient))
        most = min(bound, left // coefficient)
        return any(solve(i + 1, left - coefficient * x) for x in range(most, least - 1, -1))

    try:
        return solve(0, target)
    except _Undecided:
        return None
