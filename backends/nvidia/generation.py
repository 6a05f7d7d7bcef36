"""What a generation's data file is written in."""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.nvidia.atoms.table import atoms_of
from tileopt.dialects.target import Atom, Feature, Rates, Target

KIB = 1024
# Of the largest tile, in each thread: 128 bytes of f32 are enough loads in flight, and leave room for what follows.
TILE_REGISTERS = 32


@dataclass(frozen=True)
class NvidiaTarget(Target):
    """A GPU as LLVM and ptxas name it. `ptx`: version of the PTX ISA that code is written in, times ten.

    `multiprocessor_threads`, `multiprocessor_blocks` are those of CUDA's table of technical specifications by compute
    capability; CCCL's `arch_traits` has the same figures.
    `reserved_shared`: bytes of shared memory that the system takes for each block.
    """

    ptx: int = 0
    reserved_shared: int = 0

    @property
    def llvm_features(self) -> str:
        return f"+ptx{self.ptx}"


def gpu(
    name: str,
    *,
    ptx: int,
    shared_kib: int,
    features: frozenset[Feature],
    default_warps: int = 4,
    stages: int = 3,
    resident: tuple[int, int] = (2048, 32),
    extra: tuple[Atom, ...] = (),
    rates: Rates | None = None,
) -> NvidiaTarget:
    """The target `sm_<number>[a]`; `extra`: atoms that only its `a` variant has; `resident`: the most
    threads and blocks that a multiprocessor holds."""
    arch = int(name.removeprefix("sm_").rstrip("a"))
    return NvidiaTarget(
        name=name,
        kind="cuda",
        arch=arch,
        features=features,
        atoms=(*extra, *atoms_of(arch)),
        default_warps=default_warps,
        tile_registers=TILE_REGISTERS,
        shared_bytes=shared_kib * KIB,
        default_stages=stages,
        ptx=ptx,
        multiprocessor_threads=resident[0],
        multiprocessor_blocks=resident[1],
        reserved_shared=KIB if arch >= 80 else 0,
        rates=rates,
    )
