"""The facts of random scalar programs hold in every run of them."""

from __future__ import annotations

from random import Random

import scalar_programs
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.passes.analysis.facts import analyse


@settings(max_examples=400)
@given(st.integers(0, 2**32))
def test_facts_hold_in_each_run(seed: int) -> None:
    random = Random(seed)
    kernel = scalar_programs.Writer(random).kernel
    facts = analyse(kernel)
    for _ in range(6):
        try:
            scalar_programs.Run(kernel, facts, random)
        except scalar_programs.Stopped:
            continue
