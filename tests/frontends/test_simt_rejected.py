"""SIMT programs that the frontend refuses: with which code, at which line, and that the message says what is needed.

More, as a user would write them, are files of their own: tests/rejected/simt.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from python_kernels import build, simt_kernel

from tileopt import TileoptError

PARAMETERS = "x: simt.Slice, out: simt.DisjointSlice, hist: simt.Atomic['u32'], m: simt.Slice['f32', 2], n: int"


@dataclass(frozen=True)
class Rejected:
    """A body, and what its error has: the code, the line where the marker `#!` stands, and words of its text."""

    body: str
    code: str
    words: tuple[str, ...] = ()
    parameters: str = PARAMETERS
    contract: str = "block=(64,)"
    before: str = ""


R = Rejected
PROGRAMS = {
    # Ownership
    "store at an index from memory": R(
        """
        i = simt.thread_index()
        j = simt.i64(x[i])
        out[j] = 1.0  #!
        """,
        "ownership/foreign-index",
    ),
    "store in a loop with a break": R(
        """
        for i in range(len(out)):
            if x[i] > 0.0:
                break
            out[i] = 0.0  #!
        """,
        "ownership/foreign-index",
    ),
    "update at a constant": R("out[3] += 1.0  #!", "ownership/foreign-index"),
    "store through a window": R("out.window(4, 8)[2] = 1.0  #!", "ownership/foreign-index"),
    "store to a row of a Slice": R("m.row(0)[simt.thread_index()] = 1.0  #!", "ownership/read-only"),
    "plain store to atomics": R("hist[simt.thread_index()] = 1  #!", "ownership/plain-access", ("atomic_exch",)),
    "plain update of atomics": R("hist[simt.thread_index()] += 1  #!", "ownership/plain-access"),
    "atomic on a Slice": R("simt.atomic_add(x, 0, 1.0)  #!", "ownership/not-atomic", ("simt.Atomic",)),
    # Parts that meet on two ways
    "row or column": R(
        "a = len(m.row(0) if n > 3 else m.col(1))  #!",
        "control/type-change",
        ("is a row of 'm' on one way", "a column of 'm' on the other", "same kind of part"),
    ),
    "row and column in a loop": R(
        """
        r = m.row(0)
        j = 0
        while j < 3:
            a = r[0]
            r = m.col(j)  #!
            j += 1
        """,
        "control/type-change",
        ("'r' is a row of 'm' when", "a column of 'm' after", "same kind of part"),
    ),
    "row and its window": R(
        """
        r = m.row(0)
        if n > 3:
            r = m.row(1).window(0, 3)
        a = len(r)  #!
        """,
        "control/type-change",
        ("is a window of a row of 'm' on one way", "a row of 'm' on the other", "r.window(0, len(r))"),
    ),
    "array and its window in a loop": R(
        """
        r = x
        while len(r) > 2:
            r = r.window(1, len(r) - 1)  #!
        """,
        "control/type-change",
        ("'r' is the whole array 'x' when", "a window of 'x' after", "x.window(0, len(x))"),
    ),
    "rows of two arrays": R(
        "r = m.row(0) if n > 3 else w.row(0)  #!",
        "control/type-change",
        ("a row of 'm' on one way", "a row of 'w' on the other", "of the same array"),
        parameters=PARAMETERS + ", w: simt.Slice['f32', 2]",
    ),
    "one of two arrays": R(
        "r = (x if n > 3 else out)[0]  #!",
        "control/type-change",
        ("the array 'x' on one way", "the array 'out' on the other", "on its own way"),
    ),
    "row or number": R(
        "r = len(m.row(0) if n > 3 else 2.0)  #!",
        "control/type-change",
        ("is a row of 'm' on one way", "an f32 scalar on the other", "one kind"),
    ),
    # Bounds of parts
    "negative count": R("a = x.window(0, -2)  #!", "type/index", ("count -2 of a window is negative", "start, count")),
    "negative start": R("a = x.window(-2, 2)  #!", "type/index", ("start -2 of a window", "len(x) - count")),
    "negative row": R("a = m.row(-1)  #!", "type/index", ("row -1", "len(a) - 1")),
    "negative column": R("a = m.col(-1)  #!", "type/index", ("column -1", "a.shape[1] - 1")),
    "count of a float": R("a = x.window(0, 2.0)  #!", "type/index", ("the count of a window is an integer",)),
    "start outside": R(
        "a = x.window(0, 4).window(3, 2)  #!",
        "bounds/outside",
        ("a window of a window of 'x' that starts at 3, whose last start that fits is 2",),
    ),
    "count outside": R(
        "a = x.window(0, 4).window(0, 5)  #!",
        "bounds/outside",
        ("a window of 5 elements of a window of 'x', whose length is 4",),
    ),
    "row outside": R(
        "a = simt.shared((1, 3)).row(1)  #!", "bounds/outside", ("row 1 of 'shared memory', which has 1 row",)
    ),
    "arguments of window": R("a = x.window(0, length=2)  #!", "type/arguments", ("help: x.window(start, count)",)),
    "arguments of row": R("a = m.row()  #!", "type/arguments", ("help: m.row(index)",)),
    "zip of a tuple": R(
        """
        for v, c in zip(x, (1.0, 2.0)):  #!
            pass
        """,
        "unsupported/iteration",
        ("arrays and a tuple of 2", "enumerate(values)", "simt.constant"),
    ),
    "zip of a range": R(
        """
        for v, c in zip(x, range(3)):  #!
            pass
        """,
        "unsupported/iteration",
        ("arrays and a range", "enumerate(x)"),
    ),
    # Indices and elements
    "too few indices of a store": R(
        "out[simt.thread_index()] = 1.0  #!", "type/rank", parameters="out: simt.DisjointSlice['f32', 2]"
    ),
    "bool index": R("a = x[n > 0]  #!", "type/index", ("bool",)),
    "slice": R("a = x[0:4]  #!", "unsupported/slice", ("x.window(i, count)",)),
    "new axis": R("a = x[None]  #!", "unsupported/index"),
    "store of an array": R("out[simt.thread_index()] = x  #!", "type/operand", ("x[i]",)),
    "row as a number": R("a = m.row(0) * 2.0  #!", "type/operand", ("a row of 'm'",)),
    "truth of an array": R("if x: pass  #!", "type/condition"),
    "truth of a row": R("if m.row(0): pass  #!", "type/condition"),
    "unknown attribute": R("a = x.size  #!", "name/attribute", ("'x'",)),
    "attribute of a scalar": R("a = simt.thread_index().x  #!", "name/attribute", ("'x'",)),
    "index of a scalar": R("a = n[0]  #!", "type/operand", ("cannot be indexed",)),
    "store to a tuple": R("a = (1, 2)\na[0] = 3  #!", "unsupported/assignment"),
    "loop over atomics": R("for v in hist: pass  #!", "ownership/plain-access"),
    "loop variable of elements after the loop": R(
        """
        v = 0.0
        for v in x:
            pass
        out[simt.thread_index()] = v  #!
        """,
        "name/maybe-unset",
        ("copy it",),
    ),
    "zip of an array and a tuple": R("for v in zip(x, (1, 2)): pass  #!", "unsupported/iteration"),
    "strict zip": R("for v in zip(x, x, strict=True): pass  #!", "unsupported/iteration", ("len(x) == len(y)",)),
    # Shared memory
    "shared of no extent": R("s = simt.shared((4, 0))  #!", "type/extent"),
    "shared of an unknown type": R("s = simt.shared(4, 'f31')  #!", "type/dtype", ("simt.f32",)),
    "huge shared": R("s = simt.shared((2048, 1024))  #!", "limits/shared", ("2097152",)),
    "dynamic past the end": R(
        "s = simt.dynamic_shared(4, 'f32', offset=8)  #!", "limits/dynamic-shared", ("byte 24", "16 bytes"),
        contract="block=64, shared_bytes=16",
    ),
    "dynamic out of line": R(
        "s = simt.dynamic_shared(1, 'f32', offset=2)  #!", "type/shared", contract="block=64, shared_bytes=16"
    ),
    "window outside shared": R("s = simt.shared(8)\nw = s.window(4, 5)  #!", "bounds/outside"),
    # Ids, warps, atomics, bits
    "axis of a block": R("a = simt.thread_idx(3)  #!", "type/axis", ("0, 1 and 2",)),
    "axis of a grid": R("a = simt.block_idx(-1)  #!", "type/axis"),
    "run-time axis": R("a = simt.thread_idx(n)  #!", "type/constant"),
    "stride to a float": R("for i in simt.grid_stride(1.5): pass  #!", "type/operand", ("integer",)),
    "run-time unrolled_range": R("for i in simt.unrolled_range(n): pass  #!", "type/constant", ("unrolled_range",)),
    "too many unrolled": R("for i in simt.unrolled_range(5000): pass  #!", "limits/unroll", ("4096",)),
    "shuffle of an array": R("a = simt.shuffle(x, 0)  #!", "type/operand"),
    "unknown reduction": R("a = simt.warp_reduce(n, 'mean')  #!", "type/reduction", ("'mean'",)),
    "bits of a float reduced": R("a = simt.warp_reduce(1.0, 'xor')  #!", "type/operand"),
    "unknown lane mask": R("a = simt.lane_mask('ne')  #!", "type/operand", ("'ne'",)),
    "bits of a float": R("a = simt.popc(1.5)  #!", "type/operand", ("popc()",)),
    "unknown order": R("simt.atomic_add(hist, 0, 1, order='seq_cst')  #!", "type/atomic", ("acq_rel",)),
    "unknown scope": R("simt.fence('warp')  #!", "type/atomic", ("scope",)),
    "atomic count of signed": R(
        "simt.atomic_inc(a, 0, 7)  #!", "type/atomic", ("unsigned",), parameters="a: simt.Atomic['i32']"
    ),
    "atomic on bytes": R(
        "simt.atomic_add(a, 0, 1)  #!", "type/atomic", ("16, 32 and 64",), parameters="a: simt.Atomic['u8']"
    ),
    "tile id along an axis": R("a = tile.num_blocks(0)  #!", "unsupported/call", ("simt.grid_dim(axis)",)),
    "tile id": R("a = tile.bid(0)  #!", "unsupported/call", ("simt.block_idx(axis)",)),
    "product of tiles": R("a = x[n] @ x[n]  #!", "unsupported/matmul", ("a loop",)),
    "element of a list": R(
        """
        a = [0.0] * 4
        a[n] = 1.0  #!
        """,
        "unsupported/assignment",
        ("lists and tuples do not change", "simt.shared("),
    ),
    "store of another type": R("out[simt.thread_index()] = n  #!", "type/store", ("simt.f32(value)",)),
    "barriers of 32 bits": R(
        """
        bars = simt.shared(4, simt.i32)
        simt.mbarrier_init(bars, 0, 1)  #!
        """,
        "type/operand",
        ("array of i64 in shared memory, not an i32 array", "simt.shared(n, simt.i64)"),
    ),
    "format of too few": R("simt.printf('%d %d', n)  #!", "type/format", ("prints 2", "1 value is given")),
    "format of none": R("simt.printf('50 % q')  #!", "type/format", ("'%%'",)),
    "string for a number": R("simt.printf('%d', 'n')  #!", "type/format", ("'%d' does not print a string",)),
    "number for a string": R("simt.printf('%s', n)  #!", "type/format", ("an i64 scalar",)),
    "integer for a float": R("simt.printf('%d', 1.5)  #!", "type/format", ("f32 scalar",)),
    "format of run time": R("simt.printf(n)  #!", "type/constant", ("a string of the source",)),
    "NUL in a format": R("simt.printf('a\\0')  #!", "type/format", ("NUL",)),
    "array in print": R("print(x)  #!", "type/operand", ("x[i]",)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_rejected(name: str) -> None:
    program = PROGRAMS[name]
    with pytest.raises(TileoptError) as caught:
        build(simt_kernel(program.body, program.parameters, program.contract, program.before))
    error = caught.value
    text = str(error)
    assert error.code == program.code, text
    assert error.location is not None, text
    assert error.location.source is not None and "#!" in error.location.source, text
    for word in program.words:
        assert word in text, text


# Contracts: refused where the kernel is defined, at the decorator's line where a relation is wrong.

CONTRACTS = {
    "block of nothing": ("block=()", "kernel/contract", "one to three"),
    "block of floats": ("block=(1.5,)", "kernel/contract", "positive integers"),
    "block of four axes": ("block=(1, 1, 1, 1)", "kernel/contract", "one to three"),
    "block too large": ("block=(64, 64)", "kernel/contract", "4096"),
    "block above its bound": ("block=256, max_block=128", "kernel/contract", "128"),
    "rank of a grid": ("block=64, grid_rank=4", "kernel/contract", "grid_rank"),
    "two bounds": ("max_block=64, launch_bounds=64", "kernel/contract", "max_block"),
    "cluster too large": ("block=64, cluster=(32,)", "kernel/contract", "16"),
    "bytes below zero": ("block=64, shared_bytes=-1", "kernel/contract", "shared_bytes"),
    "architecture": ("block=64, min_arch='hopper'", "kernel/contract", "sm_80"),
    "unchecked by a word": ("block=64, unchecked='yes'", "kernel/contract", "True or False"),
    "checks dropped and kept": ("block=64, unchecked=True, keep_checks=True", "kernel/contract", "one of them"),
    "checks dropped and denied": ("block=64, unchecked=True, deny_checks=True", "kernel/contract", "one of them"),
    "requires a number": ("block=64, requires=5", "kernel/contract", "relations"),
    "relation that is no string": ("block=64, requires=[5]", "contract/syntax", "string"),
    "relation without sense": ("block=64, requires=['len(x) =']", "contract/syntax", "not an expression"),
    "relation of nothing": ("block=64, requires=['len(x)']", "contract/relation", "not a comparison"),
    "relation of or": ("block=64, requires=['n > 0 or n < 5']", "contract/relation", "not a comparison"),
    "relation without an end": ("block=64, requires=['len(x) >= ']", "contract/syntax", "expression: invalid syntax\n"),
    "relation of a call": ("block=64, requires=['abs(n) > 0']", "contract/syntax", "abs(n)"),
    "relation of a fraction": ("block=64, requires=['n / 2 > 0']", "contract/syntax", "//"),
    "relation that divides by zero": (
        "block=64, requires=['len(x) // 0 == 1']",
        "contract/syntax",
        "'len(x) // 0' in",
    ),
    "remainder by zero": ("block=64, requires=['n % (4 - 2 * 2) < n']", "contract/syntax", "divides by zero"),
    "relation of a float": ("block=64, requires=['n > 0.5']", "contract/syntax", "0.5"),
    "relation of a bool": ("block=64, requires=['n > True']", "contract/syntax", "True"),
    "relation of an unknown name": ("block=64, requires=['len(xs) > 0']", "contract/name", "'xs'"),
    "relation of an array": ("block=64, requires=['x > 0']", "contract/name", "len(x)"),
    "length of a scalar": ("block=64, requires=['len(n) > 0']", "contract/name", "not an array"),
    "relation of a float scalar": ("block=64, requires=['a > 0']", "contract/name", "f32"),
    "run-time axis in a relation": ("block=64, requires=['x.shape[n] > 0']", "contract/syntax", "axis"),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_contract_rejected(name: str) -> None:
    contract, code, word = CONTRACTS[name]
    with pytest.raises(TileoptError) as caught:
        simt_kernel("pass", "x: simt.Slice, out: simt.DisjointSlice, n: int, a: simt.f32", contract)
    assert caught.value.code == code, str(caught.value)
    assert word in str(caught.value)
    if code.startswith("contract/"):
        assert caught.value.location is not None
        assert "requires=" in (caught.value.location.source or "")


@pytest.mark.parametrize(
    ("relation", "code"),
    [("x.shape[1] > 0", "contract/axis"), ("x.shape[-2] > 0", "contract/axis"), ("C > 4", "contract/false"),
     ("1 // (C - 4) > 0", "contract/false"), ("len(x) // (C - 4) > 0", "contract/false"), ("D > 0", "contract/name")],
)  # fmt: skip
def test_relation_rejected_for_a_specialisation(relation: str, code: str) -> None:
    made = simt_kernel(
        "pass", "x: simt.Slice, C: simt.Const[int] = 4, D: simt.Const[str] = 'a'", f"block=64, requires=[{relation!r}]"
    )
    with pytest.raises(TileoptError) as caught:
        build(made)
    assert caught.value.code == code
    assert caught.value.location is not None and relation in (caught.value.location.source or "")


@pytest.mark.parametrize(
    ("parameters", "code"),
    [("x", "kernel/annotation"), ("x: simt.Slice['f31']", "kernel/annotation"), ("block: int", "kernel/parameters"),
     ("x: simt.Slice = 3", "kernel/parameters"), ("*x: simt.Slice", "kernel/parameters"),
     ("x: list", "kernel/annotation")],
)  # fmt: skip
def test_parameters_rejected(parameters: str, code: str) -> None:
    with pytest.raises(TileoptError) as caught:
        simt_kernel("pass", parameters)
    assert caught.value.code == code
    assert "simt" in str(caught.value) or code == "kernel/parameters"
