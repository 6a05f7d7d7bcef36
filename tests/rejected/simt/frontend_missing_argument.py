"""A call that lacks an argument."""

from tileopt import simt


@simt.kernel(block=64)
def k(hist: simt.Atomic["u32", 1]):
    simt.atomic_add(hist, 0)  # error: type/arguments: value


k.compile("cpu", hist="u32[?]")
