"""What the compiler hands to the runtime: one kernel as a target's code, and how to call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileopt.dialects.contracts import Parameter, Signature


class SlotKind(StrEnum):
    """What one expanded argument of a kernel holds."""

    POINTER = "pointer"
    EXTENT = "extent"
    STRIDE = "stride"  # in elements
    SCALAR = "scalar"
    GRID = "grid"  # an extent of the launch's grid, of a kernel whose blocks take several of its blocks in turn
    TENSOR_MAP = "tensor map"  # 128 bytes, by value; behind all of the above
    ERROR = "error"  # the address of the record of a failed check, the last of all (see CheckSite)


@dataclass(frozen=True, slots=True)
class ParamSlot:
    """One expanded argument: 8 bytes on the host, of which a scalar fills the low `dtype.bytes`.

    `parameter`: the index among the kernel's arguments (parameters in order, without the constants).
    `axis`: of an extent or a stride. `dtype`: an element type's name, of the array or the scalar. `order`, `box` and
    `swizzle`: of a tensor map, see `dialects.tensor_map`.
    """

    parameter: int
    kind: SlotKind
    axis: int = 0
    dtype: str = "i64"
    order: tuple[int, ...] = ()
    box: tuple[int, ...] = ()
    swizzle: int = 0


@dataclass(frozen=True, slots=True)
class CheckSite:
    """A place where a kernel tests an index of `array`. A kernel with such has an argument of the kind `ERROR`.

    `what`: what is counted where a part of the array is made or read (`Checked`), and `of`: what it is of.
    `message`: the place is an assertion with this message, about no array.
    `claim`: why the index needs no test, where a target tests it nevertheless.
    """

    array: str
    axis: int
    file: str
    line: int
    column: int
    what: str = ""
    of: str = ""
    message: str | None = None
    claim: str | None = None


@dataclass
class CompiledModule:
    """One kernel for one target.

    `name`: the kernel's symbol. `threads`: of one block. `shared_bytes`: on a GPU the dynamic shared memory of one
    block, on the CPU the scratch that one block needs. `ir`: printed IR by level, a callable where printing can wait.
    `conditions`: what must hold at a launch for `launch` outcomes, in the words of `backends.runtime.conditions`.
    `guards`: relations between extents of arrays that would make the code better. `assumed`: those of them that it
    relies on; `conditions` has them, too.
    `persistent`: blocks of a multiprocessor, which take the launch's blocks in turn; 0 where each block is launched.
    `cluster`: blocks of a persistent grid's clusters.
    `checks`: where indices are tested, in the order of their numbers. `block`: the block's extents, x first, where
    the kernel fixes them.
    `occupancy`: the hint, blocks of a multiprocessor.
    `trace`: what the records of a target that checks mean (backends.cpu.check.sites.Trace).
    `report`: what the passes say about the kernel (bounds outcomes, ownership proofs, atoms and so on); what goes to
    disk is its JSON form.
    """

    name: str
    target: str
    kind: str  # "cpu" or "cuda"
    threads: int
    shared_bytes: int
    params: tuple[ParamSlot, ...]
    ir: dict[str, str | Callable[[], str]]
    llvm: str
    ptx: str | None = None
    report: dict[str, object] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    checks: tuple[CheckSite, ...] = ()
    block: tuple[int, ...] = ()
    persistent: int = 0
    cluster: int = 1
    occupancy: int | None = None
    trace: Any = None


def expand_parameters(parameters: tuple[Parameter, ...], signature: Signature) -> tuple[ParamSlot, ...]:
    """The kernel ABI: a view of rank r becomes its pointer, r extents and r strides; a scalar is one value."""
    from tileopt.dialects.contracts import ArraySpec, ScalarSpec

    slots: list[ParamSlot] = []
    index = 0
    for parameter in parameters:
        spec = signature[parameter.name]
        if isinstance(spec, ArraySpec):
            slots.append(ParamSlot(index, SlotKind.POINTER, dtype=spec.dtype))
            slots += [ParamSlot(index, SlotKind.EXTENT, axis) for axis in range(spec.rank)]
            slots += [ParamSlot(index, SlotKind.STRIDE, axis) for axis in range(spec.rank)]
        elif isinstance(spec, ScalarSpec):
            slots.append(ParamSlot(index, SlotKind.SCALAR, dtype=spec.dtype))
        else:
            continue
        index += 1
    return tuple(slots)
