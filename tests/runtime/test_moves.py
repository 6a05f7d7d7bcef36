"""tileopt.move and functions that consume: what was moved is refused by name and line, and what was not is not."""

from __future__ import annotations

import copy
import gc
import threading
from typing import Any

import numpy as np
import pytest

import tileopt
from tileopt import LaunchError, OwnershipError, tile
from tileopt.backends.runtime.moves import MOVED


@tile.kernel
def scale(x: tile.In, out: tile.Out, a: tile.f32 = 2.0):
    i = tile.bid(0)
    tile.store(out, i, tile.load(x, i, 64) * a)


def arrays() -> tuple[Any, Any]:
    return np.random.default_rng().random(100).astype(np.float32), np.empty(100, np.float32)


def line(text: str) -> int:
    """The number of the line in this file that ends with a text."""
    with open(__file__) as file:
        (found,) = [n for n, row in enumerate(file, 1) if row.rstrip().endswith(f"#! {text}")]
    return found


def test_use_after_move_names_the_parameter_and_both_lines() -> None:
    x, out = arrays()
    owner = tileopt.move(x)  #! moved
    with pytest.raises(OwnershipError) as caught:
        scale[2](x, out)  #! used
    error = caught.value
    assert isinstance(error, LaunchError) and error.code == "ownership/use-after-move"
    assert "'x'" in error.message and error.location is not None and error.location.line == line("used")
    note, kernel = error.notes
    assert (
        kernel[0] == "scale is defined here"
        and "moved here" in note[0]
        and note[1] is not None
        and note[1].line == line("moved")
    )
    scale[2](owner, out)
    assert np.allclose(out, 2 * owner.astype(np.float64)) and np.shares_memory(owner, x)


def test_the_owner_may_be_moved_on_and_the_old_one_not_again() -> None:
    x, out = arrays()
    second = tileopt.move(tileopt.move(x))
    scale[2](second, out)
    with pytest.raises(OwnershipError):
        tileopt.move(x)


def test_other_arrays_and_copies_are_free() -> None:
    x, out = arrays()
    same, copied = x[:], copy.copy(x)
    owner = tileopt.move(x)
    scale[2](copied, out)
    scale[2](same, out)  # a view from before the move
    assert owner is not x


def test_what_was_moved_is_forgotten_when_it_dies() -> None:
    x, out = arrays()
    gc.collect()
    before = len(MOVED)
    owner = tileopt.move(x)
    assert len(MOVED) == before + 1
    values = owner.copy()
    del x, owner  # NumPy's views keep what they are made of
    gc.collect()
    assert len(MOVED) == before
    fresh = [np.zeros(100, np.float32) for _ in range(50)]  # one of them may have the identity of what died
    for array in fresh:
        scale[2](array, out)
    scale[2](values, out)


def test_a_moved_array_that_dies_after_its_identity_was_moved_again() -> None:
    for _ in range(200):
        array = np.zeros(3, np.float32)
        tileopt.move(array)
        with pytest.raises(OwnershipError):
            tileopt.move(array)
    last = id(array)
    assert last in MOVED
    del array
    gc.collect()
    assert last not in MOVED


def test_consuming_functions() -> None:
    @tileopt.consumes("x")
    def doubled(x: Any, out: Any, *, factor: float = 2.0) -> Any:
        scale[2](x, out, factor)
        return out

    x, out = arrays()
    expected = 3 * x.astype(np.float64)
    assert np.allclose(doubled(x, out, factor=3.0), expected, rtol=1e-6)
    with pytest.raises(OwnershipError) as caught:
        doubled(x, out)
    assert "taken by doubled() before" in caught.value.message
    scale[2](out, np.empty_like(out))  # not named


def test_consuming_takes_nothing_when_the_call_is_wrong() -> None:
    @tileopt.consumes("x", "y")
    def both(x: Any, y: Any) -> None:
        pass

    x, out = arrays()
    with pytest.raises(LaunchError):
        both(x, "no array")
    with pytest.raises(TypeError):
        both(x)  # type: ignore[call-arg]
    scale[2](x, out)
    with pytest.raises(TypeError, match="nothing"):
        tileopt.consumes("nothing")(both)


def test_functions_of_tileopt_look_too() -> None:
    x, _ = arrays()
    tileopt.move(x)
    for use in (tileopt.to_numpy, lambda a: tileopt.asarray(a, device="cpu")):
        with pytest.raises(OwnershipError):
            use(x)


def test_a_graph_does_not_replay_what_was_moved() -> None:
    x, out = arrays()
    scale[2](x, out)
    graph, stream = tileopt.Graph(), tileopt.Stream("cpu")
    with graph.capture(stream):
        scale[2](x, out)
    graph.replay()
    tileopt.move(out)
    with pytest.raises(OwnershipError):
        graph.replay()


def test_what_is_no_array_is_not_moved() -> None:
    for thing in (3, [1.0], None, "x"):
        with pytest.raises(LaunchError) as caught:
            tileopt.move(thing)
        assert caught.value.code == "launch/not-an-array"


def test_any_object_with_dlpack() -> None:
    class Box:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

    x, out = arrays()
    box = Box(x)
    owner = tileopt.move(box)
    with pytest.raises(OwnershipError):
        scale[2](box, out)
    scale[2](owner, out)
    assert np.allclose(out, 2 * x.astype(np.float64))


def test_one_of_many_threads_moves() -> None:
    x, _ = arrays()
    won: list[int] = []

    def take(number: int) -> None:
        try:
            tileopt.move(x)
            won.append(number)
        except OwnershipError:
            pass

    threads = [threading.Thread(target=take, args=(n,)) for n in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(won) == 1
