"""`--verify-diagnostics`: what matches passes, and every way not to match fails."""

from __future__ import annotations

import pytest
from command import tileopt

BAD = '  %0 = "arith.addi"(%a) : (i32) -> i32\n'
CLASH = """func.func @f(%a: i1) {
  cf.cond_br %a, ^b, ^c
^b:
  %0 = arith.constant 1 : i32
  cf.br ^c
^c:
  "test.op"(%0) : (i32) -> ()
  func.return
}
"""


def check(text: str, *argv: str) -> tuple[int, str]:
    done = tileopt("--verify-diagnostics", *argv, stdin=text)
    return done.code, done.err


def function(body: str) -> str:
    return f"func.func @f(%a: i32) {{\n{body}  func.return\n}}\n"


@pytest.mark.parametrize(
    "body",
    [
        f"  // expected-error@+1 {{{{Expected 2 operands}}}}\n{BAD}",
        f"  // expected-error@+1 {{{{[verify/arith.addi]}}}}\n{BAD}",
        f"  // expected-error@+1{{{{[verify/arith.addi]: Expected 2 operands, but got 1}}}}\n{BAD}",
        f"  // expected-error @below {{{{Expected 2 operands}}}}\n{BAD}",
        f"{BAD}  // expected-error@-1 {{{{Expected 2 operands}}}}\n",
        f"{BAD}  // expected-error@above {{{{Expected 2 operands}}}}\n",
        f"{BAD.rstrip()} // expected-error {{{{Expected 2 operands}}}}\n",
        f"  // expected-error-re@+1 {{{{Expected {{{{[0-9]+}}}} operands, but got {{{{.}}}}}}}}\n{BAD}",
        # Each of two errors on one line has an expectation of its own, and both look past each other.
        f"  // expected-error@below {{{{arith.addi}}}}\n  // expected-error@below {{{{arith.muli}}}}\n"
        f'{BAD.rstrip()} %1 = "arith.muli"(%a) : (i32) -> i32\n',
    ],
)
def test_what_matches_passes(body: str) -> None:
    assert check(function(body)) == (0, "")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (BAD, "error[expected/unexpected]: unexpected error: [verify/arith.addi]"),
        (
            "  // expected-error@+1 {{anything}}\n",
            'error[expected/missing]: expected error "anything" was not produced',
        ),
        (f"  // expected-error@+1 {{{{Expected 3 operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error@+2 {{{{Expected 2 operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-note@+1 {{{{Expected 2 operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error@unknown {{{{Expected 2 operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error@+1 {{{{Expected . operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error-re@+1 {{{{Expected {{{{[a-z]+}}}} operands}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error@+1 {{{{2 operands}}}}\n  // expected-error@+0 {{{{2}}}}\n{BAD}", "was not produced"),
        (f"  // expected-error@+1 {{Expected}}\n{BAD}", "error[expected/syntax]: cannot read this expectation"),
        (f"  // expected-error-re@+1 {{{{a{{{{(}}}}}}}}\n{BAD}", "error[expected/syntax]: invalid regular expression"),
    ],
)
def test_what_does_not_match_fails(body: str, says: str) -> None:
    code, err = check(function(body))
    assert code == 1
    assert says in err


def test_one_expectation_stands_for_one_error() -> None:
    body = f'  // expected-error@+1 {{{{Expected 2}}}}\n{BAD.rstrip()} %1 = "arith.muli"(%a) : (i32) -> i32\n'
    code, err = check(function(body))
    assert code == 1
    assert err.count("error[") == 1


def test_notes_are_expected_too() -> None:
    error = '  // expected-error@+1 {{does not dominate this use}}\n  "test.op"'
    with_error = CLASH.replace('  "test.op"', error)
    code, err = check(with_error)
    assert code == 1
    assert "<stdin>:4:8: error[expected/unexpected]: unexpected note: defined here" in err
    note = "  // expected-note@+1 {{defined here, by 'arith.constant'}}\n  %0 ="
    assert check(with_error.replace("  %0 =", note)) == (0, "")


def test_parse_errors_can_be_expected() -> None:
    assert check("// expected-error@+1 {{unknown op 'nothing'}}\nnothing\n") == (0, "")


def test_each_part_of_a_split_file_has_its_own_expectations() -> None:
    good = function(f"  // expected-error@+1 {{{{Expected 2 operands}}}}\n{BAD}")
    assert check(f"{good}// -----\n{good}", "--split-input-file") == (0, "")
    code, err = check(f"{good}// -----\n{function(BAD)}// -----\n{good}", "--split-input-file")
    assert code == 1
    assert err.startswith("<stdin>:8:8: error[expected/unexpected]")


def test_a_clean_file_needs_no_expectation() -> None:
    assert check(function("")) == (0, "")
