"""Faults that are planted in kernels, and what the checking mode says of them.

A line of a kernel that ends in `# here` is where the error shall be, one that ends in `# there` where a note of it.
What the compiler would refuse is compiled by a pipeline without the pass, or changed after one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import tileopt
from tileopt.backends import pipelines
from tileopt.dialects.bounds import BoundsAttr, Outcome
from tileopt.dialects.simt import Kernel

Change = Callable[[Kernel], None]


class _Changed:
    """A pass (None: none at all) and a change to each kernel after it."""

    def __init__(self, inner: Any, change: Change) -> None:
        self.inner, self.change = inner, change

    def apply(self, ctx: Any, module: ModuleOp) -> None:
        if self.inner is not None:
            self.inner.apply(ctx, module)
        for kernel in module.body.block.ops:
            self.change(kernel)  # type: ignore[arg-type]


@contextmanager
def pipeline(without: tuple[str, ...] = (), **after: Change) -> Iterator[None]:
    """Leaves passes out, and changes the kernel after others (`elide_bounds=f`)."""
    real = pipelines._pass
    changes = {name.replace("_", "-"): change for name, change in after.items()}

    def found(name: str) -> Any:
        inner = None if name in without else real(name)
        return _Changed(inner, changes.get(name, lambda kernel: None))

    with mock.patch.object(pipelines, "_pass", found):
        yield


def prove_all(kernel: Kernel) -> None:
    """As a wrong prover would: every access lies inside."""
    for op in kernel.walk():
        if isinstance(op.properties.get("bounds"), BoundsAttr):
            op.properties["bounds"] = BoundsAttr((Outcome.PROVED, (), "by mistake"))


def drop(kind: type[Operation], which: Callable[[int], bool] = lambda n: True) -> Change:
    """Erases the ops of a kind, or those of them whose number `which` takes."""

    def change(kernel: Kernel) -> None:
        found = [op for op in kernel.walk() if isinstance(op, kind)]
        assert found
        for number, op in enumerate(found):
            if which(number):
                op.detach()
                op.erase()

    return change


def marked(file: str, kernel: str) -> dict[str, list[int]]:
    """The numbers of the kernel's lines that end in a mark, by the mark."""
    found: dict[str, list[int]] = {"here": [], "there": []}
    lines = Path(file).read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"def {kernel}("))
    for number, line in enumerate(lines[start:], start + 1):
        if number > start + 1 and line and not line.startswith((" ", ")")):
            break
        comment = line.partition("  # ")[2]
        for mark in found:
            if mark in comment.split(", "):
                found[mark].append(number)
    return found


def finds(code: str, kernel: Any, launch: Callable[[], None], *words: str) -> tileopt.TileoptError:
    """The launch fails with this code at the kernel's marked lines; the message has the words.

    Which access of a race comes first is for the order of the threads to decide.
    """
    with pytest.raises(tileopt.TileoptError) as caught:
        launch()
    error = caught.value
    assert error.code == code, str(error)
    file = inspect.stack()[1].filename
    lines = marked(file, kernel.name)
    assert error.location is not None and error.location.file == file
    noted = [place.line for _, place in error.notes if place is not None]
    assert len(lines["here"]) == len(lines["there"]) == 1
    pairs = {(error.location.line, line) for line in noted}
    if code.startswith("race/") and "divergent" not in code:
        pairs |= {(b, a) for a, b in pairs}
    assert (*lines["here"], *lines["there"]) in pairs, str(error)
    for word in (f"kernel '{kernel.name}'", *words):
        assert word in str(error), str(error)
    return error
