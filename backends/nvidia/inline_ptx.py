"""PTX that the program writes."""

from __future__ import annotations

from xdsl.ir import Operation

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.types import BITS
from tileopt.dialects.gpu_inline import InlinePtx


def _as_register(emitter: Emitter, element: str, value: str) -> tuple[str, str]:
    """(type, value) of an operand: 16-bit floats travel as integers."""
    if element in ("half", "bfloat"):
        return "i16", emitter.assign(f"bitcast {element} {value} to i16")
    return element, value


def inline_ptx(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, InlinePtx)
    letters = [part.strip() for part in op.constraints.data.split(",")] if op.constraints.data else []
    operands = [_as_register(emitter, emitter.element(v.type), emitter.scalar(v)) for v in op.inputs]
    elements = [emitter.element(r.type) for r in op.results_]
    registers = [f"i{BITS[e]}" if e in ("half", "bfloat") else e for e in elements]
    text = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else f"\\{ord(c):02X}" for c in op.text.data)
    pure = op.pure is not None
    if not pure:
        letters.append("~{memory}")
    given = ", ".join(f"{type_} {value}" for type_, value in operands)
    call = f'asm {"" if pure else "sideeffect "}"{text}", "{",".join(letters)}"({given})'
    tail = "nounwind memory(none)" if pure else "convergent nounwind"
    if not registers:
        emitter.line(f"call void {call} {tail}")
        return
    struct = registers[0] if len(registers) == 1 else "{" + ", ".join(registers) + "}"
    made = emitter.assign(f"call {struct} {call} {tail}")
    for number, (result, element, register) in enumerate(zip(op.results_, elements, registers, strict=True)):
        word = made if len(registers) == 1 else emitter.assign(f"extractvalue {struct} {made}, {number}")
        if element != register:
            word = emitter.assign(f"bitcast {register} {word} to {element}")
        emitter.values[result] = word


HANDLERS: dict[type[Operation], Handler] = {InlinePtx: inline_ptx}
