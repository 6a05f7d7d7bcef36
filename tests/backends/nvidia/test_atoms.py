"""Fragments against the index formulas of the PTX ISA manual ("Matrix Fragments for mma.*"), as it states them."""

from __future__ import annotations

import numpy as np
import pytest
from mma_fragments import formulas

from tileopt.backends.nvidia.atoms.fma import FMA
from tileopt.backends.nvidia.atoms.mma_sync import INSTRUCTIONS, MMA_SYNC
from tileopt.backends.nvidia.atoms.table import ALL, legal_atoms
from tileopt.backends.nvidia.atoms.wgmma import WGMMA
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.gpu_described import stored
from tileopt.dialects.target import Atom, Fragment


def placed(fragment: Fragment) -> dict[tuple[int, int], tuple[int, int]]:
    """(register, lane) -> (row, column) of a fragment."""
    layout = fragment.tiled(fragment.shape, ())
    return {(r, lane): (at[0], at[1]) for r, lane, _, at in layout.elements()}


@pytest.mark.parametrize("atom", MMA_SYNC, ids=lambda a: a.name)
@pytest.mark.parametrize("role", ["a", "b", "acc"])
def test_fragment_is_the_manuals(atom: Atom, role: str) -> None:
    formula = formulas(*atom.shape, DTYPES[stored(atom.a)].bits)[role]
    got = placed(atom.fragments[role])
    rows, columns = atom.fragments[role].shape
    assert len(got) == rows * columns == len(set(got.values()))
    for (i, lane), at in got.items():
        assert at == formula(i, lane >> 2, lane % 4), (i, lane)


@pytest.mark.parametrize("atom", MMA_SYNC, ids=lambda a: a.name)
def test_fragment_shapes_are_the_operands(atom: Atom) -> None:
    m, n, k = atom.shape
    assert atom.fragments["a"].shape == (m, k)
    assert atom.fragments["b"].shape == (k, n)
    assert atom.fragments["acc"].shape == (m, n)


@pytest.mark.parametrize("atom", MMA_SYNC, ids=lambda a: a.name)
def test_registers_hold_whole_fragments(atom: Atom) -> None:
    form = INSTRUCTIONS[atom.name]
    m, n, k = atom.shape
    assert form.a * form.packed * 32 == m * k
    assert form.b * form.packed * 32 == k * n
    assert form.acc * form.acc_packed * 32 == m * n


def random_operand(shape: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    held = DTYPES[stored(dtype)]
    values = np.random.default_rng(seed).integers(-8, 9, shape)
    return (values if dtype in ("i8", "u8") or held.kind == "i" else values / 4).astype(DTYPES.get(dtype, held).numpy)


@pytest.mark.parametrize("atom", ALL, ids=lambda a: a.name)
def test_reference_is_a_matrix_product(atom: Atom) -> None:
    m, n, k = atom.shape
    a, b = random_operand((m, k), atom.a, 1), random_operand((k, n), atom.b, 2)
    acc = random_operand((m, n), atom.acc, 3)
    assert atom.reference is not None
    got = atom.reference(a, b, acc)
    want = np.array(acc, np.float64)
    for i in range(m):
        for j in range(n):
            for p in range(k):
                want[i, j] += float(a[i, p]) * float(b[p, j])
    assert got.dtype == DTYPES[atom.acc].numpy
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(got.dtype).astype(np.float64))


def test_products_of_tf32_drop_bits() -> None:
    """Ten bits of mantissa are left, as by rounding toward zero."""
    atom = next(a for a in MMA_SYNC if a.a == "tf32")
    m, n, k = atom.shape
    a = np.full((m, k), 1 + 2**-10 + 2**-11, np.float32)
    b = np.full((k, n), -1 - 2**-11, np.float32)
    assert atom.reference is not None
    np.testing.assert_array_equal(atom.reference(a, b, np.zeros((m, n), np.float32)), -k * (1 + 2**-10))


def test_integer_products_wrap() -> None:
    fma = next(a for a in FMA if a.name == "fma_i32_i32")
    assert fma.reference is not None
    big = np.array([[2**31 - 1]], np.int32)
    assert fma.reference(big, np.array([[2]], np.int32), np.array([[0]], np.int32))[0, 0] == -2


