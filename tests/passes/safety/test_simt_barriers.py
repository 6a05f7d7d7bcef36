"""Barriers that threads miss and races in shared memory: what verify-barriers refuses, and what it lets pass."""

from __future__ import annotations

import itertools
import textwrap
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from simt_programs import Launch, launch_allowed, probe
from simt_tables import Program, check, kernel_of
from thread_interpreter import Apart
from xdsl.dialects.builtin import ModuleOp

from tileopt.dialects import simt_atomic
from tileopt.dialects.tile_types import BufferType
from tileopt.passes.safety.verify_barriers import verify_kernel

DIVERGENT, MISSING, LANES = "race/divergent-barrier", "race/missing-barrier", "race/divergent-lanes"
P = Program

PROGRAMS = {
    # Barriers that some threads do not reach
    "condition on the thread": P(
        """
        if simt.thread_rank() < 3:
            simt.barrier()  #!
        """,
        DIVERGENT,
        ("the condition is here", "move the barrier out"),
    ),
    "condition that holds for all threads": P("if simt.thread_rank() < 64:\n    simt.barrier()"),
    "condition on the block": P("if simt.block_idx() == 0:\n    simt.barrier()"),
    "condition on an argument": P("if n > 3 and len(x) > m:\n    simt.barrier()"),
    "else of a condition on the thread": P(
        """
        if simt.thread_index() == 0:
            out[0] = 1.0
        else:
            simt.barrier()  #!
        """,
        DIVERGENT,
    ),
    "after an early return": P(
        """
        if simt.thread_index() >= n:
            return
        simt.barrier()  #!
        """,
        DIVERGENT,
    ),
    "after an early return of the block": P("if simt.block_idx() >= n:\n    return\nsimt.barrier()"),
    "grid-stride loop": P(
        """
        for i in simt.grid_stride(n):
            simt.barrier()  #!
        """,
        DIVERGENT,
        ("equally often",),
    ),
    "loop from the thread, with equal trips": P("for i in range(simt.thread_rank(), 1024, 64):\n    simt.barrier()"),
    "loop from the thread, with unequal trips": P(
        "for i in range(simt.thread_rank(), 1000, 64):\n    simt.barrier()  #!", DIVERGENT
    ),
    "loop over blocks": P("for i in range(simt.block_idx(), n, simt.grid_dim()):\n    simt.barrier()"),
    "loop of a number from memory": P("for i in range(idx[simt.block_idx()]):\n    simt.barrier()"),
    "loop of each thread's own number": P(
        "for i in range(idx[simt.thread_index()]):\n    simt.barrier()  #!", DIVERGENT
    ),
    "condition on an element of its own": P(
        """
        i = simt.thread_index()
        if i < len(x):
            a = x[i]
        else:
            a = 0.0
        if a > 0.0:
            simt.barrier()  #!
        """,
        DIVERGENT,
    ),
    "value made in a divergent branch": P(
        """
        a = 0
        if simt.thread_rank() < 5:
            a = 1
        if a == 1:
            simt.barrier()  #!
        """,
        DIVERGENT,
    ),
    "value carried by a divergent loop": P(
        """
        a = 0
        for i in range(simt.thread_rank()):
            a = a + n
        while a > 0:
            simt.barrier()  #!
            a = a - 1
        """,
        DIVERGENT,
    ),
    "vote of a warp": P("if simt.any_sync(simt.lane_index() < n):\n    simt.barrier()  #!", DIVERGENT),
    "quotient that is the same for all": P("t = simt.thread_rank()\nif n - t // 64 > 3:\n    simt.barrier()"),
    "loop halving": P("s = 32\nwhile s > 0:\n    simt.barrier()\n    s = s // 2"),
    "one block of one warp": P("if simt.warp_rank() == 0:\n    simt.barrier()", contract="block=32"),
    "one warp of two": P("if simt.warp_rank() == 0:\n    simt.barrier()  #!", DIVERGENT),
    # Accesses to shared memory without one between
    "write, then read another's": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = 1.0
        a = s[63 - t]  #!
        """,
        MISSING,
        ("s[63]", "thread 63", "thread 0", "the other access is here"),
    ),
    "write, then read one's own": P("s = simt.shared(64)\nt = simt.thread_rank()\ns[t] = 1.0\na = s[t]"),
    "write, barrier, read another's": P(
        "s = simt.shared(64)\nt = simt.thread_rank()\ns[t] = 1.0\nsimt.barrier()\na = s[63 - t]"
    ),
    "read another's, then write": P(
        "s = simt.shared(64)\nt = simt.thread_rank()\na = s[(t + 1) % 64]\ns[t] = a  #!", MISSING
    ),
    "no barrier at the loop's end": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        for i in range(n):
            s[t] = x[i]  #!
            simt.barrier()
            a = s[63 - t]
        """,
        MISSING,
        ("end of the loop",),
    ),
    "two barriers a loop": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        for i in range(n):
            s[t] = x[i]
            simt.barrier()
            a = s[63 - t]
            simt.barrier()
        """
    ),
    "two buffers in turn": P(
        """
        s = simt.shared((2, 64))
        t = simt.thread_rank()
        for i in range(n):
            s[i % 2, t] = x[i]
            simt.barrier()
            a = s[i % 2, 63 - t]
        """
    ),
    "tree without a barrier before": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = 1.0
        d = 32
        while d > 0:
            if t < d:
                s[t] += s[t + d]  #!
            simt.barrier()
            d = d // 2
        """,
        MISSING,
        ("s[32]",),
    ),
    "tree": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = 1.0
        simt.barrier()
        d = 32
        while d > 0:
            if t < d:
                s[t] += s[t + d]
            simt.barrier()
            d = d // 2
        """
    ),
    "scan in place": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = 1.0
        simt.barrier()
        if t > 0:
            s[t] += s[t - 1]  #!
        """,
        MISSING,
    ),
    "all write their own value to one place": P(
        "s = simt.shared(1)\ns[0] = simt.f32(simt.thread_rank())  #!", MISSING, ("both write s[0]",)
    ),
    "all write one value to one place": P("s = simt.shared(1)\ns[0] = simt.f32(n)"),
    "one thread writes, all read": P("s = simt.shared(1)\nif simt.thread_rank() == 0:\n    s[0] = x[0]\na = s[0]  #!",
        MISSING),
    "one thread writes, all read after a barrier": P(
        "s = simt.shared(1)\nif simt.thread_rank() == 0:\n    s[0] = x[0]\nsimt.barrier()\na = s[0]"
    ),
    "two threads a place": P("s = simt.shared(64)\nt = simt.thread_rank()\ns[t // 2] = simt.f32(t)  #!", MISSING),
    "atomics meet": P("s = simt.shared(4, 'u32')\nsimt.atomic_add(s, simt.thread_rank() % 4, 1)"),
    "atomics and a read": P(
        "s = simt.shared(4, 'u32')\nt = simt.thread_rank()\nsimt.atomic_add(s, t % 4, 1)\nb = s[t % 4]  #!", MISSING
    ),
    "lanes of a warp after syncwarp": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = x[0]
        simt.syncwarp()
        a = s[t // 32 * 32 + (t + 1) % 32]
        """
    ),
    "another warp's after syncwarp": P(
        """
        s = simt.shared(64)
        t = simt.thread_rank()
        s[t] = x[0]
        simt.syncwarp()
        a = s[63 - t]  #!
        """,
        MISSING,
    ),
    "dynamic buffers that overlap": P(
        """
        a = simt.dynamic_shared(64, 'f32', offset=0)
        b = simt.dynamic_shared(64, 'f32', offset=128)
        t = simt.thread_rank()
        a[t] = 1.0
        b[t] = 2.0  #!
        """,
        MISSING,
        contract="block=64, shared_bytes=512",
    ),
    "dynamic buffers side by side": P(
        """
        a = simt.dynamic_shared(64, 'f32', offset=0)
        b = simt.dynamic_shared(64, 'f32', offset=256)
        t = simt.thread_rank()
        a[t] = 1.0
        b[t] = 2.0
        """,
        contract="block=64, shared_bytes=512",
    ),
    "only where the contract allows it": P(
        """
        s = simt.shared(128)
        t = simt.thread_rank()
        s[t] = 1.0
        if n < 64:
            a = s[t + n]
        """,
        contract="block=64, requires=['n >= 64']",
    ),
    "where the contract allows it": P(
        """
        s = simt.shared(128)
        t = simt.thread_rank()
        s[t] = 1.0
        if 0 <= n and n <= 64:
            a = s[t + n]  #!
        """,
        MISSING,
        contract="block=64, requires=['n >= 4']",
    ),
    "two axes": P(
        """
        s = simt.shared((8, 8))
        i = simt.thread_idx(1)
        j = simt.thread_idx(0)
        s[i, j] = 1.0
        a = s[j, i]  #!
        """,
        MISSING,
        ("s[1, 0]",),
        contract="block=(8, 8)",
    ),
    # Lanes of a warp that do not all come
    "shuffle by the first lanes": P(
        "if simt.lane_index() < 16:\n    a = simt.shuffle_down(n, 8, width=16)  #!", LANES,
        ("thread 0 of a block comes here where thread 16", "the condition is here"),
    ),
    "reduction by one warp": P("if simt.warp_rank() == 0:\n    a = simt.warp_reduce(n)"),
    "reduction by one warp and a half": P("if simt.thread_rank() < 48:\n"
    "    a = simt.warp_reduce(n)  #!", LANES, ("thread 32",)),
    "vote of a tail": P("i = simt.thread_index()\nif i < len(x):\n    a = simt.any_sync(x[i] > 0.0)  #!", LANES),
    "vote of whole warps": P(
        "i = simt.thread_index()\nif i < len(x):\n    a = simt.any_sync(x[i] > 0.0)",
        contract="block=64, requires=['len(x) % 32 == 0']",
    ),
    "shuffle in a grid-stride loop": P(
        "for i in simt.grid_stride(len(x)):\n    a = simt.shuffle_xor(n, 1)  #!", LANES, ("the loop is here",)
    ),
    "shuffle in a loop of blocks": P("for b in range(simt.block_idx(), n, simt.grid_dim()):\n"
    "    a = simt.shuffle_xor(b, 1)"),
    "lanes that meet in a branch": P("if simt.lane_index() == 0:\n    simt.syncwarp()  #!", LANES),
    "a condition from memory is not followed": P("if x[simt.lane_index()] > 0.0:\n    a = simt.warp_reduce(n)"),
    "condition that a vote made": P("if simt.any_sync(simt.lane_index() < n):\n    a = simt.warp_reduce(n)"),
    "a place from memory is not told": P(
        "s = simt.shared(64)\ns[simt.thread_rank()] = 1.0\na = s[idx[0]]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_barriers(name: str) -> None:
    check(PROGRAMS[name], verify_kernel)


class Touches:
    """All accesses to bytes of shared memory, with how often the thread had met others by then."""

    def __init__(self) -> None:
        self.found: dict[tuple[Any, int, int], list[tuple[int, int, bool, bool]]] = defaultdict(list)

    def __call__(self, thread: Any, op: Any, index: tuple[int, ...], writes: bool) -> None:
        if isinstance(op.mem.type, BufferType):
            memory = thread.values[op.mem]
            address = memory.ctypes.data + sum(i * s for i, s in zip(index, memory.strides, strict=True))
            atomic = isinstance(op, simt_atomic.AtomicRmw | simt_atomic.AtomicCas)
            key = thread.home.place, thread.met[0], address
            self.found[key].append((thread.rank, thread.met[1], writes, atomic))

    def race(self) -> bool:
        """Whether two threads are at one place without a meeting between, and one writes."""
        for touches in self.found.values():
            for (a, a_met, a_writes, a_atomic), (b, b_met, b_writes, b_atomic) in itertools.combinations(touches, 2):
                ordered = a // 32 == b // 32 and a_met != b_met
                if a != b and (a_writes or b_writes) and not (a_atomic and b_atomic) and not ordered:
                    return True
        return False


def runs(program: Program) -> list[str]:
    """What a few launches have: a race, threads that wait for others, or nothing."""
    kernel = kernel_of(program)
    module = kernel.parent_op()
    assert isinstance(module, ModuleOp)
    found = []
    tail = ((64, 80),) if program.code == LANES else ()  # whose last warp has half its lanes inside
    for n, size in ((4, 256), (64, 256), *tail):
        arrays = [np.zeros(size, np.float32), np.zeros(256, np.float32), np.zeros((64, 64), np.float32)]
        given = [*arrays, np.zeros((64, 64), np.float32), np.arange(256) % 3, n, n, n]
        launch = Launch((2, 1, 1), given)
        if not launch_allowed(kernel, launch, program.parameters):
            continue
        touches = Touches()
        try:
            probe(module, launch, touches, owners=False)
            found.append("race" if touches.race() else "nothing")
        except Apart:
            found.append("apart")
    return found


NOT_TOLD = (
    "a place from memory is not told",
    "a condition from memory is not followed",
    "all write one value to one place",
)
EQUAL_DATA = (
    "vote of a warp",  # which all warps take alike here
    "condition on an element of its own",  # all elements are equal here
    "value carried by a divergent loop",  # the thread with no iterations has 0, and all others some of n
)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_TOLD])
def test_against_runs(name: str) -> None:
    """What is accepted runs without a race in each launch; what is refused has its fault in one of them."""
    program = PROGRAMS[name]
    found = runs(program)
    assert found
    if program.code is None:
        assert set(found) == {"nothing"}
    elif name not in EQUAL_DATA:
        assert ("race" if program.code == MISSING else "apart") in found, found


HAND = """
s = simt.shared(64)
f = simt.shared(1, 'i32')
t = simt.thread_rank()
if t == 0:
    f[0] = 0
simt.barrier()
{branches}
"""
GIVE = "s[t] = 1.0{mark}\nif t == 0:\n    {release}"
TAKE = "{acquire}\na = s[t - 32]{mark}"
EXCH, SPIN = "simt.atomic_exch(f, 0, 1, order='{}')", "while simt.atomic_add(f, 0, 0, order='{}') == 0:\n    pass"


def handed(release: str, acquire: str, giver_first: bool = True, mark: str = "") -> str:
    give, take = GIVE.format(release=release, mark=""), TAKE.format(acquire=acquire, mark="")
    marked = GIVE.format(release=release, mark=mark), TAKE.format(acquire=acquire, mark=mark)
    order = ("t < 32", give, marked[1]) if giver_first else ("t >= 32", take, marked[0])
    inner = [textwrap.indent(part, "    ") for part in order[1:]]
    return HAND.format(branches=f"if {order[0]}:\n{inner[0]}\nelse:\n{inner[1]}")


ORDERED = {
    "release and acquire": (EXCH.format("release"), SPIN.format("acquire")),
    "both": (EXCH.format("acq_rel"), SPIN.format("acq_rel")),
    "one look, compared": (
        EXCH.format("release"),
        "simt.atomic_cas(f, 0, 1, 2, order='acquire')",
    ),
    "fences": (
        "simt.fence('block')\n    " + EXCH.format("relaxed"),
        SPIN.format("relaxed") + "\nsimt.fence('block')",
    ),
    "a loop that is skipped": (
        EXCH.format("release"),
        "if x[t] >= 0.0:\n    " + SPIN.format("acquire").replace("\n", "\n    "),
    ),
}


@pytest.mark.parametrize("giver_first", [True, False])
@pytest.mark.parametrize("name", ORDERED)
def test_what_atomics_may_order_is_not_refused(name: str, giver_first: bool) -> None:
    check(P(handed(*ORDERED[name], giver_first)), verify_kernel)


@pytest.mark.parametrize("giver_first", [True, False])
@pytest.mark.parametrize(("release", "acquire"), [("relaxed", "relaxed"), ("release", "release")])
def test_what_atomics_cannot_order_is_refused(release: str, acquire: str, giver_first: bool) -> None:
    text = handed(EXCH.format(release), SPIN.format(acquire), giver_first, "  #!")
    check(P(text, MISSING), verify_kernel)


def test_barriers_of_some_threads_order_either_way() -> None:
    meet = "simt.named_barrier(1, 64)"
    for giver_first in (True, False):
        text = handed(meet, meet, giver_first).replace("if t == 0:\n        simt.named", "if True:\n        simt.named")
        check(P(text), verify_kernel)


def test_a_barrier_ends_what_is_not_known() -> None:
    body = handed(*ORDERED["both"]) + "\nsimt.barrier()\ns[t] = 2.0\nb = s[63 - t]  #!"
    check(P(body, MISSING), verify_kernel)
