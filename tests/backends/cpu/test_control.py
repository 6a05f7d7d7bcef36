"""Structured control flow, carried values of every kind, and threads that meet inside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tileopt.dialects.layout import coalesced

pytestmark = pytest.mark.usefixtures("either_way")


def one_tile(cpu: Any, body: str, n: int = 64, warps: int = 1, scalars: tuple[str, ...] = (), vector: int = 2) -> Any:
    """A kernel that gives `%v` (loaded from x) to `body` and stores its `%r`, f32 tiles of n."""
    layout = coalesced((n,), (0,), vector, warps)
    w = cpu.Writer(threads=32 * warps)
    x, out = w.view("x", "f32"), w.view("out", "f32", owned=True)
    for i, dtype in enumerate(scalars):
        w.scalar(f"s{i}", dtype)
    w.line("%z = arith.constant 0 : i64")
    w.line("%one = arith.constant 1 : i64")
    w.load("v", "x", x, ["%z"], layout, "f32")
    w.line(body.replace("T", f"vector<{layout.registers}xf32>"))
    w.store("r", "out", out, ["%z"], layout, "f32")
    return w.compile()


def run(program: Any, n: int, *scalars: Any) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(1, n + 1, dtype=np.float32)
    out = np.zeros(n, np.float32)
    program(x, out, *scalars, shared=1 << 14)
    return x, out


FOR = """%r, %w = scf.for %i = %z to %s0 step %s1 iter_args(%a = %v, %b = %v) -> (T, T) : i64 {
  %c = arith.addf %a, %b : T
  scf.yield %b, %c : T, T
}"""


@pytest.mark.parametrize(("bound", "step"), [(0, 1), (1, 1), (2, 1), (5, 2), (7, 3), (-4, 1)])
def test_for_swaps_carried_fragments(cpu: Any, bound: int, step: int) -> None:
    x, out = run(one_tile(cpu, FOR, scalars=("i64", "i64")), 64, bound, step)
    a = b = x
    for _ in range(0, bound, step):
        a, b = b, a + b
    np.testing.assert_array_equal(out, a)


IF = """%c = arith.cmpi sgt, %s0, %z : i64
%r = scf.if %c -> (T) {
  %n = arith.negf %v : T
  scf.yield %n : T
} else {
  %d = arith.addf %v, %v : T
  scf.yield %d : T
}"""


@pytest.mark.parametrize("chosen", [1, 0])
def test_if(cpu: Any, chosen: int) -> None:
    x, out = run(one_tile(cpu, IF, scalars=("i64",)), 64, chosen)
    np.testing.assert_array_equal(out, -x if chosen else 2 * x)


WHILE = """%r, %k = scf.while (%a = %v, %n = %s0) : (T, i64) -> (T, i64) {
  %c = arith.cmpi sgt, %n, %one : i64
  %h = arith.addf %a, %v : T
  scf.condition(%c) %h, %n : T, i64
} do {
^bb0(%a : T, %n : i64):
  %two = arith.constant 2 : i64
  %m = arith.divsi %n, %two : i64
  scf.yield %a, %m : T, i64
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 9, 100])
def test_while(cpu: Any, n: int) -> None:
    x, out = run(one_tile(cpu, WHILE, scalars=("i64",)), 64, n)
    a = x
    while True:
        a = a + x
        if n <= 1:
            break
        n //= 2
    np.testing.assert_array_equal(out, a)


BUTTERFLY_IN_LOOP = """%r = scf.for %i = %z to %s0 step %one iter_args(%a = %v) -> (T) : i64 {
  %b = simt.shuffle_xor %a {mask = 1 : i64} : T -> T
  %c = simt.shuffle_xor %b {mask = 4 : i64} : T -> T
  %d = simt.shuffle_xor %c {mask = 2 : i64} : T -> T
  %e = arith.subf %d, %a : T
  scf.yield %e : T
}"""


@pytest.mark.parametrize("registers", [2, 8])
@pytest.mark.parametrize("rounds", [1, 2, 3, 6])
def test_shuffles_in_a_loop(cpu: Any, rounds: int, registers: int) -> None:
    """An odd number of shuffles a round: the halves of the exchange area must take turns across rounds."""
    n = 32 * registers
    program = one_tile(cpu, BUTTERFLY_IN_LOOP, n, scalars=("i64",), vector=registers)
    x, out = run(program, n, rounds)
    a = x.reshape(32, registers)
    for _ in range(rounds):
        a = a[np.arange(32) ^ 7] - a
    np.testing.assert_array_equal(out.reshape(32, registers), a)


