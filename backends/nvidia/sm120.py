"""Blackwell for workstations: no tensor memory, and the smaller shared memory of Ada."""

from tileopt.backends.nvidia import sm90
from tileopt.backends.nvidia.atoms.mma_scaled import MMA_SCALED
from tileopt.backends.nvidia.generation import gpu
from tileopt.dialects.target import Feature

FEATURES = sm90.FEATURES
OWN = FEATURES | {Feature.SETMAXNREG}

TARGETS = (
    gpu("sm_120", ptx=87, shared_kib=99, features=FEATURES, resident=(1536, 24)),
    gpu("sm_120a", ptx=87, shared_kib=99, features=OWN, resident=(1536, 24), extra=MMA_SCALED),
    gpu("sm_121a", ptx=88, shared_kib=99, features=OWN, resident=(1536, 24), extra=MMA_SCALED),
)
