"""Compiled kernels on disk, by content: one file a kernel, written whole or not at all.

A file is a magic word, a checksum and the payload; whatever does not check is a miss and is overwritten. Processes that
want the same kernel at once take a lock on it, so that one compiles and the others read; a lock that cannot be had in
time, or a folder that cannot be written, costs a compile and never a failure.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_MAGIC = b"tileopt1"
_DIGEST = 32
LOCK_SECONDS = 60.0


def digest(parts: Sequence[str]) -> str:
    """One name for several texts; a text's end cannot be taken for the next one's beginning."""
    state = blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(f"{len(data)}:".encode())
        state.update(data)
    return state.hexdigest()


def directory() -> Path | None:
    """The folder in use: TILEOPT_CACHE_DIR, or tileopt in the user's cache folder. None: TILEOPT_CACHE=0."""
    if os.environ.get("TILEOPT_CACHE", "1").strip().lower() in ("0", "off", "false", "no"):
        return None
    given = os.environ.get("TILEOPT_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "tileopt"
    except RuntimeError:  # no home folder
        return None


def read(folder: Path, key: str) -> bytes | None:
    """The payload under this key; None where there is none, or none that checks."""
    try:
        data = _path(folder, key).read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + _DIGEST
    payload = data[head:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : head] != _checksum(payload):
        return None
    return payload


def write(folder: Path, key: str, payload: bytes) -> bool:
    """Stores a payload. False where the folder cannot be written."""
    path = _path(folder, key)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{key[:8]}-", dir=path.parent)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _checksum(payload) + payload)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        return False
    return True


@contextmanager
def locked(folder: Path, key: str, seconds: float = LOCK_SECONDS) -> Iterator[bool]:
    """Holds the lock of one key; gives whether it was had. A process that dies lets go of it."""
    handle = _try_lock(folder, key, seconds)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _try_lock(folder: Path, key: str, seconds: float) -> int | None:
    try:
        import fcntl
    except ImportError:  # not on Windows: processes may then compile the same kernel twice
        return None
    path = _path(folder, key).with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    end = time.monotonic() + seconds
    pause = 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() > end:
                break
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError:  # a file system without locks
            break
    os.close(handle)
    return None


def _path(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key[2:]}.bin"


def _checksum(payload: bytes) -> bytes:
    return blake2b(payload, digest_size=_DIGEST).digest()


# ---- what code depends on besides its source ----


@lru_cache(maxsize=1)
def sources() -> str:
    """Digest of tileopt's own source text: another compiler makes other code."""
    root = Path(__file__).parent.parent.parent  # as imported: the package's folders may be links
    state = blake2b(digest_size=20)
    for path, _, files in sorted(os.walk(root, followlinks=True)):
        for name in sorted(files):
            if name.endswith(".py"):
                state.update(f"{os.path.relpath(os.path.join(path, name), root)}\0".encode())
                state.update(Path(path, name).read_bytes())
    return state.hexdigest()


@lru_cache(maxsize=1)
def packages() -> str:
    """Versions of the packages that take part in compiling, by the folders that installers leave beside them."""
    from importlib.util import find_spec  # importlib.metadata reads the same and costs 70 ms

    found = []
    for name in ("xdsl", "llvmlite"):
        spec = find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            found += sorted(p.name for p in Path(place).parent.glob(f"{name}-*.*-info")) or [place]
    return ", ".join(found)


@lru_cache(maxsize=1)
def host() -> str:
    """This machine's processor as LLVM sees it: code for one runs on no other."""
    import llvmlite.binding as llvm

    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
