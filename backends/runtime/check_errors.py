"""The error of a thread that failed a check, from the record that it left (see `backends.llvm.faults`)."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.runtime.artifact import Artifact
from tileopt.dialects.diagnostics import BoundsError, KernelAssertionError, Location, TileoptError
from tileopt.dialects.part_checks import Checked, outside

RECORD_WORDS = 8
_STAYS = "what the kernel wrote before it stopped stays written"


def check_error(artifact: Artifact, record: Sequence[int]) -> TileoptError:
    """`record`: site + 1, index, length, the block's place, the thread's number."""
    site = artifact.checks[record[0] - 1]
    index, length = record[1], record[2]
    block, thread = tuple(record[3:6]), record[6]
    rest, places = thread, list[int]()
    for extent in artifact.block or (artifact.threads, 1, 1):
        places.append(rest % extent)
        rest //= extent
    place = Location(site.file, site.line, site.column) if site.file else None
    where = f"in thread {tuple(places)} of block {block}"
    if site.message is not None:
        named = f" {site.message!r}" if site.message else ""
        return KernelAssertionError(
            "kernel/assertion",
            f"kernel '{artifact.name}': the assertion{named} does not hold, {where}",
            location=place,
            help=_STAYS,
        )
    if site.what:
        said = outside(Checked(site.what), site.of, index, length)
    else:
        axis = f" on axis {site.axis}" if site.axis else ""
        said = f"index {index}{axis} of '{site.array}', whose length is {length}"
    return BoundsError(
        "bounds/out-of-range",
        f"kernel '{artifact.name}': {said}, {where}",
        location=place,
        notes=[] if site.claim is None else [(f"the compiler took it to be inside: {site.claim}", None)],
        help=f"test the {site.what or 'index'} before the access; {_STAYS}",
    )
