"""What the hardware's functions do in a kernel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tileopt.dialects.dtypes import DTYPES, DType
from tileopt.dialects.gpu_mma_shapes import OPERAND_BITS
from tileopt.frontends.builder_hardware import Remote
from tileopt.frontends.python.intrinsics import Intrinsic
from tileopt.frontends.python.objects import name_of

if TYPE_CHECKING:
    from tileopt.frontends.simt_python.interpreter import SimtInterpreter

_RESULTS = {"h": "i16", "r": "i32", "l": "i64", "f": "f32", "d": "f64"}


def word(it: SimtInterpreter, thing: Any, what: str) -> str:
    """A string that is known when the kernel is compiled."""
    if not isinstance(thing, str):
        raise it.mistyped("type/constant", f"{what} is a string, not {name_of(thing)}")
    return thing


def flag(it: SimtInterpreter, thing: Any, what: str) -> bool:
    """A bool that is known when the kernel is compiled."""
    if not isinstance(thing, bool):
        raise it.mistyped("type/constant", f"{what} is True or False, not {name_of(thing)}")
    return thing


def words(it: SimtInterpreter, thing: Any, what: str) -> list[Any]:
    """Registers: a tuple of numbers, or one."""
    items = thing if isinstance(thing, tuple) else (thing,)
    return [it.number(item, what) for item in items]


def operand_type(it: SimtInterpreter, thing: Any, what: str) -> str:
    """An operand's element type: one of the track's, or by the name that only matrix units have ("tf32", "i4")."""
    if isinstance(thing, str) and thing in OPERAND_BITS:
        return thing
    return it.as_dtype(thing, what).name


def _cp_async(it: SimtInterpreter, target: Any, to: Any, source: Any, at: Any, count: Any) -> object:
    memories = it.memory(target, "cp_async()"), it.memory(source, "cp_async()")
    places = it.index(to, memories[0]), it.index(at, memories[1])
    number = it.known_int(count, "the count of cp_async()")
    it.threads.cp_async(memories[0], places[0], memories[1], places[1], number)
    return None


def _cp_async_wait(it: SimtInterpreter, pending: Any) -> object:
    it.threads.cp_async_wait(it.known_int(pending, "pending"))
    return None


def _ldmatrix(it: SimtInterpreter, array: Any, index: Any, num: Any, trans: Any) -> object:
    memory = it.memory(array, "ldmatrix()")
    count = it.known_int(num, "num")
    return it.threads.ldmatrix(memory, it.index(index, memory), count, flag(it, trans, "trans"))


def _stmatrix(it: SimtInterpreter, array: Any, index: Any, values: Any, trans: Any) -> object:
    memory = it.memory(array, "stmatrix()")
    given = words(it, values, "stmatrix()")
    it.threads.stmatrix(memory, it.index(index, memory), given, flag(it, trans, "trans"))
    return None


def _mma_sync(
    it: SimtInterpreter, a: Any, b: Any, acc: Any, shape: Any, dtype: Any, b_dtype: Any, acc_dtype: Any
) -> object:
    parts = [words(it, part, "mma_sync()") for part in (a, b, acc)]
    a_type = operand_type(it, dtype, "the type of mma_sync()")
    b_type = a_type if b_dtype is None else operand_type(it, b_dtype, "b_dtype")
    acc_type = None if acc_dtype is None else it.as_dtype(acc_dtype, "acc_dtype").name
    return it.threads.mma_sync(*parts, word(it, shape, "the shape"), (a_type, b_type), acc_type)


def _does(name: str) -> Intrinsic:
    def intrinsic(it: SimtInterpreter) -> object:
        getattr(it.threads, name)()
        return None

    return intrinsic


def _cluster_dim(it: SimtInterpreter, axis: Any) -> object:
    number = it.known_int(axis, "the axis")
    if not 0 <= number <= 2:
        raise it.mistyped("type/axis", f"a cluster has the axes 0, 1 and 2, not {number}")
    return it.threads.cluster_extents()[number]


def _cluster_size(it: SimtInterpreter) -> object:
    return prod(it.threads.cluster_extents())


def _cluster_rank(it: SimtInterpreter) -> object:
    return it.threads.cluster_rank()


def _cluster_barrier(it: SimtInterpreter) -> object:
    it.threads.cluster_arrive()
    it.threads.cluster_wait()
    return None


def _map_shared(it: SimtInterpreter, array: Any, rank: Any) -> Remote:
    buffer = it.threads.in_shared(it.memory(array, "map_shared()"), "map_shared()")
    return it.threads.remote(buffer, it.number(rank, "map_shared()"))


def _inline_ptx(
    it: SimtInterpreter,
    text: Any,
    constraints: Any,
    operands: Any,
    dtype: Any,
    reference: Any,
    pure: Any,
) -> object:
    letters = [part.strip() for part in word(it, constraints, "the constraints").split(",")]
    outputs = [letter[1:] for letter in letters if letter.startswith("=")]
    results: list[DType] = []
    if dtype is None:
        results = [DTYPES[_RESULTS.get(letter, "i32")] for letter in outputs]
    else:
        given = dtype if isinstance(dtype, tuple) else (dtype,)
        results = [it.as_dtype(item, "the type of inline_ptx()") for item in given]
    values = [it.builder.as_value(it.number(item, "inline_ptx()")) for item in operands]
    model: list[Any] | None = None
    if reference is not None:
        found = it.call(reference, values, {}, it.node)
        model = [] if found is None else words(it, found, "the reference of inline_ptx()")
    made = it.threads.inline_ptx(
        word(it, text, "inline PTX"), word(it, constraints, ""), values, results, model, flag(it, pure, "pure")
    )
    return None if not made else made[0] if len(made) == 1 else made


HARDWARE: dict[str, Intrinsic] = {
    "cp_async": _cp_async, "cp_async_commit": _does("cp_async_commit"), "cp_async_wait": _cp_async_wait,
    "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "mma_sync": _mma_sync, "cluster_dim": _cluster_dim,
    "cluster_size": _cluster_size, "cluster_rank": _cluster_rank, "cluster_arrive": _does("cluster_arrive"),
    "cluster_wait": _does("cluster_wait"), "cluster_barrier": _cluster_barrier, "map_shared": _map_shared,
    "inline_ptx": _inline_ptx,
}  # fmt: skip
