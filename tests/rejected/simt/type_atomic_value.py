"""The value has the element's type."""

from tileopt import simt


@simt.kernel(block=64)
def k(hist: simt.Atomic["u32", 1], n: int):
    simt.atomic_add(hist, 0, n)  # error: type/store: u32(value)


k.compile("cpu", hist="u32[?]", n="i64")
