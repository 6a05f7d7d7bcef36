"""Many kernels compiled at once, each in a process of its own, since LLVM holds one lock for a whole process.

A process gets a kernel's IR as text and gives back the artifact's bytes. It never loads the user's program, so that
programs need no `if __name__ == "__main__"`. One that dies, as LLVM's fatal errors make it, costs its own kernel only.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Any

from tileopt.backends.runtime.artifact import Artifact
from tileopt.dialects.diagnostics import CompileError, TileoptError

_WORKER = "from tileopt.backends.runtime.tuning.compiler import serve; serve()"
_HEAD = 8  # bytes that say how long a message is


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel's IR, and the target's name."""

    text: str
    target: str


Answer = Artifact | TileoptError


def compile_all(
    jobs: Sequence[Job], processes: int, done: Callable[[int, Answer], None], stop: Callable[[], bool]
) -> None:
    """Compiles the jobs in their order, `processes` at a time, and hands each answer over in this thread.

    Where `stop` says so no further one is begun.
    """
    workers: SimpleQueue[_Worker] = SimpleQueue()
    every = [_Worker() for _ in range(min(processes, len(jobs)))]
    for worker in every:
        workers.put(worker)

    def one(job: Job) -> Answer:
        worker = workers.get()
        try:
            return worker.compile(job)
        finally:
            workers.put(worker)

    pending: dict[Future[Answer], int] = {}
    left = list(enumerate(jobs))
    try:
        with ThreadPoolExecutor(max_workers=max(1, len(every))) as pool:
            while left or pending:
                while left and len(pending) < len(every) and not (stop() and len(left) < len(jobs)):
                    index, job = left.pop(0)
                    pending[pool.submit(one, job)] = index
                if not pending:
                    return
                finished, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    done(pending.pop(future), future.result())
    finally:
        for worker in every:
            worker.close()


class _Worker:
    """One process, begun at its first job and anew after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()

    def compile(self, job: Job) -> Answer:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = self._begin()
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, (job.text, job.target))
            kind, value = _receive(process.stdout)
        except (OSError, EOFError):
            return self._died(process.wait())
        if kind == "error":
            assert isinstance(value, TileoptError)
            return value
        found = Artifact.from_bytes(value)
        assert found is not None
        return found

    def _begin(self) -> subprocess.Popen[bytes]:
        paths = [os.path.abspath(entry) for entry in sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._errors.truncate(0)
        command = [sys.executable, "-c", _WORKER]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors, env=environment)

    def _died(self, code: int) -> CompileError:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1]}" if lines else ""
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        return CompileError("internal/compiler-process", f"the process that compiled it {how}{last}")

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
        self._errors.close()


def _send(stream: IO[bytes], message: object) -> None:
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(_HEAD, "little") + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(_HEAD)
    if len(head) < _HEAD:
        raise EOFError
    data = stream.read(int.from_bytes(head, "little"))
    return pickle.loads(data)


# ---- in the other process ----


def serve() -> None:
    """Compiles what comes in until the pipe is closed. What libraries print must not get between the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            text, target = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            message: tuple[str, object] = ("artifact", compile_text(text, target).to_bytes())
        except TileoptError as error:
            message = ("error", error)
        except Exception as error:  # a fault of the compiler costs one configuration, and its name is told
            message = ("error", CompileError("internal/compiler-process", f"{type(error).__name__}: {error}"))
        _send(answers, message)


def compile_text(text: str, target: str) -> Artifact:
    """A kernel's IR to its artifact. Raises CompileError and its kin."""
    from xdsl.parser import Parser

    from tileopt.backends import pipelines
    from tileopt.backends.runtime import defaults, specialise
    from tileopt.dialects.xdsl_compat import create_context

    found = defaults.resolve(target)
    module = Parser(create_context(), text).parse_module()
    return specialise.finish(pipelines.compile_module(module, found)).artifact


def text_of(module: Any) -> str:
    """IR with the places in the source, which checks at run time name."""
    from xdsl.printer import Printer

    out = io.StringIO()
    Printer(out, print_debuginfo=True).print_op(module)
    return out.getvalue()
