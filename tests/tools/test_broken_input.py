"""Input that no one would write, and that people feed to tools all the same: each gets a clean error, at once."""

from __future__ import annotations

import sys

import pytest
from command import tileopt

BROKEN = {
    "no op": (b"}", "parse/syntax"),
    "nul": (b"\0", "parse/syntax"),
    "not utf-8": (b"func.func @f() {\n \xff\n}", "parse/encoding"),
    "an ELF file": (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0", "parse/syntax"),
    "truncated op": (b"func.func @f() {", "parse/"),
    "truncated string": (b'"test.op', "parse/syntax"),
    "a quote that does not close": (b'"test.op"() {a = "' + b"a" * 500 + b"} : () -> ()\n", "parse/syntax"),
    "unknown op": (b"nothing", "parse/unknown-op"),
    "unknown type": (b'"test.op"() : () -> !nothing.type', "parse/"),
    "undefined value": (b'"test.op"(%0) : (i32) -> ()', "parse/undefined-value"),
    "value defined twice": (b'%0 = "test.op"() : () -> i32\n%0 = "test.op"() : () -> i32', "parse/syntax"),
    "deep regions": (b'"test.op"() ({' * 3000, "limits/depth"),
    "deep types": (b'"test.op"() : () -> ' + b"tuple<" * 3000, "limits/depth"),
    "deep attributes": (b'"test.op"() {a = ' + b"[" * 3000, "limits/depth"),
    "deep parentheses": (b"affine_map<(d0) -> (" + b"(" * 3000, "parse/"),
    "long decimal": (b"%0 = arith.constant " + b"9" * 5000 + b" : i32", "parse/"),
    "long hexadecimal": (b"%0 = arith.constant 0x" + b"F" * 5000 + b" : i32", "parse/"),
    "wide literal": (b"%0 = arith.constant 999999999999999 : i32", "parse/invalid"),
    "wide integer type": (b"%0 = arith.constant 1 : i999999999", "parse/"),
    "widest integer type": (b"%0 = arith.constant 1 : i" + b"9" * 5000, "parse/"),
    "large splat": (b"%0 = arith.constant dense<1> : tensor<99999999x99xi32>", "parse/"),
    "large hexadecimal splat": (b'%0 = arith.constant dense<"0x01000000"> : tensor<9999999999xi32>', "parse/"),
    "superscript digit": ('"test.op"() {a = ²} : () -> ()'.encode(), "parse/"),
    "resources of others": (b"{-# external_resources: {} #-}", "parse/"),
    "many results": (b'%0:99999999 = "test.op"() : () -> ()', "parse/syntax"),
    "constant without value": (b'%0 = "arith.constant"() : () -> i32', "verify/arith.constant"),
    "module without region": (b'"builtin.module"() : () -> ()', "verify/builtin.module"),
    "function without type": (b'"func.func"() ({}) : () -> ()', "verify/func.func"),
    "loop without anything": (b'"scf.for"() ({}) : () -> ()', "verify/scf.for"),
    "empty block": (b"func.func @f() { ^a: }", "verify/func.func"),
    "no terminator": (b'func.func @f() { "test.op"() : () -> () }', "verify/func.func"),
    "successor elsewhere": (b'"test.op"() ({ ^a: "test.termop"() [^b] : () -> () }) : () -> ()', "parse/syntax"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_input_is_reported(name: str) -> None:
    text, code = BROKEN[name]
    done = tileopt(stdin=text)
    assert done.code == 1
    assert f"error[{code}" in done.err
    assert "Traceback" not in done.err
    assert done.err.startswith("<stdin>:") or code.startswith("limits/")
    assert all(len(line) < 500 for line in done.err.splitlines())


def test_a_byte_that_is_no_text_has_its_place() -> None:
    assert tileopt(stdin=b"func.func @f() {\n \xff\n}").err.startswith("<stdin>:2:2: error[parse/encoding]")


@pytest.mark.parametrize("text", ["", " \n\t\n", "// a comment", "#alias = i32\n", "\ufeff"])
def test_a_text_without_ops_is_an_empty_module(text: str) -> None:
    done = tileopt(stdin=text)
    assert (done.code, done.out.split()) == (0, ["builtin.module", "{", "}"]), done.err


def test_each_part_of_a_file_may_be_empty() -> None:
    done = tileopt("--split-input-file", stdin="// -----\nfunc.func @f() {\n  func.return\n}\n// -----\n")
    assert (done.code, done.out.count("builtin.module")) == (0, 3), done.err


@pytest.mark.parametrize("text", ["\0", "func.func @f() {\n \0 \x1b[31m}", 'x.y() {a = "\x1b[2J\0"}', "\x7f\x9b1m"])
def test_the_terminal_gets_no_control_characters(text: str) -> None:
    done = tileopt(stdin=text)
    assert done.code == 1
    assert done.err.replace("\n", "").isprintable(), repr(done.err)


def test_a_symbol_defined_again_is_reported_where_it_is() -> None:
    text = "func.func @f() {\n  func.return\n}\n\n  func.func @f() {\n  func.return\n}\n"
    first, *rest = tileopt(stdin=text).err.splitlines()
    assert first == "<stdin>:5:3: error[verify/builtin.module]: redefinition of symbol 'f'"
    assert "<stdin>:1:1: note: the first definition is here" in rest
    twice = '"test.op"() {sym_name = "a\\0Ab"} : () -> ()\n' * 2
    said = tileopt(stdin=f"builtin.module {{\n{twice}}}").err
    assert said.startswith(r"<stdin>:3:1: error[verify/builtin.module]: redefinition of symbol 'a\nb'")


def test_byte_order_mark_and_carriage_returns_are_fine() -> None:
    assert tileopt(stdin=b"\xef\xbb\xbffunc.func @f() {\r\n  func.return\r\n}\r\n").code == 0


def test_an_undefined_value_is_reported_where_it_is_used() -> None:
    done = tileopt(stdin='func.func @f() {\n  "test.op"(%lost) : (i32) -> ()\n  func.return\n}\n')
    assert done.err.startswith("<stdin>:2:13: error[parse/undefined-value]: %lost is not defined")


def test_a_misspelt_op_is_recognised() -> None:
    done = tileopt(stdin="%0 = arith.constant 1 : i32\n%1 = arith.constnt 2 : i32\n")
    assert "<stdin>:2:6: error[parse/unknown-op]: unknown op 'arith.constnt'" in done.err
    assert "help: did you mean 'arith.constant'?" in done.err


def test_large_splats_within_the_limit_are_quick_to_read() -> None:
    text = "%0 = arith.constant dense<0.0> : tensor<1024x1024xf32>\n%1 = arith.constant dense<1> : tensor<512x512xi32>"
    done = tileopt(stdin=text)
    assert done.code == 0
    assert "dense<0.000000e+00> : tensor<1024x1024xf32>" in done.out
    assert "dense<1> : tensor<512x512xi32>" in done.out


@pytest.mark.parametrize(
    ("text", "first", "others"),
    [
        (
            "func.func @f() -> i32 {\n  %a = arith.constant 2 : i64\n\n",
            "2:29: error[parse/syntax]: the file ends inside the block that begins at 1:23: a '}' is missing",
            ("<stdin>:1:23: note: the block begins here", "                            ^"),
        ),
        (
            "tile.kernel @f(%x: !tile.view<?xf32, shared>) {\n  tile.return",
            "2:13: error[parse/syntax]: the file ends inside the block that begins at 1:47: a '}' is missing",
            (),
        ),
        (
            'func.func @f() {\n  "test.op"() ({\n    "test.op"() : () -> ()\n  func.return\n}\n',
            "5:1: error[parse/syntax]: the file ends too early: ')' expected",
            ("}", "^"),
        ),
        (
            "func.func @f() {\n  func.return\n}\n}\n",
            "4:1: error[parse/syntax]: this '}' closes no block",
            (),
        ),
        (
            "/* text */\nfunc.func @f() {\n  func.return\n}\n",
            "1:1: error[parse/syntax]: an op is expected here, not '/*'",
            ("help: a comment begins with // and ends with its line",),
        ),
        (
            "func.func @f() {\n  /* text */\n  func.return\n}\n",
            "2:3: error[parse/syntax]: an op, a block ^name: or '}' is expected here, not '/*'",
            ("help: a comment begins with // and ends with its line",),
        ),
        ('"test.op"() : () -> !tile.view<?x?xf99, shared>', "1:36: error[parse/syntax]: 'f99' is no type", ()),
        ("%a = arith.constant 2 : f99", "1:25: error[parse/syntax]: 'f99' is no type", ()),
    ],
)
def test_syntax_errors_say_what_is_missing(text: str, first: str, others: tuple[str, ...]) -> None:
    said = tileopt(stdin=text).err
    assert said.lower().startswith(f"<stdin>:{first}".lower()), said
    assert set(others) <= set(said.splitlines()), said


def test_what_is_nested_too_deeply_says_the_limit() -> None:
    said = tileopt(stdin='"test.op"() ({' * 3000).err
    assert f"for more than the {sys.getrecursionlimit()} nested calls" in said
    assert "help: name inner types" in said
