"""What a thread tells the host: text to print, and conditions that must hold; and the clock.

They stand in kernels of both tracks; in a kernel of tiles they are about scalars, which all threads of a block share.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import string
from tileopt.dialects.diagnostics import counted
from tileopt.dialects.printf import conversions

MAX_FORMAT = 1 << 12  # bytes; so much of a line nobody reads


@irdl_op_definition
class Printf(IRDLOperation):
    """Prints values by a format string (see `dialects.printf`); on a GPU when the host synchronises. `once`: one thread
    of the block does."""

    name = "simt.printf"
    values = var_operand_def()
    format = prop_def(string("format"))
    once = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())  # neither dropped nor moved
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$values attr-dict (`:` type($values)^)?"

    def verify_(self) -> None:
        assert isinstance(self.format, StringAttr)
        text = self.format.data
        if "\0" in text or len(text.encode()) > MAX_FORMAT:
            raise VerifyException(f"a format has at most {MAX_FORMAT} bytes and no NUL among them")
        try:
            found = list(conversions(text))
        except ValueError as error:
            raise VerifyException(str(error)) from error
        if len(found) != len(self.values):
            values = counted(len(self.values), "value", "values")
            raise VerifyException(f"the format prints {len(found)} and is given {values}")
        for conversion, value in zip(found, self.values, strict=True):
            if str(value.type) != conversion.operand or conversion.kind == "s" or conversion.length not in ("", "ll"):
                raise VerifyException(f"'{conversion.text}' does not print {value.type}")


@irdl_op_definition
class Assert(IRDLOperation):
    """Stops the kernel unless the condition holds; what follows may rely on it."""

    name = "simt.assert"
    condition = operand_def(eq(i1))
    message = prop_def(string("message"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())  # neither dropped nor moved
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$condition attr-dict"


@irdl_op_definition
class Clock(IRDLOperation):
    """A counter of the multiprocessor's cycles, or of the CPU's; only differences mean something."""

    name = "simt.clock"
    result = result_def(eq(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())  # each call is one of its own, in its place
    assembly_format = "attr-dict"


HostOps: list[type[Operation]] = [Printf, Assert, Clock]
