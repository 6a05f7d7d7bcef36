"""Writes the body of a helper function on vectors of one width (scalars for a width of 1)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Output


class Body:
    """Lines of a helper. Operands are names, or numbers for that constant in all lanes."""

    def __init__(self, width: int, output: Output) -> None:
        self.width = width
        self.output = output
        self.lines: list[str] = []

    def type(self, element: str) -> str:
        return types.vector(self.width, element)

    def splat(self, element: str, value: int) -> str:
        return types.splat(self.width, element, str(value))

    def constant(self, element: str, value: float) -> str:
        """A float or double in all lanes."""
        text = types.f32(value) if element == "float" else f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return types.splat(self.width, element, text)

    def operand(self, element: str, value: str | float) -> str:
        if isinstance(value, str):
            return value
        if element in types.SUFFIX:
            return self.constant(element, float(value))
        return self.splat(element, int(value))

    def assign(self, text: str) -> str:
        self.lines.append(f"  %t{len(self.lines)} = {text}")
        return f"%t{len(self.lines) - 1}"

    def op(self, word: str, element: str, a: str | float, b: str | float) -> str:
        return self.assign(f"{word} {self.type(element)} {self.operand(element, a)}, {self.operand(element, b)}")

    def cast(self, word: str, value: str, source: str, result: str) -> str:
        return self.assign(f"{word} {self.type(source)} {value} to {self.type(result)}")

    def select(self, condition: str, element: str, a: str | float, b: str | float) -> str:
        kind = self.type(element)
        x, y = self.operand(element, a), self.operand(element, b)
        return self.assign(f"select {self.type('i1')} {condition}, {kind} {x}, {kind} {y}")

    def intrinsic(self, name: str, element: str, *args: str | float) -> str:
        kind = self.type(element)
        callee = self.output.declare(
            f"{kind} @{name}.{types.mangled(self.width, element)}({', '.join([kind] * len(args))})"
        )
        return self.assign(f"call {kind} {callee}({', '.join(f'{kind} {self.operand(element, a)}' for a in args)})")

    def fma(self, element: str, a: str | float, b: str | float, c: str | float) -> str:
        return self.intrinsic("llvm.fma", element, a, b, c)

    def polynomial(self, element: str, x: str, coefficients: Sequence[float]) -> str:
        """Horner's rule, the constant coefficient first."""
        total: str | float = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            total = self.fma(element, total, x, coefficient)
        assert isinstance(total, str)
        return total

    def function(self, name: str, result: str, parameters: Sequence[tuple[str, str]], value: str) -> str:
        """The whole function, which gives `value`."""
        listed = ", ".join(f"{self.type(element)} {name_}" for element, name_ in parameters)
        head = f"define internal {self.type(result)} @{name}({listed}) alwaysinline nounwind memory(none) {{"
        return "\n".join([head, *self.lines, f"  ret {self.type(result)} {value}", "}"])
