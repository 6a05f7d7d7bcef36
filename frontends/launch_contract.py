"""How a kernel of threads may be launched: block, grid, shared memory, and what its arguments must fulfil."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tileopt.dialects.diagnostics import CompileError, LaunchError, call_site, shown
from tileopt.dialects.kernel import MAX_CLUSTER, MAX_THREADS

Extents = tuple[int, ...]
_ARCH = re.compile(r"sm_\d{2,3}a?\Z|cpu\Z")


@dataclass(frozen=True, slots=True)
class LaunchContract:
    """`block`: the extents of the block, x first, or None where each launch says them; `grid_rank`: the grid's axes,
    or None where each launch may have as many as it likes; `requires`: relations as in `requires`; `unchecked`: no
    index is tested; `deny_checks`: an index that would need a test is an error; `keep_checks`: each index is tested."""

    block: Extents | None = None
    grid_rank: int | None = None
    max_block: int | None = None
    min_blocks: int | None = None
    shared_bytes: int = 0
    min_arch: str | None = None
    cluster: Extents | None = None
    requires: tuple[Any, ...] = ()
    unchecked: bool = False
    deny_checks: bool = False
    keep_checks: bool = False

    @property
    def threads(self) -> int | None:
        return None if self.block is None else prod(self.block)


def make_contract(
    block: Any = None,
    grid_rank: Any = None,
    max_block: Any = None,
    launch_bounds: Any = None,
    shared_bytes: Any = 0,
    min_arch: Any = None,
    cluster: Any = None,
    requires: Any = (),
    unchecked: Any = False,
    deny_checks: Any = False,
    keep_checks: Any = False,
) -> LaunchContract:
    """The contract that a decorator's arguments say. Raises CompileError (`kernel/contract`)."""
    min_blocks: int | None = None
    if launch_bounds is not None:
        bounds = launch_bounds if isinstance(launch_bounds, tuple | list) else (launch_bounds,)
        if max_block is not None:
            raise _wrong("launch_bounds says what max_block says")
        if not 1 <= len(bounds) <= 2:
            raise _wrong("launch_bounds is (threads,) or (threads, blocks)")
        max_block = bounds[0]
        if len(bounds) == 2:
            min_blocks = _between(bounds[1], "the blocks of launch_bounds", 1, 64)
    made = None if block is None else extents_of(block, "block", MAX_THREADS)
    if max_block is not None:
        max_block = _between(max_block, "max_block", 1, MAX_THREADS)
        if made is not None and prod(made) > max_block:
            raise _wrong(f"the block of {made} has {prod(made)} threads, more than the {max_block} of max_block")
    if grid_rank is not None:
        grid_rank = _between(grid_rank, "grid_rank", 1, 3)
    if min_arch is not None and not (isinstance(min_arch, str) and _ARCH.match(min_arch)):
        raise _wrong(f"min_arch is a target such as 'sm_80', not {shown(min_arch)}")
    if isinstance(requires, str):
        requires = (requires,)
    if not isinstance(requires, Sequence):
        raise _wrong(f"requires is a list of relations, not {shown(requires)}")
    for name, flag in (("unchecked", unchecked), ("deny_checks", deny_checks), ("keep_checks", keep_checks)):
        if type(flag) is not bool:
            raise _wrong(f"{name} is True or False, not {shown(flag)}")
    if unchecked and deny_checks:
        raise _wrong("unchecked drops the tests that deny_checks refuses: give one of them")
    if keep_checks and (unchecked or deny_checks):
        raise _wrong("keep_checks keeps the tests that unchecked drops and deny_checks refuses: give one of them")
    return LaunchContract(
        made,
        grid_rank,
        max_block,
        min_blocks,
        _between(shared_bytes, "shared_bytes", 0, 1 << 20),
        min_arch,
        None if cluster is None else extents_of(cluster, "cluster", MAX_CLUSTER),
        tuple(requires),
        unchecked,
        deny_checks,
        keep_checks,
    )


def extents_of(given: Any, what: str, limit: int) -> Extents:
    """One to three positive extents, x first. Raises CompileError (`kernel/contract`)."""
    extents = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(extents) <= 3 or any(type(n) is not int or n < 1 for n in extents):
        raise _wrong(f"{what} has one to three positive integers, not {shown(given)}")
    if prod(extents) > limit:
        raise _wrong(f"{what} {shown(extents)} makes {shown(prod(extents))}, more than {limit}")
    return extents


def _between(value: Any, what: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise _wrong(f"{what} is an integer from {low} to {high}, not {shown(value)}")
    return int(value)


def _wrong(message: str) -> CompileError:
    return CompileError("kernel/contract", message, location=call_site())


def split_launch(key: Any, contract: LaunchContract, kernel: str) -> tuple[Any, Extents]:
    """Grid and block of `kernel[key]`: `kernel[grid]` where the contract fixes the block, else `kernel[grid, block]`.

    Raises LaunchError (`launch/block`).
    """
    if contract.block is not None:
        if isinstance(key, tuple) and len(key) == 2 and any(isinstance(k, tuple | list) for k in key):
            raise LaunchError(
                "launch/block",
                f"the contract of '{kernel}' fixes the block at {contract.block}",
                location=call_site(),
                help=f"launch it by {kernel}[grid], or leave block= out of the contract",
            )
        return key, contract.block
    if not isinstance(key, tuple) or len(key) != 2:
        raise LaunchError(
            "launch/block",
            f"the contract of '{kernel}' does not say the block",
            location=call_site(),
            help=f"launch it by {kernel}[grid, block], or write block= into the contract",
        )
    try:
        block = extents_of(key[1], "block", MAX_THREADS)
    except CompileError as error:
        raise LaunchError("launch/block", error.message, location=call_site()) from None
    if contract.max_block is not None and prod(block) > contract.max_block:
        raise LaunchError(
            "launch/block",
            f"a block of {block} has {prod(block)} threads, and the contract of '{kernel}' allows {contract.max_block}",
            location=call_site(),
        )
    return key[0], block


def grid_axes(grid: Any, contract: LaunchContract, kernel: str) -> int:
    """The axes that the code for a grid counts. Raises LaunchError (`launch/grid-rank`)."""
    axes = len(grid) if isinstance(grid, tuple | list) else 1
    rank = contract.grid_rank
    if rank is not None:
        if axes > rank:
            raise LaunchError(
                "launch/grid-rank",
                f"the grid {shown(grid)} has {axes} axes, and the contract of '{kernel}' allows {rank}",
                location=call_site(),
            )
        return rank
    return min(max(axes, 1), 3)
