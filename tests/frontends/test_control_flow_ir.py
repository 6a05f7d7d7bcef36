"""What statements become: which loops stay `scf.for`, what they carry, which branches disappear."""

from __future__ import annotations

import pytest
from python_kernels import build, find, kernel, module, ops
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from tileopt.dialects.verifier import walk


def ir(
    body: str, parameters: str = "x: tile.In, out: tile.InOut, n: int", before: str = "", **given: object
) -> ModuleOp:
    return build(kernel(body, parameters, before), **given)


def test_vector_add_is_loads_an_addition_and_a_store() -> None:
    made = ir(
        """
        i = tile.bid(0)
        tile.store(out, (i,), tile.load(x, (i,), (B,)) + tile.load(out, (i,), (B,)))
        """,
        "x: tile.In, out: tile.InOut, B: tile.Const[int] = 64",
    )
    wanted = [
        "tile.bid",
        "arith.muli",
        "tile.load",
        "arith.muli",
        "tile.load",
        "arith.addf",
        "arith.muli",
        "tile.store",
    ]
    assert ops(made) == wanted


def test_a_constant_condition_leaves_one_branch() -> None:
    made = ir(
        """
        if B > 32:
            tile.store(out, 0, 1.0)
        elif B > 16:
            tile.store(out, undefined, nonsense.at(all))
        else:
            tile.load(x, 1, 2, 3, 4, 5)
        """,
        "x: tile.In, out: tile.Out, B: tile.Const[int] = 64",
    )
    assert ops(made) == ["tile.splat", "tile.store"]


def test_a_short_circuit_leaves_what_it_does_not_reach() -> None:
    made = ir("if B > 32 or undefined:\n    tile.store(out, 0, 1.0)", "out: tile.Out, B: tile.Const[int] = 64")
    assert ops(made) == ["tile.splat", "tile.store"]


def test_integer_constants_fold() -> None:
    made = ir(
        "tile.store(out, 0, tile.load(x, 2 * (B // 3) + len((1, 2)) - min(B, 5), B))",
        "x: tile.In, out: tile.Out, B: tile.Const[int] = 64",
    )
    assert ops(made) == ["tile.load", "tile.store"]


def test_a_range_stays_a_loop_and_carries_what_it_changes() -> None:
    made = ir(
        """
        a = tile.zeros(8)
        unused = tile.zeros(8)
        kept = tile.load(x, 0, 8)
        for i in range(4):
            temporary = tile.load(x, i, 8) * kept
            unused = temporary + 1
            a = a + temporary
        tile.store(out, 0, a)
        """
    )
    (loop,) = find(made, "scf.for")
    assert isinstance(loop, scf.ForOp) and len(loop.iter_args) == 1
    assert not find(made, "scf.while")


def test_a_variable_that_a_constant_condition_keeps_is_not_carried() -> None:
    made = ir(
        """
        a = tile.zeros(8)
        b = tile.load(x, 0, 8)
        for i in range(n):
            if B:
                b = b * 2
            a = a + b
        tile.store(out, 0, a + b)
        """,
        "x: tile.In, out: tile.Out, n: int, B: tile.Const[bool] = False",
    )
    (loop,) = find(made, "scf.for")
    assert isinstance(loop, scf.ForOp) and len(loop.iter_args) == 1


def test_continue_keeps_the_counted_loop() -> None:
    made = ir(
        """
        a = tile.zeros(8)
        for i in range(n):
            if i % 2 == 0:
                continue
            a = a + tile.load(x, i, 8)
        tile.store(out, 0, a)
        """
    )
    assert len(find(made, "scf.for")) == 1 and not find(made, "scf.while")


@pytest.mark.parametrize("exit", ["break", "return"])
def test_an_early_exit_makes_a_while(exit: str) -> None:
    made = ir(
        f"""
        a = tile.zeros(8)
        for i in range(n):
            a = a + tile.load(x, i, 8)
            if i * i > n:
                {exit}
        tile.store(out, 0, a)
        """
    )
    assert len(find(made, "scf.while")) == 1 and not find(made, "scf.for")


def test_a_break_under_a_false_constant_keeps_the_counted_loop() -> None:
    made = ir(
        """
        a = tile.zeros(8)
        for i in range(n):
            a = a + tile.load(x, i, 8)
            if EARLY and i > 3:
                break
        tile.store(out, 0, a)
        """,
        "x: tile.In, out: tile.Out, n: int, EARLY: tile.Const[bool] = False",
    )
    assert len(find(made, "scf.for")) == 1 and not find(made, "scf.while")


