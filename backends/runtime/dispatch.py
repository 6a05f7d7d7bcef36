"""One kernel's launches: the short way for arguments that look like earlier ones, and the long way to a new plan.

The short way reads each array's address and key, finds the plan under the keys, compares owned arrays' ranges, writes
pointers and scalars, and calls. All inspection, specialisation and compiling is on the long way.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tileopt.backends.runtime import binding, defaults, fast_plan, moves, order, recording, streams
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.errors import launch_error
from tileopt.backends.runtime.fast_plan import FASTS_MAX, GRIDS_MAX, USES, FastPlan
from tileopt.backends.runtime.grid import Grid, normalise
from tileopt.backends.runtime.moves import MOVED
from tileopt.backends.runtime.plan import ArgumentBuffer, Plan
from tileopt.backends.runtime.planner import Entry, Planner, inspect
from tileopt.dialects.contracts import KernelDefinition

if TYPE_CHECKING:
    from tileopt.dialects.target import Target


@dataclass(slots=True)
class _State:
    """What was planned for the kernel as it was at one time."""

    fingerprint: str
    planner: Planner
    entries: dict[tuple[Hashable, ...], Entry] = field(default_factory=dict)


class Dispatcher:
    """Launches one kernel. Any number of threads may."""

    def __init__(self, definition: KernelDefinition) -> None:
        self.definition = definition
        self._fingerprint = definition.fingerprint
        self._state = _State(definition.fingerprint(), Planner(definition))
        self._states = {self._state.fingerprint: self._state}
        self._fasts: tuple[FastPlan, ...] = ()  # of the plans that were used last

    @property
    def planner(self) -> Planner:
        """The planner of the kernel as its source is now."""
        fingerprint = self._fingerprint()
        return (self._state if fingerprint is self._state.fingerprint else self._switch(fingerprint)).planner

    def launch(
        self,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        stream: Any = None,
        target: Target | str | None = None,
    ) -> None:
        """Runs the kernel over the grid. Raises LaunchError, or CompileError and its kin the first time."""
        fingerprint = self._fingerprint()
        flat = (*args, *kwargs.values()) if kwargs else args
        if target is None:
            for fast in self._fasts:
                if fast.fingerprint is fingerprint and fast.names == tuple(kwargs):
                    if self._launch_fast(fast, grid, flat, stream):
                        return
        state = self._state
        if fingerprint is not state.fingerprint:
            state = self._switch(fingerprint)
        wanted = target if target is None or type(target) is str else getattr(target, "name", target)
        entry = state.entries.get((wanted, defaults.generation, *map(type, flat), *kwargs))
        if entry is None:
            found = defaults.default_target() if target is None else defaults.resolve(target)
            entry = Entry.of(binding.bind(self.definition.parameters, args, kwargs, self.definition.name), found)
            state.entries[(wanted, defaults.generation, *map(type, flat), *kwargs)] = entry
        if MOVED:
            self._check_moved(entry, flat)
        pointers = []
        parts = []
        for position, read in entry.arrays:
            pointer, part = read(flat[position])
            pointers.append(pointer)
            parts.append(part)
        for position, part_of in entry.keyed:
            parts.append(part_of(flat[position]))
        if type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int and 0 < grid[0] <= 0x7FFFFFFF:
            extents = (grid[0], 1, 1)
        else:
            extents = normalise(grid)
            if 0 in extents:
                inspect(entry, flat)
                return
        key = tuple(parts)
        plan = entry.plans.get(key)
        if plan is None:
            plan = state.planner.plan(entry, flat, key)
        for i, j, low, high in plan.pairs:
            if low < pointers[j] - pointers[i] < high:
                plan.check_overlap(i, j, pointers)
        if extents[1] != 1 or extents[2] != 1 or extents[0] > 0x7FFFFFFF or plan.conditions:
            plan.check_grid(extents)
        if plan.conditions:
            plan.check_conditions(flat, extents, self.definition.name)
        plan.uses += 1
        if plan.uses >= USES and target is None:
            self._remember(entry, plan, flat, extents, fingerprint, tuple(kwargs))
        if recording.noting and recording.is_open():
            state.planner.note(entry, flat, plan, extents, stream or streams.current_stream())
        buffer = plan.buffer()
        words = buffer.words
        for slot, pointer in zip(plan.pointer_slots, pointers, strict=True):
            words[slot] = pointer
        if plan.scalars:
            plan.write_scalars(buffer, flat)
        if plan.maps:
            plan.write_maps(buffer, pointers)
        if plan.device == HOST:
            if (stream is not None or streams.active) and self._host_stream(
                entry, plan, buffer, extents, stream, flat, pointers
            ):
                return
            plan.run(buffer, extents, 0)
        else:
            handle = self._queue(entry, plan, stream, flat, pointers)
            plan.run(buffer, extents, handle)
            if (stream is not None or streams.active) and plan.stream_of is not None:
                self._keep_alive(plan, handle, flat)
        plan.free.append(buffer)

    def _launch_fast(self, fast: FastPlan, grid: Any, args: Sequence[Any], stream: Any) -> bool:
        """Launches if the arguments are like those of a plan that was used before, and nothing else wants to know."""
        if recording.noting or fast.generation != defaults.generation:
            return False
        if MOVED and any(id(value) in MOVED for value in args):
            return False
        # True and 2.0 would be found among grids as 1 and 2 are.
        if type(grid) is int:
            extents = (grid, 1, 1)
        elif type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int:
            extents = (grid[0], 1, 1)
        elif type(grid) is tuple and 2 <= len(grid) <= 3 and all(type(n) is int for n in grid):
            extents = normalise(grid)
        else:
            return False
        plan = fast.plan
        if extents not in fast.grids:
            return False
        if stream is None and streams.active:
            stream = streams.current_stream()
        if stream is None:
            handle = plan.stream_of() if plan.stream_of is not None else 0
        elif type(stream) is streams.Stream and stream.graph is None and stream.device == plan.device != HOST:
            if plan.stream_of is not None:
                return False  # arrays that must be kept until the stream has run
            handle = stream.handle
        else:
            return False
        buffer = plan.buffer()
        table = fast.table(buffer)
        follow = plan.device != HOST and (order.active or (handle and order.wanted))
        if follow or plan.maps:
            # A grid of nothing: the arguments are only matched and written.
            if not fast.match(table, 0, 1, 1, 0, *args) or (
                follow and not self._in_order(plan, buffer, handle, stream)
            ):
                plan.free.append(buffer)
                return False
            if plan.maps:
                words = buffer.words
                plan.write_maps(buffer, [words[slot] for slot in plan.pointer_slots])
        done = fast.match(table, *extents, handle, *args)
        if done == 2 or (done and plan.native_launch is None):
            plan.run(buffer, extents, handle)
        plan.free.append(buffer)
        return done != 0

    @staticmethod
    def _in_order(plan: Plan, buffer: ArgumentBuffer, handle: int, stream: Any) -> bool:
        """Whether the launch that the buffer holds needs no closer look at what other streams do."""
        if not order.active:
            return False
        if not streams.is_followed(stream, handle, plan.of_torch):
            return True
        words = buffer.words
        return order.tracker(plan.device).again(handle, (id(plan), *(words[slot] for slot in plan.pointer_slots)))

    def _remember(
        self, entry: Entry, plan: Plan, flat: Sequence[Any], grid: Grid, fingerprint: str, names: tuple[str, ...]
    ) -> None:
        """The next launch tries this plan's short cut first."""
        fast = plan.fast
        if fast is None or fast.generation != defaults.generation or fast.fingerprint is not fingerprint:
            if plan.uses > USES and fast is None:
                return  # it has none
            fast = plan.fast = fast_plan.make(entry, plan, flat, names, fingerprint, defaults.generation)
        if fast is not None:
            if len(fast.grids) >= GRIDS_MAX:
                fast.grids.clear()
            if all(type(n) is int for n in grid):
                fast.grids.add(grid)
            if fast not in self._fasts:
                self._fasts = (fast, *self._fasts[: FASTS_MAX - 1])

    def _switch(self, fingerprint: str) -> _State:
        """The kernel's source, a helper's or a captured constant has changed, or changed back."""
        state = self._states.get(fingerprint)
        if state is None:
            state = self._states[fingerprint] = _State(fingerprint, Planner(self.definition))
        state.fingerprint = fingerprint  # equal; the next look is by identity
        self._state = state
        return state

    @staticmethod
    def _check_moved(entry: Entry, flat: Sequence[Any]) -> None:
        names = {b.position: b.parameter.name for b in entry.bound}
        moves.check(flat, names.get)

    # ---- streams ----

    def _host_stream(
        self,
        entry: Entry,
        plan: Plan,
        buffer: ArgumentBuffer,
        grid: Grid,
        stream: Any,
        flat: Sequence[Any],
        pointers: Sequence[int],
    ) -> bool:
        """Whether the launch was kept for a graph instead of run."""
        found = stream if stream is not None else streams.current_stream()
        if found is None:
            return False
        if not isinstance(found, streams.Stream) or found.device != HOST:
            if stream is None:
                return False  # the arrays decide: a `with` block over a GPU's stream may hold work on the host
            streams.handle_of(stream)  # raises where it is no stream at all
            raise launch_error(
                "stream",
                f"the arrays are on the host, and {stream!r} is a stream of a GPU",
                help="leave stream= out for NumPy arrays, or make tileopt.Stream('cpu')",
            )
        if order.active:
            uses = order.uses_of(plan.arrays, pointers, [flat[position] for position, _ in entry.arrays])
            if found.graph is None:
                order.tracker(HOST).launch(id(found), self.definition.name, uses)
            else:
                found.graph.use(uses)
        if found.graph is None:
            return False
        found.graph.keep(flat)
        found.graph.add(lambda: plan.run(buffer, grid, 0))
        return True

    def _queue(self, entry: Entry, plan: Plan, stream: Any, flat: Sequence[Any], pointers: Sequence[int]) -> int:
        """The CUDA stream of this launch, ordered after what the arrays' producers named."""
        if stream is None and streams.active:
            stream = streams.current_stream()
            if isinstance(stream, streams.Stream) and stream.device != plan.device:
                stream = None
        graph: streams.Graph | None = None
        if stream is None:
            handle = plan.stream_of() if plan.stream_of is not None else 0
        else:
            if isinstance(stream, streams.Stream):
                if stream.device != plan.device:
                    raise launch_error("stream", f"the arrays are on cuda:{plan.device}, and {stream!r} is elsewhere")
                graph = stream.graph
                if graph is not None:
                    graph.keep(flat)
            handle = streams.handle_of(stream)
        for other in plan.waits:
            if other != handle:
                from tileopt.backends.nvidia import queues

                queues.order(plan.device, other, handle)
                if order.active:
                    order.tracker(plan.device).order(other, handle)
        if handle and not order.active and order.wanted:
            order.begin()
        if order.active and (graph is not None or streams.is_followed(stream, handle, plan.of_torch)):
            uses = order.uses_of(plan.arrays, pointers, [flat[position] for position, _ in entry.arrays])
            if graph is not None:
                graph.use(uses)
            else:
                order.tracker(plan.device).launch(handle, self.definition.name, uses, (id(plan), *pointers))
        return handle

    @staticmethod
    def _keep_alive(plan: Plan, handle: int, flat: Sequence[Any]) -> None:
        """Keeps arrays of a framework whose current stream is another one until the launch is over."""
        assert plan.stream_of is not None
        current = streams.current_stream()
        if handle != plan.stream_of() and (current is None or current.graph is None):
            from tileopt.backends.runtime import lifetimes

            lifetimes.hold(plan.device, handle, flat)
