"""Forms of the tiled SGEMM kernels: tiles, threads, steps, and the rule that says which suit a size. Needs no GPU.

`python -m benchmarks.sgemm_forms` prints the rule's choice at each size.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import Any

from tileopt import simt

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "simt"))

import sgemm_even as even
import sgemm_ring as ring

SIZES = [1024, 2048, 4096, 8192]
SCHEDULERS = 4  # of a multiprocessor: each issues an instruction a cycle
# Instructions of a step that neither multiply nor read tiles, as nvdisasm shows them: of any step, of each four
# elements that a thread brings, and to find a place in a ring whose length is no power of two.
STEP, FOUR, ROUND = 25, 5, 30
# What a scheduler could have issued while it waits: for each line of the sums (34 makes the rule agree with what
# SMALL and LARGE reached on an H200), and at the barrier of a step where no other block runs meanwhile.
LATENCY, BARRIER = 34, 100


@dataclass(frozen=True)
class Form:
    """A form of `sgemm_even`, or with `stages` of `sgemm_ring`: warps along rows and columns, sums a thread, steps at a
    time; `blocks` shall fit on a multiprocessor; `ahead`: what is multiplied next is read before; `slices` of the
    warps have a part of the steps each; `group` tiles one below the other are of blocks that follow each other."""

    warps: tuple[int, int]
    sums: tuple[int, int]
    steps: int
    blocks: int
    ahead: int = 0
    stages: int = 0
    slices: int = 1
    group: int = 1

    @property
    def tile(self) -> tuple[int, int]:
        return 4 * self.sums[0] * self.warps[0], 8 * self.sums[1] * self.warps[1]

    @property
    def threads(self) -> int:
        return 32 * self.warps[0] * self.warps[1] * self.slices

    @property
    def constants(self) -> dict[str, int]:
        """The kernel's compile-time constants."""
        (TM, TN), (WR, WC) = self.sums, self.warps
        found = {"TM": TM, "TN": TN, "WR": WR, "WC": WC, "K": self.steps, "AHEAD": self.ahead}
        more = {"STAGES": self.stages, "SLICES": self.slices, "GROUP": self.group}
        return {**found, **more} if self.stages else found

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        return columns // self.tile[1] * self.group, ceil(rows / (self.tile[0] * self.group))

    def fits(self, n: int) -> bool:
        """Whether square matrices of this size meet the contract."""
        return n % self.tile[0] == n % self.tile[1] == n % self.steps == 0 and n >= self.steps * self.stages

    def __str__(self) -> str:
        tile, sums = "x".join(map(str, self.tile)), "x".join(map(str, self.sums))
        ring = f", ring of {self.stages}" * bool(self.stages)
        tail = f", {self.slices} slices" * (self.slices > 1) + ", ahead" * self.ahead
        tail += f", groups of {self.group}" * (self.group > 1)
        return f"{tile}x{self.steps}, {sums} a thread, {self.threads} threads, {self.blocks} blocks{ring}{tail}"


# What a first sweep on one H200 found best at 1024, at 2048 and 4096, and at 8192.
SMALL, MEDIUM, LARGE = Form((4, 2), (4, 8), 16, 2, 1), Form((2, 2), (16, 8), 8, 2, 1), Form((2, 2), (16, 8), 8, 2)
FORMS = (
    Form((4, 1), (8, 16), 16, 2, 1, 4),
    Form((4, 1), (8, 16), 16, 2, 0, 4),
    Form((4, 1), (8, 16), 16, 2, 0, 4, 1, 16),
    Form((4, 2), (8, 16), 16, 1, 1, 4),
    Form((4, 2), (8, 16), 16, 1, 0, 4),
    Form((8, 1), (8, 16), 16, 1, 1, 4),
    Form((4, 1), (8, 16), 32, 2, 0, 3),
    Form((2, 2), (16, 8), 16, 2, 0, 4),
    Form((8, 1), (4, 16), 16, 2, 0, 4),
    Form((2, 1), (8, 16), 32, 1, 0, 3, 4),
    Form((2, 2), (8, 8), 32, 1, 0, 3, 4),
    Form((2, 1), (8, 8), 16, 2, 0, 4, 4),
    Form((2, 2), (8, 8), 16, 1, 1, 4, 2),
    Form((4, 1), (8, 16), 16, 1, 0, 4, 2),
    MEDIUM,
    LARGE,
    SMALL,
    Form((4, 2), (8, 16), 8, 1, 1),
    Form((4, 1), (8, 16), 8, 2, 1),
    Form((4, 2), (8, 8), 8, 2),
)


