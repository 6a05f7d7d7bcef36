"""The one module through which we touch what is version-sensitive in xDSL.

xDSL's parser keeps no line numbers, its verifier prints whole modules, and both may fail with any Python exception on
malformed text. Here each op gets the place it was read from, and each failure becomes a `CompileError` with its place.
"""

from __future__ import annotations

import bisect
import difflib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.utils.exceptions import (
    DiagnosticException,
    MultipleSpansParseError,
    ParseError,
    VerifyException,
)
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind, StringLiteral

from tileopt.dialects.diagnostics import (
    CompileError,
    Location,
    TileoptError,
    too_deep,
)
from tileopt.dialects.plugins import add_new
from tileopt.dialects.registry import DialectFactory, dialect_factories

# MLIR's own limit. Wider integers cost memory for their range check alone.
_MAX_INTEGER_BITS = (1 << 24) - 1
# Python converts at most 4300 decimal digits; as many hexadecimal digits are a few more decimal ones.
_MAX_LITERAL_LENGTH = 3500
# What xDSL says of a word that is no type, in lower case.
_NO_TYPE = ("expected shape type", "type expected")
# xDSL stores a splat as all its elements.
_MAX_DENSE_BYTES = 1 << 26


class PluginContext(Context):
    """A context that looks for a plugin when it meets a dialect that nothing of ours defines."""

    _plugins_added = False

    def _add_plugins(self) -> None:
        if not self._plugins_added:
            self._plugins_added = True
            for name, factory in add_new(self._registered_dialects, "dialects").items():
                self.register_dialect(name, factory)

    def _search(self, name: str) -> None:
        dialect, _, rest = name.partition(".")
        if rest and dialect not in self._registered_dialects:
            self._add_plugins()

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        self._search(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._search(name)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._search(name)
        return super().get_optional_attr(name)


def create_context(
    dialects: Mapping[str, DialectFactory] | None = None, *, allow_unregistered: bool = False
) -> Context:
    """A context with the given dialects, by default all of the registry. Each is imported when it is first used."""
    ctx = PluginContext(allow_unregistered=allow_unregistered)
    for name, factory in (dialect_factories() if dialects is None else dialects).items():
        ctx.register_dialect(name, factory)
    return ctx


class _Lexer(MLIRLexer):
    """xDSL's lexer, whose pattern for strings takes exponential time on a line with a quote that does not close."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')


class LocatedParser(Parser):
    """xDSL's parser, keeping for each op and block argument the file, line and column that it was read from."""

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._file = StringAttr(name)
        self._name_positions: list[int] = []
        self._first_uses: dict[str, Span[str]] = {}
        self._regions: list[int] = []  # where the open ones begin

    def _fileloc(self, position: int) -> FileLineColLoc:
        line = bisect.bisect_right(self._starts, position)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(position - self._starts[line - 1] + 1))

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        # As MLIR does, an op's place is that of its name, not of its first result.
        self._name_positions.append(self.pos)
        return results

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        position = self._name_positions.pop()
        if op.location is UNKNOWN_LOC:
            op.location = self._fileloc(position)
        return op

    def parse_optional_region(self, arguments: Sequence[Parser.Argument] | None = None) -> Region | None:
        for argument in arguments or ():
            if argument.location is None:
                argument.location = self._fileloc(argument.name.start)
        self._regions.append(self.pos)
        region = super().parse_optional_region(arguments)
        self._regions.pop()
        return region

    def _parse_block(self) -> Block:
        token = self._current_token
        if token.kind is MLIRTokenKind.EOF and self._regions:
            text = self.lexer.input.content
            end, start = len(text.rstrip()), self._regions[-1]
            begin = self.place(start)
            raise CompileError(
                "parse/syntax",
                f"the file ends inside the block that begins at {begin.line}:{begin.column}: a '}}' is missing",
                location=self.place(max(end - 1, start)),
                help="close each block by '}'",
                notes=[("the block begins here", begin)],
            )
        if token.kind is not MLIRTokenKind.CARET_IDENT:
            raise self._no_op("an op, a block ^name: or '}'")
        return super()._parse_block()

    def place(self, position: int) -> Location:
        """The line and column of a position in the text."""
        return _place(Span(position, position, self.lexer.input))

    def _no_op(self, expected: str) -> CompileError:
        """The error of a text that is no op, where one is expected."""
        span = self._current_token.span
        rest = span.input.content[span.start : span.start + 2]
        help = "a comment begins with // and ends with its line" if rest == "/*" else None
        found = "/*" if rest == "/*" else span.text
        return CompileError(
            "parse/syntax", f"{expected} is expected here, not '{found}'", location=_place(span), help=help
        )

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            module = super().parse_module(allow_implicit_module)
        except ParseError as error:
            # A text without ops is an empty module, as in MLIR.
            if error.msg != "Could not parse entire input!":
                raise
            if not self.at_end:
                if self._current_token.kind is MLIRTokenKind.R_BRACE:
                    place = self.place(self._current_token.span.start)
                    raise CompileError("parse/syntax", "this '}' closes no block", location=place) from None
                raise self._no_op("an op") from None
            module = ModuleOp([])
        if module.location is UNKNOWN_LOC:
            module.location = self._fileloc(0)
        return module

    def _get_op_by_name(self, name: str) -> type[Operation]:
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is None:
            place = _place(Span(self._name_positions[-1], self._name_positions[-1], self.lexer.input))
            raise CompileError(
                "parse/unknown-op", f"unknown op '{name}'", location=place, help=_similar(name, self.ctx)
            )
        return known

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        if operand.operand_name not in self.ssa_values:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def failed_span(self, error: Exception) -> Span[str]:
        """Where `error` came up: at the op whose types or attributes are wrong, once they were read; else here."""
        if isinstance(error, VerifyException) and self._name_positions:
            position = self._name_positions[-1]
            return Span(position, position, self.lexer.input)
        return self._current_token.span

    @property
    def at_end(self) -> bool:
        return self._current_token.kind is MLIRTokenKind.EOF and not self._name_positions

    def undefined_value(self) -> CompileError | None:
        """Once all is read: the first use of a value that nothing defines."""
        uses = [
            (self._first_uses[name].start, name) for name in self.forward_ssa_references if name in self._first_uses
        ]
        if not uses:
            return None
        _, name = min(uses)
        return CompileError("parse/undefined-value", f"%{name} is not defined", location=_place(self._first_uses[name]))

    def parse_optional_str_literal(self) -> str | None:
        # xDSL prints what is not ASCII as escaped bytes, and reads it back as bytes instead of as the string it was.
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        try:
            text = StringLiteral.from_span(token.span).bytes_contents.decode()
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    # What follows bounds the memory and the time that a few bytes of text can ask for.

    def parse_optional_integer(self, allow_boolean: bool = True, allow_negative: bool = True) -> int | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.INTEGER_LIT and len(token.span) > _MAX_LITERAL_LENGTH:
            self.raise_error(f"integer literals are limited to {_MAX_LITERAL_LENGTH} digits")
        return super().parse_optional_integer(allow_boolean, allow_negative)

    def _parse_optional_integer_or_float_type(self) -> Any:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT:
            width = token.text.lstrip("su")[1:]
            if len(width) > 7 and self._builtin_integer_type_regex.match(token.text):
                if len(width) > 9 or int(width) > _MAX_INTEGER_BITS:
                    self.raise_error(f"integer bitwidth is limited to {_MAX_INTEGER_BITS} bits")
        return super()._parse_optional_integer_or_float_type()

    def _parse_dense_literal_type(self) -> Any:
        start = self.pos
        shaped = super()._parse_dense_literal_type()
        if math.prod(shaped.get_shape()) * shaped.get_element_type().compile_time_size > _MAX_DENSE_BYTES:
            self.raise_error(
                f"dense constants are limited to {_MAX_DENSE_BYTES} bytes",
                start,
                self.pos,
            )
        return shaped

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        start = self.pos
        self.parse_punctuation("<", " in dense attribute")
        listed = (
            MLIRTokenKind.L_SQUARE,
            MLIRTokenKind.STRING_LIT,
            MLIRTokenKind.GREATER,
        )
        if type is not None or self._current_token.kind in listed:
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        # A splat. xDSL converts each of its elements: 60 ms for a 128x256 tile, where one will do.
        elements, _ = self._parse_tensor_literal()
        self.parse_punctuation(">", " in dense attribute")
        self.parse_punctuation(":", " in dense attribute")
        shaped = self._parse_dense_literal_type()
        value: Any = elements[0].to_type(self, shaped.get_element_type())
        return DenseIntOrFPElementsAttr.from_list(shaped, [value])


