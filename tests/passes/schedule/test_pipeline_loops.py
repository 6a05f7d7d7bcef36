"""pipeline-loops: the loop computes the same for any number of stages and trips, and leaves alone what it must."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import small_targets  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_interpreter import Interpreter, interpret
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tileopt.dialects import pipe, tile
from tileopt.dialects.diagnostics import UnsupportedError
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.pipeline_loops import pipeline_loops

SHARED, OWNED = "!tile.view<?x?xf32, shared>", "!tile.view<?x?xf32, owned>"
TILE, BUFFER = "tensor<4x4xf32>", "!tile.buffer<4x4xf32>"


def kernel(body: str, target: str = "copies") -> str:
    """A kernel of arrays %x, %y, %out and numbers %n, %m; %zero is a tile, %c0 to %c8 are numbers."""
    constants = "\n".join(f"%c{i} = arith.constant {i} : i64" for i in range(9))
    return f"""module attributes {{tile.target = "{target}"}} {{
tile.kernel @f(%x: {SHARED}, %y: {SHARED}, %out: {OWNED}, %n: i64, %m: i64) {{
{constants}
%f = arith.constant 0.0 : f32
%zero = tile.splat %f : f32 -> {TILE}
{body}
tile.return
}}
}}"""


def lines(*parts: str) -> str:
    return "\n".join(parts)


_names = iter(range(10**9))


def staged(name: str, view: str, at: str, attributes: str = "") -> str:
    type_ = OWNED if view == "out" else SHARED
    return lines(
        f"%{name}t = tile.load %{view}[{at}] {attributes} : {type_} -> {TILE}",
        f"%{name} = tile.stage %{name}t : {TILE} -> {BUFFER}",
    )


def product(result: str, a: str, b: str, acc: str) -> str:
    return f'%{result} = tile.mma %{a}, %{b}, %{acc} {{atom = "dot"}} : {BUFFER}, {BUFFER}, {TILE} -> {TILE}'


def loop(body: str, lower: str = "c0", upper: str = "n", step: str = "c1", acc: str = "zero", name: str = "r") -> str:
    """A loop over %i (offset %o = 4i) that carries the tile %acc and yields %next."""
    return f"""%{name} = scf.for %i = %{lower} to %{upper} step %{step} iter_args(%acc = %{acc}) -> ({TILE}) : i64 {{
%o = arith.muli %i, %c4 : i64
{body}
scf.yield %next : {TILE}
}}"""


def store(value: str = "r", at: str = "%c0, %c0") -> str:
    return f"tile.store %{value}, %out[{at}] : {TILE}, {OWNED}"


GEMM = lines(staged("a", "x", "%c0, %o"), staged("b", "y", "%o, %c0"), product("next", "a", "b", "acc"))


@cache
def parsed(text: str) -> ModuleOp:
    return parse_module(create_context(), text)


@cache
def pipelined(text: str, stages: int | None) -> ModuleOp:
    module = parsed(text).clone()
    (top,) = (op for op in module.body.block.ops if isinstance(op, tile.Kernel))
    if stages is not None:
        top.attributes["tile.num_stages"] = IntegerAttr(stages, i64)
    pipeline_loops(top)
    verify(module)
    return module


def channels(module: ModuleOp) -> list[pipe.ChannelType]:
    return [pipe.channel_type(op.result) for op in walk(module) if isinstance(op, pipe.Channel)]


def run(module: ModuleOp, n: int, m: int = 0) -> tuple[np.ndarray[Any, Any], Interpreter]:
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-4, 5, (40, 44)).astype(float) for _ in range(2))
    out = rng.integers(-4, 5, (40, 44)).astype(float)
    return out, interpret(module, x, y, out, n, m)


def check(text: str, stages: int | None, n: int, m: int = 0) -> Interpreter:
    expected, _ = run(parsed(text), n, m)
    found, interpreter = run(pipelined(text, stages), n, m)
    np.testing.assert_array_equal(found, expected)
    return interpreter


# Bodies of kernels, and the number of loops that become pipelined.
PROGRAMS = {
    "gemm": (lines(loop(GEMM), store()), 1),
    "bounds and step at run time": (lines(loop(GEMM, "m", "n", "c3"), store()), 1),
    "step of one from a bound at run time": (lines(loop(GEMM, "m", "n"), store()), 1),
    "a tile staged before the loop": (
        lines(
            staged("q", "x", "%c0, %c0"),
            loop(lines(staged("b", "y", "%o, %c0"), product("next", "q", "b", "acc"))),
            store(),
        ),
        1,
    ),
    "two products of a chain": (
        lines(
            loop(
                lines(
                    staged("k", "x", "%o, %c0"),
                    staged("v", "y", "%o, %c4"),
                    product("s", "k", "v", "zero"),
                    f"%p = tile.stage %s : {TILE} -> {BUFFER}",
                    product("next", "p", "v", "acc"),
                )
            ),
            store(),
        ),
        1,
    ),
    "transposed in shared memory": (
        lines(
            loop(
                lines(
                    staged("a", "x", "%c0, %o"),
                    staged("b", "y", "%c0, %o"),
                    f"%t = tile.transpose_buffer %b {{permutation = array<i64: 1, 0>}} : {BUFFER} -> {BUFFER}",
                    product("next", "a", "t", "acc"),
                )
            ),
            store(),
        ),
        1,
    ),
    "two loops in a row": (lines(loop(GEMM), loop(GEMM, "c1", "m", acc="r", name="r2"), store("r2")), 2),
    "a loop in a loop": (
        lines(
            "scf.for %j = %c0 to %m step %c1 : i64 {",
            "%p = arith.muli %j, %c4 : i64",
            loop(lines(staged("a", "x", "%p, %o"), staged("b", "y", "%o, %p"), product("next", "a", "b", "acc"))),
            store("r", "%c0, %p"),
            "}",
        ),
        1,
    ),
    "an outer loop's loads, the inner loop has none": (
        lines(
            loop(
                lines(
                    staged("a", "x", "%c0, %o"),
                    f"%next = scf.for %j = %c0 to %m step %c1 iter_args(%w = %acc) -> ({TILE}) : i64 {{",
                    product("w2", "a", "a", "w"),
                    f"scf.yield %w2 : {TILE}",
                    "}",
                )
            ),
            store(),
        ),
        1,
    ),
    "other work and an address that both use": (
        lines(
            loop(
                lines(
                    staged("a", "x", "%c0, %o"),
                    f"%e = tile.load %y[%o, %c0] : {SHARED} -> {TILE}",
                    f"%g = arith.addf %acc, %e : {TILE}",
                    product("next", "a", "a", "g"),
                )
            ),
            store(),
        ),
        1,
    ),
    "stores to another array": (
        lines(loop(lines(GEMM, store("next", "%c0, %o")))),
        1,
    ),
    "overwrites what it reads": (
        lines(loop(lines(staged("a", "out", "%c0, %o"), product("next", "a", "a", "acc"), store("next", "%c4, %o")))),
        0,
    ),
    "overwrites in a nested loop": (
        lines(
            loop(
                lines(
                    staged("a", "out", "%c0, %o"),
                    product("next", "a", "a", "acc"),
                    "scf.for %j = %c0 to %c1 step %c1 : i64 {",
                    store("next", "%c4, %o"),
                    "}",
                )
            ),
        ),
        0,
    ),
    "one array of two is overwritten": (
        lines(
            loop(
                lines(
                    staged("a", "out", "%c0, %o"),
                    staged("b", "y", "%o, %c0"),
                    product("next", "a", "b", "acc"),
                    store("next", "%c4, %o"),
                )
            ),
        ),
        1,
    ),
    "loads in a branch": (
        lines(
            loop(
                lines(
                    "%q = arith.cmpi slt, %i, %m : i64",
                    f"%next = scf.if %q -> ({TILE}) {{",
                    staged("a", "x", "%c0, %o"),
                    product("s", "a", "a", "acc"),
                    f"scf.yield %s : {TILE}",
                    "} else {",
                    f"scf.yield %acc : {TILE}",
                    "}",
                )
            ),
            store(),
        ),
        0,
    ),
    "an offset that the loop carries": (
        f"""%r, %z = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %o = %c0) -> ({TILE}, i64) : i64 {{
{staged("a", "x", "%c0, %o")}
{product("next", "a", "a", "acc")}
%o2 = arith.addi %o, %c4 : i64
scf.yield %next, %o2 : {TILE}, i64
}}
{store()}""",
        0,
    ),
    "padded with ones": (
        lines(
            loop(lines(staged("a", "x", "%c0, %o", "{padding = 1.0 : f32}"), product("next", "a", "a", "acc"))), store()
        ),
        0,
    ),
    "padded with zeros": (
        lines(
            loop(lines(staged("a", "x", "%c0, %o", "{padding = 0.0 : f32}"), product("next", "a", "a", "acc"))), store()
        ),
        1,
    ),
    "a tile used in registers too": (
        lines(
            loop(
                lines(
                    staged("a", "x", "%c0, %o"),
                    product("s", "a", "a", "acc"),
                    f"%next = arith.addf %s, %at : {TILE}",
                )
            ),
            store(),
        ),
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_computes_the_same(name: str) -> None:
    body, loops = PROGRAMS[name]
    text = kernel(body)
    assert len(channels(pipelined(text, 3))) == loops
    for stages in (1, 2, 3, 4):
        for n in (0, 1, 2, 3, 7):
            for m in (0, 2):
                check(text, stages, n, m)


def test_copies_run_ahead() -> None:
    for stages in (2, 3, 4):
        assert check(kernel(PROGRAMS["gemm"][0]), stages, 8).most_in_flight == stages - 1


def test_one_channel_holds_all_tiles_of_a_loop() -> None:
    (channel,) = channels(pipelined(kernel(PROGRAMS["gemm"][0]), None))
    assert channel.slots.data == 3 and len(channel.members.data) == 2


def test_counts_from_any_bounds() -> None:
    text = kernel(lines(loop(GEMM, "m", "n", "c3"), store()))
    for n in range(-2, 9):
        for m in range(-1, 9):
            if 4 * m + 4 > 0 or n <= m:
                check(text, 3, n, m)


@pytest.mark.parametrize("type_", ["index", "i32"])
def test_induction_variables_of_other_types(type_: str) -> None:
    cast = "index_cast" if type_ == "index" else "extsi"
    back = "index_cast" if type_ == "index" else "trunci"
    for step in ("c1", "c3"):
        body = f"""%l = arith.{back} %m : i64 to {type_}
