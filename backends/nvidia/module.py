"""A kernel's function: parameters as the ABI has them, what the host promises about them, the launch bounds."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import SSAValue

from tileopt.backends.llvm import types
from tileopt.backends.llvm.emitter import Emitter, Output, TargetBackend
from tileopt.backends.llvm.faults import ERROR
from tileopt.backends.llvm.query import grid_parameter
from tileopt.backends.llvm.values import View
from tileopt.backends.nvidia import tma
from tileopt.backends.nvidia.memory import GLOBAL
from tileopt.dialects import simt
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.diagnostics import TargetError, UnsupportedError, location_of
from tileopt.dialects.gpu_words import CpAsyncElements
from tileopt.dialects.kernel import CLUSTER, MIN_BLOCKS, PERSISTENT
from tileopt.dialects.simt import SHARED_BYTES, Kernel
from tileopt.dialects.simt_thread import ElementLoad, ElementStore
from tileopt.dialects.target import Target
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType

# From these driver and PTX limits on, ptxas would refuse what no user can read.
PARAMETER_BYTES = 4096
PORTABLE_CLUSTER = 8  # blocks of a cluster that every GPU with clusters runs
_NAMED = (ElementLoad, ElementStore, CpAsyncElements)  # what names elements, of which LLVM looks for neighbours
EXTENT = "range(i64 0, 9223372036854775807)"


def emit_kernel(output: Output, backend: TargetBackend, target: Target, kernel: Kernel) -> None:
    """Writes the kernel's function. Raises TargetError where the target cannot hold the block."""
    emitter = Emitter(output, backend, kernel)
    _check_limits(emitter, target)
    parameters = _define_arguments(emitter)
    emitter.block = "body"
    emitter.emit_block(kernel.body.block)
    emitter.line("ret void")
    faults = _fault_lines(emitter)
    name = _symbol(kernel)
    lines = [
        f"define ptx_kernel void @{name}({', '.join(parameters)}) nounwind {_bounds(emitter)} {{",
        "entry:",
        *emitter.entry,
        "  br label %body",
        "body:",
        *emitter.lines,
        *faults,
        "}",
    ]
    output.functions.append("\n".join(line for line in lines if line))


def _bounds(emitter: Emitter) -> str:
    """The block, the blocks of a multiprocessor, the blocks of a cluster, as LLVM's attributes of the function."""
    kernel = emitter.kernel
    words = [f'"nvvm.reqntid"="{emitter.threads}"']
    blocks = kernel.integer(MIN_BLOCKS)
    if blocks is not None:
        words.append(f'"nvvm.minctasm"="{blocks}"')
    cluster = kernel.attributes.get(CLUSTER)
    if isinstance(cluster, DenseArrayBase):
        words.append(f'"nvvm.cluster_dim"="{",".join(str(n) for n in cluster.get_values())}"')
    return " ".join(words)


def _fault_lines(emitter: Emitter) -> list[str]:
    """Where failed checks go. The first thread leaves the record in the host's memory and stops the grid; others end,
    lest they stop it before the record is whole."""
    lines = [
        f"  %fault.pair = cmpxchg {GLOBAL} {ERROR}, i64 0, i64 %fault.site monotonic monotonic, align 8",
        "  %fault.first = extractvalue { i64, i1 } %fault.pair, 1",
        "  br i1 %fault.first, label %fault.write, label %fault.end",
        "fault.write:",
    ]
    words = ["%fault.index", "%fault.length"]
    for axis in "xyz":
        callee = emitter.declare(f"i32 @llvm.nvvm.read.ptx.sreg.ctaid.{axis}()")
        lines.append(f"  %fault.{axis} = call i32 {callee}()")
        lines.append(f"  %fault.b{axis} = zext i32 %fault.{axis} to i64")
        words.append(f"%fault.b{axis}")
    lines.append("  %fault.number = zext i32 %fault.thread to i64")
    for number, word in enumerate([*words, "%fault.number"], 1):
        lines.append(f"  %fault.p{number} = getelementptr i64, {GLOBAL} {ERROR}, i64 {number}")
        lines.append(f"  store i64 {word}, {GLOBAL} %fault.p{number}, align 8")
    trap = emitter.declare("void @llvm.trap()")
    lines += ["  fence seq_cst", f"  call void {trap}()", "  unreachable", "fault.end:", "  ret void"]
    return emitter.faults.lines(lines)


