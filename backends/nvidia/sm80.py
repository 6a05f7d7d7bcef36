"""Ampere and Ada."""

from tileopt.backends.nvidia import sm75
from tileopt.backends.nvidia.generation import gpu
from tileopt.dialects.target import Feature

FEATURES = sm75.FEATURES | {Feature.CP_ASYNC, Feature.MBARRIER}

TARGETS = (
    gpu("sm_80", ptx=87, shared_kib=163, features=FEATURES),
    gpu("sm_86", ptx=87, shared_kib=99, features=FEATURES, resident=(1536, 16)),
    gpu("sm_87", ptx=87, shared_kib=163, features=FEATURES, resident=(1536, 16)),
    gpu("sm_89", ptx=87, shared_kib=99, features=FEATURES, resident=(1536, 24)),
)
