"""Results of searches on disk, beside the kernels: by device, kernel, key, configurations and compiler."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tileopt.backends.runtime import cache
from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.constants import stable_text
from tileopt.backends.runtime.tuning.call import Call
from tileopt.backends.runtime.tuning.config import Config
from tileopt.backends.runtime.tuning.results import Trial, Tuning
from tileopt.dialects.contracts import ArraySpec


def name_of(call: Call, configs: Sequence[Config], values: Sequence[tuple[str, object]]) -> str | None:
    """The name on disk of a search over `configs` for a call like this one; `values`: the key's, by name.

    None where a value has no text that outlives the process, or nothing goes to disk.
    """
    if cache.directory() is None or call.target.checking:
        return None
    definition = call.dispatcher.definition
    parts = ["tuning", definition.name, definition.fingerprint(), repr(definition.hints), call.target.name]
    parts.append(_device(call))
    for name, value in (*values, *((f"config {i}", tuple(c.values.items())) for i, c in enumerate(configs))):
        text = stable_text(value)
        if text is None:
            return None
        parts += [name, text]
    for name, spec in call.signature.items():
        if isinstance(spec, ArraySpec):
            parts.append(f"{name}: {spec.dtype} {spec.rank} {spec.unit_axis}")
    parts += [cache.sources(), cache.packages()]
    if call.target.kind == "cuda":
        from tileopt.backends.nvidia import ptxas

        parts.append(ptxas.version())
    return cache.digest(parts)


def _device(call: Call) -> str:
    if call.device == HOST:
        return cache.host()
    from tileopt.backends.nvidia import driver

    found = driver.device(call.device)
    return f"{found.name}, {found.arch}, {found.multiprocessors} multiprocessors"


def load(name: str | None, configs: Sequence[Config]) -> Tuning | None:
    """What an earlier search found out."""
    folder = cache.directory()
    data = None if name is None or folder is None else cache.read(folder, name)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        trials = [Trial(configs[t.pop("config")], **t) for t in fields["trials"]]
        return Tuning(configs[fields["best"]], tuple(trials), fields["seconds"], from_disk=True)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def store(name: str | None, configs: Sequence[Config], found: Tuning) -> None:
    """Keeps a result; a folder that cannot be written costs the next process a search."""
    folder = cache.directory()
    if name is None or folder is None:
        return
    trials = [
        {"config": configs.index(t.config), "ms": t.ms, "samples": t.samples, "why": t.why, "failed": t.failed}
        for t in found.trials
    ]
    fields = {"best": configs.index(found.best), "seconds": found.seconds, "trials": trials}
    cache.write(folder, name, json.dumps(fields).encode())
