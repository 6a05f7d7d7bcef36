"""What `tileopt` says about itself: its passes, dialects, targets and versions; and how targets come to be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.plugins import add_new

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def passes() -> str:
    """Each pass, what it does, and its options."""
    from xdsl.passes import get_pass_option_infos

    from tileopt.passes.registry import all_pass_factories

    lines: list[str] = []
    for name, factory in sorted(all_pass_factories().items()):
        try:
            cls = factory()
        except CompileError as error:
            lines.append(f"{name:<24}cannot be loaded: {error.message}")
            continue
        lines.append(f"{name:<24}{_summary(cls)}".rstrip())
        for option in get_pass_option_infos(cls):
            default = "" if option.default_value is None else f" = {option.default_value}"
            lines.append(f"    {option.name.replace('_', '-')}: {option.expected_type}{default}")
    return "".join(f"{line}\n" for line in lines)


def dialects() -> str:
    """Each dialect and how many ops it has."""
    from tileopt.dialects.registry import dialect_factories

    known = dialect_factories()
    lines = []
    for name, factory in sorted({**known, **add_new(known, "dialects")}.items()):
        try:
            lines.append(f"{name:<12}{len(tuple(factory().operations))} ops\n")
        except CompileError as error:
            lines.append(f"{name:<12}cannot be loaded: {error.message}\n")
    return "".join(lines)


def targets() -> str:
    """Each target."""
    from tileopt.dialects.target import target_names

    load_targets(None, plugins=True)
    return "".join(f"{name}\n" for name in sorted(target_names()))


def versions() -> str:
    from importlib.metadata import version

    import tileopt

    return f"tileopt {tileopt.__version__} (xdsl {version('xdsl')}, llvmlite {version('llvmlite')})\n"


def load_targets(wanted: str | None = None, *, plugins: bool = False) -> None:
    """Have the backends register their targets; and the plugins, where they are asked for or `wanted` is not ours.

    Raises TargetError where nothing registers `wanted`.
    """
    import tileopt.backends.targets  # noqa: F401  # importing it registers them
    from tileopt.dialects.target import get_target, register_target, target_names

    known = target_names()
    if plugins or (wanted is not None and wanted not in known):
        for name, make in add_new(dict.fromkeys(known), "targets").items():
            register_target(name, make)
    if wanted is not None:
        get_target(wanted)


# What xDSL's passes do not say of themselves.
_SUMMARIES = {
    "cse": "Removes ops that compute what an op before them has computed",
    "dce": "Removes ops that nothing needs",
}


def _summary(cls: type[ModulePass]) -> str:
    """The first sentence of what a pass says of itself, or its module of it."""
    import sys

    doc = cls.__dict__.get("__doc__") or ""
    # A dataclass without a docstring is given its signature as one.
    if not doc or doc.startswith(f"{cls.__name__}("):
        doc = sys.modules[cls.__module__].__doc__ or ""
    first = " ".join(doc.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    return _SUMMARIES.get(cls.name, first.removeprefix(f"{cls.name}: ").removeprefix(f"`{cls.name}`: "))
