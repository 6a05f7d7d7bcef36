"""What a decorator asks of the compiler, checked, and what it may not decorate: errors at the line of the decorator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tileopt.dialects.contracts import Hints
from tileopt.dialects.diagnostics import CompileError, UnsupportedError, article, call_site, shown
from tileopt.frontends.kernel import Kernel

MOST_WARPS, MOST_STAGES, MOST_CTAS, MOST_BLOCKS = 32, 16, 8, 32


def make_hints(
    num_warps: Any = None,
    num_stages: Any = None,
    fma: Any = True,
    fast_math: Any = False,
    num_ctas: Any = None,
    exp2_eighths: Any = None,
    late_waits: Any = None,
    take_turns: Any = None,
    occupancy: Any = None,
) -> Hints:
    """The hints that a decorator's arguments say. Raises CompileError (`kernel/hint`)."""
    if num_warps is not None and (not _between(num_warps, MOST_WARPS) or num_warps & (num_warps - 1)):
        raise _wrong("num_warps", f"a power of two up to {MOST_WARPS}, or None", num_warps)
    if num_stages is not None and not _between(num_stages, MOST_STAGES):
        raise _wrong("num_stages", f"an integer from 1 to {MOST_STAGES}, or None", num_stages)
    if num_ctas is not None and (not _between(num_ctas, MOST_CTAS) or num_ctas & (num_ctas - 1)):
        raise _wrong("num_ctas", f"a power of two up to {MOST_CTAS}, or None", num_ctas)
    if exp2_eighths not in (None, 0) and not _between(exp2_eighths, 8):
        raise _wrong("exp2_eighths", "an integer from 0 to 8, or None", exp2_eighths)
    for name, value in (("fma", fma), ("fast_math", fast_math)):
        if not isinstance(value, bool):
            raise _wrong(name, "True or False", value)
    for name, value in (("late_waits", late_waits), ("take_turns", take_turns)):
        if value is not None and not isinstance(value, bool):
            raise _wrong(name, "True, False or None", value)
    if occupancy is not None and not _between(occupancy, MOST_BLOCKS):
        raise _wrong("occupancy", f"an integer from 1 to {MOST_BLOCKS}, or None", occupancy)
    return Hints(num_warps, num_stages, fma, fast_math, num_ctas, exp2_eighths, late_waits, take_turns, occupancy)


def changed(hints: Hints, threads: bool, given: Mapping[str, Any]) -> Hints:
    """Hints with others in place of some. `threads`: of a kernel of threads. Raises CompileError (`kernel/hint`)."""
    known = (
        ("fma", "fast_math")
        if threads
        else (
            "num_warps",
            "num_stages",
            "fma",
            "fast_math",
            "num_ctas",
            "exp2_eighths",
            "late_waits",
            "take_turns",
            "occupancy",
        )
    )
    for name in given:
        if name not in known:
            raise CompileError(
                "kernel/hint",
                f"there is no hint '{name}' here",
                location=call_site(),
                help=f"hints: {', '.join(known)}",
            )
    return make_hints(**{**asdict(hints), **given})


def _between(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= high


def _wrong(name: str, wanted: str, value: Any) -> CompileError:
    return CompileError("kernel/hint", f"{name} is {wanted}, not {shown(value)}", location=call_site())


def check_function(thing: Any, track: str) -> None:
    """Whether a decorator can make a kernel of a thing. Raises CompileError (`kernel/function`)."""
    from types import FunctionType

    if isinstance(thing, Kernel):
        notes = [("it is defined here", thing.location)]
        raise CompileError(
            "kernel/function",
            f"'{thing.name}' is a kernel already",
            location=call_site() or thing.location,
            notes=notes,
        )
    if not isinstance(thing, FunctionType):
        what = f"@{track}.kernel makes kernels of functions, not of {article(type(thing).__name__)}"
        raise CompileError("kernel/function", what, location=call_site())
    if thing.__name__ == "<lambda>":
        raise UnsupportedError(
            "kernel/function", "a lambda cannot be a kernel", location=call_site(), help="write a def"
        )
