"""What other distributions bring is found by name, and clashes are errors."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from command import tileopt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import TestOp as Op
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass

from tileopt.dialects import plugins
from tileopt.dialects.plugins import Plugin
from tileopt.dialects.registry import dialect_factories
from tileopt.passes.registry import pass_factories


@irdl_op_definition
class ThingOp(IRDLOperation):
    name = "extra.thing"


class EmptyPass(ModulePass):
    """Removes every op of the test dialect."""

    name = "drop-test-ops"

    def apply(self, ctx: object, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, Op):
                each.detach()


PLUGIN = Plugin(
    dialects={"extra": lambda: Dialect("extra", [ThingOp])},
    passes={"drop-test-ops": lambda: EmptyPass},
)
CLASH = Plugin(passes={"cse": lambda: EmptyPass})
NO_PLUGIN = "something else"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def install(**values: object) -> None:
        entries = [EntryPoint(name, f"{__name__}:{value}", plugins.GROUP) for name, value in values.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
        monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value.rpartition(":")[2]])
        plugins.installed_plugins.cache_clear()

    yield install
    monkeypatch.undo()
    plugins.installed_plugins.cache_clear()


def test_a_plugins_dialect_and_pass_are_found(installed: Any) -> None:
    installed(mine="PLUGIN")
    done = tileopt("-p", "drop-test-ops", stdin='"extra.thing"() : () -> ()\n"test.op"() : () -> ()\n')
    assert done.code == 0, done.err
    assert '"extra.thing"' in done.out
    assert "test.op" not in done.out
    assert "drop-test-ops" in tileopt("--list-passes").out
    assert "extra" in tileopt("--list-dialects").out


def test_a_name_defined_twice_is_an_error(installed: Any) -> None:
    installed(mine="CLASH")
    done = tileopt("--list-passes")
    assert done.code == 1
    assert "error[plugin/clash]: plugin 'mine' defines 'cse' among its passes, as tileopt does" in done.err


def test_two_plugins_that_define_the_same_are_an_error(installed: Any) -> None:
    installed(one="PLUGIN", two="PLUGIN")
    done = tileopt(stdin='"extra.thing"() : () -> ()')
    assert "error[plugin/clash]: plugin 'two' defines 'extra' among its dialects, as plugin 'one' does" in done.err


@pytest.mark.parametrize(("value", "code"), [("NO_PLUGIN", "plugin/type"), ("ABSENT", "plugin/load")])
def test_what_is_no_plugin_is_an_error(installed: Any, value: str, code: str) -> None:
    installed(mine=value)
    done = tileopt("-p", "nothing")
    assert done.code == 1
    assert f"error[{code}]: plugin 'mine'" in done.err


def test_without_plugins_unknown_names_stay_unknown(installed: Any) -> None:
    installed()
    assert "error[parse/unknown-op]" in tileopt(stdin='"extra.thing"() : () -> ()').err


def test_each_registered_name_is_what_it_says() -> None:
    for name, dialect in dialect_factories().items():
        assert dialect().name == name
    for name, factory in pass_factories().items():
        cls = factory()
        assert cls.name == name
        if cls.__module__.startswith("tileopt."):
            assert cls.__module__.rpartition(".")[2] == name.replace("-", "_"), "a pass's file is named as the pass"


def test_our_gpu_dialect_stands_in_for_xdsls() -> None:
    from tileopt.dialects import gpu

    assert dialect_factories()["gpu"]() is next(v for v in vars(gpu).values() if isinstance(v, Dialect))
