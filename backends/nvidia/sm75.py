"""Turing. Shared memory here and in the other generations: most that one block may opt in to, from the CUDA C++
programming guide's table of compute capabilities."""

from tileopt.backends.nvidia.generation import gpu
from tileopt.dialects.target import Feature

FEATURES = frozenset({Feature.LDMATRIX})

TARGETS = (gpu("sm_75", ptx=87, shared_kib=64, features=FEATURES, stages=1, resident=(1024, 16)),)
