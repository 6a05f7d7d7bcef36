"""Ownership across launches with the arrays and streams of PyTorch, on a real GPU."""

from __future__ import annotations

from typing import Any

import pytest

import tileopt
from tileopt import OwnershipError, tile

torch: Any = pytest.importorskip("torch")


@tile.kernel
def scale(x: tile.In, out: tile.Out, a: tile.f32 = 2.0):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * a)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_moved_tensors(device: str) -> None:
    x, out = torch.rand(100, device=device), torch.empty(100, device=device)
    owner = tileopt.move(x)
    with pytest.raises(OwnershipError) as caught:
        scale[2](x, out)
    assert caught.value.code == "ownership/use-after-move"
    scale[2](owner, out)
    assert torch.allclose(out, 2 * owner) and owner.data_ptr() == x.data_ptr()


def test_moved_device_arrays() -> None:
    x, out = tileopt.zeros(100, device="cuda"), tileopt.empty(100, device="cuda")
    owner = tileopt.move(x)
    for use in (lambda: scale[2](x, out), lambda: x[1:], lambda: x.T, lambda: x.numpy()):
        with pytest.raises(OwnershipError):
            use()
    scale[2](owner, out)
    assert not tileopt.to_numpy(out).any()
