"""Floats have no exclusive or."""

from tileopt import simt


@simt.kernel(block=64)
def k(sums: simt.Atomic["f32", 1]):
    simt.atomic_xor(sums, 0, 1.0)  # error: type/atomic: f32


k.compile("cpu", sums="f32[?]")
