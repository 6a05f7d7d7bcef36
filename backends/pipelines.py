"""THE page: every target's passes in order, with the reason for the order, and the way from a module to its code.

All targets run the same list; what a target lacks, a pass leaves alone (a CPU has no asynchronous copies, so
`pipeline-loops` finds nothing to do there).
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tileopt.backends import targets
from tileopt.backends.compiled import CompiledModule, ParamSlot, SlotKind
from tileopt.backends.launch_conditions import check_target, launch_conditions
from tileopt.backends.llvm.faults import check_sites, has_record
from tileopt.backends.report import describe
from tileopt.dialects.diagnostics import CompileError, location_of
from tileopt.dialects.kernel import GUARDS, OCCUPANCY, PERSISTENT, REQUIRES, cluster_blocks
from tileopt.dialects.target import TARGET_ATTRIBUTE, Target, get_target
from tileopt.passes.registry import pass_class
from tileopt.passes.schedule.pipeline_loops import NUM_STAGES

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute
    from xdsl.passes import ModulePass

    from tileopt.dialects.kernel import KernelOp

PASSES = (
    "raise-while",  # before all that asks how often a loop runs
    "cse",  # the same tile loaded twice is loaded once, before anything counts loads
    # Proofs come first: later passes rewrite the offsets that they are about.
    "fold-minima",  # of what a loop goes over, which the proofs inside start from
    "elide-bounds",
    "infer-facts",  # after elide-bounds: an access that is proved inside needs no common edge for its vectors
    "verify-ownership",
    "verify-barriers",  # before any pass moves what stands between barriers
    "expand-scaled",  # before products name instructions: what it leaves are ordinary ones
    # What each product demands of its operands decides what is staged, and only what is staged can be pipelined.
    "swap-products",  # before anything counts rows
    "map-tensor-cores",
    "place-memory",
    "pipeline-loops",
    "split-roles",
    "split-loops",  # of consumers: both loops take from the same channels
    "skew-products",  # of consumers, whose channels the producer fills whenever they come to them
    "balance-units",  # of the loops as they will run
    "align-rows",  # of what layouts then deal out by vectors
    # Layouts come after the last pass that makes or moves tiles, so that each is decided once.
    "assign-layouts",
    "fold-layouts",
    "retain-tiles",  # once no conversion is left to ask for shared memory
    "prefetch-loads",  # which loads are the same is seen before some are made early
    "bound-registers",  # of all tiles that there are
    "lower-tile-to-simt",
    "keep-accumulators",  # while channels say what products read
    "chain-products",  # while a release still says of which iteration
    "take-turns",  # while a wait still says of which iteration
    "lower-pipe",
    "lower-accumulators",  # behind the roles' beginning and end; its words in shared memory get places next
    # Fences must see which allocations share memory.
    "allocate-onchip",
    "insert-fences",
    "overlap-products",  # past what needs no barrier
    "check-accesses",  # last: what the others did on the strength of a proof stays as it is
)

# Printed IR kept for `kernel.ir(level)`: the level's name and the pass after which it is taken.
LEVELS = {"tile": "verify-ownership", "layout": "fold-layouts", "simt": "check-accesses"}

Timings = dict[str, float]
Holds = Callable[[str], bool]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """IR is full of cycles: the collector would walk it all again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_INSTANCES: dict[str, ModulePass] = {}


def _pass(name: str) -> ModulePass:
    if name not in _INSTANCES:
        found = pass_class(name)
        assert found is not None, name
        _INSTANCES[name] = found()
    return _INSTANCES[name]


def set_target(module: ModuleOp, target: Target) -> None:
    """Names the target in the module. Raises CompileError where the module names another one."""
    from xdsl.dialects.builtin import StringAttr

    named = module.attributes.get(TARGET_ATTRIBUTE)
    if isinstance(named, StringAttr) and named.data != target.name:
        raise CompileError(
            "target/conflict",
            f"the module is for {named.data}, not for {target.name}",
            location=location_of(module),
            help=f"drop the attribute {TARGET_ATTRIBUTE} or give --target {named.data}",
        )
    module.attributes[TARGET_ATTRIBUTE] = StringAttr(target.name)


