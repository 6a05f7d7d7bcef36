"""`tileopt explain CODE`: what an error means and the change that makes it pass, from the pages in docs/codes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tileopt.tools.options import UsageError

_PAGES = Path(__file__).resolve().parent.parent / "docs" / "codes"
_INDEX = "README.md"
_HEADING = re.compile(r"^## `([^`]+)`\n", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One code's section of its family's page. `verify/*` stands for the codes of that beginning without a section."""

    code: str
    text: str

    @property
    def summary(self) -> str:
        """The first sentence."""
        paragraph = " ".join(self.text.partition("\n\n")[0].split())
        return re.split(r"(?<=\.) (?=[A-Z`(])", paragraph)[0]


def entries() -> Iterator[Entry]:
    """Every code that has a section, in the order of the pages."""
    for page in sorted(_PAGES.glob("*.md")):
        if page.name != _INDEX:
            yield from _sections(page)


def explain(codes: list[str]) -> str:
    """The sections of these codes; without any, a list of all codes. Raises UsageError for a code that there is not."""
    if not codes:
        return index()
    return "\n".join(f"{code}\n\n{find(code).text}\n" for code in codes)


def find(code: str) -> Entry:
    """The section of a code. Raises UsageError, with the nearest codes, where there is none."""
    family = code.partition("/")[0]
    page = _PAGES / f"{family}.md"
    found = {e.code: e for e in _sections(page)} if re.fullmatch(r"[a-z]+", family) and page.exists() else {}
    entry = found.get(code) or next((e for e in found.values() if fnmatchcase(code, e.code)), None)
    if entry is not None:
        return entry
    close = difflib.get_close_matches(code, [e.code for e in entries()], n=3)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise UsageError("usage", f"there is no error code '{code}'", help=hint + "tileopt explain lists the codes")


def index() -> str:
    """All codes by family, each with its first sentence: the text of docs/codes/README.md."""
    lines = ["# Error codes", "", "`tileopt explain CODE` prints a code's section, `tileopt explain` this list."]
    lines += ["In the examples, lines with `-` are refused and lines with `+` make them pass.", ""]
    family = ""
    for entry in entries():
        here = entry.code.partition("/")[0]
        if here != family:
            family = here
            lines += ["", f"## [{family}]({family}.md)", ""] if lines[-1] else [f"## [{family}]({family}.md)", ""]
        lines.append(f"- `{entry.code}`: {entry.summary}")
    return "\n".join(lines) + "\n"


def _sections(page: Path) -> list[Entry]:
    parts = _HEADING.split(page.read_text(encoding="utf-8"))
    return [Entry(code, text.strip()) for code, text in zip(parts[1::2], parts[2::2], strict=True)]
