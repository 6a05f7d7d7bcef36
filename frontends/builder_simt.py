"""What every frontend builds kernels of threads with.

    contract = make_contract(block=(256,), requires=["len(x) == len(out)"])
    builder = SimtBuilder("scale", parameters, signature, contract)
    x, out = builder.array("x"), builder.array("out")
    i = builder.thread_index()
    def write():
        builder.set_element(out, [i], builder.binary("mul", 2.0, builder.element(x, [i])))
        return ()
    builder.if_(builder.compare("lt", i, builder.extent(out, 0)), write)
    module = builder.finish()

Operators, casts, functions and control flow are those of the tile builder, on scalars and on tiles, which all threads
of a block hold together.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Region

from tileopt.dialects import kernel as names
from tileopt.dialects import simt
from tileopt.dialects.diagnostics import OwnershipError
from tileopt.frontends.builder import Tiles
from tileopt.frontends.builder_barriers import Barriers
from tileopt.frontends.builder_core import remove_unused
from tileopt.frontends.requires import canonical, parse
from tileopt.frontends.witness import guards, names_thread, stands_in


class SimtBuilder(Barriers, Tiles):
    """Builds one kernel of threads, specialised to a signature and a block."""

    def requirements(self) -> list[str]:
        """The contract's relations in their canonical form. Raises CompileError (`contract/...`)."""
        result: list[str] = []
        for text in self.contract.requires:
            for relation in parse(text, self.parameters):
                made = canonical(relation, self.signature)
                if made is not None and made not in result:
                    result.append(made)
        return result

    def finish(self) -> ModuleOp:
        """Closes the kernel. The module names no target: whoever compiles it does.

        Raises OwnershipError (`ownership/foreign-index`) for a store to an owned array whose index names no thread.
        """
        attributes = self._attributes()
        with self.into(self.entry):
            self.emit(simt.Return, [], [])
        self._drop_unused_memory()
        self.splice_head()
        remove_unused(self.entry)
        self._check_stores()
        kernel = simt.Kernel.make(self.name, self._inputs, Region(self.entry), self._arg_attrs, attributes)
        kernel.location = self._place()
        module = ModuleOp([kernel])
        module.location = self._place()
        return module

    def _drop_unused_memory(self) -> None:
        """A loop whose variables change type is read again, and asks for its shared memory again."""
        for op in tuple(self.head.ops):
            if isinstance(op, simt.AllocShared) and op.result.first_use is None:
                op.detach()  # type: ignore[no-untyped-call]
                op.erase()

    def _check_stores(self) -> None:
        for op, array, place in self.stores:
            if not stands_in(op, self.entry):
                continue
            if names_thread(op.operands[2:]):
                op.properties["witness"] = UnitAttr()
            elif not names_thread(guards(op, self.entry)):
                raise OwnershipError(
                    "ownership/foreign-index",
                    f"every thread stores to '{array.name}' at an index that names no thread",
                    location=place,
                    help=f"index '{array.name}' by simt.thread_index() or what is made from it; where many threads "
                    "meet at one element, declare it as simt.Atomic",
                )

    def _attributes(self) -> dict[str, Attribute]:
        contract, hints = self.contract, self.hints
        result: dict[str, Attribute] = {
            names.BLOCK: DenseArrayBase.from_list(i64, self.block_extents),
            simt.THREADS: IntegerAttr(self.threads, i64),
            names.GRID_RANK: IntegerAttr(self.grid_rank, i64),
            names.MANUAL_BARRIERS: UnitAttr(),
            "tile.fma": IntegerAttr(int(hints.fma), i1),
        }
        if hints.fast_math:
            result["tile.fast_math"] = UnitAttr()
        for name, number in (
            (names.MAX_BLOCK, contract.max_block),
            (names.MIN_BLOCKS, contract.min_blocks),
            (names.DYNAMIC_SHARED, contract.shared_bytes or None),
        ):
            if number is not None:
                result[name] = IntegerAttr(number, i64)
        if contract.cluster is not None:
            result[names.CLUSTER] = DenseArrayBase.from_list(i64, (*contract.cluster, 1, 1)[:3])
        if contract.min_arch is not None:
            result[names.MIN_ARCH] = StringAttr(contract.min_arch)
        for word, flag in (
            ("unchecked", contract.unchecked),
            ("denied", contract.deny_checks),
            ("kept", contract.keep_checks),
        ):
            if flag:
                result[names.CHECKS] = StringAttr(word)
        required = self.requirements()
        if required:
            result[names.REQUIRES] = ArrayAttr([StringAttr(text) for text in required])
        return result
