"""All that a pass may ask of the hardware: `Target`, `Feature`, `Atom`. Backends register them, passes look them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from tileopt.dialects.diagnostics import TargetError
from tileopt.dialects.layout import Bases, Coord, Layout

if TYPE_CHECKING:
    import numpy as np

TARGET_ATTRIBUTE = "tile.target"


class Feature(StrEnum):
    """What one generation of hardware has and another lacks."""

    CP_ASYNC = "cp.async"
    LDMATRIX = "ldmatrix"
    STMATRIX = "stmatrix"
    BF16 = "bf16 arithmetic"
    MBARRIER = "mbarrier"
    TMA = "tma"
    CLUSTERS = "clusters"
    SETMAXNREG = "setmaxnreg"
    WGMMA = "wgmma"
    TCGEN05 = "tcgen05"


class Space(StrEnum):
    """Where an atom demands an operand."""

    REGISTER = "register"
    SHARED = "shared"
    TENSOR = "tensor"


class Scope(StrEnum):
    """Which threads issue an atom together."""

    THREAD = "thread"
    WARP = "warp"
    WARPGROUP = "warpgroup"
    ELECTED = "elected thread"  # one for the whole block


@dataclass(frozen=True)
class Fragment:
    """Bases of one operand of one atom over registers and lanes."""

    shape: Coord
    regs: Bases
    lanes: Bases

    def tiled(self, shape: Coord, warp_axes: Iterable[int | None]) -> Layout:
        """A tile of `shape` in this fragment: warp bit i lies on axis `warp_axes[i]`, or makes replicas (None)."""
        extents = list(self.shape)
        warps: list[Coord] = []
        for axis in warp_axes:
            basis = [0] * len(shape)
            if axis is not None:
                basis[axis] = extents[axis]
                extents[axis] *= 2
            warps.append(tuple(basis))
        return Layout(shape, self.regs, self.lanes, tuple(warps))


@dataclass(frozen=True)
class Atom:
    """One tensor-core (or FMA) instruction as a row of data.

    `shape` is (m, n, k). `a`, `b`, `acc`: element types' names. `fragments`: layouts of the operands that are in
    registers, by name "a", "b", "acc", "a_scale", "b_scale". `reference(a, b, acc)` computes one atom with NumPy.
    `preference`: higher wins among the legal ones. `acc_space`: where the accumulator lies. `k_major`: operands in
    shared memory lie with K side by side, else either way. `scale`: the element type of block scales, which then follow
    acc; operands of f4e2m1fn are bytes of two values, and so is what k counts.
    """

    name: str
    shape: tuple[int, int, int]
    a: str
    b: str
    acc: str
    min_arch: int
    scope: Scope
    a_space: Space = Space.REGISTER
    b_space: Space = Space.REGISTER
    acc_space: Space = Space.REGISTER
    asynchronous: bool = False
    k_major: bool = False
    fragments: dict[str, Fragment] = field(default_factory=dict)
    preference: int = 0
    scale: str | None = None
    reference: (
        Callable[
            [np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]],
            np.ndarray[Any, Any],
        ]
        | None
    ) = None

    @property
    def by_descriptor(self) -> bool:
        """Whether a unit reads whole operands from shared memory past the threads, as a matrix descriptor says."""
        return self.scope in (Scope.WARPGROUP, Scope.ELECTED)


@dataclass(frozen=True)
class Rates:
    """Of one multiprocessor and clock, from "Throughput of Native Arithmetic Instructions" in the CUDA C++ programming
    guide: `fma`, results of f32 add, multiply and fma, which is also what its schedulers issue; `special`, of exp2,
    log2, reciprocals and roots. `tensor`: operations of dense products with 16-bit operands (the architecture's white
    paper)."""

    fma: int
    special: int
    tensor: int


@dataclass(frozen=True)
class Target:
    """One thing that code can be made for.

    `arch`: compute capability times ten (0 for a CPU). `default_warps`: warps of a block where no hint says otherwise.
    `shared_bytes`: most shared memory of one block. `vector_bytes`: widest access of one thread.
    `unaligned_vectors`: such an access needs no alignment, and may lie outside the array in part.
    `banked`: shared memory has banks, whose conflicts swizzles avoid.
    `checking`: every access is tested and recorded as it runs, to find faults of the program and of the proofs.
    `tile_registers`: where a tile takes more of each thread, a block gets more warps (None: never).
    `register_file`: registers of a multiprocessor. `multiprocessor_threads`, `multiprocessor_blocks`: the most that one
    holds at once.
    `product_block`: rows and columns of an accumulator that a thread of an FMA product holds side by side.
    `rates`: how fast its units are (None: not known, and nothing is balanced between them).
    """

    name: str
    kind: str  # "cpu" or "cuda"
    arch: int
    features: frozenset[Feature] = frozenset()
    atoms: tuple[Atom, ...] = ()
    default_warps: int = 4
    max_threads: int = 1024
    shared_bytes: int = 48 * 1024
    registers: int = 255
    register_file: int = 65536
    multiprocessor_threads: int = 2048
    multiprocessor_blocks: int = 32
    vector_bytes: int = 16
    unaligned_vectors: bool = False
    banked: bool = True
    product_block: tuple[int, int] = (4, 4)
    tile_registers: int | None = None
    default_stages: int = 1
    checking: bool = False
    rates: Rates | None = None

    @property
    def is_gpu(self) -> bool:
        """Whether its threads and units are a GPU's; `kind` says where the code runs."""
        return self.arch > 0

    def has(self, feature: Feature) -> bool:
        return feature in self.features

    def atom(self, name: str) -> Atom:
        """The atom of this name. Raises TargetError where the target has none such."""
        for atom in self.atoms:
            if atom.name == name:
                return atom
        known = ", ".join(a.name for a in self.atoms) or "none"
        raise TargetError(
            "target/unknown-atom",
            f"{self.name} has no atom '{name}'",
            help=f"it has: {known}",
        )


