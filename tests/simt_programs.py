"""Random SIMT kernels as Python text, with contracts, guards, loops and parts, and runs of them thread by thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import thread_interpreter
from python_kernels import build, simt_kernel
from thread_interpreter import Meeting
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tileopt.backends.launch_conditions import launch_conditions
from tileopt.backends.runtime.conditions import ArrayView, compile_condition
from tileopt.dialects import simt
from tileopt.dialects.bounds import Outcome
from tileopt.passes.safety.verify_ownership import unused_axes

PARAMETERS = "x: simt.Slice, a: simt.Slice['f32', 2], out: simt.DisjointSlice, n: int, m: int, k: int"
RELATIONS = [
    "len(x) == len(out)", "len(x) >= len(out)", "len(out) <= len(x) - 1", "len(x) >= m * k", "len(out) >= m * k",
    "len(out) == n * m", "n <= len(x)", "n >= 0", "m >= 1", "k >= 0", "len(x) >= 8", "len(x) % 4 == 0", "n < len(out)",
    "a.shape[1] == len(out)", "len(a) >= len(x)", "a.shape[0] * a.shape[1] <= len(x)", "n == m * 4", "m <= k",
    "len(x) // 2 >= len(out)", "k < 1000", "n * 2 <= len(x)",
]  # fmt: skip
BLOCKS = ["4", "8", "(4, 2)", "(2, 2, 2)", "1"]
HUGE = [2**62, 2**63 - 1, -(2**63), 2**32, 2**61 + 3]
OPS_MAX = 1500  # of one thread


class Writer:
    """Writes the body of a kernel."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = ["i", "i", "t", "b"]
        self.sizes = ["len(x)", "len(out)", "n", "m", "k", "len(a)", "a.shape[1]"]
        self.lines = ["i = simt.thread_index()", "t = simt.thread_rank()", "b = simt.block_idx()"]
        if random.random() < 0.4:
            self.lines.append("r, q = simt.thread_index_2d()")
            self.names += ["r", "q"]
        self.count = 0
        self.loops = 0
        self.statements("", random.randint(1, 3))

    def pick(self, options: list[str]) -> str:
        return self.random.choice(options)

    def number(self, depth: int = 0) -> str:
        """An index: mostly affine in ids and loop variables."""
        r = self.random.random()
        base = self.pick(self.names)
        if r < 0.35 or depth > 2:
            return base
        if r < 0.5:
            return (
                f"{self.number(depth + 1)} {self.pick(['+', '-'])} {self.pick(['1', '2', '3', self.pick(self.names)])}"
            )
        if r < 0.62:
            return f"{self.number(depth + 2)} * {self.pick(['2', '3', '4', 'k', 'm', 'n'])} + {self.pick(self.names)}"
        if r < 0.7:
            return f"({self.number(depth + 1)}) {self.pick(['// 2', '% 2', '% 4', '// 3', '% len(x)', '// k', '% m'])}"
        if r < 0.76:
            return f"{self.pick(self.sizes)} - 1 - {base}"
        if r < 0.82:
            return f"{self.pick(['min', 'max'])}({self.number(depth + 1)}, {self.pick([*self.sizes, '0'])})"
        if r < 0.86:
            return f"({self.number(depth + 1)} if {self.condition(1)} else {self.number(depth + 1)})"
        if r < 0.89:
            return f"({self.number(depth + 1)}) {self.pick(['& 3', '^ 1', '<< 1', '>> 1'])}"
        if r < 0.92:
            return f"(simt.i64(simt.{self.pick(['popc', 'clz', 'ffs'])}({base})) - {self.pick(['0', '1', '60'])})"
        return self.pick(["0", "1", "5", "n", "m", "len(x) - 1"])

    def condition(self, depth: int = 0) -> str:
        r = self.random.random()
        if r < 0.3 and depth < 2:
            return f"{self.condition(depth + 1)} {self.pick(['and', 'and', 'and', 'or'])} {self.condition(depth + 1)}"
        if r < 0.36:
            return f"not ({self.condition(depth + 1)})"
        left = self.number(1) if r < 0.8 else self.pick(["n", "m", "k", "len(x)", "n * m"])
        right = self.pick([*self.sizes, *self.sizes, "m * k", "len(x) - 1", "4", "0", self.pick(self.names)])
        return f"{left} {self.pick(['<', '<', '<', '<=', '>=', '>', '=='])} {right}"

    def guarded(self, index: str, end: str, indent: str) -> str:
        """Perhaps a test of the index before its use; the indentation behind it."""
        r = self.random.random()
        if r < 0.3:
            self.lines.append(f"{indent}if {index} {self.pick(['<', '<', '<='])} {end}:")
        elif r < 0.45:
            self.lines.append(f"{indent}if {self.pick(['0', '0', '-1'])} <= {index} and {index} < {end}:")
        elif r < 0.55:
            self.lines.append(f"{indent}if {index} < {self.pick(self.sizes)}:")
        else:
            return indent
        return indent + "    "

    def statements(self, indent: str, count: int) -> None:
        for _ in range(count):
            self.statement(indent)

    def statement(self, indent: str) -> None:
        r = self.random.random()
        depth = len(indent) // 4
        if r < 0.2 and depth < 3:
            self.lines.append(f"{indent}if {self.condition()}:")
            self.statements(indent + "    ", self.random.randint(1, 2))
            if self.random.random() < 0.25:
                self.lines.append(f"{indent}else:")
                self.statements(indent + "    ", 1)
        elif r < 0.36 and depth < 3 and self.loops < 2:
            self.loop(indent)
        elif r < 0.41 and depth == 0:
            self.lines.append(f"{indent}if {self.condition()}:\n{indent}    return")
        elif r < 0.55 and depth < 2:
            self.pattern(indent)
        elif r < 0.66:
            index = self.number()
            inner = self.guarded(index, "len(x)", indent)
            self.lines.append(f"{inner}v = x[{index}]")
        elif r < 0.73:
            row, column = self.number(1), self.number(1)
            inner = self.guarded(column, "a.shape[1]", self.guarded(row, "len(a)", indent))
            self.lines.append(f"{inner}v = a[{row}, {column}]")
        else:
            index = (
                self.number()
                if self.random.random() < 0.6
                else self.pick(
                    [
                        "i",
                        "2 * i",
                        "2 * i + 1",
                        "i * k + j",
                        "r * n + q",
                        "len(out) - 1 - i",
                        "i // 2",
                        "4 * i + j",
                        "q",
                        "b",
                    ]
                )
            )
            known = [*self.names, "n", "m", "k", "len", "out", "x"]
            if any(w in ("r", "q", "j") and w not in known for w in index.replace("(", " ").split()):
                index = "i"
            inner = self.guarded(index, "len(out)", indent)
            self.lines.append(f"{inner}out[{index}] = {self.pick(['1.0', 'n * 1.0', f'out[{index}] + 1.0'])}")

    def pattern(self, indent: str) -> None:
        """Stores that are near to having one owner each."""
        r, inner = self.random.random(), indent + "    "
        a, b = self.pick(["2", "3", "4", "k", "m", "n"]), self.pick(["2", "3", "4", "k", "m", "n"])
        if self.random.random() < 0.4:
            b = a
        guard = self.pick(["", f"if {a} > 0:", "if i < m:", f"if {b} < 4:"])
        if guard:
            self.lines.append(f"{indent}{guard}")
            indent, inner = inner, inner + "    "
        if r < 0.1:
            end = self.pick([f"{b} * i + {b}", f"{a} * i + {b}", f"{a} * (i + 1)", f"{a} * i + {b} + 1"])
            self.lines += [f"{indent}for e in range({a} * i, min({end}, len(out))):", f"{inner}out[e] = 1.0"]
        elif r < 0.18:
            step = self.pick(["4 * simt.grid_dim()", "8 * simt.grid_dim()", "n", "8 * simt.grid_dim() - 1"])
            index = f"i + e * {step}" if self.random.random() < 0.6 else f"(2 * i + e) * {a} + t % {b}"
            self.lines += [f"{indent}for e in simt.static_range({self.pick(['2', '3', '4'])}):"]
            self.lines += [f"{inner}if {index} < len(out):", f"{inner}    out[{index}] = 1.0"]
        elif r < 0.22:
            place = self.pick(["simt.warp_index()", "simt.block_idx()", "simt.warp_rank()"])
            self.lines += [f"{indent}if simt.elect():", f"{inner}out[{place}] = 1.0"]
        elif r < 0.26:
            self.lines += [f"{indent}f = min({a} * i, len(out))", f"{indent}g = out.window(f, min({b}, len(out) - f))"]
            self.lines += [f"{indent}for e in range(len(g)):", f"{inner}g[e] = 1.0"]
        elif r < 0.4:
            id_ = self.pick(["i", "i", "t", "b"])
            head = f"simt.static_range({b})" if b in "234" and self.random.random() < 0.5 else f"range({b})"
            self.lines += [f"{indent}for e in {head}:", f"{inner}out[{id_} * {a} + e] = 1.0"]
        elif r < 0.55 and "q" in self.names:
            self.lines += [f"{indent}if q {self.pick(['<', '<', '<='])} {b}:", f"{inner}out[r * {a} + q] = 1.0"]
        elif r < 0.75:
            step = self.pick(["4 * simt.grid_dim()", "8 * simt.grid_dim()", "8", "simt.grid_dim()"])
            self.lines += [f"{indent}for e in range({self.pick(['i', 'i', 't', 'b'])}, len(out), {step}):"]
            self.lines += [f"{inner}out[e] = 1.0"]
        elif r < 0.9:
            index = self.pick(
                [f"i // {a} * {b} + i % {a}", f"i % {a} * {b} + i // {b}", f"i // {a}", f"{a} * i + t % {b}"]
            )
            self.lines += [f"{indent}out[{index}] = 1.0"]
        else:
            self.lines += [f"{indent}if i % {a} == {self.pick(['0', '1'])}:", f"{inner}out[i // {b}] = 1.0"]

    def loop(self, indent: str) -> None:
        self.loops += 1
        self.count += 1
        if self.random.random() < 0.3:
            self.while_loop(indent)
            return
        name = "j" if "j" not in self.names else f"j{self.count}"
        bound = self.pick([*self.sizes, "4", "3", "k + 1", "len(x) + 1", "i"])
        kind = self.random.random()
        if kind < 0.5:
            head = f"range({bound})"
        elif kind < 0.7:
            head = f"range({self.number(1)}, {bound}, {self.pick(['1', '2', '4', 'm', '-1'])})"
        else:
            head = f"simt.grid_stride({bound})"
        self.lines.append(f"{indent}for {name} in {head}:")
        self.names += [name, name]
        self.statements(indent + "    ", self.random.randint(1, 2))
        self.names = [n for n in self.names if n != name]

    def while_loop(self, indent: str) -> None:
        """One variable, or two that move towards each other; a run that does not end is given up."""
        name, inner = f"w{self.count}", indent + "    "
        start = self.pick(["0", "1", "i", "t", "32", "len(x)", "len(x) - 1", "n", self.number(1)])
        end = self.pick([*self.sizes, "4", "len(x) - 1", "0"])
        step = self.pick(["1", "2", "3", "k", "8 * simt.grid_dim()", self.pick(self.names)])
        tests = [f"{name} < {end}"] * 3 + [f"{name} + 1 < {end}", f"{name} <= {end}", f"{name} > 0", f"{name} >= 0"]
        test, self.lines = self.pick(tests), [*self.lines, f"{indent}{name} = {start} + 0 * i"]
        two = self.random.random() < 0.2
        if two:
            self.lines.append(f"{indent}{name}b = {end} + 0 * i")
            test = f"{name} < {name}b"
        self.lines.append(f"{indent}while {test}:")
        self.names += [name, name, name]
        if two:
            self.lines.append(f"{inner}{name}m = ({name} + {name}b) // 2")
            self.names += [f"{name}m", f"{name}m"]
        self.statements(inner, self.random.randint(1, 2))
        by = [f"{name} += {step}"] * 3 + [
            f"{name} -= 1", f"{name} = {name} // 2", f"{name} *= 2", f"{name} = ({name} + 1) % {end}", f"{name} >>= 1",
            f"{name} = {name} + 1 if {name} + 1 < {end} else 0", f"{name} = {name} & ({name} - 1)",
        ]  # fmt: skip
        if two or self.random.random() < 0.2:
            other = f"{name}b = {name}m" if two else self.pick(by)
            forward = f"{name} = {name}m + 1" if two else self.pick(by)
            test = self.condition(1)
            self.lines += [f"{inner}if {test}:", f"{inner}    {forward}", f"{inner}else:", f"{inner}    {other}"]
        else:
            self.lines.append(f"{inner}{self.pick(by)}")
        self.names = [n for n in self.names if n not in (name, f"{name}m")]


