"""One configuration to try: values of a kernel's constants, and hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from tileopt.dialects.contracts import Parameter, ParamKind
from tileopt.dialects.diagnostics import CompileError, call_site, shown

# Hints that change no result; `fma` and `fast_math` do, so a search may not choose them.
HINTS = ("num_warps", "num_stages", "num_ctas", "occupancy", "late_waits", "take_turns")
BLOCK = "block"  # of a kernel of threads whose contract leaves it open


class Config:
    """`Config(BM=128, BN=256, num_stages=4)`: constants by name, hints, and the block of a kernel of threads.

    A grid that depends on it reads the values as attributes: `lambda c: (cdiv(m, c.BM), cdiv(n, c.BN))`.
    """

    __slots__ = ("values",)

    def __init__(self, **values: Any) -> None:
        self.values: dict[str, Any] = values

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "values")[name]
        except KeyError:
            raise AttributeError(f"{self!r} has no value '{name}'") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and other.values == self.values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values.items())))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def part(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of these names, where there are such."""
        return {name: self.values[name] for name in names if name in self.values}


def constants_of(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """The names of a kernel's compile-time constants."""
    return tuple(p.name for p in parameters if p.kind is ParamKind.CONST)


def check(config: Config, parameters: Sequence[Parameter], kernel: str, threads: bool) -> None:
    """Whether a configuration speaks of this kernel. Raises CompileError (`tune/config`)."""
    known = (*constants_of(parameters), *(() if threads else HINTS), *((BLOCK,) if threads else ()))
    for name in config.values:
        if name not in known:
            why = ": it may change results" if name in ("fma", "fast_math") else ""
            raise CompileError(
                "tune/config",
                f"'{kernel}' has nothing named '{name}' to tune{why}",
                location=call_site(),
                help=f"a configuration may set {', '.join(known) or 'nothing'}",
            )


def expand(configs: Any, parameters: Sequence[Parameter], kernel: str, threads: bool) -> tuple[Config, ...]:
    """The configurations that `autotune` was given, checked and without repetitions.

    "auto" tries hints around the compiler's own choice, which comes first: 4 and 8 warps, 2 to 4 stages. Values of
    constants are not guessed. Raises CompileError (`tune/config`).
    """
    if isinstance(configs, str) and configs == "auto":
        return (Config(),) if threads else tuple(_automatic())
    if isinstance(configs, Mapping | str) or not _is_list(configs):
        raise _wrong(f"configurations are a list of tileopt.Config, or 'auto', not {shown(configs)}")
    found: list[Config] = []
    for config in configs:
        if not isinstance(config, Config):
            raise _wrong(f"a configuration is a tileopt.Config, not {shown(config)}")
        check(config, parameters, kernel, threads)
        if config not in found:
            found.append(config)
    if not found:
        raise _wrong("there is no configuration to try")
    return tuple(found)


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__")


def _wrong(message: str) -> CompileError:
    return CompileError("tune/config", message, location=call_site(), help="write [tileopt.Config(BM=128), ...]")


def _automatic() -> Iterator[Config]:
    for warps, stages in product((None, 4, 8), (None, 2, 3, 4)):
        given = {"num_warps": warps, "num_stages": stages}
        yield Config(**{name: value for name, value in given.items() if value is not None})
