"""Clusters: their barrier, and elements of other blocks' shared memory."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.thread import pointer_to
from tileopt.backends.nvidia.features import need
from tileopt.backends.nvidia.ptx import Statement
from tileopt.backends.nvidia.shared import shared_address
from tileopt.dialects.gpu_cluster import ClusterArrive, ClusterWait, RemoteArrive, RemoteLoad, RemoteStore
from tileopt.dialects.target import Feature

_WIDTH_OF_BYTE = "i16"  # PTX has no register of 8 bits


def arrive(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.CLUSTERS)
    Statement().emit(emitter, "barrier.cluster.arrive.release;", "convergent", effects=True)


def wait(emitter: Emitter, op: Operation) -> None:
    need(op, Feature.CLUSTERS)
    Statement().emit(emitter, "barrier.cluster.wait.acquire;", "convergent", effects=True)


def mapped(emitter: Emitter, pointer: str, rank: SSAValue) -> str:
    """The address, in the cluster's shared memory, of what lies at `pointer` in another block's."""
    statement = Statement()
    out = statement.output("i32")
    address = statement.word("i32", shared_address(emitter, pointer))
    narrow = emitter.assign(f"trunc i64 {emitter.scalar(rank)} to i32")
    block = statement.word("i32", narrow)
    (found,) = statement.emit(emitter, f"mapa.shared::cluster.u32 {out}, {address}, {block};", "nounwind memory(none)")
    return found


def _register(element: str) -> tuple[str, int]:
    """(type of the register, bits in memory)."""
    bits = types.bytes_of(element) * 8
    return (_WIDTH_OF_BYTE if bits == 8 else f"i{bits}"), bits


def remote_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RemoteLoad)
    need(op, Feature.CLUSTERS)
    address = mapped(emitter, pointer_to(emitter, op.source, op.indices)[0], op.rank)
    element = emitter.element(op.result.type)
    register, bits = _register(element)
    statement = Statement()
    out = statement.output(register)
    place = statement.word("i32", address)
    (word,) = statement.emit(emitter, f"ld.shared::cluster.b{bits} {out}, [{place}];", effects=True)
    if element == "i1":
        word = emitter.assign(f"icmp ne {register} {word}, 0")
    elif register != f"i{bits}":
        word = emitter.assign(f"trunc {register} {word} to {element}")
    elif register != element:
        word = emitter.assign(f"bitcast {register} {word} to {element}")
    emitter.values[op.result] = word


def remote_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RemoteStore)
    need(op, Feature.CLUSTERS)
    address = mapped(emitter, pointer_to(emitter, op.target, op.indices)[0], op.rank)
    element, word = emitter.element(op.value.type), emitter.scalar(op.value)
    register, bits = _register(element)
    if element in ("i1", "i8"):
        word = emitter.assign(f"zext {element} {word} to {register}")
    elif register != element:
        word = emitter.assign(f"bitcast {element} {word} to {register}")
    statement = Statement()
    place, value = statement.word("i32", address), statement.word(register, word)
    statement.emit(emitter, f"st.shared::cluster.b{bits} [{place}], {value};", effects=True)


def remote_arrive(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, RemoteArrive)
    need(op, Feature.CLUSTERS)
    address = mapped(emitter, pointer_to(emitter, op.barriers, [op.index])[0], op.rank)
    statement = Statement()
    place = statement.word("i32", address)
    # Of this block's scope where nothing need be visible: the cluster's cost a product a quarter of its speed.
    order = "" if op.reads is not None else ".release.cluster"
    text = f"mbarrier.arrive{order}.shared::cluster.b64 _, [{place}];"
    if op.where is not None:
        where = statement.word("i32", emitter.assign(f"zext i1 {emitter.scalar(op.where)} to i32"))
        text = f"{{ .reg .pred p; setp.ne.b32 p, {where}, 0; @p {text} }}"
    statement.emit(emitter, text, effects=True)


HANDLERS: dict[type[Operation], Handler] = {
    ClusterArrive: arrive,
    ClusterWait: wait,
    RemoteLoad: remote_load,
    RemoteStore: remote_store,
    RemoteArrive: remote_arrive,
}
