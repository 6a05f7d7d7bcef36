"""How an access to global memory has caches treat what it moves.

PTX ISA, "Cache Operators" and "Cache Eviction Priority Hints": `.cs` is for what is accessed once, and goes first where
room is needed in L1 and L2; a policy made by `createpolicy` with `evict_last`, which sm_80 and later take, is for what
L2 should hold on to.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileopt.backends.llvm.emitter import Emitter
from tileopt.backends.nvidia.ptx import PURE, Statement
from tileopt.dialects.checks import KEEP, STREAMING

_POLICIES_SINCE = 80  # compute capability times ten


@dataclass(frozen=True, slots=True)
class Policy:
    """`operator` and `hint` stand in an instruction's name; `register`: the policy that the hint reads, an i64."""

    operator: str = ""
    hint: str = ""
    register: str = ""

    def operand(self, statement: Statement) -> str:
        """The last operand of the instruction, with its comma."""
        return f", {statement.word('i64', self.register)}" if self.register else ""


def policy_of(emitter: Emitter, cache: str | None) -> Policy:
    """What the property `cache` of a load or store asks for."""
    if cache == STREAMING:
        return Policy(operator=".cs")
    if cache != KEEP or emitter.backend.target.arch < _POLICIES_SINCE:  # type: ignore[attr-defined]
        return Policy()
    return Policy(hint=".L2::cache_hint", register=emitter.once("keep in L2", lambda: _evict_last(emitter)))


def _evict_last(emitter: Emitter) -> str:
    statement = Statement()
    made = statement.output("i64")
    return statement.emit(emitter, f"createpolicy.fractional.L2::evict_last.b64 {made}, 1.0;", PURE)[0]