def parse_module(ctx: Context, text: str, name: str = "<string>") -> ModuleOp:
    """Read a module; a `CompileError` of code `parse/...` with its place says what is wrong with the text."""
    parser: LocatedParser | None = None
    try:
        parser = LocatedParser(ctx, text, name)
        return parser.parse_module()
    except MultipleSpansParseError as error:
        notes = [(note or error.ref_text or "here", _place(span)) for span, note in error.refs]
        raise CompileError("parse/syntax", _tidy(error.msg), location=_place(error.span), notes=notes) from error
    except ParseError as error:
        if parser is not None and parser.at_end and (undefined := parser.undefined_value()) is not None:
            raise undefined from error
        message = _tidy(error.msg)
        if message.lower().rstrip(".") in _NO_TYPE and error.span.text.isidentifier():
            message = f"'{error.span.text}' is no type"
        end = len(text.rstrip()) - 1
        if error.span.start > end >= 0:  # where no line could be shown
            message = f"the file ends too early: {message}"
            place = None if parser is None else parser.place(end)
            raise CompileError("parse/syntax", message, location=place) from error
        raise CompileError("parse/syntax", message, location=_place(error.span)) from error
    except TileoptError:
        raise
    except Exception as error:
        failed = None if parser is None else _place(parser.failed_span(error))
        raise as_error("parse/invalid", error, failed) from error


