"""Kernels that are given as IR, launched like those of a frontend."""

from __future__ import annotations

import hashlib

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute

from tileopt.backends.runtime.arrays import itemsize
from tileopt.dialects.contracts import ArraySpec, Hints, Parameter, ParamKind, ScalarSpec, Signature
from tileopt.dialects.diagnostics import LaunchError, Location, article, location_of
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.kernel import DIVISOR, UNSIGNED, KernelOp
from tileopt.dialects.tile_types import Access, ViewType

_NAMES: dict[Attribute, str] = {d.ir: name for name, d in reversed(DTYPES.items())}
_KINDS = {Access.SHARED: ParamKind.IN, Access.OWNED: ParamKind.INOUT, Access.ATOMIC: ParamKind.ATOMIC}


class IrKernel:
    """A kernel op as the runtime sees kernels: see `KernelDefinition`. The op is not changed."""

    hints = Hints()

    def __init__(self, op: KernelOp) -> None:
        self.op = op
        self.name = op.sym_name.data
        self.parameters = tuple(_parameter(op, i) for i in range(len(op.function_type.inputs.data)))
        self._digest = hashlib.sha256(str(op).encode()).hexdigest()

    @property
    def location(self) -> Location | None:
        return location_of(self.op)

    def fingerprint(self) -> str:
        """The digest of its text."""
        return self._digest

    def places(self) -> str:
        """Where each of its ops came from."""
        return "\n".join(str(location_of(op)) for op in self.op.walk())

    def build(self, signature: Signature) -> ModuleOp:
        """A module with the kernel. Raises LaunchError (`launch/contract`) where the arguments break its contract."""
        for index, parameter in enumerate(self.parameters):
            spec = signature[parameter.name]
            broken = None
            if isinstance(spec, ArraySpec):
                broken = self._broken(index, spec)
            elif isinstance(spec, ScalarSpec):
                divisor = self.op.arg_attr(index, DIVISOR)
                if isinstance(divisor, IntegerAttr) and spec.divisor % min(divisor.value.data, 16):
                    broken = f"be a multiple of {divisor.value.data}"
            if broken is not None:
                raise LaunchError(
                    "launch/contract",
                    f"'{parameter.name}' of @{self.name} must {broken}: its code was written for such arguments",
                    location=self.location,
                    help="give an array that fits, or weaken tile.contract in the kernel",
                )
        return ModuleOp([self.op.clone()])

    def _broken(self, index: int, spec: ArraySpec) -> str | None:
        """What the contract promises of an array and this one does not keep."""
        contract = self.op.contract(index)
        if contract is None:
            return None
        if spec.align % min(contract.align, 16):
            return f"begin at a multiple of {contract.align} bytes"
        if contract.unit_axis is not None and contract.unit_axis != spec.unit_axis:
            return f"have stride 1 along axis {contract.unit_axis}"
        for word, wanted, given in (
            ("extent", contract.shape_div, spec.shape_div),
            ("stride", contract.stride_div, spec.stride_div),
        ):
            for axis, (want, have) in enumerate(zip(wanted, given, strict=True)):
                if have % min(want, 16):
                    return f"have along axis {axis} {article(word)} that {want} divides"
        if contract.small and not spec.small:
            return f"lie within 2^31 bytes, or {(1 << 31) // itemsize(spec.dtype)} elements"
        if contract.regular and not spec.regular:
            return "have positive strides"
        return None


def _parameter(op: KernelOp, index: int) -> Parameter:
    type_, name = op.function_type.inputs.data[index], op.arg_name(index)
    if isinstance(type_, ViewType):
        return Parameter(name, _KINDS[Access(type_.access.data)], _NAMES[type_.element_type], type_.rank)
    dtype = _NAMES[type_]
    return Parameter(name, ParamKind.SCALAR, f"u{dtype[1:]}" if op.arg_attr(index, UNSIGNED) is not None else dtype)
