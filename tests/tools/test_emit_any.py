"""Any op on any type, to PTX: it compiles, or is refused with a clean error.

LLVM ends the process where it cannot select an instruction, so what it lacks must be refused before it is asked. Each
batch runs in a process of its own, which dies in the test's stead.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_fuzz import GOLDENS, renumber, repeat, splice, swap_lines
from xdsl.dialects import arith, math

TESTS = Path(__file__).parents[1]
FLOATS = ["f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "f80", "f128"]
INTEGERS = ["i1", "i4", "i8", "i16", "i32", "i64", "i128", "i33", "index"]
CASTS = ["extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "extsi", "extui", "trunci", "bitcast"]
CASTS += ["index_cast"]
BATCHES = [("sm_90a", 0), ("sm_90a", 1), ("sm_80", 2), ("sm_100a", 3), ("sm_75", 4)]
PROGRAMS_A_BATCH = 120
MUTANTS_A_BATCH = 80

WORKER = """
import json, sys
from command import tileopt
for number, (target, text) in enumerate(json.load(sys.stdin)):
    print(json.dumps(["start", number]), flush=True)
    done = tileopt("--target", target, "--emit", "ptx", stdin=text)
    print(json.dumps(["done", number, done.code, done.err, ".extern .func" in done.out]), flush=True)
"""


def kernel(body: str, source: str, result: str, extent: int) -> str:
    return f"""tile.kernel @k(%x: !tile.view<?x{source}, shared>, %o: !tile.view<?x{result}, owned>) {{
  %b = tile.bid {{axis = 0}}
  %n = arith.constant {extent} : i64
  %i = arith.muli %b, %n : i64
  %a = tile.load %x[%i] : !tile.view<?x{source}, shared> -> tensor<{extent}x{source}>
  {body}
  tile.store %r, %o[%i] : tensor<{extent}x{result}>, !tile.view<?x{result}, owned>
  tile.return
}}
"""


def programs(rng: random.Random) -> Iterator[str]:
    """Kernels that load a tile, do one thing to it and store it."""
    names = [op.name for op in arith.Arith.operations]
    floating = [name for name in names if name.endswith("f") or "imum" in name or "num" in name]
    integral = [name for name in names if name not in floating]
    unary = [op.name for op in math.Math.operations]
    while True:
        extent = rng.choice((1, 3, 32, 96, 128, 1000))
        of_float = rng.random() < 0.5
        element = rng.choice(FLOATS if of_float else INTEGERS)
        tensor = f"tensor<{extent}x{element}>"
        kind = rng.choice(("binary", "unary", "cast", "reduce", "compare"))
        if kind == "binary":
            name = rng.choice(floating if of_float else integral)
            yield kernel(f"%r = {name} %a, %a : {tensor}", element, element, extent)
        elif kind == "unary":
            operands = rng.choice(("%a", "%a, %a", "%a, %a, %a"))
            yield kernel(f"%r = {rng.choice(unary)} {operands} : {tensor}", element, element, extent)
        elif kind == "cast":
            other = rng.choice(FLOATS + INTEGERS)
            body = f"%r = arith.{rng.choice(CASTS)} %a : {tensor} to tensor<{extent}x{other}>"
            yield kernel(body, element, other, extent)
        elif kind == "reduce":
            how = rng.choice(("sum", "prod", "max", "min", "umax", "umin", "and", "or", "xor"))
            body = f'%s = tile.reduce %a {{kind = "{how}", axis = 0}} : {tensor} -> tensor<{element}>\n'
            body += f"  %t = tile.to_scalar %s : tensor<{element}> -> {element}\n"
            body += f"  %r = tile.splat %t : {element} -> {tensor}"
            yield kernel(body, element, element, extent)
        else:
            predicate = rng.choice(("olt", "ueq", "ord", "one") if of_float else ("slt", "eq", "ugt"))
            body = f"%c = arith.cmp{'f' if of_float else 'i'} {predicate}, %a, %a : {tensor}\n"
            body += f"  %r = arith.select %c, %a, %a : tensor<{extent}xi1>, {tensor}"
            yield kernel(body, element, element, extent)


def emit_all(target: str, texts: list[str]) -> int:
    """Emit PTX for each text in one process of its own. Returns how many compile."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=json.dumps([(target, text) for text in texts]),
        capture_output=True,
        text=True,
        timeout=300,
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    last = events[-1][1] if events else 0
    assert done.returncode == 0, f"the process ended on\n{texts[last]}\n{done.stderr[-2000:]}"
    wrong: list[str] = []
    for event in events:
        if event[0] == "done":
            _, number, code, err, calls = event
            if code not in (0, 1) or "error[internal" in err or (code == 1) != ("error[" in err) or calls:
                wrong.append(f"{err}{'an undefined function is called ' * calls}\n{texts[number]}")
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n".join(wrong[:5])
    return sum(event[0] == "done" and event[2] == 0 for event in events)


@pytest.mark.parametrize(("target", "seed"), BATCHES)
def test_any_op_compiles_or_is_refused(target: str, seed: int) -> None:
    source = programs(random.Random(f"tileopt {seed}"))
    compiled = emit_all(target, [next(source) for _ in range(PROGRAMS_A_BATCH)])
    assert compiled >= PROGRAMS_A_BATCH // 10, "hardly anything compiles: the programs are of no use"


@pytest.mark.parametrize("seed", range(2))
def test_damaged_kernels_are_refused_or_compile(seed: int) -> None:
    """Damage that often leaves the text well-formed: other numbers, lines in another order, lines twice."""
    rng = random.Random(f"tileopt damage {seed}")
    kernels = [path.read_bytes() for path in GOLDENS if b"tile.kernel" in path.read_bytes()]
    parts = [part for text in kernels for part in text.split(b"// -----\n") if b"kernel" in part]
    texts: list[str] = []
    for _ in range(MUTANTS_A_BATCH):
        text = rng.choice(parts)
        for _ in range(rng.choice((0, 1, 1, 2))):
            text = rng.choice((renumber, renumber, swap_lines, repeat, splice))(rng, text, rng.choice(parts))
        texts.append(text.decode(errors="replace"))
    assert emit_all("sm_90a", texts)
