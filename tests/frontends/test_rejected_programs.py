"""Every program that is refused: with which code, at which line, and that the message says what is needed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from python_kernels import build, kernel

from tileopt import TileoptError

PARAMETERS = "x: tile.In, out: tile.Out, n: int"


@dataclass(frozen=True)
class Rejected:
    """A body, and what its error has: the code, the line where the marker `#!` stands, and words of its text."""

    body: str
    code: str
    words: tuple[str, ...] = ()
    parameters: str = PARAMETERS
    before: str = ""
    given: tuple[tuple[str, object], ...] = ()


R = Rejected
MATRIX = (("x", ("f32", 2)),)
PROGRAMS = {
    "separate indices": R(
        "a = tile.load(x, n, n)  #!", "type/index", ("one tuple", "tile.load(x, (i, j), (M, N))"), given=MATRIX
    ),
    "one index for a matrix": R("a = tile.load(x, n, 16)  #!", "type/rank", ("1 index for 'x'",), given=MATRIX),
    "tiles of indices": R("a = tile.load(x, tile.arange(16), 16)  #!", "type/index", ("load_at()", "simt.kernel")),
    "tile beyond 64 bits": R("a = tile.load(x, 2**61, 8)  #!", "type/constant-range", ("beyond 64 bits",)),
    "no dot": R("a = tile.dot(x, x)  #!", "name/attribute", ("'tile' has no 'dot'", "tile.mma(a, b)")),
    "f-string of a value": R("print(f'n={n}')  #!", "unsupported/f-string", ("tile.printf(",)),
    "missing shape": R("a = tile.load(x, n)  #!", "type/arguments", ("shape",)),
    "too many arguments": R(
        "a = tile.load(x, n, n, 64, 64)  #!", "type/arguments", ("the index is one tuple",), given=MATRIX
    ),
    "unknown argument": R("a = tile.load(x, n, 64, pad=0)  #!", "type/arguments", ("pad", "padding=0")),
    "wrong rank of index": R("a = tile.load(x, (n, n), (4, 4))  #!", "type/rank", ("2 indices", "rank 1")),
    "wrong rank of shape": R("a = tile.load(x, (n,), (4, 4))  #!", "type/rank", ("(4, 4)",)),
    "run-time shape": R("a = tile.load(x, (0,), (n,))  #!", "type/constant", ("tile.Const[int]",)),
    "float index": R("a = tile.load(x, 1.5, 4)  #!", "type/index", ("integer scalar",)),
    "empty tile": R("a = tile.zeros((4, 0))  #!", "type/extent", ("positive",)),
    "huge tile": R("a = tile.zeros((2048, 1024))  #!", "limits/tile-size", ("2097152", "1048576")),
    "unknown padding": R('a = tile.load(x, 0, 4, padding="one")  #!', "type/padding", ("neg_zero",)),
    "padding that the type lacks": R(
        'a = tile.load(x, 0, 4, padding="nan")  #!', "type/padding", ("i32",), given=(("x", ("i32", 1)),)
    ),
    "load of a tile": R("a = tile.load(tile.zeros(4), 0, 4)  #!", "type/operand", ("array",)),
    "array without load": R("a = x + 1  #!", "type/operand", ("tile.load(x",)),
    "store to an input": R("tile.store(x, 0, 1.0)  #!", "ownership/read-only", ("tile.InOut",)),
    "store of another type": R("tile.store(out, 0, tile.zeros(4, tile.f16))  #!", "type/store", ("astype(out.dtype)",)),
    "store of another rank": R("tile.store(out, 0, tile.zeros((4, 4)))  #!", "type/rank", ("(4, 4)",)),
    "indexing an array": R("a = x[n]  #!", "unsupported/index", ("tile.load(x",)),
    "assigning an element": R("out[n] = 1.0  #!", "unsupported/assignment", ("tile.store(out",)),
    "assigning an element of a tile": R(
        """
        a = tile.zeros(4)
        a[0] = 1.0  #!
        """,
        "unsupported/assignment",
        ("where()",),
    ),
    "assigning an attribute": R("x.shape = 1  #!", "unsupported/assignment", ("shape",)),
    "a method of NumPy's on an array": R("a = x.sum()  #!", "name/attribute", ("tile.load(x",)),
    "misspelt method": R("a = tile.zeros(4).summ()  #!", "name/attribute", ("did you mean 'sum'",)),
    "another compiler's method": R("a = tile.zeros(4).to(tile.f16)  #!", "name/attribute", ("astype",)),
    "function as method": R("a = tile.zeros(4).exp()  #!", "name/attribute", ("tile.exp(x)",)),
    "misspelt function": R("a = tile.maximun(1, 2)  #!", "name/attribute", ("did you mean 'maximum'",)),
    "unknown name": R("a = blok  #!", "name/unknown", ("did you mean 'block'",), before="block = 4"),
    "used before it is set": R(
        """
        b = a  #!
        a = 1
        """,
        "name/unset",
        ("'a'",),
    ),
    "may be unset after an if": R(
        """
        if n > 0:
            a = 1
        b = a + n  #!
        """,
        "name/maybe-unset",
        ("'a'", "when the condition does not hold"),
    ),
    "may be unset after a loop": R(
        """
        for i in range(n):
            a = i
        b = a + n  #!
        """,
        "name/maybe-unset",
        ("'a'", "before the loop"),
    ),
    "unset in the first iteration": R(
        """
        for i in range(4):
            if i > n:
                b = a  #!
            a = i
        """,
        "name/maybe-unset",
        ("first iteration",),
    ),
    "type changes across an if": R(
        """
        a = tile.zeros(4)
        if n > 0:
            a = tile.zeros(4, tile.f16)
        b = a + 1  #!
        """,
        "control/type-change",
        ("f16 tile of (4,)", "f32 tile of (4,)"),
    ),
    "shape changes across an if": R(
        """
        if n > 0:
            a = tile.zeros(4)
        else:
            a = tile.zeros(8)
        tile.store(out, 0, a)  #!
        """,
        "control/type-change",
        ("(4,)", "(8,)"),
    ),
    "type changes in a loop": R(
        """
        a = tile.zeros(4)
        for i in range(n):
            a = a.astype(tile.f16)  #!
        tile.store(out, 0, a)
        """,
        "control/type-change",
        ("f32 tile of (4,)", "f16 tile of (4,)"),
    ),
    "shape changes in a loop": R(
        """
        a = tile.zeros(1)
        for i in range(n):
            a = a + tile.load(x, i, 4)  #!
        tile.store(out, 0, a)
        """,
        "control/type-change",
        ("(1,)", "(4,)"),
    ),
    "None becomes a tile in a loop": R(
        """
        a = None
        for i in range(n):
            a = tile.load(x, i, 4)  #!
        tile.store(out, 0, a)
        """,
        "control/type-change",
        ("the constant None",),
    ),
    "string chosen at run time": R(
        """
        mode = "a" if n > 0 else "b"  #!
        """,
        "control/type-change",
        ("'a'", "'b'"),
    ),
    "two types in one expression": R(
        "a = tile.zeros(4) if n > 0 else tile.zeros(8)  #!", "control/type-change", ("(4,)", "(8,)")
    ),
    "condition on a tile": R("if tile.load(x, 0, 4) > 0:  #!\n    pass", "type/condition", (".any()",)),
    "and of tiles": R(
        """
        a = tile.load(x, 0, 4)
        b = a > 0 and a < 1  #!
        """,
        "type/condition",
        ("&",),
    ),
    "chain of tiles": R(
        """
        a = tile.load(x, 0, 4)
        b = 0 < a < 1  #!
        """,
        "type/condition",
        ("(a < b) & (b < c)",),
    ),
    "shapes that do not broadcast": R("a = tile.zeros(4) + tile.zeros(8)  #!", "type/shape", ("(4,)", "(8,)", "None")),
    "impossible broadcast": R("a = tile.zeros(4).broadcast_to((4, 3))  #!", "type/shape", ("(4, 3)",)),
    "impossible reshape": R("a = tile.zeros(6).reshape(4, 2)  #!", "type/shape", ("6 elements",)),
    "axis out of range": R("a = tile.sum(tile.zeros((4, 4)), axis=2)  #!", "type/axis", ("axis 2",)),
    "no permutation": R("a = tile.transpose(tile.zeros((4, 4)), (0, 0))  #!", "type/axis", ("(0, 0)",)),
    "bits of floats": R("a = tile.zeros(4) & 1  #!", "type/operand", ("f32",)),
    "signed with unsigned 64": R(
        "a = tile.zeros(4, tile.u64) + tile.zeros(4, tile.i64)  #!", "type/no-common", ("u64",)
    ),
    "two 8-bit floats": R(
        "a = tile.zeros(4, tile.f8e4m3fn) + tile.zeros(4, tile.f8e5m2)  #!", "type/no-common", ("f8e5m2",)
    ),
    "constant out of range": R("a = tile.zeros(4, tile.i8) + 300  #!", "type/constant-range", ("300", "127")),
    "negative constant for unsigned": R("a = tile.full(4, -1, tile.u8)  #!", "type/constant-range", ("-1", "u8")),
    "float too large for f16": R("a = tile.zeros(4, tile.f16) * 1e6  #!", "type/constant-range", ("f16",)),
    "constant division by zero": R("a = n // 0  #!", "type/division-by-zero", ("0",)),
    "constant modulo zero": R("a = 3 % 0  #!", "type/division-by-zero", ("0",)),
    "integer power at run time": R("a = n ** n  #!", "type/operand", ("constant exponent",)),
    "negative shift": R("a = n << -1  #!", "type/shift", ("-1",)),
    "product of unequal types": R(
        "a = tile.mma(tile.zeros((4, 4), tile.f16), tile.zeros((4, 4), tile.bf16))  #!",
        "type/mma-operand",
        ("not f16 and bf16", "for example b.astype(tile.f16)"),
    ),
    "product of i32": R(
        "a = tile.mma(tile.zeros((4, 4), tile.i32), tile.zeros((4, 4), tile.i32))  #!", "type/mma-operand"
    ),
    "precision of another type": R(
        "a = tile.mma(tile.zeros((4, 4), tile.f16), tile.zeros((4, 4), tile.f16), precision='tf32')  #!",
        "type/mma-precision",
        ("f16", "f32"),
    ),
    "precision that is none": R(
        "a = tile.mma(tile.zeros((4, 4)), tile.zeros((4, 4)), precision='f8')  #!", "type/mma-precision", ("f8",)
    ),
    "precision that is no name": R(
        "a = tile.mma(tile.zeros((4, 4)), tile.zeros((4, 4)), None, n)  #!", "type/mma-precision", ("name",)
    ),
    "inner extents differ": R("a = tile.zeros((4, 8)) @ tile.zeros((4, 8))  #!", "type/shape", ("inner",)),
    "product of vectors": R("a = tile.zeros(4) @ tile.zeros(4)  #!", "type/shape", ("rank 2",)),
    "f16 accumulator": R(
        """
        h = tile.zeros((4, 4), tile.f16)
        a = tile.mma(h, h, h)  #!
        """,
        "type/mma-accumulator",
        ("f32",),
    ),
    "accumulator of another shape": R(
        "a = tile.mma(tile.zeros((4, 4)), tile.zeros((4, 4)), tile.zeros((4, 8)))  #!", "type/shape", ("(4, 8)",)
    ),
    "choice by numbers": R("a = tile.where(tile.zeros(4), 1, 2)  #!", "type/condition", ("x != 0",)),
    "grid axis": R("a = tile.bid(3)  #!", "type/axis", ("3",)),
    "run-time grid axis": R("a = tile.bid(n)  #!", "type/constant", ("grid axis",)),
    "array axis": R("a = x.shape[1]  #!", "type/axis", ("axis 1",)),
    "else after for": R(
        """
        for i in range(n):
            pass
        else:
            pass  #!
        """,
        "unsupported/for-else",
        ("'else' after 'for'",),
    ),
    "else after while": R(
        """
        i = 0
        while i < n:
            i += 1
        else:
            pass  #!
        """,
        "unsupported/while-else",
        ("'else' after 'while'",),
    ),
    "endless loop": R("while True:  #!\n    a = n", "control/endless-loop", ("break",)),
    "loop over an array": R("for i in x:  #!\n    pass", "unsupported/iteration", ("range(len(x))",)),
    "loop over a number": R("for i in n:  #!\n    pass", "unsupported/iteration", ("range(n)",)),
    "float range": R("for i in range(1.5):  #!\n    pass", "type/operand", ("integer",)),
    "step zero": R("for i in range(0, 4, 0):  #!\n    pass", "type/operand", ("step",)),
    "copies that multiply": R(
        """
        for i in tile.static_range(1000):
            for j in tile.static_range(1000):  #!
                pass
        """,
        "limits/unroll",
        ("65536",),
    ),
    "huge tuple": R("a = (1, 2) * 10**9  #!", "limits/sequence", ("2000000000",)),
    "huge range": R("a = tuple(range(10**9))  #!", "limits/sequence", ("1000000000",)),
    "run-time static_range": R("for i in tile.static_range(n):  #!\n    pass", "type/constant", ("static_range",)),
    "too many copies": R("for i in tile.static_range(100000):  #!\n    pass", "limits/unroll", ("4096",)),
    "returning a value": R("return 1  #!", "kernel/returns", ("store",)),
    "recursion": R(
        "a = f(n)",
        "unsupported/recursion",
        ("'f' calls itself", "in the call of 'f'"),
        before="def f(n):\n    return f(n - 1)  #!\n",
    ),
    "mutual recursion": R(
        "a = f(n)",
        "unsupported/recursion",
        ("calls itself",),
        before="def f(n):\n    return g(n)\ndef g(n):\n    return f(n)  #!\n",
    ),
    "helper that may not return": R(
        "a = f(n)",
        "control/missing-return",
        ("'f'",),
        before="def f(n):  #!\n    if n > 0:\n        return n\n",
    ),
    "helper with a wrong argument": R("a = f(n, 2)  #!", "type/arguments", ("f()",), before="def f(n): return n"),
    "helper without an argument": R("a = f()  #!", "type/arguments", ("'n'",), before="def f(n): return n"),
    "helper with an unknown keyword": R("a = f(m=n)  #!", "type/arguments", ("'m'",), before="def f(n): return n"),
    "error in a helper": R(
        "a = f(x)",
        "type/operand",
        ("in the call of 'f'",),
        before="def f(a):\n    return a * 2  #!\n",
    ),
    "sum of Python's": R("a = sum(tile.zeros(4))  #!", "unsupported/builtin", ("tile.sum",)),
    "max of one tile": R("a = max(tile.zeros(4))  #!", "type/operand", ("tile.max",)),
    "open": R('a = open("f")  #!', "unsupported/builtin", ("open",)),
    "math on a value": R("a = math.exp(n)  #!", "unsupported/call", ("tile.exp",)),
    "calling a number": R("a = n(1)  #!", "unsupported/call", ("Value",)),
    "list comprehension": R("a = [i for i in range(4)]  #!", "unsupported/expression", ("list comprehension",)),
    "generator": R("a = tuple(i for i in range(4))  #!", "unsupported/expression", ("generator",)),
    "dict": R("a = {1: 2}  #!", "unsupported/expression", ("dict",)),
    "try": R("try:  #!\n    pass\nfinally:\n    pass", "unsupported/statement", ("try",)),
    "raise": R("raise ValueError  #!", "unsupported/statement", ("raise",)),
    "with": R("with n:  #!\n    pass", "unsupported/statement", ("with",)),
    "class": R("class A:  #!\n    pass", "unsupported/statement", ("class",)),
    "import": R("import os  #!", "unsupported/statement", ("outside the kernel",)),
    "global": R("global block  #!\nblock = 1", "unsupported/statement", ("global",), before="block = 0"),
    "del": R("a = 1\ndel a  #!", "unsupported/statement", ("del",)),
    "match": R("match n:  #!\n    case _:\n        pass", "unsupported/statement", ("if and elif",)),
    "async for": R("a = 1j  #!", "unsupported/constant", ("1j",)),
    "starred keywords": R("a = f(**n)  #!", "unsupported/double-star", ("**",), before="def f(n): return n"),
    "decorated inner function": R(
        """
        @f
        def g(): pass  #!
        """,
        "unsupported/decorator",
        ("'g'",),
        before="def f(n): return n",
    ),
    "captured list": R("a = table[0]  #!", "kernel/captured-value", ("'table'", "list"), before="table = [1, 2]"),
    "captured object": R(
        "a = helper.size  #!",
        "kernel/captured-value",
        ("Helper",),
        before="class Helper:\n    pass\nhelper = Helper()",
    ),
    "a kernel in a kernel": R(
        "k2(x)  #!", "unsupported/call", ("kernel",), before="@tile.kernel\ndef k2(x: tile.In): pass"
    ),
    "static assertion": R('tile.static_assert(4 > 5, "too small")  #!', "kernel/static-assert", ("too small",)),
    "static assertion at run time": R("tile.static_assert(n > 0)  #!", "type/constant", ("compile-time",)),
    "assertion of a tile": R("assert tile.load(x, 0, 4) > 0.0  #!", "type/condition", (".all()",)),
    "message of run time": R("assert n > 0, n  #!", "type/constant", ("a string",)),
    "assertion known not to hold": R("assert 64 < 32, 'too small'  #!", "kernel/assertion", ("too small",)),
    "print of a tile": R("print(tile.load(x, 0, 4))  #!", "type/format", ("tile.item()",)),
    "format of a tile": R("tile.printf('%f', tile.load(x, 0, 4))  #!", "type/format", ("f32 tile of (4,)",)),
    "print of an array": R("print(x)  #!", "type/operand", ("tile.load(x",)),
    "print to a file": R("print(n, file=n)  #!", "type/arguments", ("'file'",)),
    "unpacking too few": R("a, b = (1, 2, 3)  #!", "type/unpack", ("3 values for 2",)),
    "unpacking a tile": R("a, b = tile.zeros(2)  #!", "type/unpack", ("f32 tile",)),
    "tuple index": R("a = (1, 2)[2]  #!", "type/index", ("2",)),
    "run-time tuple index": R("a = (1, 2)[n]  #!", "type/constant", ("index of a tuple",)),
    "slice of a tile": R("a = tile.zeros(8)[0:4]  #!", "unsupported/index", ("None",)),
    "run-time f-string": R('a = f"{n}"  #!', "unsupported/f-string", ("i64 scalar",)),
    "string with a number": R('a = "x" + n  #!', "type/operand", ("'x'",)),
    "wrong dtype": R("a = tile.zeros(4, 'f31')  #!", "type/dtype", ("tile.f32",)),
    "dtype called badly": R("a = tile.f32(1, 2)  #!", "type/arguments", ("one value",)),
    "item of many": R("a = tile.zeros(4).item()  #!", "type/shape", ("reduce",)),
    "large compile-time integer": R("a = 10 ** 10000000  #!", "limits/integer", ("too large",)),
    "cdiv by zero": R("a = tile.cdiv(n, 0)  #!", "type/division-by-zero", ("cdiv() by",)),
    "one index too few": R("a = tile.load(x, (0,), (4, 4))  #!", "type/rank", ("1 index for 'x'",), given=MATRIX),
    "attribute of a class": R(
        "a = THING()",
        "name/attribute",
        ("a kernel cannot read 'K'", "frozen dataclasses"),
        before="class Thing:\n    K = (1, 2)\n    def scale(self):\n        return self.K  #!\nTHING = Thing().scale",
    ),
    "private method of a record": R(
        "a = RECORD.make  #!",
        "name/attribute",
        ("a kernel cannot read 'make'",),
        before="import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Record:\n    a: int\n"
        "    @classmethod\n    def make(cls): pass\nRECORD = Record(1)",
    ),
    "one argument": R("a = len(x, n)  #!", "type/arguments", ("takes 1 argument, and 2 are given",)),
    "one argument of a helper": R(
        "a = (lambda q: q)(n, n)  #!", "type/arguments", ("takes 1 positional argument, and 2 are given",)
    ),
    "no argument": R("a = len()  #!", "type/arguments", ("takes 1 argument, and 0 are given",)),
    "product of packed integers and floats": R(
        "a = tile.mma(tile.unpack(tile.zeros((4, 2), tile.u8), tile.i4), tile.zeros((4, 4), tile.f16))  #!",
        "type/mma-operand",
        ("not i4 and f16", "a.astype(tile.f16)"),
    ),
    "product of floats and integers": R(
        "a = tile.zeros((4, 4), tile.bf16) @ tile.zeros((4, 4), tile.i8)  #!",
        "type/mma-operand",
        ("not bf16 and i8", "b.astype(tile.bf16)"),
    ),
    "product of a wide float and a narrow one": R(
        "a = tile.zeros((4, 4), tile.f32) @ tile.zeros((4, 4), tile.f16)  #!",
        "type/mma-operand",
        ("b.astype(tile.f32)",),
    ),
    "product of signed and unsigned": R(
        "a = tile.zeros((4, 4), tile.u8) @ tile.zeros((4, 4), tile.i8)  #!",
        "type/mma-operand",
        ("not u8 and i8", "cast both", ".astype(tile.f16)"),
    ),
    **{
        f"packed floats in {what}": R(
            f"a = {call.format('tile.unpack(tile.zeros(8, tile.u8), tile.f4e2m1fn)')}  #!",
            "type/packed",
            (f"{what} of f4e2m1fn values", "wider type first"),
        )
        for what, call in {
            "exp()": "tile.exp({})",
            "floor()": "tile.floor({})",
            "abs()": "abs({})",
            "sigmoid()": "tile.sigmoid({})",
            "'-'": "-{}",
            "a reduction by max": "tile.max({})",
            "a reduction by sum": "tile.sum({}, axis=0)",
        }.items()
    },
    "an array as cache hint": R(
        "a = tile.load(x, 0, 8, cache=x)  #!", "type/arguments", ("cache is 'streaming'", "not the array 'x'")
    ),
    "a number as cache hint": R("tile.store(out, 0, 1.0, cache=3)  #!", "type/arguments", ("not the constant 3",)),
    "one value": R("a, b = (1,)  #!", "type/unpack", ("1 value for 2 names",)),
    "one element": R("a = tile.zeros(1).reshape(3)  #!", "type/shape", ("has 1 element and",)),
    "large product": R("a = 10**2000\nb = a * a  #!", "limits/integer", ("4001 digits",)),
    "large shift": R("a = 1 << 20000  #!", "limits/integer", ("1 << 20000",)),
    "large factor": R("a = tile.zeros(4) * 10**5000  #!", "limits/integer", ("10 ** 5000",)),
    "large extent": R("a = tile.zeros(10**5000)  #!", "limits/integer", ("10 ** 5000",)),
    "large bound": R("for i in range(10**5000):  #!\n    pass", "limits/integer", ("10 ** 5000",)),
    "large index": R("a = (1, 2)[10**5000]  #!", "limits/integer", ("10 ** 5000",)),
    "large global": R("a = tile.zeros(4) + BIG  #!", "limits/integer", ("5001 digits",), before="BIG = 10**5000"),
    "large factorial": R("a = math.factorial(100000)  #!", "limits/integer", ("math.factorial",)),
    "long integer": R("a = tile.zeros(4) + 10**100  #!", "type/constant-range", ("000 (101 digits)",)),
    "round of infinity": R("a = round(1e400)  #!", "type/operand", ("round()", "infinity")),
    "round of NaN": R("a = round(math.nan)  #!", "type/operand", ("round()", "NaN")),
    "large float": R("a = 1e200**2  #!", "limits/float", ("1e+200 ** 2 is too large for a float",)),
    "integer beside a float": R("a = 10**400 * 1.5  #!", "limits/float", ("401 digits",)),
    "huge static range": R("for i in tile.static_range(10**12):  #!\n    pass", "limits/unroll", ("1000000000000",)),
    "static range beyond 64 bits": R("for i in tile.static_range(10**30):  #!\n    pass", "limits/unroll", ("4096",)),
    "range beyond 64 bits": R("a = tuple(range(10**30))  #!", "limits/sequence", ("tuple()",)),
    "huge string": R("a = len('a' * 10**10)  #!", "limits/sequence", ("10000000000",)),
    "doubled tuple": R(
        "a = (0,)\nfor i in tile.static_range(40):\n    a = a + a  #!", "limits/sequence", ("131072 elements",)
    ),
    "wide f-string": R('a = f"{1:>1000000000}"  #!', "limits/sequence", ("1000000000",)),
    "dtype compared with a number": R("a = x.dtype == 3  #!", "type/dtype", ("the constant 3", "the type f32")),
    "dtype compared with no dtype": R("a = 'float33' != x.dtype  #!", "type/dtype", ("'float33'", "the type f32")),
    "dtype among others": R("a = x.dtype in ('f32', None)  #!", "type/dtype", ("None",)),
    "dtype is a name": R("a = x.dtype is 'f32'  #!", "type/operand", ("compare with ==",)),
    "is on values": R("a = n is 1  #!", "type/operand", ("==",)),
    "shape of a static choice": R("a = tile.reshape(tile.zeros(4), (n, 2))  #!", "type/constant", ("compile-time",)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rejected(name: str) -> None:
    program = PROGRAMS[name]
    with pytest.raises(TileoptError) as caught:
        build(kernel(program.body, program.parameters, program.before), **dict(program.given))
    error = caught.value
    text = str(error)
    assert error.code == program.code, text
    assert error.location is not None, text
    assert error.location.source is not None and "#!" in error.location.source, text
    snippet = text.splitlines()[1:3]
    assert "#!" in snippet[0] and snippet[1].strip() == "^", text
    for word in program.words:
        assert word in text, text


def test_nested_too_deeply() -> None:
    with pytest.raises(TileoptError) as caught:
        build(kernel(f"a = {' + '.join(['n'] * 900)}"))
    assert caught.value.code == "limits/depth" and caught.value.location is not None


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 50
