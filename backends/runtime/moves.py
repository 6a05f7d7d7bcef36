"""Moves: `b = tileopt.move(a)` gives the array to `b`, and `a` is not to be used any more.

What was moved is known by the object's identity, while it lives: foreign arrays are not changed, and a weak reference
forgets them. Launches and tileopt's functions look here, only while something that was moved is alive.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from tileopt.backends.runtime.arrays import HOST, reader_for
from tileopt.backends.runtime.errors import LaunchOwnershipError, launch_error
from tileopt.dialects.diagnostics import Location, call_site

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Moved:
    """Where an array went. `reference` is alive as long as the array that was moved."""

    reference: weakref.ref[Any]
    place: Location | None
    by: str


_one_at_a_time = threading.Lock()
MOVED: dict[int, Moved] = {}  # by the identity of what was moved; empty in programs that move nothing


def move(array: A) -> A:
    """The same memory under a new owner. Every later use of `array` itself raises OwnershipError.

    The elements are not copied. Views that were made before stay valid, as NumPy and PyTorch give them out.

    Errors: `ownership/use-after-move` where it was moved before; `launch/not-an-array`.
    """
    owner: A = _again(array)
    with _one_at_a_time:
        check([array])
        _mark(array, "moved")
    return owner


def consumes(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes these arguments for good: the caller's arrays are moved by the call.

        @tileopt.consumes("x")
        def normalise(x, out): ...

    Errors: TypeError where the function has no such parameter; at a call, those of `move`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        unknown = [n for n in names if n not in signature.parameters]
        if unknown or not names:
            raise TypeError(f"consumes() needs names of parameters of {function.__name__}(), not {unknown}")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            given = [n for n in names if n in bound.arguments]
            taken = {n: _again(bound.arguments[n]) for n in given}
            with _one_at_a_time:
                check(bound.arguments.values())
                for name in given:
                    _mark(bound.arguments[name], f"taken by {function.__name__}()")
            bound.arguments.update(taken)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def check(values: Iterable[Any], names: Callable[[int], str | None] = lambda _: None) -> None:
    """Raises OwnershipError for the first of these that was moved. `names`: what an error calls each by position."""
    for position, value in enumerate(values):
        found = MOVED.get(id(value))
        if found is not None and found.reference() is value:
            name = names(position)
            raise LaunchOwnershipError(
                "ownership/use-after-move",
                f"{f'the argument of {name!r}' if name else 'the array'} is used here and was {found.by} before",
                location=call_site(),
                notes=[(f"it was {found.by} here", found.place)],
                help="use what tileopt.move() returned, or move the array after its last use",
            )


def _mark(array: Any, by: str) -> None:
    key = id(array)

    def forget(reference: weakref.ref[Any]) -> None:
        found = MOVED.get(key)
        if found is not None and found.reference is reference:
            del MOVED[key]

    MOVED[key] = Moved(weakref.ref(array, forget), call_site(), by)


def _again(array: Any) -> Any:
    """Another object for the same memory, of the same kind where its framework has a way to make one."""
    from tileopt.backends.runtime.device_array import DeviceArray

    reader = reader_for(array)
    if reader is None:
        raise launch_error("not-an-array", f"{type(array).__name__} is no array", help="only arrays are moved")
    if isinstance(array, DeviceArray):
        return array.T.T
    if reader.name in ("numpy", "cupy"):
        return array.view()
    if reader.name == "torch":
        return array.view_as(array)
    try:
        weakref.ref(array)
    except TypeError:
        raise launch_error(
            "not-an-array",
            f"{type(array).__name__} objects cannot be moved: nothing can tell when one has gone",
            help="move an array of NumPy, PyTorch, CuPy or tileopt",
        ) from None
    info = reader.inspect(array)
    if info.device == HOST:
        numpy: Any = sys.modules.get("numpy") or __import__("numpy")
        return numpy.from_dlpack(array) if hasattr(array, "__dlpack__") else numpy.asarray(array)
    return DeviceArray(info, array)
