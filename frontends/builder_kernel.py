"""What the builders of both tracks share: a kernel's parameters, specialised to a signature."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block

from tileopt.dialects.contracts import (
    ArraySpec,
    ConstSpec,
    ContractAttr,
    Hints,
    Parameter,
    ParamKind,
    ScalarSpec,
    Signature,
    Spec,
)
from tileopt.dialects.diagnostics import KernelTypeError
from tileopt.dialects.dtypes import DTYPES, DType
from tileopt.dialects.kernel import CONTRACT, DIVISOR, NAME, UNSIGNED
from tileopt.dialects.tile_types import DYNAMIC, Access, ViewType
from tileopt.frontends.builder_host import HostTalk
from tileopt.frontends.builder_values import Array, Value

_ACCESS = {
    ParamKind.IN: Access.SHARED,
    ParamKind.OUT: Access.OWNED,
    ParamKind.INOUT: Access.OWNED,
    ParamKind.ATOMIC: Access.ATOMIC,
}


class KernelBase(HostTalk):
    """`arguments` holds an `Array`, a `Value` or, for a compile-time constant, the Python value of each parameter."""

    def __init__(
        self, name: str, parameters: Sequence[Parameter], signature: Signature, hints: Hints | None = None
    ) -> None:
        super().__init__()
        self.name = re.sub(r"\W", "_", name) or "kernel"
        self.parameters = tuple(parameters)
        self.signature = signature
        self.hints = hints or Hints()
        self.arguments: dict[str, object] = {}
        self._inputs: list[Attribute] = []
        self._arg_attrs: list[dict[str, Attribute]] = []
        types: list[tuple[Parameter, Spec]] = []
        for parameter in parameters:
            spec = signature.get(parameter.name)
            if spec is None:
                raise KernelTypeError("kernel/signature", f"the signature lacks '{parameter.name}'")
            types.append((parameter, spec))
            self._declare(parameter, spec)
        self.entry = self.block = Block(arg_types=self._inputs)
        self._bind(types)

    def _declare(self, parameter: Parameter, spec: Spec) -> None:
        name, kind = parameter.name, parameter.kind
        attrs: dict[str, Attribute] = {NAME: StringAttr(name)}
        if kind.is_array and isinstance(spec, ArraySpec):
            dtype = _dtype(spec.dtype, name)
            if parameter.dtype not in (None, spec.dtype) or parameter.rank not in (None, spec.rank):
                rank = "any rank" if parameter.rank is None else f"rank {parameter.rank}"
                raise KernelTypeError(
                    "kernel/argument-type",
                    f"'{name}' is declared with {parameter.dtype or 'any'} elements and {rank}, "
                    f"not {spec.dtype} and rank {spec.rank}",
                )
            self._inputs.append(ViewType.of([DYNAMIC] * spec.rank, dtype.ir, _ACCESS[kind]))
            attrs[CONTRACT] = ContractAttr.of(spec)
        elif kind is ParamKind.SCALAR and isinstance(spec, ScalarSpec):
            self._inputs.append(_dtype(spec.dtype, name).ir)
            if _dtype(spec.dtype, name).kind == "u":
                attrs[UNSIGNED] = UnitAttr()
            if spec.divisor > 1:
                attrs[DIVISOR] = IntegerAttr(spec.divisor, i64)
        elif kind is ParamKind.CONST and isinstance(spec, ConstSpec):
            return
        else:
            raise KernelTypeError(
                "kernel/signature", f"'{name}' is a parameter of kind '{kind.value}': {spec} does not describe one"
            )
        self._arg_attrs.append(attrs)

    def _bind(self, types: Sequence[tuple[Parameter, Spec]]) -> None:
        arguments = iter(self.entry.args)
        for parameter, spec in types:
            if isinstance(spec, ConstSpec):
                self.arguments[parameter.name] = spec.value
                continue
            argument = next(arguments)
            argument.name_hint = parameter.name
            if isinstance(spec, ArraySpec):
                made = Array(parameter.name, DTYPES[spec.dtype], spec.rank, parameter.kind, argument)
                self.arguments[parameter.name] = made
            else:
                self.arguments[parameter.name] = Value(DTYPES[spec.dtype], (), argument)

    def array(self, name: str) -> Array:
        """An array parameter."""
        found = self.arguments[name]
        assert isinstance(found, Array)
        return found


def _dtype(name: str, parameter: str) -> DType:
    if name not in DTYPES:
        raise KernelTypeError(
            "kernel/signature", f"'{parameter}' has the unknown type '{name}'", help=f"one of {', '.join(DTYPES)}"
        )
    return DTYPES[name]
