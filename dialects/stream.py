"""The stream dialect: host programs, that is buffers with owners and the work that streams do on them.

A buffer has one owner. A launch *borrows* a buffer that its kernel only reads, *owns* one that it writes (exclusively,
until the launch is over; then it is the program's again), or is given it for good (*move*). Work on one stream runs in
order; work on two streams runs in any order, unless an event or a synchronisation orders it. A graph is work that was
captured; a replay is that work at its place in a stream. `verify-ownership` holds programs to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, BlockArgument, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    eq,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryAllocEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.tile_types import ViewType, check_element

I64 = eq(i64)


class Holding(StrEnum):
    """What a program may do with a buffer."""

    OWNED = "owned"  # anything; the program frees, moves or returns it
    BORROWED = "borrowed"  # read it; it is the caller's


class Mode(StrEnum):
    """How a launch takes an argument."""

    VALUE = "value"  # a scalar
    BORROW = "borrow"  # a buffer that the kernel reads
    OWN = "own"  # a buffer that the kernel reads and writes, and that comes back
    MOVE = "move"  # a buffer that does not come back


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """`!stream.buffer<?x64xf32, owned>`: an array in device memory and who owns it."""

    name = "stream.buffer"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    holding: StringAttr

    @property
    def owned(self) -> bool:
        return self.holding.data == Holding.OWNED

    @property
    def dynamic(self) -> int:
        """How many extents are known at run time only."""
        return sum(n.data == DYNAMIC_INDEX for n in self.shape.data)

    def fits(self, view: ViewType) -> bool:
        """Whether a kernel's view may look at such a buffer."""
        ours, theirs = self.shape.data, view.shape.data
        return (
            self.element_type == view.element_type
            and len(ours) == len(theirs)
            and all(b.data in (a.data, DYNAMIC_INDEX) for a, b in zip(ours, theirs, strict=True))
        )

    def verify(self) -> None:
        check_element(self.element_type)
        if self.holding.data not in tuple(Holding):
            raise VerifyException(f"a buffer is owned or borrowed, not '{self.holding.data}'")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            holding = parser.parse_identifier()
        return [ArrayAttr([IntAttr(n) for n in dims]), element, StringAttr(holding)]

    def print_parameters(self, printer: Printer) -> None:
        dims = "".join(("?" if n.data == DYNAMIC_INDEX else str(n.data)) + "x" for n in self.shape.data)
        with printer.in_angle_brackets():
            printer.print_string(dims)
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.holding.data}")


@irdl_attr_definition
class StreamType(ParametrizedAttribute, TypeAttribute):
    """`!stream.stream`: a queue of work that runs in order."""

    name = "stream.stream"


@irdl_attr_definition
class EventType(ParametrizedAttribute, TypeAttribute):
    """`!stream.event`: a point in a stream's work."""

    name = "stream.event"


@irdl_attr_definition
class GraphType(ParametrizedAttribute, TypeAttribute):
    """`!stream.graph`: work that was captured, to be run any number of times."""

    name = "stream.graph"


BUFFER, STREAM, EVENT, GRAPH = BaseAttr(BufferType), eq(StreamType()), eq(EventType()), eq(GraphType())


def owned_buffer(value: SSAValue, what: str) -> None:
    """Verifies that a buffer is the program's own."""
    if isinstance(value.type, BufferType) and not value.type.owned:
        raise VerifyException(f"{what} needs an owned buffer, got {value.type}")


@irdl_op_definition
class Program(IRDLOperation):
    """A host program. Its owned arguments are its own from the start."""

    name = "stream.program"
    body = region_def("single_block")
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())
    RESERVED: ClassVar[tuple[str, ...]] = ("sym_name", "function_type")

    def verify_(self) -> None:
        block = self.body.block
        if tuple(block.arg_types) != self.function_type.inputs.data:
            raise VerifyException("the body's arguments differ from the program's type")
        last = block.last_op
        if not isinstance(last, Return):
            raise VerifyException("a program ends with stream.return")
        if tuple(v.type for v in last.values) != self.function_type.outputs.data:
            raise VerifyException("what the program returns differs from its type")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, inputs, outputs, region, extra, _, _ = parse_func_op_like(parser, reserved_attr_names=cls.RESERVED)
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(list(inputs), list(outputs)),
        }
        return cls.create(
            properties=properties, attributes=dict(extra.data) if extra is not None else {}, regions=[region]
        )

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=None,
            reserved_attr_names=self.RESERVED,
        )


