"""Registers come by eight."""

from tileopt import simt


@simt.kernel(block=128)
def k(x: simt.Slice["f16", 2]):
    simt.setmaxnreg(100, increase=True)  # error: gpu/setmaxnreg: a multiple of 8, not 100


k.compile("cpu", x="f16[?,?]")
