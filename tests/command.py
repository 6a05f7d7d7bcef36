"""The `tileopt` command run inside a test: its exit code, and what it wrote."""

from __future__ import annotations

import io
from dataclasses import dataclass

from tileopt.tools.opt import Console, run


@dataclass(frozen=True)
class Done:
    """What a run of the command left."""

    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()


def tileopt(*argv: object, stdin: str | bytes = "") -> Done:
    """Run the command on streams in memory."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.BytesIO(), io.StringIO()
    code = run([str(each) for each in argv], Console(io.BytesIO(given), out, err))
    return Done(code, out.getvalue(), err.getvalue())
