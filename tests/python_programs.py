"""Random Python functions of integers, for which Python itself is the reference.

Loops of every kind with break, continue and return, choices, logic, swaps; every variable is set before it is read.
"""

from __future__ import annotations

import random

HEADER = "from tileopt import tile\n"
KERNEL = """
@tile.kernel
def kernel(out: tile.InOut, n: int, m: int):
    for position, value in enumerate(program(n, m)):
        tile.store(out, position, value)
"""
_RANGES = ("0, n % 6", "m % 4, n % 9, 3", "0, 3", "n % 5, -2, -1", "a % 3, a % 7, 2", "b % 5, c % 5, (m % 5) - 2 or 1")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, depth: int = 3) -> None:
        self.random = random.Random(seed)
        self.lines = ["def program(n, m):", "    a = n", "    b = m", "    c = 1", "    d = 2"]
        self.count = 0
        self.block(["a", "b", "c", "d", "n", "m"], 1, depth, False)  # d is not returned: it matters on the way only
        self.lines.append("    return a, b, c")

    @property
    def text(self) -> str:
        return HEADER + "\n".join(self.lines) + "\n" + KERNEL

    def expression(self, names: list[str], depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*names, str(self.random.randint(-5, 9))])
        x, y = self.expression(names, depth - 1), self.expression(names, depth - 1)
        kind = self.random.randrange(8)
        if kind == 0:
            return f"({x} if {self.condition(names)} else {y})"
        forms = (
            f"({x} + {y})",
            f"({x} - {y})",
            f"({x} * {y} % {self.random.randint(2, 50)})",
            f"({x} // {self.random.choice([-3, -1, 2, 5, 7, 8])})",
            f"{self.random.choice(['min', 'max'])}({x}, {y})",
            f"({x} // ({y} % 7 + 1))",
            f"abs({x})",
        )
        return forms[kind - 1]

    def condition(self, names: list[str]) -> str:
        def relation() -> str:
            symbol = self.random.choice(["<", "<=", "==", "!=", ">", ">="])
            return f"{self.expression(names, 1)} {symbol} {self.expression(names, 1)}"

        kind = self.random.random()
        if kind < 0.6:
            return relation()
        if kind < 0.85:
            return f"({relation()} {self.random.choice(['and', 'or'])} {self.condition(names)})"
        if kind < 0.95:
            return f"not ({relation()})"
        return f"{self.expression(names, 0)} < {self.expression(names, 0)} <= {self.expression(names, 0)}"

    def block(self, names: list[str], indent: int, depth: int, loop: bool) -> None:
        pad = "    " * indent
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.4 or depth == 0:
                self.assignment(names, pad)
            elif kind < 0.62:
                self.choice(names, indent, depth, loop)
            elif kind < 0.9:
                self.loop(names, indent, depth, counted=kind < 0.8)
            elif self.leave(names, pad, loop and kind < 0.96):
                return

    def assignment(self, names: list[str], pad: str) -> None:
        target = self.random.choice("abcd")
        kind = self.random.random()
        if kind < 0.2:
            self.lines.append(f"{pad}{target} += {self.expression(names)}")
        elif kind < 0.3:
            self.lines.append(f"{pad}a, b = b, a")
        else:
            self.lines.append(f"{pad}{target} = {self.expression(names)}")

    def choice(self, names: list[str], indent: int, depth: int, loop: bool) -> None:
        pad = "    " * indent
        self.lines.append(f"{pad}if {self.condition(names)}:")
        self.block(names, indent + 1, depth - 1, loop)
        if self.random.random() < 0.2:
            self.lines.append(f"{pad}elif {self.condition(names)}:")
            self.block(names, indent + 1, depth - 1, loop)
        if self.random.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self.block(names, indent + 1, depth - 1, loop)

    def loop(self, names: list[str], indent: int, depth: int, counted: bool) -> None:
        pad = "    " * indent
        self.count += 1
        name = f"i{self.count}"
        self.lines.append(f"{pad}{name} = {self.random.choice([0, 4])}")
        if counted:
            self.lines.append(f"{pad}for {name} in range({self.random.choice(_RANGES)}):")
        else:
            more = f" and ({self.condition(names)})" if self.random.random() < 0.5 else ""
            self.lines.append(f"{pad}while {name} < {self.random.randint(1, 7)}{more}:")
            self.lines.append(f"{pad}    {name} += 1")
        self.block([*names, name], indent + 1, depth - 1, True)
        if self.random.random() < 0.4:
            self.lines.append(f"{pad}c = c + {name}")

    def leave(self, names: list[str], pad: str, loop: bool) -> bool:
        """An exit; whether it is always taken."""
        guarded = self.random.random() < 0.6
        if guarded:
            self.lines.append(f"{pad}if {self.condition(names)}:")
            pad += "    "
        if loop:
            self.lines.append(pad + self.random.choice(["break", "continue"]))
        else:
            self.lines.append(f"{pad}return {self.expression(names, 1)}, {self.expression(names, 1)}, c")
        return not guarded
