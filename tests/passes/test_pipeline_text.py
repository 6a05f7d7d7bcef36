"""Pipelines as text: what is read, and where errors point."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileopt.dialects.diagnostics import CompileError
from tileopt.passes import pipeline_text
from tileopt.passes.pipeline_text import parse_pipeline


@dataclass(frozen=True)
class Options(ModulePass):
    name = "options"
    stages: int = 2
    scale: float = 1.0
    label: str = ""
    shape: tuple[int, ...] = ()
    fast_math: bool = False
    limit: int | None = 3

    def apply(self, ctx: object, op: ModuleOp) -> None: ...


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pipeline_text.pass_class
    monkeypatch.setattr(pipeline_text, "pass_class", lambda name: Options if name == "options" else before(name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("options", Options()),
        ("options{}", Options()),
        ("options{stages=4}", Options(stages=4)),
        ("options{stages = -4 scale=2.5e1}", Options(stages=-4, scale=25.0)),
        ("options{fast-math}", Options(fast_math=True)),
        ("options{fast-math=false}", Options()),
        ("options{fast_math=true stages=1}", Options(fast_math=True, stages=1)),
        ("options{shape=1,2,3 label=wide}", Options(shape=(1, 2, 3), label="wide")),
        ('options{label="a b, {c} \\"d\\""}', Options(label='a b, {c} "d"')),
        ("options{limit}", Options(limit=None)),
        ("\n options { stages=4\n  shape=1 , 2 }\n", Options(stages=4, shape=(1, 2))),
    ],
)
def test_options(text: str, expected: Options) -> None:
    assert parse_pipeline(text) == [expected]


@pytest.mark.parametrize("text", ["cse,dce", " cse , dce ", "cse,\ndce\n"])
def test_passes_in_order(text: str) -> None:
    assert [each.name for each in parse_pipeline(text)] == ["cse", "dce"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_is_an_empty_pipeline(text: str) -> None:
    assert parse_pipeline(text) == []


@pytest.mark.parametrize(
    ("text", "code", "place", "says"),
    [
        ("cse dce", "syntax", (1, 5), "expected ',' between passes"),
        ("cse,", "syntax", (1, 5), "expected the name of a pass"),
        (",cse", "syntax", (1, 1), "expected the name of a pass"),
        ("cse,\n  nothing", "unknown-pass", (2, 3), "unknown pass 'nothing'"),
        ("options{stages=}", "syntax", (1, 16), "expected a value"),
        ("options{stages=1", "syntax", (1, 17), "expected an option or '}'"),
        ("options{stage=1}", "option", (1, 9), "no such option"),
        ("options{stages=1 stages=2}", "option", (1, 18), "given twice"),
        ("cse,options{stages=many}", "option", (1, 5), "options of pass 'options'"),
        (
            "options{fast-math=maybe}",
            "option",
            (1, 9),
            "'fast-math' of pass 'options' is true or false, not maybe",
        ),
        ("options{stages}", "option", (1, 1), "options of pass 'options'"),
        ('options{label="a}', "syntax", (1, 15), "expected a value"),
    ],
)
def test_errors_point_into_the_text(text: str, code: str, place: tuple[int, int], says: str) -> None:
    with pytest.raises(CompileError) as raised:
        parse_pipeline(text)
    error = raised.value
    assert error.code == f"pipeline/{code}"
    assert error.location is not None
    assert (error.location.line, error.location.column) == place
    assert says in error.message


def test_misspelt_passes_are_recognised() -> None:
    with pytest.raises(CompileError, match="did you mean 'canonicalize'"):
        parse_pipeline("canonicalise")


def test_options_are_named_where_one_is_not_known() -> None:
    with pytest.raises(CompileError, match="it has: fast-math, label, limit, scale, shape, stages"):
        parse_pipeline("options{x}")
