"""A parameter of no kind."""

from tileopt import simt


@simt.kernel(block=64)
def k(x: list):
#     ^ error: kernel/annotation: no kind of parameter
    pass


k.compile("cpu", x="f32[?]")
