"""The cache on disk: content, corruption, locks, and eight processes that start cold."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from python_kernels import module
from runtime.fakes import COUNT, FakeKernel, parameter

from tileopt.backends.runtime import cache, specialise
from tileopt.backends.runtime.artifact import Artifact
from tileopt.backends.runtime.constants import stable_text
from tileopt.dialects.diagnostics import BoundsError

KERNEL = (parameter("out", "inout"), parameter("K", "const", default=1))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.bin"))


def run(launch: Any, kernel: FakeKernel, **kwargs: Any) -> None:
    out = np.zeros(5, np.int64)
    launch(kernel, (5,), out, **kwargs)
    assert (out == 1).all()


def test_a_second_process_finds_the_code(launch: Any, own_cache: Path) -> None:
    first, second = FakeKernel(KERNEL, COUNT), FakeKernel(KERNEL, COUNT)
    run(launch, first)
    run(launch, second)
    assert (len(first.builds), len(second.builds), len(entries(own_cache))) == (1, 0, 1)


@pytest.mark.parametrize("before", ["", "# moved down a line\n"])
def test_errors_of_code_from_the_disk_name_their_own_kernel(own_cache: Path, before: str) -> None:
    text = """
    @simt.kernel(block=64)
    def k(x: simt.Slice, out: simt.DisjointSlice):
        i = simt.thread_index()
        if i < len(out):
            out[i] = x[i]
    """
    first = module(text)["k"]
    second = module(before + textwrap.dedent(text))["k"]
    for kernel in (first, second):
        with pytest.raises(BoundsError) as caught:
            kernel[1](np.zeros(5, np.float32), np.zeros(6, np.float32), target="cpu")
        place, own = caught.value.location, kernel.location
        assert place is not None
        assert (place.file, place.line) == (own.file, own.line + 3)


@pytest.mark.parametrize("change", [{"source": "2"}, {"name": "other"}])
def test_another_kernel_is_another_entry(launch: Any, own_cache: Path, change: dict[str, Any]) -> None:
    run(launch, FakeKernel(KERNEL, COUNT))
    other = FakeKernel(KERNEL, COUNT, **change)
    run(launch, other)
    assert len(other.builds) == 1
    assert len(entries(own_cache)) == 2


def test_sources_packages_and_processor_are_part_of_the_name(
    launch: Any, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(launch, FakeKernel(KERNEL, COUNT))
    for name in ("sources", "packages", "host"):
        monkeypatch.setattr(cache, name, lambda: "changed")
        kernel = FakeKernel(KERNEL, COUNT)
        run(launch, kernel)
        assert len(kernel.builds) == 1, name


def test_every_source_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    import tileopt

    read: list[Path] = []
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or original(self))  # type: ignore[func-returns-value]
    assert cache.sources.__wrapped__() == cache.sources()
    root = Path(tileopt.__path__[0])
    for part in ("dialects", "passes", "frontends", "backends", "tools"):
        assert root / part / "__init__.py" in read, part


def test_a_constant_with_no_lasting_text_stays_off_the_disk(launch: Any, own_cache: Path) -> None:
    kernel = FakeKernel(KERNEL, COUNT)
    run(launch, kernel, K=object())
    assert not entries(own_cache)
    run(launch, kernel, K=(1, 2.5, "a"))
    assert len(entries(own_cache)) == 1


def test_stable_text() -> None:
    from enum import Enum

    from tileopt.dialects.contracts import Hints

    class Color(Enum):
        RED = 1

    assert stable_text(1) != stable_text(True)
    assert stable_text(0.0) != stable_text(-0.0)
    assert stable_text((1, (2,))) != stable_text((1, 2))
    assert stable_text(("a,b",)) != stable_text(("a", "b"))
    assert stable_text(Color.RED) is not None
    assert stable_text(Hints(num_warps=4)) != stable_text(Hints(num_warps=8))
    for value in (object(), len, lambda: 1, [1], frozenset([1])):
        assert stable_text(value) is None


@pytest.mark.parametrize("damage", [b"", b"tileopt1", b"x" * 5000, None])
def test_damaged_entries_are_made_anew(launch: Any, own_cache: Path, damage: bytes | None) -> None:
    run(launch, FakeKernel(KERNEL, COUNT))
    (path,) = entries(own_cache)
    good = path.read_bytes()
    # One letter of the report: everything would still load.
    path.write_bytes(good.replace(b"proved", b"proven") if damage is None else damage)
    kernel = FakeKernel(KERNEL, COUNT)
    run(launch, kernel)
    assert len(kernel.builds) == 1
    assert path.read_bytes() == good


def test_an_entry_that_checks_but_does_not_load_is_made_anew(launch: Any, own_cache: Path) -> None:
    run(launch, FakeKernel(KERNEL, COUNT))
    (path,) = entries(own_cache)
    key = path.parent.name + path.stem
    payload = cache.read(own_cache, key)
    assert payload is not None
    artifact = Artifact.from_bytes(payload)
    assert artifact is not None
    assert Artifact.from_bytes(artifact.to_bytes()) == artifact
    for bad in (payload.split(b"\n")[0] + b"\nno object code", b"{}\n", b"not json"):
        cache.write(own_cache, key, bad)
        kernel = FakeKernel(KERNEL, COUNT)
        run(launch, kernel)
        assert len(kernel.builds) == 1


def test_off(launch: Any, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEOPT_CACHE", "0")
    run(launch, FakeKernel(KERNEL, COUNT))
    assert not own_cache.exists()


def test_a_folder_that_cannot_be_made(launch: Any, own_cache: Path) -> None:
    own_cache.write_text("a file stands where the folder should be")
    kernel = FakeKernel(KERNEL, COUNT)
    run(launch, kernel)
    assert len(kernel.builds) == 1


def test_a_key_cannot_be_split_another_way() -> None:
    assert cache.digest(["ab", "c"]) != cache.digest(["a", "bc"])
    assert cache.digest(["a", ""]) != cache.digest(["a"])
    assert cache.digest(["1:a"]) != cache.digest(["", "a"])


def test_the_lock_is_waited_for_and_given_up(own_cache: Path) -> None:
    key = "ab" + "c" * 38
    order: list[str] = []

    def second() -> None:
        with cache.locked(own_cache, key) as had:
            order.append(f"second {had}")

    with cache.locked(own_cache, key) as had:
        assert had
        thread = threading.Thread(target=second)
        thread.start()
        start = time.monotonic()
        with cache.locked(own_cache, key, seconds=0.05) as other:
            assert not other
        assert time.monotonic() - start < 5
        order.append("first")
    thread.join()
    assert order == ["first", "second True"]


PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
import os, time
import numpy as np
from runtime import fakes
from tileopt.backends.runtime import specialise
from tileopt.backends.runtime.engine import Engine

def compile_slowly(definition, signature, target, holds):
    print("compiled", flush=True)
    time.sleep(0.3)
    return fakes.compile_fake(definition, signature, target)

specialise.compile_kernel = compile_slowly
kernel = fakes.FakeKernel((fakes.parameter("out", "inout"),), fakes.COUNT)
print("ready", flush=True)
sys.stdin.readline()
out = np.zeros(7, np.int64)
Engine().launch(kernel, (7,), (out,), {})
assert (out == 1).all()
print("done", flush=True)
"""


