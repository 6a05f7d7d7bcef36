"""Two threads that meet at one element of an owned array, found by running a small launch."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from tileopt.dialects.kernel import KernelOp
from tileopt.passes.safety.collisions import Collision
from tileopt.passes.safety.lanes import ELEMENTS, LaneRun, Stop, linear
from tileopt.passes.safety.launches import Launch, small_launches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Lanes = NDArray[np.int64]
    Mask = NDArray[np.bool_]

LAUNCHES_MAX = 8
LANES_MAX = 8192


class _Found(Exception):
    """Lanes `a` and `b` meet at an element."""

    def __init__(self, a: int, b: int, place: int, shape: tuple[int, ...]) -> None:
        self.a, self.b, self.place, self.shape = a, b, place, shape


def meet(kernel: KernelOp, first: Operation, second: Operation, axes: list[int]) -> Collision | None:
    """Threads of which one at `first` and one at `second` touch one element. `axes`: of the grid, in use."""
    block = kernel.block
    if block is None:
        return None
    import numpy as np

    grid = tuple(2 if axis in axes else 1 for axis in range(3))
    if not axes or prod(block) * prod(grid) > LANES_MAX:
        grid = (1, 1, 1)
    places = [p[::-1] for p in product(*(range(n) for n in grid[::-1]))]
    rank = np.tile(np.arange(prod(block), dtype=np.int64), len(places))
    idx = [rank % block[0], rank // block[0] % block[1], rank // (block[0] * block[1])]
    place = [np.repeat(np.array([p[axis] for p in places], np.int64), prod(block)) for axis in range(3)]
    for count, launch in enumerate(small_launches(kernel, [(grid[0], grid[1], grid[2])])):
        if count >= LAUNCHES_MAX:
            break
        try:
            LaneRun(kernel, launch, idx, place, _Watch(launch, first, second, len(rank))).run()
        except Stop:
            continue
        except _Found as found:
            names = []
            used = [axis for axis in range(3) if block[axis] > 1] or [0]
            for lane in (found.a, found.b):
                thread = _tuple([int(idx[axis][lane]) for axis in used])
                home = _tuple([int(place[axis][lane]) for axis in axes or [0]])
                names.append(f"thread {thread} of block {home}")
            index: list[str] = []
            for extent in reversed(found.shape):
                index.insert(0, str(found.place % extent))
                found.place //= extent
            return Collision(names[0], names[1], f"[{', '.join(index)}]", _given(kernel, launch, first, second))
    return None


def _given(kernel: KernelOp, launch: Launch, first: Operation, second: Operation) -> str:
    """The integer arguments of the launch that the accesses' indices are computed from."""
    found: set[SSAValue] = set()
    pending = [v for op in (first, second) for v in op.operands]
    seen = set(pending)
    while pending:
        value = pending.pop()
        if value in launch.scalars:
            found.add(value)
        operands = value.owner.operands if isinstance(value.owner, Operation) else ()
        pending += [v for v in operands if v not in seen]
        seen.update(operands)
    arguments = kernel.body.block.args
    return " and ".join(f"{kernel.arg_name(i)} = {launch.scalars[a]}" for i, a in enumerate(arguments) if a in found)


class _Watch:
    """Keeps for each element the least lane that was at the first access, and at the second."""

    def __init__(self, launch: Launch, first: Operation, second: Operation, lanes: int) -> None:
        self.launch, self.first, self.second, self.lanes = launch, first, second, lanes
        self.least: dict[Operation, dict[int, int]] = {first: {}, second: {}}

    def barrier(self) -> None: ...
    def sync_warp(self, mask: Any) -> None: ...
    def ordered(self, memory: SSAValue) -> None: ...
    def forget(self) -> None: ...
    def acquire(self) -> None: ...
    def exchange(self, op: Operation, mask: Any) -> None: ...

    def access(self, op: Operation, indices: list[Lanes], mask: Mask) -> None:
        if op is not self.first and op is not self.second:
            return
        assert isinstance(op, ELEMENTS)
        shape = self.launch.shapes[op.mem]
        mine, other = self.least[op], self.least[self.second if op is self.first else self.first]
        for lane, place in zip(mask.nonzero()[0].tolist(), linear(indices, shape)[mask].tolist(), strict=True):
            there = other.get(place, lane)
            if there != lane:
                pair = (there, lane) if op is self.second else (lane, there)
                raise _Found(*pair, place, shape)
            mine.setdefault(place, lane)


def _tuple(ids: list[int]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"({', '.join(map(str, ids))})"
