"""What kernels print and assert on the CPU. Text is compared with what Python's own formatting makes of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from python_kernels import simt_kernel

from tileopt import KernelAssertionError, simt, tile

FORMATS = [
    ("%d %i", (0, 3)), ("%5d|%-5d|%05d|%+d|% d", (1, -2, 3, 4, 5)), ("%x %X %#x %o", (255, 254, 253, 8)),
    ("%f %.2f %10.3f %-10.1f|", (0.5, -1.25, 3.0, 1e5)), ("%e %E %.1e", (1.5, -2.0, 12345.0)), ("%g %G", (1e-7, 1e20)),
    ("%c%c", (72, 105)), ("100%% of %d", (7,)), ("none", ()), ("é ü", ()), ("%f %f %f", (np.inf, -np.inf, np.nan)),
]  # fmt: skip


@simt.kernel(block=4)
def integers(n: simt.i64, u: simt.u64, b: simt.i8, c: simt.u8, t: bool):
    if simt.thread_index() == 1:
        simt.printf("%d %u %d %u %d|%x %x\n", n, u, b, c, t, n, b)


def lines(read: Any) -> list[str]:
    found: list[str] = read().out.splitlines()
    return found


def test_every_width_prints_as_itself(capsys: Any) -> None:
    integers[1](-(2**62), 2**64 - 1, -128, 255, True)
    assert lines(capsys.readouterr) == [f"{-(2**62)} {2**64 - 1} -128 255 1|{2**64 - 2**62:x} ffffff80"]


@pytest.mark.parametrize(("text", "values"), FORMATS, ids=[text for text, _ in FORMATS])
def test_formats(text: str, values: tuple[Any, ...], capsys: Any) -> None:
    picked = [f"{'n' if isinstance(v, int) else 'x'}[{i}]" for i, v in enumerate(values)]
    body = f"simt.printf({', '.join([repr(text), *picked])})"
    k = simt_kernel(body, "n: simt.Slice['i64'], x: simt.Slice['f64']", "block=1")
    k[1](np.array([v if isinstance(v, int) else 0 for v in (*values, 0)]), np.array([*values, 0], np.float64))
    assert capsys.readouterr().out == text % values


def test_threads_print_their_own(capsys: Any) -> None:
    x = np.random.default_rng().standard_normal(70).astype(np.float32)

    @simt.kernel(block=32)
    def k(x: simt.Slice["f32"]):
        for i in simt.grid_stride(len(x)):
            simt.printf("%d %.9g\n", i, x[i])

    k[2](x)
    printed = dict(line.split() for line in lines(capsys.readouterr))
    assert {int(i): np.float32(v) for i, v in printed.items()} == dict(enumerate(x))


def test_between_barriers(capsys: Any) -> None:
    @simt.kernel(block=64)
    def k(x: simt.Slice["i32"]):
        s = simt.shared(64, "i32")
        t = simt.thread_rank()
        s[t] = x[t]
        simt.barrier()
        if t < 2:
            simt.printf("%d\n", s[63 - t])
        simt.barrier()
        total = simt.warp_reduce(s[t])
        if simt.lane_index() == 0:
            simt.printf("%d\n", total)

    x = np.arange(64, dtype=np.int32) ** 2
    k[1](x)
    assert lines(capsys.readouterr) == [str(v) for v in (x[63], x[62], x[:32].sum(), x[32:].sum())]


def test_print_as_python_does(capsys: Any) -> None:
    @simt.kernel(block=1)
    def k(x: simt.Slice["f32"], n: simt.u32):
        print("a", 1, x[0], n, True, 2.5)
        print("50%", x[1], sep="-", end=";")
        print()

    k[1](np.array([0.5, 1e10], np.float32), 2**32 - 1)
    assert capsys.readouterr().out == "a 1 0.5 4294967295 True 2.5\n50%-1e+10;\n"


def test_bools_print_as_numbers_unless_they_are_known(capsys: Any) -> None:
    k = simt_kernel("print(x[0] > 0, x[0] < 0, True, not True)", "x: simt.Slice['f64']", "block=1")
    k[1](np.ones(1))
    assert lines(capsys.readouterr) == ["1 0 True False"]


def test_a_block_of_tiles_prints_once(capsys: Any) -> None:
    @tile.kernel
    def k(x: tile.In, out: tile.Out):
        i = tile.bid(0)
        a = tile.load(x, i, 100)
        if a.sum() > 0.0:
            tile.printf("%d: %s %.9g\n", i, "sum", a.sum())
        print("first", tile.load(x, 100 * i, 1).item())
        tile.store(out, i, a)

    x = np.random.default_rng().standard_normal(300).astype(np.float32).reshape(3, 100)
    x[0], x[1] = np.abs(x[0]), -np.abs(x[1])
    k[3](x.reshape(-1), np.empty(300, np.float32))
    printed = lines(capsys.readouterr)
    assert sorted(p for p in printed if p[0] == "f") == sorted(f"first {v:g}" for v in x[:, 0])
    sums = {int(p[0]): float(p.split()[2]) for p in printed if p[0] != "f"}
    assert set(sums) == {i for i in range(3) if x[i].sum() > 0}
    assert np.allclose([sums[i] for i in sums], [x[i].sum() for i in sums], rtol=1e-5)


@simt.kernel(block=(8, 4))
def asserts(x: simt.Slice["f32"], out: simt.DisjointSlice["f32"]):
    i = simt.thread_index()
    if i < len(out):
        assert i < len(x), "x is as long as out"
        assert x[i] > 0.0
        out[i] = x[i]


def test_an_assertion_that_holds() -> None:
    out = np.zeros(50, np.float32)
    asserts[2](np.ones(50, np.float32), out)
    assert (out == 1).all()
    compiled = asserts.compile("cpu", x="f32[?]", out="f32[?]")
    assert all(": proved" in line for line in compiled.report["bounds"])


@pytest.mark.parametrize(
    ("length", "place", "words", "text"),
    [
        (43, None, "the assertion 'x is as long as out' does not hold", 'assert i < len(x), "x is as long as out"'),
        (50, 43, "the assertion does not hold", "assert x[i] > 0.0"),
    ],
)
def test_an_assertion_that_fails(length: int, place: int | None, words: str, text: str) -> None:
    x = np.ones(length, np.float32)
    if place is not None:
        x[place] = -1
    with pytest.raises(KernelAssertionError) as caught:
        asserts[2](x, np.zeros(50, np.float32) if place else np.zeros(44, np.float32))
    error = caught.value
    assert isinstance(error, AssertionError) and error.code == "kernel/assertion"
    assert words in error.message and "in thread (3, 1, 0) of block (1, 0, 0)" in error.message
    assert error.location is not None and error.location.file == __file__
    assert (error.location.snippet() or "").split("\n")[0].strip() == text
    # The next launch is not affected.
    asserts[2](np.ones(50, np.float32), np.zeros(50, np.float32))


def test_an_assertion_stops_threads_that_wait() -> None:
    @simt.kernel(block=64)
    def k(n: int):
        s = simt.shared(64)
        s[simt.thread_rank()] = 1.0
        simt.barrier()
        simt.assert_(simt.thread_rank() != n, "not n")
        simt.barrier()
        s[63 - simt.thread_rank()] = 2.0

    k[3](64)
    with pytest.raises(KernelAssertionError, match="'not n' does not hold, in thread \\(17, 0, 0\\)"):
        k[3](17)


def test_an_assertion_about_a_tile() -> None:
    @tile.kernel
    def k(x: tile.In, out: tile.Out):
        a = tile.load(x, tile.bid(0), 128)
        assert (a >= 0).all(), "all are natural"
        tile.store(out, tile.bid(0), a)

    x, out = np.ones(256, np.float32), np.empty(256, np.float32)
    k[2](x, out)
    x[200] = -1
    with pytest.raises(KernelAssertionError, match="'all are natural' does not hold, .* of block \\(1, 0, 0\\)"):
        k[2](x, out)


def test_the_clock_goes_on() -> None:
    @simt.kernel(block=32)
    def k(out: simt.DisjointSlice["i64"], n: int):
        start = simt.clock()
        total = 0.0
        for _ in range(n):
            total = simt.sin(total + 1.0)
        if simt.thread_index() < len(out):
            out[simt.thread_index()] = simt.clock() - start + simt.i64(total * 0.0)

    out = np.zeros(32, np.int64)
    k[1](out, 10000)
    assert (out > 0).all()