def test_eight_cold_processes_compile_once(tmp_path: Path, own_cache: Path) -> None:
    script = tmp_path / "process.py"
    script.write_text(textwrap.dedent(PROCESS))
    tests = str(Path(__file__).parents[1])
    runs = [
        subprocess.Popen(
            [sys.executable, str(script), tests],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TILEOPT_NUM_THREADS": "1"},
        )
        for _ in range(8)
    ]
    for process in runs:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in runs:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [process.communicate(timeout=120) for process in runs]
    assert [process.returncode for process in runs] == [0] * 8, results
    assert sum("compiled" in out for out, _ in results) == 1
    assert all("done" in out for out, _ in results)
    assert len(entries(own_cache)) == 1


def test_what_the_cache_reads_is_what_the_compiler_made(launch: Any, own_cache: Path) -> None:
    kernel = FakeKernel(KERNEL, COUNT, conditions=("len(out) > 0",))
    signature = {"out": specialise.ArraySpec("i64", 1), "K": specialise.ConstSpec(1)}
    from tileopt.backends.runtime import defaults

    made = specialise.build(kernel, signature, defaults.resolve("cpu"))
    read = specialise.build(kernel, signature, defaults.resolve("cpu"))
    assert len(kernel.builds) == 1
    assert read.artifact == made.artifact
    assert read.artifact.conditions == ("len(out) > 0",)
    assert launch is not None
