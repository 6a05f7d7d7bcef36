"""What the passes say about one kernel: the part of `kernel.report` that needs no assembler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileopt.backends.llvm.faults import memory_name, tested_axes
from tileopt.dialects.diagnostics import location_of
from tileopt.passes.safety.verify_ownership import unused_axes
from tileopt.passes.schedule.expand_scaled import EXPANDED

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from tileopt.dialects.kernel import KernelOp
    from tileopt.dialects.target import Target


def describe(kernel: KernelOp, target: Target, stages: int | None) -> dict[str, object]:
    """What the passes decided: outcomes of accesses, ownership proofs, atoms of products, threads, shared and tensor
    memory, and the schedule (see `schedule_report`). `stages`: the hint. All of it goes into JSON."""
    from xdsl.ir import BlockArgument

    from tileopt.backends.schedule_report import schedule
    from tileopt.dialects import gpu, gpu_accumulator, gpu_tensor, gpu_tma, gpu_wgmma, simt, simt_atomic, simt_thread

    elements = (simt_thread.ElementLoad, simt_thread.ElementStore, simt_atomic.AtomicRmw, simt_atomic.AtomicCas)
    verbs: dict[type, str] = {
        simt.FragmentStore: "store to",
        simt.FragmentAtomic: "atomic on",
        gpu_tma.TmaStore: "store to",
    }
    fragments = (
        simt.FragmentLoad,
        simt.FragmentStore,
        simt.FragmentAtomic,
        gpu.CpAsync,
        gpu_tma.TmaLoad,
        gpu_tma.TmaStore,
    )
    accesses: list[str] = []
    atoms: list[str] = []
    barriers = columns = 0
    for op in kernel.walk():
        if isinstance(op, fragments) and op.bounds is not None:
            place = location_of(op)
            line = f"line {place.line}: " if place is not None else ""
            name = kernel.arg_name(op.view.index) if isinstance(op.view, BlockArgument) else "?"
            verb = verbs.get(type(op), "load of")
            axes = f" on axes {list(op.bounds.axes)}" if op.bounds.axes else ""
            accesses.append(f"{line}{verb} {name}: {op.bounds.outcome}{axes} ({op.bounds.reason})")
        elif isinstance(op, elements):
            accesses.append(_element_report(kernel, op, memory_name(kernel, op.mem)))
        elif isinstance(op, simt_thread.CheckIndex):
            accesses.append(_element_report(kernel, op, op.array.data))
        elif isinstance(op, gpu.MmaSync | gpu_wgmma.Wgmma | gpu_accumulator.Accumulate):
            atoms.append(op.atom.data)
        elif isinstance(op, gpu_tensor.Tcgen05Alloc):
            columns += op.columns.value.data
        elif isinstance(op, simt.Dot):
            atoms.append("fma")
        elif isinstance(op, simt.Barrier):
            barriers += 1
    return {
        "bounds": accesses,
        "ownership": _said(kernel, "tile.ownership"),
        "atoms": sorted(set(atoms)),
        "expanded": _said(kernel, EXPANDED),
        "unused_axes": list(unused_axes(kernel)),
        "barriers": barriers,
        "threads": kernel.integer(simt.THREADS) or 32,
        "shared_bytes": kernel.integer(simt.SHARED_BYTES) or 0,
        "tensor_columns": columns,
        **schedule(kernel, target, stages),
    }


def _said(kernel: KernelOp, name: str) -> list[str]:
    """The lines that a pass left in an attribute of the kernel."""
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    found = kernel.attributes.get(name)
    return [s.data for s in found.data if isinstance(s, StringAttr)] if isinstance(found, ArrayAttr) else []


_VERBS = {"simt.element_load": "load of", "simt.element_store": "store to", "simt.check_index": "part of"}


def _element_report(kernel: KernelOp, op: Operation, name: str) -> str:
    """A line of the report on an access to one element, or on a part of an array."""
    from tileopt.dialects.bounds import BoundsAttr

    place, bounds = location_of(op), op.properties.get("bounds")
    line = f"line {place.line}: " if place is not None else ""
    verb = _VERBS.get(op.name, "atomic on")
    if not isinstance(bounds, BoundsAttr):
        return f"{line}{verb} {name}: checked on axes {list(tested_axes(op))} (not analysed)"
    axes = f" on axes {list(bounds.axes)}" if bounds.axes else ""
    return f"{line}{verb} {name}: {bounds.outcome}{axes} ({bounds.reason})"
