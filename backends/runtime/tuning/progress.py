"""What a search says while it runs: a progress bar where somebody looks at a terminal, and what failed at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tileopt.backends.runtime.tuning.results import Tuning


class Bar(Protocol):
    def __call__(self, done: int, total: int, what: str) -> None:
        """How far one part of the search has come."""
        ...


@contextmanager
def progress(kernel: str) -> Iterator[Bar]:
    """The bar of one search; silent where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(f"tuning {kernel}")
        yield lambda done, total, what: shown.update(
            task, description=f"tuning {kernel}: {what}", completed=done, total=total
        )


def tell(kernel: str, found: Tuning) -> None:
    """One line for each configuration that failed, and why, on standard error."""
    failures = found.failures
    if failures:
        print(f"tuning {kernel}: {len(failures)} of {len(found.trials)} configurations failed", file=sys.stderr)
        for trial in failures:
            print(f"  {trial}", file=sys.stderr)