@pytest.mark.parametrize("registers", [1, 8])
def test_what_a_loop_carries_is_shuffled_before_it_changes(cpu: Any, registers: int) -> None:
    """`a, b = shuffle(b), a`: a thread's next value must not reach those that still read its present one."""
    body = """%r, %w = scf.for %i = %z to %s0 step %one iter_args(%a = %v, %b = %v) -> (T, T) : i64 {
  %c = simt.shuffle_xor %b {mask = 5 : i64} : T -> T
  %d = simt.shuffle_xor %a {mask = 1 : i64} : T -> T
  scf.yield %c, %d : T, T
}"""
    n = 32 * registers
    x, out = run(one_tile(cpu, body, n, scalars=("i64",), vector=registers), n, 3)
    a = b = x.reshape(32, registers)
    for _ in range(3):
        a, b = b[np.arange(32) ^ 5], a[np.arange(32) ^ 1]
    np.testing.assert_array_equal(out.reshape(32, registers), a)


def test_one_warp_shuffles_while_others_wait(cpu: Any) -> None:
    """Warp 0 reduces what all warps left in shared memory; the others go straight to the next barrier."""
    body = """%t = simt.thread_id
%s = simt.alloc_shared {offset = 0 : i64} : !tile.buffer<256xf32>
simt.shared_store %v, %s {layout = LAYOUT} : T, !tile.buffer<256xf32>
simt.barrier
%c32 = arith.constant 32 : i32
%first = arith.cmpi ult, %t, %c32 : i32
scf.if %first {
  %p = simt.shared_load %s {layout = EIGHT} : !tile.buffer<256xf32> -> EIGHTS
  %q = simt.fragment_reduce %p {layout = EIGHT, shape = array<i64: 256>, kind = "sum", axis = 0 : i64} : EIGHTS -> ONE
  %q1 = simt.shuffle_xor %q {mask = 16 : i64} : vector<1xf32> -> vector<1xf32>
  %a1 = arith.addf %q, %q1 : vector<1xf32>
  %q2 = simt.shuffle_xor %a1 {mask = 8 : i64} : vector<1xf32> -> vector<1xf32>
  %a2 = arith.addf %a1, %q2 : vector<1xf32>
  %q3 = simt.shuffle_xor %a2 {mask = 4 : i64} : vector<1xf32> -> vector<1xf32>
  %a3 = arith.addf %a2, %q3 : vector<1xf32>
  %q4 = simt.shuffle_xor %a3 {mask = 2 : i64} : vector<1xf32> -> vector<1xf32>
  %a4 = arith.addf %a3, %q4 : vector<1xf32>
  %q5 = simt.shuffle_xor %a4 {mask = 1 : i64} : vector<1xf32> -> vector<1xf32>
  %a5 = arith.addf %a4, %q5 : vector<1xf32>
  %all = simt.fragment_select %a5 {registers = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>} : vector<1xf32> -> EIGHTS
  simt.shared_store %all, %s {layout = EIGHT} : EIGHTS, !tile.buffer<256xf32>
  scf.yield
}
simt.barrier
%g = simt.shared_load %s {layout = LAYOUT} : !tile.buffer<256xf32> -> T
%r = arith.addf %g, %v : T"""
    text = body.replace("LAYOUT", cpu.layout_text(coalesced((256,), (0,), 2, 4)))
    text = text.replace("EIGHTS", "vector<8xf32>").replace("-> ONE", "-> vector<1xf32>")
    text = text.replace("EIGHT", cpu.layout_text(coalesced((256,), (0,), 8, 1)))
    x, out = run(one_tile(cpu, text, n=256, warps=4), 256)
    np.testing.assert_array_equal(out, x + x.sum())


def test_barriers_in_a_loop(cpu: Any) -> None:
    """Each round every thread reads what a thread of another warp wrote in the round before."""
    w = cpu.Writer(threads=128)
    layout = coalesced((128,), (0,), 1, 4)
    text = cpu.layout_text(layout)
    turned = text.replace("warps = [[32], [64]]", "warps = [[64], [32]]")
    assert turned != text
    x, out = w.view("x", "f32"), w.view("out", "f32", owned=True)
    w.scalar("n", "i64")
    w.line("%z = arith.constant 0 : i64")
    w.line("%one = arith.constant 1 : i64")
    w.load("v", "x", x, ["%z"], layout, "f32")
    w.line("%s = simt.alloc_shared {offset = 0 : i64} : !tile.buffer<128xf32>")
    w.line("%r = scf.for %i = %z to %n step %one iter_args(%a = %v) -> (vector<1xf32>) : i64 {")
    w.line(f"  simt.shared_store %a, %s {{layout = {text}}} : vector<1xf32>, !tile.buffer<128xf32>")
    w.line("  simt.barrier")
    w.line(f"  %b = simt.shared_load %s {{layout = {turned}}} : !tile.buffer<128xf32> -> vector<1xf32>")
    w.line("  simt.barrier")
    w.line("  %c = arith.addf %a, %b : vector<1xf32>")
    w.line("  scf.yield %c : vector<1xf32>")
    w.line("}")
    w.store("r", "out", out, ["%z"], layout, "f32")
    program = w.compile()
    for rounds in (0, 1, 4):
        x_ = np.arange(128, dtype=np.float32)
        out_ = np.zeros(128, np.float32)
        program(x_, out_, rounds, shared=512)
        a = x_.reshape(4, 32)
        for _ in range(rounds):
            a = a + a[[0, 2, 1, 3]]
        np.testing.assert_array_equal(out_, a.ravel())


