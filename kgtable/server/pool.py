"""A bounded pool of worker processes with a fast and a slow lane.

A job first runs in a fast lane. One that takes long moves to a slow lane with a lower priority and
frees its place; with no slow lane left it is refused. So a few expensive queries cannot keep the
short ones waiting, and the number of processes stays bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from kgtable.server.frames import Head
from kgtable.server.problems import Problem, busy
from kgtable.server.process import Frame, WorkerDiedError, WorkerProcess
from kgtable.server.settings import Lanes


@dataclass(frozen=True, slots=True)
class View:
    """The store a job looks at: where it lies, its version, and the prefixes queries may use.

    `directory` is the graph directory it belongs to, None for a bare store.
    """

    path: str
    version: str
    prefixes: dict[str, str]
    directory: str | None = None


@dataclass(slots=True)
class Counts:
    """What the pool has been through, for the metrics."""

    started: int = 0
    died: int = 0
    timeouts: int = 0
    refused: int = 0
    slow: int = 0


class Pool:
    """Worker processes of one role. Use from one event loop only."""

    def __init__(self, role: str, lanes: Lanes, memory: int) -> None:
        self.counts = Counts()
        self._role, self._lanes, self._memory = role, lanes, memory
        self._fast_free, self._slow_free = lanes.fast, lanes.slow
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._queue: deque[asyncio.Future[None]] = deque()
        self._closing = False

    @property
    def processes(self) -> int:
        """How many worker processes there are."""
        return len(self._all)

    @property
    def running(self) -> int:
        """How many jobs run now."""
        return self._lanes.fast - self._fast_free + self._lanes.slow - self._slow_free

    @property
    def waiting(self) -> int:
        """How many jobs wait for a lane."""
        return len(self._queue)

    async def start(self) -> None:
        """Starts the processes of the fast lanes, so that the first requests need not wait."""
        for _ in range(self._lanes.fast):
            if not self._closing:
                self._idle.append(await self._spawn())

    async def run(
        self,
        job: Head,
        seconds: float,
        view: View | None = None,
        body: bytes = b"",
        *,
        events: Callable[[Frame], None] | None = None,
        abandoned: Callable[[], Awaitable[None]] | None = None,
    ) -> Frame:
        """The answer to a job. Raises `Problem` if it is refused, overruns, or its process dies.

        `abandoned` waits until nobody wants the answer any more; it is only asked for slow jobs.
        """
        await self._enter()
        run = _Run(self, await self._worker())
        try:
            return await run.finish(job, seconds, view, body, events, abandoned)
        finally:
            run.leave()

    async def close(self, seconds: float = 5.0) -> None:
        """Lets running jobs finish for so many seconds, then ends every process."""
        self._closing = True
        for waiter in self._queue:
            if not waiter.done():
                waiter.set_exception(busy("The server is shutting down."))
        deadline = asyncio.get_running_loop().time() + seconds
        while self.running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        for worker in list(self._all):
            if worker in self._idle:
                worker.close()
            else:
                worker.kill()
        for task in list(self._starting):
            task.cancel()
        while self._all:
            await asyncio.sleep(0.01)

    async def _enter(self) -> None:
        """Waits for a fast lane."""
        if self._closing:
            raise busy("The server is shutting down.")
        if self._fast_free and not self._queue:
            self._fast_free -= 1
            return
        if len(self._queue) >= self._lanes.waiting:
            self.counts.refused += 1
            raise busy(f"{len(self._queue)} requests are waiting already.")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        patience = asyncio.get_running_loop().call_later(self._lanes.patience, self._send_away, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._free_fast_lane()
            raise
        finally:
            patience.cancel()

    def _send_away(self, waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            self.counts.refused += 1
            self._queue.remove(waiter)
            waiter.set_exception(busy(f"No place became free within {self._lanes.patience:g} seconds."))

    def _free_fast_lane(self) -> None:
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._fast_free += 1

    async def _worker(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if not worker.dead:
                return worker
        try:
            return await self._spawn()
        except (OSError, WorkerDiedError) as error:
            self._free_fast_lane()
            raise busy(f"No worker process can be started: {error}", 5) from error
        except BaseException:
            self._free_fast_lane()
            raise

    async def _spawn(self) -> WorkerProcess:
        worker = WorkerProcess(self._role, self._memory, self._gone)
        self.counts.started += 1
        self._all.add(worker)
        await worker.connect()
        return worker

    def _refill(self) -> None:
        """Starts a process in place of one that was killed, so that the next request need not wait."""
        spare = len(self._idle) + len(self._starting)
        if not self._closing and spare < self._fast_free + len(self._queue) and spare < self._lanes.fast:
            task = asyncio.get_running_loop().create_task(self._add_idle())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _add_idle(self) -> None:
        try:
            self._idle.append(await self._spawn())
        except (OSError, WorkerDiedError):
            return

    def _gone(self, worker: WorkerProcess) -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not self._closing:
            self.counts.died += 1


class _Run:
    """One job on one worker: in which lane it is, and how it ends."""

    def __init__(self, pool: Pool, worker: WorkerProcess) -> None:
        self._pool, self._worker = pool, worker
        self._slow = False
        self._fit = False
        self._refusal: Problem | None = None
        self._watch: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seconds = 0.0

    async def finish(
        self,
        job: Head,
        seconds: float,
        view: View | None,
        body: bytes,
        events: Callable[[Frame], None] | None,
        abandoned: Callable[[], Awaitable[None]] | None,
    ) -> Frame:
        """Sends the job, keeps its time, and gives the answer."""
        self._seconds = seconds
        job = {**job, "seconds": seconds}
        if view is not None and self._worker.opened != view.version:
            job["open"] = {"path": view.path, "prefixes": view.prefixes, "directory": view.directory}
            self._worker.opened = None
        future = self._worker.submit(job, body, events)
        loop = asyncio.get_running_loop()
        slow_after = min(self._pool._lanes.slow_after, seconds)
        self._timer = loop.call_later(slow_after, self._become_slow, seconds - slow_after, abandoned)
        try:
            frame = await future
        except WorkerDiedError as error:
            raise self._explain(error) from None
        finally:
            self._timer.cancel()
            if self._watch is not None:
                self._watch.cancel()
        if view is not None and frame[0].get("problem") != "unavailable":
            self._worker.opened = view.version
        self._fit = True
        return frame

    def leave(self) -> None:
        """Gives the lane and, if it is still good, the process back."""
        pool, worker = self._pool, self._worker
        if self._fit and not self._slow and not worker.dead:
            pool._idle.append(worker)
        elif not worker.dead:
            worker.kill()
        if self._slow:
            pool._slow_free += 1
        else:
            pool._free_fast_lane()
        if not self._fit or self._slow:
            pool._refill()

    def _become_slow(self, left: float, abandoned: Callable[[], Awaitable[None]] | None) -> None:
        """Moves a job that has run for a while to a slow lane, if its role has any."""
        pool = self._pool
        self._timer = asyncio.get_running_loop().call_later(left, self._overrun)
        if not pool._lanes.slow or not left:
            return
        if not pool._slow_free:
            pool.counts.refused += 1
            self._refusal = busy("Too many expensive queries are running. Try again in a while.", 5)
            self._worker.kill()
            return
        pool._slow_free -= 1
        pool.counts.slow += 1
        self._slow = True
        self._worker.lower_priority()
        pool._free_fast_lane()
        if abandoned is not None:
            self._watch = asyncio.get_running_loop().create_task(self._stop_when(abandoned))

    async def _stop_when(self, abandoned: Callable[[], Awaitable[None]]) -> None:
        await abandoned()
        self._refusal = Problem("timeout", "The client went away.")
        self._worker.kill()

    def _overrun(self) -> None:
        self._pool.counts.timeouts += 1
        seconds = self._seconds
        self._refusal = Problem(
            "timeout",
            f"The request was stopped after {seconds:g} seconds. Narrow it down or add a LIMIT.",
            {"seconds": seconds},
        )
        self._worker.kill()

    def _explain(self, error: WorkerDiedError) -> Problem:
        if self._refusal is not None:
            return self._refusal
        if error.out_of_memory:
            limit = self._pool._memory
            return Problem("memory-limit", f"The request needed more than {limit:,} bytes of memory.")
        return Problem("crashed", "The process that worked on the request ended. Try again.", {}, _RETRY)


_RETRY = {"retry-after": "1"}


def single_file(lanes: Lanes, wide: int = 1) -> Lanes:
    """The lanes of a role that does few things at a time, however long they take, such as writing."""
    return replace(lanes, fast=wide, slow=0, patience=max(lanes.patience, 30.0))
