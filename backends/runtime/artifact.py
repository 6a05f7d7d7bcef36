"""One compiled kernel as the runtime keeps it: code, how to call it and what is known about it; to and from bytes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tileopt.backends.compiled import CheckSite, CompiledModule, ParamSlot, SlotKind


@dataclass(frozen=True, slots=True)
class Artifact:
    """`code`: a cubin or the CPU's object code. `declarations`: LLVM's text for the functions that it calls in the
    process. All else as in CompiledModule."""

    name: str
    target: str
    kind: str
    threads: int
    shared_bytes: int
    params: tuple[ParamSlot, ...]
    conditions: tuple[str, ...]
    code: bytes
    report: dict[str, Any] = field(default_factory=dict)
    declarations: str = ""
    checks: tuple[CheckSite, ...] = ()
    block: tuple[int, ...] = ()
    persistent: int = 0
    cluster: int = 1
    guards: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    trace: Any = None  # not on disk

    @property
    def has_record(self) -> bool:
        """Whether the kernel takes the address of a record of what went wrong."""
        return bool(self.params) and self.params[-1].kind is SlotKind.ERROR

    @staticmethod
    def of(module: CompiledModule, code: bytes, report: dict[str, Any]) -> Artifact:
        return Artifact(
            module.name,
            module.target,
            module.kind,
            module.threads,
            module.shared_bytes,
            module.params,
            module.conditions,
            code,
            report,
            "\n".join(line for line in module.llvm.splitlines() if line.startswith("declare") and "@llvm." not in line),
            module.checks,
            module.block,
            module.persistent,
            module.cluster,
            module.guards,
            module.assumed,
            module.trace,
        )

    def to_bytes(self) -> bytes:
        """A line of JSON, then the code."""
        fields = {
            "name": self.name,
            "target": self.target,
            "kind": self.kind,
            "threads": self.threads,
            "shared_bytes": self.shared_bytes,
            "params": [asdict(slot) for slot in self.params],
            "conditions": list(self.conditions),
            "report": self.report,
            "declarations": self.declarations,
            "block": list(self.block),
            "persistent": self.persistent,
            "cluster": self.cluster,
            "guards": list(self.guards),
            "assumed": list(self.assumed),
            "checks": [asdict(site) for site in self.checks],
        }
        return json.dumps(fields, default=str).encode() + b"\n" + self.code

    @staticmethod
    def from_bytes(data: bytes) -> Artifact | None:
        """None where the bytes are no artifact of this version."""
        head, _, code = data.partition(b"\n")
        try:
            fields = json.loads(head)
            params = tuple(map(_slot, fields.pop("params")))
            conditions = tuple(fields.pop("conditions"))
            checks = tuple(CheckSite(**site) for site in fields.pop("checks"))
            block = tuple(fields.pop("block"))
            guards, assumed = (tuple(fields.pop(name)) for name in ("guards", "assumed"))
            return Artifact(
                **fields,
                params=params,
                conditions=conditions,
                checks=checks,
                block=block,
                guards=guards,
                assumed=assumed,
                code=code,
            )
        except (ValueError, KeyError, TypeError):
            return None


def _slot(fields: dict[str, Any]) -> ParamSlot:
    lists = {name: tuple(fields[name]) for name in ("order", "box")}
    return ParamSlot(**{**fields, **lists, "kind": SlotKind(fields["kind"])})