def _define_arguments(emitter: Emitter) -> list[str]:
    """Gives the kernel's arguments their values; the text of the parameters."""
    out: list[str] = []
    size = 0
    for index, argument in enumerate(emitter.kernel.body.block.args):
        type_ = argument.type
        if not isinstance(type_, ViewType):
            element = emitter.element(type_)
            size += 8
            if element == "i1":
                out.append(f"i8 %a{index}.byte")
                with emitter.in_entry():
                    emitter.values[argument] = emitter.assign(f"icmp ne i8 %a{index}.byte, 0")
            else:
                out.append(f"{element} %a{index}")
                emitter.values[argument] = f"%a{index}"
            continue
        contract = emitter.kernel.contract(index)
        axes = range(type_.rank)
        unit = None if contract is None else contract.unit_axis
        align = types.bytes_of(types.llvm_type(type_.element_type))
        align = align if contract is None else max(align, contract.align)
        out.append(f"{GLOBAL} {_aliasing(argument)}align {align} %a{index}")
        out += [f"i64 {EXTENT} %a{index}.n{axis}" for axis in axes]
        out += [f"i64 %a{index}.s{axis}" for axis in axes]
        size += 8 + 16 * type_.rank
        emitter.values[argument] = View(
            f"%a{index}",
            tuple(f"%a{index}.n{axis}" if n == DYNAMIC else str(n) for axis, n in enumerate(type_.get_shape())),
            tuple("1" if axis == unit else f"%a{index}.s{axis}" for axis in axes),
            type_,
            unit,
            align,
        )
        if contract is not None:
            _assume_strides(emitter, argument, contract)
    if PERSISTENT in emitter.kernel.attributes:
        out += [f"i64 {EXTENT} {grid_parameter(axis)}" for axis in range(3)]
        size += 24
    for text in tma.parameters(emitter.kernel):
        out.append(text)
        size = -(-size // 64) * 64 + tma.MAP_BYTES
    if emitter.faults.any:
        out.append(f"{GLOBAL} align 8 {ERROR}")
        size += 8
    if size > PARAMETER_BYTES:
        raise UnsupportedError(
            "backend/arguments",
            f"the kernel's parameters take {size} bytes, a GPU passes {PARAMETER_BYTES}",
            location=location_of(emitter.kernel),
        )
    return out


def _assume_strides(emitter: Emitter, argument: SSAValue, contract: ContractAttr) -> None:
    """Tells LLVM what divides the strides of an array whose elements are named one by one, so that it can join
    neighbours to one wide access, and sees what copies are aligned. Accesses to tiles are wide already."""
    if not any(isinstance(use.operation, _NAMED) for use in argument.uses):
        return
    for stride, divisor in zip(emitter.view(argument).strides, contract.stride_div, strict=True):
        if divisor > 1 and stride.startswith("%"):
            with emitter.in_entry():
                rest = emitter.assign(f"and i64 {stride}, {divisor - 1}")
                multiple = emitter.assign(f"icmp eq i64 {rest}, 0")
                emitter.line(f"call void {emitter.declare('void @llvm.assume(i1)')}(i1 {multiple})")


def _aliasing(view: SSAValue) -> str:
    """What LLVM may assume: no owned array of a launch overlaps another (the runtime sees to it), shared ones are read.

    Of an array that is both read and written LLVM must think that a barrier changes it: other threads may have.
    """
    assert isinstance(view.type, ViewType)
    if view.type.access.data == Access.ATOMIC:
        return ""
    if not view.type.owned:
        return "noalias readonly captures(none) "
    written_only = all(
        isinstance(use.operation, simt.FragmentStore | simt.Dim | simt.Phase | ElementStore) for use in view.uses
    )
    return "noalias captures(none) " if written_only else ""


def _check_limits(emitter: Emitter, target: Target) -> None:
    kernel = emitter.kernel
    needed = kernel.attributes.get(SHARED_BYTES)
    shared = getattr(getattr(needed, "value", None), "data", 0)
    if shared > target.shared_bytes:
        raise TargetError(
            "target/shared-memory",
            f"a block needs {shared} bytes of shared memory, {target.name} has {target.shared_bytes}",
            location=location_of(kernel),
            help="use smaller tiles or fewer stages",
        )
    if CLUSTER in kernel.attributes and target.arch < 90:
        raise TargetError(
            "target/cluster",
            f"{target.name} has no clusters of blocks",
            location=location_of(kernel),
            help="compile for sm_90 or later, or drop cluster=",
        )
    cluster = kernel.attributes.get(CLUSTER)
    if isinstance(cluster, DenseArrayBase) and prod(cluster.get_values()) > PORTABLE_CLUSTER:
        raise TargetError(
            "target/cluster",
            f"a cluster of {prod(cluster.get_values())} blocks, {target.name} promises {PORTABLE_CLUSTER}",
            location=location_of(kernel),
            help="make the cluster smaller",
        )
    if not 0 < emitter.threads <= target.max_threads:
        raise TargetError(
            "target/threads",
            f"a block of {emitter.threads} threads, {target.name} runs 1 to {target.max_threads}",
            location=location_of(kernel),
        )


def _symbol(kernel: simt.Kernel) -> str:
    """The kernel's name, of the letters, digits, `_` and `$` that PTX knows."""
    name = kernel.sym_name.data
    if name and all(c.isalnum() and c.isascii() or c in "_$" for c in name) and not name[0].isdigit():
        return name
    raise UnsupportedError(
        "backend/symbol",
        f"{name!r} cannot name a GPU kernel",
        location=location_of(kernel),
        help="use letters, digits and _",
    )