def test_static_range_copies_the_body() -> None:
    made = ir("for i in tile.static_range(3, 0, -1):\n    tile.store(out, i, 1.0)")
    assert ops(made) == ["tile.splat", "tile.store"] * 3


def test_a_tuple_copies_the_body() -> None:
    made = ir("for i, j in enumerate((4, 8)):\n    tile.store(out, 0, tile.zeros(j) + i)")
    assert [op.operands[0].type.get_shape() for op in find(made, "tile.store")] == [(4,), (8,)]  # type: ignore[attr-defined]


def test_return_under_a_condition_guards_the_rest() -> None:
    made = ir(
        """
        if n > 3:
            tile.store(out, 0, 1.0)
            return
        tile.store(out, 0, 2.0)
        """
    )
    (choice,) = find(made, "scf.if")
    assert len(find(made, "tile.store")) == 2
    assert all(store.parent_op() is choice for store in find(made, "tile.store"))


def test_what_follows_a_return_is_not_read() -> None:
    made = ir("tile.store(out, 0, 1.0)\nreturn\nnonsense(all)")
    assert ops(made) == ["tile.splat", "tile.store"]


def test_a_choice_of_ready_scalars_is_a_select() -> None:
    made = ir("a = n if n > 3 else 3\nb = 0\nif n == 4:\n    b = 2\ntile.store(out, a + b, 1.0)")
    assert not find(made, "scf.if")
    assert len(find(made, "arith.select")) == 2


def test_logic_of_comparisons_has_no_branches() -> None:
    made = ir("if (0 < n < 9 or n == 11) and not n == 3:\n    tile.store(out, 0, 1.0)")
    assert len(find(made, "scf.if")) == 1
    assert len(find(made, "arith.andi")) == 2 and len(find(made, "arith.ori")) == 1


def test_a_python_number_takes_the_type_that_the_loop_gives_it() -> None:
    made = ir(
        """
        total = 0
        for i in range(n):
            total += tile.sum(tile.load(x, i, 8))
        tile.store(out, 0, total)
        """
    )
    (loop,) = find(made, "scf.for")
    assert [str(r.type) for r in loop.results] == ["f32"]


def test_the_type_may_show_where_ways_meet() -> None:
    made = ir(
        """
        total = 0
        deeper = 0
        for i in range(n):
            for j in range(i):
                if j == 3:
                    continue
                total += tile.sum(tile.load(x, j, 8))
                if i > 7:
                    deeper = 0.5
        tile.store(out, 0, total + deeper)
        """
    )
    for loop in find(made, "scf.for"):
        assert [str(r.type) for r in loop.results] == ["f32", "f32"]


def test_a_carried_tuple_is_its_elements() -> None:
    made = ir(
        """
        state = (tile.zeros(8), 0)
        for i in range(n):
            a, count = state
            state = (a + tile.load(x, i, 8), count + 1)
        tile.store(out, state[1], state[0])
        """
    )
    (loop,) = find(made, "scf.for")
    assert [str(r.type) for r in loop.results] == ["tensor<8xf32>", "i64"]


def test_the_loop_variable_is_not_carried() -> None:
    made = ir("for i in range(n):\n    a = i\ntile.store(out, i, 1.0)")
    (loop,) = find(made, "scf.for")
    assert not loop.results


def test_a_negative_step_counts_up() -> None:
    made = ir("for i in range(n, 0, -2):\n    tile.store(out, i, 1.0)")
    (loop,) = find(made, "scf.for")
    assert isinstance(loop, scf.ForOp)


def test_a_persistent_loop_counts_as_it_is_written() -> None:
    made = ir("for i in range(tile.bid(0), n, tile.num_blocks(0)):\n    tile.store(out, i, 1.0)")
    assert ops(made)[:3] == ["tile.bid", "tile.num_blocks", "scf.for"]
    assert not [name for name in ops(made) if name.startswith("arith")]


def test_a_loop_that_never_runs_leaves_nothing() -> None:
    assert ops(ir("for i in range(4, 4):\n    tile.store(out, i, nonsense)")) == []
    assert ops(ir("while B > 4:\n    nonsense()", "B: tile.Const[int] = 0")) == []


def test_the_dead_side_gives_no_values() -> None:
    made = ir(
        """
        a = tile.zeros(8)
        if n > 3:
            a = tile.zeros(16)
            return
        tile.store(out, 0, a)
        """
    )
    (choice,) = find(made, "scf.if")
    assert not choice.results