def _place(span: Span[str] | Span[bytes]) -> Location:
    text = span.input.content
    assert isinstance(text, str)
    at = min(span.start, len(text))
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    source = text[start : len(text) if end < 0 else end]
    return Location(span.input.name, text.count("\n", 0, at) + 1, at - start + 1, source)


def _similar(name: str, ctx: Context) -> str | None:
    close = difflib.get_close_matches(name, [op.name for op in ctx.loaded_ops], n=1, cutoff=0.7)
    return f"did you mean '{close[0]}'?" if close else None


def _tidy(message: str) -> str:
    return " ".join(message.split())


def as_error(code: str, error: Exception, place: Location | None) -> CompileError:
    """What a failure of xDSL on malformed input says to the user; a failure of our own code stays what it is."""
    match error:
        case RecursionError():
            return too_deep("the IR", place, "name inner types and attributes (!name, #name), take regions apart")
        case MemoryError():
            return CompileError("limits/memory", "needs more memory than there is", location=place)
        case DiagnosticException() | ValueError() | OverflowError() | NotImplementedError():
            return CompileError(code, _tidy(str(error)) or type(error).__name__, location=place)
        case _ if raised_upstream(error):
            return CompileError(
                code,
                f"malformed ({type(error).__name__}: {_tidy(str(error))})",
                location=place,
            )
        case _:
            raise error


def raised_upstream(error: BaseException) -> bool:
    """Whether the innermost of xDSL's and our frames on the way to `error` is xDSL's: it asserts on bad input."""
    package, traceback = "", error.__traceback__
    while traceback is not None:
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if name.startswith(("xdsl.", "tileopt.")):
            package = name
        traceback = traceback.tb_next
    return package.startswith("xdsl.")
