"""What a launch costs beside its kernel, on the CPU: the checks, and the short cut that native code takes.

An empty kernel of one block, on arrays that it has seen: what is left is the launch. `without checks` is the same
launch with the pairs of arrays that may not meet left out of its plan; the rivals take turns, and each row is the least
of many rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from tileopt import tile
from tileopt.backends.runtime import fast_plan
from tileopt.backends.runtime.dispatch import Dispatcher
from tileopt.frontends.kernel import Kernel

CHECKS = {3: 0.3, 19: 1.0}  # microseconds that checks may cost
ROUNDS, LAUNCHES = 40, 2000


@tile.kernel
def nothing_3(a: tile.In, b: tile.In, out: tile.Out):
    pass


@tile.kernel
def nothing_19(
    a: tile.In, b: tile.In, c: tile.In, d: tile.In, e: tile.In, f: tile.In, g: tile.In, h: tile.In, i: tile.In,
    j: tile.In, k: tile.In, m: tile.In, n: tile.In, o: tile.In, p: tile.In, q: tile.In, r: tile.In, s: tile.In,
    out: tile.Out,
):  # fmt: skip
    pass


def launcher(kernel: Kernel, arrays: list[np.ndarray], *, checks: bool, short: bool, runs: bool) -> Callable[[], None]:
    """A launch by a dispatcher of its own; without `runs` everything but the kernel's own function is done."""
    dispatcher = Dispatcher(kernel)  # type: ignore[arg-type]
    launch = dispatcher.launch
    grid, args = (1,), tuple(arrays)
    launch(grid, args, {})
    (entry,) = dispatcher._state.entries.values()
    ((key, plan),) = entry.plans.items()
    run = plan.run if runs else lambda buffer, extents, stream: None
    entry.plans[key] = replace(plan, run=run, pairs=plan.pairs if checks else (), free=[], fast=None)
    if not short:
        entry.plans[key].uses = fast_plan.USES + 1  # it was not found to have a short cut
    for _ in range(2 * fast_plan.USES):
        launch(grid, args, {})
    assert bool(dispatcher._fasts) is short
    return lambda: launch(grid, args, {})


def least(rivals: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Microseconds a launch, the least of all rounds; the rivals take turns."""
    found = dict.fromkeys(rivals, float("inf"))
    for _ in range(ROUNDS):
        for name, launch in rivals.items():
            start = time.perf_counter()
            for _ in range(LAUNCHES):
                launch()
            found[name] = min(found[name], (time.perf_counter() - start) / LAUNCHES * 1e6)
    return found


def launch_costs(console: Console) -> None:
    """The table."""
    table = Table("arguments", "launch", "all but the kernel", "without checks", "checks", "may cost", "long way")
    for kernel in (nothing_3, nothing_19):
        count = len(kernel.parameters)
        arrays = [np.zeros(16, np.float32) for _ in range(count)]
        found = least(
            {
                "launch": launcher(kernel, arrays, checks=True, short=True, runs=True),
                "empty": launcher(kernel, arrays, checks=True, short=True, runs=False),
                "free": launcher(kernel, arrays, checks=False, short=True, runs=False),
                "long": launcher(kernel, arrays, checks=True, short=False, runs=False),
            }
        )
        numbers = [found["launch"], found["empty"], found["free"], found["empty"] - found["free"], CHECKS[count]]
        table.add_row(str(count), *(f"{n:.2f} us" for n in (*numbers, found["long"])))
    console.print(table)
