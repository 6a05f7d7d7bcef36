"""The long way of a launch: inspect, specialise, compile or load, and lay out a plan for all launches like it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any

from tileopt.backends.compiled import SlotKind
from tileopt.backends.runtime import binding, recording, specialise
from tileopt.backends.runtime.arrays import HOST, ArrayInfo
from tileopt.backends.runtime.binding import DEFAULT, BoundArray, BoundConst, BoundScalar
from tileopt.backends.runtime.conditions import ArrayView, compile_condition
from tileopt.backends.runtime.constants import distinct
from tileopt.backends.runtime.frameworks import current_stream_of
from tileopt.backends.runtime.grid import Grid, check_cpu, check_cuda, check_unused
from tileopt.backends.runtime.placement import device_of, target_for
from tileopt.backends.runtime.plan import (
    ArgumentBuffer,
    MapWrite,
    Plan,
    Run,
    ScalarWrite,
    check_ownership,
    conflicts,
    owned,
    scalar_write,
    template,
)
from tileopt.backends.runtime.signature import array_spec, launch_strides
from tileopt.backends.runtime.streams import queue_of
from tileopt.dialects.contracts import ConstSpec, KernelDefinition, ParamKind, Spec

if TYPE_CHECKING:
    from tileopt.backends.runtime.artifact import Artifact
    from tileopt.dialects.target import Target

MAX_PLANS = 4096  # of one combination of argument types; programs whose shapes never repeat must not grow


@dataclass(slots=True)
class Entry:
    """Calls whose arguments have the same types and names.

    `arrays`: position and key function of each array, in the order of the parameters. `keyed`: the same of the
    constants and scalars that the specialisation depends on.
    """

    bound: tuple[binding.Bound, ...]
    target: Target | None
    arrays: tuple[tuple[int, Callable[[Any], tuple[int, Hashable]]], ...]
    keyed: tuple[tuple[int, Callable[[Any], Hashable]], ...]
    plans: dict[tuple[Hashable, ...], Plan] = field(default_factory=dict)

    @staticmethod
    def of(bound: tuple[binding.Bound, ...], target: Target | None) -> Entry:
        keyed: list[tuple[int, Callable[[Any], Hashable]]] = []
        for b in bound:
            if isinstance(b, BoundConst) and b.position != DEFAULT:
                keyed.append((b.position, b.key))
            elif isinstance(b, BoundScalar) and b.position != DEFAULT and b.scalar.key is not None:
                keyed.append((b.position, b.scalar.key))
        arrays = tuple((b.position, b.reader.key) for b in bound if isinstance(b, BoundArray))
        return Entry(bound, target, arrays, tuple(keyed))


Arrays = Sequence[tuple[BoundArray, ArrayInfo]]


def inspect(entry: Entry, flat: Sequence[Any]) -> Arrays:
    """Every array's facts, checked against its parameter. Raises LaunchError."""
    found = []
    for b in entry.bound:
        if isinstance(b, BoundArray):
            info = b.reader.inspect(flat[b.position])
            binding.check_array(b.parameter, info)
            binding.check_size(b.parameter, info)
            check_ownership(b.parameter, info)
            found.append((b, info))
    return found