def test_ring_of_slots(cpu: Any) -> None:
    """Slot i of a ring, the index known or not, and one ring carried through a loop."""
    body = """%s = simt.alloc_shared {offset = 16 : i64, slots = 3 : i64} : !tile.buffer<64xf32>
%two = arith.constant 2 : i64
%three = arith.constant 3 : i64
%n = arith.negf %v : T
%a0 = simt.slot %s[%z] : !tile.buffer<64xf32> -> !tile.buffer<64xf32>
%a2 = simt.slot %s[%two] : !tile.buffer<64xf32> -> !tile.buffer<64xf32>
simt.shared_store %v, %a0 {layout = L} : T, !tile.buffer<64xf32>
simt.shared_store %n, %a2 {layout = L} : T, !tile.buffer<64xf32>
simt.barrier
%b = simt.slot %s[%s0] : !tile.buffer<64xf32> -> !tile.buffer<64xf32>
%r = simt.shared_load %b {layout = L} : !tile.buffer<64xf32> -> T"""
    program = one_tile(cpu, body.replace("L}", cpu.layout_text(coalesced((64,), (0,), 2, 1)) + "}"), scalars=("i64",))
    x, out = run(program, 64, 0)
    np.testing.assert_array_equal(out, x)
    x, out = run(program, 64, 2)
    np.testing.assert_array_equal(out, -x)


def test_blocks_do_not_share_frames_or_exchange(cpu: Any) -> None:
    """Many blocks in one call, each with its own row: what one leaves behind must not reach the next."""
    layout = coalesced((32,), (0,), 1, 1)
    w = cpu.Writer(threads=32)
    x, out = w.view("x", "f32"), w.view("out", "f32", owned=True)
    w.line("%b = simt.block_id {axis = 0 : i64}")
    w.line("%n = arith.constant 32 : i64")
    w.line("%o = arith.muli %b, %n : i64")
    w.load("v", "x", x, ["%o"], layout, "f32")
    w.line("%r = simt.shuffle_xor %v {mask = 31 : i64} : vector<1xf32> -> vector<1xf32>")
    w.store("r", "out", out, ["%o"], layout, "f32")
    x_ = np.arange(320, dtype=np.float32)
    out_ = np.zeros(320, np.float32)
    w.compile()(x_, out_, grid=(10,))
    np.testing.assert_array_equal(out_, x_.reshape(10, 32)[:, ::-1].ravel())


def test_bool_and_wide_shuffles(cpu: Any) -> None:
    layout = coalesced((64,), (0,), 2, 1)
    for dtype, make in (
        ("bool", lambda n: np.arange(n) % 3 == 0),
        ("f64", lambda n: np.arange(n) / 3),
        ("i8", np.arange),
    ):
        from tileopt.dialects.dtypes import DTYPES

        e = str(DTYPES[dtype].ir)
        w = cpu.Writer(threads=32)
        x, out = w.view("x", dtype), w.view("out", dtype, owned=True)
        w.line("%z = arith.constant 0 : i64")
        w.load("v", "x", x, ["%z"], layout, e)
        w.line(f"%r = simt.shuffle_xor %v {{mask = 3 : i64}} : vector<2x{e}> -> vector<2x{e}>")
        w.store("r", "out", out, ["%z"], layout, e)
        x_ = make(64).astype(DTYPES[dtype].numpy)
        out_ = np.zeros(64, x_.dtype)
        w.compile()(x_, out_)
        np.testing.assert_array_equal(out_.reshape(32, 2), x_.reshape(32, 2)[np.arange(32) ^ 3])


def test_scalar_parameters(cpu: Any) -> None:
    """Each scalar type comes from the low bytes of its slot."""
    w = cpu.Writer(threads=32)
    out = w.view("out", "f64", owned=True)
    kinds = ["bool", "i8", "i16", "i32", "i64"]
    for i, dtype in enumerate(kinds):
        w.scalar(f"s{i}", dtype)
    w.scalar("f", "f32")
    layout = coalesced((1,), (0,), 1, 1)
    for i, dtype in enumerate(kinds):
        ir = "i1" if dtype == "bool" else dtype
        w.line(f"%d{i} = arith.{'uitofp' if dtype == 'bool' else 'sitofp'} %s{i} : {ir} to f64")
    w.line("%d5 = arith.extf %f : f32 to f64")
    for i in range(6):
        w.line(f"%o{i} = arith.constant {i} : i64")
        w.line(f"%v{i} = simt.splat %d{i} : f64 -> vector<1xf64>")
        w.store(f"v{i}", "out", out, [f"%o{i}"], layout, "f64")
    out_ = np.zeros(6)
    w.compile()(out_, 1, -3, -300, -70000, -(1 << 40), 0.25)
    np.testing.assert_array_equal(out_, [1, -3, -300, -70000, -(1 << 40), 0.25])
