"""verify-ownership never accepts a kernel of which two blocks meet at one element.

TILEOPT_OWNERSHIP_TRIES sets how many random kernels are tried (20000 takes minutes).
"""

from __future__ import annotations

import os
from random import Random

import pytest
from grid_programs import GridProgram, launches

from tileopt.dialects.diagnostics import OwnershipError
from tileopt.passes.safety.verify_ownership import OWNERSHIP, UNUSED_AXES, verify_kernel

TRIES = int(os.environ.get("TILEOPT_OWNERSHIP_TRIES", "600"))


@pytest.mark.parametrize("threads", [False, True])
def test_accepted_kernels_do_not_collide(threads: bool) -> None:
    accepted = 0
    for seed in range(TRIES // 2):
        random = Random(seed)
        program = GridProgram(random, threads=threads)
        try:
            verify_kernel(program.kernel)
        except OwnershipError:
            continue
        accepted += 1
        assert OWNERSHIP in program.kernel.attributes and UNUSED_AXES in program.kernel.attributes
        for run in launches(program, random, 6):
            assert not run.collides(), f"seed {seed}, grid {run.grid}, array {run.dims}:\n{program.kernel}"
    # A verifier that refuses everything is sound and useless.
    assert accepted > TRIES // 20


def test_an_error_names_blocks_that_meet() -> None:
    """Where an error names two blocks, a run of a grid that holds them shows a collision in most cases."""
    named = shown = 0
    for seed in range(min(TRIES, 200)):
        random = Random(seed)
        program = GridProgram(random)
        try:
            verify_kernel(program.kernel)
        except OwnershipError as error:
            if "both write" in error.message:
                named += 1
                shown += any(run.collides() for run in launches(program, random, 12))
    assert named > 0 and shown >= named * 0.9
