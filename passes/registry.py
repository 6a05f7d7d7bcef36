"""The passes by name. Each is imported when it is first used; a new pass is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.plugins import add_new

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PassFactory: TypeAlias = "Callable[[], type[ModulePass]]"

# A pass and the module that it lies in, in the order of the pipeline.
_PASSES = {
    "raise-while": "tileopt.passes.schedule.raise_while",
    "infer-facts": "tileopt.passes.analysis.infer_facts",
    "fold-minima": "tileopt.passes.safety.fold_minima",
    "elide-bounds": "tileopt.passes.safety.elide_bounds",
    "verify-ownership": "tileopt.passes.safety.verify_ownership",
    "verify-barriers": "tileopt.passes.safety.verify_barriers",
    "expand-scaled": "tileopt.passes.schedule.expand_scaled",
    "swap-products": "tileopt.passes.schedule.swap_products",
    "map-tensor-cores": "tileopt.passes.schedule.map_tensor_cores",
    "place-memory": "tileopt.passes.schedule.place_memory",
    "pipeline-loops": "tileopt.passes.schedule.pipeline_loops",
    "split-roles": "tileopt.passes.schedule.split_roles",
    "split-loops": "tileopt.passes.schedule.split_loops",
    "skew-products": "tileopt.passes.schedule.skew_products",
    "balance-units": "tileopt.passes.schedule.balance_units",
    "align-rows": "tileopt.passes.layout.align_rows",
    "assign-layouts": "tileopt.passes.layout.assign_layouts",
    "fold-layouts": "tileopt.passes.layout.fold_layouts",
    "retain-tiles": "tileopt.passes.schedule.retain_tiles",
    "prefetch-loads": "tileopt.passes.schedule.prefetch_loads",
    "bound-registers": "tileopt.passes.layout.bound_registers",
    "lower-tile-to-simt": "tileopt.passes.lowering.lower_tile_to_simt",
    "keep-accumulators": "tileopt.passes.lowering.keep_accumulators",
    "chain-products": "tileopt.passes.lowering.chain_products",
    "take-turns": "tileopt.passes.lowering.take_turns",
    "lower-pipe": "tileopt.passes.lowering.lower_pipe",
    "lower-accumulators": "tileopt.passes.lowering.lower_accumulators",
    "insert-fences": "tileopt.passes.lowering.insert_fences",
    "allocate-onchip": "tileopt.passes.lowering.allocate_onchip",
    "overlap-products": "tileopt.passes.lowering.overlap_products",
    "check-accesses": "tileopt.passes.safety.check_accesses",
    "canonicalize": "tileopt.passes.canonicalize",
    "cse": "xdsl.transforms.common_subexpression_elimination",
    "dce": "xdsl.transforms.dead_code_elimination",
    "licm": "xdsl.transforms.loop_invariant_code_motion",
}


def pass_factories() -> dict[str, PassFactory]:
    """What yields the class of each pass, by the pass's name; those of plugins are not among them."""
    return {name: partial(_load, name, module) for name, module in _PASSES.items()}


def all_pass_factories() -> dict[str, PassFactory]:
    """As `pass_factories`, with the plugins' passes."""
    own = pass_factories()
    return {**own, **add_new(own, "passes")}


def pass_class(name: str) -> type[ModulePass] | None:
    """The class of a pass, or None where nothing defines the name."""
    if name in _PASSES:
        return _load(name, _PASSES[name])
    factory: PassFactory | None = add_new(_PASSES, "passes").get(name)
    return None if factory is None else factory()


def _load(name: str, module: str) -> type[ModulePass]:
    from xdsl.passes import ModulePass

    try:
        members = vars(import_module(module))
    except ModuleNotFoundError as error:
        raise CompileError("registry/pass", f"pass '{name}' needs module '{error.name}', which is not there") from error
    for value in members.values():
        if isinstance(value, type) and issubclass(value, ModulePass) and getattr(value, "name", None) == name:
            return value
    raise CompileError("registry/pass", f"module '{module}' holds no pass '{name}'")