@irdl_op_definition
class Return(IRDLOperation):
    """Ends the program and gives the buffers to its caller."""

    name = "stream.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(Program))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def verify_(self) -> None:
        for value in self.values:
            if not isinstance(value.type, BufferType):
                raise VerifyException(f"a program returns buffers, not {value.type}")
            owned_buffer(value, "a return")


@irdl_op_definition
class Create(IRDLOperation):
    """Makes a stream."""

    name = "stream.create"
    result = result_def(STREAM)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class Alloc(IRDLOperation):
    """Takes device memory, in the order of a stream. One size for each `?` of the type."""

    name = "stream.alloc"
    sizes = var_operand_def(I64)
    stream = operand_def(STREAM)
    result = result_def(BUFFER)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "`(` $sizes `)` `on` $stream attr-dict `:` type($result)"

    def verify_(self) -> None:
        type_ = self.result.type
        assert isinstance(type_, BufferType)
        if not type_.owned:
            raise VerifyException("what is allocated is owned")
        if type_.dynamic != len(self.sizes):
            raise VerifyException(f"{len(self.sizes)} sizes for the {type_.dynamic} run-time extents of {type_}")


@irdl_op_definition
class Free(IRDLOperation):
    """Gives device memory back, in the order of a stream."""

    name = "stream.free"
    buffer = operand_def(BUFFER)
    stream = operand_def(STREAM)
    traits = traits_def(MemoryFreeEffect())
    assembly_format = "$buffer `on` $stream attr-dict `:` type($buffer)"

    def verify_(self) -> None:
        owned_buffer(self.buffer, "a free")


@irdl_op_definition
class Copy(IRDLOperation):
    """Copies all elements from one buffer to another of the same type."""

    name = "stream.copy"
    source = operand_def(BUFFER)
    target = operand_def(BUFFER)
    stream = operand_def(STREAM)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$source `to` $target `on` $stream attr-dict `:` type($source) `,` type($target)"

    def verify_(self) -> None:
        owned_buffer(self.target, "the target of a copy")
        source, target = self.source.type, self.target.type
        assert isinstance(source, BufferType) and isinstance(target, BufferType)
        if (source.shape, source.element_type) != (target.shape, target.element_type):
            raise VerifyException(f"{source} and {target} differ in shape or element type")


@irdl_op_definition
class Record(IRDLOperation):
    """An event that comes when the work that is now on the stream is done."""

    name = "stream.record"
    stream = operand_def(STREAM)
    result = result_def(EVENT)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$stream attr-dict"


@irdl_op_definition
class Wait(IRDLOperation):
    """Later work on the stream begins after the event."""

    name = "stream.wait"
    stream = operand_def(STREAM)
    event = operand_def(EVENT)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$stream `,` $event attr-dict"


@irdl_op_definition
class Sync(IRDLOperation):
    """The program itself waits until the stream's work is done."""

    name = "stream.sync"
    stream = operand_def(STREAM)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$stream attr-dict"


