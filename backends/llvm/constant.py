"""Arrays that are part of the code: a constant of the module, in constant memory where the target has one."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from tileopt.backends.llvm.emitter import Emitter, Handler
from tileopt.backends.llvm.values import View
from tileopt.dialects.simt_constant import MAX_CONSTANT_BYTES, Constant, bytes_of
from tileopt.dialects.tile_types import ViewType

ALIGN = 16


def constant(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, Constant)
    view, value = op.result.type, op.value
    assert isinstance(view, ViewType) and isinstance(value, DenseIntOrFPElementsAttr)
    shape, count = view.get_shape(), bytes_of(view)
    data = value.data.data
    data *= count // len(data)  # all elements are alike where there is but one
    space = emitter.backend.constant_pointer
    made = emitter.output.globals
    name = f"@tileopt.constant.{sum(k.startswith('constant ') for k in made)}"
    key = f"constant {data.hex()}"
    if key not in made:
        shown = "".join(f"\\{b:02x}" for b in data)
        where = space.removeprefix("ptr").strip()
        made[key] = f'{name} = private unnamed_addr {where} constant [{count} x i8] c"{shown}", align {ALIGN}'
    _check_room(emitter, op)
    strides = tuple(str(prod(shape[axis + 1 :])) for axis in range(len(shape)))
    extents = tuple(map(str, shape))
    emitter.values[op.result] = View(made[key].partition(" ")[0], extents, strides, view, len(shape) - 1, ALIGN, space)


def _check_room(emitter: Emitter, op: Operation) -> None:
    total = sum((len(key) - len("constant ")) // 2 for key in emitter.output.globals if key.startswith("constant "))
    if total > MAX_CONSTANT_BYTES:
        what = f"the constants of the kernel take {total} bytes, more than the {MAX_CONSTANT_BYTES} of constant memory"
        raise emitter.unsupported(op, what, "pass the larger ones as parameters, simt.Slice")


HANDLERS: dict[type[Operation], Handler] = {Constant: constant}
