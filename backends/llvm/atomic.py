"""Atomic updates of one element, or of those of a tile, and fences.

What LLVM has no instruction for on all targets (16-bit floats, the larger of two floats) is a loop around a
compare-and-swap of the bits. Where a block's threads run one at a time, its shared memory needs no atomics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation

from tileopt.backends.llvm import types
from tileopt.backends.llvm.access import Access, register_mask
from tileopt.backends.llvm.arith import F32, native
from tileopt.backends.llvm.coords import writer
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.faults import test_access
from tileopt.backends.llvm.fragment import combiner
from tileopt.backends.llvm.registers import scalars
from tileopt.backends.llvm.thread import pointer_to
from tileopt.backends.llvm.values import Buffer
from tileopt.dialects import simt
from tileopt.dialects.dtypes import element_type
from tileopt.dialects.simt_atomic import AtomicCas, AtomicKind, AtomicRmw, Fence

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
_ON_FAILURE = {"monotonic": "monotonic", "release": "monotonic", "acquire": "acquire", "acq_rel": "acquire"}
_INTEGER_WORDS = {AtomicKind.EXCH: "xchg", AtomicKind.INC: "uinc_wrap", AtomicKind.DEC: "udec_wrap"}
_REDUCTIONS = {AtomicKind.ADD: "sum"}
_PLAIN = {AtomicKind.ADD: "add", AtomicKind.SUB: "sub", AtomicKind.AND: "and", AtomicKind.OR: "or", "xor": "xor"}


def _order(op: AtomicRmw | AtomicCas) -> str:
    return _ORDERS["relaxed" if op.order is None else op.order.data]


def _scope(emitter: Emitter, op: AtomicRmw | AtomicCas | Fence) -> str:
    return emitter.backend.scope("device" if op.scope is None else op.scope.data)


def _is_private(emitter: Emitter, op: AtomicRmw | AtomicCas) -> bool:
    return emitter.backend.shared_is_private and isinstance(emitter.values[op.mem], Buffer)


def rmw(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicRmw)
    test_access(emitter, op)
    pointer, space, type_ = pointer_to(emitter, op.mem, op.indices)
    kind, value, ir_type = AtomicKind(op.kind.data), emitter.scalar(op.value), op.value.type
    if _is_private(emitter, op):
        size = types.bytes_of(type_)
        old = emitter.assign(f"load {type_}, {space} {pointer}, align {size}")
        new = updated(emitter, kind, ir_type, old, value)
        emitter.line(f"store {type_} {new}, {space} {pointer}, align {size}")
        emitter.values[op.result] = old
        return
    update = Update(
        emitter,
        kind,
        ir_type,
        "relaxed" if op.order is None else op.order.data,
        "device" if op.scope is None else op.scope.data,
    )
    if not emitter.backend.orders_updates and update.scope == "system":
        emitter.values[op.result] = update.loop(
            pointer, space, type_, lambda old: updated(emitter, kind, ir_type, old, value)
        )
        return
    order = _order(op)
    if not emitter.backend.orders_updates and order in ("release", "acq_rel"):
        emitter.line(f"fence {_scope(emitter, op)}acq_rel")
    emitter.values[op.result] = update.run(value, pointer, space, type_)
    if not emitter.backend.orders_updates and order in ("acquire", "acq_rel"):
        emitter.line(f"fence {_scope(emitter, op)}acq_rel")


@dataclass(frozen=True, slots=True)
class Update:
    """One kind of atomic update of elements of one type. `order`, `scope`: see `simt.atomic_rmw`."""

    emitter: Emitter
    kind: AtomicKind
    type: Attribute
    order: str = "relaxed"
    scope: str = "device"

    def run(self, value: str, pointer: str, space: str, element: str) -> str:
        """The old value, from one instruction where LLVM has one."""
        emitter, kind, size = self.emitter, self.kind, types.bytes_of(element)
        order = _ORDERS[self.order] if emitter.backend.orders_updates else "monotonic"
        tail = f"{emitter.backend.scope(self.scope)}{order}, align {size}"
        if isinstance(self.type, IntegerType):
            word = _INTEGER_WORDS.get(kind, kind.value)
            return emitter.assign(f"atomicrmw {word} {space} {pointer}, {element} {value} {tail}")
        if kind is AtomicKind.EXCH:
            integer = f"i{types.BITS[element]}"
            bits = emitter.assign(f"bitcast {element} {value} to {integer}")
            old = emitter.assign(f"atomicrmw xchg {space} {pointer}, {integer} {bits} {tail}")
            return emitter.assign(f"bitcast {integer} {old} to {element}")
        if kind in (AtomicKind.ADD, AtomicKind.SUB) and isinstance(self.type, Float32Type | Float64Type):
            if kind is AtomicKind.SUB:
                value = emitter.assign(f"fneg {element} {value}")
            return emitter.assign(f"atomicrmw fadd {space} {pointer}, {element} {value} {tail}")
        return self.loop(pointer, space, element, lambda old: updated(emitter, kind, self.type, old, value))

    def loop(self, pointer: str, space: str, element: str, update: Callable[[str], str]) -> str:
        """The old value, once nobody came between reading it and writing what `update` makes of it."""
        emitter, size = self.emitter, types.bytes_of(element)
        integer = f"i{types.BITS[element]}"
        head, done, before = emitter.label("swap"), emitter.label("swapped"), emitter.block
        scope, order = emitter.backend.scope(self.scope), _ORDERS[self.order]
        first = emitter.assign(f"load atomic {integer}, {space} {pointer} {scope}monotonic, align {size}")
        emitter.branch(head)
        emitter.start(head)
        phi, bits = emitter.reserve(), emitter.fresh()
        old = bits if integer == element else emitter.assign(f"bitcast {integer} {bits} to {element}")
        new = _bits(emitter, element, update(old))
        orders = f"{scope}{order} {_ON_FAILURE[order]}"
        seen, same = _exchange(emitter, space, pointer, integer, bits, new, orders, size)
        emitter.fill(phi, f"{bits} = phi {integer} [ {first}, %{before} ], [ {seen}, %{emitter.block} ]")
        emitter.branch_if(same, done, head)
        emitter.start(done)
        return old


def _exchange(
    emitter: Emitter, space: str, pointer: str, integer: str, expected: str, desired: str, orders: str, size: int
) -> tuple[str, str]:
    """(what was there, whether it was as expected)."""
    pair = emitter.assign(
        f"cmpxchg {space} {pointer}, {integer} {expected}, {integer} {desired} {orders}, align {size}"
    )
    kind = f"{{ {integer}, i1 }}"
    return emitter.assign(f"extractvalue {kind} {pair}, 0"), emitter.assign(f"extractvalue {kind} {pair}, 1")


def updated(emitter: Emitter, kind: AtomicKind, type_: Attribute, old: str, value: str) -> str:
    """What an atomic stores."""
    element = emitter.element(type_)
    if kind is AtomicKind.EXCH:
        return value
    if not isinstance(type_, IntegerType):
        if kind is AtomicKind.SUB:
            value, kind = _negated(emitter, element, value), AtomicKind.ADD
        word = _REDUCTIONS.get(kind, kind.value)
        if native(emitter, type_):
            return combiner(emitter, word, type_)(old, value, 1)
        backend = emitter.backend
        a, b = (backend.extend(emitter, x, 1, type_, F32) for x in (old, value))
        return backend.truncate(emitter, combiner(emitter, word, F32)(a, b, 1), 1, F32, type_)
    if kind in _PLAIN:
        return emitter.assign(f"{_PLAIN[kind]} {element} {old}, {value}")
    if kind is AtomicKind.INC:
        more = emitter.assign(f"add {element} {old}, 1")
        return emitter.assign(
            f"select i1 {emitter.assign(f'icmp uge {element} {old}, {value}')}, {element} 0, {element} {more}"
        )
    if kind is AtomicKind.DEC:
        less = emitter.assign(f"sub {element} {old}, 1")
        # 0 and what is above the operand begin again from it.
        over = emitter.assign(f"icmp uge {element} {less}, {value}")
        return emitter.assign(f"select i1 {over}, {element} {value}, {element} {less}")
    return combiner(emitter, kind.value, type_)(old, value, 1)


def _negated(emitter: Emitter, element: str, value: str) -> str:
    if element in ("float", "double"):
        return emitter.assign(f"fneg {element} {value}")
    bits = emitter.assign(f"bitcast {element} {value} to i16")
    return emitter.assign(f"bitcast i16 {emitter.assign(f'xor i16 {bits}, -32768')} to {element}")


def cas(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicCas)
    test_access(emitter, op)
    pointer, space, type_ = pointer_to(emitter, op.mem, op.indices)
    integer, size = f"i{types.BITS[type_]}", types.bytes_of(type_)
    expected, desired = (_bits(emitter, type_, emitter.scalar(v)) for v in (op.expected, op.desired))
    order = _order(op)
    orders = f"{_scope(emitter, op)}{order} {_ON_FAILURE[order]}"
    seen, _ = _exchange(emitter, space, pointer, integer, expected, desired, orders, size)
    emitter.values[op.result] = seen if integer == type_ else emitter.assign(f"bitcast {integer} {seen} to {type_}")


def _bits(emitter: Emitter, type_: str, value: str) -> str:
    integer = f"i{types.BITS[type_]}"
    return value if integer == type_ else emitter.assign(f"bitcast {type_} {value} to {integer}")


def fence(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Fence)
    emitter.line(f"fence {_scope(emitter, op)}seq_cst")


def fragment_atomic(emitter: Emitter, op: Operation) -> None:
    """Of the threads that hold one element, and of one thread's registers with the same, one updates it."""
    assert isinstance(op, simt.FragmentAtomic)
    layout, values = op.layout_over(op.value.type), scalars(emitter, emitter.fragment(op.value))
    offsets = [emitter.scalar(v) for v in op.offsets]
    access = Access(emitter, emitter.view(op.view), offsets, layout, op.bounds)
    update = Update(emitter, AtomicKind(op.kind.data), element_type(op.value.type))
    done, with_writer = emitter.label("done"), writer(emitter, layout)
    if with_writer is not None:
        update_here = emitter.label("update")
        emitter.branch_if(with_writer, update_here, done)
        emitter.start(update_here)
    base, windows = access.thread_pointer(), access.windows(access.checked_axes)
    # Before any branch: what one register's address is made of is used by others.
    pointers = [access.step(base, access.register_offset(r)) for r in range(layout.registers)]
    space = emitter.backend.global_pointer
    for register in _distinct(layout.register_coords):
        mask = register_mask(emitter, layout, windows, register, 1)
        after = emitter.label("next")
        if mask is not None:
            inside = emitter.label("inside")
            emitter.branch_if(mask, inside, after)
            emitter.start(inside)
        update.run(values[register], pointers[register], space, access.memory)
        if mask is not None:
            emitter.branch(after)
            emitter.start(after)
    if with_writer is not None:
        emitter.branch(done)
        emitter.start(done)


def _distinct(coords: tuple[tuple[int, ...], ...]) -> list[int]:
    first: dict[tuple[int, ...], int] = {}
    for register, at in enumerate(coords):
        first.setdefault(at, register)
    return list(first.values())


HANDLERS: dict[type[Operation], Handler] = {
    AtomicRmw: rmw,
    AtomicCas: cas,
    Fence: fence,
    simt.FragmentAtomic: fragment_atomic,
}
