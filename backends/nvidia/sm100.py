"""Blackwell for data centres and for Jetson Thor."""

from tileopt.backends.nvidia import sm90
from tileopt.backends.nvidia.atoms.tcgen05 import FLOATS, TCGEN05
from tileopt.backends.nvidia.generation import gpu
from tileopt.dialects.target import Feature

FEATURES = sm90.FEATURES
OWN = FEATURES | {Feature.SETMAXNREG, Feature.TCGEN05}

TARGETS = (
    gpu("sm_100", ptx=87, shared_kib=227, features=FEATURES),
    gpu("sm_100a", ptx=87, shared_kib=227, features=OWN, extra=TCGEN05),
    gpu("sm_103a", ptx=88, shared_kib=227, features=OWN, extra=FLOATS),
    gpu("sm_110a", ptx=90, shared_kib=227, features=OWN, resident=(1536, 24), extra=TCGEN05),
)
