"""Stores of threads: which have one owner for each element, and what is said of the others."""

from __future__ import annotations

import pytest
from simt_tables import Program, check, kernel_of

from tileopt.backends.launch_conditions import launch_conditions
from tileopt.passes.safety.verify_ownership import verify_kernel

MEET, DATA, FOREIGN = "ownership/overlapping-stores", "ownership/data-dependent-store", "ownership/foreign-read"
I = "i = simt.thread_index()\n"  # noqa: E741
RC = "r, c0 = simt.thread_index_2d()\n"
SQUARE = "block=(16, 16)"
P = Program

PROGRAMS = {
    "own element": P(I + "if i < len(out):\n    out[i] = 1.0"),
    "unguarded": P(I + "out[i] = 1.0"),
    "own element, read and written": P(I + "if i < len(out):\n    out[i] += 1.0"),
    "reversed": P(I + "if i < len(out):\n    out[len(out) - 1 - i] = 1.0"),
    "shifted": P(
        I + "if i + n < len(out):\n    out[i + n] = 1.0", contract="block=64, requires=['n >= 0', 'n <= len(out)']"
    ),
    "pairs": P(I + "if 2 * i + 1 < len(out):\n    out[2 * i] = 1.0\n    out[2 * i + 1] = 2.0"),
    "pairs that overlap": P(
        I + "if 2 * i + 2 < len(out):\n    out[2 * i] = 1.0\n    out[2 * i + 2] = 2.0  #!",
        MEET,
        ("thread 1 of block 0 and thread 0 of block 0", "out[2]"),
    ),
    "two stores, a shift apart": P(
        I + "if i < len(out):\n    out[i] = 1.0\nif i + 1 < len(out):\n    out[i + 1] = 2.0  #!", MEET
    ),
    "two stores in two branches": P(
        I + "if i < n:\n    out[i] = 1.0\nelse:\n    out[i] = 2.0",
    ),
    "runs of four": P(I + "for j in range(4):\n    if 4 * i + j < len(out):\n        out[4 * i + j] = 1.0"),
    "runs of five, four apart": P(
        I + "for j in range(5):\n    if 4 * i + j < len(out):\n        out[4 * i + j] = 1.0  #!", MEET, ("out[4]",)
    ),
    "runs of an argument": P(
        I + "if i < m:\n    for j in range(k):\n        out[i * k + j] = 1.0",
        contract="block=64, requires=['len(out) >= m * k']",
    ),
    "runs of an argument and one": P(
        I + "if i < m:\n    for j in range(k + 1):\n        out[i * k + j] = 1.0  #!",
        MEET,
        contract="block=64, requires=['len(out) >= m * k + 1', 'k < 1000']",
    ),
    "grid-stride": P("for i in simt.grid_stride(len(out)):\n    out[i] = 1.0"),
    "stride of a block in a grid of many": P(
        I + "for j in range(i, len(out), 64):\n    out[j] = 1.0  #!", MEET, ("block 0", "block 1")
    ),
    "stride of one less": P(
        "i = simt.thread_index()\nfor j in range(i, len(out), 63 * simt.grid_dim()):\n    out[j] = 1.0  #!", MEET
    ),
    "flat matrix": P(
        RC + "if r < m and c0 < n:\n    out[r * n + c0] = 1.0",
        contract="block=(16, 16), requires=['len(out) >= m * n']",
    ),
    "flat matrix, rows too long": P(
        RC + "if r < m and c0 <= n:\n    out[r * n + c0] = 1.0  #!",
        MEET,
        contract="block=(16, 16), requires=['len(out) >= m * n + 1', 'n < 1000', 'n >= 1']",
    ),
    "two axes": P(RC + "if r < len(c) and c0 < c.shape[1]:\n    c[r, c0] = 1.0", contract=SQUARE),
    "two axes exchanged": P(RC + "if r < c.shape[1] and c0 < len(c):\n    c[c0, r] = 1.0", contract=SQUARE),
    "one of two axes": P(
        RC + "if r < len(c) and c.shape[1] > 0:\n    c[r, 0] = 1.0  #!", MEET, ("thread (0, 0)", "thread (1, 0)"),
        contract=SQUARE,
    ),
    "diagonal": P(RC + "if r + c0 < len(out):\n    out[r + c0] = 1.0  #!", MEET, contract=SQUARE),
    "row of each thread": P(I + "if i < len(c):\n    for j in range(c.shape[1]):\n        c[i, j] = 1.0"),
    "column of each thread": P(I + "if i < c.shape[1]:\n    for j in range(len(c)):\n        c[j, i] = 1.0"),
    "halves": P(I + "if i // 2 < len(out):\n    out[i // 2] = 1.0  #!", MEET, ("thread 0", "thread 1")),
    "quotient and remainder": P(I + "if i // 8 < len(c) and c.shape[1] >= 8:\n    c[i // 8, i % 8] = 1.0"),
    "remainder alone": P(I + "if i % 7 < len(out):\n    out[i % 7] = 1.0  #!", MEET),
    "even threads": P(I + "if i % 2 == 0 and i // 2 < len(out):\n    out[i // 2] = 1.0"),
    "one thread": P("if simt.thread_index() == 0 and len(out) > 0:\n    out[0] = 1.0"),
    "one thread and its loop": P("if simt.thread_index() == 0:\n    for j in range(len(out)):\n        out[j] = 1.0"),
    "one thread of each block": P(
        "if simt.thread_rank() == 0 and simt.block_idx() < len(out):\n    out[simt.block_idx()] = 1.0"
    ),
    "first of a warp": P(
        "w = simt.warp_index()\nif simt.lane_index() == 0 and w < len(out):\n    out[w] = 1.0"
    ),
    "two threads of each block": P(
        "if simt.thread_rank() <= 1 and simt.block_idx() < len(out):\n    out[simt.block_idx()] = 1.0  #!", MEET
    ),
    "all threads of a warp": P("w = simt.warp_index()\nif w < len(out):\n    out[w] = 1.0  #!", MEET),
    "index from memory": P(
        I + "if i < len(idx):\n    j = idx[i] + i\n    if 0 <= j and j < len(out):\n        out[j] = 1.0  #!", DATA,
        ("simt.Atomic",),
    ),
    "read of a neighbour": P(I + "if i + 1 < len(out):\n    out[i] = out[i + 1]  #!", FOREIGN),
    "read of another array": P(I + "if i + 1 < len(out) and i + 1 < len(x):\n    out[i] = x[i + 1]"),
    "a lowest bit cleared": P(I + "if i < len(out):\n    out[i & -2] = 1.0  #!", MEET),
    "minimum": P(I + "if len(out) > 0:\n    out[min(i, len(out) - 1)] = 1.0  #!", MEET),
    "times an argument that may be 0": P(
        I + "if 0 <= n and n < 100 and i * n < len(out):\n    out[i * n] = 1.0  #!", MEET
    ),
    "times a positive argument": P(
        I + "if i * n < len(out):\n    out[i * n] = 1.0", contract="block=64, requires=['n >= 1', 'n < 100']"
    ),
    # Disjoint, but not proved
    "exclusive or": P(I + "if (i ^ 1) < len(out):\n    out[i ^ 1] = 1.0  #!", MEET, ("cannot prove",)),
    "square of the index": P(
        I + "if i < 1000 and i * i < len(out):\n    out[i * i] = 1.0  #!", MEET, ("cannot prove",)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("block", "condition"), [(64, "n >= 1"), (1, "n >= 1 or grid[0] * grid[1] * grid[2] <= 1")])
def test_what_a_proof_divides_by_is_not_0(block: int, condition: str) -> None:
    """With n = 0 all threads would store to one element; only where one thread runs, nobody is in its way."""
    kernel = kernel_of(P(I + "if i < len(out):\n    out[i // n * n + i % n] = 1.0", contract=f"block={block}"))
    verify_kernel(kernel)
    assert launch_conditions(kernel) == (condition,)


@pytest.mark.parametrize("name", PROGRAMS)
def test_ownership(name: str) -> None:
    check(PROGRAMS[name], verify_kernel)
