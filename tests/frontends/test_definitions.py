"""Definitions of kernels: parameter kinds, hints, what is refused before anything is compiled."""

from __future__ import annotations

import pytest
from python_kernels import build, kernel, module, signature, simt_kernel

import tileopt
from tileopt import CompileError, KernelTypeError, LaunchError, TileoptError, tile
from tileopt.dialects.contracts import ArraySpec, Missing, Parameter, ParamKind, ScalarSpec


def test_parameter_kinds() -> None:
    made = kernel(
        "pass",
        "a: tile.In, b: tile.Out['f16'], c: tile.InOut[tile.i8, 3], d: tile.In[2], e: int, f: float, g: bool, "
        "h: tile.u16, i: tile.Const[int] = 4, j: tile.Const[str] = 'x', k: tile.Const = None, l: tile.f64 = 1.0",
    )
    assert made.parameters == (
        Parameter("a", ParamKind.IN),
        Parameter("b", ParamKind.OUT, "f16"),
        Parameter("c", ParamKind.INOUT, "i8", 3),
        Parameter("d", ParamKind.IN, None, 2),
        Parameter("e", ParamKind.SCALAR, "i64"),
        Parameter("f", ParamKind.SCALAR, "f32"),
        Parameter("g", ParamKind.SCALAR, "bool"),
        Parameter("h", ParamKind.SCALAR, "u16"),
        Parameter("i", ParamKind.CONST, default=4, python=int),
        Parameter("j", ParamKind.CONST, default="x", python=str),
        Parameter("k", ParamKind.CONST, default=None),
        Parameter("l", ParamKind.SCALAR, "f64", default=1.0),
    )
    assert made.parameters[0].default is Missing


@pytest.mark.parametrize(
    ("parameters", "code", "word"),
    [
        ("x", "kernel/annotation", "tile.In"),
        ("x: str", "kernel/annotation", "no kind of parameter"),
        ("x: list[int]", "kernel/annotation", "list"),
        ("x: nonsense", "kernel/annotation", "nonsense"),
        ("x: tile.In['f31']", "kernel/annotation", "f31"),
        ("x: tile.In[1000000000]", "kernel/annotation", "1000000000"),
        ("x: tile.In[-1]", "kernel/annotation", "-1"),
        ("x: tile.In = 3", "kernel/parameters", "default"),
        ("n: tile.Const[int] = 2.5", "kernel/parameters", "declared Const[int], and its default is 2.5"),
        ("n: tile.Const[str] = 3", "kernel/parameters", "declared Const[str], and its default is 3"),
        ("*x: tile.In", "kernel/parameters", "*x"),
        ("**x: tile.In", "kernel/parameters", "*x"),
        ("stream: tile.In", "kernel/parameters", "stream"),
    ],
)
def test_parameters_that_are_refused(parameters: str, code: str, word: str) -> None:
    with pytest.raises(CompileError) as caught:
        kernel("pass", parameters)
    assert caught.value.code == code
    assert word in str(caught.value)
    assert caught.value.location is not None


@pytest.mark.parametrize(
    "hints",
    [
        "num_warps=3",
        "num_warps=0",
        "num_stages=-1",
        "num_warps=True",
        "num_warps='4'",
        "num_warps=10**5000",
        "fma='yes'",
        "fast_math=3",
        "fma=None",
        "fast_math=1",
    ],
)
def test_hints_that_are_refused(hints: str) -> None:
    with pytest.raises(CompileError) as caught:
        kernel("pass", hints=f"({hints})")
    assert caught.value.code == "kernel/hint"
    name = hints.partition("=")[0]
    allowed = {"num_warps": "a power of two up to 32", "num_stages": "from 1 to 16"}.get(name, "True or False")
    assert caught.value.message.startswith(f"{name} is ") and allowed in caught.value.message
    assert f"@tile.kernel({hints})" in str(caught.value)


@pytest.mark.parametrize("hint", ["fma='yes'", "fast_math=3"])
def test_hints_of_threads_that_are_refused(hint: str) -> None:
    with pytest.raises(CompileError) as caught:
        simt_kernel("pass", contract=f"block=32, {hint}")
    assert caught.value.code == "kernel/hint" and "True or False" in caught.value.message
    assert caught.value.location is not None


@pytest.mark.parametrize(
    "contract", ["block=0", "block=10**5000", "shared_bytes=10**5000", "min_arch=80", "grid_rank=4"]
)
def test_a_wrong_contract_has_a_place(contract: str) -> None:
    with pytest.raises(CompileError) as caught:
        simt_kernel("pass", contract=contract)
    assert caught.value.code == "kernel/contract" and f"@simt.kernel({contract})" in str(caught.value)


