"""Safety costs nothing in the machine code: the inner loops of SGEMM, as nvdisasm shows them, are the same.

No GPU is needed, but NVIDIA's disassembler is: it comes with the extra `test`, and with a CUDA toolkit.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from planned_kernels import fresh, planned
from sass import disassembled, opcode

from tileopt import simt
from tileopt.backends.runtime.signature import array_spec

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_unchecked, sgemm_views
from sgemm_even import sgemm_even
from sgemm_ring import sgemm_ring
from sgemm_tiled import sgemm_tiled

MATRICES = {"a": "f32[?,?]", "b": "f32[?,?]", "c": "f32[?,?]"}
TARGETS = ["sm_80", "sm_90a", "sm_120a"]

views_unchecked = simt.kernel(block=(32, 8), unchecked=True)(sgemm_views.function)
tiled_unchecked = simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2), unchecked=True)(sgemm_tiled.function)
even_unchecked = simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2), unchecked=True)(sgemm_even.function)


def sass(kernel: Any, target: str, folder: Path, **given: Any) -> list[str]:
    """The instructions and labels of a kernel, without addresses."""
    return disassembled(kernel.compile(target, **{**MATRICES, **given}), folder)


def longest(text: list[str]) -> tuple[int, int]:
    """Where the longest loop begins and ends."""
    begin: dict[str, int] = {}
    found = (0, 0)
    for at, line in enumerate(text):
        if line.startswith(".L"):
            begin[line] = at
        elif jump := re.search(r"\bBRA(?:\.\w+)*\s+(?:\w+, )?`\((\.L\w+)\)", line):
            found = max(found, (begin.get(jump[1], at), at + 1), key=lambda span: span[1] - span[0])
    return found


def reads(body: list[str]) -> float:
    """Operands of an FFMA that come from the registers, not from what the one before kept for that place (`.reuse`)."""
    count = total = 0
    kept: dict[int, str] = {}
    for line in body:
        operands = re.findall(r"(R\d+)(\.reuse)?", line.split(",", 1)[1]) if "FFMA" in line else []
        count += bool(operands)
        total += sum(kept.get(place) != register for place, (register, _) in enumerate(operands))
        kept = {place: register for place, (register, reuse) in enumerate(operands) if reuse}
    return total / count


def loops(text: list[str]) -> list[list[str]]:
    """The instructions of each innermost loop that multiplies, without operands."""
    found: list[list[str]] = []
    begin: dict[str, int] = {}
    for at, line in enumerate(text):
        if line.startswith(".L"):
            begin[line] = at
        elif jump := re.search(r"\bBRA(?:\.\w+)*\s+(?:\w+, )?`\((\.L\w+)\)", line):
            if jump[1] in begin:
                body = text[begin[jump[1]] + 1 : at + 1]
                found.append([opcode(one) for one in body if not one.startswith(".L")])
    inner = [loop for loop in found if any(one.startswith("FFMA") for one in loop)]
    assert inner
    return inner


def counts(body: list[str]) -> dict[str, int]:
    """How often a loop loads, multiplies, compares and branches."""
    kinds = ("LDG", "FFMA", "ISETP", "BRA", "STG", "BPT")
    return {kind: sum(kind in one for one in body) for kind in kinds}


def work(name: str) -> str:
    """What an opcode does, whichever unit does it: the one for integers, or that for products, which does as well."""
    for same, pattern in (("move", r"MOV|IMAD\.MOV\.U32|IMAD\.U32"), ("add", r"IADD3|VIADD|IMAD\.IADD")):
        if re.fullmatch(pattern, name):
            return same
    return "add with carry" if name in ("IADD3.X", "IMAD.X") else name


@pytest.mark.parametrize("target", TARGETS)
def test_plain_indexing_is_the_unchecked_twin(target: str, tmp_path: Path) -> None:
    plain, twin = sass(sgemm, target, tmp_path), sass(sgemm_unchecked, target, tmp_path)
    assert plain == twin  # not only the loop: all of it, registers and all
    assert not any("BPT.TRAP" in line for line in plain)


SIZES = [1024, 2048, 4096, 8192]  # of benchmarks/sgemm.py


def test_the_benchmark_s_sizes_share_code() -> None:
    assert len({array_spec(fresh(n, n)) for n in SIZES}) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_rows_and_columns_are_plain_indexing(target: str, tmp_path: Path) -> None:
    """In the benchmark's launches all of the machine code is the same, registers and all."""
    arrays = {name: fresh(SIZES[0], SIZES[0]) for name in "abc"}
    kernels = (sgemm, sgemm_views, sgemm_checked, sgemm_unchecked)
    plain, *others = (disassembled(planned(kernel, target, **arrays), tmp_path) for kernel in kernels)
    assert all(other == plain for other in others)
    assert not any("BPT.TRAP" in line for line in plain)


