"""PTX as text: one statement, or several, with operands that it names as $0, $1, ..., results first."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import UnitAttr, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import string

# PTX ISA, "Inline PTX": the letter of each kind of register, and what it holds.
REGISTERS: dict[str, tuple[Attribute, ...]] = {
    "h": (i16, f16, bf16), "r": (i32,), "l": (i64,), "f": (f32,), "d": (f64,), "b": (i1,),
}  # fmt: skip
_PLACE = re.compile(r"\$(\$|\d+)?")
MAX_TEXT = 1 << 16


@irdl_op_definition
class InlinePtx(IRDLOperation):
    """Runs `text`. `constraints` has a letter for each operand, results first and with `=`: h (16 bits), r (32), l
    (64), f, d, b (a predicate, operands only). `pure`: it neither reads nor writes memory, and may be merged or
    dropped. `model`: its results elsewhere than on a GPU, which the program computes beside; `modelled` where it has
    such or needs none."""

    name = "gpu.inline_ptx"
    inputs = var_operand_def()
    model = var_operand_def()
    text = prop_def(string("text"))
    constraints = prop_def(string("constraints"))
    pure = opt_prop_def(UnitAttr)
    modelled = opt_prop_def(UnitAttr)
    results_ = var_result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "`(` $inputs `)` `model` `(` $model `)` attr-dict `:` `(` type($inputs) `)` `model` `(` type($model) `)` `->` "
        "`(` type($results_) `)`"
    )

    def verify_(self) -> None:
        letters = [part.strip() for part in self.constraints.data.split(",")] if self.constraints.data else []
        outputs = [letter for letter in letters if letter.startswith("=")]
        if outputs != letters[: len(outputs)] or len(outputs) != len(self.results_):
            raise VerifyException(f"the constraints '{self.constraints.data}' name {len(self.results_)} results first")
        if len(letters) != len(self.results_) + len(self.inputs):
            raise VerifyException(
                f"{len(letters)} constraints for {len(self.results_)} results and {len(self.inputs)} operands"
            )
        for letter, value in zip(letters, (*self.results_, *self.inputs), strict=True):
            types = REGISTERS.get(letter.removeprefix("="))
            if types is None or letter == "=b":
                raise VerifyException(f"the constraint of a register is {', '.join(REGISTERS)}, not '{letter}'")
            if value.type not in types:
                raise VerifyException(f"a register '{letter}' does not hold {value.type}")
        for place in _PLACE.finditer(self.text.data):
            digits = place.group(1) or ""
            if digits != "$" and (not digits or len(digits) > 4 or int(digits) >= len(letters)):
                raise VerifyException(f"'{place.group()}' in the text names none of its {len(letters)} operands")
        if len(self.text.data) > MAX_TEXT or "\0" in self.text.data or not self.text.data.isascii():
            raise VerifyException("inline PTX is ASCII text of at most 64 KiB")
        if self.modelled is not None and [v.type for v in self.model] != [v.type for v in self.results_]:
            raise VerifyException("the model of inline PTX has its results' types")


InlineOps: list[type[Operation]] = [InlinePtx]