@pytest.mark.parametrize("annotation", ["tile.In['f32', -1]", "tile.In[2, 'f32']", "tile.In['f31']", "simt.Slice[33]"])
def test_an_annotation_is_refused_where_it_stands(annotation: str) -> None:
    with pytest.raises(CompileError) as caught:
        module(f"KIND = {annotation}")
    assert caught.value.code == "kernel/annotation" and f"KIND = {annotation}" in str(caught.value)
    assert annotation in caught.value.message
    with pytest.raises(CompileError) as caught:
        kernel("pass", f"x: tile.In, y: {annotation}")
    assert caught.value.code == "kernel/annotation" and annotation in caught.value.message
    place = caught.value.location
    assert place is not None and place.source is not None and place.source[place.column - 1 :].startswith("y: ")


def test_what_cannot_be_a_kernel() -> None:
    for thing in ("int", "lambda x: x", "3", "k"):
        with pytest.raises(CompileError) as caught:
            module(f"@tile.kernel\ndef k(n: int): pass\ntile.kernel({thing})")
        assert caught.value.code == "kernel/function"
        assert f"tile.kernel({thing})" in str(caught.value)
    with pytest.raises(CompileError) as caught:
        module("@simt.kernel(block=32)\nclass K: pass")
    assert "not of a type" in caught.value.message and "@simt.kernel(block=32)" in str(caught.value)
    with pytest.raises(CompileError) as caught:
        tile.kernel(3)  # type: ignore[call-overload]
    assert "not of an int" in caught.value.message
    with pytest.raises(CompileError) as caught:
        module("@tile.kernel\nasync def k(n: int): pass")
    assert caught.value.code == "unsupported/async"


def test_a_kernel_without_source() -> None:
    names: dict[str, object] = {"tile": tile}
    with pytest.raises(CompileError) as caught:
        exec("@tile.kernel\ndef k(n: int): pass", names)
    assert caught.value.code == "source/missing"


def test_functions_outside_kernels() -> None:
    for call in (lambda: tile.load(None, 0, 1), lambda: tile.exp(1.0), lambda: tile.bid(0), lambda: tile.zeros(4)):
        with pytest.raises(CompileError) as caught:
            call()
        assert caught.value.code == "kernel/outside"
    tile.static_assert(True)
    assert tile.cdiv(7, 2) == 4
    for cdiv in (tile.cdiv, tileopt.cdiv):
        with pytest.raises(ZeroDivisionError, match="cdiv"):
            cdiv(7, 0)


def test_a_kernel_needs_a_grid() -> None:
    with pytest.raises(LaunchError) as caught:
        kernel("pass", "n: int")(1)
    assert caught.value.code == "launch/no-grid"


def test_a_signature_that_does_not_fit() -> None:
    made = kernel("pass", "x: tile.In['f32', 2], n: int")
    for given in (
        {"x": ArraySpec("f16", 2), "n": ScalarSpec("i64")},
        {"x": ArraySpec("f32", 1), "n": ScalarSpec("i64")},
    ):
        with pytest.raises(KernelTypeError) as caught:
            made.build(given)
        assert caught.value.code == "kernel/argument-type" and caught.value.location is not None
    for given in ({"x": ArraySpec("f32", 2)}, {"x": ScalarSpec("f32"), "n": ScalarSpec("i64")}):
        with pytest.raises(KernelTypeError) as caught:
            made.build(given)
        assert caught.value.code == "kernel/signature"


def test_ir_from_types_as_text() -> None:
    made = kernel("tile.store(out, tile.bid(0), tile.zeros(B, tile.bf16))", "out: tile.Out, B: tile.Const[int] = 8")
    text = made.ir(out="bf16[128]", B=16)
    assert "tensor<16xbf16>" in text and "shape = [16]" in text
    for given, words in {
        "bf17[?]": "no element type 'bf17'",
        "bf16[?": "a ']' is missing",
        "bf16?]": "a '[' is missing",
        "bf16[[?]": "a ']' is missing",
        "bf16[99999999999999999999]": "2^63",
        f"bf16[{'9' * 5000}]": "2^63",
        "bf16[?:99999999999999999999]": "2^63",
        f"bf16[{2**62}]": "2^63",
    }.items():
        with pytest.raises(TileoptError) as caught:
            made.ir(out=given)
        assert words in caught.value.message and len(caught.value.message) < 250


def test_columns_count_characters_and_tabs_stay() -> None:
    text = 'if True:\n\t@tile.kernel\n\tdef k(n: int):\n\t\ts = "αβγ"; a = nonsense\n'
    with pytest.raises(CompileError) as caught:
        build(module(text)["k"])
    place = caught.value.location
    assert place is not None and place.source is not None
    assert place.source[place.column - 1 :] == "nonsense"


def test_a_kernel_keeps_its_names() -> None:
    made = kernel('"""What it does."""', "n: int")
    assert (made.__name__, made.name, made.__doc__) == ("k", "k", "What it does.")
    assert "k(n)" in repr(made)
    assert signature(made) == {"n": ScalarSpec("i64")}


def test_every_function_of_the_track_has_words() -> None:
    for name in tile.__all__:
        assert getattr(getattr(tile, name), "__doc__", None), name
    assert tileopt.tile is tile
