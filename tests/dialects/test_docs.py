"""docs/ir.md: it names every op, its examples are valid, its picture of a fragment is what the layout says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileopt.dialects.encodings import LayoutAttr
from tileopt.dialects.registry import dialect_factories
from tileopt.dialects.verifier import verify
from tileopt.dialects.xdsl_compat import create_context, parse_module

TEXT = (Path(__file__).parents[2] / "docs" / "ir.md").read_text()
NAMES = ("tile", "pipe", "simt", "gpu", "stream")
OPS = sorted({op.name for name in NAMES for op in dialect_factories()[name]().operations})
EXAMPLES = re.findall(r"```mlir\n(.*?)```", TEXT, re.DOTALL)
TABLES = "\n".join(line for line in TEXT.splitlines() if line.startswith("| `"))


@pytest.mark.parametrize("example", EXAMPLES, ids=[str(i) for i in range(len(EXAMPLES))])
def test_examples_are_valid(example: str) -> None:
    module = parse_module(create_context(), example, "ir.md")
    verify(module)
    verify(parse_module(create_context(), str(module), "again"))


@pytest.mark.parametrize("name", OPS)
def test_each_op_is_explained_and_shown(name: str) -> None:
    assert f"`{name}`" in TABLES
    assert any(re.search(rf"(?<![\w.]){re.escape(name)}\b(?!\.)", example) for example in EXAMPLES)


def test_attributes_in_the_text_parse() -> None:
    shown = re.findall(r"`(#tile\.\w+<[^`]*>)`", TEXT)
    whole = [text for text in shown if "..." not in text]
    assert len(whole) >= 3
    for text in whole:
        parse_module(create_context(), f'"test.op"() {{it = {text}}} : () -> ()')


def test_the_picture_is_the_layout() -> None:
    bases, rows, columns = re.findall(r"<!-- fragment: (.*), shape = (\d+)x(\d+) -->", TEXT)[0]
    text = f"#tile.layout<{bases}, warps = []>"
    assert text in TEXT
    (op,) = parse_module(create_context(), f'"test.op"() {{it = {text}}} : () -> ()').body.block.ops
    attr = op.attributes["it"]
    assert isinstance(attr, LayoutAttr)
    layout = attr.over((int(rows), int(columns)))
    at = {coord: f"{lane}.{register}" for register, lane, _, coord in layout.elements()}
    lines = ["    " + "".join(f"{column:>5}" for column in range(int(columns)))]
    lines += [
        f"{row:>2}  " + "".join(f"{at[row, column]:>5}" for column in range(int(columns))) for row in range(int(rows))
    ]
    assert "```text\n" + "\n".join(lines) + "\n```" in TEXT
    # What the text says of lane 5, of a wider and of a narrower tile.
    assert at[9, 3] == "5.3"
    wider = layout.with_shape((16, 24))
    assert [wider.register_coords[r] for r in (0, 4, 8)] == [(0, 0), (0, 8), (0, 16)] and wider.registers == 12
    assert layout.with_shape((16, 7)).has_phantoms
