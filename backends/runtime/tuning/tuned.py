"""`@tileopt.autotune(...)`: a kernel whose constants and hints are chosen by measuring, at each key's first launch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from tileopt.backends.runtime.engine import Engine
from tileopt.backends.runtime.errors import launch_error
from tileopt.backends.runtime.tuning import stored
from tileopt.backends.runtime.tuning.call import Call, call_of
from tileopt.backends.runtime.tuning.config import BLOCK, HINTS, Config, constants_of, expand
from tileopt.backends.runtime.tuning.progress import progress, tell
from tileopt.backends.runtime.tuning.results import Tuning
from tileopt.backends.runtime.tuning.search import Clock, Measure, Search
from tileopt.dialects.contracts import Missing
from tileopt.dialects.diagnostics import CompileError, TileoptError, call_site, shown

_ENGINE = Engine()
MOST_PROCESSES = 16


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A configuration ready to launch. `tail`: its constants, where they are the last parameters in order."""

    config: Config
    kernel: Any
    constants: dict[str, Any]
    tail: tuple[Any, ...] | None
    arguments: int  # parameters before the tail
    block: Any
    view: Config | None  # what a grid reads of calls by position, where all of those give the same constants


class TunedKernel:
    """A kernel with configurations. Launch it as the kernel itself: `kernel[grid](...)`.

    `tunings`: what was found out so far, by key. `best`: the configuration that was launched last.
    """

    def __init__(
        self,
        kernel: Any,
        configs: tuple[Config, ...],
        key: tuple[str, ...],
        budget_s: float,
        processes: int,
        measure: Measure | None,
    ) -> None:
        self.kernel = kernel
        self.configs = configs
        self.key = key
        self.budget_s = budget_s
        self.processes = processes
        self.measure = measure
        self.clock: Clock = time.monotonic
        self.tunings: dict[Hashable, Tuning] = {}
        self.best: Config | None = None
        self._chosen: dict[Hashable, _Chosen] = {}
        self._made: dict[Config, _Chosen] = {}
        self._lock = RLock()
        order = {p.name: index for index, p in enumerate(kernel.parameters)}
        self._positions = [(order[name], name) for name in key]
        self._defaults = {p.name: p.default for p in kernel.parameters if p.default is not Missing}
        self.__name__, self.__doc__, self.__wrapped__ = kernel.name, kernel.__doc__, kernel

    @property
    def name(self) -> str:
        return str(self.kernel.name)

    @property
    def parameters(self) -> Any:
        return self.kernel.parameters

    def compile(self, target: Any = None, *, config: Config | None = None, **given: Any) -> Any:
        """The kernel for a target in one configuration, by default the one launched last, else the first."""
        chosen = self._of(config or self.best or self.configs[0])
        block = chosen.config.part((BLOCK,))
        return chosen.kernel.compile(target, **{**chosen.constants, **block, **given})

    def __getitem__(self, grid: Any) -> TunedLauncher:
        """The kernel on a grid, which may be a function of the configuration: `lambda c: (cdiv(m, c.BM), 1)`."""
        return TunedLauncher(self, grid)

    def tune(self, grid: Any, *args: Any, stream: Any = None, target: Any = None, **kwargs: Any) -> Tuning:
        """Measures for these arguments now, whatever is known already, and launches nothing besides.

        All arrays keep what is in them. Raises CompileError (`tune/no-config`) where no configuration runs, and
        LaunchError (`launch/graph`) in a capture.
        """
        with self._lock:
            calls, first = self._calls(grid, args, kwargs, target)
            if first.is_captured(stream):
                raise launch_error("graph", f"'{self.name}' cannot be tuned while a graph is captured")
            return self._search(self._key(args, kwargs, target), calls, first, args, kwargs, stream)

    # ---- the choice ----

    def choose(
        self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], stream: Any, target: Any
    ) -> tuple[_Chosen, Any]:
        """The configuration for these arguments and the grid with it."""
        key = self._key(args, kwargs, target)
        chosen = self._chosen.get(key)
        if chosen is None:
            with self._lock:
                chosen = self._chosen.get(key) or self._first_choice(key, grid, args, kwargs, stream, target)
        self.best = chosen.config
        return chosen, self._grid(grid, chosen, args, kwargs)

    def _first_choice(
        self, key: Hashable, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], stream: Any, target: Any
    ) -> _Chosen:
        if len(self.configs) == 1:
            chosen = self._chosen[key] = self._of(self.configs[0])
            return chosen
        calls, first = self._calls(grid, args, kwargs, target)
        found = stored.load(self._name(first, args, kwargs), self.configs)
        if found is not None:
            self.tunings[key] = found
        elif first.is_captured(stream):
            return self._of(self.best or self.configs[0])  # for now: a later launch measures
        else:
            found = self._search(key, calls, first, args, kwargs, stream)
        chosen = self._chosen[key] = self._of(found.best)
        return chosen

    def _search(
        self,
        key: Hashable,
        calls: Sequence[Call | TileoptError],
        first: Call,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        stream: Any,
    ) -> Tuning:
        search = Search(self.name, self.configs, calls, stream, self.budget_s, self.processes, self.measure, self.clock)
        with progress(self.name) as bar:
            found = search.run(bar)
        tell(self.name, found)
        stored.store(self._name(first, args, kwargs), self.configs, found)
        self.tunings[key] = found
        self._chosen[key] = self._of(found.best)
        return found

    def _calls(
        self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any
    ) -> tuple[list[Call | TileoptError], Call]:
        """Each configuration's launch, and the first that can be made. Raises what the first said where none can."""
        calls: list[Call | TileoptError] = []
        for config in self.configs:
            try:
                chosen = self._of(config)
                launcher = chosen.kernel[self._grid(grid, chosen, args, kwargs)]
                dispatcher = _ENGINE.dispatcher(launcher.kernel)
                merged = self._arguments(chosen, args, kwargs)
                calls.append(call_of(dispatcher, launcher.grid, *merged, target))
            except TileoptError as error:
                calls.append(error)
        first = next((call for call in calls if isinstance(call, Call)), None)
        if first is None:
            assert isinstance(calls[0], TileoptError)
            raise calls[0]
        return calls, first

    def _of(self, config: Config) -> _Chosen:
        found = self._made.get(config)
        if found is None:
            names = constants_of(self.parameters)
            constants = config.part(names)
            hints = config.part(HINTS)
            kernel = self.kernel.with_hints(**hints) if hints else self.kernel
            order = [p.name for p in self.parameters]
            last = order[len(order) - len(constants) :]
            tail = tuple(constants[n] for n in last) if set(last) == set(constants) else None
            defaults = {name: self._defaults[name] for name in names if name in self._defaults}
            plain = tail is not None and not set(order[: len(order) - len(constants)]) & set(names)
            view = Config(**{**defaults, **config.values}) if plain else None
            block = config.values.get(BLOCK)
            found = _Chosen(config, kernel, constants, tail, len(order) - len(constants), block, view)
            self._made[config] = found
        return found

    def _arguments(
        self, chosen: _Chosen, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The call's arguments with the configuration's constants; by position where that can be."""
        if not kwargs and chosen.tail is not None and len(args) == chosen.arguments:
            return (*args, *chosen.tail), kwargs
        for name in chosen.constants:
            if name in kwargs:
                raise launch_error("repeated-argument", f"'{name}' of {self.name} is tuned, and the call gives it too")
        return args, {**kwargs, **chosen.constants}

    def _grid(self, grid: Any, chosen: _Chosen, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if callable(grid) or (isinstance(grid, tuple) and any(map(callable, grid))):
            view = self._view(chosen, args, kwargs)
            try:
                parts = tuple(part(view) if callable(part) else part for part in _parts(grid))
            except Exception as error:  # of the user's function, which one configuration may not suit
                raise launch_error("grid", f"no grid for {view!r}: {type(error).__name__}: {error}") from error
            grid = parts if isinstance(grid, tuple) else parts[0]
        return grid if chosen.block is None else (grid, chosen.block)

    def _view(self, chosen: _Chosen, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Config:
        """All constants that the kernel gets, and the configuration's hints, for a grid to read."""
        if chosen.view is not None and not kwargs and len(args) == chosen.arguments:
            return chosen.view
        given = self._named(args, kwargs)
        constants = {name: given[name] for name in constants_of(self.parameters) if name in given}
        return Config(**{**constants, **chosen.config.values})

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._defaults, **dict(zip((p.name for p in self.parameters), args, strict=False)), **kwargs}

    # ---- keys ----

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any) -> Hashable:
        """What tells launches apart in this process: element types, places, and the values that `key` names."""
        parts: list[Any] = [getattr(target, "name", target)]
        for value in (*args, *kwargs.values()) if kwargs else args:
            parts.append(type(value))
            dtype = getattr(value, "dtype", None)
            if dtype is not None:
                parts += (dtype, getattr(value, "device", None))
        if self.key:
            named = self._named(args, kwargs) if kwargs else None
            for index, name in self._positions:
                value = args[index] if named is None and index < len(args) else (named or self._defaults).get(name)
                shape = getattr(value, "shape", None)
                parts.append(value if shape is None else tuple(shape))
        key = tuple(parts)
        try:
            hash(key)
        except TypeError:  # a library's own element type or device
            return tuple(map(repr, parts))
        return key

    def _name(self, first: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        named = self._named(args, kwargs)
        values: list[tuple[str, object]] = []
        for name in self.key:
            value = named.get(name)
            shape = getattr(value, "shape", None)
            values.append((name, value if shape is None else tuple(int(n) for n in shape)))
        return stored.name_of(first, self.configs, values)

    def __repr__(self) -> str:
        return f"<tuned {self.kernel!r}, {len(self.configs)} configurations>"


def _parts(grid: Any) -> tuple[Any, ...]:
    return grid if isinstance(grid, tuple) else (grid,)


class TunedLauncher:
    """A tuned kernel with its grid."""

    __slots__ = ("grid", "kernel")

    def __init__(self, kernel: TunedKernel, grid: Any) -> None:
        self.kernel, self.grid = kernel, grid

    def __call__(self, *args: Any, stream: Any = None, target: Any = None, **kwargs: Any) -> None:
        """Launches; the first launch of each key measures before, unless a graph is being captured."""
        chosen, grid = self.kernel.choose(self.grid, args, kwargs, stream, target)
        launcher = chosen.kernel[grid]
        args, kwargs = self.kernel._arguments(chosen, args, kwargs)  # type: ignore[assignment]
        _ENGINE.launch(launcher.kernel, launcher.grid, args, kwargs, stream, target)


def autotune(
    configs: Iterable[Config] | str = "auto",
    *,
    key: Sequence[str] = (),
    budget_s: float = 60.0,
    processes: int | None = None,
    measure: Measure | None = None,
) -> Callable[[Any], TunedKernel]:
    """Makes a kernel choose among configurations by measuring them.

    Stands over `@tile.kernel` or `@simt.kernel`. `configs`: what to try, or "auto" for hints around the compiler's own
    choice. `key`: names of parameters; each new combination of their values (of arrays, their shapes) is measured, as
    is each of element types and devices. `budget_s`: seconds that one search may take, about. `processes`: how many
    compile at once (default: the processors, up to 16; 1: in this process). `measure(run, config)` gives the time of
    `run()`; by default events time it on a GPU, with L2 flushed before, and the clock on the CPU.

    Errors: `tune/config`, `tune/key` for what is no configuration of the kernel or no parameter.
    """
    names = (key,) if isinstance(key, str) else tuple(key)
    count = min(MOST_PROCESSES, os.cpu_count() or 1) if processes is None else processes

    def make(kernel: Any) -> TunedKernel:
        if not hasattr(kernel, "with_hints"):
            raise CompileError(
                "tune/config",
                f"autotune stands over a kernel, not over {shown(kernel)}",
                location=call_site(),
                help="write it above @tile.kernel or @simt.kernel",
            )
        known = [p.name for p in kernel.parameters]
        for name in names:
            if name not in known:
                raise CompileError(
                    "tune/key",
                    f"'{kernel.name}' has no parameter {shown(name)}",
                    location=call_site(),
                    help=f"its parameters: {', '.join(known)}",
                )
        tried = expand(configs, kernel.parameters, kernel.name, hasattr(kernel, "contract"))
        made = TunedKernel(kernel, tried, names, budget_s, count, measure)
        for config in tried:
            made._of(config)  # a hint that is none is found here
        return made

    return make