%h = arith.{back} %n : i64 to {type_}
%s = arith.{back} %{step} : i64 to {type_}
%r = scf.for %v = %l to %h step %s iter_args(%acc = %zero) -> ({TILE}) {": i32" if type_ == "i32" else ""} {{
%i = arith.{cast} %v : {type_} to i64
%o = arith.muli %i, %c4 : i64
{GEMM}
scf.yield %next : {TILE}
}}
{store()}"""
        text = kernel(body)
        assert len(channels(pipelined(text, 3))) == 1
        for n, m in ((0, 0), (1, 0), (7, 2), (2, 5), (8, 1)):
            check(text, 3, n, m)


def test_no_more_stages_than_trips() -> None:
    for trips, slots in ((0, []), (1, []), (2, [2]), (8, [4])):
        found = channels(pipelined(kernel(lines(loop(GEMM, upper=f"c{trips}"), store())), 4))
        assert [c.slots.data for c in found] == slots
        check(kernel(lines(loop(GEMM, upper=f"c{trips}"), store())), 4, 0)


def test_no_more_stages_than_shared_memory_holds() -> None:
    large = kernel(PROGRAMS["gemm"][0]).replace("4x4xf32", "64x64xf32")
    # 96 KiB less the reserve hold two slots of 32 KiB.
    assert [c.slots.data for c in channels(pipelined(large, 4))] == [2]
    both = kernel(PROGRAMS["a tile staged before the loop"][0]).replace("4x4xf32", "64x64xf32")
    # One tile of 16 KiB lives beside the ring: (96 - 2 - 16) / 16 slots.
    assert [c.slots.data for c in channels(pipelined(both, 9))] == [4]
    too_large = kernel(PROGRAMS["gemm"][0]).replace("4x4xf32", "96x96xf32")
    assert not channels(pipelined(too_large, 3))


def test_loops_in_a_row_have_all_memory_each() -> None:
    large = kernel(PROGRAMS["two loops in a row"][0]).replace("4x4xf32", "64x64xf32")
    assert [c.slots.data for c in channels(pipelined(large, 3))] == [2, 2]


def test_halves_need_two_at_once() -> None:
    halves = kernel(PROGRAMS["gemm"][0]).replace("f32", "bf16").replace('"dot"', '"dot.bf16"')
    assert not channels(pipelined(halves, 3))
    pairs = halves.replace("tile.load %x[%c0, %o] ", "tile.load %x[%c0, %o] {vector = 2 : i64}")
    (channel,) = channels(pipelined(pairs, 3))
    assert len(channel.members.data) == 1


def test_targets_without_asynchronous_copies() -> None:
    text = kernel(PROGRAMS["gemm"][0], "plain")
    before = str(parse_module(create_context(), text))
    assert str(pipelined(text, None)) == before


def test_keeps_what_is_known_of_the_access() -> None:
    known = '{bounds = #tile.bounds<masked [1] "ragged">, padding = 0.0 : f32, vector = 4 : i64}'
    body = loop(lines(staged("a", "x", "%c0, %o", known), product("next", "a", "a", "acc")))
    copies = [op for op in walk(pipelined(kernel(lines(body, store())), 2)) if isinstance(op, pipe.Copy)]
    assert len(copies) == 2
    for copy in copies:
        assert copy.bounds is not None and copy.bounds.axes == (1,) and copy.padding is not None
        assert copy.vector is not None and copy.vector.value.data == 4


def test_new_ops_have_a_place_in_the_source() -> None:
    module = pipelined(kernel(PROGRAMS["gemm"][0]), 3)
    source = {op.location for op in walk(parse_module(create_context(), kernel(PROGRAMS["gemm"][0])))}
    assert all(op.location in source for op in walk(module))


def test_refuses_no_stages() -> None:
    with pytest.raises(UnsupportedError) as caught:
        pipelined(kernel(PROGRAMS["gemm"][0]), 0)
    assert caught.value.code == "kernel/num-stages" and caught.value.location is not None


@settings(max_examples=40)
@given(
    st.integers(2, 5),
    st.integers(0, 9),
    st.integers(0, 4),
    st.sampled_from(["c1", "c2", "c3"]),
    st.sampled_from(["c0", "m"]),
)
def test_random_bounds_and_stages(stages: int, n: int, m: int, step: str, lower: str) -> None:
    check(
        kernel(lines(loop(GEMM, lower, "n", step), loop(GEMM, lower, "c3", step, "r", "r2"), store("r2"))), stages, n, m
    )
