"""Random functions of threads on tiles: the same text in a kernel, and as plain Python on NumPy's numbers.

A function on one element branches and loops. A function on lanes is a straight line of arithmetic and exchanges, which
Python runs on arrays whose last axis is the lane.
"""

from __future__ import annotations

import types
from random import Random
from typing import Any

import numpy as np
import pytest
from kernel_device import Array, Device
from python_kernels import module

PROGRAMS = 8  # of each kind in a run
SHAPES = [(1,), (33,), (100,), (7, 50), (32, 64), (3, 5, 7), (2, 40, 3)]


class Writer:
    """Writes the body of a function of x (f32), y (f32), z (i32)."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.floats, self.integers, self.loops = ["x", "y"], ["z"], 0

    def real(self, depth: int = 0) -> str:
        kind = self.random.randrange(8 if depth < 2 else 2)
        match kind:
            case 0 | 2:
                return self.random.choice(self.floats)
            case 1:
                return f"f32({self.random.choice([-1.5, -0.25, 0.5, 0.75, 2.0])})"
            case 3:
                return f"f32({self.random.choice(self.integers)})"
            case 4:
                return f"abs({self.real(depth + 1)})"
            case 5:
                return f"where({self.test(depth + 1)}, {self.real(depth + 1)}, {self.real(depth + 1)})"
            case _:
                return f"({self.real(depth + 1)} {self.random.choice('+-*')} {self.real(depth + 1)})"

    def integer(self, depth: int = 0) -> str:
        kind = self.random.randrange(6 if depth < 2 else 2)
        match kind:
            case 0 | 2:
                return self.random.choice(self.integers)
            case 1:
                return f"i32({self.random.randint(-9, 9)})"
            case 3:
                return f"({self.integer(depth + 1)} & i32({self.random.choice([1, 3, 7, 31])}))"
            case 4:
                return f"popc({self.integer(depth + 1)})"
            case _:
                return f"({self.integer(depth + 1)} {self.random.choice('+-^|')} {self.integer(depth + 1)})"

    def test(self, depth: int = 0) -> str:
        if self.random.random() < 0.5:
            return f"{self.real(depth + 1)} {self.random.choice(['<', '<=', '>'])} {self.real(depth + 1)}"
        return f"{self.integer(depth + 1)} {self.random.choice(['<', '==', '!=', '>='])} {self.integer(depth + 1)}"

    def assign(self, indent: str) -> None:
        if self.random.random() < 0.6:
            self.lines.append(f"{indent}{self.random.choice(self.floats)} = clip({self.real()})")
        else:
            self.lines.append(f"{indent}{self.random.choice(self.integers)} = {self.integer()} & i32(255)")

    def statement(self, indent: str, depth: int) -> None:
        kind = self.random.randrange(5)
        if depth > 2 or kind < 2:
            self.assign(indent)
            return
        inner = indent + "    "
        if kind == 2:
            self.lines.append(f"{indent}if {self.test()}:")
            self.statements(inner, depth + 1)
            if self.random.random() < 0.5:
                self.lines.append(f"{indent}else:")
                self.statements(inner, depth + 1)
        elif kind == 3:
            self.lines.append(f"{indent}for k{depth} in range({self.integer()} & i32(7)):")
            self.statements(inner, depth + 1)
            if self.random.random() < 0.4:
                self.lines += [f"{inner}if {self.test()}:", f"{inner}    break"]
        else:
            self.loops += 1
            name = f"n{self.loops}"
            self.lines += [f"{indent}{name} = i32(0)", f"{indent}while {name} < i32(9) and {self.test()}:"]
            self.statements(inner, depth + 1)
            self.lines.append(f"{inner}{name} += i32(1)")

    def statements(self, indent: str, depth: int) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement(indent, depth)

    def exchange(self) -> None:
        value = self.random.choice(self.floats)
        by = self.random.choice([1, 3, 8, 16, 31])
        word = self.random.choice(["max", "min"])
        kind = self.random.choice(
            [
                f"shuffle_xor({value}, {by})",
                f"shuffle_up({value}, {by})",
                f"shuffle_down({value}, {by})",
                f"shuffle({value}, {by})",
                f"warp_reduce({value}, '{word}')",
                f"where(any_sync({value} > y), {value}, y)",
                f"f32(popc(ballot({value} < y)))",
                f"f32(lane_index()) * {value}",
            ]
        )
        self.lines.append(f"    {self.random.choice(self.floats)} = clip({kind})")


def element_function(random: Random) -> str:
    writer = Writer(random)
    for _ in range(3):
        writer.statement("    ", 0)
    return "\n".join(["def f(x, y, z):", *writer.lines, "    return x + y, z"]) + "\n"


def lane_function(random: Random) -> str:
    writer = Writer(random)
    for _ in range(3):
        writer.assign("    ")
        writer.exchange()
    return "\n".join(["def f(x, y, z):", *writer.lines, "    return x + y, z"]) + "\n"


# What the text means in a kernel, and on NumPy's numbers.
KERNEL = """
abs, any_sync, ballot, f32, i32, lane_index = simt.abs, simt.any_sync, simt.ballot, simt.f32, simt.i32, simt.lane_index
maximum, minimum, popc, shuffle, where = simt.maximum, simt.minimum, simt.popc, simt.shuffle, simt.where
shuffle_down, shuffle_up, shuffle_xor = simt.shuffle_down, simt.shuffle_up, simt.shuffle_xor
warp_reduce = simt.warp_reduce

