"""What a search found out, for people and for the disk."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.runtime.tuning.config import Config


@dataclass(slots=True)
class Trial:
    """One configuration. `ms`: the median of `samples` runs, None where it was not measured; `why` says why not, or why
    it was given up early. `failed`: it cannot be compiled or launched."""

    config: Config
    ms: float | None = None
    samples: int = 0
    why: str = ""
    failed: bool = False

    def __str__(self) -> str:
        time = "" if self.ms is None else f"{self.ms:.4f} ms"
        return f"{self.config!r}: {', '.join(part for part in (time, self.why) if part)}"


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result for one key. `best`: the configuration that is used; `from_disk`: an earlier process measured it."""

    best: Config
    trials: tuple[Trial, ...]
    seconds: float = 0.0
    from_disk: bool = False

    @property
    def failures(self) -> tuple[Trial, ...]:
        """What could not be compiled or launched."""
        return tuple(trial for trial in self.trials if trial.failed)

    def __str__(self) -> str:
        order = sorted(self.trials, key=lambda trial: (trial.ms is None, trial.ms or 0.0))
        lines = [f"{'*' if trial.config == self.best else ' '} {trial}" for trial in order]
        return "\n".join(lines)
