"""`python -m benchmarks`: import, compile and CPU times; `--gpu`: kernels on a GPU beside its libraries."""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="kernels on a GPU beside PyTorch, cuBLAS, cuDNN and Triton")
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--only", default="", help="parts whose name contains one of these words, with commas between")
    given = parser.parse_args()
    if given.gpu:
        from benchmarks.gpu import main as gpu

        gpu(given.quick, given.only)
    else:
        from benchmarks.host import main as host

        host(given.only)


if __name__ == "__main__":
    main()
