"""What `protocol_checker` finds: kernels that are right are damaged one op at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from barrier_model import Fault
from protocol_checker import BlockRun
from role_programs import flash, gemm, run_flash, run_gemm
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from tileopt.dialects import gpu_mbarrier, gpu_tma, gpu_wgmma, simt
from tileopt.dialects.verifier import walk

TILE = (128, 256, 64)  # four slots; four panels that go through two buffers
SHAPE = (128, 64, 64)
SEEDS = 12
Damage = Callable[[ModuleOp], None]


def product(damaged: ModuleOp, seed: int) -> BlockRun:
    return run_gemm(damaged, TILE, 9, seed)


def attention(damaged: ModuleOp, seed: int) -> BlockRun:
    return run_flash(damaged, *SHAPE, 9, seed)


def find(
    module: ModuleOp, kind: type[Operation], *, loop: bool | None = None, consumer: bool = True
) -> list[Operation]:
    """The ops of a kind in one of the roles; `loop`: only those in its first innermost loop, or outside of all such."""
    (role,) = (op for op in walk(module) if "simt.role" in op.attributes)
    assert isinstance(role, scf.IfOp)
    ops = list((role.true_region if consumer else role.false_region).block.walk())
    loops = [op for op in ops if isinstance(op, scf.ForOp) and not any(isinstance(x, scf.ForOp) for x in _inside(op))]
    hot = loops[:1] if loop else loops
    return [op for op in ops if isinstance(op, kind) and loop in (None, any(x.is_ancestor(op) for x in hot))]


def _inside(loop: scf.ForOp) -> Iterable[Operation]:
    return loop.body.block.walk()


def erase(op: Operation) -> None:
    for result, operand in zip(op.results, op.operands, strict=False):
        result.replace_all_uses_with(operand)
    assert op.parent is not None
    op.parent.erase_op(op)


def more(op: Operation, name: str, by: int = 1) -> None:
    """Changes a number that an op has."""
    now = op.properties[name]
    assert isinstance(now, IntegerAttr)
    op.properties[name] = IntegerAttr(now.value.data + by, i64)


def shift(op: Operation, operand: int, by: int) -> None:
    """Adds to an integer that an op takes."""
    one = arith.ConstantOp(IntegerAttr(by, i64))
    other = arith.AddiOp(op.operands[operand], one.result)
    assert op.parent is not None
    op.parent.insert_ops_before([one, other], op)
    op.operands[operand] = other.result


def the(ops: list[Operation], number: int = 0) -> Operation:
    assert ops
    return ops[number]


def barrier_behind(op: Operation) -> Operation:
    at = op.parent_op()
    while not isinstance(at, simt.Barrier):
        assert at is not None
        at = at.next_op
    return at


def before_store(module: ModuleOp) -> simt.Barrier:
    """The barrier between the threads' writes of a panel and its store."""
    at: Operation | None = the(find(module, gpu_tma.TmaStore)).parent_op()
    while not isinstance(at, simt.Barrier):
        assert at is not None
        at = at.prev_op
    return at


def unproxied(module: ModuleOp) -> None:
    before_store(module).properties.pop("proxy")


def of_all_threads(module: ModuleOp) -> None:
    barrier = before_store(module)
    del barrier.properties["id"], barrier.properties["threads"]


def all_lanes(module: ModuleOp) -> None:
    arrive = the(find(module, gpu_mbarrier.MbarrierArrive, loop=True))
    arrive.operands = list(arrive.operands)[:2]


def all_producers(module: ModuleOp) -> None:
    """Each thread of the producer's first warp copies."""
    (choice,) = (op for op in find(module, scf.IfOp, consumer=False) if isinstance(op, scf.IfOp))
    below = next(op for op in walk(module) if isinstance(op, arith.CmpiOp) and op.result is choice.cond)
    below.properties["predicate"] = IntegerAttr(9, i64)


def fence(module: ModuleOp) -> None:
    erase(the([op for op in walk(module) if isinstance(op, gpu_mbarrier.MbarrierFence)]))


def begin(module: ModuleOp) -> None:
    """The barrier behind the making of barriers."""
    erase(the([op for op in walk(module) if isinstance(op, simt.Barrier)]))


def count(at: int, by: int) -> Damage:
    def damage(module: ModuleOp) -> None:
        more(the([op for op in walk(module) if isinstance(op, gpu_mbarrier.MbarrierInit)], at), "count", by)

    return damage


def registers(module: ModuleOp) -> None:
    """240 for each of two warpgroups and 40 for the producer are more than there are."""
    more(the(find(module, gpu_mbarrier.SetMaxRegisters)), "registers", 8)


WAITED, STORED = gpu_wgmma.WgmmaWait, gpu_tma.TmaWait
EMPTY, FULL = {"consumer": False, "loop": True}, {"consumer": True, "loop": True}
WAIT, ARRIVE = gpu_mbarrier.MbarrierWait, gpu_mbarrier.MbarrierArrive
NEVER, LOADING, READING = "wait for what never comes", "before its copy has arrived", "a product may be reading"
RUSHED = f"{READING}|load is filling|phase|{NEVER}"

