"""One launch of one configuration, taken apart: what is to be compiled for it, and what runs it without any record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileopt.backends.runtime import binding, defaults, streams
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.dispatch import Dispatcher
from tileopt.backends.runtime.frameworks import current_stream_of
from tileopt.backends.runtime.grid import normalise
from tileopt.backends.runtime.placement import device_of, target_for
from tileopt.backends.runtime.planner import Arrays, Entry, inspect, signature_of_call
from tileopt.dialects.contracts import Spec
from tileopt.dialects.diagnostics import DeviceError
from tileopt.dialects.target import Target


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel with arguments that fit it: see `call_of`."""

    dispatcher: Dispatcher
    grid: Any
    entry: Entry
    flat: Sequence[Any]
    arrays: Arrays
    device: int
    target: Target
    signature: dict[str, Spec]

    def stream(self, given: Any) -> int:
        """The handle of the CUDA stream that a launch would go to; 0 on the host."""
        if self.device == HOST:
            return 0
        found = streams.current_stream() if given is None else given
        if given is None and isinstance(found, streams.Stream) and found.device != self.device:
            found = None
        if found is not None:
            return streams.handle_of(found)
        current = current_stream_of([b.reader.name for b, _ in self.arrays], self.device)
        return 0 if current is None else current()

    def is_captured(self, given: Any) -> bool:
        """Whether a launch would go into a graph, ours or another's."""
        found = streams.current_stream() if given is None else given
        if isinstance(found, streams.Stream) and found.graph is not None:
            return True
        if self.device == HOST:
            return False
        from tileopt.backends.nvidia import queues

        try:
            return queues.is_capturing(self.stream(given))
        except DeviceError:  # the default stream may not even be asked during a capture
            return True

    def compile(self) -> None:
        """Compiles in this process. Raises CompileError and its kin."""
        self.dispatcher.planner.plan(self.entry, self.flat, ())

    def code(self) -> tuple[bytes, Any]:
        """The machine code and the grid: what is equal in two calls runs equally fast."""
        built = self.dispatcher.planner.find(self.signature, self.target)
        assert built is not None
        return built.artifact.code, normalise(self.grid)

    def prepared(self, stream: int) -> Callable[[], None]:
        """What runs the launch, compiled and loaded. Raises LaunchError, CompileError and their kin."""
        plan = self.dispatcher.planner.plan(self.entry, self.flat, ())
        extents = normalise(self.grid)
        pointers = [info.pointer for _, info in self.arrays]
        for i, j, low, high in plan.pairs:
            if low < pointers[j] - pointers[i] < high:
                plan.check_overlap(i, j, pointers)
        plan.check_grid(extents)
        plan.check_conditions(self.flat, extents, self.dispatcher.definition.name)
        buffer = plan.buffer()
        for slot, pointer in zip(plan.pointer_slots, pointers, strict=True):
            buffer.words[slot] = pointer
        plan.write_scalars(buffer, self.flat)
        plan.write_maps(buffer, pointers)
        for other in plan.waits:
            from tileopt.backends.nvidia import queues

            queues.order(plan.device, other, stream)
        if 0 in extents:
            return lambda: None
        return lambda: plan.run(buffer, extents, stream)


def call_of(dispatcher: Dispatcher, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any) -> Call:
    """A launch, not made yet. Raises LaunchError and its kin."""
    flat = (*args, *kwargs.values())
    wanted = defaults.default_target() if target is None else defaults.resolve(target)
    definition = dispatcher.definition
    entry = Entry.of(binding.bind(definition.parameters, args, kwargs, definition.name), wanted)
    arrays = inspect(entry, flat)
    device = device_of([(b.parameter.name, info) for b, info in arrays])
    found = target_for(entry.target, device, bool(arrays))
    return Call(dispatcher, grid, entry, flat, arrays, device, found, signature_of_call(entry, flat, arrays))
