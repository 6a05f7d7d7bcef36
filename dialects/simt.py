"""The simt dialect: what a thread does.

A tile is now a *fragment*: `vector<Nxt>`, N registers of each thread, spread as the layout attribute says (register
r of thread (lane, warp) is element `layout.coord(r, lane, warp)`). One op moves or combines a whole fragment; the
backend expands it to instructions (`simt_fragment`, `simt_shared`). Kernels that say themselves what a thread does work
on scalars, by the ops of `simt_thread`, `simt_warp`, `simt_atomic` and `simt_host`. Loops stay `scf`, arithmetic
`arith` and `math` on vectors and scalars. Threads of a block are numbered linearly: lane = id mod 32, warp = id // 32.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import HasParent, IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileopt.dialects.checks import (
    check_axis,
    integer,
)
from tileopt.dialects.constants import Constants
from tileopt.dialects.kernel import KernelOp
from tileopt.dialects.layout import WARP_SIZE
from tileopt.dialects.queries import GridQuery
from tileopt.dialects.reductions import ReduceKind as ReduceKind
from tileopt.dialects.simt_atomic import AtomicOps
from tileopt.dialects.simt_constant import ConstantOps
from tileopt.dialects.simt_fragment import Extract as Extract
from tileopt.dialects.simt_fragment import FragmentAtomic as FragmentAtomic
from tileopt.dialects.simt_fragment import FragmentCoord as FragmentCoord
from tileopt.dialects.simt_fragment import FragmentLoad as FragmentLoad
from tileopt.dialects.simt_fragment import FragmentOps as FragmentOps
from tileopt.dialects.simt_fragment import FragmentReduce as FragmentReduce
from tileopt.dialects.simt_fragment import FragmentSelect as FragmentSelect
from tileopt.dialects.simt_fragment import FragmentStore as FragmentStore
from tileopt.dialects.simt_fragment import ShiftIn as ShiftIn
from tileopt.dialects.simt_fragment import ShuffleXor as ShuffleXor
from tileopt.dialects.simt_fragment import Splat as Splat
from tileopt.dialects.simt_fragment import fragment_layout as fragment_layout
from tileopt.dialects.simt_fragment import shape_of as shape_of
from tileopt.dialects.simt_host import HostOps
from tileopt.dialects.simt_packed import PackedOps
from tileopt.dialects.simt_phase import Phase as Phase
from tileopt.dialects.simt_phase import PhaseOps
from tileopt.dialects.simt_shared import AllocShared as AllocShared
from tileopt.dialects.simt_shared import Dot as Dot
from tileopt.dialects.simt_shared import SharedLoad as SharedLoad
from tileopt.dialects.simt_shared import SharedOps as SharedOps
from tileopt.dialects.simt_shared import SharedStore as SharedStore
from tileopt.dialects.simt_shared import Slot as Slot
from tileopt.dialects.simt_shared import ViewBuffer as ViewBuffer
from tileopt.dialects.simt_thread import ThreadOps
from tileopt.dialects.simt_warp import WarpOps
from tileopt.dialects.tile_types import DYNAMIC, ViewType

I64 = eq(i64)
FRAGMENT = BaseAttr(VectorType)
TOGETHER = "simt.together"  # op attribute: the threads of the block do it together, though each may go ways of its own
THREADS = "simt.threads"  # kernel attribute: threads of a block
WORKERS = "simt.workers"  # kernel attribute: how many threads, from the first, hold fragments, where not all do
SHARED_BYTES = "simt.shared_bytes"  # kernel attribute: static shared memory, set by allocate-onchip


@irdl_op_definition
class Kernel(KernelOp):
    """A kernel of the SIMT level; its body is what one thread does. Attribute `simt.threads`: threads of a block."""

    name = "simt.kernel"


@irdl_op_definition
class Return(IRDLOperation):
    """Ends the thread; stands last in the kernel's body."""

    name = "simt.return"
    traits = traits_def(IsTerminator(), HasParent(Kernel))
    assembly_format = "attr-dict"


@irdl_op_definition
class ThreadId(IRDLOperation):
    """The thread's linear id in its block, from 0."""

    name = "simt.thread_id"
    result = result_def(eq(i32))
    traits = traits_def(Pure())
    assembly_format = "attr-dict"


@irdl_op_definition
class BlockId(GridQuery):
    """The block's id along a grid axis, from 0."""

    name = "simt.block_id"


@irdl_op_definition
class GridDim(GridQuery):
    """The grid's extent along an axis."""

    name = "simt.grid_dim"


@irdl_op_definition
class Dim(IRDLOperation, HasFolderInterface):
    """The run-time extent of an array along an axis."""

    name = "simt.dim"
    view = operand_def(ViewType)
    axis = prop_def(integer("axis"))
    result = result_def(I64)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$view attr-dict `:` type($view)"

    def verify_(self) -> None:
        assert isinstance(self.view.type, ViewType)
        check_axis(self.axis, self.view.type.rank, self.view.type)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        assert isinstance(self.view.type, ViewType)
        extent = self.view.type.get_shape()[self.axis.value.data]
        return None if extent == DYNAMIC else (IntegerAttr(extent, i64),)


@irdl_op_definition
class Barrier(IRDLOperation):
    """All threads of the block meet; their accesses to memory before it are seen after it. With `proxy`, also by units
    that reach shared memory past the threads (wgmma, bulk copies).

    With `id` (1 to 15; the whole block's is 0) only so many `threads` meet, whole warps, those that come to it.
    """

    name = "simt.barrier"
    proxy = opt_prop_def(UnitAttr)
    id = opt_prop_def(integer("id"))
    threads = opt_prop_def(integer("threads"))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def verify_(self) -> None:
        if (self.id is None) != (self.threads is None):
            raise VerifyException("a barrier of some threads has both an id and their number")
        if self.id is not None and not 1 <= self.id.value.data <= 15:
            raise VerifyException(f"a barrier of some threads has an id from 1 to 15, not {self.id.value.data}")
        if self.threads is not None and (self.threads.value.data < 1 or self.threads.value.data % WARP_SIZE):
            raise VerifyException(f"whole warps meet, not {self.threads.value.data} threads")


SimtOps: list[type[Operation]] = [
    Kernel, Return, ThreadId, BlockId, GridDim, Dim, Barrier, *FragmentOps, *SharedOps, *ThreadOps, *WarpOps,
    *AtomicOps, *HostOps, *ConstantOps, *PackedOps, *PhaseOps,
]  # fmt: skip

Simt = Dialect("simt", SimtOps, [], [Constants()])