PRODUCT: dict[str, tuple[Damage, str]] = {
    "no release in the loop": (lambda m: erase(the(find(m, ARRIVE, **FULL))), NEVER),
    "no release behind the loop": (lambda m: erase(the(find(m, ARRIVE, loop=False))), NEVER),
    "all lanes release": (all_lanes, f"threads arrive in one phase|may be reading|{NEVER}"),
    "no wait for full": (lambda m: erase(the(find(m, WAIT, **FULL))), f"{LOADING}|nobody has written|may be reading"),
    "other parity of full": (lambda m: shift(the(find(m, WAIT, **FULL)), 2, 1), f"{NEVER}|{LOADING}|nobody"),
    "full of another slot": (lambda m: shift(the(find(m, WAIT, **FULL)), 1, 1), f"{NEVER}|{LOADING}|nobody"),
    "no wait for empty": (lambda m: erase(the(find(m, WAIT, **EMPTY))), RUSHED),
    "other parity of empty": (lambda m: shift(the(find(m, WAIT, **EMPTY)), 2, 1), f"{NEVER}|{READING}"),
    "fewer bytes": (lambda m: more(the(find(m, ARRIVE, **EMPTY)), "expect", -128), "phase does not expect"),
    "more bytes": (lambda m: more(the(find(m, ARRIVE, **EMPTY)), "expect", 128), NEVER),
    "no bytes": (lambda m: erase(the(find(m, ARRIVE, **EMPTY))), f"phase does not expect|{NEVER}"),
    "two products in flight": (lambda m: more(the(find(m, WAITED, **FULL)), "pending"), READING),
    "registers read early": (lambda m: erase(the(find(m, WAITED, loop=False))), "registers are read before"),
    "one arrival fewer": (count(-1, -1), f"arrive in one phase|{READING}|{NEVER}"),
    "one arrival more": (count(-1, 1), NEVER),
    "a full barrier of two": (count(0, 1), NEVER),
    "unknown barriers": (fence, "copy engine does not know"),
    "barriers used at once": (begin, "before it was made"),
    "too many registers": (registers, NEVER),
    "a copy by each lane": (all_producers, "by 32 threads|arrive in one phase"),
    "no barrier before a store": (lambda m: erase(before_store(m)), "all threads have written|proxy fence"),
    "no proxy fence before a store": (unproxied, "without a proxy fence"),
    "a barrier of all threads": (of_all_threads, NEVER),
    "no barrier behind a wait for a store": (
        lambda m: erase(barrier_behind(the(find(m, STORED), 1))),
        "a bulk store may be reading|all threads have written",
    ),
    "a store more in flight": (lambda m: more(the(find(m, STORED), 1), "pending"), "a bulk store may be reading"),
    "no wait for the last stores": (lambda m: erase(the(find(m, STORED), -1)), "may end while"),
    "no wait for the last tile's stores": (
        lambda m: erase(the(find(m, STORED), 0)),
        "a bulk store may be reading",
    ),
}  # fmt: skip


ATTENTION: dict[str, tuple[Damage, str]] = {
    "no wait for scores": (lambda m: erase(the(find(m, WAITED, **FULL))), "registers are read before"),
    "no wait for keys": (lambda m: erase(the(find(m, WAIT, **FULL))), f"{LOADING}|nobody has written|may be reading"),
    "no wait for values": (lambda m: erase(the(find(m, WAIT, **FULL), -1)), f"{LOADING}|nobody|may be reading"),
    "no release of values": (lambda m: erase(the(find(m, ARRIVE, **FULL), -1)), NEVER),
    "sums in flight at the release": (
        lambda m: more(the(find(m, WAITED, **FULL), -1), "pending"),
        f"{READING}|registers are read before",
    ),
    "no room for keys": (lambda m: erase(the(find(m, WAIT, **EMPTY))), RUSHED),
    "no room for values": (
        lambda m: erase(the(find(m, WAIT, **EMPTY), -1)),
        RUSHED,
    ),
    "values in the slot behind": (
        lambda m: shift(the(find(m, gpu_tma.TmaLoad, **EMPTY), -1), 6, 1),
        "phase|no barrier",
    ),
}


def finds(kernel: ModuleOp, run: Callable[[ModuleOp, int], BlockRun], damage: Damage, message: str) -> None:
    damaged = kernel.clone()
    damage(damaged)
    with pytest.raises(Fault, match=message):
        for seed in range(SEEDS):
            run(damaged, seed)


@pytest.mark.parametrize("name", PRODUCT)
def test_damaged_product(name: str) -> None:
    finds(gemm(*TILE), product, *PRODUCT[name])


# Where the sums are waited for in the next iteration, "scores" are the sums, and the other way round.
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ATTENTION)
def test_damaged_attention(name: str, late: bool) -> None:
    finds(flash(*SHAPE, False, late=late), attention, *ATTENTION[name])
