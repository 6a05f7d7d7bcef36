"""An assertion that is known not to hold when the kernel is compiled."""

from tileopt import simt


@simt.kernel(block=48)
def k(x: simt.Slice["f32", 1]):
    assert simt.block_dim() % 32 == 0, "whole warps"  # error: kernel/assertion: whole warps


k.compile("cpu", x="f32[?]")
