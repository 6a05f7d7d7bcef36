"""Every code that the source raises has its section in docs/codes, with an example where a program can provoke it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from codes_examples import of_entry
from command import tileopt

from tileopt.tools.explain import entries, find, index

ROOT = Path(__file__).parents[2]
SOURCES = [p for d in ("dialects", "passes", "frontends", "backends", "tools") for p in (ROOT / d).rglob("*.py")]
# What makes an error of a code's second part, and the first.
MAKERS = {"launch_error": "launch", "ownership_error": "ownership", "unsupported": "unsupported"}
CODE = re.compile(r"[a-z]+/[a-z0-9-]+")
# Families of which programs that users write, and this machine, provoke none; and single codes of that kind.
WITHOUT = {
    "allocate",
    "backend",
    "device",
    "engine",
    "gpu",
    "internal",
    "model",
    "plugin",
    "print",
    "ptxas",
    "registry",
}
WITHOUT |= {
    "compile/kernels", "control/arity", "kernel/argument-type", "kernel/num-ctas", "kernel/num-stages",
    "kernel/num-warps",
    "kernel/signature", "launch/array-device", "launch/array-lazy", "launch/array-null", "launch/array-storage",
    "launch/condition-syntax", "launch/mixed-devices", "limits/depth", "limits/memory", "parse/encoding", "pass/*",
    "pass/no-fixpoint", "race/between-blocks", "schedule", "source/syntax", "target/conflict", "target/kind",
    "target/no-atom",
    "target/no-function", "target/no-libdevice", "target/no-ptxas", "target/old-ptxas", "target/tensor-memory",
    "target/threads",
    "target/unknown-atom", "target/unsupported-*", "target/unsupported-cp-async", "target/unsupported-device",
    "target/unsupported-mma",
    "unsupported/depth",
}  # fmt: skip


def _texts(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def raised() -> dict[str, str]:
    """Each code in the source and a place where it stands."""
    found: dict[str, str] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                # The first part of a text that is made at run time ends in "-".
                found.setdefault(node.value + "*" if node.value.endswith("-") else node.value, place)
            elif isinstance(node, ast.Call):
                function = node.func
                name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
                if name in MAKERS and node.args:
                    found.update(dict.fromkeys((f"{MAKERS[name]}/{t}" for t in _texts(node.args[0])), place))
                elif name == "fail" and "pipeline_text" in path.name:
                    codes = [k.value for k in node.keywords if k.arg == "code"]
                    found.update(dict.fromkeys((f"pipeline/{t}" for c in codes for t in _texts(c)), place))
    return found


RAISED = raised()
SECTIONS = {e.code: e for e in entries()}


def test_the_scan_finds_codes_of_every_kind() -> None:
    some = ("type/shape", "launch/stream", "ownership/self-overlap", "unsupported/call", "pipeline/option", "usage")
    assert len(RAISED) > 180 and set(some) - {"usage"} <= set(RAISED)


@pytest.mark.parametrize("code", sorted(RAISED))
def test_each_code_has_its_section(code: str) -> None:
    assert code in SECTIONS, f"{RAISED[code]} raises {code}, which docs/codes does not explain"


def test_each_section_is_of_a_code_that_is_raised() -> None:
    stands = {c for c in SECTIONS if not c.endswith("/*")} - {"usage", "internal", "pipeline/syntax"}
    assert stands <= set(RAISED)


@pytest.mark.parametrize("code", SECTIONS)
def test_each_section_has_an_example(code: str) -> None:
    shows = bool(list(of_entry(SECTIONS[code])))
    assert shows is (code not in WITHOUT and code.partition("/")[0] not in WITHOUT)
    assert len(SECTIONS[code].summary) > 10


def test_the_index_is_made_of_the_pages() -> None:
    assert (ROOT / "docs" / "codes" / "README.md").read_text() == index(), "tileopt explain > docs/codes/README.md"


def test_explain() -> None:
    done = tileopt("explain", "ownership/leak", "verify/arith.addi")
    assert done.code == 0 and done.out.startswith("ownership/leak\n\n") and SECTIONS["verify/*"].text in done.out
    assert tileopt("explain").out == index()
    assert find("device/illegal-address").code == "device/*"


def test_a_code_that_there_is_not() -> None:
    for code in ("ownership/overlapping-store", "../README", "nothing/*"):
        done = tileopt("explain", code)
        assert done.code == 1 and f"there is no error code '{code}'" in done.err
    assert "did you mean ownership/overlapping-stores" in tileopt("explain", "ownership/overlapping-store").err
