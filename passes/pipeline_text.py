"""Pipelines as text: `pass,pass{option=value other-option=1,2 flag}`.

xDSL's own reader takes no blank around a comma, wants `flag=true`, and says neither where an error lies nor what it is.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from typing import TYPE_CHECKING, NoReturn, TypeAlias, get_type_hints

from tileopt.dialects.diagnostics import CompileError, Location
from tileopt.passes.registry import all_pass_factories, pass_class

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

Value: TypeAlias = str | int | bool | float

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VALUE = re.compile(r'"(?:\\.|[^"\\])*"|[^\s,{}="]+')
_BLANK = re.compile(r"\s*")


def parse_pipeline(text: str) -> list[ModulePass]:
    """The passes that `text` names, each with its options. A `CompileError` points into `text`."""
    return _Reader(text).pipeline()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = _BLANK.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too

    def pipeline(self) -> list[ModulePass]:
        passes: list[ModulePass] = []
        while self.at < len(self.text):
            if passes and not self.take(","):
                self.fail(self.at, "expected ',' between passes")
            passes.append(self.one_pass())
        return passes

    def one_pass(self) -> ModulePass:
        start = self.at
        name = self.token(_NAME, "the name of a pass")
        cls = pass_class(name)
        if cls is None:
            close = difflib.get_close_matches(name, all_pass_factories(), n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            self.fail(start, f"unknown pass '{name}'", code="unknown-pass", help=hint + "--list-passes lists them")
        return self.build(cls, self.options(cls) if self.take("{") else {}, start)

    def options(self, cls: type[ModulePass]) -> dict[str, tuple[Value, ...]]:
        known = {field.name for field in dataclasses.fields(cls) if field.init}
        options: dict[str, tuple[Value, ...]] = {}
        while not self.take("}"):
            start = self.at
            key = self.token(_NAME, "an option or '}'").replace("-", "_")
            if key not in known:
                names = ", ".join(sorted(name.replace("_", "-") for name in known)) or "none"
                self.fail(start, f"pass '{cls.name}' has no such option", code="option", help=f"it has: {names}")
            if key in options:
                self.fail(start, "this option is given twice", code="option")
            values: list[Value] = []
            if self.take("="):
                values.append(_value(self.token(_VALUE, "a value")))
                while self.take(","):
                    values.append(_value(self.token(_VALUE, "a value")))
            elif get_type_hints(cls).get(key) is bool:
                values.append(True)
            if get_type_hints(cls).get(key) is bool and [type(v) for v in values] != [bool]:
                given = ",".join(map(str, values))
                option = key.replace("_", "-")
                self.fail(start, f"option '{option}' of pass '{cls.name}' is true or false, not {given}", code="option")
            options[key] = tuple(values)
        return options

    def build(self, cls: type[ModulePass], options: dict[str, tuple[Value, ...]], start: int) -> ModulePass:
        from xdsl.utils.arg_spec import ArgSpec

        try:
            return cls.from_spec(ArgSpec(cls.name, options))
        except (TypeError, ValueError) as error:
            self.fail(start, f"options of pass '{cls.name}': {error}", code="option")

    def take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.skip(self.at + len(mark))
        return True

    def token(self, pattern: re.Pattern[str], what: str) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            self.fail(self.at, f"expected {what}")
        self.skip(match.end())
        return match.group()

    def skip(self, position: int) -> None:
        self.at = _BLANK.match(self.text, position).end()  # type: ignore[union-attr]

    def fail(self, at: int, message: str, *, code: str = "syntax", help: str | None = None) -> NoReturn:
        start = self.text.rfind("\n", 0, at) + 1
        source = self.text[start:].partition("\n")[0]
        place = Location("<pipeline>", self.text.count("\n", 0, at) + 1, at - start + 1, source)
        raise CompileError(f"pipeline/{code}", message, location=place, help=help)


def _value(text: str) -> Value:
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