def cycles(form: Form, n: int, multiprocessors: int) -> float:
    """The rule: cycles that the busiest multiprocessor would take for square matrices.

    It has so many tiles, one after the other or beside each other, and issues for each line of a thread's sums their
    products, the reads of their operands (four elements each) and a part of what a step takes besides. What it waits
    counts less the more products its warps have to offer meanwhile; reading ahead halves the wait at a barrier.
    """
    rows, columns = form.tile
    tiles = ceil(n // rows * (n // columns) / multiprocessors)
    warps = min(form.blocks, tiles) * form.threads // 32
    (TM, TN), lines = form.sums, form.steps / form.slices
    fours = (rows + columns) * form.steps / (4 * form.threads)
    step = STEP + FOUR * fours + ROUND * (form.stages & (form.stages - 1) > 0)
    slots = 1 + (TM + TN) / (4 * TM * TN) + step / (TM * TN * lines)
    offered = warps / SCHEDULERS * TM * TN
    waits = LATENCY + (BARRIER / (1 + form.ahead) / lines if min(form.blocks, tiles) == 1 else 0)
    return tiles * rows * columns * n / (32 * SCHEDULERS) * (slots + waits / offered)


def best_forms(n: int, multiprocessors: int, count: int = 1) -> list[Form]:
    """The forms that the rule likes best; of equals the earlier one."""
    return sorted((form for form in FORMS if form.fits(n)), key=lambda form: cycles(form, n, multiprocessors))[:count]


@lru_cache(maxsize=64)
def kernel_of(threads: int, blocks: int, is_ring: bool) -> Any:
    """The kernel for such blocks."""
    module: Any = ring if is_ring else even
    function = (ring.sgemm_ring if is_ring else even.sgemm_even).function
    options: dict[str, Any] = {"block": threads, "launch_bounds": (threads, blocks)}
    return simt.kernel(grid_rank=2, deny_checks=True, requires=module.REQUIRES, **options)(function)


def kernel(form: Form) -> Any:
    """A kernel for each block and number of blocks; `form.constants` are its constants."""
    return kernel_of(form.threads, form.blocks, bool(form.stages))


def compile_form(form: Form, target: str) -> str | None:
    """Puts the code for large even matrices into the cache on disk; says what went wrong, if something did."""
    from tileopt import TileoptError
    from tileopt.backends.runtime import defaults, specialise
    from tileopt.backends.runtime.arrays import ArrayInfo
    from tileopt.backends.runtime.signature import array_spec, signature_of

    spec = array_spec(ArrayInfo(4096, (1024, 1024), (1024, 1), "f32", 4))
    found = kernel(form).fixed()
    try:
        signature = signature_of(found.parameters, {**dict.fromkeys("abc", spec), **form.constants})
        specialise.build(found, signature, defaults.resolve(target))
    except TileoptError as error:
        return str(error)
    return None


def compile_forms(forms: Iterable[Form], target: str) -> None:
    """Compiles forms beforehand, each in a process of its own as far as there are cores: the disk hands them over."""
    from tileopt.backends.runtime import cache

    chosen = list(dict.fromkeys(forms))
    if cache.directory() is None:
        return
    with ProcessPoolExecutor(min(len(chosen), cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for form, wrong in zip(chosen, pool.map(compile_form, chosen, [target] * len(chosen)), strict=True):
            if wrong is not None:
                print(f"{form}: {wrong}", flush=True)


if __name__ == "__main__":
    for n in SIZES:
        for form in best_forms(n, 132, 4):
            print(f"{n}: {cycles(form, n, 132) / 1e3:9.1f} thousand cycles: {form}")