@dataclass
class SimtProgram:
    """A random kernel: its text and its contract."""

    random: Random

    def __post_init__(self) -> None:
        r = self.random
        self.body = "\n".join(Writer(r).lines)
        self.requires = r.sample(RELATIONS, r.choice([0, 1, 1, 2, 3]))
        self.contract = f"block={r.choice(BLOCKS)}, grid_rank={r.choice([1, 1, 2])}, requires={self.requires}"

    def built(self) -> ModuleOp:
        """Raises TileoptError where the frontend refuses it."""
        return build(simt_kernel(self.body, PARAMETERS, self.contract))

    def __str__(self) -> str:
        return f"{self.contract}\n{self.body}"


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel."""

    grid: tuple[int, ...]
    arguments: list[Any]


def launches(kernel: simt.Kernel, random: Random, count: int) -> Iterator[Launch]:
    """Small launches, some with huge integers, that the kernel's conditions let through."""
    conditions = [compile_condition(text) for text in launch_conditions(kernel)]
    rank = kernel.integer("simt.grid_rank") or 1
    left = unused_axes(kernel)
    for _ in range(60):
        if count == 0:
            return
        sizes = [random.choice([0, 1, 2, 3, 4, 6, 8, 9, 12, 16, 20, 32]) for _ in range(4)]
        if random.random() < 0.3:
            sizes[:2] = [sizes[0]] * 2
        integers = [random.choice([*range(-2, 9), 12, 16]) for _ in range(3)]
        if random.random() < 0.2:
            integers[random.randrange(3)] = random.choice(HUGE)
        grid = tuple(1 if axis in left else random.choice([1, 2, 3]) for axis in range(rank))
        grid = (*grid, 1, 1)[:3]
        arrays = [np.zeros(sizes[0], np.float32), np.zeros(sizes[2:], np.float32), np.zeros(sizes[1], np.float32)]
        names = ("x", "a", "out", "n", "m", "k")
        views = [ArrayView(a.shape, tuple(a.strides)) for a in arrays]
        values: dict[str, Any] = dict(zip(names, [*views, *integers], strict=True)) | {"grid": grid}
        try:
            if not all(c.holds(values) for c in conditions):
                continue
        except ArithmeticError:
            continue
        count -= 1
        yield Launch(grid, [*arrays, *integers])


