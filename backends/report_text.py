"""A kernel's report: a dictionary that goes into JSON, and that prints as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any


class Report(dict[str, Any]):
    """What `kernel.report` gives; docs/runtime.md lists its entries."""

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report.get('name')} for {report.get('target')}"
    yield f"  block: {report.get('threads')} threads, {report.get('shared_bytes')} bytes of shared memory"
    if "registers" in report:
        spilled = report["spill_stores"] + report["spill_loads"]
        spills = f"{spilled} bytes of spills" if spilled else "no spills"
        yield f"  thread: {report['registers']} registers, {spills}, {report['stack_bytes']} bytes of stack"
    if report.get("roles"):
        parts = (f"{r['warps']} {name} warps{_registers(r)}" for name, r in report["roles"].items())
        yield f"  roles: {', '.join(parts)}"
    if report.get("persistent"):
        clusters = f", in clusters of {report['cluster']}" if report.get("cluster", 1) > 1 else ""
        yield f"  grid: persistent, {report['persistent']} on each multiprocessor{clusters}"
    held = report.get("occupancy")
    if held:
        blocks, of = _plural(held["blocks"], "block"), f"{held['warps']} of {held['of_warps']} warps"
        yield f"  multiprocessor: {blocks} at once, {of}, limited by {' and '.join(held['limited_by'])}"
    if report.get("atoms"):
        yield f"  products: {', '.join(report['atoms'])}"
    if report.get("tensor_columns"):
        yield f"  tensor memory: {report['tensor_columns']} columns"
    for channel in report.get("channels", ()):
        stages = _plural(channel["stages"], "stage")
        how = f"{channel['by']}{_shared(channel)}"
        yield f"  channel of {_names(channel)}: {stages} of {channel['stage_bytes']} bytes by {how}"
    for buffer in report.get("buffers", ()):
        yield from _buffer(buffer)
    for name in ("notes", "wgmma_serialised", "bounds", "ownership"):
        if report.get(name):
            yield f"  {name.replace('_', ' ')}:"
            for line, count in Counter(report[name]).items():
                yield f"    {line}" + (f", {count} times" if count > 1 else "")


def _shared(channel: dict[str, Any]) -> str:
    return f", {', '.join(channel['together'])} in parts for the whole cluster" if channel.get("together") else ""


def _buffer(buffer: dict[str, Any]) -> Iterator[str]:
    shape = "x".join(map(str, [*buffer["shape"], buffer["dtype"]]))
    ring = f"{buffer['slots']} x " if buffer["slots"] > 1 else ""
    what = f" of {_names(buffer)}" if buffer["arrays"] else ""
    yield f"  buffer{what}: {ring}{shape}, {buffer['layout']} ({', '.join(buffer['used_by'])})"
    for access in buffer["accesses"]:
        place = f"line {access['line']}: " if access["line"] else ""
        conflicts = f"{access['conflicts']} of them bank conflicts" if access["conflicts"] else "no bank conflicts"
        yield f"    {place}{access['by']}: {access['wavefronts']} wavefronts a warp, {conflicts}"


def _names(entry: dict[str, Any]) -> str:
    return ", ".join(entry["arrays"]) or "tiles"


def _registers(role: dict[str, int]) -> str:
    return f" with {role['registers']} registers" if "registers" in role else ""


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
