"""Safety costs nothing in the machine code: the inner loops of SGEMM, as nvdisasm shows them, are the same.

No GPU is needed, but NVIDIA's disassembler is: it comes with the extra `test`, and with a CUDA toolkit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tileopt import simt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "simt"))

from sgemm import sgemm, sgemm_checked, sgemm_unchecked, sgemm_views
from sgemm_even import sgemm_even
from sgemm_tiled import sgemm_tiled

MATRICES = {"a": "f32[?,?]", "b": "f32[?,?]", "c": "f32[?,?]"}
TARGETS = ["sm_80", "sm_90a", "sm_120a"]

views_unchecked = simt.kernel(block=(32, 8), unchecked=True)(sgemm_views.function)
tiled_unchecked = simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2), unchecked=True)(sgemm_tiled.function)
even_unchecked = simt.kernel(block=256, grid_rank=2, launch_bounds=(256, 2), unchecked=True)(sgemm_even.function)


@cache
def disassembler() -> str:
    """Where nvdisasm is; without it the test is skipped, with this reason."""
    packages = [Path(folder) / "nvidia" for folder in sys.path if folder]
    found = [path for folder in packages for path in sorted(folder.glob("*/bin/nvdisasm*"))]
    tool = str(found[0]) if found else shutil.which("nvdisasm")
    if tool is None:
        pytest.skip("nvdisasm is not there: install the package nvidia-cuda-nvdisasm or a CUDA toolkit")
    return tool


def sass(kernel: Any, target: str, folder: Path, **given: Any) -> list[str]:
    """The instructions and labels of a kernel, without addresses."""
    file = folder / "kernel.cubin"
    file.write_bytes(kernel.compile(target, **{**MATRICES, **given}).cubin)
    done = subprocess.run([disassembler(), "-c", str(file)], capture_output=True, text=True, timeout=120, check=True)
    found = re.findall(r"^(\.L\w+):|^\s+/\*[0-9a-f]+\*/\s+(.*?) ;", done.stdout, re.MULTILINE)
    return [label or instruction for label, instruction in found]


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


def opcode(instruction: str) -> str:
    guard, name = re.match(r"(@!?U?P\w+\s+)?(\S+)", instruction).groups()  # type: ignore[union-attr]
    return f"@ {name}" if guard else name


@pytest.mark.parametrize("target", TARGETS)
def test_plain_indexing_is_the_unchecked_twin(target: str, tmp_path: Path) -> None:
    plain, twin = sass(sgemm, target, tmp_path), sass(sgemm_unchecked, target, tmp_path)
    assert plain == twin  # not only the loop: all of it, registers and all
    assert not any("BPT.TRAP" in line for line in plain)


@pytest.mark.parametrize("target", TARGETS)
def test_the_inner_loop_of_views(target: str, tmp_path: Path) -> None:
    """The same loads, products, tests and branches; only which registers add up addresses is ptxas's to choose."""
    views = loops(sass(sgemm_views, target, tmp_path))
    twins = [loops(sass(twin, target, tmp_path)) for twin in (views_unchecked, sgemm_unchecked)]
    for twin in twins:
        assert [counts(body) for body in views] == [counts(body) for body in twin]
        assert all(abs(len(mine) - len(other)) <= 3 for mine, other in zip(views, twin, strict=True))


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


@pytest.mark.parametrize("target", TARGETS)
def test_checks_are_seen_where_they_are(target: str, tmp_path: Path) -> None:
    def compares(kernel: Any) -> float:
        found = [counts(body) for body in loops(sass(kernel, target, tmp_path))]
        return min(n["ISETP"] / n["FFMA"] for n in found)

    assert compares(sgemm_checked) >= 3 > 1 >= compares(sgemm_unchecked)
