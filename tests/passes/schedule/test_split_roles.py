"""split-roles: one role is left as it is; a channel that goes astray is refused."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UnrealizedConversionCastOp, i64

from tileopt.dialects import pipe
from tileopt.dialects.diagnostics import CompileError
from tileopt.dialects.verifier import walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.schedule.split_roles import SplitRoles

CHANNEL = "!pipe.channel<2, !tile.buffer<4x4xf32>>"
TEXT = f"""
tile.kernel @f(%x: !tile.view<?x?xf32, shared>) {{
  %z = arith.constant 0 : i64
  %c = pipe.channel : {CHANNEL}
  pipe.acquire %c[%z] : {CHANNEL}
  pipe.copy %x[%z, %z], %c[%z] {{member = 0 : i64}} : !tile.view<?x?xf32, shared>, {CHANNEL}
  pipe.commit %c[%z] : {CHANNEL}
  %t = pipe.wait %c[%z] {{pending = 0 : i64}} : {CHANNEL} -> !tile.buffer<4x4xf32>
  pipe.release %c[%z] : {CHANNEL}
  tile.return
}}
"""


def test_one_role_is_left_as_it_is() -> None:
    module = parse_module(create_context(), TEXT)
    before = str(module)
    SplitRoles().apply(Context(), module)
    assert str(module) == before


def test_a_channel_that_goes_astray() -> None:
    module = parse_module(create_context(), TEXT, "roles.mlir")
    (channel,) = (op for op in walk(module) if isinstance(op, pipe.Channel))
    stray = UnrealizedConversionCastOp.create(operands=[channel.result], result_types=[i64])
    assert channel.parent is not None
    channel.parent.insert_op_after(stray, channel)
    with pytest.raises(CompileError) as caught:
        SplitRoles().apply(Context(), module)
    assert caught.value.code == "schedule/channel-escapes"
    assert caught.value.notes[0][1] is not None and caught.value.notes[0][1].line == 4