@pytest.mark.parametrize(
    ("target", "types", "best"),
    [
        ("sm_75", ("f16", "f16", "f32"), "mma_m16n8k8_f16_f32"),
        ("sm_75", ("bf16", "bf16", "f32"), "fma_bf16_f32"),
        ("sm_75", ("f64", "f64", "f64"), "fma_f64_f64"),
        ("sm_80", ("f16", "f16", "f32"), "mma_m16n8k16_f16_f32"),
        ("sm_80", ("bf16", "bf16", "f32"), "mma_m16n8k16_bf16_f32"),
        ("sm_80", ("f32", "f32", "f32"), "fma_f32_f32"),
        ("sm_80", ("f64", "f64", "f64"), "mma_m8n8k4_f64_f64"),
        ("sm_90a", ("f64", "f64", "f64"), "mma_m16n8k8_f64_f64"),
        ("sm_80", ("tf32", "tf32", "f32"), "mma_m16n8k8_tf32_f32"),
        ("sm_90a", ("tf32", "tf32", "f32"), "wgmma_m64n8k8_tf32_f32"),
        ("sm_90a", ("f32", "f32", "f32"), "fma_f32_f32"),
        ("sm_80", ("f8e4m3fn", "f8e4m3fn", "f32"), "fma_f8e4m3fn_f32"),
        ("sm_89", ("f8e4m3fn", "f8e4m3fn", "f32"), "mma_m16n8k32_f8e4m3fn_f32"),
        ("sm_90a", ("f8e4m3fn", "f8e4m3fn", "f32"), "wgmma_m64n8k32_f8e4m3fn_f32"),
        ("sm_90a", ("i8", "i8", "i32"), "wgmma_m64n8k32_i8_i32"),
        ("sm_90a", ("u8", "u8", "i32"), "wgmma_m64n8k32_u8_i32"),
        ("sm_75", ("u8", "u8", "i32"), "mma_m8n8k16_u8_i32"),
        ("sm_90", ("i8", "i8", "i32"), "mma_m16n8k32_i8_i32"),
        ("sm_100a", ("i8", "i8", "i32"), "tcgen05_m128n16k32_i8_i32"),
        ("sm_103a", ("i8", "i8", "i32"), "mma_m16n8k32_i8_i32"),
    ],
)
def test_best_legal_atom(target: str, types: tuple[str, str, str], best: str) -> None:
    assert legal_atoms(nvidia_target(target), *types)[0].name == best


def test_names_are_unique_and_every_row_has_a_reference() -> None:
    assert len({a.name for a in ALL}) == len(ALL)
    assert all(a.reference is not None for a in ALL)


# PTX ISA, "Register fragments and shared memory matrix layouts" of wgmma: thread t of the warpgroup, register d[i].


@pytest.mark.parametrize("atom", WGMMA, ids=lambda atom: atom.name)
def test_wgmma_accumulator_is_the_manuals(atom: Atom) -> None:
    m, n, _ = atom.shape
    layout = atom.fragments["acc"].tiled((m, n), [0, 0])
    assert layout.registers == n // 2
    for register in range(0, layout.registers, 5):
        for thread in range(128):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (register // 2 % 2)
            column = 8 * (register // 4) + 2 * (thread % 4) + register % 2
            assert layout.coord(register, thread % 32, thread // 32) == (row, column)


@pytest.mark.parametrize("atom", [a for a in WGMMA if a.shape[1] == 8], ids=lambda atom: atom.name)
def test_wgmma_left_operand_is_the_manuals(atom: Atom) -> None:
    m, _, k = atom.shape
    layout = atom.fragments["a"].tiled((m, k), [0, 0])
    packed = 32 // DTYPES[stored(atom.a)].bits
    assert layout.registers == 4 * packed and k * DTYPES[stored(atom.a)].bits == 256
    for register in range(4 * packed):
        word, inside = divmod(register, packed)
        for thread in range(128):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (word % 2)
            column = 4 * packed * (word // 2) + packed * (thread % 4) + inside
            assert layout.coord(register, thread % 32, thread // 32) == (row, column)


def test_wgmma_comes_in_every_width() -> None:
    for dtype in ("f16", "bf16", "f8e4m3fn", "f8e5m2", "tf32"):
        assert [a.shape[1] for a in WGMMA if a.a == dtype] == list(range(8, 257, 8))
    for dtype in ("i8", "u8"):
        assert [a.shape[1] for a in WGMMA if a.a == dtype] == [8, 16, 24, *range(32, 257, 16)]
