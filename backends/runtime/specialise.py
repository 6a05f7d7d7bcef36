"""From a kernel and a signature to code: out of the cache on disk, or compiled, assembled and put there."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileopt.backends.runtime import cache
from tileopt.backends.runtime.artifact import Artifact
from tileopt.backends.runtime.constants import stable_text
from tileopt.dialects.contracts import ArraySpec, ConstSpec, KernelDefinition, ScalarSpec, Spec

if TYPE_CHECKING:
    from pathlib import Path

    from tileopt.backends.compiled import CompiledModule
    from tileopt.dialects.target import Target


Holds = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Built:
    """An artifact, and for the CPU what the loader made of it."""

    artifact: Artifact
    cpu: Any = None  # backends.cpu.jit.LoadedCpuKernel


def compile_kernel(
    definition: KernelDefinition,
    signature: Mapping[str, Spec],
    target: Target,
    holds: Holds | None = None,
    given: tuple[str, ...] = (),
) -> CompiledModule:
    """Builds the IR and runs the whole compiler, which says what `holds` and `given` are. Raises CompileError and its
    kin."""
    from tileopt.backends import pipelines

    with _no_garbage_collection():
        return pipelines.compile_module(definition.build(signature), target, holds=holds, given=given)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """IR is full of cycles: the collector would walk it all again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def build(
    definition: KernelDefinition, signature: Mapping[str, Spec], target: Target, holds: Holds | None = None
) -> Built:
    """Code for one specialisation, in launches of which `holds` says which relations they fulfil (None: any launches).

    Of processes that want the same at once, one compiles. The first code of a specialisation is stored under its name;
    it tells which relations matter, and code that relies on others than it does is stored under those as well.
    """
    folder = cache.directory()
    key = None if folder is None else key_of(definition, signature, target)
    if folder is None or key is None:
        return finish(compile_kernel(definition, signature, target, holds))
    found = _kept(folder, key, definition, signature, target, holds)
    wanted = () if holds is None else tuple(filter(holds, found.artifact.guards))
    if wanted == found.artifact.assumed:
        return found
    return _kept(folder, cache.digest([key, *wanted]), definition, signature, target, holds)


def _kept(
    folder: Path,
    key: str,
    definition: KernelDefinition,
    signature: Mapping[str, Spec],
    target: Target,
    holds: Holds | None,
) -> Built:
    found = _stored(folder, key)
    if found is not None:
        return found
    with cache.locked(folder, key):
        found = _stored(folder, key)
        if found is not None:
            return found
        built = finish(compile_kernel(definition, signature, target, holds))
        cache.write(folder, key, built.artifact.to_bytes())
        return built


def finish(module: CompiledModule) -> Built:
    """Assembles or loads what was compiled."""
    if module.kind == "cuda":
        from tileopt.backends.nvidia import ptxas
        from tileopt.backends.nvidia.occupancy import occupancy, occupancy_notes
        from tileopt.backends.nvidia.targets import nvidia_target

        assembled = ptxas.assemble(module.ptx or "", module.target)
        held = occupancy(
            nvidia_target(module.target),
            module.threads,
            assembled.registers,
            module.shared_bytes + assembled.shared_bytes,
        )
        report = {**module.report, **assembled.report(), "occupancy": held}
        notes = module.report.get("notes", [])
        assert isinstance(notes, list)
        report["notes"] = [*notes, *occupancy_notes(module.occupancy, held, module.persistent)]
        return Built(Artifact.of(module, assembled.cubin, report))
    from tileopt.backends.cpu import jit

    loaded = jit.load(module.llvm, module.name, None)
    return Built(Artifact.of(module, loaded.object_code, module.report), loaded)


def stored(definition: KernelDefinition, signature: Mapping[str, Spec], target: Target) -> Built | None:
    """A specialisation that the disk has."""
    folder = cache.directory()
    key = None if folder is None else key_of(definition, signature, target)
    return None if folder is None or key is None else _stored(folder, key)


def adopt(definition: KernelDefinition, signature: Mapping[str, Spec], target: Target, artifact: Artifact) -> Built:
    """Takes an artifact that another process made for a specialisation, also to the disk."""
    folder = cache.directory()
    key = None if folder is None else key_of(definition, signature, target)
    if folder is not None and key is not None:
        cache.write(folder, key, artifact.to_bytes())
    return _loaded(artifact)


def _loaded(artifact: Artifact) -> Built:
    if artifact.kind == "cuda":
        return Built(artifact)
    from tileopt.backends.cpu import jit

    return Built(artifact, jit.load(artifact.declarations, artifact.name, artifact.code))


def _stored(folder: Any, key: str) -> Built | None:
    data = cache.read(folder, key)
    artifact = None if data is None else Artifact.from_bytes(data)
    if artifact is None:
        return None
    try:
        return _loaded(artifact)
    except Exception:  # whatever is wrong with code from the disk, compiling anew puts it right
        return None


def key_of(definition: KernelDefinition, signature: Mapping[str, Spec], target: Target) -> str | None:
    """The name of the specialisation on disk; None where a constant has no text that outlives the process, or where the
    target's records need what only the compiler knows."""
    if target.checking:
        return None
    parts = [definition.name, definition.fingerprint(), _places(definition), target.name, repr(definition.hints)]
    for name, spec in signature.items():
        text = _spec_text(spec)
        if text is None:
            return None
        parts += [name, text]
    parts += [cache.sources(), cache.packages()]
    if target.kind == "cuda":
        from tileopt.backends.nvidia import ptxas

        parts.append(ptxas.version())
    else:
        parts.append(cache.host())
    return cache.digest(parts)


def _places(definition: KernelDefinition) -> str:
    """Where its source stands, which failed checks and reports name: as its `places()` says, else its location."""
    places = getattr(definition, "places", None)
    return str(definition.location) if places is None else str(places())


def _spec_text(spec: Spec) -> str | None:
    match spec:
        case ArraySpec() | ScalarSpec():
            return repr(spec)
        case ConstSpec(value=value):
            return stable_text(value)
