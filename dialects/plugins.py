"""Dialects, passes and targets that other distributions bring.

A distribution names a `Plugin` under the entry-point group `tileopt`:

    [project.entry-points.tileopt]
    mine = "my_package.plugin:PLUGIN"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.registry import DialectFactory

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

GROUP = "tileopt"


@dataclass(frozen=True)
class Plugin:
    """What one distribution adds, each by its name and made when it is first used."""

    dialects: Mapping[str, DialectFactory] = field(default_factory=dict)
    passes: Mapping[str, Callable[[], type[ModulePass]]] = field(default_factory=dict)
    targets: Mapping[str, Callable[[], Any]] = field(default_factory=dict)


@cache
def installed_plugins() -> dict[str, Plugin]:
    """The plugins by the name of their entry point. Asked only for names that tileopt lacks: the search takes 40 ms."""
    from importlib.metadata import entry_points

    found: dict[str, Plugin] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        try:
            plugin = entry.load()
        except Exception as error:
            raise CompileError(
                "plugin/load", f"plugin '{entry.name}' ({entry.value}) fails to load: {error}"
            ) from error
        if not isinstance(plugin, Plugin):
            raise CompileError("plugin/type", f"plugin '{entry.name}' ({entry.value}) is no tileopt Plugin")
        found[entry.name] = plugin
    return found


def add_new(known: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What the plugins' `kind` ("dialects", "passes" or "targets") add to `known`. A name taken twice is an error."""
    owners = dict.fromkeys(known, "tileopt")
    added: dict[str, Any] = {}
    for plugin_name, plugin in installed_plugins().items():
        for name, value in getattr(plugin, kind).items():
            if name in owners:
                what = f"plugin '{plugin_name}' defines '{name}' among its {kind}, as {owners[name]} does"
                raise CompileError("plugin/clash", what)
            owners[name] = f"plugin '{plugin_name}'"
            added[name] = value
    return added
