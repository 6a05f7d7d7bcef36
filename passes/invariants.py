"""What each pass demands of its input and promises of its output.

`tileopt` calls `demand` before each pass: who runs passes out of order learns which one is missing. With
`TILEOPT_VERIFY=1` the pipeline and `tileopt` call `check` around each pass as well. A promise that does not hold is a
bug of the pass, not of the program: code `internal/invariant`, at the op that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from xdsl.dialects.builtin import ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute, Operation

from tileopt.dialects.diagnostics import CompileError, TargetError, location_of
from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.target import Space, target_of
from tileopt.dialects.verifier import walk

if TYPE_CHECKING:
    from tileopt.dialects.target import Target

Violation: TypeAlias = tuple[Operation, str]
Predicate: TypeAlias = Callable[[ModuleOp], Iterator[Violation]]


def check(pass_name: str, module: ModuleOp, when: Literal["before", "after"] | str) -> None:
    """Raises CompileError where `module` lacks what the pass demands ("before") or promises ("after")."""
    for predicate in (REQUIRES if when == "before" else ENSURES).get(pass_name, ()):
        for op, what in predicate(module):
            verb = "needs that" if when == "before" else "did not keep its promise that"
            raise CompileError(
                "internal/invariant",
                f"{pass_name} {verb} {predicate.__doc__ or predicate.__name__}: {what}",
                location=location_of(op),
                help="this is a bug of the compiler; please report it with the program",
            )


def demand(pass_name: str, module: ModuleOp) -> None:
    """Raises CompileError (`pass/precondition`) where `module` lacks what the pass demands."""
    for predicate in REQUIRES.get(pass_name, ()):
        if predicate is has_bounds:
            continue  # an access of which nothing was found out tests every axis: slower, and right
        for op, what in predicate(module):
            # The first pass that promises it; those after it only keep it.
            first = next((name for name, promised in ENSURES.items() if predicate in promised), None)
            raise CompileError(
                "pass/precondition",
                f"{pass_name} needs that {predicate.__doc__ or predicate.__name__}: {what}",
                location=location_of(op),
                help=None if first is None else f"run {first} first",
            )


def holds(pass_name: str, module: ModuleOp, when: Literal["before", "after"] | str) -> bool:
    """Whether `module` has what the pass demands or promises. Hand-written IR may be less than a pass demands."""
    predicates = (REQUIRES if when == "before" else ENSURES).get(pass_name, ())
    return not any(True for predicate in predicates for _ in predicate(module))


def _accesses(module: ModuleOp) -> Iterator[Operation]:
    from tileopt.dialects import tile

    return (op for op in _inside(module) if isinstance(op, tile.Load | tile.Store | tile.AtomicRmw))


def has_vectors(module: ModuleOp) -> Iterator[Violation]:
    """each load and store says how many elements move as one"""
    for op in _accesses(module):
        if "vector" not in op.properties:
            yield op, f"{op.name} has no vector"


def has_bounds(module: ModuleOp) -> Iterator[Violation]:
    """each load and store says what was found out about its bounds"""
    for op in _accesses(module):
        if "bounds" not in op.properties:
            yield op, f"{op.name} has no bounds"


def has_owners(module: ModuleOp) -> Iterator[Violation]:
    """each kernel that stores says how its stores were proved"""
    from tileopt.dialects import tile
    from tileopt.passes.safety.verify_ownership import OWNERSHIP, UNUSED_AXES

    for kernel in walk(module):
        if isinstance(kernel, tile.Kernel) and any(isinstance(op, tile.Store) for op in walk(kernel)):
            for name in (OWNERSHIP, UNUSED_AXES):
                if name not in kernel.attributes:
                    yield kernel, f"@{kernel.sym_name.data} has no {name}"


def has_atoms(module: ModuleOp) -> Iterator[Violation]:
    """each product names an instruction that its target has"""
    from tileopt.dialects import tile

    target = _target(module)
    for op in _inside(module):
        if isinstance(op, tile.Mma):
            if op.atom is None:
                yield op, "a product has no atom"
            elif target is not None and all(op.atom.data != atom.name for atom in target.atoms):
                yield op, f"{target.name} has no atom {op.atom.data}"


def has_operands_in_place(module: ModuleOp) -> Iterator[Violation]:
    """each operand of a product lies in the space that its instruction reads"""
    from tileopt.dialects import tile
    from tileopt.dialects.tile_types import BufferType

    target = _target(module)
    for op in _inside(module):
        if isinstance(op, tile.Mma) and op.atom is not None and target is not None:
            atom = next((a for a in target.atoms if a.name == op.atom.data), None)
            for value, space in ((op.a, atom.a_space), (op.b, atom.b_space)) if atom is not None else ():
                # An atom that has a fragment for `a` takes it from registers as well.
                either = value is op.a and atom is not None and "a" in atom.fragments
                if (space is Space.SHARED) is not isinstance(value.type, BufferType) and not either:
                    yield op, f"an operand of {op.atom.data} is {value.type}, not in {space} memory"


def has_layouts(module: ModuleOp) -> Iterator[Violation]:
    """each tile and each buffer has a layout"""
    from tileopt.dialects import tile
    from tileopt.dialects.tile_types import BufferType

    for op, type_ in _types(_inside(module, tile.Kernel)):
        if isinstance(type_, TensorType) and not isinstance(type_.encoding, LayoutAttr):
            yield op, f"{type_} has none"
        if isinstance(type_, BufferType) and isinstance(type_.layout, NoneAttr):
            yield op, f"{type_} has none"


def has_no_tiles(module: ModuleOp) -> Iterator[Violation]:
    """no tensor and no op of the tile dialect is left"""
    for op in _inside(module):
        if op.name.startswith("tile."):
            yield op, op.name
    for op, type_ in _types(_inside(module)):
        if isinstance(type_, TensorType):
            yield op, str(type_)


def has_no_channels(module: ModuleOp) -> Iterator[Violation]:
    """no op and no type of the pipe dialect is left"""
    for op in _inside(module):
        if op.name.startswith("pipe."):
            yield op, op.name
    for op, type_ in _types(_inside(module)):
        if type_.name.startswith("pipe."):
            yield op, str(type_)


def has_places(module: ModuleOp) -> Iterator[Violation]:
    """each tile in shared memory has its place, within what a block may have"""
    from tileopt.dialects import simt

    for op in walk(module):
        if isinstance(op, simt.AllocShared) and op.offset is None:
            yield op, "an allocation has no offset"
        if isinstance(op, simt.Kernel):
            size = op.attributes.get(simt.SHARED_BYTES)
            taken = getattr(getattr(size, "value", None), "data", None)
            target = _target(module)
            if taken is None:
                yield op, f"@{op.sym_name.data} has no {simt.SHARED_BYTES}"
            elif target is not None and taken > target.shared_bytes:
                yield op, f"@{op.sym_name.data} takes {taken} bytes of {target.shared_bytes}"


def _inside(module: ModuleOp, kind: type[Operation] | None = None) -> Iterator[Operation]:
    """The kernels (of that kind) and their ops: no pass demands anything of what else a module holds."""
    from tileopt.dialects.kernel import KernelOp

    for kernel in module.body.ops:
        if isinstance(kernel, kind or KernelOp):
            yield from walk(kernel)


def _types(ops: Iterable[Operation]) -> Iterator[tuple[Operation, Attribute]]:
    """The types of the values of `ops`, each with the op that makes it or holds its block."""
    for op in ops:
        for result in op.results:
            yield op, result.type
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    yield op, argument.type


def _target(module: ModuleOp) -> Target | None:
    try:
        return target_of(module)
    except TargetError:
        return None


REQUIRES: dict[str, Sequence[Predicate]] = {
    "pipeline-loops": (has_atoms, has_operands_in_place),
    "assign-layouts": (has_atoms, has_operands_in_place),
    "fold-layouts": (has_layouts,),
    "retain-tiles": (has_layouts,),
    "prefetch-loads": (has_layouts,),
    "bound-registers": (has_layouts,),
    "lower-tile-to-simt": (has_bounds, has_atoms, has_layouts),
    "keep-accumulators": (has_no_tiles,),
    "chain-products": (has_no_tiles,),
    "lower-pipe": (has_no_tiles,),
    "lower-accumulators": (has_no_tiles, has_no_channels),
    "allocate-onchip": (has_no_tiles, has_no_channels),
    "insert-fences": (has_no_tiles, has_no_channels),
    "overlap-products": (has_no_tiles, has_no_channels),
}

ENSURES: dict[str, Sequence[Predicate]] = {
    "infer-facts": (has_vectors,),
    "elide-bounds": (has_bounds,),
    "verify-ownership": (has_owners,),
    "map-tensor-cores": (has_atoms,),
    "place-memory": (has_operands_in_place,),
    "pipeline-loops": (has_atoms, has_operands_in_place),
    "assign-layouts": (has_layouts,),
    "fold-layouts": (has_layouts,),
    "retain-tiles": (has_layouts,),
    "prefetch-loads": (has_layouts,),
    "bound-registers": (has_layouts,),
    "lower-tile-to-simt": (has_no_tiles,),
    "keep-accumulators": (has_no_tiles,),
    "chain-products": (has_no_tiles,),
    "lower-pipe": (has_no_tiles, has_no_channels),
    "lower-accumulators": (has_no_tiles, has_no_channels),
    "allocate-onchip": (has_no_tiles, has_no_channels, has_places),
    "insert-fences": (has_no_tiles, has_no_channels, has_places),
    "overlap-products": (has_no_tiles, has_no_channels, has_places),
}
