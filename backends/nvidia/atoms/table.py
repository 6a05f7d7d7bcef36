"""All instructions, and which of them one architecture has."""

from __future__ import annotations

from tileopt.backends.nvidia.atoms.fma import FMA
from tileopt.backends.nvidia.atoms.mma_sync import MMA_SYNC
from tileopt.dialects.target import Atom, Target

ALL: tuple[Atom, ...] = (*MMA_SYNC, *FMA)


def atoms_of(arch: int) -> tuple[Atom, ...]:
    """The rows that an architecture has."""
    return tuple(atom for atom in ALL if atom.min_arch <= arch)


def legal_atoms(target: Target, a: str, b: str, acc: str) -> list[Atom]:
    """The target's rows for these element types' names, best first."""
    found = [atom for atom in target.atoms if (atom.a, atom.b, atom.acc) == (a, b, acc)]
    return sorted(found, key=lambda atom: -atom.preference)
