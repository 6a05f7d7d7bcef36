"""Each predicate of a pass finds the op that breaks it, and passes keep what they promise."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tileopt.backends import targets  # noqa: F401  (registers the targets)
from tileopt.backends.pipelines import PASSES, run_passes
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.target import get_target
from tileopt.dialects.xdsl_compat import create_context
from tileopt.passes.invariants import ENSURES, REQUIRES, check, holds

VIEW = "!tile.view<?xf32, owned>"
STORE = f"""
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %c = arith.constant 0 : i64
  tile.store %z, %x[%c] : tensor<8xf32>, {VIEW}
"""
MMA = """
  %a = arith.constant dense<0.0> : tensor<16x16xf32>
  %d = tile.mma %a, %a, %a {atom} : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
"""


def kernel(body: str, op: str = "tile", attributes: str = "") -> ModuleOp:
    text = f"""builtin.module attributes {{tile.target = "cpu"}} {{
{op}.kernel @k(%x: {VIEW}) {attributes} {{
{body}
{op}.return
}}
}}"""
    return Parser(create_context(), text).parse_module()


BROKEN = [
    ("infer-facts", "after", kernel(STORE), "tile.store has no vector"),
    ("elide-bounds", "after", kernel(STORE), "tile.store has no bounds"),
    ("lower-tile-to-simt", "before", kernel(STORE), "tile.store has no bounds"),
    ("verify-ownership", "after", kernel(STORE), "@k has no tile.ownership"),
    ("map-tensor-cores", "after", kernel(MMA.replace("{atom}", "")), "a product has no atom"),
    ("map-tensor-cores", "after", kernel(MMA.replace("{atom}", '{atom = "nothing"}')), "cpu has no atom nothing"),
    ("assign-layouts", "after", kernel("%z = arith.constant dense<0.0> : tensor<8xf32>"), "tensor<8xf32> has none"),
    ("assign-layouts", "after", kernel('%z = "test.op"() : () -> !tile.buffer<8xf32>'), "!tile.buffer<8xf32> has none"),
    ("lower-tile-to-simt", "after", kernel(""), "tile.kernel"),
    ("lower-tile-to-simt", "after", kernel('%z = "test.op"() : () -> tensor<8xf32>', "simt"), "tensor<8xf32>"),
    (
        "lower-pipe",
        "after",
        kernel("%c = pipe.channel : !pipe.channel<2, !tile.buffer<8xf32>>", "simt"),
        "pipe.channel",
    ),
    ("allocate-onchip", "after", kernel("%s = simt.alloc_shared : !tile.buffer<8xf32>", "simt"), "has no"),
    (
        "allocate-onchip",
        "after",
        kernel("", "simt", "attributes {simt.shared_bytes = 99999999999 : i64}"),
        "@k takes 99999999999 bytes",
    ),
]


@pytest.mark.parametrize(("name", "when", "module", "what"), BROKEN, ids=[f"{b[0]}-{b[3]}" for b in BROKEN])
def test_what_is_missing_is_found(name: str, when: str, module: ModuleOp, what: str) -> None:
    assert not holds(name, module, when)
    with pytest.raises(CompileError, match="internal/invariant") as error:
        check(name, module, when)
    assert what in error.value.message
    assert name in error.value.message


def test_every_pass_with_an_invariant_is_in_the_pipeline() -> None:
    assert set(REQUIRES) | set(ENSURES) <= set(PASSES)


@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
def test_the_pipeline_keeps_its_promises(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEOPT_VERIFY", "1")
    module = kernel(STORE)
    del module.attributes["tile.target"]
    seen: list[str] = []
    run_passes(module, get_target(target), after=lambda name, _: seen.append(name))
    assert tuple(seen) == PASSES
