"""The flags of the `tileopt` command: mlir-opt's, with targets and what to emit."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from tileopt.dialects.diagnostics import TileoptError

_BOOLEANS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
STAGES = ("mlir", "llvm", "ptx", "cubin")


class UsageError(TileoptError):
    """Flags that do not fit together or do not exist."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError("usage", message, help="tileopt --help lists the flags")


class Options(argparse.Namespace):
    """What the flags say."""

    files: list[str]
    passes: str
    target: str | None
    emit: str
    output: str
    run: bool
    entry: str | None
    arg: list[str]
    split_input_file: bool
    verify_diagnostics: bool
    verify_each: bool
    deny_checks: bool
    allow_unregistered_dialect: bool
    print_ir_before_all: bool
    print_ir_after_all: bool
    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    timing: bool
    list_passes: bool
    list_dialects: bool
    list_targets: bool
    version: bool
    help: bool


def parse_options(argv: Sequence[str]) -> Options:
    """Read the command line. Raises UsageError."""
    options = _parser().parse_intermixed_args(_with_values(argv), Options())
    if options.run and (options.emit != "mlir" or options.verify_diagnostics or options.split_input_file):
        raise UsageError("usage", "--run runs one module: it goes with no --emit, --split-input-file or expectations")
    if not options.run and (options.arg or options.entry is not None):
        raise UsageError("usage", "--arg and --entry are of a program that runs", help="add --run")
    if options.emit != "mlir" and options.verify_diagnostics:
        raise UsageError("usage", "--verify-diagnostics checks what passes say: it goes with --emit mlir")
    return options


def _with_values(argv: Sequence[str]) -> list[str]:
    """`--verify-each` takes the argument after it only where that is true or false: else it may be a file."""
    given: list[str] = []
    for arg in argv:
        if given and given[-1] == "--verify-each" and arg.lower() in _BOOLEANS:
            given[-1] += f"={arg}"
        else:
            given.append(arg)
    return ["--verify-each=true" if arg == "--verify-each" else arg for arg in given]


def usage() -> str:
    return _parser().format_help()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "tileopt",
        description="Run passes over IR files. `tileopt explain CODE` says what an error means and what to change.",
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="IR files; '-', or none, is standard input")
    add("-p", "--passes", "--pass-pipeline", default="", metavar="PIPELINE", help="'pass,pass{option=value flag}'")
    add(
        "--target",
        metavar="NAME",
        help="what modules are compiled for where they do not say it; not another than they say",
    )
    add("--emit", choices=STAGES, default="mlir", help="what to write (mlir)")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write it (standard output)")

    running = parser.add_argument_group("running")
    flag = running.add_argument
    flag("--run", action="store_true", help="run the module's host program, on the CPU or --target's GPU")
    flag("--entry", metavar="NAME", help="which stream.program (the only one, or @main)")
    flag(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the program, by name or number: a number, FILE.npy, or random, iota, zeros, ones[:SHAPE]",
    )

    checks = parser.add_argument_group("checking")
    flag = checks.add_argument
    flag(
        "--split-input-file", action="store_true", help="take what lies between '// -----' lines as files of their own"
    )
    flag("--verify-diagnostics", action="store_true", help="check diagnostics against '// expected-error {{...}}'")
    flag("--deny-checks", action="store_true", help="indices of threads that are not proved inside are errors")
    flag("--verify-each", type=_boolean, default=True, metavar="BOOL", help="verify after each pass (true)")
    flag("--no-verify-each", dest="verify_each", action="store_false", help="verify the input only")
    flag("--allow-unregistered-dialect", action="store_true", help="accept ops that nothing defines")

    printing = parser.add_argument_group("printing")
    flag = printing.add_argument
    flag("--print-ir-before-all", "--mlir-print-ir-before-all", action="store_true", help="the IR before each pass")
    flag("--print-ir-after-all", "--mlir-print-ir-after-all", action="store_true", help="the IR after each pass")
    flag("--mlir-print-op-generic", action="store_true", help="ops in generic form")
    flag("--mlir-print-debuginfo", action="store_true", help="ops with their places")
    flag("--timing", "--mlir-timing", action="store_true", help="the time that each pass took")

    about = parser.add_argument_group("about")
    flag = about.add_argument
    flag("--list-passes", action="store_true", help="each pass and what it does")
    flag("--list-dialects", action="store_true", help="each dialect")
    flag("--list-targets", action="store_true", help="each target")
    flag("--version", action="store_true", help="the versions of tileopt and of what it stands on")
    flag("-h", "--help", action="store_true", help="this text")
    return parser


def _boolean(text: str) -> bool:
    if text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    raise argparse.ArgumentTypeError(f"'{text}' is neither true nor false")
