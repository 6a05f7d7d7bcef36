"""How rivals are timed: interleaved, after an idle moment each, on the same random inputs, medians of event times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Launch = Callable[[], object]


@dataclass
class Row:
    """One line of a table: rates by rival's name, ours first, and the relative error of ours."""

    work: str
    unit: str
    rates: dict[str, float] = field(default_factory=dict)
    error: float = 0.0

    def ratio(self, peer: str) -> float:
        return self.rates["tileopt"] / self.rates[peer]


def interleaved(rivals: dict[str, Launch], rounds: int = 3, budget_ms: float = 60.0) -> dict[str, float]:
    """Milliseconds a launch by rival: medians over rounds of medians over launches, L2 flushed between launches.

    The card idles 0.1 s before each rival, since bursts and sustained runs differ by 5 to 10 % in power.
    """
    import torch

    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    found: dict[str, list[float]] = {name: [] for name in rivals}
    for launch in rivals.values():
        for _ in range(3):
            launch()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, launch in rivals.items():
            time.sleep(0.1)
            times: list[float] = []
            spent = 0.0
            while spent < budget_ms and len(times) < 200:
                flush.zero_()
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                launch()
                end.record()
                end.synchronize()
                times.append(start.elapsed_time(end))
                spent += times[-1]
            found[name].append(statistics.median(times))
    return {name: statistics.median(values) for name, values in found.items()}
