"""What `tile.kernel` and `simt.kernel` share: a symbol, typed arguments with contracts, one body, no results."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.contracts import ContractAttr

CONTRACT = "tile.contract"  # argument attribute: #tile.contract of an array parameter
NAME = "tile.name"  # argument attribute: the parameter's name in the source
DIVISOR = "tile.divisor"  # argument attribute: a power of two that divides an integer parameter


class KernelOp(IRDLOperation):
    """Base of the kernel ops. Arguments are views and scalars; each may carry attributes (see the names above)."""

    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    RESERVED: ClassVar[tuple[str, ...]] = ("sym_name", "function_type", "arg_attrs")

    @classmethod
    def make(
        cls,
        name: str,
        inputs: list[Attribute],
        body: Region | None = None,
        arg_attrs: list[dict[str, Attribute]] | None = None,
        attributes: dict[str, Attribute] | None = None,
    ) -> Self:
        """A kernel of this name; `body` is by default one empty block with the arguments."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, []),
        }
        if arg_attrs is not None:
            properties["arg_attrs"] = ArrayAttr([DictionaryAttr(a) for a in arg_attrs])
        region = body if body is not None else Region(Block(arg_types=inputs))
        return cls.create(properties=properties, attributes=attributes or {}, regions=[region])

    def arg_attr(self, index: int, name: str) -> Attribute | None:
        """One attribute of one argument."""
        if self.arg_attrs is None:
            return None
        return self.arg_attrs.data[index].data.get(name)

    def arg_name(self, index: int) -> str:
        """The parameter's name in the source, or `%index`."""
        name = self.arg_attr(index, NAME)
        return name.data if isinstance(name, StringAttr) else f"%{index}"

    def contract(self, index: int) -> ContractAttr | None:
        """What the host promises about an array argument."""
        found = self.arg_attr(index, CONTRACT)
        return found if isinstance(found, ContractAttr) else None

    def verify_(self) -> None:
        block = self.body.blocks.first
        if block is None or block.next_block is not None:
            raise VerifyException("a kernel's body is one block")
        if tuple(block.arg_types) != self.function_type.inputs.data:
            raise VerifyException("the body's arguments differ from the kernel's type")
        if self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")
        if self.arg_attrs is not None:
            if len(self.arg_attrs) != len(block.args):
                raise VerifyException("arg_attrs must name each argument once")
            for index, argument in enumerate(block.args):
                contract = self.contract(index)
                rank = getattr(argument.type, "rank", None)
                if contract is not None and len(contract.shape_div) != rank:
                    raise VerifyException(f"the contract of {self.arg_name(index)} does not fit {argument.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, inputs, outputs, region, extra, arg_attrs, _ = parse_func_op_like(
            parser, reserved_attr_names=cls.RESERVED
        )
        if list(outputs):
            parser.raise_error("a kernel returns nothing")
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(list(inputs), []),
        }
        if arg_attrs is not None:
            properties["arg_attrs"] = arg_attrs
        attributes = dict(extra.data) if extra is not None else {}
        return cls.create(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            reserved_attr_names=self.RESERVED,
        )
