"""`tileopt --run`: the arguments of a host program from the command line, and its results as text or in a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import CompileError
from tileopt.tools.options import Options, UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

    from tileopt.dialects.stream import Program

_MAKERS = ("random", "iota", "zeros", "ones")
_ARRAYS = f"FILE.npy, or one of {', '.join(_MAKERS)} with a shape where the type has a '?': random:64x128"
_FORMS = f"a number, {_ARRAYS}"


def run_module(module: ModuleOp, target: str, options: Options) -> bytes:
    """Runs the program that the flags name; gives what is to be written."""
    from tileopt.backends.runtime.host_run import find_program, run_program

    program = find_program(module, options.entry)
    results = run_program(module, program, arguments(program, options.arg), target)
    if options.output.endswith((".npy", ".npz")):
        return saved(results, options.output)
    return shown(program, results).encode()


def arguments(program: Program, given: Sequence[str]) -> list[Any]:
    """A value for each argument of the program. Raises UsageError."""
    values: dict[str, str] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or name.lstrip("%") in values:
            raise UsageError("usage", f"--arg {text}: write NAME=VALUE, once for each argument", help=_FORMS)
        values[name.lstrip("%")] = value
    found = []
    block = program.body.block
    hints = [a.name_hint for a in block.args]
    for index, argument in enumerate(block.args):
        hint = argument.name_hint
        name = str(index) if hint is None or hints.count(hint) > 1 else hint
        value_text = values.pop(str(index) if str(index) in values else name, None)
        if value_text is None:
            raise UsageError("usage", f"%{name}, a {argument.type}, has no value", help=f"--arg {name}=VALUE: {_FORMS}")
        found.append(_value(value_text, argument.type, index))
    if values:
        raise UsageError("usage", f"the program has no argument {', '.join(values)}")
    return found


def _value(text: str, type_: Attribute, seed: int) -> Any:
    """Raises UsageError for a text that is no value of this type."""
    import numpy as np

    from tileopt.dialects.dtypes import DTYPES
    from tileopt.dialects.stream import BufferType

    if not isinstance(type_, BufferType):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        raise UsageError("usage", f"'{text}' is no number, and the argument is {type_}")
    maker, _, shape_text = text.partition(":")
    if maker not in _MAKERS:
        if text.replace(".", "", 1).lstrip("-").isdigit():
            raise UsageError("usage", f"'{text}' is a number, and the argument is {type_}", help=_ARRAYS)
        try:
            return np.load(text)
        except (OSError, ValueError, EOFError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise CompileError("io/read", f"cannot read '{text}' as an array: {why}", help=_ARRAYS) from error
    dtype = next(d for d in DTYPES.values() if d.ir == type_.element_type)
    shape = _shape(shape_text, [n.data for n in type_.shape.data], text)
    if maker == "random":
        # The same numbers in each run, other ones for each argument.
        generator = np.random.default_rng(seed)
        if dtype.is_float:
            return (generator.random(shape) * 2 - 1).astype(dtype.numpy)
        return generator.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype.numpy)
    if maker == "iota":
        return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype.numpy)
    return np.full(shape, maker == "ones").astype(dtype.numpy)


def _shape(text: str, declared: list[int], whole: str) -> tuple[int, ...]:
    if not text and min(declared, default=0) >= 0:
        return tuple(declared)
    parts = text.split("x") if text else []
    if len(parts) != len(declared) or not all(p.isdigit() for p in parts):
        raise UsageError("usage", f"'{whole}' needs a shape of {len(declared)} extents", help=_FORMS)
    return tuple(map(int, parts))


def saved(results: Sequence[Any], name: str) -> bytes:
    """One array as .npy, any number as .npz with the names result0, result1 and so on."""
    import numpy as np

    stream = io.BytesIO()
    if name.endswith(".npz"):
        np.savez(stream, **{f"result{i}": array for i, array in enumerate(results)})
    elif len(results) == 1:
        np.save(stream, results[0])
    else:
        raise UsageError(
            "usage", f"a .npy file holds one array, and the program returns {len(results)}", help="-o .npz"
        )
    return stream.getvalue()


def shown(program: Program, results: Sequence[Any]) -> str:
    """Each result: its type and its elements, of large ones the first and last."""
    import numpy as np

    lines = [f"@{program.sym_name.data} returns {len(results)}"]
    for index, array in enumerate(results):
        extents = "x".join(map(str, array.shape))
        text = np.array2string(array, threshold=1000, max_line_width=120)
        lines.append(f"result{index}: {extents}{'x' if extents else ''}{array.dtype}\n{text}")
    return "\n".join(lines) + "\n"