def run_passes(
    module: ModuleOp,
    target: Target,
    *,
    after: Callable[[str, ModuleOp], None] | None = None,
    timings: Timings | None = None,
) -> None:
    """Runs the pipeline in place. With TILEOPT_VERIFY=1 each pass's invariants are checked before and after it."""
    set_target(module, target)
    ctx = _context()
    check = _checker() if os.environ.get("TILEOPT_VERIFY") == "1" else None
    for name in PASSES:
        if name == "cse" and target.checking and not _has_tiles(module):
            continue  # what a thread reads is looked at even where nothing comes of it
        start = time.perf_counter()
        if check is not None:
            check(name, module, "before")
        _pass(name).apply(ctx, module)
        if check is not None:
            check(name, module, "after")
        if timings is not None:
            timings[name] = time.perf_counter() - start
        if after is not None:
            after(name, module)


def _has_tiles(module: ModuleOp) -> bool:
    from tileopt.dialects import tile

    return any(isinstance(kernel, tile.Kernel) for kernel in module.body.block.ops)


_CONTEXT: Context | None = None


def _context() -> Context:
    global _CONTEXT
    if _CONTEXT is None:
        from tileopt.dialects.xdsl_compat import create_context

        _CONTEXT = create_context()
    return _CONTEXT


def _checker() -> Callable[[str, ModuleOp, str], None]:
    from tileopt.dialects.verifier import verify
    from tileopt.passes.invariants import check

    def both(name: str, module: ModuleOp, when: str) -> None:
        check(name, module, when)
        if when == "after":
            verify(module)

    return both


def compile_module(
    module: ModuleOp,
    target: Target,
    timings: Timings | None = None,
    holds: Holds | None = None,
    given: tuple[str, ...] = (),
) -> CompiledModule:
    """One kernel's module (consumed) to the target's code. Raises CompileError and its kin.

    `holds`: whether a relation between extents holds in all launches that the code is for. Of those that would prove
    an access inside or fix where a loop ends, the ones that do are taken as given; `conditions` has them then.
    `given`: relations that hold in all of those launches whatever they prove.
    """
    with _no_garbage_collection():
        check_target(_only_kernel(module), target.name, target.arch, target.kind)
        levels: dict[str, str | Callable[[], str]] = {}
        kept = {name: level for level, name in LEVELS.items()}

        guards: tuple[str, ...] = ()
        assumed: tuple[str, ...] = ()

        def keep(name: str, now: ModuleOp) -> None:
            nonlocal guards, assumed
            if name == "elide-bounds":
                guards, assumed = _specialise(now, holds, given)
            if name in kept:
                copy = now if name == PASSES[-1] else now.clone()
                levels[kept[name]] = copy.__str__

        stages = _only_kernel(module).integer(NUM_STAGES)
        asked = _only_kernel(module).integer(OCCUPANCY)
        run_passes(module, target, after=keep, timings=timings)
        start = time.perf_counter()
        llvm = emit_llvm(module, target)
        if timings is not None:
            timings["emit-llvm"] = time.perf_counter() - start
        start = time.perf_counter()
        ptx = emit_ptx(llvm, target) if target.kind == "cuda" else None
        if timings is not None:
            timings["emit-ptx"] = time.perf_counter() - start
        kernel = _only_kernel(module)
        return CompiledModule(
            name=kernel.sym_name.data,
            target=target.name,
            kind=target.kind,
            threads=_attribute(kernel, "simt.threads", 32),
            shared_bytes=_attribute(kernel, "simt.shared_bytes", 0),
            params=parameters(kernel),
            ir=levels,
            llvm=llvm,
            ptx=ptx,
            report=describe(kernel, target, stages),
            conditions=(*launch_conditions(kernel), *assumed),
            guards=guards,
            assumed=assumed,
            checks=check_sites(kernel),
            block=kernel.block or (),
            persistent=kernel.integer(PERSISTENT) or 0,
            cluster=cluster_blocks(kernel),
            occupancy=asked,
            trace=_trace(kernel) if target.checking else None,
        )


