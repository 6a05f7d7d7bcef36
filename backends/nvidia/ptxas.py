"""NVIDIA's assembler and math library: where they are, and PTX to cubin."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tileopt.dialects.diagnostics import CompileError, TargetError

_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Assembled:
    """One module's machine code and what ptxas said about its kernel.

    `shared_bytes` is the static part; `spill_stores` and `spill_loads` are bytes.
    """

    cubin: bytes
    registers: int
    shared_bytes: int
    spill_stores: int
    spill_loads: int
    stack_bytes: int
    barriers: int
    log: str

    def report(self) -> dict[str, object]:
        """The figures as they go into a kernel's report."""
        return {
            "registers": self.registers,
            "static_shared_bytes": self.shared_bytes,
            "spill_stores": self.spill_stores,
            "spill_loads": self.spill_loads,
            "stack_bytes": self.stack_bytes,
            "wgmma_serialised": sorted(set(_SERIALISED.findall(self.log))),
            "ptxas": self.log,
        }


# ---- where things are ----


def _toolkits() -> Iterator[Path]:
    """Roots that hold bin/ptxas or nvvm/libdevice, in the order in which they are tried."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    for entry in sys.path:
        # Wheels: nvidia/cu13 from CUDA 13 on, nvidia/cuda_nvcc and its like before.
        base = Path(entry or ".") / "nvidia"
        if base.is_dir():
            yield from sorted(p for p in base.iterdir() if p.is_dir())
    yield Path("/usr/local/cuda")


@lru_cache(maxsize=1)
def candidates() -> tuple[str, ...]:
    """Every ptxas that was found, best first: TILEOPT_PTXAS, PATH, CUDA_HOME, wheels, /usr/local/cuda."""
    name = "ptxas.exe" if os.name == "nt" else "ptxas"
    found = [os.environ.get("TILEOPT_PTXAS"), shutil.which("ptxas")]
    found += [str(root / "bin" / name) for root in _toolkits()]
    usable = [p for p in found if p and os.access(p, os.X_OK) and os.path.isfile(p)]
    return tuple(dict.fromkeys(usable))


def find_ptxas() -> str:
    """The ptxas that is tried first. Raises TargetError where there is none."""
    if not candidates():
        raise TargetError(
            "target/no-ptxas",
            "ptxas, which turns PTX into GPU code, was not found",
            help="pip install tileopt[cuda], or set CUDA_HOME or TILEOPT_PTXAS",
        )
    return candidates()[0]


@lru_cache(maxsize=1)
def find_libdevice() -> str:
    """The bitcode of NVIDIA's math functions. Raises TargetError where it is not found."""
    tried: list[Path] = []
    if os.environ.get("TILEOPT_LIBDEVICE"):
        tried.append(Path(os.environ["TILEOPT_LIBDEVICE"]))
    roots = [*_toolkits(), *(Path(p).resolve().parent.parent for p in candidates())]
    for root in roots:
        tried += [root / "nvvm" / "libdevice" / "libdevice.10.bc", root / "libdevice" / "libdevice.10.bc"]
    for path in tried:
        if path.is_file():
            return str(path)
    raise TargetError(
        "target/no-libdevice",
        "libdevice.10.bc, NVIDIA's math functions, was not found",
        help="pip install tileopt[cuda], or set CUDA_HOME or TILEOPT_LIBDEVICE",
    )


@lru_cache(maxsize=1)
def version() -> str:
    """What the first ptxas says of itself: part of the name of what is cached."""
    run = subprocess.run([find_ptxas(), "--version"], capture_output=True, text=True, timeout=_SECONDS)
    return run.stdout.strip().splitlines()[-1] if run.stdout.strip() else find_ptxas()


# ---- assembling ----

# Failures that another ptxas may not have: it is too old for the architecture or for the PTX.
_TOO_OLD = re.compile(r"is not defined for option 'gpu-name'|Unsupported \.version|not supported.*architecture", re.I)
# Advice C7510 to C7519: ptxas ran wgmma instructions one after the other, and says why.
_SERIALISED = re.compile(r"\(C751\d\)[^\n]*")
_LIMIT = re.compile(r"uses too much shared data \((\w+) bytes, (\w+) max\)")


def assemble(ptx: str, arch: str, *, options: tuple[str, ...] = ()) -> Assembled:
    """PTX text to a cubin for `arch` ("sm_90a"). Raises CompileError with what ptxas said."""
    first = find_ptxas()
    error = ""
    for path in candidates():
        with tempfile.TemporaryDirectory(prefix="tileopt-") as folder:
            source, target = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
            Path(source).write_text(ptx, encoding="utf-8")
            command = [path, f"-arch={arch}", "-v", *options, "-o", target, source]
            try:
                run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as failure:
                error = error or f"{path}: {failure}"
                continue
            log = (run.stderr + run.stdout).replace(folder + os.sep, "")
            if run.returncode == 0:
                return _parse(Path(target).read_bytes(), log)
            if run.returncode < 0:
                log += f"\nfatal: ptxas was killed by signal {-run.returncode}"
            error = error or log
            if not _TOO_OLD.search(log):
                raise _failure(arch, path, log)
    raise _failure(arch, first, error)


def _failure(arch: str, path: str, log: str) -> CompileError:
    lines = [line for line in log.splitlines() if "error" in line.lower() or "fatal" in line.lower()] or [log.strip()]
    said = "\n".join(lines[:12])
    limit = _LIMIT.search(log)
    if limit:
        return CompileError(
            "ptxas/shared-memory",
            f"a block needs {int(limit[1], 0)} bytes of shared memory, and {arch} has {int(limit[2], 0)}",
            help="use smaller tiles or fewer stages",
        )
    if _TOO_OLD.search(log):
        return TargetError(
            "target/old-ptxas",
            f"ptxas is too old for {arch}:\n{said}",
            help=f"{path} was used; pip install -U tileopt[cuda], or set TILEOPT_PTXAS",
        )
    return CompileError(
        "ptxas/rejected",
        f"ptxas does not take the PTX for {arch}:\n{said}",
        help="this is a fault of tileopt unless the kernel holds inline PTX: please report it with the kernel",
    )


def _number(pattern: str, log: str) -> int:
    return max((int(n) for n in re.findall(pattern, log)), default=0)


def _parse(cubin: bytes, log: str) -> Assembled:
    return Assembled(
        cubin,
        registers=_number(r"Used (\d+) registers", log),
        shared_bytes=_number(r"(\d+) bytes smem", log),
        spill_stores=_number(r"(\d+) bytes spill stores", log),
        spill_loads=_number(r"(\d+) bytes spill loads", log),
        stack_bytes=_number(r"(\d+) bytes stack frame", log),
        barriers=_number(r"used (\d+) barriers", log),
        log=log.strip(),
    )
