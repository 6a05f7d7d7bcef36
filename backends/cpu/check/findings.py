"""What was found, and the error that says it."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.cpu.check.effects import TO_ARRAYS, Kind
from tileopt.backends.cpu.check.expand import Expander
from tileopt.backends.cpu.check.sites import Site
from tileopt.dialects.diagnostics import CheckError, Location

_VERBS = {Kind.READ: "read", Kind.WRITE: "write", Kind.UPDATE: "update", Kind.REPLACE: "replace"}


@dataclass(frozen=True, slots=True)
class Place:
    """One access: `block` and `thread` by their numbers, `element` in row-major order."""

    site: Site
    block: int
    thread: int
    element: int


@dataclass(frozen=True, slots=True)
class Race:
    first: Place
    second: Place


@dataclass(frozen=True, slots=True)
class Uninitialised:
    read: Place


@dataclass(frozen=True, slots=True)
class Divergence:
    """Thread `waiting` is at a meeting of which thread `absent`, at `other` (None: it has ended), is not."""

    site: Site
    block: int
    waiting: int
    absent: int
    other: Site | None


Finding = Race | Uninitialised | Divergence


class Reporter:
    """Makes errors of the findings of one launch."""

    def __init__(
        self,
        kernel: str,
        expander: Expander,
        block: tuple[int, ...],
        grid: tuple[int, int, int],
    ) -> None:
        self.kernel, self.expander, self.block, self.grid = kernel, expander, block, grid

    def error(self, finding: Finding) -> CheckError:
        match finding:
            case Race():
                return self._race(finding)
            case Uninitialised(read):
                return self._uninitialised(read)
            case Divergence():
                return self._divergence(finding)

    def _race(self, race: Race) -> CheckError:
        a, b = race.first, race.second
        one, two = self.expander.element(a.site, a.element), self.expander.element(b.site, b.element)
        other = "it" if one == two else f"{two}, the same memory,"
        across = a.block != b.block
        verbs = f"{_VERBS[a.site.kind]}s {one}", f"{_VERBS[b.site.kind]}s {other}"
        if across:
            text = f"{self._full(a)} {verbs[0]}, {self._full(b)} {verbs[1]}: nothing orders blocks of one launch"
            help = "let each block have elements of its own, use atomics for all of them, or launch two kernels"
        else:
            text = (
                f"{self._who(a.thread)} {verbs[0]}, {self._who(b.thread)} {verbs[1]}, in block "
                f"{self._block(a.block)}, with no barrier between"
            )
            help = self._copy_help(a, b) or _race_help(a.site, b.site)
        notes: list[tuple[str, Location | None]] = [(f"the other access, by {self._full(a)}, is here", a.site.location)]
        return CheckError(
            "race/between-blocks" if across else "race/missing-barrier",
            f"kernel '{self.kernel}': {text}",
            location=b.site.location,
            help=help,
            notes=[*notes, *_made(b.site)],
        )

    def _copy_help(self, *places: Place) -> str | None:
        """What to do where one of the two is a bulk copy."""
        threads = self.expander.trace.threads
        copies = {place.thread - threads for place in places} - set(range(-threads, 0))
        if not copies:
            return None
        if TO_ARRAYS in copies:
            return (
                "a copy to an array is under way until the thread that began it has waited by tma_wait: let it do so, "
                "and the others meet it at a barrier after that"
            )
        return (
            "a barrier does not wait for a bulk copy: wait by mbarrier_wait on the barrier that counts its bytes "
            "before what it brings is touched, and begin the next one after all have met"
        )

    def _uninitialised(self, read: Place) -> CheckError:
        element = self.expander.element(read.site, read.element)
        return CheckError(
            "memory/uninitialised",
            f"kernel '{self.kernel}': {self._full(read)} {_VERBS[read.site.kind]}s {element}, which no thread of the "
            "block has written",
            location=read.site.location,
            help="shared memory holds anything when a block begins: write the element first, and let the threads meet",
            notes=_made(read.site),
        )

    def _divergence(self, found: Divergence) -> CheckError:
        site = found.site
        what = "barrier" if site.meeting == 0 else "meeting of the warp's lanes"
        absent = f"thread {self._thread(found.absent)}" + ("" if site.meeting == 0 else " of the same warp")
        notes: list[tuple[str, Location | None]] = []
        if found.other is None:
            away = f"{absent} has ended"
            if site.around is not None:
                notes.append(("the condition or loop around it is here", site.around))
            else:
                notes.append(("the kernel is here", self.expander.trace.kernel))
        else:
            away = f"{absent} waits at another"
            notes.append(("it waits here", found.other.location))
            if site.around is not None:
                notes.append(("the condition or loop around the first is here", site.around))
        return CheckError(
            "race/divergent-barrier",
            f"kernel '{self.kernel}': thread {self._thread(found.waiting)} of block {self._block(found.block)} waits "
            f"at this {what}, and {away}",
            location=site.location,
            help="let all threads come to it: move it out of the condition, and let no thread return before it",
            notes=notes,
        )

    def _full(self, place: Place) -> str:
        return f"{self._who(place.thread)} of block {self._block(place.block)}"

    def _who(self, number: int) -> str:
        return f"thread {self._thread(number)}" if number < self.expander.trace.threads else "a bulk copy"

    def _thread(self, number: int) -> tuple[int, ...]:
        out: list[int] = []
        for extent in self.block:
            out.append(number % extent)
            number //= extent
        return tuple(out)

    def _block(self, number: int) -> tuple[int, ...]:
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


def _made(site: Site) -> list[tuple[str, Location | None]]:
    made = None if site.memory is None else site.memory.made
    return [] if made is None or site.memory is None else [(f"'{site.memory.name}' is made here", made)]


def _race_help(first: Site, second: Site) -> str:
    if first is second:
        return "let each thread have an element of its own, use an atomic, or put a barrier between the iterations"
    if Kind.UPDATE in (first.kind, second.kind) or Kind.REPLACE in (first.kind, second.kind):
        return "put a barrier between the atomic and the plain access, or make both atomic"
    return "put a barrier between the two, in all threads"
