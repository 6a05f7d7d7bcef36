"""`mma.sync` with block scales: fragments by the manual's formulas, and what comes out of the PTX that is written."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from llvm_simulator import Kernel
from mma_fragments import SCALED_COLUMN, SCALED_ROW, formulas
from nvidia_programs import compile_text
from packed_programs import unpacked

from tileopt.backends.nvidia.atoms.mma_scaled import MMA_SCALED
from tileopt.backends.nvidia.ptxas import assemble
from tileopt.backends.nvidia.targets import nvidia_target
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.layout import Layout
from tileopt.dialects.target import Atom
from tileopt.passes.layout.product_layouts import product_layouts

Array = np.ndarray[Any, Any]
TYPES = {"f8e4m3fn": "f8E4M3FN", "f8e5m2": "f8E5M2", "f4e2m1fn": "i8", "f8e8m0fnu": "f8E8M0FNU"}
NUMPY = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": np.uint8,
}  # fmt: skip
ROLES: tuple[str, ...] = ("a", "b", "acc", "a_scale", "b_scale")


@pytest.mark.parametrize("atom", MMA_SCALED, ids=lambda a: a.name)
def test_fragments_are_the_manuals(atom: Atom) -> None:
    four = atom.a == "f4e2m1fn"
    held = formulas(16, 8, 64 if four else 32, 4 if four else 8)
    for role, axis in (("a", 1), ("b", 0), ("acc", None)):
        for register, lane, _, at in atom.fragments[role].tiled(atom.fragments[role].shape, ()).elements():
            for half in range(2 if four and axis is not None else 1):
                number = 2 * register + half if four and axis is not None else register
                wanted = list(held[role](number, lane >> 2, lane % 4))
                if four and axis is not None:
                    assert wanted[axis] % 2 == half
                    wanted[axis] //= 2
                assert tuple(wanted) == at
    for role, axis, where in (("a_scale", 0, SCALED_ROW), ("b_scale", 1, SCALED_COLUMN)):
        seen = set()
        for register, lane, _, at in atom.fragments[role].tiled(atom.fragments[role].shape, ()).elements():
            counts = where(lane >> 2, lane % 4)
            if counts is not None:
                assert (at[axis], at[1 - axis]) == (counts, register)
                seen.add(at)
        assert len(seen) == np.prod(atom.fragments[role].shape)


def random_bytes(rng: np.random.Generator, shape: tuple[int, int], kind: str) -> Array:
    if kind == "f4e2m1fn":
        return rng.integers(0, 256, shape).astype(np.uint8)
    if kind == "f8e8m0fnu":
        return rng.integers(117, 138, shape).astype(np.uint8).view(NUMPY[kind])
    return (rng.standard_normal(shape) * 4).astype(NUMPY[kind])


def text(atom: Atom, shapes: dict[str, tuple[int, int]], layouts: dict[str, Layout], warps: int, target: str) -> str:
    types = {"a": TYPES[atom.a], "b": TYPES[atom.b], "acc": "f32"}
    types |= dict.fromkeys(("a_scale", "b_scale"), TYPES[atom.scale or ""])
    fragments = {r: f"vector<{layouts[r].registers}x{types[r]}>" for r in ROLES}

    def over(role: str) -> str:
        m, n = shapes[role]
        where = f"layout = {LayoutAttr.of(layouts[role])}, shape = array<i64: {m}, {n}>"
        return f"{{{where}, bounds = #tile.bounds<masked [0, 1]>}}"

    views = [f"%{r}: !tile.view<?x?x{types[r]}, shared>" for r in ROLES]
    lines = [
        f"%{r}_ = simt.fragment_load %{r}[%z, %z] {over(r)} : !tile.view<?x?x{types[r]}, shared> -> {fragments[r]}"
        for r in ROLES
    ]
    (m, k), n = shapes["a"], shapes["b"][1]
    properties = [f'atom = "{atom.name}", m = {m} : i64, n = {n} : i64, k = {k} : i64']
    properties += [f"blocks = {shapes['a_scale'][1]} : i64"]
    properties += [f"layout_{r} = {LayoutAttr.of(layouts[r])}" for r in ROLES]
    signature = f"{', '.join(fragments[r] for r in ROLES[:3])} scaled {', '.join(fragments[r] for r in ROLES[3:])}"
    lines.append(
        f"%d = gpu.mma_sync %a_, %b_, %acc_ scaled %a_scale_, %b_scale_ {{{', '.join(properties)}}} : "
        f"{signature} -> {fragments['acc']}"
    )
    lines.append(f"simt.fragment_store %d, %out[%z, %z] {over('acc')} : {fragments['acc']}, !tile.view<?x?xf32, owned>")
    head = f"simt.kernel @kernel({', '.join([*views, '%out: !tile.view<?x?xf32, owned>'])})"
    attributes = f"attributes {{simt.threads = {32 * warps} : i64, simt.shared_bytes = 0 : i64}}"
    body = "\n".join(["%z = arith.constant 0 : i64", *lines, "simt.return"])
    return f'builtin.module attributes {{tile.target = "{target}"}} {{\n{head} {attributes} {{\n{body}\n}}\n}}'


@pytest.mark.parametrize("atom", MMA_SCALED, ids=lambda a: a.name)
@pytest.mark.parametrize(("m", "n", "steps", "warps"), [(16, 8, 1, 1), (48, 24, 3, 2), (32, 40, 2, 4)])
def test_products(atom: Atom, m: int, n: int, steps: int, warps: int) -> None:
    rng = np.random.default_rng()
    k, blocks = 32 * steps, atom.fragments["a_scale"].shape[1] * steps
    shapes = {"a": (m, k), "b": (k, n), "acc": (m, n), "a_scale": (m, blocks), "b_scale": (blocks, n)}
    found = product_layouts(nvidia_target("sm_120a").atom(atom.name), m, n, k, warps, False)
    assert found.a is not None and found.b is not None
    layouts = dict(zip(ROLES, (found.a, found.b, found.acc, *found.scales), strict=True))
    kinds = {"a": atom.a, "b": atom.b, "a_scale": atom.scale or "", "b_scale": atom.scale or ""}
    given = {r: random_bytes(rng, shapes[r], kind) for r, kind in kinds.items()}
    given["acc"] = rng.standard_normal((m, n)).astype(np.float32)
    out = np.full((m, n), 77, np.float32)
    llvm, ptx = compile_text(text(atom, shapes, layouts, warps, "sm_120a"), "sm_120a")
    arguments: list[Any] = []
    for array in (*(given[r] for r in ROLES), out):
        arguments += [np.ascontiguousarray(array), *array.shape, array.shape[1], 1]
    arguments[-5] = out
    Kernel(llvm).run(arguments, (1,), 32 * warps)
    wide = {r: np.abs(given[r].astype(np.float64)) for r in ("a_scale", "b_scale")}
    for role, axis in (("a", 1), ("b", 0)):
        four = kinds[role] == "f4e2m1fn"
        wide[role] = unpacked(given[role], "f4e2m1fn", axis) if four else given[role].astype(np.float64)
    count = wide["a"].shape[1] // blocks
    left, right = wide["a"] * wide["a_scale"].repeat(count, 1), wide["b"] * wide["b_scale"].repeat(count, 0)
    wanted = given["acc"] + left @ right
    room = np.abs(left) @ np.abs(right) + np.abs(given["acc"])
    assert (np.abs(out - wanted) <= (steps + 1) * 2.0**-23 * room).all()
    assert ptx.count("mma.sync.aligned.kind::") > 0
    assemble(ptx, "sm_120a")


@pytest.mark.parametrize("atom", MMA_SCALED, ids=lambda a: a.name)
def test_the_reference(atom: Atom) -> None:
    rng = np.random.default_rng()
    shapes = {role: atom.fragments[role].shape for role in ROLES}
    kinds = {"a": atom.a, "b": atom.b, "a_scale": atom.scale or "", "b_scale": atom.scale or ""}
    given = {r: random_bytes(rng, (shapes[r][0], shapes[r][1]), kind) for r, kind in kinds.items()}
    acc = rng.standard_normal((16, 8)).astype(np.float32)
    assert atom.reference is not None
    reference: Any = atom.reference
    got = reference(given["a"], given["b"], acc, given["a_scale"], given["b_scale"])
    blocks = shapes["a_scale"][1]
    for i in range(16):
        for j in range(8):
            total = float(acc[i, j])
            row = unpacked(given["a"][i], "f4e2m1fn") if atom.a == "f4e2m1fn" else given["a"][i].astype(np.float64)
            column = given["b"][:, j]
            column = unpacked(column, "f4e2m1fn") if atom.b == "f4e2m1fn" else column.astype(np.float64)
            for p, (x, y) in enumerate(zip(row, column, strict=True)):
                at = p * blocks // len(row)
                scale = abs(float(given["a_scale"][i, at])) * abs(float(given["b_scale"][at, j]))
                total += float(x) * float(y) * scale
            assert got[i, j] == pytest.approx(total, rel=1e-6, abs=1e-4)
