"""The GPUs that code can be made for. `register` names them; a generation's data is read when one is asked for."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from tileopt.backends.nvidia.generation import NvidiaTarget
from tileopt.dialects.diagnostics import TargetError
from tileopt.dialects.target import get_target, register_target

_GENERATIONS: dict[str, tuple[str, ...]] = {
    "sm75": ("sm_75",),
    "sm80": ("sm_80", "sm_86", "sm_87", "sm_89"),
    "sm90": ("sm_90", "sm_90a"),
    "sm100": ("sm_100", "sm_100a", "sm_103a", "sm_110a"),
    "sm120": ("sm_120", "sm_120a", "sm_121a"),
}
NAMES: tuple[str, ...] = tuple(name for names in _GENERATIONS.values() for name in names)


def _make(generation: str, name: str) -> NvidiaTarget:
    targets: tuple[NvidiaTarget, ...] = import_module(f"tileopt.backends.nvidia.{generation}").TARGETS
    return next(target for target in targets if target.name == name)


def register() -> None:
    """Makes the targets known to `dialects.target`. Idempotent; done when this module is imported."""
    for generation, names in _GENERATIONS.items():
        for name in names:
            register_target(name, partial(_make, generation, name))


def nvidia_target(name: str) -> NvidiaTarget:
    """The GPU of this name. Raises TargetError where the name is another kind of target's, or none's."""
    found = get_target(name)
    if not isinstance(found, NvidiaTarget):
        raise TargetError("target/kind", f"'{name}' is not an NVIDIA GPU", help=f"known: {', '.join(NAMES)}")
    return found


register()