def test_helpers_are_read_in_place() -> None:
    made = ir(
        """
        a = tile.load(x, 0, 8)
        tile.store(out, 0, scaled(shift=1.0, a=a))
        """,
        before="""
        FACTOR = 3.0
        def scaled(a, shift, *rest, factor=FACTOR):
            square = lambda v: v * v
            def inner(v):
                return square(v) * factor
            if shift == 0.0:
                return a
            return inner(a) + shift
        """,
    )
    arithmetic = [name for name in ops(made) if name.startswith("arith")]
    assert arithmetic == ["arith.mulf", "arith.mulf", "arith.addf"]


def test_names_from_around_the_kernel() -> None:
    names = module(
        """
        import enum
        from dataclasses import dataclass
        from typing import NamedTuple

        class Mode(enum.Enum):
            PLAIN = 1
            DOUBLE = 2

        @dataclass(frozen=True)
        class Config:
            block: int
            mode: Mode

        class Pair(NamedTuple):
            first: object
            second: object

        CONFIG = Config(16, Mode.DOUBLE)

        def make(shift):
            @tile.kernel
            def k(x: tile.In, out: tile.Out):
                a = tile.load(x, 0, CONFIG.block) + shift
                pair = Pair(a, Config(4, Mode.PLAIN))
                if CONFIG.mode is Mode.DOUBLE and pair.second.block == 4:
                    pair = Pair(pair.first * 2 ** len((1, 2)), None)
                tile.store(out, 0, pair.first * math.pi)
            return k

        k = make(1.5)
        """
    )
    made = build(names["k"])
    assert [name for name in ops(made) if name.startswith("arith")] == ["arith.addf", "arith.mulf", "arith.mulf"]


def test_methods_and_properties_of_records() -> None:
    names = module(
        """
        from dataclasses import dataclass
        from typing import Any, NamedTuple

        @dataclass(frozen=True)
        class Shape:
            rows: int
            columns: int
            @property
            def size(self):
                return self.rows * self.columns
            def grown(self, by=1):
                return Shape(self.rows + by, self.columns)
            @staticmethod
            def unit():
                return Shape(1, 1)

        class Running(NamedTuple):
            total: Any
            count: Any
            def add(self, value):
                return Running(self.total + value, self.count + 1)
            @property
            def mean(self):
                return self.total / self.count

        SHAPE = Shape(2, 4)

        @tile.kernel
        def k(x: tile.In, out: tile.Out, n: int):
            state = Running(tile.zeros(SHAPE.grown(by=2).size), 0)
            for i in range(n):
                state = state.add(tile.load(x, i, SHAPE.grown(2).size * SHAPE.unit().size))
            tile.store(out, 0, state.mean)
        """
    )
    made = build(names["k"])
    (loop,) = find(made, "scf.for")
    assert [str(r.type) for r in loop.results] == ["tensor<16xf32>", "i64"]


def test_types_by_their_names_elsewhere() -> None:
    made = ir(
        """
        a = tile.zeros(8, np.float16).astype(NARROW).astype("f64").astype(int)
        tile.static_assert(a.dtype == np.int64 and NARROW == tile.bf16)
        tile.store(out, 0, a.astype(np.float32))
        """,
        before="import ml_dtypes\nimport numpy as np\nNARROW = ml_dtypes.bfloat16\n",
    )
    assert ops(made)[-1] == "tile.store"


def test_every_op_knows_its_line() -> None:
    made = ir(
        """
        for i in range(n):
            if i > 3:
                tile.store(out, i, tile.exp(tile.load(x, i, 8)))
        """
    )
    lines = set()
    for op in walk(made):
        assert isinstance(op.location, FileLineColLoc), op.name
        lines.add((op.name, op.location.line.data))
    first = min(line for name, line in lines if name == "tile.kernel")
    assert ("scf.for", first + 1) in lines
    assert ("scf.if", first + 2) in lines
    assert ("math.exp", first + 3) in lines and ("tile.store", first + 3) in lines


def test_hints_are_attributes() -> None:
    made = build(kernel("pass", "n: int", hints="(num_warps=8, num_stages=3, fma=False, fast_math=True)"))
    (op,) = find(made, "tile.kernel")
    shown = {k: str(v) for k, v in op.attributes.items()}
    assert shown == {
        "tile.num_warps": "8 : i64",
        "tile.num_stages": "3 : i64",
        "tile.fma": "false",
        "tile.fast_math": "unit",
    }


def test_contracts_and_names_are_argument_attributes() -> None:
    made = build(kernel("pass", "x: tile.In['bf16', 2], out: tile.Out, n: tile.i32"))
    text = str(made)
    assert "!tile.view<?x?xbf16, shared>" in text and "!tile.view<?xf32, owned>" in text
    assert 'tile.name = "n"' in text and "unit = 1" in text and "%n: i32" in text
