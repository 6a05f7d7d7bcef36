"""Every elementwise op on every type, for every architecture: LLVM selects it, nothing is undefined, ptxas takes it.

What LLVM cannot select ends the process, so each architecture's programs are compiled in a process of their own.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest
from nvidia_programs import compile_text, kernel_text

from tileopt.backends.nvidia.targets import nvidia_target

FLOATS = ("f16", "bf16", "f32", "f64")
F8 = ("f8E4M3FN", "f8E5M2")
INTS = ("i8", "i16", "i32", "i64")
FLOAT_BINARY = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
INT_BINARY = (
    "addi", "subi", "muli", "andi", "ori", "xori", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi",
    "ceildivui", "minsi", "maxsi", "minui", "maxui", "shli", "shrsi", "shrui",
)  # fmt: skip
FLOAT_UNARY = (
    "absf", "floor", "ceil", "trunc", "round", "roundeven", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
    "erf", "cbrt",
)  # fmt: skip
FLOAT_MORE = ("atan2", "powf", "copysign")
INT_UNARY = ("absi", "ctlz", "cttz", "ctpop")
TWO = "layout = #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>, shape = array<i64: 64>"
ONE = "layout = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>, shape = array<i64: 32>"
PROVED = "bounds = #tile.bounds<proved []>"
# One architecture for each set of conversions, roundings and float arithmetic that NVPTX tells apart.
TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_120a")


class Program:
    """A kernel that loads fragments of `registers` (1 or 2), and stores each result to its own place."""

    def __init__(self, registers: int = 1) -> None:
        self.registers = registers
        self.layout = TWO if registers == 2 else ONE
        self.lines: list[str] = ["%zero = arith.constant 0 : i64"]
        self.arguments: dict[str, str] = {}
        self.count = 0

    def view(self, type_: str, access: str) -> str:
        name = f"%{access[0]}_{type_}"
        self.arguments[name] = f"{name}: !tile.view<?x{type_}, {access}>"
        return name

    def assign(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%r{self.count} = {text}")
        return f"%r{self.count}"

    def load(self, type_: str, at: int = 0) -> str:
        offset = self.assign(f"arith.constant {64 * at} : i64")
        view = self.view(type_, "shared")
        return self.assign(
            f"simt.fragment_load {view}[{offset}] {{{self.layout}, {PROVED}}} : !tile.view<?x{type_}, shared> -> "
            f"vector<{self.registers}x{type_}>"
        )

    def store(self, value: str, type_: str) -> None:
        offset = self.assign(f"arith.constant {64 * self.count} : i64")
        view = self.view(type_, "owned")
        self.lines.append(
            f"simt.fragment_store {value}, {view}[{offset}] {{{self.layout}, {PROVED}}} : "
            f"vector<{self.registers}x{type_}>, !tile.view<?x{type_}, owned>"
        )

    def result(self, text: str, type_: str) -> None:
        self.store(self.assign(text), type_)


def arithmetic() -> Program:
    """All of arith and math but conversions."""
    program = Program()
    for type_ in FLOATS:
        a, b, vector = program.load(type_), program.load(type_, 1), f"vector<1x{type_}>"
        for name in FLOAT_BINARY:
            program.result(f"arith.{name} {a}, {b} : {vector}", type_)
        program.result(f"arith.negf {a} : {vector}", type_)
        for name in FLOAT_UNARY:
            program.result(f"math.{name} {a} : {vector}", type_)
        for name in FLOAT_MORE:
            program.result(f"math.{name} {a}, {b} : {vector}", type_)
        program.result(f"math.fma {a}, {b}, {a} : {vector}", type_)
        for predicate in ("oeq", "olt", "une", "ugt", "uno"):
            program.result(f"arith.cmpf {predicate}, {a}, {b} : {vector}", "i1")
    for type_ in INTS:
        a, b, vector = program.load(type_), program.load(type_, 1), f"vector<1x{type_}>"
        for name in INT_BINARY:
            program.result(f"arith.{name} {a}, {b} : {vector}", type_)
        for name in INT_UNARY:
            program.result(f"math.{name} {a} : {vector}", type_)
        program.result(f"math.ipowi {a}, {b} : {vector}", type_)
        condition = program.assign(f"arith.cmpi slt, {a}, {b} : {vector}")
        program.store(condition, "i1")
        program.result(f"arith.select {condition}, {a}, {b} : vector<1xi1>, {vector}", type_)
    a, b = program.load("i1"), program.load("i1", 1)
    for name in ("andi", "ori", "xori"):
        program.result(f"arith.{name} {a}, {b} : vector<1xi1>", "i1")
    return program


def conversions() -> Program:
    """Every conversion that arith has."""
    program = Program()
    bits = {"f8E4M3FN": 8, "f8E5M2": 8, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i1": 1}
    bits |= {name: int(name[1:]) for name in INTS}
    values = {name: program.load(name) for name in (*FLOATS, *F8, *INTS, "i1")}
    for source in (*FLOATS, *F8):
        for result in (*FLOATS, *F8):
            if bits[source] != bits[result]:
                name = "extf" if bits[source] < bits[result] else "truncf"
                program.result(f"arith.{name} {values[source]} : vector<1x{source}> to vector<1x{result}>", result)
        for result in (*INTS, "i1"):
            for name in ("fptosi", "fptoui"):
                program.result(f"arith.{name} {values[source]} : vector<1x{source}> to vector<1x{result}>", result)
    for source in (*INTS, "i1"):
        for result in (*FLOATS, *F8):
            for name in ("sitofp", "uitofp"):
                program.result(f"arith.{name} {values[source]} : vector<1x{source}> to vector<1x{result}>", result)
        for result in INTS:
            if bits[source] < bits[result]:
                for name in ("extsi", "extui"):
                    program.result(f"arith.{name} {values[source]} : vector<1x{source}> to vector<1x{result}>", result)
            elif bits[source] > bits[result]:
                program.result(f"arith.trunci {values[source]} : vector<1x{source}> to vector<1x{result}>", result)
    return program


def threads() -> Program:
    """Shuffles and reductions of every type."""
    program = Program(2)
    for type_ in (*FLOATS, *F8, *INTS, "i1"):
        value = program.load(type_)
        program.result(f"simt.shuffle_xor {value} {{mask = 8 : i64}} : vector<2x{type_}> -> vector<2x{type_}>", type_)
    for type_, kinds in {
        **dict.fromkeys(FLOATS, ("sum", "prod", "max", "min")),
        **dict.fromkeys(INTS, ("sum", "prod", "max", "min", "umax", "umin", "and", "or", "xor")),
        "i1": ("and", "or", "xor", "max"),
    }.items():
        for kind in kinds:
            value = program.load(type_)
            program.assign(
                f'simt.fragment_reduce {value} {{{TWO}, kind = "{kind}", axis = 0 : i64}} : '
                f"vector<2x{type_}> -> vector<1x{type_}>"
            )
    return program


def lanes() -> Program:
    """Exchanges of scalars of every type, in a block whose last warp is not whole."""
    program = Program()
    lane = program.assign("arith.constant 3 : i32")
    for type_ in (*FLOATS, *INTS, "i1"):
        view = program.view(type_, "shared")
        value = program.assign(
            f"simt.element_load {view}[%zero] {{{PROVED}}} : !tile.view<?x{type_}, shared> -> {type_}"
        )
        found: list[str] = []
        for kind in ("idx", "up", "down", "xor"):
            for width in (8, 32):
                properties = f'{{kind = "{kind}", width = {width} : i64}}'
                found.append(program.assign(f"simt.shuffle {value}, {lane} {properties} : {type_} -> {type_}"))
        kinds = ("sum", "prod", "max", "min") if type_ in FLOATS else ("sum", "umax", "min", "and", "or", "xor")
        for kind in kinds if type_ != "i1" else ("and", "or", "xor"):
            found.append(program.assign(f'simt.warp_reduce {value} {{kind = "{kind}"}} : {type_} -> {type_}'))
        for other in found:
            _store_scalar(program, other, type_)
        if type_ in ("f32", "f64", "i32", "i64"):
            for kind in ("any", "all"):
                match = program.assign(f'simt.match {value} {{kind = "{kind}"}} : {type_} -> i32')
                _store_scalar(program, match, "i32")
        if type_ == "i1":
            for kind, result in (("any", "i1"), ("all", "i1"), ("ballot", "i32")):
                _store_scalar(program, program.assign(f'simt.vote {value} {{kind = "{kind}"}} : {result}'), result)
    program.lines.append("simt.sync_warp")
    _store_scalar(program, program.assign("simt.elect"), "i1")
    for kind in ("eq", "lt", "le", "gt", "ge"):
        _store_scalar(program, program.assign(f'simt.lane_mask {{kind = "{kind}"}}'), "i32")
    return program


def _store_scalar(program: Program, value: str, type_: str) -> None:
    view = program.view(type_, "owned")
    place = program.assign(f"arith.constant {program.count} : i64")
    program.lines.append(
        f"simt.element_store {value}, {view}[{place}] {{{PROVED}}} : {type_}, !tile.view<?x{type_}, owned>"
    )


def atomics() -> Program:
    """Every atomic on every type, on arrays and on shared memory, in each order and scope."""
    program = Program()
    on_floats = ("add", "sub", "max", "min", "exch")
    on_integers = (*on_floats, "umax", "umin", "and", "or", "xor", "inc", "dec")
    for type_ in (*FLOATS, "i16", "i32", "i64"):
        view = program.view(type_, "shared")
        value = program.assign(
            f"simt.element_load {view}[%zero] {{{PROVED}}} : !tile.view<?x{type_}, shared> -> {type_}"
        )
        buffer = f"!tile.buffer<8x{type_}>"
        shared = program.assign(f"simt.alloc_shared {{offset = 0 : i64}} : {buffer}")
        for memory, kind_of in ((program.view(type_, "atomic"), f"!tile.view<?x{type_}, atomic>"), (shared, buffer)):
            for number, kind in enumerate(on_floats if type_ in FLOATS else on_integers):
                order = ("relaxed", "acquire", "release", "acq_rel")[number % 4]
                scope = ("device", "block", "cluster", "system")[number // 2 % 4]
                words = f'order = "{order}", scope = "{scope}", {PROVED}'
                program.assign(
                    f'simt.atomic_rmw {value}, {memory}[%zero] {{kind = "{kind}", {words}}} : '
                    f"{type_}, {kind_of} -> {type_}"
                )
                program.assign(
                    f"simt.atomic_cas {value}, {value}, {memory}[%zero] {{{words}}} : "
                    f"{type_}, {type_}, {kind_of} -> {type_}"
                )
    program.lines += [f'simt.fence {{scope = "{scope}"}}' for scope in ("block", "cluster", "device", "system")]
    return program


PROGRAMS: dict[str, Callable[[], Program]] = {
    "arith": arithmetic,
    "conversions": conversions,
    "threads": threads,
    "lanes": lanes,
    "atomics": atomics,
}


def _in_child(text: str, target: str, out: str) -> None:
    _, ptx = compile_text(text, target)
    with open(out, "w") as file:
        file.write(ptx)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_elementwise_ops_are_selected_and_assembled(target: str, name: str, tmp_path: Path) -> None:
    from tileopt.backends.nvidia.ptxas import assemble

    program = PROGRAMS[name]()
    text = kernel_text(
        "\n".join(program.lines), list(program.arguments.values()), threads=80 if name == "lanes" else 32
    )
    out = tmp_path / "kernel.ptx"
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(text, target, str(out)))
    child.start()
    child.join(120)
    assert child.exitcode == 0, f"compiling '{name}' for {target} ended the process"
    ptx = out.read_text()
    assert ".extern .func" not in ptx
    assemble(ptx, nvidia_target(target).name, options=("-O0",))