_TARGETS: dict[str, Callable[[], Target]] = {}
_FAMILIES: dict[str, Callable[[str], Target]] = {}
_MADE: dict[str, Target] = {}


def register_target(name: str, make: Callable[[], Target]) -> None:
    """Adds a target under `name`; `make` is called when it is first asked for."""
    _TARGETS[name] = make
    _MADE.pop(name, None)


def register_family(prefix: str, make: Callable[[str], Target]) -> None:
    """Adds the targets `prefix:name`, one for each name that `make` takes; it raises TargetError for others."""
    _FAMILIES[prefix] = make


def target_names() -> tuple[str, ...]:
    return tuple(_TARGETS)


def get_target(name: str) -> Target:
    """The target of this name. Raises TargetError where there is none."""
    if name not in _MADE:
        prefix, _, rest = name.partition(":")
        if prefix in _FAMILIES and rest:
            _MADE[name] = _FAMILIES[prefix](rest)
            return _MADE[name]
        if name not in _TARGETS:
            raise TargetError(
                "target/unknown",
                f"unknown target '{name}'",
                help=f"known: {', '.join([*_TARGETS, *(f'{family}:NAME' for family in _FAMILIES)])}",
            )
        _MADE[name] = _TARGETS[name]()
    return _MADE[name]


def target_of(op: Operation) -> Target:
    """The target that the module around `op` names in `tile.target`. Raises TargetError where none is named."""
    top: Operation | None = op
    while top is not None:
        named = top.attributes.get(TARGET_ATTRIBUTE)
        if named is not None:
            return get_target(getattr(named, "data", str(named)))
        top = top.parent_op()
    raise TargetError(
        "target/missing",
        "this pass needs a target and the module names none",
        help=f'give --target, or write builtin.module attributes {{{TARGET_ATTRIBUTE} = "sm_90a"}}',
    )
