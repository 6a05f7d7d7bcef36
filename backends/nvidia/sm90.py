"""Hopper. What only the `a` variant has is not carried on by later generations."""

from tileopt.backends.nvidia import sm80
from tileopt.backends.nvidia.atoms.wgmma import WGMMA
from tileopt.backends.nvidia.generation import gpu
from tileopt.dialects.target import Feature, Rates

FEATURES = sm80.FEATURES | {Feature.BF16, Feature.STMATRIX, Feature.TMA, Feature.CLUSTERS}
OWN = FEATURES | {Feature.SETMAXNREG, Feature.WGMMA}
RATES = Rates(fma=128, special=16, tensor=4096)  # of wgmma; mma.sync reaches some two thirds

TARGETS = (
    gpu("sm_90", ptx=87, shared_kib=227, features=FEATURES, rates=RATES),
    gpu("sm_90a", ptx=87, shared_kib=227, features=OWN, extra=WGMMA, rates=RATES),
)
