"""What kernels print on a GPU comes out of the process's standard output when the host synchronises."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tileopt import simt, tile


@simt.kernel(block=32)
def prints(x: simt.Slice["f32", 1], n: simt.u8):
    for i in simt.grid_stride(len(x)):
        simt.printf("%d %.9g %u %c%%\n", i, x[i], n, 65)


@tile.kernel
def prints_of_tiles(x: tile.In["f32", 1]):
    tile.printf("sum of %d: %.9g\n", tile.bid(0), tile.load(x, tile.bid(0), 50).sum())
    print("first", tile.load(x, 50 * tile.bid(0), 1).item())


def run() -> None:
    import torch

    x = torch.arange(100, device="cuda", dtype=torch.float32) / 4
    prints[2](x, 200)
    prints_of_tiles[2](x)
    torch.cuda.synchronize()


def test_printing() -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    wanted = [f"{i} {i / 4:.9g} 200 A%" for i in range(100)]
    wanted += [f"sum of {b}: {sum(range(50 * b, 50 * b + 50)) / 4:.9g}" for b in range(2)]
    wanted += [f"first {50 * b / 4:g}" for b in range(2)]
    assert sorted(done.stdout.splitlines()) == sorted(wanted)


if __name__ == "__main__":
    run()
