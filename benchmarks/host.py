"""Without a GPU: import, compile and command times beside their budgets; CPU kernels beside Triton's interpreter.

The budgets are those of the design; the interpreter needs PyTorch and Triton (`make bench` installs them in an
environment of their own).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TARGET = "sm_90a"

# One cold compile in a fresh process that has compiled others before: modules and libdevice are loaded, nothing of this
# kernel is known.
COMPILE = """
import sys, time
sys.path.insert(0, {examples!r})
import tileopt
from vector_add import vector_add
from softmax import softmax
from matmul import matmul
from attention import attention
row, wide = "f32[?:16]", "bf16[?:16, ?:16]"
kernels = {{
    "vector add": lambda: vector_add.compile({target!r}, x=row, y=row, out=row),
    "softmax": lambda: softmax.compile({target!r}, x="f32[?, ?]", out="f32[?, ?]"),
    "product 128x256": lambda: matmul.compile({target!r}, a=wide, b=wide, out=wide, BM=128, BN=256, BK=64),
    "attention": lambda: attention.compile(
        {target!r}, q=heads, k=heads, v=heads, out=heads, scale="f32", BM=128, BN=64, D=128
    ),
}}
heads = "bf16[?, ?:16, ?:16]"
vector_add.compile({target!r}, x="f16[?]", y="f16[?]", out="f16[?]").cubin
softmax.compile({target!r}, x="f16[?, ?]", out="f16[?, ?]", COLUMNS=64).ptx
half = "f16[?:16, ?:16]"
matmul.compile({target!r}, a=half, b=half, out=half, BM=64, BN=32, BK=32).ptx
start = time.perf_counter()
compiled = kernels[{name!r}]()
compiled.ptx
first = time.perf_counter() - start
compiled.cubin
print(first, time.perf_counter() - start)
"""

IMPORT = "import time; start = time.perf_counter(); import tileopt; print(time.perf_counter() - start)"

BUDGETS = {
    "vector add": 0.05,
    "softmax": 0.15,
    "product 128x256": 0.35,
    "attention": 0.5,
}


def in_process(code: str) -> list[float]:
    """The numbers that a fresh Python prints."""
    environment = {**os.environ, "TILEOPT_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    return [float(x) for x in done.stdout.split()]


def median(measure: Callable[[], float], rounds: int = 5) -> float:
    return statistics.median(measure() for _ in range(rounds))


def hundred_ops() -> str:
    """A tile kernel of a hundred ops, as text."""
    lines = ["%t0 = tile.load %x[%c0] : !tile.view<?xf32, shared> -> tensor<1024xf32>"]
    lines += [f"%t{i} = arith.addf %t{i - 1}, %t0 : tensor<1024xf32>" for i in range(1, 96)]
    lines.append("tile.store %t95, %o[%c0] : tensor<1024xf32>, !tile.view<?xf32, owned>")
    body = "\n    ".join(lines)
    return f"""tile.kernel @sum(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) {{
    %i = tile.bid {{axis = 0}}
    %c = arith.constant 1024 : i64
    %c0 = arith.muli %i, %c : i64
    {body}
    tile.return
}}
"""


def command_seconds() -> float:
    """The whole process: text to PTX."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sum.mlir"
        path.write_text(hundred_ops())
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "tileopt.tools.opt", str(path), "--target", TARGET, "--emit", "ptx"],
            capture_output=True,
            check=True,
            cwd=ROOT,
        )
        return time.perf_counter() - start


def compile_times(console: Console) -> None:
    table = Table("what", "seconds", "budget", "budget / ours", title="Time before the first launch")

    def row(what: str, seconds: float, budget: float) -> None:
        table.add_row(what, f"{seconds:.3f}", f"{budget:.2f}", f"{budget / seconds:.2f}")

    row("import tileopt", median(lambda: in_process(IMPORT)[0]), 0.35)
    for name, budget in BUDGETS.items():
        runs = [in_process(COMPILE.format(examples=str(EXAMPLES), target=TARGET, name=name)) for _ in range(3)]
        row(f"compile {name} to PTX", statistics.median(r[0] for r in runs), budget)
        row(f"compile {name} to a cubin", statistics.median(r[1] for r in runs), budget)
    row("tileopt on 100 ops, whole process", median(command_seconds, 3), 0.6)
    console.print(table)


def best(work: Callable[[], object], repeats: int) -> float:
    """Seconds of one run, the least of several; the first run, which compiles, is left out."""
    work()
    found = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


def against_the_interpreter(console: Console) -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        import torch

        from benchmarks import triton_kernels
    except ImportError as error:
        console.print(f"Triton's interpreter is not compared: {error}", markup=False)
        return
    sys.path.insert(0, str(EXAMPLES))
    from matmul import matmul
    from softmax import softmax
    from vector_add import vector_add

    rng = np.random.default_rng()
    table = Table("kernel", "tileopt, ms", "Triton's interpreter, ms", "times faster", "error", title="On the CPU")

    def row(
        name: str, ours: Callable[[], object], theirs: Callable[[], object], out: np.ndarray, reference: np.ndarray
    ) -> None:
        mine, other = best(ours, 5), best(theirs, 1)
        error = float(np.linalg.norm(out - reference) / np.linalg.norm(reference))
        table.add_row(name, f"{mine * 1e3:.2f}", f"{other * 1e3:.0f}", f"{other / mine:.0f}", f"{error:.1e}")

    n = 1 << 18
    x, y = rng.standard_normal(n, np.float32), rng.standard_normal(n, np.float32)
    out = np.full(n, np.nan, np.float32)
    tx, ty, tout = torch.from_numpy(x), torch.from_numpy(y), torch.empty(n)
    row(
        f"add {n}",
        lambda: vector_add[(n // 1024,)](x, y, out),
        lambda: triton_kernels.add[(n // 1024,)](tx, ty, tout, n, BLOCK=1024),
        out,
        x.astype(np.float64) + y,
    )
    x = rng.standard_normal((256, 781), np.float32)
    rows = np.full_like(x, np.nan)
    tx, tout = torch.from_numpy(x), torch.empty(256, 781)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    row(
        "softmax 256x781",
        lambda: softmax[(256,)](x, rows),
        lambda: triton_kernels.softmax[(256,)](tx, tout, 781, 781, BLOCK=1024),
        rows,
        e / e.sum(1, keepdims=True),
    )
    a, b = rng.standard_normal((512, 512), np.float32), rng.standard_normal((512, 512), np.float32)
    product = np.full((512, 512), np.nan, np.float32)
    ta, tb, tc = torch.from_numpy(a), torch.from_numpy(b), torch.empty(512, 512)
    row(
        "product 512, f32",
        lambda: matmul[(8, 8)](a, b, product),
        lambda: triton_kernels.matmul[(64,)](
            ta, tb, tc, 512, 512, 512, 512, 1, 512, 1, 512, BM=64, BN=64, BK=32, GROUP=8
        ),
        product,
        a.astype(np.float64) @ b.astype(np.float64),
    )
    console.print(table)


def main(only: str = "") -> None:
    console = Console(width=110)
    if only in "compile":
        compile_times(console)
    if only in "launches":
        from benchmarks.launches import launch_costs

        launch_costs(console)
    if only in "interpreter":
        against_the_interpreter(console)
