"""The functions around a kernel's body on the CPU: its entry, the loop over blocks, the loop over threads."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.cpu.jit import entry_symbol
from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.llvm.faults import ERROR
from tileopt.backends.llvm.query import grid_parameter
from tileopt.backends.llvm.types import memory_type
from tileopt.backends.llvm.values import View
from tileopt.dialects.diagnostics import UnsupportedError
from tileopt.dialects.kernel import PERSISTENT
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType


class CpuEmitter(Emitter):
    """An emitter that knows the thread's id. What threads as coroutines do besides the kernel's body: nothing here."""

    tid = "%tid"

    def at_block(self) -> list[str]:
        """Lines that run before a block's threads start."""
        return []

    def at_opening(self) -> list[str]:
        """Lines that run when a barrier opens: every thread waits at one or has ended."""
        return []

    def at_end(self) -> list[str]:
        """Lines that a thread runs last."""
        return []


@dataclass(frozen=True, slots=True)
class Argument:
    """One expanded argument: its LLVM type, how it is passed, its name. A bool is read from its byte in `@name`."""

    type: str
    attributes: str
    name: str

    @property
    def parameter(self) -> str:
        return f"{self.type} {self.attributes}{self.name}"


# The runtime lets no owned array of a launch overlap another, and what is shared is only read.
_PROMISES = {Access.OWNED.value: "noalias ", Access.SHARED.value: "noalias readonly "}
GRID = tuple(f"i64 %g{axis}" for axis in "xyz")


def define_arguments(emitter: Emitter) -> list[Argument]:
    """Gives the kernel's arguments their values; the expanded arguments in the order of the ABI."""
    out: list[Argument] = []
    for index, argument in enumerate(emitter.kernel.body.block.args):
        type_ = argument.type
        if not isinstance(type_, ViewType):
            out.append(Argument(emitter.element(type_), "", f"%a{index}"))
            emitter.values[argument] = f"%a{index}"
            continue
        contract = emitter.kernel.contract(index)
        rank = range(type_.rank)
        unit = None if contract is None else contract.unit_axis
        out.append(Argument("ptr", _PROMISES.get(type_.access.data, ""), f"%a{index}"))
        out += [Argument("i64", "", f"%a{index}.n{axis}") for axis in rank]
        out += [Argument("i64", "", f"%a{index}.s{axis}") for axis in rank]
        emitter.values[argument] = View(
            f"%a{index}",
            tuple(f"%a{index}.n{axis}" if n == DYNAMIC else str(n) for axis, n in enumerate(type_.get_shape())),
            tuple("1" if axis == unit else f"%a{index}.s{axis}" for axis in rank),
            type_,
            unit,
            1 if contract is None else contract.align,
        )
    if PERSISTENT in emitter.kernel.attributes:
        out += [Argument("i64", "", grid_parameter(axis)) for axis in range(3)]
    if emitter.faults.any:
        out.append(Argument("ptr", "", ERROR))
    if len(out) > 4096:
        raise UnsupportedError("backend/arguments", f"a kernel with {len(out)} expanded arguments")
    return out


def entry_function(emitter: Emitter, arguments: list[Argument]) -> str:
    """`@name(slots, shared, first, last, gx, gy, gz)`: reads the arguments and runs the blocks."""
    lines = [
        f"define void @{symbol(emitter)}(ptr noalias readonly %slots, ptr noalias %shared, i64 %first, i64 %last, "
        f"{', '.join(GRID)}) {{"
    ]
    passed: list[str] = []
    for number, argument in enumerate(arguments):
        memory = memory_type(argument.type)
        lines.append(f"  %p{number} = getelementptr i64, ptr %slots, i64 {number}")
        lines.append(f"  %r{number} = load {memory}, ptr %p{number}, align 8")
        text = f"%r{number}"
        if memory != argument.type:
            text = f"%t{number}"
            lines.append(f"  {text} = icmp ne {memory} %r{number}, 0")
        passed.append(f"{argument.type} {text}")
    passed += ["ptr %shared", "i64 %first", "i64 %last", *GRID]
    lines += [f"  call void @{symbol(emitter, '.blocks')}({', '.join(passed)})", "  ret void", "}"]
    return "\n".join(lines)


def symbol(emitter: Emitter, part: str = "") -> str:
    """The name of one of a kernel's functions, as LLVM reads it: "" is the entry."""
    name = entry_symbol(emitter.kernel.sym_name.data) + part
    plain = name.replace("_", "").replace(".", "")
    if plain.isalnum() and plain.isascii():
        return name
    escaped = name.replace("\\", "\\5C").replace('"', "\\22")
    return f'"{escaped}"'


