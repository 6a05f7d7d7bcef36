"""Inline PTX in LLVM IR: one statement with its operands. Predicates go in as i1 (constraint `b`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.nvidia.words import CONSTRAINT

# Attributes of the call: `memory(none)` where only the operands count; `convergent` where all lanes must meet.
PURE = "nounwind memory(none)"
CONVERGENT = "convergent nounwind memory(none)"


@dataclass
class Statement:
    """Collects operands in the order in which they are added; outputs come first, as LLVM wants them.

    `output`, `pointer`, `word` and `predicate` give the text that stands for the operand in the PTX.
    """

    outputs: list[str] = field(default_factory=list)  # LLVM types
    constraints: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    tied: list[tuple[int, str]] = field(default_factory=list)

    def output(self, type_: str, initial: str | None = None) -> str:
        """A result; `initial`: what it holds where the statement does not write it."""
        assert not self.constraints, "outputs come first"
        self.outputs.append(type_)
        if initial is not None:
            self.tied.append((len(self.outputs) - 1, f"{type_} {initial}"))
        return f"${len(self.outputs) - 1}"

    def _input(self, constraint: str, operand: str) -> str:
        self.constraints.append(constraint)
        self.operands.append(operand)
        return f"${len(self.outputs) + len(self.constraints) - 1}"

    def word(self, type_: str, value: str) -> str:
        return self._input(CONSTRAINT[type_], f"{type_} {value}")

    def pointer(self, type_: str, value: str) -> str:
        return self._input("l", f"{type_} {value}")

    def predicate(self, value: str) -> str:
        return self._input("b", f"i1 {value}")

    def emit(self, emitter: Emitter, text: str, attributes: str = "", *, effects: bool = False) -> list[str]:
        """Writes the statement; gives the results. `effects`: it reads or writes memory that others write."""
        parts = [f"={CONSTRAINT[t]}" for t in self.outputs] + self.constraints
        operands = list(self.operands)
        for index, operand in self.tied:
            parts.append(str(index))
            operands.append(operand)
        if effects:
            parts.append("~{memory}")
        word = "asm sideeffect" if effects else "asm"
        call = f'{word} "{text}", "{",".join(parts)}"({", ".join(operands)})'
        tail = f" {attributes}" if attributes else ""
        if not self.outputs:
            emitter.line(f"call void {call}{tail}")
            return []
        if len(self.outputs) == 1:
            return [emitter.assign(f"call {self.outputs[0]} {call}{tail}")]
        struct = "{" + ", ".join(self.outputs) + "}"
        result = emitter.assign(f"call {struct} {call}{tail}")
        return [emitter.assign(f"extractvalue {struct} {result}, {i}") for i in range(len(self.outputs))]


def braces(operands: Sequence[str]) -> str:
    """A PTX vector operand, or the operand itself where there is one."""
    return operands[0] if len(operands) == 1 else "{" + ", ".join(operands) + "}"
