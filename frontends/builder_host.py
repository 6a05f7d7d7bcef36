"""What a kernel tells the host: printed text and assertions, on both tracks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute

from tileopt.dialects import simt_host
from tileopt.dialects.diagnostics import counted
from tileopt.dialects.printf import FLOATS, Conversion, conversions
from tileopt.frontends.builder_scaled import Scaled
from tileopt.frontends.builder_values import BOOL, F64, I32, I64, Operand, Value, readable


class HostTalk(Scaled):
    """`printf`, `print` and `assert_`. A kernel of tiles prints once a block, one of threads in each thread."""

    prints_once = True

    def printf(self, format: str, values: Sequence[Operand | str]) -> None:
        """Prints as C does; conversions need no length, and `%s` takes a string that is known now.

        Raises KernelTypeError (`type/format`) where format and values do not fit.
        """
        try:
            found = list(conversions(format))
        except ValueError as error:
            raise self.error("type/format", str(error), "'%%' prints a percent sign") from None
        if len(found) != len(values):
            given = counted(len(values), "value is", "values are")
            raise self.error("type/format", f"the format prints {len(found)}, and {given} given")
        text, at = "", 0
        operands: list[Value] = []
        for conversion, thing in zip(found, values, strict=True):
            text += format[at : conversion.start]
            at = conversion.end
            if conversion.kind == "s" or isinstance(thing, str):
                text += self._string(conversion, thing)
                continue
            value = self._printable(conversion, self.as_value(thing))
            operands.append(value)
            text += f"%{conversion.spec}{'ll' if value.dtype is I64 else ''}{conversion.kind}"
        self._print(text + format[at:], operands)

    def print(self, things: Sequence[Operand | str], separator: str, end: str) -> None:
        """Prints as Python's print() does, floats as `%g`."""
        texts: list[str] = []
        values: list[Operand] = []
        for thing in things:
            if isinstance(thing, str):
                texts.append(thing.replace("%", "%%"))
                continue
            value = self.as_value(thing)
            if value.const is not None:
                texts.append(str(value.const))
                continue
            texts.append("%g" if value.dtype.is_float else "%u" if value.dtype.kind == "u" else "%d")
            values.append(value)
        self.printf(separator.replace("%", "%%").join(texts) + end.replace("%", "%%"), values)

    def _print(self, text: str, operands: Sequence[Value]) -> None:
        if "\0" in text or len(text.encode()) > simt_host.MAX_FORMAT:
            raise self.error("type/format", f"a format has at most {simt_host.MAX_FORMAT} bytes and no NUL among them")
        properties: dict[str, Attribute] = {"format": StringAttr(text)}
        if self.prints_once:
            properties["once"] = UnitAttr()
        self.emit(simt_host.Printf, [self.ssa(v) for v in operands], [], properties)

    def _string(self, conversion: Conversion, thing: Operand | str) -> str:
        if conversion.kind != "s" or not isinstance(thing, str):
            shown = "a string" if isinstance(thing, str) else readable(f"a {self.as_value(thing)}")
            raise self.error("type/format", f"'{conversion.text}' does not print {shown}", _HELP)
        return (f"%{conversion.spec}s" % thing).replace("%", "%%")

    def _printable(self, conversion: Conversion, value: Value) -> Value:
        """The value as C passes it: an i32 or i64, or a f64."""
        if not value.is_scalar:
            help = "print an element of it: tile.item() takes the one of a tile of one, reductions make one"
            raise self.error("type/format", f"printf() prints scalars, not a {value}", help)
        if value.dtype.is_float != (conversion.kind in FLOATS):
            raise self.error("type/format", f"'{conversion.text}' does not print a {value}", _HELP)
        if value.dtype.is_float:
            return self.cast(value, F64)
        if conversion.kind == "c" or value.dtype.bits < 64:
            # Of an unsigned type the bits are kept: whatever the format says, they are what C would be given.
            return self.cast(value, I32)
        return self.cast(value, I64)

    def assert_(self, condition: Operand, message: str) -> None:
        """Stops the kernel unless the condition holds."""
        held = self.cast(condition, BOOL)
        if held.const is True:
            return
        self.emit(simt_host.Assert, [self.ssa(held)], [], {"message": StringAttr(message)})


_HELP = "%d, %u and %x print integers, %f, %e and %g floats, %c a character, %s a string of the source"
