"""A kernel compiled ahead of any launch, for people and tests to look into."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tileopt.backends.compiled import CompiledModule
from tileopt.backends.report_text import Report
from tileopt.backends.runtime import specialise
from tileopt.dialects.contracts import KernelDefinition, Spec
from tileopt.dialects.diagnostics import TargetError
from tileopt.dialects.target import Target


class CompiledKernel:
    """IR at each level, LLVM, PTX, machine code and the report. Machine code is made when it is first asked for."""

    def __init__(self, module: CompiledModule, signature: Mapping[str, Spec]) -> None:
        self.module = module
        self.signature = dict(signature)

    @staticmethod
    def make(
        definition: KernelDefinition, signature: Mapping[str, Spec], target: Target, given: tuple[str, ...] = ()
    ) -> CompiledKernel:
        """Runs the compiler. `given`: relations that its launches fulfil. Raises CompileError and its kin."""
        return CompiledKernel(specialise.compile_kernel(definition, signature, target, given=given), signature)

    @property
    def name(self) -> str:
        return self.module.name

    @property
    def target(self) -> str:
        return self.module.target

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that `ir` takes."""
        return tuple(self.module.ir)

    def ir(self, level: str) -> str:
        """Printed IR: "tile" after the proofs, and so on down to "simt"."""
        found = self.module.ir.get(level)
        if found is None:
            raise TargetError(
                "compile/no-such-level", f"there is no IR level '{level}'", help=f"levels: {', '.join(self.levels)}"
            )
        if not isinstance(found, str):
            found = self.module.ir[level] = found()
        return found

    @property
    def llvm(self) -> str:
        return self.module.llvm

    @property
    def ptx(self) -> str:
        """PTX text. Raises TargetError on a target without."""
        if self.module.ptx is None:
            raise TargetError("target/no-ptx", f"{self.target} has no PTX", help="compile for sm_90a, for example")
        return self.module.ptx

    @property
    def cubin(self) -> bytes:
        """Machine code for the GPU, made by ptxas. Raises TargetError on a target without, or without ptxas."""
        if self.module.kind != "cuda":
            raise TargetError("target/no-cubin", f"{self.target} has no cubin", help="compile for sm_90a, for example")
        return self._built.artifact.code

    @property
    def object_code(self) -> bytes:
        """Native code: the cubin, or the CPU's object file."""
        return self._built.artifact.code

    @cached_property
    def _built(self) -> specialise.Built:
        return specialise.finish(self.module)

    @cached_property
    def report(self) -> Report:
        """What the passes decided; on a GPU also registers, spills, occupancy and static shared memory, where ptxas is
        there. A dictionary that goes into JSON, and that prints as text."""
        found = Report(
            {
                "name": self.name,
                "target": self.target,
                "threads": self.module.threads,
                "shared_bytes": self.module.shared_bytes,
                **self.module.report,
            }
        )
        if self.module.kind == "cuda":
            try:
                return Report({**found, **self._built.artifact.report})
            except TargetError as error:
                if error.code != "target/no-ptxas":
                    raise
                found["ptxas"] = error.message
        return found

    def __repr__(self) -> str:
        specs = ", ".join(f"{name}={spec}" for name, spec in self.signature.items())
        return f"<compiled {self.name} for {self.target}: {specs}>"
