"""Goldens with random damage: each gives a result or a clean error, in time. The damage is the same in each run."""

from __future__ import annotations

import random
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from command import Done, tileopt
from lit_inproc import restored, run_lines

TESTS = Path(__file__).parents[1]
GOLDENS = sorted(path for path in TESTS.rglob("*.mlir") if "Inputs" not in path.parts)
BATCHES = 15
MUTANTS_A_BATCH = 20
SECONDS = 10

# What breaks readers: ends of ranges, deep nesting, quotes that open and do not close, bytes that are no text.
SNIPPETS = rb'{ } ( < " % ^ # ! -1 0 18446744073709551616 loc( dense< tensor<?xf32> index f4E2M1FN'.split(b" ")
SNIPPETS += [b"\0", b"\xff\xfe", b"9" * 4400, b"[" * 400, b"({" * 400, b"// -----\n"]


class TooSlow(BaseException):
    """Not an `Exception`: nothing on the way may take it for a failure of its own."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"took more than {seconds} s")

    # The processor's time, not the clock's: a busy machine is no failure.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def flip(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1 :]


def cut(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.choice((1, 2, 8, 40, len(text))) :]


def splice(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at, start = rng.randrange(len(text)), rng.randrange(len(other))
    return text[:at] + other[start : start + rng.choice((4, 20, 100, 400))] + text[at:]


def repeat(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + text[max(0, at - rng.choice((3, 30, 300))) : at] * rng.choice((1, 2, 20)) + text[at:]


def insert(rng: random.Random, text: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(SNIPPETS) + text[at:]


def renumber(rng: random.Random, text: bytes, other: bytes) -> bytes:
    digits = [i for i, byte in enumerate(text) if 48 <= byte < 58]
    if not digits:
        return text[::-1]
    at = rng.choice(digits)
    return text[:at] + rng.choice((b"0", b"-1", b"7", b"4096", b"65536", b"2147483648", b"1000000007")) + text[at + 1 :]


def swap_lines(rng: random.Random, text: bytes, other: bytes) -> bytes:
    lines = text.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


DAMAGE: list[Callable[[random.Random, bytes, bytes], bytes]] = [flip, cut, splice, repeat, insert, renumber, swap_lines]


def arguments(path: Path) -> list[str]:
    """The golden's own flags, less those that would hide what goes wrong or run LLVM, which may end the process."""
    for line in run_lines(path.read_text(encoding="utf-8", errors="replace")):
        try:
            words = shlex.split(line.partition("|")[0])
        except ValueError:
            continue
        words = [word for word in words if word not in ("not", "%s", "2>&1", "--verify-diagnostics")]
        if words[:1] == ["tileopt"]:
            kept = words[1:]
            if "--emit" in kept:
                at = kept.index("--emit")
                del kept[at : at + 2]
            return [word for word in kept if not word.startswith(("--emit=", "%", "-o"))]
    return []


def check(done: Done, text: bytes, argv: list[str]) -> None:
    shown = text.decode(errors="replace")
    said = f"tileopt {shlex.join(argv)}: exit code {done.code}\n{done.err[:2000]}\n--- on\n{shown}"
    assert done.code in (0, 1), said
    assert "error[internal" not in done.err, said
    assert "Traceback" not in done.err, said
    assert (done.code == 1) == ("error[" in done.err), said


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_goldens_are_handled(batch: int) -> None:
    rng = random.Random(f"tileopt {batch}")
    for _ in range(MUTANTS_A_BATCH):
        path, other = rng.choice(GOLDENS), rng.choice(GOLDENS)
        text = path.read_bytes()
        for _ in range(rng.choice((1, 1, 2, 4))):
            text = rng.choice(DAMAGE)(rng, text or b" ", other.read_bytes())
        argv = arguments(path)
        with restored(), limited(SECONDS):
            try:
                done = tileopt(*argv, stdin=text)
            except TooSlow as slow:
                pytest.fail(f"{slow}: tileopt {shlex.join(argv)}\n--- on\n{text.decode(errors='replace')}")
        check(done, text, argv)


def test_every_golden_is_handled_whole() -> None:
    """Undamaged, too, no golden may cause an internal error, whatever it expects."""
    for path in GOLDENS:
        argv = arguments(path)
        with restored():
            check(tileopt(*argv, stdin=path.read_bytes()), path.read_bytes(), argv)
