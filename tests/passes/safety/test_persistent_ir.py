"""IR that passes made persistent is not taken back: the error says which level can be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tileopt.backends.pipelines import run_to
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.dialects.xdsl_compat import create_context, parse_module

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from matmul import matmul

GIVEN = {"a": "f16[?:8, ?:8]", "b": "f16[?:8, ?:8]", "out": "f32[?:8, ?:8]", "BM": 64, "BN": 64, "BK": 64}


def test_which_levels_are_taken_back() -> None:
    made = matmul.compile("sm_90a", **GIVEN)
    context = create_context()
    assert run_to(parse_module(context, made.ir("tile"), "tile.mlir"), "sm_90a", "ptx") == made.ptx
    for level in ("layout", "simt"):
        with pytest.raises(OwnershipError) as caught:
            run_to(parse_module(context, made.ir(level), f"{level}.mlir"), "sm_90a", "ptx")
        assert "persistent after its stores were verified" in str(caught.value.help)
