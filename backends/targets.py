"""Registers every target of ours. Importing this is cheap: a target's data is made when it is first asked for."""

from __future__ import annotations

from tileopt.backends.cpu import modelled_target as model
from tileopt.backends.cpu import target as cpu
from tileopt.backends.nvidia import targets as nvidia

__all__ = ["cpu", "model", "nvidia"]
