"""What contracts of SIMT kernels ask of launches and targets, and which memory arrays of atomics may share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime.fakes import FakeKernel, parameter
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from tileopt import OwnershipError, TargetError
from tileopt.backends.launch_conditions import check_target, launch_conditions
from tileopt.dialects import simt
from tileopt.dialects.target import get_target


def refused(launch: Any, kinds: str, *arrays: Any) -> str | None:
    """The code that a launch with parameters of these kinds is refused with."""
    kernel = FakeKernel(tuple(parameter(f"p{i}", kind) for i, kind in enumerate(kinds.split())))
    try:
        launch(kernel, (1,), *arrays)
    except OwnershipError as error:
        return error.code
    return None


def test_atomics_share_memory_among_themselves_only(launch: Any) -> None:
    a = np.zeros(8, np.int32)
    assert refused(launch, "atomic atomic", a, a) is None
    assert refused(launch, "atomic atomic", a[:5], a[3:]) is None
    for kinds in ("atomic in", "in atomic", "atomic inout", "inout atomic", "out atomic", "atomic atomic in"):
        arrays = [a] * len(kinds.split())
        assert refused(launch, kinds, *arrays) == "ownership/aliased-argument", kinds
    assert refused(launch, "atomic in", a[:4], a[4:]) is None
    assert refused(launch, "in in", a, a) is None


def test_atomics_are_written(launch: Any) -> None:
    a = np.zeros(8, np.int32)
    a.flags.writeable = False
    assert refused(launch, "atomic", a) == "ownership/read-only-argument"


def test_an_element_with_two_names_is_still_one_atomic(launch: Any) -> None:
    twice = np.lib.stride_tricks.as_strided(np.zeros(8, np.int32), (4, 2), (4, 4))
    assert refused(launch, "atomic", twice) is None
    assert refused(launch, "inout", twice) == "ownership/self-overlap"


def kernel(**attributes: Any) -> simt.Kernel:
    named = {f"simt.{name}": value for name, value in attributes.items()}
    return simt.Kernel.make("k", [], None, None, named)


def test_conditions_are_the_contract() -> None:
    assert launch_conditions(kernel()) == ()
    texts = ArrayAttr([StringAttr("len(x) == n"), StringAttr("n > 0")])
    assert launch_conditions(kernel(requires=texts)) == ("len(x) == n", "n > 0")


@pytest.mark.parametrize(
    ("wanted", "accepted", "refused_"),
    [
        ("sm_80", ("sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "cpu"), ("sm_75",)),
        ("sm_90", ("sm_90", "sm_90a", "sm_100a"), ("sm_80", "sm_89")),
        ("sm_90a", ("sm_90a", "cpu"), ("sm_90", "sm_100a", "sm_80")),
    ],
)
def test_targets_older_than_the_contract(wanted: str, accepted: tuple[str, ...], refused_: tuple[str, ...]) -> None:
    made = kernel(min_arch=StringAttr(wanted))
    for name in (*accepted, *refused_):
        target = get_target(name)
        if name in accepted:
            check_target(made, target.name, target.arch, target.kind)
            continue
        with pytest.raises(TargetError, match=rf"'k' needs {wanted}, and {name}"):
            check_target(made, target.name, target.arch, target.kind)
