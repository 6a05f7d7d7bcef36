"""The target for calls that name none, and which targets there are."""

from __future__ import annotations

import os

from tileopt.dialects.diagnostics import LaunchError
from tileopt.dialects.target import Target, get_target, target_names

_default: Target | None = None
generation = 0  # counts changes of the default; launches keep what they found out under it


def register() -> None:
    """Makes every target known. Cheap after the first time."""
    import importlib

    importlib.import_module("tileopt.backends.targets")


def resolve(target: Target | str) -> Target:
    """A target by name, or as it is. Raises TargetError where there is none of that name."""
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        raise LaunchError("launch/target", f"a target is a name or a Target, not {type(target).__name__}")
    register()
    return get_target(target)


def set_default_target(target: Target | str | None) -> None:
    """What `compile` and launches use where they name no target. None: launches go by where their arrays are."""
    global _default, generation
    found = None if target is None else resolve(target)
    _default = found
    generation += 1


def default_target() -> Target | None:
    return _default


def host_target() -> Target:
    """What launches on the host use where nothing names a target: "cpu", with TILEOPT_CHECK=1 "cpu-check"."""
    check = os.environ.get("TILEOPT_CHECK", "").strip().lower() not in ("", "0", "off", "false", "no")
    return resolve("cpu-check" if check else "cpu")


def target_kind() -> str | None:
    """ "cpu" or "cuda" where there is a default target."""
    return None if _default is None else _default.kind


def for_device(arch: int) -> Target:
    """The target of a CUDA device: its own architecture, with its specific features where we have that."""
    register()
    names = set(target_names())
    for name in (f"sm_{arch}a", f"sm_{arch}"):
        if name in names:
            return get_target(name)
    # Code runs on later minor versions of its own major version, unless it uses an architecture's specific features.
    older = [n for n in names if n.startswith("sm_") and n[3:].isdigit()]
    fitting = [n for n in older if int(n[3:]) // 10 == arch // 10 and int(n[3:]) <= arch]
    if fitting:
        return get_target(max(fitting, key=lambda n: int(n[3:])))
    from tileopt.dialects.diagnostics import TargetError

    raise TargetError(
        "target/unsupported-device",
        f"there is no target for a device of compute capability {arch // 10}.{arch % 10}",
        help=f"known: {', '.join(sorted(names))}",
    )


def runs_on(target: Target, arch: int) -> bool:
    """Whether a device of this compute capability runs the target's code."""
    if target.name.endswith("a"):
        return target.arch == arch
    return target.arch // 10 == arch // 10 and target.arch <= arch
