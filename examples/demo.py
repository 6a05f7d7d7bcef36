"""The demo: handwritten digits classified by tile kernels, then three kernels against NumPy in float64.

Runs on the CPU; where a GPU and PyTorch or CuPy are present, on the GPU as well. Prints what each architecture's code
takes where `ptxas` is found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import tileopt
from tileopt.dialects.diagnostics import TileoptError

sys.path.insert(0, str(Path(__file__).resolve().parent))

from matmul import matmul
from nearest import nearest
from softmax import softmax
from vector_add import vector_add

Array = np.ndarray
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120a")


class Device:
    """Where the kernels run: moves arrays there and back and waits for the work."""

    def __init__(self, name: str, put: Callable[[Array], object], get: Callable[[object], Array]) -> None:
        self.name, self.put, self.get = name, put, get


def devices() -> list[Device]:
    found = [Device("cpu", lambda x: x, lambda x: x)]
    try:
        import torch
    except ImportError:
        return found
    if torch.cuda.is_available():
        import ml_dtypes

        def put(x: Array) -> object:
            if x.dtype == ml_dtypes.bfloat16:
                return torch.from_numpy(x.view(np.int16)).cuda().view(torch.bfloat16)
            return torch.from_numpy(np.ascontiguousarray(x)).cuda()

        def get(x: object) -> Array:
            tensor = x.cpu()
            if tensor.dtype == torch.bfloat16:
                return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
            return tensor.numpy()

        found.append(Device(torch.cuda.get_device_name(), put, get))
    return found


def timed(launch: Callable[[], object]) -> float:
    """Milliseconds of one launch, the least of five, the compiler's work left out."""
    launch()
    tileopt.synchronize()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        launch()
        tileopt.synchronize()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def relative(out: Array, reference: Array) -> float:
    return float(np.linalg.norm(out.astype(np.float64) - reference) / np.linalg.norm(reference))


@dataclass
class Result:
    """One line of the table; `limit` is the largest error that passes."""

    kernel: str
    shape: str
    error: float
    limit: float
    ms: float


def classify(device: Device, rng: np.random.Generator, console: Console) -> Result:
    """500 of scikit-learn's 1797 handwritten digits, each given the label of the nearest of the others."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = rng.permutation(len(digits.data))
    images, labels = digits.data[order], digits.target[order]
    train, test = images[:1297], images[1297:]
    norms = (train**2).sum(1).astype(np.float32)
    index = device.put(np.full(len(test), -1, np.int64))
    arguments = [device.put(x) for x in (test.astype(np.float16), train.astype(np.float16), norms)]
    ms = timed(lambda: nearest[(tileopt.cdiv(len(test), 64),)](*arguments, index))
    chosen = device.get(index)
    accuracy = float((labels[:1297][chosen] == labels[1297:]).mean())
    console.print(f"{device.name}: {len(test)} of {len(images)} digits classified, {accuracy:.1%} right")
    distances = ((test[:, None, :] - train[None, :, :]) ** 2).sum(-1)
    excess = distances[np.arange(len(test)), chosen] - distances.min(1)
    return Result("nearest digit", f"{len(test)}x{len(train)}x64", float(np.abs(excess).max()), 0.0, ms)


def add(device: Device, rng: np.random.Generator) -> Result:
    n = 1_000_003
    x, y = rng.standard_normal(n, np.float32), rng.standard_normal(n, np.float32)
    px, py, out = device.put(x), device.put(y), device.put(np.full(n, np.nan, np.float32))
    ms = timed(lambda: vector_add[(tileopt.cdiv(n, 1024),)](px, py, out))
    return Result("vector add", f"{n}", relative(device.get(out), x.astype(np.float64) + y), 1e-7, ms)


def rows(device: Device, rng: np.random.Generator) -> Result:
    x = rng.standard_normal((1823, 781), np.float32)
    px, out = device.put(x), device.put(np.full_like(x, np.nan))
    ms = timed(lambda: softmax[(1823,)](px, out))
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Result("softmax", "1823x781", relative(device.get(out), e / e.sum(1, keepdims=True)), 1e-6, ms)


def product(device: Device, rng: np.random.Generator) -> Result:
    import ml_dtypes

    a = rng.standard_normal((500, 200), np.float32).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((200, 300), np.float32).astype(ml_dtypes.bfloat16)
    pa, pb, out = device.put(a), device.put(b), device.put(np.full((500, 300), np.nan, np.float32))
    ms = timed(lambda: matmul[(tileopt.cdiv(500, 64), tileopt.cdiv(300, 64))](pa, pb, out))
    reference = a.astype(np.float64) @ b.astype(np.float64)
    return Result("bf16 product", "500x300x200", relative(device.get(out), reference), 1e-6, ms)


def run(console: Console) -> bool:
    rng = np.random.default_rng()
    table = Table("kernel", "shape", "target", "error", "ms", title="tileopt: tile kernels against NumPy in float64")
    ok = True
    for device in devices():
        for result in (classify(device, rng, console), *(work(device, rng) for work in (add, rows, product))):
            good = result.error <= result.limit
            ok &= good
            error = f"{result.error:.1e}" if good else f"[red]{result.error:.1e}"
            table.add_row(result.kernel, result.shape, device.name, error, f"{result.ms:.3f}")
    console.print(table)
    return ok


def code_table(console: Console) -> None:
    """What the code of each architecture takes."""
    from tileopt.backends.nvidia.ptxas import find_ptxas

    if find_ptxas() is None:
        console.print("no ptxas found: install the extra 'cuda' to see registers and instructions")
        return
    table = Table("kernel", "target", "PTX bytes", "registers", "spilled", "atoms", title="The same kernels as PTX")
    rows = "f32[?,?]"
    kernels = [
        ("vector add", vector_add, {"x": "f32[?]", "y": "f32[?]", "out": "f32[?]"}),
        ("softmax", softmax, {"x": rows, "out": rows}),
        ("bf16 product", matmul, {"a": "bf16[?:16,?:16]", "b": "bf16[?:16,?:16]", "out": rows}),
        (
            "nearest digit",
            nearest,
            {"points": "f16[?:16,?:16]", "references": "f16[?:16,?:16]", "norms": "f32[?]", "index": "i64[?]"},
        ),
    ]
    for name, kernel, specs in kernels:
        for target in ARCHITECTURES:
            made = kernel.compile(target, **specs)
            report = made.report
            table.add_row(
                name,
                target,
                str(len(made.ptx)),
                str(report.get("registers", "?")),
                str(report.get("spill_stores", "?")),
                ", ".join(report.get("atoms", [])) or "-",
            )
    console.print(table)


def main() -> int:
    console = Console(width=110)
    try:
        ok = run(console)
        code_table(console)
    except TileoptError as error:
        console.print(str(error), markup=False)
        return 1
    console.print("all results agree with NumPy" if ok else "[red]some results differ from NumPy")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
