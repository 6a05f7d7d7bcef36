"""place-memory: operands lie where their instructions want them, and the products stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import small_targets  # noqa: F401
from tile_interpreter import interpret
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64

from tileopt.dialects import tile
from tileopt.dialects.diagnostics import CompileError, TargetError
from tileopt.dialects.target import Space, target_of
from tileopt.dialects.tile_types import BufferType
from tileopt.dialects.verifier import verify, walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.place_memory import place_memory

VIEW, CUBE, OWNED = "!tile.view<?x?xbf16, shared>", "!tile.view<?x?x?xbf16, shared>", "!tile.view<?x?xf32, owned>"
ATOMS = ("dot.bf16", "mma", "wgmma")  # both operands in shared memory, both in registers, one in each


def t(m: int, n: int, element: str = "bf16") -> str:
    return f"tensor<{m}x{n}x{element}>"


def kernel(body: str) -> str:
    return f"""module attributes {{tile.target = "copies"}} {{
tile.kernel @f(%x: {VIEW}, %y: {VIEW}, %w: {CUBE}, %out: {OWNED}) attributes {{tile.num_warps = 4 : i64}} {{
%z = arith.constant 0 : i64
%u = arith.constant 1 : i64
%k = arith.constant 4 : i64
%f = arith.constant 0.0 : f32
%h = arith.constant 0.5 : bf16
%acc = tile.splat %f : f32 -> {t(8, 8, "f32")}
{body}
tile.return
}}
}}"""


def lines(*parts: str) -> str:
    return "\n".join(parts)


def load(name: str, view: str = "x", at: str = "%z, %z", m: int = 8, n: int = 8) -> str:
    return f"%{name} = tile.load %{view}[{at}] : {VIEW} -> {t(m, n)}"


def mma(name: str, a: str, b: str, acc: str = "acc", atom: str = "ATOM") -> str:
    types = f"{t(8, 8)}, {t(8, 8)}, {t(8, 8, 'f32')} -> {t(8, 8, 'f32')}"
    return f'%{name} = tile.mma %{a}, %{b}, %{acc} {{atom = "{atom}"}} : {types}'


def transpose(name: str, source: str) -> str:
    return f"%{name} = tile.transpose %{source} {{permutation = array<i64: 1, 0>}} : {t(8, 8)} -> {t(8, 8)}"


def store(value: str) -> str:
    return f"tile.store %{value}, %out[%z, %z] : {t(8, 8, 'f32')}, {OWNED}"


def loop(body: str, result: str) -> str:
    f = t(8, 8, "f32")
    return f"""%r = scf.for %i = %z to %k step %u iter_args(%c = %acc) -> ({f}) : i64 {{
{body}
scf.yield %{result} : {f}
}}"""


def placed(text: str) -> ModuleOp:
    module = parse_module(create_context(), text)
    for op in list(module.body.block.ops):
        assert isinstance(op, tile.Kernel)
        place_memory(op)
    verify(module)
    return module


def run(module: ModuleOp) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-4, 5, (16, 16)).astype(float) for _ in range(2))
    w, out = rng.integers(-4, 5, (3, 16, 16)).astype(float), np.zeros((16, 16))
    interpret(module, x, y, w, out)
    return out


def count(module: ModuleOp, op_type: type[Any]) -> int:
    return sum(isinstance(op, op_type) for op in walk(module))


def assert_in_place(module: ModuleOp) -> None:
    for op in walk(module):
        if isinstance(op, tile.Mma):
            assert op.atom is not None
            atom = target_of(op).atom(op.atom.data)
            for value, space in ((op.a, atom.a_space), (op.b, atom.b_space)):
                assert isinstance(value.type, BufferType if space is Space.SHARED else TensorType)


PROGRAMS = {
    "two loads": lines(load("a"), load("b", "y"), mma("r", "a", "b"), store("r")),
    "one tile is both operands": lines(load("a"), mma("r", "a", "a"), store("r")),
    "a transpose": lines(load("a"), load("b", "y"), transpose("bt", "b"), mma("r", "a", "bt"), store("r")),
    "two transposes": lines(load("a"), transpose("b", "a"), transpose("c", "b"), mma("r", "a", "c"), store("r")),
    "a tile and its transpose": lines(load("a"), transpose("at", "a"), mma("r", "a", "at"), store("r")),
    "shared by two products": lines(
        load("a"), load("b", "y"), mma("s", "a", "b"), mma("r", "a", "b", "s"), store("r")
    ),
    "a slice of a cube": lines(
        f"%d = tile.load %w[%u, %z, %z] : {CUBE} -> tensor<1x8x8xbf16>",
        f"%a = tile.reshape %d : tensor<1x8x8xbf16> -> {t(8, 8)}",
        load("b"),
        mma("r", "a", "b"),
        store("r"),
    ),
    "computed": lines(
        load("a"), load("b", "y"), f"%e = arith.addf %a, %b : {t(8, 8)}", mma("r", "e", "b"), store("r")
    ),
    "in a loop": lines(
        loop(lines(load("a", at="%z, %i"), load("b", "y", "%i, %z"), mma("n", "a", "b", "c")), "n"), store("r")
    ),
    "made before a loop": lines(
        load("a"), loop(lines(load("b", "y", "%i, %z"), mma("n", "a", "b", "c")), "n"), store("r")
    ),
    "carried by a loop": f"""%a = tile.splat %h : bf16 -> {t(8, 8)}
