"""Random layouts for property tests: any rank, replicas, phantoms, repeats that are no powers of two."""

from __future__ import annotations

from hypothesis import strategies as st

from tileopt.dialects.layout import LANE_BITS, Layout, SharedLayout


@st.composite
def layouts(draw: st.DrawFn, max_rank: int = 3, phantoms: bool = True) -> Layout:
    """A layout of at most 64 threads whose registers can be enumerated in no time."""
    rank = draw(st.integers(0, max_rank))
    warp_bits = draw(st.integers(0, 1))
    register_bits = draw(st.integers(0, 3)) if rank else 0
    base = [1] * rank
    bases: list[tuple[int, ...]] = []
    thread_bits = LANE_BITS + warp_bits
    # Bits in a random order over the axes; thread bits may be replicas.
    owners = ["register"] * register_bits + ["thread"] * thread_bits
    regs: list[tuple[int, ...]] = []
    for owner in draw(st.permutations(owners)):
        axis = draw(st.integers(0 if owner == "register" else -1, rank - 1)) if rank else -1
        basis = [0] * rank
        if axis >= 0:
            basis[axis] = base[axis]
            base[axis] *= 2
        (regs if owner == "register" else bases).append(tuple(basis))
    repeats = [draw(st.integers(1, 3)) for _ in range(rank)]
    shape = tuple(b * r - (draw(st.integers(0, b - 1)) if phantoms else 0) for b, r in zip(base, repeats, strict=True))
    shuffled = draw(st.permutations(bases))
    return Layout(shape, tuple(regs), tuple(shuffled[:LANE_BITS]), tuple(shuffled[LANE_BITS:]))


@st.composite
def shared_layouts(draw: st.DrawFn, max_rank: int = 3, max_elements: int = 2048) -> SharedLayout:
    """A layout in shared memory: any order; plain, padded, swizzled, in panels."""
    rank = draw(st.integers(0, max_rank))
    shape: list[int] = []
    room = max_elements
    for _ in range(rank):
        shape.append(draw(st.integers(1, min(room, 40))))
        room //= shape[-1]
    order = tuple(draw(st.permutations(range(rank))))
    panel = draw(st.sampled_from([0, 1, 4, 8, 16]))
    match draw(st.sampled_from(["plain", "padded", "swizzled"])):
        case "padded":
            return SharedLayout(tuple(shape), order, pad=draw(st.integers(1, 9)))
        case "swizzled":
            bits = draw(st.integers(1, 3))
            return SharedLayout(
                tuple(shape), order, bits, draw(st.integers(0, 4)), draw(st.integers(bits, 5)), panel=panel
            )
        case _:
            return SharedLayout(tuple(shape), order, panel=panel)
