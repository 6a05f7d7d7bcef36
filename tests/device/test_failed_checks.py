"""A failed check on a GPU ends the context, so each runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tileopt import simt, tile


@simt.kernel(block=(32, 2))
def reads_beyond(x: simt.Slice, out: simt.DisjointSlice, shift: int):
    i = simt.thread_index()
    if i < len(out):
        out[i] = x[i + shift]


@simt.kernel(block=(64,))
def waits_while_one_fails(x: simt.Slice, out: simt.DisjointSlice):
    s = simt.shared(64)
    s[simt.thread_rank()] = x[simt.thread_rank() * 2]
    simt.barrier()
    out[simt.thread_index()] = s[63 - simt.thread_rank()]


@simt.kernel(block=(8, 4))
def asserts(x: simt.Slice):
    assert x[simt.thread_index()] >= 0.0, "a length is not negative"


@tile.kernel
def asserts_of_tiles(x: tile.In):
    assert tile.load(x, tile.bid(0), 32).sum() == 0.0, "the sum is 0"


def fail(name: str) -> None:
    import torch

    from tileopt.backends.nvidia import driver

    x, out = torch.zeros(100, device="cuda"), torch.zeros(640, device="cuda")
    if name == "reads_beyond":
        reads_beyond[1](x, out[:64], 0)
        torch.cuda.synchronize()
        reads_beyond[2](x, out[:100], 1)
    elif name == "asserts":
        x[40] = -1.0
        asserts[3](x)
    elif name == "asserts_of_tiles":
        x[40] = -1.0
        asserts_of_tiles[3](x)
    else:
        waits_while_one_fails[10](x, out)
    driver.synchronize(0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reads_beyond", r"index 100 of 'x', whose length is 100, in thread (3, 1, 0) of block (1, 0, 0)"),
        ("waits_while_one_fails", r"of 'x', whose length is 100, in thread"),
        ("asserts", r"the assertion 'a length is not negative' does not hold, in thread (0, 1, 0) of block (1, 0, 0)"),
        ("asserts_of_tiles", r"the assertion 'the sum is 0' does not hold, in thread"),
    ],
)
def test_the_next_synchronisation_raises(name: str, message: str) -> None:
    pytest.importorskip("torch")
    run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=300)
    code = "kernel/assertion" if name.startswith("asserts") else "bounds/out-of-range"
    assert f"error[{code}]" in run.stderr and message in run.stderr, run.stderr[-3000:]


if __name__ == "__main__":
    fail(sys.argv[1])
