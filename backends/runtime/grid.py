"""The grid of a launch: one to three extents, checked against what a target can launch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from tileopt.backends.runtime.errors import launch_error, ownership_error
from tileopt.dialects.diagnostics import shown

Grid = tuple[int, int, int]

_MAX_X = (1 << 31) - 1
_MAX_YZ = 65535
_MAX_BLOCKS = 1 << 48  # the compiler counts blocks, and multiplies the count by tile sizes, in 63 bits


def normalise(grid: Any) -> Grid:
    """The three extents of a grid given as an int or as a tuple of one to three ints. Raises LaunchError."""
    extents = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    if not 1 <= len(extents) <= 3:
        raise launch_error(
            "grid-rank",
            f"a grid has one to three axes, and {shown(extents)} has {len(extents)}",
            help="fold axes together, and take the block's indices apart with // and %",
        )
    result = []
    for axis, extent in enumerate(extents):
        try:
            if isinstance(extent, bool):
                raise TypeError
            number = index(extent)
        except TypeError:
            raise launch_error(
                "grid-type",
                f"axis {axis} of the grid is {shown(extent)}, no integer",
                help=_type_help(extent),
            ) from None
        if number < 0:
            raise launch_error("grid-negative", f"axis {axis} of the grid is {shown(number)}")
        result.append(number)
    return result[0], result[1] if len(result) > 1 else 1, result[2] if len(result) > 2 else 1


def _type_help(extent: Any) -> str:
    if callable(extent):
        return "give the extents themselves: functions of the configuration are for tuned kernels"
    if isinstance(extent, float):
        return "use // or tileopt.cdiv where a division gave a float"
    return "give integers: kernel[n] or kernel[n, m] counts blocks"


def check_unused(grid: Grid, axes: Sequence[int], kernel: str, arrays: Sequence[str] = ()) -> None:
    """Whether the grid has extent 1 along the axes whose block id the kernel does not use. Raises LaunchOwnershipError.

    Blocks that differ along such an axis only would all do the same, and write the same elements of `arrays`.
    """
    what = " and ".join(f"'{name}'" for name in arrays) or "its arrays"
    for axis in axes:
        if grid[axis] > 1:
            raise ownership_error(
                "repeated-blocks",
                f"{kernel} does not use axis {axis} of the grid, and the grid {grid} has extent {grid[axis]} there: "
                f"its blocks would write the same elements of {what}",
                help=f"launch it with extent 1 along axis {axis}, or index by the block's id there: "
                f"tile.bid({axis}) or simt.block_idx({axis})",
            )


def check_cpu(grid: Grid) -> None:
    """Whether blocks can be counted."""
    if max(grid) > _MAX_X or grid[0] * grid[1] * grid[2] > _MAX_BLOCKS:
        raise launch_error(
            "grid-too-large", f"the grid {shown(grid)} has an extent of 2^31 or more, or more than 2^48 blocks"
        )


def check_cuda(grid: Grid) -> None:
    """Whether the hardware takes the grid."""
    for axis, most in ((0, _MAX_X), (1, _MAX_YZ), (2, _MAX_YZ)):
        if grid[axis] > most:
            raise launch_error(
                "grid-too-large",
                f"axis {axis} of the grid is {shown(grid[axis])}, more than the {most} that CUDA launches",
                help="put the longest axis first: axis 0 takes 2^31 - 1 blocks"
                if axis
                else "let each block do more, in a loop over range(bid, tiles, num_blocks)",
            )
    if grid[0] * grid[1] * grid[2] > _MAX_BLOCKS:
        raise launch_error("grid-too-large", f"the grid {grid} has more than 2^48 blocks")
