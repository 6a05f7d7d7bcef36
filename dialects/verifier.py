"""Whether a module's ops keep their invariants.

xDSL's own verifier recurses, prints the whole module, and stops at the first error.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.diagnostics import CompileError, TileoptError, location_of
from tileopt.dialects.xdsl_compat import as_error


def walk(root: Operation) -> Iterator[Operation]:
    """`root` and the ops in it, each before its own regions. Unlike xDSL's, it does not recurse."""
    stack = [root]
    while stack:
        op = stack.pop()
        yield op
        for region in reversed(op.regions):
            for block in reversed(tuple(region.blocks)):
                stack.extend(reversed(tuple(block.ops)))


def verify_module(module: Operation) -> list[CompileError]:
    """Every violated invariant of the module's ops; where there is none, every use that its value does not reach."""
    from tileopt.dialects.dominance import check_dominance

    errors: list[CompileError] = []
    broken: set[Operation] = set()
    # Inner ops first: the verifier of an op may rely on those of the ops in it.
    for op in reversed(tuple(walk(module))):
        error = None if op in broken else _verify_op(op)
        if error is not None:
            errors.append(error)
        if (error is not None or op in broken) and (parent := op.parent_op()) is not None:
            broken.add(parent)
    return errors[::-1] if errors else check_dominance(module)


def verify(module: Operation) -> None:
    """Raise the first error of `verify_module`."""
    for error in verify_module(module):
        raise error


def _verify_op(op: Operation) -> CompileError | None:
    code, place = f"verify/{op.name}", location_of(op)
    try:
        _verify_structure(op)
        _verify_symbols(op)
        op.verify_()
    except TileoptError as error:
        return error if isinstance(error, CompileError) else CompileError(code, error.message, location=place)
    except Exception as error:
        return as_error(code, error, place)
    return None


def _verify_structure(op: Operation) -> None:
    """What xDSL checks of an op's place among blocks, without printing the module at a failure."""
    block = op.parent
    region = None if block is None else block.parent
    if op.successors:
        if block is None or region is None or block.last_op is not op:
            raise VerifyException("an op with successors must end its block")
        if any(successor.parent is not region for successor in op.successors):
            raise VerifyException("branches to a block of another region")
    for inner in op.regions:
        first = inner.first_block
        if first is None or op.has_trait(NoTerminator):
            continue
        if first.next_block is None and first.last_op is None:
            raise VerifyException("the block of its region is empty, and must end with a terminator")
        for body in inner.blocks:
            _verify_terminator(body, many=first.next_block is not None)


def _verify_symbols(op: Operation) -> None:
    """Each symbol of a table is defined once. xDSL blames the table; the error belongs to the second definition."""
    if not op.has_trait(SymbolTable):
        return
    known: dict[str, Operation] = {}
    for inner in (o for region in op.regions for block in region.blocks for o in block.ops):
        name = inner.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        first = known.setdefault(name.data, inner)
        if first is not inner:
            raise CompileError(
                f"verify/{op.name}",
                f"redefinition of symbol {name.data!r}",
                location=location_of(inner),
                notes=[("the first definition is here", location_of(first))],
            )


def _verify_terminator(block: Block, *, many: bool) -> None:
    last = block.last_op
    if last is None:
        if many:
            raise VerifyException("one of its blocks is empty, and must end with a terminator")
    elif not last.has_trait(IsTerminator):
        raise VerifyException(f"its block ends with '{last.name}', which is not a terminator")
