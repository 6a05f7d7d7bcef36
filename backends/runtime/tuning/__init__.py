"""The autotuner: which of a kernel's configurations is fastest for the arguments at hand, measured once."""

from __future__ import annotations

from tileopt.backends.runtime.tuning.config import Config as Config
from tileopt.backends.runtime.tuning.results import Trial as Trial
from tileopt.backends.runtime.tuning.results import Tuning as Tuning
from tileopt.backends.runtime.tuning.tuned import TunedKernel as TunedKernel
from tileopt.backends.runtime.tuning.tuned import autotune as autotune
