"""A barrier in shared memory (`mbarrier`): a phase ends when all arrivals of it and all its bytes have come.

PTX ISA, "Parallel synchronization and communication instructions: mbarrier".
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class MemoryBarrier:
    """`count`: arrivals that a phase expects. `phase`: how many have ended."""

    count: int
    pending: int = field(init=False)
    bytes: int = 0  # that are still to come in this phase
    phase: int = 0

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, count: int = 1) -> None:
        """Raises ValueError for more arrivals than the phase expects."""
        if count > self.pending:
            raise ValueError(f"{count} arrivals at a barrier that expects {self.pending} more in this phase")
        self.pending -= count
        self._end()

    def expect(self, count: int) -> None:
        """So many bytes more belong to this phase."""
        self.bytes += count

    def complete(self, count: int) -> None:
        """So many bytes have come."""
        self.bytes -= count
        self._end()

    def passed(self, parity: int) -> bool:
        """Whether the phase of this parity (0: the first) has ended: the present one has the other."""
        return self.phase & 1 != parity & 1

    def _end(self) -> None:
        if not self.pending and not self.bytes:
            self.phase += 1
            self.pending = self.count
