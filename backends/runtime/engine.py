"""The engine behind every kernel: launches through a dispatcher for each kernel, and compiles without launching."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from tileopt.backends.runtime import defaults
from tileopt.backends.runtime.compiled_kernel import CompiledKernel
from tileopt.backends.runtime.dispatch import Dispatcher
from tileopt.backends.runtime.errors import LaunchOwnershipError
from tileopt.backends.runtime.signature import equal_extents, signature_of
from tileopt.dialects.contracts import KernelDefinition, Spec

_ATTRIBUTE = "_dispatcher"


class Engine:
    """What `tileopt.frontends.engine` describes."""

    def __init__(self) -> None:
        self._others: WeakKeyDictionary[Any, Dispatcher] = WeakKeyDictionary()

    def launch(
        self,
        kernel: KernelDefinition,
        grid: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        stream: Any = None,
        target: Any = None,
    ) -> None:
        """Runs the kernel on a grid, an integer or a tuple of up to three. `stream`, `target`: None for the usual."""
        dispatcher: Dispatcher | None = getattr(kernel, _ATTRIBUTE, None)
        if dispatcher is None or dispatcher.definition is not kernel:
            dispatcher = self.dispatcher(kernel)
        try:
            dispatcher.launch(grid, args, kwargs, stream, target)
        except LaunchOwnershipError as error:
            error.notes = (*error.notes, (f"{kernel.name} is defined here", kernel.location))
            raise

    def dispatcher(self, kernel: KernelDefinition) -> Dispatcher:
        """The kernel's dispatcher, which lives as long as the kernel."""
        found: Dispatcher | None = getattr(kernel, _ATTRIBUTE, None)
        # A copy of a kernel has its fields, and must not launch the kernel it was copied from.
        if found is not None and found.definition is kernel:
            return found
        if kernel in self._others:
            return self._others[kernel]
        made = Dispatcher(kernel)
        with suppress(AttributeError):
            setattr(kernel, _ATTRIBUTE, made)
            return made
        self._others[kernel] = made
        return made

    def signature(self, kernel: KernelDefinition, given: Mapping[str, object]) -> dict[str, Spec]:
        """The specs that `given` (see `compile`) stands for."""
        return signature_of(kernel.parameters, given)

    def compile(self, kernel: KernelDefinition, target: Any, given: Mapping[str, object]) -> CompiledKernel:
        """The kernel for a target (by default the default target, or the CPU), without a launch or a GPU.

        `given`: for each parameter its type as text, its spec, or a constant's value.
        """
        found = defaults.default_target() if target is None else defaults.resolve(target)
        if found is None:
            found = defaults.resolve("cpu")
        return CompiledKernel.make(kernel, self.signature(kernel, given), found, equal_extents(given))
