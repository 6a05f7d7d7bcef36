"""Where a launch runs, and for which target, by where its arrays are."""

from __future__ import annotations

from collections.abc import Sequence

from tileopt.backends.runtime import defaults
from tileopt.backends.runtime.arrays import HOST, ArrayInfo
from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.target import Target


def device_of(arrays: Sequence[tuple[str, ArrayInfo]]) -> int:
    """Where the arrays are: all in one place, but those that have no memory. HOST where there are none."""
    places: dict[int, list[str]] = {}
    for name, info in arrays:
        if info.pointer or not info.empty:
            places.setdefault(info.device, []).append(name)
    if not places:
        return arrays[0][1].device if arrays else HOST
    if len(places) > 1:
        listing = "; ".join(
            f"{', '.join(names)} on {'the host' if device == HOST else f'cuda:{device}'}"
            for device, names in sorted(places.items())
        )
        raise launch_error(
            "mixed-devices",
            f"the arrays of one launch are in different places: {listing}",
            help="move them: tileopt.asarray(x, device='cuda'), x.cuda() or tileopt.to_numpy(x)",
        )
    return next(iter(places))


def target_for(wanted: Target | None, device: int, has_arrays: bool) -> Target:
    """The target to compile for. Raises LaunchError where it is not what the arrays' device runs."""
    if wanted is None:
        if device == HOST:
            return defaults.host_target()
        from tileopt.backends.nvidia import driver

        return defaults.for_device(driver.device(device).arch)
    if not has_arrays and wanted.kind == "cuda":
        raise launch_error("no-arrays", "a launch without arrays runs on the CPU", help="leave the target out")
    if (wanted.kind == "cpu") != (device == HOST):
        where = "on the host" if device == HOST else f"on cuda:{device}"
        help = "tileopt.to_numpy(x)" if wanted.kind == "cpu" else "tileopt.asarray(x, device='cuda') or x.cuda()"
        raise launch_error(
            "target", f"the target is {wanted.name}, and the arrays are {where}", help=f"move them: {help}"
        )
    if device != HOST:
        from tileopt.backends.nvidia import driver

        found = driver.device(device)
        if not defaults.runs_on(wanted, found.arch):
            raise launch_error(
                "target",
                f"the target is {wanted.name}, which {found.name} (compute capability "
                f"{found.arch // 10}.{found.arch % 10}) does not run",
                help="leave the target out, and the device's own is used",
            )
    return wanted
