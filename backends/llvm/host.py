"""What a thread tells the host: printed text, assertions, and the clock.

Printing is a call of `vprintf(format, values)`, on a GPU the driver's, on the CPU ours (see `cpu.printing`): the values
lie one after the other as in a C struct. A function of the module for each list of types lays them out, so that the
space for them is one of a frame, not one of each iteration of a loop.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.dialects.simt_host import Assert, Clock, Printf


def printf(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Printf)
    types = tuple(emitter.element(value.type) for value in op.values)
    function = emitter.output.helper(f"tileopt.print.{'.'.join(types)}", lambda: _function(emitter, types))
    operands = [_format(emitter, op.format.data)]
    operands += [f"{type_} {emitter.scalar(value)}" for type_, value in zip(types, op.values, strict=True)]
    call = f"call void {function}({', '.join(operands)})"
    if op.once is None:
        emitter.line(call)
        return
    first = emitter.assign(f"icmp eq i32 {emitter.backend.thread_id(emitter)}, 0")
    prints, on = emitter.label("print"), emitter.label("printed")
    emitter.branch_if(first, prints, on)
    emitter.start(prints)
    emitter.line(call)
    emitter.branch(on)
    emitter.start(on)


def _format(emitter: Emitter, text: str) -> str:
    """A pointer to the text in the module, ended by a zero byte."""
    made, space = emitter.output.globals, emitter.backend.global_pointer.removeprefix("ptr").strip()
    key = f"format {text}"
    name = f"@tileopt.format.{sum(k.startswith('format ') for k in made)}"
    if key not in made:
        data = text.encode() + b"\0"
        shown = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02x}" for b in data)
        made[key] = f'{name} = private unnamed_addr {space} constant [{len(data)} x i8] c"{shown}", align 1'
    name = made[key].partition(" ")[0]
    return f"ptr addrspacecast ({emitter.backend.global_pointer} {name} to ptr)" if space else f"ptr {name}"


def _function(emitter: Emitter, types: tuple[str, ...]) -> str:
    callee = emitter.declare(f"i32 @{emitter.backend.vprintf}(ptr, ptr)")
    parameters = ", ".join(["ptr %format", *(f"{type_} %v{i}" for i, type_ in enumerate(types))])
    struct = f"{{ {', '.join(types)} }}" if types else "{}"
    lines = [f"define internal void @tileopt.print.{'.'.join(types)}({parameters}) nounwind {{"]
    if types:
        lines.append(f"  %values = alloca {struct}, align 8")
        for i, type_ in enumerate(types):
            lines.append(f"  %p{i} = getelementptr {struct}, ptr %values, i32 0, i32 {i}")
            lines.append(f"  store {type_} %v{i}, ptr %p{i}")
    values = "%values" if types else "null"
    return "\n".join([*lines, f"  %n = call i32 {callee}(ptr %format, ptr {values})", "  ret void", "}"])


def assertion(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Assert)
    emitter.faults.unless(emitter, op, 0, emitter.scalar(op.condition), "0", "0")


def clock(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Clock)
    emitter.values[op.result] = emitter.call("i64", emitter.backend.clock)


HANDLERS: dict[type[Operation], Handler] = {Printf: printf, Assert: assertion, Clock: clock}
