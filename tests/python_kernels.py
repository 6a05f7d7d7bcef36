"""Kernels from text, and the IR of a kernel."""

from __future__ import annotations

import itertools
import linecache
import sys
import textwrap
import types
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tileopt.dialects.contracts import ArraySpec, ConstSpec, Missing, ParamKind, ScalarSpec, Spec
from tileopt.dialects.verifier import verify, walk

_count = itertools.count()
HEADER = "from __future__ import annotations\nimport math\nfrom tileopt import simt, tile\n"


def module(text: str, name: str = "") -> dict[str, Any]:
    """The names that a module of this text defines; its source can be read as that of a file, by default a new one."""
    source = HEADER + textwrap.dedent(text)
    name = name or f"<test {next(_count)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    made = types.ModuleType(name)
    sys.modules[name] = made  # dataclasses look their module up
    exec(compile(source, name, "exec", dont_inherit=True), vars(made))
    return vars(made)


def kernel(body: str, parameters: str = "x: tile.In, out: tile.Out, n: int", before: str = "", hints: str = "") -> Any:
    """The kernel `k` with this body."""
    text = (
        textwrap.dedent(before)
        + f"\n@tile.kernel{hints}\ndef k({parameters}):\n"
        + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    )
    return module(text + "\n")["k"]


def simt_kernel(
    body: str,
    parameters: str = "x: simt.Slice, out: simt.DisjointSlice, n: int",
    contract: str = "block=(64,)",
    before: str = "",
) -> Any:
    """The kernel `k` of threads with this body."""
    text = (
        textwrap.dedent(before)
        + f"\n@simt.kernel({contract})\ndef k({parameters}):\n"
        + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    )
    return module(text + "\n")["k"]


def signature(kernel: Any, **given: object) -> dict[str, Spec]:
    """f32 arrays of rank 1 where nothing else is given; an array is given as ("bf16", 2)."""
    result: dict[str, Spec] = {}
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.kind.is_array:
            default = (parameter.dtype or "f32", 1 if parameter.rank is None else parameter.rank)
            dtype, rank = given.get(name, default)  # type: ignore[misc]
            result[name] = ArraySpec(dtype, rank, 16, rank - 1 if rank else None)
        elif parameter.kind is ParamKind.CONST:
            value = given.get(name, parameter.default)
            assert value is not Missing, f"no value for {name}"
            result[name] = ConstSpec(value)
        else:
            result[name] = ScalarSpec(parameter.dtype)
    return result


def build(kernel: Any, **given: object) -> ModuleOp:
    """The verified IR of a kernel."""
    made: ModuleOp = kernel.build(signature(kernel, **given))
    verify(made)
    return made


def ops(module: ModuleOp) -> list[str]:
    """The names of the ops, without those of modules, kernels and constants."""
    skipped = ("builtin.module", "tile.kernel", "tile.return", "simt.kernel", "simt.return", "arith.constant")
    return [op.name for op in walk(module) if op.name not in skipped]


def find(module: ModuleOp, name: str) -> list[Operation]:
    """The ops of this name."""
    return [op for op in walk(module) if op.name == name]