def launch_allowed(kernel: simt.Kernel, launch: Launch, parameters: str) -> bool:
    """Whether the kernel's conditions let the launch through."""
    values: dict[str, Any] = {"grid": launch.grid}
    for (name, _), given in zip(re.findall(r"(\w+): (\w+)", parameters), launch.arguments, strict=True):
        values[name] = ArrayView(given.shape, tuple(given.strides)) if isinstance(given, np.ndarray) else given
    return all(compile_condition(text).holds(values) for text in launch_conditions(kernel))


class Trapped(Exception):
    """The thread's test of an index failed, or it ran for too long."""


Visit = Callable[[Any, Any, tuple[int, ...], bool], None]  # thread, op, index, whether it writes


def probe(module: ModuleOp, launch: Launch, visit: Visit, owners: bool) -> None:
    """Runs a kernel. A proved access outside its array is an AssertionError, a checked one ends its thread.

    `owners`: threads at one element of an owned array raise thread_interpreter.Shared. `visit`: told of each access.
    """

    class Probe(thread_interpreter._Thread):
        ran = 0
        met: tuple[int, int] = 0, 0  # with the block, with the warp

        def block(self, block: Block, arguments: Any) -> Meeting:
            self.ran += 1  # an iteration that computes nothing takes its time, too
            if self.ran > OPS_MAX and arguments is not None:
                raise Trapped
            if arguments is not None:
                return (yield from super().block(block, arguments))
            run, answer = super().block(block, None), None
            while True:
                try:
                    op, given = run.send(answer)
                except StopIteration as end:
                    return list(end.value)
                except Trapped:
                    return []
                whole = isinstance(op, simt.Barrier)
                self.met = (self.met[0] + 1, 0) if whole else (self.met[0], self.met[1] + 1)
                answer = yield op, given

        def op(self, op: Operation, given: list[Any]) -> Any:
            self.ran += 1
            if self.ran > OPS_MAX:
                raise Trapped
            try:
                return super().op(op, given)
            except thread_interpreter.Outside:
                bounds = getattr(op, "bounds", None)
                assert bounds is None or bounds.outcome is not Outcome.PROVED, f"{op} is outside"
                raise Trapped from None
            except (ZeroDivisionError, OverflowError, ValueError):
                raise Trapped from None

        def element(self, op: Any, memory: Any, index: list[int], writes: bool) -> Any:
            if any(not 0 <= i < n for i, n in zip(index, memory.shape, strict=True)):
                raise thread_interpreter.Outside(f"{index} of {memory.shape}")
            visit(self, op, tuple(index), writes)
            if owners:
                return super().element(op, memory, index, writes)
            return memory[tuple(index)]

    with mock.patch.object(thread_interpreter, "_Thread", Probe):
        thread_interpreter.run(module, launch.arguments, launch.grid)
