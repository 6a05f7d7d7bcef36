"""What `tile.kernel` and `simt.kernel` share: a symbol, typed arguments with contracts, one body, no results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import is_power_of_two
from tileopt.dialects.conditions import wrong_condition
from tileopt.dialects.contracts import ContractAttr
from tileopt.dialects.dtypes import DTYPES
from tileopt.dialects.tile_types import ViewType

CONTRACT = "tile.contract"  # argument attribute: #tile.contract of an array parameter
NAME = "tile.name"  # argument attribute: the parameter's name in the source
DIVISOR = "tile.divisor"  # argument attribute: a power of two that divides an integer parameter
UNSIGNED = "tile.unsigned"  # argument attribute: the host reads the parameter's bits as an unsigned number

NO_WRAP = "tile.no_wrap"  # unit attribute of scf.for: the step cannot pass the end of the induction value's type
UNROLL = "tile.unroll"  # unit attribute of scf.for: a GPU's code shall hold a copy of the body for each number

SCALAR_TYPES: frozenset[Attribute] = frozenset(d.ir for d in DTYPES.values() if not d.name.startswith("f8"))
MAX_WARPS = 32
MAX_THREADS = 1024
MAX_CLUSTER = 16

# Attributes of kernels that say what a thread does.
BLOCK = "simt.block"  # array<i64: x, y, z>: the block's extents
MAX_BLOCK = "simt.max_threads"  # the most threads that a block may have
PERSISTENT = "simt.persistent"  # blocks of a multiprocessor, which take the blocks of the launch in turn
OCCUPANCY = "tile.occupancy"  # the hint: blocks of a multiprocessor
MIN_BLOCKS = "simt.min_blocks"  # blocks that a multiprocessor shall hold at once
DYNAMIC_SHARED = "simt.dynamic_shared"  # bytes of shared memory besides the static ones
CLUSTER = "simt.cluster"  # array<i64: x, y, z>: blocks of a cluster
REQUIRES = "simt.requires"  # array of strings: relations that the host checks at each launch; see `requires`
GUARDS = "simt.guards"  # array of strings: relations between extents; code for launches where they hold is better
GRID_RANK = "simt.grid_rank"  # axes that the grid may have
MIN_ARCH = "simt.min_arch"  # the least target that the kernel is for, as "sm_80"
# What becomes of indices that are not proved, if not a test: "unchecked" or "denied"; "kept": all are tested.
CHECKS = "simt.checks"
CHECKS_WORDS = ("unchecked", "denied", "kept")
RECORDED = "simt.recorded"  # unit: what threads do to memory is recorded as they run
EARLY_LOADS = "tile.early_loads"  # set by prefetch-loads: some loads are made ahead of their iterations
NUM_CTAS = "tile.num_ctas"  # the hint: blocks of a cluster, which load together what they share
MANUAL_BARRIERS = "simt.manual_barriers"  # the source says where threads meet: no pass adds barriers


def _integer(holds: Callable[[int], bool]) -> Callable[[Attribute], bool]:
    return lambda value: isinstance(value, IntegerAttr) and holds(value.value.data)


def _is_extents(limit: int) -> Callable[[Attribute], bool]:
    """Three positive extents whose product is not above the limit."""

    def holds(value: Attribute) -> bool:
        if not isinstance(value, DenseArrayBase) or not isinstance(value.elt_type, IntegerType) or len(value) != 3:
            return False
        extents = tuple(int(n) for n in value.get_values())
        return all(n >= 1 for n in extents) and prod(extents) <= limit

    return holds


def _is_strings(value: Attribute) -> bool:
    return isinstance(value, ArrayAttr) and all(isinstance(a, StringAttr) for a in value.data)


def _is_flag(value: Attribute) -> bool:
    return isinstance(value, UnitAttr) or (isinstance(value, IntegerAttr) and value.type == IntegerType(1))


# Attributes of the kernel op: what each is, and whether a value is that.
_ATTRIBUTES: dict[str, tuple[str, Callable[[Attribute], bool]]] = {
    "tile.num_warps": (
        f"a power of two up to {MAX_WARPS}",
        _integer(lambda n: is_power_of_two(n) and n <= MAX_WARPS),
    ),
    "tile.num_stages": ("a positive integer", _integer(lambda n: n > 0)),
    NUM_CTAS: (
        f"a power of two up to {MAX_CLUSTER}",
        _integer(lambda n: is_power_of_two(n) and n <= MAX_CLUSTER),
    ),
    "tile.fma": ("true or false", _is_flag),
    "tile.fast_math": ("true or false", _is_flag),
    OCCUPANCY: ("1 to 32", _integer(lambda n: 1 <= n <= 32)),
    "tile.exp2_eighths": ("0 to 8", _integer(lambda n: 0 <= n <= 8)),
    "tile.late_waits": ("true or false", _is_flag),
    "tile.take_turns": ("true or false", _is_flag),
    "simt.threads": (f"1 to {MAX_THREADS}", _integer(lambda n: 1 <= n <= MAX_THREADS)),
    "simt.shared_bytes": ("a size in bytes", _integer(lambda n: n >= 0)),
    BLOCK: (f"three extents of at most {MAX_THREADS} threads", _is_extents(MAX_THREADS)),
    MAX_BLOCK: (f"1 to {MAX_THREADS}", _integer(lambda n: 1 <= n <= MAX_THREADS)),
    MIN_BLOCKS: ("a positive integer", _integer(lambda n: n > 0)),
    PERSISTENT: ("a positive integer", _integer(lambda n: n > 0)),
    DYNAMIC_SHARED: ("a size in bytes", _integer(lambda n: n >= 0)),
    CLUSTER: (f"three extents of at most {MAX_CLUSTER} blocks", _is_extents(MAX_CLUSTER)),
    REQUIRES: ("an array of strings", _is_strings),
    GUARDS: ("an array of strings", _is_strings),
    GRID_RANK: ("1, 2 or 3", _integer(lambda n: 1 <= n <= 3)),
    MIN_ARCH: ("a string", lambda value: isinstance(value, StringAttr)),
    CHECKS: (
        " or ".join(f'"{word}"' for word in CHECKS_WORDS),
        lambda v: isinstance(v, StringAttr) and v.data in CHECKS_WORDS,
    ),
    EARLY_LOADS: ("true or false", _is_flag),
    MANUAL_BARRIERS: ("true or false", _is_flag),
}


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
        """The parameter's name in the source; in plain IR that of the argument, `%name`, or `%index`."""
        name = self.arg_attr(index, NAME)
        if isinstance(name, StringAttr):
            return name.data
        block = self.body.blocks.first
        hints = [argument.name_hint for argument in block.args] if block is not None else []
        # xDSL's hints lack numbers at their ends: %x_0 and %x_1 are both "x".
        hint = hints[index] if index < len(hints) else None
        return f"%{index}" if hint is None or hints.count(hint) > 1 else f"%{hint}"

    def contract(self, index: int) -> ContractAttr | None:
        """What the host promises about an array argument."""
        found = self.arg_attr(index, CONTRACT)
        return found if isinstance(found, ContractAttr) else None

    def integer(self, name: str) -> int | None:
        """One integer attribute of the kernel."""
        found = self.attributes.get(name)
        return found.value.data if isinstance(found, IntegerAttr) else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """One attribute of the kernel that is a unit or a bool."""
        found = self.attributes.get(name)
        return bool(found.value.data) if isinstance(found, IntegerAttr) else default or found is not None

    @property
    def block(self) -> tuple[int, ...] | None:
        """The block's extents, where they are fixed."""
        found = self.attributes.get(BLOCK)
        return tuple(int(n) for n in found.get_values()) if isinstance(found, DenseArrayBase) else None

    def verify_(self) -> None:
        if not isinstance(self.parent_op(), ModuleOp | None):
            raise VerifyException("a kernel stands in a module")
        block = self.body.blocks.first
        if block is None or block.next_block is not None:
            raise VerifyException("a kernel's body is one block")
        if tuple(block.arg_types) != self.function_type.inputs.data:
            raise VerifyException("the body's arguments differ from the kernel's type")
        if self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")
        ending = f"{self.name.partition('.')[0]}.return"
        if block.last_op is None or block.last_op.name != ending:
            raise VerifyException(f"a kernel ends with {ending}")
        if self.arg_attrs is not None and len(self.arg_attrs) != len(block.args):
            raise VerifyException(f"arg_attrs has {len(self.arg_attrs)} entries for {len(block.args)} arguments")
        for index, argument in enumerate(block.args):
            self._verify_argument(index, argument.type)
        for name, (meaning, holds) in _ATTRIBUTES.items():
            value = self.attributes.get(name)
            if value is not None and not holds(value):
                raise VerifyException(f"{name} is {meaning}, not {value}")
        self._verify_relations(REQUIRES)
        self._verify_relations(GUARDS)

    def relations(self, attribute: str) -> tuple[str, ...]:
        """The texts in an attribute of relations: `simt.requires` or `simt.guards`."""
        found = self.attributes.get(attribute)
        return tuple(t.data for t in found.data if isinstance(t, StringAttr)) if isinstance(found, ArrayAttr) else ()

    def set_relations(self, attribute: str, texts: Iterable[str]) -> None:
        """Replaces an attribute of relations, each of which is kept once; none leaves no attribute."""
        kept = [StringAttr(text) for text in dict.fromkeys(texts)]
        if kept:
            self.attributes[attribute] = ArrayAttr(kept)
        else:
            self.attributes.pop(attribute, None)

    def _verify_relations(self, attribute: str) -> None:
        arrays: set[str] = set()
        scalars: set[str] = set()
        for index, type_ in enumerate(self.function_type.inputs.data):
            name = self.arg_attr(index, NAME)
            if isinstance(name, StringAttr):
                (arrays if isinstance(type_, ViewType) else scalars).add(name.data)
        for text in self.relations(attribute):
            wrong = wrong_condition(text, arrays, scalars)
            if wrong is not None:
                raise VerifyException(f'{attribute} has "{text}": {wrong}')

    def _verify_argument(self, index: int, type_: Attribute) -> None:
        name = self.arg_name(index)
        if not isinstance(type_, ViewType) and type_ not in SCALAR_TYPES:
            raise VerifyException(
                f"{name} is {type_}; an argument is a view or a scalar (i1, i8 to i64, f16, bf16, f32, f64)"
            )
        if not isinstance(self.arg_attr(index, NAME), StringAttr | None):
            raise VerifyException(f"{NAME} of argument {index} is not a string")
        contract = self.arg_attr(index, CONTRACT)
        if contract is not None:
            if not isinstance(contract, ContractAttr) or not isinstance(type_, ViewType):
                raise VerifyException(f"{CONTRACT} of {name} is not a #tile.contract of a view")
            if len(contract.shape_div) != type_.rank:
                raise VerifyException(f"the contract of {name} does not fit {type_}")
        divisor = self.arg_attr(index, DIVISOR)
        if divisor is not None:
            if not isinstance(type_, IntegerType):
                raise VerifyException(f"{DIVISOR} is given of {name}, which is no integer")
            if not isinstance(divisor, IntegerAttr) or not is_power_of_two(divisor.value.data):
                raise VerifyException(f"{DIVISOR} of {name} is a power of two, not {divisor}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        name, inputs, outputs, region, extra, arg_attrs, _ = parse_func_op_like(
            parser, reserved_attr_names=cls.RESERVED
        )
        if list(outputs):
            parser.raise_error("a kernel returns nothing", start)
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


def cluster_blocks(kernel: KernelOp) -> int:
    """Blocks of a cluster; 1 where blocks come alone."""
    found = kernel.attributes.get(CLUSTER)
    return prod(int(n) for n in found.get_values()) if isinstance(found, DenseArrayBase) else 1