class Planner:
    """One kernel's specialisations."""

    def __init__(self, definition: KernelDefinition) -> None:
        self._definition = definition
        self._guards: dict[Hashable, tuple[str, ...]] = {}  # of a specialisation, once there is code for it
        self._built: dict[Hashable, specialise.Built] = {}  # by specialisation and the guards that the code relies on
        self._launchers: dict[Hashable, Callable[[], Run]] = {}
        self._lock = RLock()

    def plan(self, entry: Entry, flat: Sequence[Any], key: tuple[Hashable, ...]) -> Plan:
        """A plan for these arguments, kept under `key`. Raises LaunchError, or CompileError and its kin."""
        arrays = inspect(entry, flat)
        device = device_of([(b.parameter.name, info) for b, info in arrays])
        target = target_for(entry.target, device, bool(arrays))
        signature = signature_of_call(entry, flat, arrays)
        with self._lock:
            plan = entry.plans.get(key)
            if plan is None:
                views = {b.parameter.name: ArrayView(info.shape, info.strides) for b, info in arrays}
                artifact, launcher = self._load(
                    signature, target, device, lambda text: not target.checking and compile_condition(text).holds(views)
                )
                plan = _lay_out(entry, flat, arrays, device, artifact, launcher())
                if len(entry.plans) >= MAX_PLANS:
                    entry.plans.clear()
                entry.plans[key] = plan
        return plan

    def note(self, entry: Entry, flat: Sequence[Any], plan: Plan, grid: Grid, stream: Any) -> None:
        """Writes a launch into the open recordings."""
        infos = {b.parameter.name: b.reader.inspect(flat[b.position]) for b in entry.bound if isinstance(b, BoundArray)}
        arrays = [(b, infos[b.parameter.name]) for b in entry.bound if isinstance(b, BoundArray)]
        signature = signature_of_call(entry, flat, arrays)
        arguments: list[recording.ArrayArgument | recording.ScalarArgument] = []
        for b in entry.bound:
            name = b.parameter.name
            if isinstance(b, BoundArray):
                writes = b.parameter.kind is not ParamKind.IN
                arguments.append(recording.ArrayArgument(name, infos[name], writes, flat[b.position]))
            elif isinstance(b, BoundScalar):
                value = b.default if b.position == DEFAULT else flat[b.position]
                arguments.append(recording.ScalarArgument(name, b.scalar.dtype, value))
        if stream is None and plan.stream_of is not None:
            stream = plan.stream_of()
        recording.launched(queue_of(stream), self._definition, signature, arguments, grid, stream)

    def find(self, signature: dict[str, Spec], target: Target) -> specialise.Built | None:
        """The code for a specialisation, if it is here or on disk."""
        name = _name(signature, target)
        built = self._built.get((name, ())) or specialise.stored(self._definition, signature, target)
        if built is not None:
            self._keep(name, built)
        return built

    def adopt(self, signature: dict[str, Spec], target: Target, artifact: Artifact) -> None:
        """Takes code that another process made for a specialisation."""
        self._keep(_name(signature, target), specialise.adopt(self._definition, signature, target, artifact))

    def _keep(self, name: Hashable, built: specialise.Built) -> None:
        self._guards[name] = built.artifact.guards
        self._built[name, built.artifact.assumed] = built

    def _load(
        self, signature: dict[str, Spec], target: Target, device: int, holds: specialise.Holds
    ) -> tuple[Artifact, Callable[[], Run]]:
        """The artifact for launches of which `holds` tells the relations, and what makes a launcher of it."""
        name = _name(signature, target)
        built = self._built.get((name, tuple(filter(holds, self._guards.get(name, ())))))
        if built is None:
            built = specialise.build(self._definition, signature, target, holds)
            self._keep(name, built)
        key = (name, built.artifact.assumed, device)
        launcher = self._launchers.get(key)
        if launcher is None:
            launcher = self._launchers[key] = _launcher(built, device)
        return built.artifact, launcher


def _name(signature: dict[str, Spec], target: Target) -> Hashable:
    return (target.name, *(distinct(s.value) if isinstance(s, ConstSpec) else s for s in signature.values()))


def _launcher(built: specialise.Built, device: int) -> Callable[[], Run]:
    artifact = built.artifact
    if artifact.kind == "cuda":
        from tileopt.backends.nvidia import driver

        function = driver.Function(
            driver.device(device), artifact.code, artifact.name, artifact.threads, artifact.shared_bytes
        )
        if artifact.checks:
            from tileopt.backends.nvidia import check_record

            return check_record.launcher(function, artifact)
        if artifact.persistent:
            from tileopt.backends.nvidia.persistent import launch_in_turn

            return launch_in_turn(function, artifact)
        return lambda: function.launch
    if artifact.trace is not None:
        from tileopt.backends.cpu.check.launch import CheckedCode

        return CheckedCode(artifact, built.cpu).launcher
    from tileopt.backends.runtime.cpu_code import CpuCode

    return CpuCode(artifact, built.cpu).launcher


