"""Threads that share a grid: every block once, errors to the caller, no use after return."""

from __future__ import annotations

import os
import threading
import time

import pytest

from tileopt.backends.runtime import cpu_code, pool


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(("blocks", "chunk"), [(1, 1), (7, 2), (100, 1), (100, 33), (3, 100)])
def test_every_block_once(size: int, blocks: int, chunk: int) -> None:
    seen: list[int] = []
    pool.Pool(size).run(lambda first, last: seen.extend(range(first, last)), blocks, chunk)
    assert sorted(seen) == list(range(blocks))


def test_work_is_shared() -> None:
    workers, names = pool.Pool(4), set()
    barrier = threading.Barrier(4, timeout=20)

    def work(first: int, last: int) -> None:
        names.add(threading.current_thread().name + str(threading.get_ident()))
        barrier.wait()

    workers.run(work, 4, 1)
    assert len(names) == 4


def test_an_error_in_any_thread_reaches_the_caller_and_stops_the_rest() -> None:
    workers, done = pool.Pool(3), []

    def work(first: int, last: int) -> None:
        if first == 5:
            raise MemoryError("no scratch")
        time.sleep(0.001)
        done.append(first)

    with pytest.raises(MemoryError, match="no scratch"):
        workers.run(work, 10_000, 1)
    count = len(done)
    assert count < 5000
    time.sleep(0.02)
    assert len(done) == count  # nothing runs on after the return
    workers.run(lambda first, last: done.append(-1), 3, 1)  # and the pool still works
    assert done.count(-1) == 3


def test_a_job_within_a_job() -> None:
    workers, total = pool.Pool(2), []
    workers.run(lambda a, b: workers.run(lambda c, d: total.append(d - c), 10, 1), 4, 1)
    assert sum(total) == 40


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEOPT_NUM_THREADS", "3")
    assert pool.cores() == 3
    monkeypatch.setenv("TILEOPT_NUM_THREADS", "many")
    with pytest.warns(UserWarning, match="TILEOPT_NUM_THREADS='many'"):
        assert pool.cores() >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_its_own_threads() -> None:
    pool._pool = pool.Pool(2)
    pool.pool().run(lambda first, last: time.sleep(0.001), 4, 1)
    child = os.fork()
    if child == 0:
        seen: list[int] = []
        pool.pool().run(lambda first, last: seen.append(first), 4, 1)
        os._exit(0 if len(seen) == 4 else 1)
    for _ in range(2000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it does not have")
    assert os.waitstatus_to_exitcode(status) == 0


def test_scratch_is_aligned_and_each_threads_own() -> None:
    found: dict[str, int] = {}

    def work(name: str) -> None:
        small = cpu_code._scratch(100)
        assert small % 128 == 0
        assert cpu_code._scratch(64) == small
        found[name] = cpu_code._scratch(1 << 20)
        barrier.wait()

    barrier = threading.Barrier(2, timeout=20)
    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert abs(found["a"] - found["b"]) >= 1 << 20