%r, %q = scf.for %i = %z to %k step %u iter_args(%c = %acc, %p = %a) -> ({t(8, 8, "f32")}, {t(8, 8)}) : i64 {{
{load("b", "y", "%i, %z")}
{mma("n", "p", "b", "c")}
scf.yield %n, %b : {t(8, 8, "f32")}, {t(8, 8)}
}}
{store("r")}""",
    "in a branch": f"""%q = arith.cmpi slt, %u, %k : i64
{load("a")}
%r = scf.if %q -> ({t(8, 8, "f32")}) {{
{mma("n", "a", "a")}
scf.yield %n : {t(8, 8, "f32")}
}} else {{
scf.yield %acc : {t(8, 8, "f32")}
}}
{store("r")}""",
}  # fmt: skip


@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_places_operands_and_computes_the_same(name: str, atom: str) -> None:
    text = kernel(PROGRAMS[name]).replace("ATOM", atom)
    expected = run(parse_module(create_context(), text))
    assert np.any(expected)
    module = placed(text)
    assert_in_place(module)
    np.testing.assert_array_equal(run(module), expected)
    before = str(module)
    assert str(placed(before)) == before


def test_what_two_products_take_is_staged_once() -> None:
    for atom in ATOMS:
        module = placed(kernel(PROGRAMS["shared by two products"]).replace("ATOM", atom))
        assert count(module, tile.Stage) == 2
    module = placed(kernel(PROGRAMS["shared by two products"]).replace("ATOM", "mma"))
    assert count(module, tile.Unstage) == 2


def test_transposes_move_to_memory() -> None:
    for atom in ATOMS:
        module = placed(kernel(PROGRAMS["two transposes"]).replace("ATOM", atom))
        assert count(module, tile.Transpose) == 0 and count(module, tile.TransposeBuffer) == 2
        assert count(module, tile.Stage) == 1
        module = placed(kernel(PROGRAMS["a slice of a cube"]).replace("ATOM", atom))
        assert count(module, tile.Reshape) == 0 and count(module, tile.ReshapeBuffer) == 1


def test_what_is_computed_in_registers_stays_there() -> None:
    module = placed(kernel(PROGRAMS["computed"]).replace("ATOM", "mma"))
    assert count(module, tile.Stage) == 0 and count(module, tile.Unstage) == 0
    module = placed(kernel(PROGRAMS["carried by a loop"]).replace("ATOM", "mma"))
    assert count(module, tile.Stage) == 0


def test_what_is_made_before_a_loop_is_staged_before_it() -> None:
    for atom in ATOMS:
        module = placed(kernel(PROGRAMS["made before a loop"]).replace("ATOM", atom))
        homes = [op.parent_op() for op in walk(module) if isinstance(op, tile.Stage)]
        assert [isinstance(home, tile.Kernel) for home in homes] == [True, False]


def test_a_large_operand_is_read_from_memory_in_each_iteration() -> None:
    text = kernel(PROGRAMS["made before a loop"]).replace("ATOM", "mma")
    for size, inside in (("64", False), ("128", True)):
        module = placed(text.replace("8x8x", f"{size}x{size}x"))
        unstaged = [op for op in walk(module) if isinstance(op, tile.Unstage)]
        assert [isinstance(op.parent_op(), tile.Kernel) for op in unstaged] == [not inside, False]


def test_places_in_the_source() -> None:
    module = placed(kernel(PROGRAMS["a transpose"]).replace("ATOM", "mma"))
    (load_,) = (op for op in walk(module) if isinstance(op, tile.Load) and op.view.index == 0)  # type: ignore[attr-defined]
    stage = next(iter(load_.result.uses)).operation
    assert stage.location == load_.location
    (product,) = (op for op in walk(module) if isinstance(op, tile.Mma))
    assert product.a.owner.location == product.location  # type: ignore[union-attr]


def test_a_product_without_an_instruction() -> None:
    text = kernel(PROGRAMS["two loads"]).replace(' {atom = "ATOM"}', "")
    with pytest.raises(CompileError) as caught:
        placed(text)
    assert caught.value.code == "schedule/no-atom" and "map-tensor-cores" in str(caught.value.help)
    with pytest.raises(TargetError):
        placed(kernel(PROGRAMS["two loads"]).replace("ATOM", "hmma"))


def test_warps_share_what_is_resident() -> None:
    text = kernel(PROGRAMS["made before a loop"]).replace("ATOM", "mma").replace("8x8x", "128x128x")
    module = parse_module(create_context(), text)
    (top,) = (op for op in module.body.block.ops if isinstance(op, tile.Kernel))
    top.attributes["tile.num_warps"] = IntegerAttr(8, i64)
    place_memory(top)
    unstaged = [op for op in walk(module) if isinstance(op, tile.Unstage)]
    assert isinstance(unstaged[0].parent_op(), tile.Kernel)
