"""Targets "model:sm_90a" and so on: code made for a GPU as far as the passes go, and run on the CPU by the model of the
hardware. What a tile kernel becomes, with its matrix instructions, asynchronous copies, barriers and roles, can be run,
tested and looked into without a GPU. Exact and slow.
"""

from __future__ import annotations

from dataclasses import replace

from tileopt.dialects.target import Target, register_family

PREFIX = "model"


def _make(name: str) -> Target:
    from tileopt.backends.nvidia.targets import nvidia_target

    gpu = nvidia_target(name)
    return replace(gpu, name=f"{PREFIX}:{name}", kind="cpu")


register_family(PREFIX, _make)
