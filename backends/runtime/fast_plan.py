"""The short cut of a launch whose arguments are what the last launch's were: see `fast_match.py`.

A plan that was used a few times gets one, if all that its launches depend on can be compared natively: arrays of NumPy,
of tileopt and of frameworks that speak DLPack's exchange API (PyTorch 2.10 and later), Python's ints, floats and bools,
and constants that are the same objects. What does not match takes the usual way, which also finds out why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tileopt.backends.runtime import fast_match, numpy_arrays
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.binding import DEFAULT, BoundArray, BoundScalar
from tileopt.backends.runtime.device_array import native_fields
from tileopt.backends.runtime.fast_match import ARRAY_WORDS, PAIR_WORDS, SCALAR_WORDS
from tileopt.backends.runtime.plan import ArgumentBuffer, Plan
from tileopt.backends.runtime.signature import DIVISOR
from tileopt.dialects.contracts import ParamKind
from tileopt.dialects.dtypes import DTYPES

if TYPE_CHECKING:
    from tileopt.backends.runtime.planner import Entry

USES = 8  # launches of a plan before its short cut is made
GRIDS_MAX = 256
FASTS_MAX = 4  # short cuts that a launch tries before it goes the long way
_MOST = (1 << 63) - 1
_DTYPE_CODES = {"b": 6, "i": 0, "u": 1, "f": 2}  # DLPack's DLDataTypeCode
_BFLOAT = 4
_CPU, _CUDA = 1, 2  # DLPack's DLDeviceType

ArrayRow = Callable[[Any, int], list[int] | None]  # of an array and the slot's address
Launch = Callable[..., int]


@dataclass(slots=True, eq=False, repr=False)
class FastPlan:
    """The short cut of one plan. `grids`: those that were checked. `kept`: what native code compares with."""

    plan: Plan
    names: tuple[str, ...]  # of the arguments that are given by name, which come last
    fingerprint: str
    generation: int
    match: Launch
    arguments: int
    make: Callable[[ArgumentBuffer], tuple[int, Any]]
    grids: set[tuple[int, int, int]] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)

    def table(self, buffer: ArgumentBuffer) -> int:
        """The address of the words for one buffer."""
        found = buffer.fast
        if found is None or found[0] is not self:
            found = buffer.fast = (self, *self.make(buffer))
        return found[1]


def make(
    entry: Entry, plan: Plan, flat: Sequence[Any], names: tuple[str, ...], fingerprint: str, generation: int
) -> FastPlan | None:
    """The short cut for launches like this one, or None where one is not possible."""
    match = fast_match.match() if _is_simple(entry, plan) else None
    if match is None:
        return None
    fast = FastPlan(plan, names, fingerprint, generation, match, len(flat), lambda _: (0, None))
    rows = _rows(entry, plan, flat, fast.kept)
    if rows is None:
        return None
    arrays, scalars = rows
    pairs = [word for pair in plan.pairs for word in pair]
    driver = plan.native_launch or (0, 0, 0, 0)

    def lay_out(buffer: ArgumentBuffer) -> tuple[int, Any]:
        pointers = (ctypes.c_int64 * max(1, len(arrays)))()
        tables = [_words([w for row in arrays for w in row(buffer.address)])]
        tables += [_words([w for row in scalars for w in row(buffer.address)]), _words(pairs)]
        places = [ctypes.addressof(t) for t in tables]
        counts = len(arrays), len(scalars), len(plan.pairs)
        head = [len(flat)]
        for count, place in zip(counts, places, strict=True):
            head += [count, place]
        table = _words([*head, ctypes.addressof(pointers), *driver, buffer.params])
        return ctypes.addressof(table), (pointers, *tables, table)

    fast.make = lay_out
    return fast


def _words(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def _is_simple(entry: Entry, plan: Plan) -> bool:
    """Whether a launch depends on nothing that native code does not see."""
    scalars = {name for name, _ in plan.condition_scalars}
    return (
        not plan.waits
        and all(not c.names & scalars for c in plan.conditions)
        and entry.target is None
        and (plan.device == HOST or plan.native_launch is not None or plan.run is not None)
    )


def _rows(
    entry: Entry, plan: Plan, flat: Sequence[Any], kept: list[Any]
) -> tuple[list[Callable[[int], list[int]]], list[Callable[[int], list[int]]]] | None:
    arrays: list[Callable[[int], list[int]]] = []
    scalars: list[Callable[[int], list[int]]] = []
    slots = iter(plan.pointer_slots)
    writes = {w.position: w for w in plan.scalars}
    for b in entry.bound:
        if b.position == DEFAULT:
            continue
        value = flat[b.position]
        if isinstance(b, BoundArray):
            row = _array_row(value, b.reader.name, b.parameter.kind is not ParamKind.IN, kept)
            if row is None:
                return None
            arrays.append(_at(b.position, row, next(slots) * 8, 6))
        elif isinstance(b, BoundScalar):
            row = _scalar_row(value, b, writes[b.position].scalar.format)
            if row is None:
                return None
            write = writes[b.position]
            scalars.append(_at(b.position, row, write.index * ctypes.sizeof(_SIZES[write.view]), 3))
        else:
            kept.append(value)
            scalars.append(_at(b.position, [5, 0, id(value), 0, 0, 0, 0, 0], 0, 3))
    return arrays, scalars


def _at(position: int, row: list[int], offset: int, slot: int) -> Callable[[int], list[int]]:
    """The row for a buffer at an address."""

    def made(address: int) -> list[int]:
        found = list(row)
        found[1], found[slot] = position, address + offset
        return found

    return made


# ---- arrays ----


def _array_row(value: Any, framework: str, written: bool, kept: list[Any]) -> list[int] | None:
    if framework == "numpy" and numpy_arrays.head_is_known():
        pointer = value.__array_interface__["data"][0]
        shape, strides = _words(value.shape), _words(value.strides)
        kept += [type(value), value.dtype, shape, strides]
        flag = 0x0400 if value.flags.writeable else 0
        head = [1, 0, id(type(value)), value.ndim, ctypes.addressof(shape), ctypes.addressof(strides), 0, pointer & 15]
        return None if not pointer else [*head, id(value.dtype), flag, 0, 0]
    if framework == "tileopt":
        fields = native_fields()
        if fields is None or not value.data_ptr():
            return None
        kept += [type(value), value._key]
        return [3, 0, id(type(value)), 0, 0, 0, 0, value.data_ptr() & 15, id(value._key), *fields, 0]
    if written and framework != "torch":
        return None  # a DLTensor does not say whether its memory may be written
    return _exchange_row(value, framework, kept)


@lru_cache(maxsize=64)
def _exchange(kind: type) -> int:
    """The address of the function that fills a DLTensor from an object of this type; 0 where there is none.

    DLPack 1.3, `DLPackExchangeAPI`: version and the older API's address in 16 bytes, then function pointers.
    """
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        api = get(capsule, b"dlpack_exchange_api") if capsule is not None else None
    except ValueError:
        return 0
    if not api or ctypes.c_uint32.from_address(api).value != 1:
        return 0
    return ctypes.c_uint64.from_address(api + 40).value


def _exchange_row(value: Any, framework: str, kept: list[Any]) -> list[int] | None:
    kind: Any = type(value)
    fill = _exchange(kind)
    if not fill:
        return None
    from tileopt.backends.runtime.arrays import reader_for

    reader = reader_for(value)
    if reader is None:
        return None
    info = reader.inspect(value)
    dtype = DTYPES[info.dtype]
    if dtype.bits == 8 and dtype.is_float:
        return None
    code = _BFLOAT if dtype.name == "bf16" else _DTYPE_CODES[dtype.kind]
    return _exchange_words(value, info, fill, code | dtype.bits << 8 | 1 << 16, framework, kept)


_IS_NEG = "is_neg"


def _exchange_words(value: Any, info: Any, fill: int, code: int, framework: str, kept: list[Any]) -> list[int] | None:
    if not info.pointer:
        return None
    shape, strides = _words(info.shape), _words(info.strides)
    kept += [type(value), shape, strides]
    device = _CPU if info.device == HOST else _CUDA | info.device << 32
    method = id(_IS_NEG) if framework == "torch" else 0
    head = [2, 0, id(type(value)), len(info.shape), ctypes.addressof(shape), ctypes.addressof(strides), 0]
    return [*head, info.pointer & 15, fill, device, code, method]


# ---- scalars ----

_SIZES: dict[str, Any] = {
    "?": ctypes.c_bool, "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16,
    "i": ctypes.c_int32, "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "f": ctypes.c_float,
    "d": ctypes.c_double,
}  # fmt: skip


def _scalar_row(value: Any, bound: BoundScalar, form: str) -> list[int] | None:
    kind, dtype = type(value), DTYPES[bound.scalar.dtype]
    if kind is bool and form == "?":
        return [4, 0, id(bool), 0, 0, 0, 0, 1]
    if kind is float and form in "fd":
        return [2 if form == "f" else 3, 0, id(float), 0, 0, 0, 0, dtype.bytes]
    if kind is int and dtype.kind in "iu":
        least = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
        greatest = min(_MOST, (1 << (dtype.bits - (dtype.kind == "i"))) - 1)
        divisor = DIVISOR[value & 15] if bound.scalar.key is not None else 0
        return [1, 0, id(int), 0, divisor, least, greatest, dtype.bytes]
    return None


assert (ARRAY_WORDS, SCALAR_WORDS, PAIR_WORDS) == (12, 8, 4)
