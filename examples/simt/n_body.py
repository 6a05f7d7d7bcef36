"""Gravity among n bodies: a block keeps 128 of them at a time in shared memory, and each thread sums over those."""

from __future__ import annotations

from tileopt import simt


@simt.kernel(block=128, requires=["bodies.shape[1] == 4", "pull.shape[1] == 3", "len(bodies) == len(pull)"])
def n_body(bodies: simt.Slice["f32", 2], pull: simt.DisjointSlice["f32", 2], softening: float):
    """pull[i] = sum over j of m_j (p_j - p_i) / (|p_j - p_i|^2 + softening)^1.5; a body is (x, y, z, m)."""
    near = simt.shared((128, 4))
    i, t = simt.thread_index(), simt.thread_rank()
    x, y, z = 0.0, 0.0, 0.0
    if i < len(bodies):
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    ax, ay, az = 0.0, 0.0, 0.0
    for start in range(0, len(bodies), 128):
        for k in simt.static_range(4):
            near[t, k] = bodies[start + t, k] if start + t < len(bodies) else 0.0  # no mass, no pull
        simt.barrier()
        for body in near:
            dx, dy, dz = body[0] - x, body[1] - y, body[2] - z
            near_by = simt.rsqrt(dx * dx + dy * dy + dz * dz + softening)
            weight = body[3] * near_by * near_by * near_by
            ax, ay, az = ax + weight * dx, ay + weight * dy, az + weight * dz
        simt.barrier()
    if i < len(pull):
        pull[i, 0] = ax
        pull[i, 1] = ay
        pull[i, 2] = az