def _specialise(
    module: ModuleOp, holds: Holds | None, given: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Proves accesses once more with the relations that hold; gives all that would help, and those.

    The kernel's contract stays what its author wrote: whether a kernel is accepted is no matter of a launch's extents.
    """
    kernel = _only_kernel(module)
    guards = kernel.relations(GUARDS)
    assumed = given if holds is None else (*given, *filter(holds, guards))
    if assumed:
        contract = kernel.relations(REQUIRES)
        kernel.set_relations(REQUIRES, [*contract, *assumed])
        kernel.set_relations(GUARDS, [])
        for name in ("fold-minima", "elide-bounds"):
            _pass(name).apply(_context(), module)
        kernel.set_relations(REQUIRES, contract)
    return guards, assumed


def _trace(kernel: KernelOp) -> object:
    """What the records mean; None for a kernel that has none."""
    from tileopt.backends.cpu.check.sites import trace_of

    return trace_of(kernel)


def emit_llvm(module: ModuleOp, target: Target) -> str:
    """SIMT IR to LLVM IR text."""
    if target.kind == "cuda":
        from tileopt.backends.nvidia.emit import emit_llvm as emit

        return emit(module, target)
    from tileopt.backends.cpu.emit import emit_llvm as emit_cpu

    return emit_cpu(module, target)


def emit_ptx(llvm: str, target: Target) -> str:
    """LLVM IR text to PTX."""
    from tileopt.backends.nvidia.emit import to_ptx

    return to_ptx(llvm, target)


def run_to(module: ModuleOp, target: str | Target, stage: str, *, lowered: bool = False) -> str | bytes:
    """The module at a stage: "mlir" (SIMT IR), "llvm", "ptx" or "cubin". `lowered`: the target's passes have run."""
    named = get_target(target) if isinstance(target, str) else target
    with _no_garbage_collection():
        if not lowered:
            run_passes(module, named)
        if stage == "mlir":
            return str(module)
        llvm = emit_llvm(module, named)
        if stage == "llvm":
            return llvm
        if named.kind != "cuda":
            raise CompileError("target/no-ptx", f"{named.name} has no {stage}", help="give --target sm_90a, say")
        ptx = emit_ptx(llvm, named)
        if stage == "ptx":
            return ptx
        from tileopt.backends.nvidia.ptxas import assemble

        return assemble(ptx, named.name).cubin


def _only_kernel(module: ModuleOp) -> KernelOp:
    from tileopt.dialects.kernel import KernelOp

    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
    if len(kernels) != 1:
        raise CompileError("compile/kernels", f"a launch needs a module with one kernel, this one has {len(kernels)}")
    return kernels[0]


def _attribute(kernel: KernelOp, name: str, default: int) -> int:
    from xdsl.dialects.builtin import IntegerAttr

    found = kernel.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default


def parameters(kernel: KernelOp) -> tuple[ParamSlot, ...]:
    """The kernel's expanded arguments."""
    from tileopt.dialects.dtypes import DTYPES
    from tileopt.dialects.tensor_map import tensor_maps
    from tileopt.dialects.tile_types import ViewType

    names: dict[Attribute, str] = {d.ir: name for name, d in reversed(DTYPES.items())}
    slots: list[ParamSlot] = []
    for index, type_ in enumerate(kernel.function_type.inputs.data):
        if isinstance(type_, ViewType):
            slots.append(ParamSlot(index, SlotKind.POINTER, dtype=names[type_.element_type]))
            slots += [ParamSlot(index, SlotKind.EXTENT, axis) for axis in range(type_.rank)]
            slots += [ParamSlot(index, SlotKind.STRIDE, axis) for axis in range(type_.rank)]
        else:
            slots.append(ParamSlot(index, SlotKind.SCALAR, dtype=names[type_]))
    if PERSISTENT in kernel.attributes:
        slots += [ParamSlot(0, SlotKind.GRID, axis) for axis in range(3)]
    for found in tensor_maps(kernel):
        kind = SlotKind.TENSOR_MAP
        slots.append(ParamSlot(found.parameter, kind, 0, found.dtype, found.order, found.box, found.swizzle))
    if has_record(kernel):
        slots.append(ParamSlot(len(kernel.function_type.inputs.data), SlotKind.ERROR))
    return tuple(slots)


__all__ = ["PASSES", "compile_module", "run_passes", "run_to", "targets"]
