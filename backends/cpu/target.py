"""The target "cpu": the products that its FMA loop computes, how a block is cut for it; "cpu-check" finds faults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tileopt.dialects.target import Atom, Scope, Space, Target, register_target

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_FLOATS = ("f16", "bf16", "f32", "f8e4m3fn", "f8e5m2")
_INTEGERS = ("i8", "i16", "i32", "i64")


def _reference(acc: str) -> Any:
    def reference(a: Array, b: Array, c: Array) -> Array:
        import numpy as np

        from tileopt.dialects.dtypes import DTYPES

        dtype = DTYPES[acc].numpy
        out: Array = np.add(c.astype(dtype), np.matmul(a.astype(dtype), b.astype(dtype))).astype(dtype)
        return out

    return reference


def _atom(a: str, b: str, acc: str) -> Atom:
    return Atom(
        name="fma",
        shape=(1, 1, 1),
        a=a,
        b=b,
        acc=acc,
        min_arch=0,
        scope=Scope.THREAD,
        a_space=Space.SHARED,
        b_space=Space.SHARED,
        reference=_reference(acc),
    )


def _atoms() -> tuple[Atom, ...]:
    """Products whose operands widen exactly to the accumulator's type."""
    out = [_atom(a, b, "f32") for a in _FLOATS for b in _FLOATS]
    out += [_atom(a, b, "f64") for a in (*_FLOATS, "f64") for b in (*_FLOATS, "f64")]
    out.append(_atom("f16", "f16", "f16"))
    for place, acc in enumerate(_INTEGERS):
        narrow = _INTEGERS[: place + 1]
        out += [_atom(a, b, acc) for a in narrow for b in narrow]
    out += [_atom("u8", "u8", acc) for acc in ("i32", "i64")]
    return tuple(out)


def _make() -> Target:
    return Target(
        name="cpu",
        kind="cpu",
        arch=0,
        atoms=_atoms(),
        default_warps=1,
        max_threads=1024,
        shared_bytes=1 << 20,
        registers=1 << 16,
        vector_bytes=64,
        unaligned_vectors=True,
        banked=False,
        product_block=(8, 16),
        tile_registers=256,
    )


register_target("cpu", _make)
register_target("cpu-check", lambda: replace(_make(), name="cpu-check", checking=True))
