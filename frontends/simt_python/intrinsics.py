"""What the functions of the SIMT track do in a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tileopt.frontends.builder_memory import Known
from tileopt.frontends.python.builtin_functions import make_range
from tileopt.frontends.python.intrinsics import SHARED, Intrinsic
from tileopt.frontends.python.objects import Range, name_of
from tileopt.frontends.simt_python.barriers import BARRIERS
from tileopt.frontends.simt_python.hardware import HARDWARE

if TYPE_CHECKING:
    from tileopt.frontends.builder import Value
    from tileopt.frontends.simt_python.interpreter import SimtInterpreter


def _id(name: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter) -> object:
        return getattr(it.threads, name)()

    return intrinsic


def _along(name: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter, axis: Any) -> object:
        return getattr(it.threads, name)(it.known_int(axis, "the axis"))

    return intrinsic


def _indices(*axes: int) -> Intrinsic:
    def intrinsic(it: SimtInterpreter) -> object:
        return tuple(it.threads.global_index(axis) for axis in axes)

    return intrinsic


def _block_dim(it: SimtInterpreter, axis: Any) -> object:
    return it.threads.block_dim(it.known_int(axis, "the axis")).const


def _grid_stride(it: SimtInterpreter, stop: Any) -> object:
    value = it.value(stop, "grid_stride()")
    if value.dtype.kind not in "iu":
        raise it.mistyped("type/operand", f"grid_stride() counts to an integer, not to a {value}")
    return Range(it.threads.thread_index(), value, it.threads.launch_threads())


def _unrolled_range(it: SimtInterpreter, bounds: Any) -> object:
    for bound in bounds:
        it.known_int(bound, "a bound of unrolled_range()")
    return replace(make_range(it, bounds, unrolled=False), late=True)


def _shared(it: SimtInterpreter, shape: Any, dtype: Any, swizzle: Any) -> object:
    extents, element = it.shape(shape), it.as_dtype(dtype, "dtype")
    width = it.known_int(swizzle, "the swizzle")
    layout = it.threads.swizzled_layout(extents, element, width) if width else None
    return it.threads.shared(extents, element, layout)


def _dynamic_shared(it: SimtInterpreter, shape: Any, dtype: Any, offset: Any) -> object:
    return it.threads.dynamic_shared(it.shape(shape), it.as_dtype(dtype, "dtype"), it.known_int(offset, "the offset"))


def _constant(it: SimtInterpreter, array: Any) -> object:
    if isinstance(array, Known):
        return array
    what = f"simt.constant() in a kernel takes a constant array from outside, not {name_of(array)}"
    raise it.mistyped("type/operand", what, "make it outside the kernel: TABLE = simt.constant(array)")


def _does(name: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter) -> object:
        getattr(it.threads, name)()
        return None

    return intrinsic


def _fence(it: SimtInterpreter, scope: Any) -> object:
    it.threads.fence(_word(it, scope, "the scope"))
    return None


def _word(it: SimtInterpreter, thing: Any, what: str) -> str:
    if not isinstance(thing, str):
        raise it.mistyped("type/constant", f"{what} is a string, not {name_of(thing)}")
    return thing


def _shuffle(kind: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter, value: Any, lane: Any, width: Any) -> object:
        numbers = [it.number(t, "a shuffle") for t in (value, lane)]
        return it.threads.shuffle(kind, numbers[0], numbers[1], it.known_int(width, "the width"))

    return intrinsic


def _vote(kind: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter, condition: Any) -> object:
        return it.threads.vote(kind, it.number(condition, "a vote"))

    return intrinsic


def _match(kind: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter, value: Any) -> object:
        return it.threads.match(kind, it.number(value, "a match"))

    return intrinsic


def _warp_reduce(it: SimtInterpreter, value: Any, kind: Any, width: Any) -> object:
    number = it.number(value, "warp_reduce()")
    return it.threads.warp_reduce(_word(it, kind, "the kind"), number, it.known_int(width, "the width"))


def _lane_mask(it: SimtInterpreter, kind: Any) -> object:
    return it.threads.lane_mask(_word(it, kind, "the kind"))


def _bits(kind: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter, value: Any) -> object:
        return it.threads.bits(kind, it.number(value, f"{kind}()"))

    return intrinsic


def _bitcast(it: SimtInterpreter, value: Any, dtype: Any) -> object:
    return it.threads.bitcast(it.number(value, "bitcast()"), it.as_dtype(dtype, "the type of bitcast()").name)


def _rmw(kind: str) -> Callable[..., Value]:
    def intrinsic(it: SimtInterpreter, array: Any, index: Any, value: Any, order: Any, scope: Any) -> Value:
        memory = it.memory(array, f"atomic_{kind}()")
        words = _word(it, order, "the order"), _word(it, scope, "the scope")
        return it.threads.atomic_rmw(kind, memory, it.index(index, memory), it.number(value, "an atomic"), *words)

    return intrinsic


def _cas(it: SimtInterpreter, array: Any, index: Any, expected: Any, desired: Any, order: Any, scope: Any) -> object:
    memory = it.memory(array, "atomic_cas()")
    numbers = [it.number(t, "atomic_cas()") for t in (expected, desired)]
    words = _word(it, order, "the order"), _word(it, scope, "the scope")
    return it.threads.atomic_cas(memory, it.index(index, memory), numbers[0], numbers[1], *words)


INTRINSICS: dict[str, Intrinsic] = {
    **SHARED,
    **HARDWARE,
    **BARRIERS,
    "thread_index_2d": _indices(1, 0), "thread_index_3d": _indices(2, 1, 0), "block_dim": _block_dim,
    "grid_stride": _grid_stride, "unrolled_range": _unrolled_range,
    "shared": _shared, "dynamic_shared": _dynamic_shared, "fence": _fence,
    "barrier": _does("barrier"), "syncthreads": _does("barrier"), "syncwarp": _does("sync_warp"),
    "constant": _constant,
    "shuffle": _shuffle("idx"), "any_sync": _vote("any"), "all_sync": _vote("all"), "ballot": _vote("ballot"),
    "match_any": _match("any"), "match_all": _match("all"), "warp_reduce": _warp_reduce, "lane_mask": _lane_mask,
    "bitcast": _bitcast, "atomic_cas": _cas,
}  # fmt: skip
INTRINSICS.update((n, _id(n)) for n in ("thread_index", "warp_index", "lane_index", "thread_rank", "warp_rank"))
INTRINSICS.update((n, _id(n)) for n in ("block_rank", "clock", "elect", "active_mask"))
INTRINSICS.update((n, _along(n)) for n in ("thread_idx", "block_idx", "grid_dim"))
INTRINSICS.update((f"shuffle_{kind}", _shuffle(kind)) for kind in ("up", "down", "xor"))
INTRINSICS.update((n, _bits(n)) for n in ("popc", "clz", "ffs", "brev"))
INTRINSICS.update(
    (f"atomic_{kind}", _rmw(kind)) for kind in ("add", "sub", "max", "min", "and", "or", "xor", "exch", "inc", "dec")
)
