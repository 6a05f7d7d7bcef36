"""The search itself: compile every configuration, measure those that compile, stop early, take the fastest."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tileopt.backends.runtime.arrays import HOST
from tileopt.backends.runtime.tuning import compiler
from tileopt.backends.runtime.tuning.call import Call
from tileopt.backends.runtime.tuning.config import Config
from tileopt.backends.runtime.tuning.progress import Bar
from tileopt.backends.runtime.tuning.results import Trial, Tuning
from tileopt.backends.runtime.tuning.snapshot import Snapshot
from tileopt.backends.runtime.tuning.timers import Run, timer_for
from tileopt.dialects.diagnostics import CompileError, DeviceError, TileoptError

Measure = Callable[[Run, Config], float]
Clock = Callable[[], float]

COMPILE_SHARE = 0.6  # of the budget: what is not compiled by then is left out, so that the rest can be measured
HOPELESS = 1.5  # times the best median so far: a configuration whose first runs are all slower is given up
FIRST_RUNS = 2
LEAST_RUNS, MOST_RUNS, RUNS_MS = 5, 30, 50.0  # of a configuration: as many as RUNS_MS holds, within these
NEAR, FINALISTS, FINAL_RUNS = 1.05, 4, 10  # those within NEAR of the best are measured again, in turns


@dataclass
class Search:
    """One search. `calls`: each configuration's launch, or why there is none. `stream`: as given to the launch."""

    kernel: str
    configs: Sequence[Config]
    calls: Sequence[Call | TileoptError]
    stream: Any
    budget_s: float
    processes: int
    measure: Measure | None = None
    clock: Clock = time.monotonic
    trials: list[Trial] = field(default_factory=list)
    _times: dict[int, list[float]] = field(default_factory=dict)
    _start: float = 0.0

    def run(self, bar: Bar) -> Tuning:
        """Finds the fastest configuration. Raises CompileError (`tune/no-config`) where none runs."""
        self._start = self.clock()
        self.trials = [Trial(config) for config in self.configs]
        for trial, call in zip(self.trials, self.calls, strict=True):
            if isinstance(call, TileoptError):
                _fail(trial, call)
        ready = self._compile(bar)
        if len(ready) == 1:
            self.trials[ready[0]].why = "the only one left to choose"
        elif ready:
            self._measure(ready, bar)
        measured = [trial for trial in self.trials if trial.ms is not None]
        usable = [self.trials[i] for i in ready if not self.trials[i].failed]
        if not usable:
            raise CompileError(
                "tune/no-config",
                f"none of the {len(self.trials)} configurations of '{self.kernel}' runs",
                help="\n".join(map(str, self.trials)),
            )
        best = min(measured, key=lambda trial: trial.ms or 0.0) if measured else usable[0]
        return Tuning(best.config, tuple(self.trials), self.clock() - self._start)

    def _spent(self) -> float:
        return self.clock() - self._start

    # ---- compiling ----

    def _compile(self, bar: Bar) -> list[int]:
        """The configurations whose code is there. At least one is compiled, whatever the budget."""
        ready: list[int] = []
        jobs: list[compiler.Job] = []
        indices: list[int] = []
        for index, call in enumerate(self.calls):
            if isinstance(call, TileoptError):
                continue
            if call.dispatcher.planner.find(call.signature, call.target) is not None:
                ready.append(index)
                continue
            if self.processes > 1 and not call.target.checking:
                try:
                    text = compiler.text_of(call.dispatcher.definition.build(call.signature))
                except TileoptError as error:
                    _fail(self.trials[index], error)
                    continue
                jobs.append(compiler.Job(text, call.target.name))
            indices.append(index)
        done = 0

        def late() -> bool:
            return bool(ready) and self._spent() > COMPILE_SHARE * self.budget_s

        def arrived(job: int, answer: compiler.Answer) -> None:
            nonlocal done
            done += 1
            bar(done, len(indices), "compiling")
            index = indices[job]
            call = self.calls[index]
            assert isinstance(call, Call)
            if isinstance(answer, TileoptError) and answer.code != "target/unknown":
                _fail(self.trials[index], answer)
                return
            try:
                if isinstance(answer, TileoptError):  # a target of this process alone
                    call.compile()
                else:
                    call.dispatcher.planner.adopt(call.signature, call.target, answer)
                ready.append(index)
            except TileoptError as error:
                _fail(self.trials[index], error)

        bar(0, len(indices), "compiling")
        if jobs and len(jobs) == len(indices) and len(jobs) > 1:
            compiler.compile_all(jobs, self.processes, arrived, late)
        else:
            for job, _ in enumerate(indices):
                if late():
                    break
                arrived(job, CompileError("target/unknown", "compiled here"))
        for index in indices:
            if index not in ready and not self.trials[index].failed:
                self.trials[index].why = "not compiled within the budget"
        return sorted(ready)

    # ---- measuring ----

    def _measure(self, ready: Sequence[int], bar: Bar) -> None:
        first = self.calls[ready[0]]
        assert isinstance(first, Call)
        stream = first.stream(self.stream)
        timer = None if self.measure is not None else timer_for(first.device, stream)
        measure: Measure = self.measure or (lambda run, config: timer(run) if timer is not None else 0.0)
        arrays = [(b.parameter, info) for b, info in first.arrays]
        try:
            with Snapshot(arrays, first.device, stream) as snapshot:
                try:
                    self._rounds(ready, stream, measure, snapshot, bar)
                finally:
                    snapshot.restore()
                    if first.device != HOST:
                        from tileopt.backends.nvidia import queues

                        queues.synchronize_stream(first.device, stream)
        finally:
            if timer is not None:
                timer.close()

    def _rounds(self, ready: Sequence[int], stream: int, measure: Measure, snapshot: Snapshot, bar: Bar) -> None:
        runs: dict[int, Run] = {}
        seen: dict[tuple[bytes, Any], int] = {}
        same: dict[int, int] = {}
        for done, index in enumerate(ready):
            bar(done, len(ready), "measuring")
            call, trial = self.calls[index], self.trials[index]
            assert isinstance(call, Call)
            if self._spent() > self.budget_s:
                trial.why = "not measured within the budget"
                continue
            try:
                same[index] = seen.setdefault(call.code(), index)
                if same[index] != index:
                    trial.why = f"the same code as {self.configs[same[index]]!r}"
                    continue
                run = call.prepared(stream)
                snapshot.restore(only_read=True)
                measure(run, trial.config)  # loads the code, fills caches
                self._sample(index, partial(measure, run, trial.config), snapshot)
                runs[index] = run
            except TileoptError as error:
                _fail(trial, error)
                self._check_device(call, trial, error)
        medians = {i: statistics.median(self._times[i]) for i in runs}
        best = min(medians.values(), default=0.0)
        finalists = [i for i in sorted(medians, key=lambda i: medians[i]) if medians[i] <= NEAR * best][:FINALISTS]
        for _ in range(FINAL_RUNS if len(finalists) > 1 else 0):
            if self._spent() > self.budget_s:
                break
            for index in finalists:
                snapshot.restore(only_read=True)
                self._times[index].append(measure(runs[index], self.trials[index].config))
        for index in runs:
            self.trials[index].ms = statistics.median(self._times[index])
            self.trials[index].samples = len(self._times[index])
        for index, other in same.items():
            if other != index:
                self.trials[index].failed = self.trials[other].failed

    def _sample(self, index: int, once: Callable[[], float], snapshot: Snapshot) -> None:
        """Fills in the runs of one configuration: few where it is hopeless."""
        best = min((statistics.median(times) for times in self._times.values()), default=None)
        times: list[float] = []
        wanted = FIRST_RUNS
        while len(times) < wanted:
            snapshot.restore(only_read=True)
            times.append(once())
            if len(times) == FIRST_RUNS:
                if best is not None and min(times) > HOPELESS * best:
                    self.trials[index].why = f"given up after {FIRST_RUNS} runs"
                    break
                each = max(min(times), 1e-6)
                wanted = max(LEAST_RUNS, min(MOST_RUNS, int(RUNS_MS / each)))
            if len(times) >= FIRST_RUNS and self._spent() > self.budget_s:
                break
        self._times[index] = times

    @staticmethod
    def _check_device(call: Call, trial: Trial, error: TileoptError) -> None:
        """A kernel that broke the device's context ends the search: nothing else runs in this process."""
        if call.device == HOST:
            return
        from tileopt.backends.nvidia import driver

        try:
            driver.synchronize(call.device)
        except DeviceError:
            error.notes = (*error.notes, (f"while {trial.config!r} was tried", None))
            raise error from None


def _fail(trial: Trial, error: TileoptError) -> None:
    lines = error.message.splitlines() or [""]
    trial.failed, trial.why = True, f"{error.code}: {lines[0]}"