def unless_stopped(emitter: Emitter, label: str, condition: str = "true") -> list[str]:
    """Goes to `label` where the condition holds and no thread has failed a check, otherwise to `leave`."""
    if not emitter.faults.any:
        return [f"  br i1 {condition}, label %{label}, label %leave"]
    name = label.replace(".", "_")
    return [
        f"  %{name}.error = load atomic i64, ptr {ERROR} monotonic, align 8",
        f"  %{name}.sound = icmp eq i64 %{name}.error, 0",
        f"  %{name}.on = and i1 %{name}.sound, {condition}",
        f"  br i1 %{name}.on, label %{label}, label %leave",
    ]


def fault_lines(emitter: Emitter, end: str) -> list[str]:
    """Where failed checks go: the first one's record is kept, and the thread goes to `end`."""
    emitted = emitter.faults.lines(
        [
            f"  call void @tileopt.fault(ptr {ERROR}, i64 %fault.site, i64 %fault.index, i64 %fault.length, "
            "i64 %bx, i64 %by, i64 %bz, i32 %fault.thread)",
            f"  br label %{end}",
        ]
    )
    if emitted:
        emitter.output.helper("tileopt.fault", lambda: _FAULT)
    return emitted


_FAULT = """define internal void @tileopt.fault(ptr %error, i64 %site, i64 %index, i64 %length, \
i64 %bx, i64 %by, i64 %bz, i32 %thread) noinline cold nounwind {
  %pair = cmpxchg ptr %error, i64 0, i64 %site seq_cst seq_cst, align 8
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %write, label %exit
write:
  %wide = zext i32 %thread to i64
  %p1 = getelementptr i64, ptr %error, i64 1
  store i64 %index, ptr %p1, align 8
  %p2 = getelementptr i64, ptr %error, i64 2
  store i64 %length, ptr %p2, align 8
  %p3 = getelementptr i64, ptr %error, i64 3
  store i64 %bx, ptr %p3, align 8
  %p4 = getelementptr i64, ptr %error, i64 4
  store i64 %by, ptr %p4, align 8
  %p5 = getelementptr i64, ptr %error, i64 5
  store i64 %bz, ptr %p5, align 8
  %p6 = getelementptr i64, ptr %error, i64 6
  store i64 %wide, ptr %p6, align 8
  br label %exit
exit:
  ret void
}"""


def blocks_function(
    emitter: Emitter, arguments: list[Argument], before: list[str], block: list[str], after: list[str]
) -> str:
    """`@name.blocks`: the loop over the blocks first..last-1, x fastest.

    `before`, `after`: lines that run once, around the loop. `block`: lines of one block; they begin in the LLVM block
    `block.start`, end by a branch to `block.end`, and use %bx, %by, %bz.
    """
    name = symbol(emitter, ".blocks")
    parameters = [a.parameter for a in arguments] + ["ptr noalias %shared", "i64 %first", "i64 %last", *GRID]
    lines = [
        f"define internal void @{name}({', '.join(parameters)}) nounwind {{",
        "entry:",
        "  %some = icmp slt i64 %first, %last",
        "  br i1 %some, label %setup, label %exit",
        "setup:",
        "  %bx.first = urem i64 %first, %gx",
        "  %row.first = udiv i64 %first, %gx",
        "  %by.first = urem i64 %row.first, %gy",
        "  %bz.first = udiv i64 %row.first, %gy",
        *before,
        "  br label %block.start",
        "block.start:",
        "  %block = phi i64 [ %first, %setup ], [ %block.next, %block.end ]",
        "  %bx = phi i64 [ %bx.first, %setup ], [ %bx.next, %block.end ]",
        "  %by = phi i64 [ %by.first, %setup ], [ %by.next, %block.end ]",
        "  %bz = phi i64 [ %bz.first, %setup ], [ %bz.next, %block.end ]",
        *block,
        "block.end:",
        "  %bx.more = add nsw i64 %bx, 1",
        "  %bx.wraps = icmp eq i64 %bx.more, %gx",
        "  %bx.next = select i1 %bx.wraps, i64 0, i64 %bx.more",
        "  %by.carry = zext i1 %bx.wraps to i64",
        "  %by.more = add nsw i64 %by, %by.carry",
        "  %by.wraps = icmp eq i64 %by.more, %gy",
        "  %by.next = select i1 %by.wraps, i64 0, i64 %by.more",
        "  %bz.carry = zext i1 %by.wraps to i64",
        "  %bz.next = add nsw i64 %bz, %bz.carry",
        "  %block.next = add nsw i64 %block, 1",
        "  %more = icmp slt i64 %block.next, %last",
        *unless_stopped(emitter, "block.start", "%more"),
        "leave:",
        *after,
        "  br label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
