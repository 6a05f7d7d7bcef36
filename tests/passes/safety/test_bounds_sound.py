"""What elide-bounds and infer-facts say of random accesses holds for every block of small launches."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import numpy as np
from grid_programs import Event, GridProgram, GridRun, launches
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.passes.analysis.accesses import accesses, inside, vector_of
from tileopt.passes.analysis.elements import elements
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.safety.elide_bounds import element_outcome, outcome

SEEN: Counter[str] = Counter()


def check_bounds(run: GridRun, event: Event, bounds: BoundsAttr) -> None:
    extents = run.program.extents
    for block in np.flatnonzero(event.active):
        inside = [
            0 <= int(offset[block]) and int(offset[block]) + extent <= dim
            for offset, extent, dim in zip(event.offsets, extents, run.dims, strict=True)
        ]
        for axis, within in enumerate(inside):
            assert within or axis in bounds.axes, f"axis {axis} of {event.op}"
        if bounds.outcome is Outcome.MASKED:
            assert not all(inside), f"{event.op} is inside"


def check_vector(run: GridRun, event: Event, vector: int, strides: tuple[int, ...]) -> None:
    extents = run.program.extents
    assert extents[-1] % vector == 0
    for block in np.flatnonzero(event.active):
        begin = [int(o[block]) for o in event.offsets]
        for index in product(*(range(e) for e in extents[:-1]), range(0, extents[-1], vector)):
            coordinate = [b + i for b, i in zip(begin, index, strict=True)]
            outer = all(0 <= c < d for c, d in zip(coordinate[:-1], run.dims[:-1], strict=True))
            within = {0 <= coordinate[-1] + k < run.dims[-1] for k in range(vector)}
            assert len(within) == 1, f"{event.op}: elements of one group inside and outside"
            if outer and within == {True}:
                address = sum(c * s for c, s in zip(coordinate, strides, strict=True))
                assert address % vector == 0, f"{event.op} at {coordinate}"


@settings(max_examples=500)
@given(st.integers(0, 2**32))
def test_outcomes_hold_for_each_block(seed: int) -> None:
    random = Random(seed)
    program = GridProgram(random, bounds=random.random() < 0.6)
    facts = analyse(program.kernel)
    bounds = {op: outcome(facts, op) for op in accesses(program.kernel)}
    vectors = {op: vector_of(facts, op, inside(facts, op), 16) for op in accesses(program.kernel)}
    SEEN.update(b.outcome.value for b in bounds.values())
    SEEN.update(f"vector {v}" for v in vectors.values())
    for run in launches(program, random, 4):
        strides = tuple(d * random.randint(0, 3) for d in program.stride_divisors[:-1]) + (1,)
        for event in run.events:
            check_bounds(run, event, bounds[event.op])
            check_vector(run, event, vectors[event.op], strides)


@settings(max_examples=200)
@given(st.integers(0, 2**32))
def test_elements_of_threads_are_where_they_were_proved(seed: int) -> None:
    random = Random(seed)
    program = GridProgram(random, bounds=random.random() < 0.6, threads=True)
    facts = analyse(program.kernel)
    bounds = {op: element_outcome(facts, op) for op in elements(program.kernel)}
    SEEN.update(f"element {b.outcome.value}" for b in bounds.values())
    for run in launches(program, random, 4):
        for event in run.events:
            check_bounds(run, event, bounds[event.op])


def test_each_outcome_was_seen() -> None:
    """The test above would prove nothing if all accesses were hoisted."""
    if not SEEN:
        test_outcomes_hold_for_each_block()
    if not SEEN["element proved"]:
        test_elements_of_threads_are_where_they_were_proved()
    assert SEEN["element proved"] > SEEN["element checked"] // 20 > 0
    total = sum(SEEN[outcome.value] for outcome in (Outcome.PROVED, Outcome.HOISTED, Outcome.MASKED))
    assert SEEN[Outcome.PROVED] > total // 20
    assert SEEN[Outcome.MASKED] > 0
    assert SEEN["vector 2"] > 0 and SEEN["vector 4"] > 0
