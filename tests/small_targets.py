"""Targets for tests of passes: small, and apart from those of the backends."""

from __future__ import annotations

from tileopt.dialects.target import Atom, Feature, Scope, Space, Target, register_target

_IN_SHARED = Atom("dot", (1, 1, 1), "f32", "f32", "f32", 0, Scope.THREAD, Space.SHARED, Space.SHARED)
_HALF_IN_SHARED = Atom("dot.bf16", (1, 1, 1), "bf16", "bf16", "f32", 0, Scope.THREAD, Space.SHARED, Space.SHARED)
_IN_REGISTERS = Atom("mma", (16, 8, 16), "bf16", "bf16", "f32", 80, Scope.WARP)
_MIXED = Atom("wgmma", (64, 8, 16), "bf16", "bf16", "f32", 90, Scope.WARPGROUP, Space.REGISTER, Space.SHARED)

ATOMS = (_IN_SHARED, _HALF_IN_SHARED, _IN_REGISTERS, _MIXED)
COPIES = frozenset({Feature.CP_ASYNC, Feature.LDMATRIX})

register_target("small", lambda: Target("small", "cuda", 80, COPIES, ATOMS, shared_bytes=2048, default_stages=3))
register_target("tight", lambda: Target("tight", "cuda", 80, COPIES, ATOMS, shared_bytes=4096, default_stages=3))
register_target("copies", lambda: Target("copies", "cuda", 80, COPIES, ATOMS, shared_bytes=96 * 1024, default_stages=3))
register_target("plain", lambda: Target("plain", "cuda", 70, frozenset(), ATOMS, default_stages=3))
