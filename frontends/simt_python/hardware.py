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
    left, right, before = (words(it, part, "mma_sync()") for part in (a, b, acc))
    a_type = operand_type(it, dtype, "the type of mma_sync()")
    b_type = a_type if b_dtype is None else operand_type(it, b_dtype, "b_dtype")
    acc_type = None if acc_dtype is None else it.as_dtype(acc_dtype, "acc_dtype").name
    return it.threads.mma_sync(left, right, before, word(it, shape, "the shape"), (a_type, b_type), acc_type)


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


def _described(it: SimtInterpreter, array: Any, dtype: Any, what: str) -> tuple[Any, str]:
    """(buffer, element type) of an operand in shared memory."""
    buffer = it.threads.in_shared(it.memory(array, what), what)
    return buffer, buffer.dtype.name if dtype is None else operand_type(it, dtype, f"the type of {what}")


def _wgmma(
    it: SimtInterpreter, a: Any, b: Any, acc: Any, dtype: Any, b_dtype: Any, trans_a: Any, trans_b: Any
) -> object:
    b_buffer, b_type = _described(it, b, dtype if b_dtype is None else b_dtype, "wgmma()")
    flags = flag(it, trans_a, "trans_a"), flag(it, trans_b, "trans_b")
    given = words(it, acc, "wgmma()")
    if isinstance(a, tuple):
        a_type = b_type if dtype is None else operand_type(it, dtype, "the type of wgmma()")
        return it.threads.wgmma(words(it, a, "wgmma()"), b_buffer, given, (a_type, b_type), flags)
    a_buffer, a_type = _described(it, a, dtype, "wgmma()")
    return it.threads.wgmma(a_buffer, b_buffer, given, (a_type, b_type), flags)


def _wgmma_wait(it: SimtInterpreter, acc: Any, pending: Any) -> object:
    return it.threads.wgmma_wait(words(it, acc, "wgmma_wait()"), it.known_int(pending, "pending"))


def _tcgen05_alloc(it: SimtInterpreter, array: Any, index: Any, columns: Any) -> object:
    memory = it.memory(array, "tcgen05_alloc()")
    it.threads.tcgen05_alloc(memory, it.index(index, memory), it.known_int(columns, "the columns"))
    return None


def _tcgen05_dealloc(it: SimtInterpreter, address: Any, columns: Any) -> object:
    it.threads.tcgen05_dealloc(it.number(address, "tcgen05_dealloc()"), it.known_int(columns, "the columns"))
    return None


def _tcgen05_mma(
    it: SimtInterpreter, address: Any, a: Any, b: Any, accumulate: Any, dtype: Any, b_dtype: Any, trans_a: Any,
    trans_b: Any,
) -> object:  # fmt: skip
    a_buffer, a_type = _described(it, a, dtype, "tcgen05_mma()")
    b_buffer, b_type = _described(it, b, dtype if b_dtype is None else b_dtype, "tcgen05_mma()")
    flags = flag(it, trans_a, "trans_a"), flag(it, trans_b, "trans_b")
    numbers = it.number(address, "tcgen05_mma()"), it.number(accumulate, "tcgen05_mma()")
    it.threads.tcgen05_mma(*numbers, a_buffer, b_buffer, (a_type, b_type), flags)
    return None


def barrier_of(it: SimtInterpreter, barriers: Any, index: Any, what: str) -> tuple[Any, Any]:
    """An array of barriers in shared memory, and which of them."""
    made = it.threads.in_shared(it.memory(barriers, what), what)
    if made.dtype.ir != DTYPES["i64"].ir or made.rank != 1:
        help = "make it by simt.shared(n, simt.i64)"
        raise it.mistyped("type/operand", f"{what} takes an array of i64 in shared memory, not {made}", help)
    return made, it.number(index, what)


def _tcgen05_commit(it: SimtInterpreter, barriers: Any, index: Any) -> object:
    it.threads.tcgen05_commit(*barrier_of(it, barriers, index, "tcgen05_commit()"))
    return None


def _tcgen05_ld(it: SimtInterpreter, address: Any, count: Any) -> object:
    return it.threads.tcgen05_ld(it.number(address, "tcgen05_ld()"), it.known_int(count, "the count"))


def _tcgen05_st(it: SimtInterpreter, address: Any, values: Any) -> object:
    it.threads.tcgen05_st(it.number(address, "tcgen05_st()"), words(it, values, "tcgen05_st()"))
    return None


def _tcgen05_wait(it: SimtInterpreter, kind: Any, values: Any) -> object:
    return it.threads.tcgen05_wait(word(it, kind, "what is waited for"), words(it, values, "tcgen05_wait()"))


def _tcgen05_fence(it: SimtInterpreter, kind: Any) -> object:
    it.threads.tcgen05_fence(word(it, kind, "the side"))
    return None


HARDWARE: dict[str, Intrinsic] = {
    "cp_async": _cp_async, "cp_async_commit": _does("cp_async_commit"), "cp_async_wait": _cp_async_wait,
    "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "mma_sync": _mma_sync, "cluster_dim": _cluster_dim,
    "cluster_size": _cluster_size, "cluster_rank": _cluster_rank, "cluster_arrive": _does("cluster_arrive"),
    "cluster_wait": _does("cluster_wait"), "cluster_barrier": _cluster_barrier, "map_shared": _map_shared,
    "inline_ptx": _inline_ptx, "fence_proxy_async": _does("fence_proxy_async"), "wgmma": _wgmma,
    "wgmma_wait": _wgmma_wait, "tcgen05_alloc": _tcgen05_alloc, "tcgen05_dealloc": _tcgen05_dealloc,
    "tcgen05_mma": _tcgen05_mma, "tcgen05_commit": _tcgen05_commit, "tcgen05_ld": _tcgen05_ld,
    "tcgen05_st": _tcgen05_st, "tcgen05_wait": _tcgen05_wait, "tcgen05_fence": _tcgen05_fence,
}  # fmt: skip
