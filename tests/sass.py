"""Machine code as nvdisasm shows it.

No GPU is needed, but NVIDIA's disassembler is: it comes with the extra `test`, and with a CUDA toolkit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tileopt.backends.runtime.compiled_kernel import CompiledKernel


@cache
def disassembler() -> str:
    """Where nvdisasm is; without it the test is skipped, with this reason."""
    packages = [Path(folder) / "nvidia" for folder in sys.path if folder]
    found = [path for folder in packages for path in sorted(folder.glob("*/bin/nvdisasm*"))]
    tool = str(found[0]) if found else shutil.which("nvdisasm")
    if tool is None:
        pytest.skip("nvdisasm is not there: install the package nvidia-cuda-nvdisasm or a CUDA toolkit")
    return tool


def disassembled(compiled: CompiledKernel, folder: Path) -> list[str]:
    """The instructions and labels of a kernel, without addresses."""
    file = folder / "kernel.cubin"
    file.write_bytes(compiled.cubin)
    done = subprocess.run([disassembler(), "-c", str(file)], capture_output=True, text=True, timeout=120, check=True)
    found = re.findall(r"^(\.L\w+):|^\s+/\*[0-9a-f]+\*/\s+(.*?) ;", done.stdout, re.MULTILINE)
    return [label or instruction for label, instruction in found]


def loops(text: list[str], word: str) -> list[list[str]]:
    """The instructions, without operands, of each loop with a `word`, but not of loops around such a loop. What stands
    behind the kernel's end jumps back as well, where a barrier was not ready."""
    found: list[tuple[int, int]] = []
    begin: dict[str, int] = {}
    for at, line in enumerate(text):
        if line.startswith(".L"):
            begin[line] = at
        elif jump := re.search(r"\bBRA(?:\.\w+)*\s+(?:\w+, )?`\((\.L\w+)\)", line):
            words = [opcode(one) for one in text[begin.get(jump[1], at) : at]]
            if any(one.startswith(word) for one in words) and "EXIT" not in words:
                found.append((begin[jump[1]], at))
    inner = [(a, b) for a, b in found if not any((a, b) != (c, d) and a <= c and d <= b for c, d in found)]
    assert inner
    return [[opcode(one) for one in text[a + 1 : b + 1] if not one.startswith(".L")] for a, b in inner]


def opcode(instruction: str) -> str:
    if instruction.startswith(".L"):
        return ""
    guard, name = re.match(r"(@!?U?P\w+\s+)?(\S+)", instruction).groups()  # type: ignore[union-attr]
    return f"@ {name}" if guard else name
