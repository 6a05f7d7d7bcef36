"""insert-fences on programs whose races a checker finds by running them thread by thread."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import small_targets  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from race_checker import races, run
from xdsl.dialects.builtin import ModuleOp

from tileopt.dialects import simt
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.lowering.allocate_onchip import allocate
from tileopt.passes.lowering.insert_fences import insert_fences

# Over an 8x8 tile: three ways to spread it over one warp; in the last, lanes 16 to 31 are replicas.
LAYOUTS = """
#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>
#cols = #tile.layout<regs = [[1, 0]], lanes = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warps = []>
#twice = #tile.layout<regs = [[0, 1], [0, 2]], lanes = [[0, 4], [1, 0], [2, 0], [4, 0], [0, 0]], warps = []>
"""
BUFFER = "!tile.buffer<8x8xf32>"
VIEW = "!tile.view<?x?xf32, owned>"
REGISTERS = {"rows": 2, "cols": 2, "twice": 4}


def kernel(body: str) -> str:
    """A kernel with two arrays %x and %y, an integer %n and constants %c0 to %c8 around `body`."""
    constants = "\n".join(f"%c{i} = arith.constant {i} : i64" for i in range(9))
    return f"""{LAYOUTS}
module attributes {{tile.target = "tight"}} {{
simt.kernel @f(%x: {VIEW}, %y: {VIEW}, %n: i64) attributes {{simt.threads = 32 : i64}} {{
{constants}
%one = arith.constant 1.0 : f32
%rows = simt.splat %one : f32 -> vector<2xf32>
%cols = simt.splat %one : f32 -> vector<2xf32>
%twice = simt.splat %one : f32 -> vector<4xf32>
{body}
simt.return
}}
}}"""


def alloc(name: str, slots: int = 1) -> str:
    ring = f" {{slots = {slots} : i64}}" if slots > 1 else ""
    return f"%{name} = simt.alloc_shared{ring} : {BUFFER}"


def put(buffer: str, layout: str = "rows") -> str:
    return f"simt.shared_store %{layout}, %{buffer} {{layout = #{layout}}} : vector<{REGISTERS[layout]}xf32>, {BUFFER}"


_names = iter(range(10**9))


def get(buffer: str, layout: str = "cols") -> str:
    result = f"vector<{REGISTERS[layout]}xf32>"
    return f"%v{next(_names)} = simt.shared_load %{buffer} {{layout = #{layout}}} : {BUFFER} -> {result}"


def slot(name: str, ring: str, index: str) -> str:
    return f"%{name} = simt.slot %{ring}[%{index}] : {BUFFER} -> {BUFFER}"


def load(view: str, at: str = "c0, %c0", layout: str = "rows") -> str:
    attributes = f"{{layout = #{layout}, shape = array<i64: 8, 8>}}"
    return (
        f"%v{next(_names)} = simt.fragment_load %{view}[%{at}] {attributes} : {VIEW} -> vector<{REGISTERS[layout]}xf32>"
    )


def store(view: str, at: str = "c0, %c0", layout: str = "rows") -> str:
    attributes = f"{{layout = #{layout}, shape = array<i64: 8, 8>}}"
    return f"simt.fragment_store %{layout}, %{view}[%{at}] {attributes} : vector<{REGISTERS[layout]}xf32>, {VIEW}"


def copy(view: str, buffer: str, at: str = "c0, %c0") -> str:
    attributes = "{layout = #rows, vector = 2 : i64}"
    return f"gpu.cp_async %{view}[%{at}], %{buffer} {attributes} : {VIEW}, {BUFFER}"


def wait(pending: int) -> str:
    return f"gpu.cp_async_wait {{pending = {pending} : i64}}"


COMMIT = "gpu.cp_async_commit"


def loop(body: str, end: str = "n") -> str:
    return f"scf.for %i{next(_names)} = %c0 to %{end} step %c1 : i64 {{\n{body}\n}}"


def counted(body: str, end: str = "n", step: str = "c1") -> str:
    """A loop over %i."""
    return f"scf.for %i = %c0 to %{end} step %{step} : i64 {{\n{body}\n}}"


def lines(*parts: str) -> str:
    return "\n".join(parts)


def fenced(text: str, *, place: bool = False) -> ModuleOp:
    module = parse_module(create_context(), text)
    for op in module.body.block.ops:
        assert isinstance(op, simt.Kernel)
        if place:
            allocate(op)
        insert_fences(op)
    verify(module)
    return module


def barriers(module: ModuleOp) -> list[simt.Barrier]:
    return [op for op in walk(module) if isinstance(op, simt.Barrier)]


def prefix(layout: str) -> str:
    """Each iteration reads the tile that the last one wrote."""
    return counted(
        lines(
            "%o = arith.muli %i, %c8 : i64",
            "%p = arith.addi %o, %c8 : i64",
            load("x", "c0, %o", "cols"),
            store("x", "c0, %p", layout),
        )
    )


TRIPS = (0, 1, 2, 5)

# A program, and the barriers that stand in it afterwards.
PROGRAMS = {
    "nothing shared": (lines(load("x"), store("y")), 0),
    "write, read": (lines(alloc("a"), put("a"), get("a")), 1),
    "write, read by the same threads": (lines(alloc("a"), put("a"), get("a", "rows")), 0),
    "replicas read what one of them wrote": (lines(alloc("a"), put("a", "twice"), get("a", "twice")), 1),
    "write, read, write": (lines(alloc("a"), put("a"), get("a"), put("a")), 2),
    "two tiles, one barrier": (lines(alloc("a"), alloc("b"), put("a"), put("b"), get("a"), get("b")), 1),
    "reads alone": (lines(alloc("a"), put("a"), get("a"), get("a"), get("a", "twice")), 1),
    "scratch in a loop": (loop(lines(alloc("a"), put("a"), get("a"))), 2),
    "written before a loop, read in it": (lines(alloc("a"), put("a"), loop(get("a"))), 1),
    "written before two loops": (lines(alloc("a"), put("a"), loop(loop(get("a"))), get("a")), 1),
    "read in a loop, written after": (lines(alloc("a"), put("a"), loop(get("a")), put("a")), 2),
    "one barrier serves a tile read and another written": (
        lines(alloc("a"), alloc("b"), put("a"), loop(lines(get("a"), put("b", "cols"), get("b", "rows")))),
        3,  # before the loop for %a; in it one before %b is written again and one before it is read
    ),
    "slots of a ring": (lines(alloc("r", 2), slot("s", "r", "c0"), slot("t", "r", "c1"), put("s"), get("t")), 0),
    "a slot that is not known": (
        lines(alloc("r", 2), slot("s", "r", "c0"), slot("t", "r", "n"), put("s"), get("t")),
        1,
    ),
    "in place": (lines(load("x"), store("x")), 0),
    "in place, other threads": (lines(load("x"), store("x", layout="cols")), 1),
    "in place, replicas": (lines(load("x", layout="twice"), store("x", layout="twice")), 1),
    "tiles apart": (lines(store("x"), load("x", "c0, %c8", "cols")), 0),
    "tiles that overlap": (lines(store("x"), load("x", "c0, %c7", "cols")), 1),
    "views apart": (lines(store("x"), load("y", layout="cols")), 0),
    "in place, tile after tile": (
        counted(lines("%o = arith.muli %i, %c8 : i64", load("x", "c0, %o", "cols"), store("x", "c0, %o", "cols"))),
        0,
    ),
    "in place, by strides known at run time": (
        lines(
            "%step = arith.addi %n, %c1 : i64",
            counted(
                lines("%o = arith.muli %i, %c8 : i64", load("x", "c0, %o", "cols"), store("x", "c0, %o", "cols")),
                "c8",
                "step",
            ),
        ),
        0,
    ),
    "along a diagonal by strides known at run time": (
        lines(
            "%step = arith.addi %n, %c1 : i64",
            "%e = scf.for %i = %c0 to %c8 step %step iter_args(%p = %c0) -> (i64) : i64 {",
            "%o = arith.muli %i, %c8 : i64",
            load("x", "p, %o", "cols"),
            store("x", "p, %o", "rows"),
            "%p2 = arith.addi %p, %c8 : i64",
            "scf.yield %p2 : i64",
            "}",
        ),
        1,
    ),
    "in place, by overlapping tiles": (
        counted(lines("%o = arith.muli %i, %c7 : i64", load("x", "c0, %o", "cols"), store("x", "c0, %o", "cols"))),
        1,
    ),
    "in place, downwards": (
        counted(
            lines(
                "%m = arith.subi %n, %i : i64",
                "%o = arith.muli %m, %c8 : i64",
                load("x", "c0, %o", "cols"),
                store("x", "c0, %o", "cols"),
            )
        ),
        0,
    ),
    "a prefix carried through memory": (prefix("cols"), 0),
    "a prefix carried to other threads": (prefix("rows"), 1),
    "the same tile in each iteration": (loop(lines(load("x"), store("x"))), 0),
    "both branches": (
        lines(
            alloc("a"),
            put("a"),
            "%q = arith.cmpi slt, %n, %c2 : i64",
            f"scf.if %q {{\n{get('a')}\n}} else {{\n{get('a')}\n}}",
            get("a"),
        ),
        1,
    ),
    "a race in a branch": (
        lines(alloc("a"), "%q = arith.cmpi slt, %n, %c2 : i64", f"scf.if %q {{\n{put('a')}\n{get('a')}\n}}"),
        1,
    ),
    "a tile chosen by a branch": (
        lines(
            alloc("a"),
            alloc("b"),
            put("a"),
            put("b"),
            "%q = arith.cmpi slt, %n, %c2 : i64",
            f"%e = scf.if %q -> ({BUFFER}) {{\nscf.yield %a : {BUFFER}\n}} else {{\nscf.yield %b : {BUFFER}\n}}",
            get("e"),
        ),
        1,
    ),
    "while": (
        lines(
            alloc("a"),
            "%w = scf.while (%j = %c0) : (i64) -> i64 {",
            get("a"),
            "%q = arith.cmpi slt, %j, %n : i64",
            "scf.condition(%q) %j : i64",
            "} do {",
            "^bb0(%j: i64):",
            put("a"),
            "%k = arith.addi %j, %c1 : i64",
            "scf.yield %k : i64",
            "}",
        ),
        2,
    ),
    "copy, wait, read": (lines(alloc("a"), copy("x", "a"), COMMIT, wait(0), get("a")), 1),
    "copy, wait, read by the copying threads": (
        lines(alloc("a"), copy("x", "a"), COMMIT, wait(0), get("a", "rows")),
        0,
    ),
    "copies twice": (
        lines(
            alloc("a"), alloc("b"), copy("x", "a"), COMMIT, wait(0), get("a"), copy("x", "b"), COMMIT, wait(0), get("b")
        )
        + "\n"
        + get("a"),
        2,
    ),
    "two groups": (
        lines(
            alloc("a"), alloc("b"), copy("x", "a"), COMMIT, copy("x", "b"), COMMIT, wait(1), get("a"), wait(0), get("b")
        ),
        2,
    ),
    "copy of what was stored": (lines(alloc("a"), store("x"), copy("x", "a"), COMMIT), 0),
    "copy of what other threads stored": (lines(alloc("a"), store("x", layout="cols"), copy("x", "a"), COMMIT), 1),
    "copies before a loop, waited for in it": (
        lines(alloc("a"), copy("x", "a"), COMMIT, loop(lines(wait(0), get("a")))),
        1,
    ),
    "an inherited barrier": (lines(alloc("a"), put("a"), "simt.barrier", get("a")), 1),
    "barriers in a row": (
        lines(alloc("a"), put("a"), "simt.barrier", "simt.barrier", get("a"), "simt.barrier", put("a")),
        2,
    ),
}


def pipelined(slots: int, *, masks: bool = False, extra: Sequence[str] = ("",) * 5) -> str:
    """The loop that lower-pipe makes of a channel: copies run slots-1 iterations ahead of their use.

    `extra`: what else is done before the loop, in it before the wait, before and after the read, and behind it.
    """

    def index(name: str, value: str) -> str:
        if masks:
            return f"%{name} = arith.andi %{value}, %c{slots - 1} : i64"
        return f"%{name} = arith.remui %{value}, %c{slots} : i64"

    prologue = [alloc("ring", slots)]
    for j in range(slots - 1):
        body = lines(slot(f"p{j}", "ring", f"c{j}"), copy("x", f"p{j}"))
        prologue += [f"%q{j} = arith.cmpi slt, %c{j}, %n : i64", f"scf.if %q{j} {{\n{body}\n}}", COMMIT]
    body = lines(
        extra[1],
        wait(max(0, slots - 2)),
        index("mine", "i"),
        slot("in", "ring", "mine"),
        f"%next = arith.addi %i, %c{slots - 1} : i64",
        "%q = arith.cmpi slt, %next, %n : i64",
        f"scf.if %q {{\n{index('free', 'next')}\n{slot('to', 'ring', 'free')}\n{copy('x', 'to')}\n}}",
        COMMIT,
        extra[2],
        get("in"),
        extra[3],
    )
    return lines(*prologue, extra[0], counted(body), wait(0), extra[4])


for _slots in (2, 3, 4):
    PROGRAMS[f"{_slots} stages"] = (pipelined(_slots), 1)
PROGRAMS["4 stages, slots by masks"] = (pipelined(4, masks=True), 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_barriers_are_enough_and_no_more(name: str) -> None:
    body, expected = PROGRAMS[name]
    module = fenced(kernel(body))
    for trips in TRIPS:
        assert not races(module, "x", "y", trips)
    found = barriers(module)
    assert len(found) == expected, str(module)
    for number in range(len(found)):
        fewer = module.clone()
        barriers(fewer)[number].detach()
        raced = any(races(fewer, "x", "y", trips) for trips in (*TRIPS, 9))
        # The outcome of a program that cannot race when it is run is not known to the compiler.
        assert raced or name == "a slot that is not known", f"barrier {number} orders nothing:\n{module}"


def test_a_barrier_stands_before_the_loop_that_only_reads() -> None:
    module = fenced(kernel(lines(alloc("a"), put("a"), loop(get("a")))))
    (barrier,) = barriers(module)
    assert isinstance(barrier.parent_op(), simt.Kernel)


def test_one_barrier_in_each_iteration_of_a_pipelined_loop() -> None:
    for slots in (2, 3, 4):
        done = run(fenced(kernel(pipelined(slots))), "x", "y", 10)
        assert done.barriers == 10 and not done.races


def test_sees_memory_that_two_tiles_share() -> None:
    apart = kernel(lines(alloc("a"), put("a"), get("a"), alloc("b"), put("b"), get("b")))
    assert len(barriers(fenced(apart))) == 2
    shared = apart.replace("simt.alloc_shared", "simt.alloc_shared {offset = 0 : i64}")
    module = fenced(shared)
    assert len(barriers(module)) == 3 and not races(module, "x", "y", 0)
    partly = apart.replace("%b = simt.alloc_shared", "%b = simt.alloc_shared {offset = 252 : i64}").replace(
        "%a = simt.alloc_shared", "%a = simt.alloc_shared {offset = 0 : i64}"
    )
    module = fenced(partly)
    assert len(barriers(module)) == 3 and not races(module, "x", "y", 0)


def test_barriers_take_the_place_of_what_they_order() -> None:
    module = fenced(kernel(lines(alloc("a"), put("a"), get("a"))))
    (barrier,) = barriers(module)
    following = barrier.next_op
    assert following is not None and barrier.location == following.location


def test_runs_twice_without_change() -> None:
    module = fenced(kernel(pipelined(3)))
    before = str(module)
    for op in module.body.block.ops:
        assert isinstance(op, simt.Kernel)
        insert_fences(op)
    assert str(module) == before


def test_the_checker_finds_races() -> None:
    """What the tests above lean on can fail."""
    assert races(kernel(lines(alloc("a"), put("a"), get("a"))), "x", "y", 0)
    assert races(kernel(lines(alloc("a"), copy("x", "a"), COMMIT, "simt.barrier", wait(0), get("a"))), "x", "y", 0)
    assert races(kernel(lines(alloc("a"), copy("x", "a"), COMMIT, wait(1), "simt.barrier", get("a"))), "x", "y", 0)
    assert not races(kernel(lines(alloc("a"), copy("x", "a"), COMMIT, wait(0), "simt.barrier", get("a"))), "x", "y", 0)


# --- random programs -------------------------------------------------------------------------------------------------

_layouts = st.sampled_from(["rows", "cols", "twice"])
_indices = st.sampled_from(["c0", "c1", "c2", "now", "then"])
_offsets = st.sampled_from(["c0", "c4", "c8", "o", "p", "n"])


@st.composite
def _statement(draw: st.DrawFn, depth: int) -> str:
    kind = draw(
        st.sampled_from(["shared"] * 4 + ["ring"] * 3 + ["view"] * 2 + (["loop", "loop", "if"] if depth else []))
    )
    layout = draw(_layouts)
    writes = draw(st.booleans())
    if kind == "shared":
        buffer = draw(st.sampled_from(["a", "b", "d"]))
        return put(buffer, layout) if writes else get(buffer, layout)
    if kind == "ring":
        name = f"t{next(_names)}"
        access = put(name, layout) if writes else get(name, layout)
        return lines(slot(name, "r", draw(_indices)), access)
    if kind == "view":
        view = draw(st.sampled_from(["x", "y"]))
        at = f"c0, %{draw(_offsets)}"
        return store(view, at, layout) if writes else load(view, at, layout)
    body = draw(_program(depth - 1))
    if kind == "if":
        name = f"q{next(_names)}"
        other = f" else {{\n{draw(_program(depth - 1))}\n}}" if draw(st.booleans()) else ""
        return lines(f"%{name} = arith.cmpi slt, %n, %c2 : i64", f"scf.if %{name} {{\n{body}\n}}{other}")
    iv = f"i{next(_names)}"
    # The inner definitions hide those outside: each loop has its own slots and offsets.
    own = {key: f"{key}{iv}" for key in ("now", "then", "o", "p", "e")}
    header = lines(
        f"%{own['now']} = arith.remui %{iv}, %c3 : i64",
        f"%{own['e']} = arith.addi %{iv}, %c{draw(st.integers(1, 3))} : i64",
        f"%{own['then']} = arith.remui %{own['e']}, %c3 : i64",
        f"%{own['o']} = arith.muli %{iv}, %c{draw(st.sampled_from([4, 8]))} : i64",
        f"%{own['p']} = arith.addi %{own['o']}, %c{draw(st.sampled_from([4, 8]))} : i64",
    )
    for key in ("now", "then", "o", "p"):
        body = body.replace(f"%{key}]", f"%{own[key]}]")
    return f"scf.for %{iv} = %c0 to %n step %c{draw(st.sampled_from([1, 1, 2]))} : i64 {{\n{header}\n{body}\n}}"


@st.composite
def _program(draw: st.DrawFn, depth: int) -> str:
    return "\n".join(draw(st.lists(_statement(depth), min_size=1, max_size=4)))


def _whole(program: str) -> str:
    outside = {"now": "c0", "then": "c1", "o": "c0", "p": "c4"}
    for key, value in outside.items():
        program = program.replace(f"%{key}]", f"%{value}]")
    return kernel(lines(alloc("a"), alloc("b"), alloc("d"), alloc("r", 3), program))


@settings(max_examples=30)
@given(st.integers(2, 4), st.lists(_program(1), min_size=5, max_size=5), st.booleans(), st.booleans())
def test_random_programs_around_a_ring_do_not_race(slots: int, extra: list[str], place: bool, twice: bool) -> None:
    body = pipelined(slots, extra=[part.replace("%x[", "%y[") for part in extra])
    if twice:
        body = f"scf.for %again = %c0 to %c2 step %c1 : i64 {{\n{body}\n}}"
    module = fenced(_whole(body), place=place)
    for trips in (0, 1, 2, 5):
        assert not races(module, "x", "y", trips), str(module)


@settings(max_examples=60)
@given(_program(2), st.booleans())
def test_random_programs_do_not_race(program: str, place: bool) -> None:
    module = fenced(_whole(program), place=place)
    for trips in (0, 1, 3, 4):
        assert not races(module, "x", "y", trips), str(module)
