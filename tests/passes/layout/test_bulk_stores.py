"""bulk-stores: the panels of a tile against its layout, element by element."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileopt.backends import targets  # noqa: F401  (their names)
from tileopt.dialects import tile
from tileopt.dialects.layout import Coord, Layout, coalesced
from tileopt.dialects.target import get_target
from tileopt.dialects.verifier import walk
from tileopt.dialects.xdsl_compat import create_context, parse_module
from tileopt.passes.layout.bulk_stores import Panels, may_store, panel_shape, panels_of, store_bytes
from tileopt.passes.layout.product_layouts import product_layouts

HOPPER = get_target("sm_90a")
BITS = {"f32": 32, "bf16": 16, "i8": 8, "f64": 64}


def stores(shape: Coord, element: str, order: Coord, more: str = "", facts: str = "") -> tile.Kernel:
    """A kernel that stores a tile of the shape to %out, whose axes lie in this order."""
    rank = len(shape)
    strides = ["16"] * rank
    strides[order[-1]] = "1"
    contract = facts or (
        f"align = 16, unit = {order[-1]}, shape = {[1] * rank}, stride = [{', '.join(strides)}], regular"
    )
    view = f"!tile.view<{'?x' * rank}{element}, owned>"
    tensor = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    text = f"""module attributes {{tile.target = "sm_90a"}} {{
tile.kernel @f(%out: {view} {{tile.contract = #tile.contract<{contract}>}}, %f: {element}, %z: i64) {{
%v = tile.splat %f : {element} -> {tensor}
tile.store %v, %out[{", ".join(["%z"] * rank)}] : {tensor}, {view}
{more.replace("VIEW", view).replace("TENSOR", tensor)}
tile.return
}}
}}"""
    (found,) = parse_module(create_context(), text).body.block.ops
    assert isinstance(found, tile.Kernel)
    return found


def store(kernel: tile.Kernel) -> tile.Store:
    return next(op for op in walk(kernel) if isinstance(op, tile.Store))


def check(panels: Panels, layout: Layout, order: Coord) -> None:
    """Each panel's fragment, written in the panel's layout, puts each element where the panel's copy looks for it."""
    cut = panels.axis
    assert cut in order[-2:]
    assert sorted(r for held in panels.registers for r in held) == list(range(layout.registers))
    covered: set[Coord] = set()
    for number, held in enumerate(panels.registers):
        assert panels.layout.registers == len(held)
        for warp in range(1 << len(layout.warps)):
            for lane in range(32):
                for place, register in enumerate(held):
                    at = list(panels.layout.coord(place, lane, warp))
                    assert 0 <= at[cut] < panels.columns
                    at[cut] += number * panels.columns
                    assert tuple(at) == layout.coord(register, lane, warp)
                    covered.add(tuple(at))
    size = 1
    for extent in layout.shape:
        size *= extent
    assert len(covered) == size
    rest = [n for axis, n in enumerate(panels.type.get_shape()) if axis != cut]
    assert rest == [n for axis, n in enumerate(layout.shape) if axis != cut]


@pytest.mark.parametrize("element", ["f32", "bf16", "i8"])
@pytest.mark.parametrize(("m", "n", "warps"), [(64, 64, 4), (64, 256, 4), (128, 128, 8), (128, 192, 8), (64, 32, 4)])
def test_accumulators(m: int, n: int, warps: int, element: str) -> None:
    """All of them go in panels of 128 bytes, or of less where a row is shorter."""
    layout = product_layouts(HOPPER.atom(f"wgmma_m64n{n}k16_bf16_f32"), m, n, 16, warps, False).acc
    assert layout is not None
    panels = panels_of(store(stores((m, n), element, (0, 1))), layout, HOPPER)
    columns = min(n, 1024 // BITS[element])
    if n % columns:
        assert panels is None
        return
    assert panels is not None and panels.columns == columns
    assert len(panels.registers) == n // columns and panels.buffers == min(2, n // columns)
    check(panels, layout, (0, 1))


@settings(max_examples=80)
@given(
    st.tuples(st.sampled_from([1, 8, 24, 64, 96]), st.sampled_from([8, 24, 32, 64, 80, 96, 128, 192])),
    st.sampled_from(["f32", "bf16", "i8", "f64"]),
    st.sampled_from([(0, 1), (1, 0)]),
    st.sampled_from([(0, 1), (1, 0)]),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(0, 3),
)
def test_any_layout(shape: Coord, element: str, order: Coord, threads: Coord, vector: int, warp_bits: int) -> None:
    """Panels are right where there are some."""
    layout = coalesced(shape, threads, vector, 1 << warp_bits)
    kernel = stores(shape, element, order)
    panels = panels_of(store(kernel), layout, HOPPER)
    if panels is not None:
        check(panels, layout, order)
        assert panels.axis != order[-1] or panels.columns * BITS[element] <= 1024
        size = panels.type.shared_layout.size * BITS[element] // 8
        assert panels.buffers * size <= store_bytes(kernel, HOPPER)


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize(("m", "n", "warps"), [(8, 64, 4), (16, 128, 8), (64, 64, 4), (128, 256, 8), (256, 128, 8)])
def test_turned_accumulators_go_in_bands(m: int, n: int, warps: int, element: str) -> None:
    """The warps share the columns out, so that whole rows are written together."""
    atom = HOPPER.atom(f"wgmma_m64n{m}k8_tf32_f32")
    for across in (False, True):
        layout = product_layouts(atom, n, m, 8, warps, False, across_rows=across).acc.permute((1, 0))
        kernel = stores((m, n), element, (0, 1))
        panels = panels_of(store(kernel), layout, HOPPER)
        assert panels is not None
        check(panels, layout, (0, 1))
        size = panels.type.shared_layout.size * BITS[element] // 8
        assert panels.buffers * size <= store_bytes(kernel, HOPPER)
        assert (panels.axis == 0) == (layout.base[1] * BITS[element] > 1024)


def test_registers_that_go_across_panels_first_are_not_cut() -> None:
    """The first register bit leads to the other panel, the second to the next element: the fragment has no such parts,
    and its four rows go together."""
    lanes = ((0, 2), (0, 4), (0, 8), (0, 16), (0, 32))
    apart = Layout((4, 128), ((0, 1), (0, 64)), lanes, ((1, 0), (2, 0)))
    mixed = Layout((4, 128), ((0, 64), (0, 1)), lanes, ((1, 0), (2, 0)))
    op = store(stores((4, 128), "bf16", (0, 1)))
    for layout in (apart, mixed):
        panels = panels_of(op, layout, HOPPER)
        assert panels is not None and panels.axis == 0 and len(panels.registers) == 1
        check(panels, layout, (0, 1))


@pytest.mark.parametrize(
    ("shape", "element", "order", "panel"),
    [
        ((64, 256), "bf16", (0, 1), (64, 64)),
        ((64, 256), "f32", (0, 1), (64, 32)),
        ((256, 64), "bf16", (1, 0), (64, 64)),
        ((2, 8, 128), "i8", (0, 1, 2), (2, 8, 128)),
        ((64, 48), "bf16", (0, 1), (64, 48)),
        ((64, 96), "bf16", (0, 1), None),  # one and a half panels
        ((64, 130), "bf16", (0, 1), None),
    ],
)
def test_panel_shapes(shape: Coord, element: str, order: Coord, panel: Coord | None) -> None:
    op = store(stores(shape, element, order))
    assert panel_shape(shape, op.value.type.element_type, order) == panel  # type: ignore[attr-defined]


def test_which_stores_the_engine_may_make() -> None:
    assert may_store(store(stores((64, 64), "bf16", (0, 1))), HOPPER) is not None
    # A target without the engine; an array that is read, or stored to twice; a vector; rows that the engine cannot
    # take.
    assert may_store(store(stores((64, 64), "bf16", (0, 1))), get_target("sm_80")) is None
    again = "tile.store %v, %out[%z, %z] : TENSOR, VIEW"
    read = "%w = tile.load %out[%z, %z] : VIEW -> TENSOR"
    asked = "%d = tile.dim %out {axis = 0 : i64} : VIEW"
    for more, may in ((again, False), (read, False), (asked, True)):
        assert (may_store(store(stores((64, 64), "bf16", (0, 1), more)), HOPPER) is not None) is may
    assert may_store(store(stores((64,), "bf16", (0,))), HOPPER) is None
    assert may_store(store(stores((512, 64), "bf16", (0, 1))), HOPPER) is None
    odd = "align = 16, unit = 1, shape = [1, 1], stride = [4, 1], regular"
    assert may_store(store(stores((64, 64), "bf16", (0, 1), facts=odd)), HOPPER) is None


def test_bytes_of_two_panels_are_kept() -> None:
    assert store_bytes(stores((64, 256), "bf16", (0, 1)), HOPPER) == 2 * 64 * 128
    assert store_bytes(stores((16, 256), "bf16", (0, 1)), HOPPER) == 2 * 8 * 512  # or of two bands
    assert store_bytes(stores((64, 96), "bf16", (0, 1)), HOPPER) == 0


def test_layouts_with_replicas_are_not_stored_in_panels() -> None:
    """Threads that hold the same would write it twice; that is no harm, but the fragment's parts are no panels then."""
    op = store(stores((8, 64), "bf16", (0, 1)))
    layout = coalesced((8, 64), (0, 1), 8, 8)
    twice = Layout(layout.shape, layout.regs, layout.lanes, (*layout.warps, (0, 0)))
    assert twice.replica_warps and not layout.replica_warps
    assert panels_of(op, layout, HOPPER) is not None
    assert panels_of(op, twice, HOPPER) is None


@pytest.mark.parametrize(("element", "row"), [("f32", 2), ("bf16", 4), ("i8", 8), ("f64", 1)])
def test_rows_of_less_than_16_bytes_are_none_for_the_engine(element: str, row: int) -> None:
    assert may_store(store(stores((64, row), element, (0, 1))), HOPPER) is None
    assert may_store(store(stores((64, 2 * row), element, (0, 1))), HOPPER) is not None
