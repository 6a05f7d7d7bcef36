"""How many blocks of a kernel a multiprocessor runs at once, and what keeps it from more.

As NVIDIA's occupancy calculator counts: registers go to warps in units of 256, and warps to the four parts of a
multiprocessor, each of which has a fourth of the register file; shared memory goes to blocks in units of 128 bytes,
with what the system reserves.
"""

from __future__ import annotations

from tileopt.backends.nvidia.generation import NvidiaTarget

REGISTER_UNIT, PARTS, SHARED_UNIT, WARP = 256, 4, 128, 32


def occupancy(target: NvidiaTarget, threads: int, registers: int, shared_bytes: int) -> dict[str, object]:
    """`blocks`, `warps` and `of_warps` of a multiprocessor, and `limited_by`: all that allows no further block.

    `registers`: of a thread as launched; `shared_bytes`: static and dynamic ones of a block.
    """
    warps = -(-threads // WARP)
    most = target.multiprocessor_threads // WARP
    limits = {"blocks": target.multiprocessor_blocks, "threads": most // warps}
    if registers:
        each = _up(registers * WARP, REGISTER_UNIT)
        limits["registers"] = target.register_file // PARTS // each * PARTS // warps
    taken = _up(shared_bytes, SHARED_UNIT) + target.reserved_shared
    if taken:
        limits["shared memory"] = (target.shared_bytes + target.reserved_shared) // taken
    least = min(limits.values())
    limited = [name for name, count in limits.items() if count == least]
    return {"blocks": least, "warps": least * warps, "of_warps": most, "limited_by": limited}


def occupancy_notes(asked: int | None, held: dict[str, object], persistent: int) -> list[str]:
    """What keeps a kernel from the blocks that its hint asks for; `persistent`: those that are launched, 0: all."""
    blocks, limited = held["blocks"], held["limited_by"]
    assert isinstance(blocks, int) and isinstance(limited, list)
    why = " and ".join(limited)
    if persistent and persistent < blocks:
        blocks, why = persistent, "what its roles need of registers, shared memory and slots"
    if asked is None or blocks >= asked:
        return []
    return [f"occupancy={asked}: {blocks} {'block' if blocks == 1 else 'blocks'} at once, limited by {why}"]


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
