"""How a folder's constant becomes an op: by `arith.constant`."""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.ir import Attribute, Operation


class Constants(ConstantMaterializationInterface):
    """Lets the ops of a dialect fold to attributes."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        from xdsl.dialects.arith import ConstantOp

        return ConstantOp.create(properties={"value": value}, result_types=[type])
