"""Words of a matrix are u32, not f32."""

from tileopt import simt


@simt.kernel(block=32)
def k(x: simt.Slice["f16", 2]):
    t = simt.shared((16, 16), "f16")
    simt.stmatrix(t, (simt.lane_index() % 8, 0), (simt.f32(0.0),))  # error: type/operand: u32 registers


k.compile("cpu", x="f16[?,?]")
