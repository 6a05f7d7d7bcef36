"""Every flag of the command, its exit codes, and that it says where an error lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import tileopt

FOLDS = """func.func @f() -> i32 {
  %a = arith.constant 2 : i32
  %b = arith.constant 3 : i32
  %c = arith.addi %a, %b : i32
  func.return %c : i32
}
"""
INVALID = """func.func @f(%a: i32) {
  %0 = "arith.addi"(%a) : (i32) -> i32
  func.return
}
"""


def test_reads_files_and_standard_input(tmp_path: Path) -> None:
    one, two = tmp_path / "one.mlir", tmp_path / "two.mlir"
    one.write_text(FOLDS)
    two.write_text(FOLDS.replace("@f", "@g"))
    done = tileopt(one, two)
    assert done.code == 0
    assert done.out.index("@f") < done.out.index("// -----") < done.out.index("@g")
    assert tileopt(one).out == tileopt("-", stdin=FOLDS).out == tileopt(stdin=FOLDS).out


def test_writes_a_file_only_when_all_went_well(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    assert tileopt("-o", target, stdin=INVALID).code == 1
    assert not target.exists()
    done = tileopt("-o", target, stdin=FOLDS)
    assert (done.code, done.data) == (0, b"")
    assert "func.func @f" in target.read_text()


def test_runs_a_pipeline_in_order() -> None:
    done = tileopt("-p", "canonicalize, dce", "--print-ir-after-all", stdin=FOLDS)
    assert done.code == 0
    assert "arith.constant 5" in done.out
    assert "arith.addi" not in done.out
    first = done.err.index("// -----// IR Dump After canonicalize //----- //")
    assert first < done.err.index("// -----// IR Dump After dce //----- //")


def test_prints_the_ir_before_passes() -> None:
    done = tileopt("-p", "canonicalize", "--print-ir-before-all", stdin=FOLDS)
    assert "IR Dump Before canonicalize" in done.err
    assert "arith.addi" in done.err


def test_places_survive_canonicalization() -> None:
    done = tileopt("-p", "canonicalize", "--mlir-print-debuginfo", stdin=FOLDS)
    assert 'arith.constant 5 : i32 loc("<stdin>":4:8)' in done.out


def test_debuginfo_can_be_read_again() -> None:
    once = tileopt("--mlir-print-debuginfo", stdin=FOLDS)
    assert once.code == 0
    again = tileopt("--mlir-print-debuginfo", stdin=once.out)
    assert again.out == once.out


def test_generic_form() -> None:
    done = tileopt("--mlir-print-op-generic", stdin=FOLDS)
    assert '"arith.addi"(' in done.out
    assert tileopt(stdin=done.out).out == tileopt(stdin=FOLDS).out


def test_timing_goes_to_standard_error() -> None:
    done = tileopt("-p", "canonicalize,dce", "--timing", stdin=FOLDS)
    assert "Execution time report" not in done.out
    for row in ("Parser", "canonicalize", "dce", "Verifier", "Output", "Total"):
        assert f"  {row}\n" in done.err


@pytest.mark.parametrize(("flag", "known"), [("--list-passes", "canonicalize"), ("--list-dialects", "tile")])
def test_lists(flag: str, known: str) -> None:
    done = tileopt(flag)
    assert (done.code, done.err) == (0, "")
    assert known in [line.split()[0] for line in done.out.splitlines() if line.strip()]
    assert "cannot be loaded" not in done.out


def test_lists_targets() -> None:
    done = tileopt("--list-targets")
    assert {"cpu", "sm_80", "sm_90a"} <= set(done.out.split())


def test_help_names_every_flag() -> None:
    done = tileopt("--help")
    assert done.code == 0
    for flag in ("--split-input-file", "--verify-diagnostics", "--emit", "--target", "--list-passes", "--timing"):
        assert flag in done.out


def test_version() -> None:
    assert tileopt("--version").out.startswith("tileopt 0.")


def test_invalid_ir_is_reported_with_its_place() -> None:
    done = tileopt(stdin=INVALID)
    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert lines[0].startswith("<stdin>:2:8: error[verify/arith.addi]: ")
    assert lines[1:3] == ['  %0 = "arith.addi"(%a) : (i32) -> i32', "       ^"]


def test_every_invalid_op_is_reported() -> None:
    text = INVALID.replace("  func.return", '  %1 = "arith.muli"(%a) : (i32) -> i32\n  func.return')
    assert [line.split(": ")[1] for line in tileopt(stdin=text).err.splitlines() if "error[" in line] == [
        "error[verify/arith.addi]",
        "error[verify/arith.muli]",
    ]


def test_split_input_file_keeps_line_numbers_and_goes_on() -> None:
    text = f"{FOLDS}// -----\n{INVALID}// -----\n{FOLDS}"
    done = tileopt("--split-input-file", stdin=text)
    assert done.code == 1
    assert "<stdin>:9:8: error[verify/arith.addi]" in done.err
    assert done.out.count("func.func @f") == 2
    assert tileopt(stdin=text).code == 1, "unsplit, the file defines @f three times"


def test_verify_each_blames_the_pass_and_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.test import TestOp
    from xdsl.passes import ModulePass

    from tileopt.passes import pipeline_text

    class Spoil(ModulePass):
        name = "spoil"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            function = op.body.block.first_op
            assert function is not None
            function.regions[0].block.add_op(TestOp())

    monkeypatch.setattr(pipeline_text, "pass_class", lambda name: Spoil)
    for on in ([], ["--verify-each"], ["--verify-each=1"], ["--verify-each", "true"], ["--verify-each", "-"]):
        done = tileopt("-p", "spoil", *on, stdin=FOLDS)
        assert done.code == 1
        assert "note: pass 'spoil' left the module invalid" in done.err
    for off in (["--no-verify-each"], ["--verify-each=false"], ["--verify-each", "false"], ["--verify-each", "0"]):
        assert tileopt("-p", "spoil", *off, stdin=FOLDS).code == 0


def test_a_failing_pass_is_an_internal_error_with_its_op(monkeypatch: pytest.MonkeyPatch) -> None:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from tileopt.passes import pipeline_text

    class Crash(ModulePass):
        name = "crash"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            op = list(op.walk())[3]  # type: ignore[assignment]
            raise KeyError("lost")

    monkeypatch.setattr(pipeline_text, "pass_class", lambda name: Crash)
    done = tileopt("-p", "crash", stdin=FOLDS)
    assert done.code == 1
    assert done.err.startswith(
        "<stdin>:3:8: error[internal]: pass 'crash' failed: KeyError: 'lost' (at 'arith.constant')"
    )
    assert "please report it" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--bogus"], "usage"),
        (["--emit", "elf"], "usage"),
        (["--verify-each=perhaps"], "usage"),
        (["-p", "canonicalise"], "pipeline/unknown-pass"),
        (["-p", "cse{x=1}"], "pipeline/option"),
        (["-p", "cse,,dce"], "pipeline/syntax"),
        (["--target", "sm_1"], "target/unknown"),
        (["no-such-file.mlir"], "io/read"),
        (["-o", "/no/such/folder/file"], "io/write"),
        (["--emit", "ptx"], "target/missing"),
    ],
)
def test_what_is_asked_for_wrongly_exits_with_1(argv: list[str], code: str) -> None:
    done = tileopt(*argv, stdin=FOLDS)
    assert done.code == 1
    assert f"error[{code}]: " in done.err
    assert done.out == ""


def test_target_is_set_where_the_module_names_none() -> None:
    assert 'tile.target = "sm_90a"' in tileopt("--target", "sm_90a", stdin=FOLDS).out
    named = 'builtin.module attributes {tile.target = "sm_80"} {\n}\n'
    assert 'tile.target = "sm_80"' in tileopt("--target", "sm_80", stdin=named).out
    other = tileopt("--target", "sm_90a", stdin=named)
    assert other.code == 1
    assert "error[target/conflict]: the module is for sm_80, and --target says sm_90a" in other.err


@pytest.mark.parametrize(
    ("value", "code"), [('"sm_1"', "target/unknown"), ("3 : i32", "target/invalid"), ("[]", "target/invalid")]
)
def test_targets_in_the_module_are_checked(value: str, code: str) -> None:
    done = tileopt(stdin=f"builtin.module attributes {{tile.target = {value}}} {{\n}}\n")
    assert done.code == 1
    assert f"error[{code}]" in done.err


def test_unregistered_dialects_are_refused_unless_allowed() -> None:
    text = '"other.op"() : () -> ()\n'
    assert "error[parse/unknown-op]: unknown op 'other.op'" in tileopt(stdin=text).err
    assert tileopt("--allow-unregistered-dialect", stdin=text).code == 0


def test_flags_and_files_mix(tmp_path: Path) -> None:
    for name in ("a.mlir", "b.mlir"):
        (tmp_path / name).write_text(FOLDS)
    assert tileopt(tmp_path / "a.mlir", "-p", "cse", tmp_path / "b.mlir", "--verify-each").code == 0


def test_the_installed_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tileopt.tools.opt", "-p", "canonicalize"],
        input=FOLDS,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "arith.constant 5" in done.stdout


def test_a_closed_reader_is_no_error() -> None:
    command = f"{sys.executable} -m tileopt.tools.opt | true"
    done = subprocess.run(["bash", "-c", command], input=FOLDS, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_starts_without_what_it_does_not_need() -> None:
    code = (
        "import io, sys\n"
        "from tileopt.tools.opt import Console, run\n"
        "assert run(['-p', 'canonicalize'], Console(io.BytesIO(sys.argv[1].encode()), io.BytesIO(), sys.stderr)) == 0\n"
        "print([m for m in ('numpy', 'llvmlite', 'importlib.metadata', 'networkx', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, FOLDS], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stdout + done.stderr


KERNEL = """tile.kernel @copy(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) {
  %b = tile.bid {axis = 0}
  %n = arith.constant 128 : i64
  %i = arith.muli %b, %n : i64
  %a = tile.load %x[%i] : !tile.view<?xf32, shared> -> tensor<128xf32>
  tile.store %a, %o[%i] : tensor<128xf32>, !tile.view<?xf32, owned>
  tile.return
}
"""


@pytest.mark.parametrize(
    ("target", "stage", "says"),
    [
        ("sm_90a", "llvm", b"ptx_kernel void @copy("),
        ("sm_90a", "ptx", b".target sm_90a"),
        ("sm_80", "ptx", b".target sm_80"),
        ("sm_80", "cubin", b"\x7fELF"),
        ("cpu", "llvm", b"copy.blocks"),
    ],
)
def test_emits_what_a_target_runs(target: str, stage: str, says: bytes, tmp_path: Path) -> None:
    done = tileopt("--target", target, "--emit", stage, stdin=KERNEL)
    assert done.code == 0, done.err
    assert says in done.data
    again = tmp_path / "out"
    assert tileopt("--target", target, "--emit", stage, "-o", again, stdin=KERNEL).data == b""
    assert again.read_bytes() == done.data


def test_emission_shows_the_targets_passes_and_is_the_same() -> None:
    argv = ("--target", "sm_90a", "--emit", "ptx")
    shown = tileopt(*argv, "--timing", "--print-ir-after-all", stdin=KERNEL)
    assert shown.code == 0, shown.err
    assert shown.data == tileopt(*argv, stdin=KERNEL).data
    for name in ("elide-bounds", "assign-layouts", "lower-tile-to-simt"):
        assert f"IR Dump After {name} " in shown.err
        assert f"  {name}\n" in shown.err
    assert "  Emit ptx\n" in shown.err


def test_a_cpu_has_no_ptx() -> None:
    done = tileopt("--target", "cpu", "--emit", "ptx", stdin=KERNEL)
    assert done.code == 1
    assert "error[target/no-ptx]" in done.err


def test_one_binary_at_a_time() -> None:
    argv = ("--target", "sm_80", "--emit", "cubin", "--split-input-file")
    done = tileopt(*argv, stdin=f"{KERNEL}// -----\n{KERNEL}")
    assert (done.code, done.data) == (1, b"")
    assert "error[usage]" in done.err


def test_errors_name_arguments_as_the_file_does() -> None:
    text = """module attributes {tile.target = "sm_80"} {
tile.kernel @k(%n: i64, %row: !tile.view<?xf32, owned>) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %i = tile.bid {axis = 0}
  tile.store %z, %row[%i] : tensor<8xf32>, !tile.view<?xf32, owned>
  tile.return
}
}
"""
    done = tileopt("-p", "verify-ownership", stdin=text)
    assert done.code == 1
    assert "%row" in done.err.splitlines()[0] and "%1" not in done.err
