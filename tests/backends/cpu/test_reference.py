"""The references of the hardware's instructions against the PTX ISA's formulas and plain NumPy."""

from __future__ import annotations

import mma_fragments as ptx
import numpy as np
import pytest

from tileopt.backends.cpu.reference import barriers, boxes, matrices, shared_operands
from tileopt.dialects.gpu_mma_shapes import MMA_SHAPES, OPERAND_BITS
from tileopt.dialects.layout import SharedLayout

ROWS = [(row.name, a, b, acc) for row in MMA_SHAPES for a in row.kinds for b in row.kinds for acc in row.accs]


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh numbers in every run; the seed is printed when the test fails."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def as_words(elements: ptx.Array, kind: str) -> ptx.Array:
    found = ptx.words_of(elements, kind)
    return found.view(np.uint64) if kind == "f64" else found.astype(np.uint64)


@pytest.mark.parametrize(("shape", "a_type", "b_type", "acc_type"), ROWS)
def test_mma_sync(rng: np.random.Generator, shape: str, a_type: str, b_type: str, acc_type: str) -> None:
    row = next(r for r in MMA_SHAPES if r.name == shape and a_type in r.kinds)
    bits = OPERAND_BITS[a_type]
    formulas = ptx.OPERANDS[shape, bits]
    a, b = (ptx.random_matrix(rng, s, t) for s, t in (((row.m, row.k), a_type), ((row.k, row.n), b_type)))
    acc = ptx.random_matrix(rng, (row.m, row.n), acc_type)
    words = [
        as_words(ptx.held(a, formulas[0], row.m * row.k // 32), a_type),
        as_words(ptx.held(b, formulas[1], row.k * row.n // 32), b_type),
        as_words(ptx.held(acc, ptx.ACC[row.m], row.m * row.n // 32), acc_type),
    ]
    assert tuple(w.shape[1] for w in words) == row.words(acc_type)
    out = matrices.mma_sync(shape, a_type, b_type, acc_type, *words)
    stored = ptx.STORED[acc_type]
    elements = (out if acc_type == "f64" else out.astype(np.uint32)).view(stored)
    found = ptx.scattered(elements, ptx.ACC[row.m], (row.m, row.n))
    wide = np.int64 if acc_type == "i32" else np.float64
    wanted = (acc.astype(wide) + a.astype(wide) @ b.astype(wide)).astype(stored)
    if acc_type == "f64":
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, wanted)


def test_integer_sums_wrap() -> None:
    most = np.full((32, 2), 0x7F7F7F7F, np.uint64)
    acc = np.full((32, 2), 0x7FFFFFFF, np.uint64)
    out = matrices.mma_sync("m8n8k16", "i8", "i8", "i32", most[:, :1], most[:, :1], acc)
    assert (out.astype(np.uint32) == np.uint32(0x7FFFFFFF) + np.uint32(16 * 127 * 127)).all()


def test_tf32_drops_the_last_bits() -> None:
    one = np.float32(1).view(np.uint32) | np.uint32(0x1FFF)
    a, b = np.full((32, 2), one, np.uint64), np.full((32, 1), one, np.uint64)
    out = matrices.mma_sync("m16n8k4", "tf32", "tf32", "f32", a, b, np.zeros((32, 4), np.uint64))
    assert (out.astype(np.uint32).view(np.float32) == 4).all()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_and_stmatrix(rng: np.random.Generator, count: int, transposed: bool) -> None:
    """PTX ISA, ldmatrix: thread t has elements 2(t % 4) and 2(t % 4) + 1 of row t // 4, or of that column."""
    blocks = rng.integers(0, 1 << 16, (count, 8, 8)).astype(np.uint16)
    rows = blocks.reshape(count * 8, 8).view(np.uint8)
    words = matrices.ldmatrix(rows, transposed)
    assert words.shape == (32, count)
    for lane in range(32):
        for q in range(count):
            block = blocks[q].T if transposed else blocks[q]
            low, high = block[lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2]
            assert words[lane, q] == int(low) | int(high) << 16
    np.testing.assert_array_equal(matrices.stmatrix(words, transposed), rows)


@pytest.mark.parametrize("n", [8, 24, 256])
def test_wgmma(rng: np.random.Generator, n: int) -> None:
    """PTX ISA, wgmma: thread t of warp w has row 16w + t // 4 (+ 8), columns 8j + 2(t % 4) + 0, 1."""
    a = rng.standard_normal((64, 32)).astype(np.float16)
    b = rng.standard_normal((n, 32)).astype(np.float16)
    acc = rng.standard_normal((64, n)).astype(np.float32)

    def place(thread: int, i: int) -> tuple[int, int]:
        warp, lane = divmod(thread, 32)
        return 16 * warp + lane // 4 + (8 if i % 4 >= 2 else 0), 8 * (i // 4) + 2 * (lane % 4) + i % 2

    words = np.zeros((128, n // 2), np.float32)
    for thread in range(128):
        for i in range(n // 2):
            words[thread, i] = acc[place(thread, i)]
    out = matrices.wgmma(a, b, words.view(np.uint32).astype(np.uint64), "f32").astype(np.uint32).view(np.float32)
    wanted = (acc.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)
    for thread in range(128):
        for i in range(n // 2):
            assert out[thread, i] == wanted[place(thread, i)]


def test_wgmma_operand_in_registers(rng: np.random.Generator) -> None:
    """It lies as that of mma.m16n8k16, step by step, 16 rows for each warp."""
    a = rng.standard_normal((64, 48)).astype(np.float16)
    words = np.zeros((128, 12), np.uint64)
    for warp in range(4):
        for step in range(3):
            part = a[16 * warp : 16 * warp + 16, 16 * step : 16 * step + 16]
            elements = ptx.held(part, ptx.OPERANDS["m16n8k16", 16][0], 8)
            words[32 * warp : 32 * warp + 32, 4 * step : 4 * step + 4] = as_words(elements, "f16")
    np.testing.assert_array_equal(matrices.wgmma_a(words, "f16"), a)


@pytest.mark.parametrize(
    "layout",
    [SharedLayout((8, 12), (0, 1)), SharedLayout((16, 64), (0, 1), 3, 3, 3), SharedLayout((12, 8), (1, 0)),
     SharedLayout((8, 32), (0, 1), 1, 3, 3, 0, 16), SharedLayout((5, 7), (0, 1), pad=3)],
)  # fmt: skip
def test_element_places_are_the_layout(layout: SharedLayout) -> None:
    places = shared_operands.element_places(layout)
    for at in np.ndindex(layout.shape):
        assert places[at] == layout.index(at)


def test_boxes(rng: np.random.Generator) -> None:
    array = rng.integers(1, 1000, (7, 9)).astype(np.uint16)
    layout = SharedLayout((4, 8), (0, 1))
    for offsets in ((0, 0), (5, 4), (-2, -3), (7, 0), (20, -20)):
        tile = np.zeros(32, np.uint16)
        boxes.load_box(array, offsets, tile, layout)
        wanted = np.zeros((4, 8), np.uint16)
        for i, j in np.ndindex(4, 8):
            row, column = offsets[0] + i, offsets[1] + j
            if 0 <= row < 7 and 0 <= column < 9:
                wanted[i, j] = array[row, column]
        np.testing.assert_array_equal(tile.reshape(4, 8), wanted)
        out = np.zeros_like(array)
        boxes.store_box(out, offsets, np.full(32, 7, np.uint16), layout)
        assert (out == 7).sum() == (wanted != 0).sum()


def test_a_phase_ends_with_its_arrivals_and_bytes() -> None:
    barrier = barriers.MemoryBarrier(2)
    assert barrier.passed(1) and not barrier.passed(0)
    barrier.expect(64)
    barrier.arrive()
    barrier.arrive()
    assert not barrier.passed(0)
    with pytest.raises(ValueError, match="0 more"):
        barrier.arrive()
    barrier.complete(64)
    assert barrier.passed(0) and not barrier.passed(1)
    barrier.arrive(2)
    assert barrier.passed(1) and not barrier.passed(0)