def clip(v):
    return maximum(minimum(v, f32(64.0)), f32(-64.0))

{function}

@tile.kernel(fma=False, num_warps={warps})
def k(a: tile.In, b: tile.In, c: tile.In, p: tile.Out, q: tile.Out, SHAPE: tile.Const, AXIS: tile.Const):
    zero = (0,) * len(SHAPE)
    r, s = tile.map_simt(f, tile.load(a, zero, SHAPE), tile.load(b, zero, SHAPE), tile.load(c, zero, SHAPE), axis=AXIS)
    tile.store(p, zero, r)
    tile.store(q, zero, s)
"""


LANE = np.arange(32)


def row(x: Any) -> Array:
    """One for each lane."""
    return np.broadcast_to(x, np.broadcast_shapes(np.shape(x), (32,)))


def lanes(x: Any, source: Array) -> Any:
    return np.take(row(x), source, axis=-1)


def reduced(x: Any, kind: str) -> Any:
    return np.broadcast_to(getattr(row(x), kind)(-1, keepdims=True), row(x).shape)


def bits(x: Array) -> Any:
    return np.unpackbits(x[..., None].view(np.uint8), axis=-1).sum(-1).astype(np.int32)[()]


REFERENCE: dict[str, Any] = {
    "f32": lambda v: np.asarray(v).astype(np.float32)[()],
    "i32": lambda v: np.asarray(v).astype(np.int32)[()],
    "abs": np.abs,
    "where": lambda c, a, b: np.where(c, a, b)[()],
    "clip": lambda v: np.maximum(np.minimum(v, np.float32(64)), np.float32(-64)),
    "popc": lambda v: bits(np.asarray(v).astype("<u4")),
    "shuffle_xor": lambda x, by: lanes(x, LANE ^ by),
    "shuffle_up": lambda x, by: lanes(x, np.where(LANE >= by, LANE - by, LANE)),
    "shuffle_down": lambda x, by: lanes(x, np.where(LANE + by < 32, LANE + by, LANE)),
    "shuffle": lambda x, by: lanes(x, np.full(32, by)),
    "warp_reduce": reduced,
    "any_sync": lambda c: reduced(c, "any"),
    "ballot": lambda c: reduced(row(c).astype(np.uint64) << LANE.astype(np.uint64), "sum"),
    "lane_index": lambda: LANE,
    "range": lambda n: range(int(n)),
}


def reference(function: str) -> Any:
    names = dict(REFERENCE)
    exec(function, names)
    return names["f"]


def inputs(rng: np.random.Generator, shape: tuple[int, ...]) -> list[Array]:
    # Short fractions: sums and products stay exact for long, so that no comparison hangs on a rounding.
    a, b = ((rng.integers(-64, 64, shape) / 8).astype(np.float32) for _ in range(2))
    return [a, b, rng.integers(0, 256, shape).astype(np.int32)]


def run(device: Device, random: Random, function: str, given: list[Array], axis: int | None) -> list[Array]:
    """Results by some number of warps, and on a CPU also as the model of some GPU has them."""
    kernel = module(KERNEL.format(function=function, warps=random.choice([1, 2, 4, 8])))["k"]
    target = None if device.name != "cpu" else random.choice([None, "model:sm_80", "model:sm_90a", "model:sm_120a"])
    shape = given[0].shape
    outs = [device.empty(shape, np.float32), device.empty(shape, np.int32)]
    kernel[(1,)](*map(device.put, given), *outs, shape, axis, target=target)
    return [device.get(out) for out in outs]


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_functions_on_elements(device: Device, rng: np.random.Generator, number: int) -> None:
    random = Random(int(rng.integers(1 << 62)))
    function, shape = element_function(random), random.choice(SHAPES)
    print(function, shape)
    given = inputs(rng, shape)
    made = run(device, random, function, given, None)
    f = reference(function)
    rows = [f(*row) for row in zip(*(g.ravel() for g in given), strict=True)]
    for out, column in zip(made, zip(*rows, strict=True), strict=True):
        np.testing.assert_array_equal(out.ravel(), np.asarray(column))


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_functions_on_lanes(device: Device, rng: np.random.Generator, number: int) -> None:
    random = Random(int(rng.integers(1 << 62)))
    function, shape = lane_function(random), random.choice(SHAPES)
    axis = random.randrange(len(shape))
    print(function, shape, axis)
    given = inputs(rng, shape)
    made = run(device, random, function, given, axis)
    padded = []
    for g in given:
        moved = np.moveaxis(g, axis, -1)
        rest = -moved.shape[-1] % 32
        padded.append(np.pad(moved, [(0, 0)] * (g.ndim - 1) + [(0, rest)]).reshape(*moved.shape[:-1], -1, 32))
    for out, expected in zip(made, reference(function)(*padded), strict=True):
        flat = np.broadcast_to(expected, padded[0].shape).reshape(*padded[0].shape[:-2], -1)[..., : shape[axis]]
        np.testing.assert_array_equal(out, np.moveaxis(flat, -1, axis))


def test_random_functions_differ() -> None:
    assert isinstance(reference(element_function(Random(1))), types.FunctionType)
    assert len({element_function(Random(seed)) for seed in range(50)}) == 50
