"""The in-process runner says what lit's own shell says, and leaves no trace."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lit_inproc import parse_pipe, restored, run_golden, run_lines
from test_lit import by_lit

FOLDS = """%a = arith.constant 2 : i32
%b = arith.addi %a, %a : i32
"test.op"(%b) : (i32) -> ()
"""
BAD = '%a = "arith.addi"() : () -> i32\n'

CASES = {
    "holds": (f"// RUN: tileopt %s -p canonicalize | filecheck %s\n// CHECK: arith.constant 4\n{FOLDS}", True),
    "a check fails": (f"// RUN: tileopt %s | filecheck %s\n// CHECK: arith.constant 4\n{FOLDS}", False),
    "a CHECK-NOT fails": (f"// RUN: tileopt %s | filecheck %s\n// CHECK-NOT: arith.addi\n{FOLDS}", False),
    "the tool fails": (f"// RUN: tileopt %s | filecheck %s\n// CHECK: module\n{BAD}", False),
    "the tool must fail": (
        f"// RUN: not tileopt %s 2>&1 | filecheck %s\n// CHECK: error[verify/arith.addi]\n{BAD}",
        True,
    ),
    "the tool should have failed": (f"// RUN: not tileopt %s | filecheck %s\n// CHECK: module\n{FOLDS}", False),
    "a later line fails": (f"// RUN: tileopt %s\n// RUN: tileopt %s -p nothing\n{FOLDS}", False),
    "lines are joined": (
        f"// RUN: tileopt %s -p \\\n// RUN: canonicalize | filecheck %s\n// CHECK: 4\n{FOLDS}",
        True,
    ),
    "expectations are met": (
        f"// RUN: tileopt %s --verify-diagnostics\n// expected-error@+1 {{{{arith.addi}}}}\n{BAD}",
        True,
    ),
    "expectations are not met": (f"// RUN: tileopt %s --verify-diagnostics\n{BAD}", False),
    "no RUN line": (FOLDS, False),
    "no check line": (f"// RUN: tileopt %s | filecheck %s\n{FOLDS}", False),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts(name: str, tmp_path: Path) -> None:
    text, holds = CASES[name]
    path = tmp_path / "case.mlir"
    path.write_text(text)
    outcome = run_golden(path)
    assert outcome is not None
    assert outcome.ok is holds, outcome.log
    assert holds or outcome.log


@pytest.mark.parametrize(
    "line",
    [
        "tileopt %s > %t",
        "tileopt %s && filecheck %s",
        "cat %s | tileopt",
        "tileopt < %s",
        "tileopt 'x",
        "X=1 tileopt %s",
    ],
)
def test_what_needs_a_shell_is_left_to_lit(line: str) -> None:
    assert parse_pipe(line, Path("a.mlir"), Path("scratch")) is None


def test_what_only_lit_obeys_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "case.mlir"
    path.write_text(f"// REQUIRES: nothing\n// RUN: tileopt %s\n{FOLDS}")
    assert run_golden(path) is None


def test_run_lines_are_joined() -> None:
    assert list(run_lines("// RUN: a \\\n// RUN: b\n// RUN: c\n")) == ["a b", "c"]


def test_plain_lit_agrees(tmp_path: Path) -> None:
    """`lit` on a folder with the project's configuration: in process and, where a shell is needed, in processes."""
    root = Path(__file__).parents[2]
    folder = root / "build" / "lit-agrees" / tmp_path.name
    folder.mkdir(parents=True)
    try:
        (folder / "lit.cfg").write_text((root / "lit.cfg").read_text().replace("__file__", repr(str(root / "lit.cfg"))))
        config = folder / "lit.cfg"
        config.write_text(config.read_text() + f"config.test_source_root = {str(folder)!r}\nconfig.excludes = []\n")
        for number, (text, _) in enumerate(CASES.values()):
            (folder / f"{number}.mlir").write_text(text)
        (folder / "shell.mlir").write_text(f"// RUN: tileopt %s > %t && filecheck %s < %t\n// CHECK: addi\n{FOLDS}")
        command = [sys.executable, "-c", "from lit.main import main; main()", "-v", "-j1", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        for number, (name, (_, holds)) in enumerate(CASES.items()):
            verdict = "PASS" if holds else "FAIL"
            assert f"{verdict}: tileopt :: {number}.mlir" in done.stdout, (name, done.stdout)
        assert "PASS: tileopt :: shell.mlir" in done.stdout, done.stdout
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()


def test_by_lit_reports_failures() -> None:
    assert by_lit(Path(__file__).parent / "roundtrip.mlir").ok
    assert not by_lit(Path(__file__).parent / "no-such-golden.mlir").ok


def test_state_is_restored(tmp_path: Path) -> None:
    directory, limit = os.getcwd(), sys.getrecursionlimit()
    with restored():
        os.chdir(tmp_path)
        os.environ["TILEOPT_LEFT_BEHIND"] = "1"
        sys.setrecursionlimit(limit + 1)
        sys.path.append("left-behind")
        gc.disable()
    assert os.getcwd() == directory
    assert "TILEOPT_LEFT_BEHIND" not in os.environ
    assert sys.getrecursionlimit() == limit
    assert "left-behind" not in sys.path
    assert gc.isenabled()


def test_resources_do_not_leak_from_one_run_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "resource.mlir"
    path.write_text(
        "// RUN: tileopt %s | filecheck %s\n// CHECK: dense_resource<weights>\n"
        '"test.op"() {a = dense_resource<weights> : tensor<1xf32>} : () -> ()\n'
    )
    for _ in range(2):
        outcome = run_golden(path)
        assert outcome is not None
        assert outcome.ok, outcome.log
