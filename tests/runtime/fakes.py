"""Kernels whose LLVM is written by hand: the runtime is tested without frontends, passes and emitters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tileopt.backends.compiled import CompiledModule, ParamSlot, SlotKind
from tileopt.backends.cpu.jit import entry_symbol
from tileopt.backends.runtime import specialise
from tileopt.dialects.contracts import ArraySpec, Hints, Missing, Parameter, ParamKind, ScalarSpec, Spec
from tileopt.dialects.target import Target

# Writes all argument words, then the first block's number and the grid, to the array that is the first argument.
PROBE = """
define void @{name}(ptr %slots, ptr %shared, i64 %first, i64 %last, i64 %gx, i64 %gy, i64 %gz) {{
  %out = load ptr, ptr %slots
{words}
  %p0 = getelementptr i64, ptr %out, i64 {count}
  store i64 %first, ptr %p0
  %p1 = getelementptr i64, ptr %p0, i64 1
  store i64 %gx, ptr %p1
  %p2 = getelementptr i64, ptr %p0, i64 2
  store i64 %gy, ptr %p2
  %p3 = getelementptr i64, ptr %p0, i64 3
  store i64 %gz, ptr %p3
  ret void
}}
"""

# Each block adds 1 to its element of the first argument, an i64 array; the block's id is the element's index.
COUNT = """
define void @{name}(ptr %slots, ptr %shared, i64 %first, i64 %last, i64 %gx, i64 %gy, i64 %gz) {{
entry:
  %out = load ptr, ptr %slots
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %end
body:
  %p = getelementptr i64, ptr %out, i64 %i
  %old = load i64, ptr %p
  %new = add i64 %old, 1
  store i64 %new, ptr %p
  store i64 %i, ptr %shared
  %next = add i64 %i, 1
  br label %head
end:
  ret void
}}
"""

EMPTY = """
define void @{name}(ptr %slots, ptr %shared, i64 %first, i64 %last, i64 %gx, i64 %gy, i64 %gz) {{
  ret void
}}
"""


def parameter(name: str, kind: str = "in", dtype: str | None = None, rank: int | None = None, **more: Any) -> Parameter:
    return Parameter(name, ParamKind(kind), dtype, rank, more.get("default", Missing), more.get("python"))


@dataclass(eq=False)
class FakeKernel:
    """A kernel definition; `builds` keeps each signature that was compiled."""

    parameters: tuple[Parameter, ...]
    text: str = EMPTY
    name: str = "kernel"
    hints: Hints = Hints()
    location: None = None
    conditions: tuple[str, ...] = ()
    source: str = "1"
    shared_bytes: int = 0
    maps: tuple[ParamSlot, ...] = ()
    persistent: int = 0
    builds: list[dict[str, Spec]] = field(default_factory=list)

    def build(self, signature: Mapping[str, Spec]) -> Any:
        self.builds.append(dict(signature))
        return self, dict(signature)

    def fingerprint(self) -> str:
        return self.source

    def places(self) -> str:
        return ""


def slots_of(signature: Mapping[str, Spec]) -> tuple[ParamSlot, ...]:
    """The kernel ABI, written down a second time."""
    slots: list[ParamSlot] = []
    for index, spec in enumerate(s for s in signature.values() if isinstance(s, ArraySpec | ScalarSpec)):
        if isinstance(spec, ScalarSpec):
            slots.append(ParamSlot(index, SlotKind.SCALAR, 0, spec.dtype))
            continue
        slots.append(ParamSlot(index, SlotKind.POINTER, 0, spec.dtype))
        slots.extend(ParamSlot(index, SlotKind.EXTENT, axis) for axis in range(spec.rank))
        slots.extend(ParamSlot(index, SlotKind.STRIDE, axis) for axis in range(spec.rank))
    return tuple(slots)


def compile_fake(
    definition: FakeKernel,
    signature: Mapping[str, Spec],
    target: Target,
    holds: Any = None,
    given: tuple[str, ...] = (),
) -> CompiledModule:
    """In place of `specialise.compile_kernel`."""
    definition.build(signature)
    grid = tuple(ParamSlot(0, SlotKind.GRID, axis) for axis in range(3)) if definition.persistent else ()
    slots = (*slots_of(signature), *grid, *definition.maps)
    words = "\n".join(
        f"  %s{i} = getelementptr i64, ptr %slots, i64 {i}\n  %w{i} = load i64, ptr %s{i}\n"
        f"  %q{i} = getelementptr i64, ptr %out, i64 {i}\n  store i64 %w{i}, ptr %q{i}"
        for i in range(len(slots))
    )
    llvm = definition.text.format(name=entry_symbol(definition.name), words=words, count=len(slots))
    return CompiledModule(
        definition.name,
        target.name,
        target.kind,
        32,
        definition.shared_bytes,
        slots,
        {"tile": "tile ir", "simt": lambda: "simt ir"},
        llvm,
        conditions=definition.conditions,
        report={"bounds": ["line 1: proved"]},
        persistent=definition.persistent,
    )


def install(monkeypatch: Any) -> None:
    monkeypatch.setattr(specialise, "compile_kernel", compile_fake)