@pytest.mark.parametrize("known", ["", ":16"], ids=["any", "by 16"])
@pytest.mark.parametrize("target", TARGETS)
def test_views_of_fitting_extents(target: str, known: str, tmp_path: Path) -> None:
    m, n, k = (f"{name}{known}" for name in "mnk")
    fitting = {"a": f"f32[{m}, {k}]", "b": f"f32[{k}, {n}]", "c": f"f32[{m}, {n}]"}
    views, plain = (sass(kernel, target, tmp_path, **fitting) for kernel in (sgemm_views, sgemm))
    assert views == plain and len(loops(plain)) >= 1


@pytest.mark.parametrize("target", TARGETS)
def test_tests_in_front_of_a_loop_leave_the_loop_alone(target: str, tmp_path: Path) -> None:
    """Of any extents, rows and columns are tested before the loop: in it are the same instructions, as often; ptxas
    chooses which unit moves or adds an address, and on sm_80 whether a warp's counter is in a uniform register."""
    views = loops(sass(sgemm_views, target, tmp_path))
    for twin in (views_unchecked, sgemm_unchecked):
        other = loops(sass(twin, target, tmp_path))
        assert [counts(body) for body in views] == [counts(body) for body in other]
        if target == "sm_80":
            assert all(abs(len(mine) - len(their)) <= 3 for mine, their in zip(views, other, strict=True))
        else:
            assert [sorted(map(work, body)) for body in views] == [sorted(map(work, body)) for body in other]


def test_tiles_in_shared_memory(tmp_path: Path) -> None:
    assert sass(sgemm_tiled, "sm_90a", tmp_path, T=4) == sass(tiled_unchecked, "sm_90a", tmp_path, T=4)


@pytest.mark.parametrize("target", TARGETS)
def test_tiles_that_fit(target: str, tmp_path: Path) -> None:
    """Nearly all that its loop issues is products, and no test costs one."""
    even = dict.fromkeys("abc", "f32[?,?:16]")
    text = sass(sgemm_even, target, tmp_path, **even)
    assert text == sass(even_unchecked, target, tmp_path, **even)
    body = max(loops(text), key=len)
    assert body.count("FFMA") == 512 and len(body) < 512 / 0.87
    assert body.count("LDS.128") == 32 and not any(one.endswith(("LDL", "STL")) for one in body)


def test_a_ring_of_tiles(tmp_path: Path) -> None:
    """Copies of 16 bytes that no register sees, little but products besides; of each but a few an operand is kept."""
    text = sass(sgemm_ring, "sm_90a", tmp_path, **dict.fromkeys("abc", "f32[?:16,?:16]"))
    begin, end = longest(text)
    body = [opcode(line) for line in text[begin:end] if not line.startswith(".L")]
    assert body.count("FFMA") == 16 * 8 * 16 and len(body) < 2048 / 0.915
    assert body.count("LDS.128") == 16 * (8 + 16) // 4
    assert sum("LDGSTS" in one for one in body) == (128 + 128) * 16 // (4 * 128)
    assert not any(one.endswith(("LDL", "STL", "LDG.E.CONSTANT", "LDG.E.128.CONSTANT", "TRAP")) for one in body)
    assert reads(text[begin:end]) < 2.12


@pytest.mark.parametrize("target", TARGETS)
def test_checks_are_seen_where_they_are(target: str, tmp_path: Path) -> None:
    def compares(kernel: Any) -> float:
        found = [counts(body) for body in loops(sass(kernel, target, tmp_path))]
        return min(n["ISETP"] / n["FFMA"] for n in found)

    assert compares(sgemm_checked) >= 3 > 1 >= compares(sgemm_unchecked)