def signature_of_call(entry: Entry, flat: Sequence[Any], arrays: Arrays) -> dict[str, Spec]:
    """What code is specialised on for these arguments."""
    infos = {b.parameter.name: info for b, info in arrays}
    signature: dict[str, Spec] = {}
    for b in entry.bound:
        name = b.parameter.name
        if isinstance(b, BoundArray):
            signature[name] = array_spec(infos[name])
            continue
        value = b.default if b.position == DEFAULT else flat[b.position]
        signature[name] = b.scalar.spec(value) if isinstance(b, BoundScalar) else ConstSpec(value)
    return signature


def _lay_out(entry: Entry, flat: Sequence[Any], arrays: Arrays, device: int, artifact: Artifact, run: Run) -> Plan:
    run_time: list[binding.Bound] = [b for b in entry.bound if not isinstance(b, BoundConst)]
    index = {b.parameter.name: i for i, b in enumerate(run_time)}
    first: dict[int, int] = {}
    for at, slot in enumerate(artifact.params):
        first.setdefault(slot.parameter, at)
    writes: list[ScalarWrite] = []
    fixed: list[tuple[ScalarWrite, object]] = []
    for b in run_time:
        if isinstance(b, BoundScalar):
            write = scalar_write(first[index[b.parameter.name]], b.position, b.parameter, b.scalar)
            if b.position == DEFAULT:
                fixed.append((write, b.default))
            else:
                writes.append(write)
    values: dict[str, Any] = {}
    for b in entry.bound:
        if not isinstance(b, BoundArray):
            values[b.parameter.name] = b.default if b.position == DEFAULT else flat[b.position]
    values |= {b.parameter.name: ArrayView(info.shape, info.strides) for b, info in arrays}
    shapes = {index[b.parameter.name]: (info.shape, launch_strides(info)[0]) for b, info in arrays}
    on_gpu = device != HOST
    return Plan(
        arrays=tuple((b.parameter, info) for b, info in arrays),
        pairs=conflicts([(b.parameter, info) for b, info in arrays]),
        pointer_slots=tuple(first[index[b.parameter.name]] for b, _ in arrays),
        scalars=tuple(writes),
        template=_with_defaults(template(artifact.params, shapes), fixed),
        run=run,
        check_grid=_grid_check(artifact, on_gpu, [b.parameter.name for b, _ in arrays if owned(b.parameter)]),
        device=device,
        stream_of=current_stream_of([b.reader.name for b, _ in arrays], device) if on_gpu else None,
        native_launch=getattr(getattr(run, "__self__", None), "native_launch", None) if on_gpu else None,
        of_torch=any(b.reader.name == "torch" for b, _ in arrays),
        waits=tuple({info.stream for _, info in arrays if info.stream is not None}) if on_gpu else (),
        conditions=tuple(compile_condition(text) for text in artifact.conditions),
        values=values,
        condition_scalars=tuple((w.parameter.name, w.position) for w in writes),
        of_threads=bool(artifact.block),
        map_slots=tuple(at for at, slot in enumerate(artifact.params) if slot.kind is SlotKind.TENSOR_MAP),
        maps=_maps(artifact, {index[b.parameter.name]: (i, info) for i, (b, info) in enumerate(arrays)}, device),
    )


def _maps(artifact: Artifact, arrays: dict[int, tuple[int, ArrayInfo]], device: int) -> tuple[MapWrite, ...]:
    found = [slot for slot in artifact.params if slot.kind is SlotKind.TENSOR_MAP]
    if not found:
        return ()
    from tileopt.backends.nvidia.tensor_maps import encoder

    return tuple(MapWrite(arrays[s.parameter][0], encoder(s, arrays[s.parameter][1], device)) for s in found)


def _grid_check(artifact: Artifact, on_gpu: bool, written: Sequence[str]) -> Callable[[Grid], None]:
    check, unused = check_cuda if on_gpu else check_cpu, tuple(artifact.report.get("unused_axes", ()))
    if not unused:
        return check

    def run(grid: Grid) -> None:
        check(grid)
        check_unused(grid, unused, artifact.name, written)

    return run


def _with_defaults(words: bytes, fixed: Sequence[tuple[ScalarWrite, object]]) -> bytes:
    buffer = ArgumentBuffer(words)
    for write, value in fixed:
        buffer.views[write.view][write.index] = value if write.convert is None else write.convert(value)
    return bytes(buffer.views["B"])[: len(words)]