@irdl_op_definition
class Launch(IRDLOperation):
    """`stream.launch @k grid(%gx, %gy, %gz) on %s (borrow %x, own %y, %n) : types`: runs a kernel of either track."""

    name = "stream.launch"
    kernel = prop_def(SymbolRefAttr)
    modes = prop_def(ArrayAttr[StringAttr])
    grid = var_operand_def(I64)
    stream = operand_def(STREAM)
    arguments = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def mode(self, index: int) -> Mode:
        """How the launch takes one argument."""
        return Mode(self.modes.data[index].data)

    def verify_(self) -> None:
        if len(self.grid) != 3:
            raise VerifyException(f"a grid has 3 extents, got {len(self.grid)}")
        if len(self.modes.data) != len(self.arguments):
            raise VerifyException(f"{len(self.modes.data)} modes for {len(self.arguments)} arguments")
        for word, value in zip(self.modes.data, self.arguments, strict=True):
            if word.data not in tuple(Mode):
                raise VerifyException(f"an argument is borrowed, owned, moved or a value, not '{word.data}'")
            if (word.data == Mode.VALUE) is isinstance(value.type, BufferType):
                raise VerifyException(f"an argument of type {value.type} cannot be taken by '{word.data}'")
            if word.data in (Mode.OWN, Mode.MOVE):
                owned_buffer(value, f"'{word.data}'")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kernel = SymbolRefAttr(parser.parse_symbol_name())
        parser.parse_characters("grid")
        grid = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_characters("on")
        stream = parser.resolve_operand(parser.parse_unresolved_operand(), StreamType())

        def argument() -> tuple[StringAttr, object]:
            word = parser.parse_optional_identifier() or Mode.VALUE.value
            return StringAttr(word), parser.parse_unresolved_operand()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        arguments = parser.resolve_operands([p[1] for p in pairs], types, parser.pos)  # type: ignore[misc]
        op = cls.build(
            operands=[[parser.resolve_operand(g, i64) for g in grid], stream, arguments],
            properties={"kernel": kernel, "modes": ArrayAttr([p[0] for p in pairs])},
            attributes=dict(attributes.data) if attributes is not None else {},
        )
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.root_reference.data)
        printer.print_string(" grid(")
        printer.print_list(self.grid, printer.print_ssa_value)
        printer.print_string(") on ")
        printer.print_ssa_value(self.stream)
        printer.print_string(" (")

        def argument(pair: tuple[StringAttr, SSAValue]) -> None:
            if pair[0].data != Mode.VALUE:
                printer.print_string(f"{pair[0].data} ")
            printer.print_ssa_value(pair[1])

        printer.print_list(zip(self.modes.data, self.arguments, strict=False), argument)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : (")
        printer.print_list([a.type for a in self.arguments], printer.print_attribute)
        printer.print_string(")")


@irdl_op_definition
class Graph(IRDLOperation):
    """`stream.graph on %q (%a = %x : type, %n = %m : i64) { ... }`: captures the work of a stream without running it.

    The body's arguments are that stream and names for buffers and numbers of the program. The buffers stay the
    program's: what the graph does with them is done by each replay.
    """

    name = "stream.graph"
    arguments = var_operand_def()
    result = result_def(GRAPH)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), MemoryAllocEffect())

    @property
    def work(self) -> list[Launch | Copy]:
        """The launches and copies in their order."""
        return [op for op in self.body.block.ops if isinstance(op, Launch | Copy)]

    def outside(self, value: SSAValue) -> SSAValue:
        """What a buffer or a number of the body is in the program: of a constant of the body, itself."""
        return self.arguments[value.index - 1] if isinstance(value, BlockArgument) else value

    def verify_(self) -> None:
        if self.body.block.arg_types != (StreamType(), *self.arguments.types):
            raise VerifyException("the arguments of a graph's body are a stream and what the graph takes")
        seen: set[SSAValue] = set()
        for value in self.arguments:
            if not isinstance(value.type, BufferType | IntegerType | IndexType | AnyFloat):
                raise VerifyException(f"a graph takes buffers and numbers, not {value.type}")
            if isinstance(value.type, BufferType) and value in seen:
                raise VerifyException("a graph takes each buffer once: two names would hide that they are one")
            seen.add(value)
        for op in self.body.block.ops:
            if not isinstance(op, Launch | Copy) and not op.has_trait(ConstantLike):
                raise VerifyException(f"a graph has launches, copies and constants, not '{op.name}'")
            if isinstance(op, Launch) and any(word.data == Mode.MOVE for word in op.modes.data):
                raise VerifyException("a graph that moves a buffer could be replayed once only: use 'own'")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_characters("on")
        queue = parser.parse_argument(expect_type=False).resolve(StreamType())

        def argument() -> tuple[Parser.Argument, SSAValue]:
            name = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
            return name.resolve(type_), parser.resolve_operand(value, type_)

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([queue, *(name for name, _ in pairs)])
        return cls.build(
            operands=[[value for _, value in pairs]],
            result_types=[GraphType()],
            regions=[body],
            attributes=dict(attributes.data) if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        queue, *names = self.body.block.args
        printer.print_string(" on ")
        printer.print_ssa_value(queue)
        printer.print_string(" (")

        def argument(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_ssa_value(pair[0])
            printer.print_string(" = ")
            printer.print_ssa_value(pair[1])
            printer.print_string(" : ")
            printer.print_attribute(pair[1].type)

        printer.print_list(zip(names, self.arguments, strict=True), argument)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class Replay(IRDLOperation):
    """Runs the work of a graph once more, in the order of a stream."""

    name = "stream.replay"
    graph = operand_def(GRAPH)
    stream = operand_def(STREAM)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$graph `on` $stream attr-dict"


StreamOps: list[type[Operation]] = [
    Program, Return, Create, Alloc, Free, Copy, Record, Wait, Sync, Launch, Graph, Replay,
]  # fmt: skip

Stream = Dialect("stream", StreamOps, [BufferType, StreamType, EventType, GraphType])
