"""What is proved of random SIMT kernels holds for each thread of small launches.

TILEOPT_SIMT_TRIES sets how many kernels are tried (20000 takes some minutes), TILEOPT_SIMT_FIRST the first one.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import Any

from simt_programs import SimtProgram, launches, probe
from thread_interpreter import Apart, Shared

from tileopt import TileoptError
from tileopt.dialects.bounds import Outcome
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.dialects.simt import Kernel
from tileopt.passes.analysis.elements import elements
from tileopt.passes.analysis.facts import analyse
from tileopt.passes.safety.elide_bounds import element_outcome
from tileopt.passes.safety.verify_ownership import verify_kernel

TRIES = int(os.environ.get("TILEOPT_SIMT_TRIES", "120"))
FIRST = int(os.environ.get("TILEOPT_SIMT_FIRST", "0"))
LAUNCHES = 3


class Reached:
    """Counts the proved accesses that a run comes to."""

    count = 0

    def __call__(self, thread: object, op: Any, index: tuple[int, ...], writes: bool) -> None:
        self.count += op.bounds.outcome is Outcome.PROVED


def try_program(seed: int, seen: Counter[str]) -> None:
    random = Random(seed)
    program = SimtProgram(random)
    try:
        module = program.built()
    except TileoptError:
        seen["refused by the frontend"] += 1
        return
    (kernel,) = module.body.block.ops
    assert isinstance(kernel, Kernel)
    facts = analyse(kernel)
    for element in elements(kernel):
        element.bounds = element_outcome(facts, element)
        seen[element.bounds.outcome] += 1
    try:
        verify_kernel(kernel)
        owned = True
    except OwnershipError:
        owned = False
    stores = "tile.ownership" in kernel.attributes or not owned
    if stores:
        seen["owned" if owned else "not owned"] += 1
    for launch in launches(kernel, random, LAUNCHES):
        reached = Reached()
        try:
            probe(module, launch, reached, owned)
        except Shared as error:
            raise AssertionError(f"seed {seed}: two threads at out{error}, grid {launch.grid}\n{program}") from None
        except Apart:
            seen["lanes apart"] += 1  # one failed a test, and the kernel would have ended there
            continue
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{program}") from None
        seen["runs"] += 1
        seen["proved accesses run"] += reached.count


def test_what_is_proved_holds() -> None:
    seen: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + TRIES):
        try_program(seed, seen)
    print(dict(seen))
    # A proof of nothing is sound and useless.
    assert seen[Outcome.PROVED] > seen[Outcome.CHECKED] // 4
    assert seen["owned"] > seen["not owned"] // 8
    assert seen["proved accesses run"] > TRIES
