"""Bounded pool of worker processes with a fast and a slow lane.

Jobs go to the processes of the fast lane; while jobs are short, a few are sent ahead, so that a process need
not wait for the next one. A process whose job takes long moves to the slow lane with a lower priority, and a
new one replaces it; if the slow lane is full, the job is refused. What counts is processor time: on a busy
machine, cheap jobs take long too. So a few expensive queries cannot block the
short ones, and the number of processes stays bounded.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from kgtable.server.options import COSTLY, STREAM_TIMES, Lanes
from kgtable.server.workers.messages import Head, Problem, busy
from kgtable.server.workers.process import ResultStream, View, WorkerDiedError, WorkerFrame, WorkerJob, WorkerProcess

_LOG = logging.getLogger(__name__)

AHEAD = 8
"""Jobs a process has at most, counting the one it is at, while jobs are short."""
CORES = os.cpu_count() or 1
"""Processes that get short jobs first: more of them at once would only wait for each other."""
SHORT = 0.003
"""Seconds that jobs may take, in the mean, to count as short."""
STALLED = 0.03
"""Seconds after which the jobs behind one that is not short go to other processes."""
TICK = 0.02
"""Seconds between two looks at what overruns its time."""
RESTART = 1.0
"""Seconds until the next attempt after a process that did not even start."""


@dataclass(slots=True)
class Counts:
    """Counters of the pool, for the metrics."""

    started: int = 0
    died: int = 0
    timeouts: int = 0
    refused: int = 0
    slow: int = 0


class Pool:
    """Worker processes of one role. Use it from a single event loop."""

    def __init__(self, role: str, lanes: Lanes, memory: int) -> None:
        self.counts = Counts()
        self._role, self._lanes, self._memory = role, lanes, memory
        self._fast: list[WorkerProcess] = []
        self._slow: list[WorkerProcess] = []
        self._starting: set[WorkerProcess] = set()
        self._spawning: set[asyncio.Task[None]] = set()
        self._refusals: dict[WorkerProcess, Problem] = {}
        self._watches: dict[WorkerProcess, asyncio.Task[None]] = {}
        self._queue: deque[WorkerJob] = deque()
        self._ticker: asyncio.TimerHandle | None = None
        self._mean = 0.0
        self._closing = False

    @property
    def processes(self) -> int:
        """Number of worker processes."""
        return len(self._fast) + len(self._slow) + len(self._starting)

    @property
    def running(self) -> int:
        """Number of jobs that a process is working on."""
        return sum(len(worker.jobs) for worker in (*self._fast, *self._slow))

    @property
    def waiting(self) -> int:
        """Number of jobs in the queue."""
        return len(self._queue)

    async def start(self) -> None:
        """Start the processes of the fast lane before the first request.

        Raises `WorkerDiedError` if they do not start.
        """
        self._fill()
        await asyncio.gather(*self._spawning)

    async def run(
        self,
        head: Head,
        seconds: float,
        view: View | None = None,
        body: bytes = b"",
        *,
        events: Callable[[WorkerFrame], None] | None = None,
        abandoned: Callable[[], Awaitable[None]] | None = None,
        stream: ResultStream | None = None,
        stoppable: bool = False,
    ) -> WorkerFrame:
        """Execute a job. Raises `Problem` if it is refused, overruns, or its process dies.

        `abandoned` waits until the client is gone; it is only used for slow jobs. A long result begins with
        the frame that is returned, and goes on in `stream`. The process of a `stoppable` job is ended where
        this call is cancelled and the job takes long.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[WorkerFrame] = loop.create_future()
        job = WorkerJob(head, body, seconds, answer, loop.time(), events, abandoned, view)
        job.stream, job.stoppable = stream, stoppable
        self._begin(job)
        try:
            return await answer
        except asyncio.CancelledError:
            if job in self._queue:
                self._queue.remove(job)
            raise

    def _begin(self, job: WorkerJob) -> None:
        """Queue a job, to be started as soon as a process is free. Raises `Problem` if it is refused."""
        if self._closing:
            raise busy("The server is shutting down.")
        if len(self._queue) >= self._lanes.waiting:
            self.counts.refused += 1
            raise busy(f"{len(self._queue)} requests are waiting already.")
        self._queue.append(job)
        self._fill()
        self._dispatch()
        if self._ticker is None:
            self._ticker = asyncio.get_running_loop().call_later(TICK, self._tick)

    async def close(self, seconds: float = 5.0) -> None:
        """Wait at most `seconds` for running jobs, then end every process."""
        self._closing = True
        while self._queue:
            self._queue.popleft().fail(busy("The server is shutting down."))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self.running and loop.time() < deadline:
            await asyncio.sleep(0.02)
        for task in self._spawning:
            task.cancel()
        for worker in (*self._fast, *self._slow, *self._starting):
            if worker.jobs or worker in self._starting:
                worker.kill()
            else:
                worker.close()
        while self.processes:
            await asyncio.sleep(0.01)

    def answered(self, worker: WorkerProcess, seconds: float) -> None:
        """Handle a finished job: give the process more work, or end it if it was slow."""
        self._mean += (seconds - self._mean) / 20
        self._stop_watching(worker)
        if worker.slow:
            worker.kill()
            return
        if not worker.jobs:
            worker.stalled = False
        self._dispatch()

    def unwanted(self, worker: WorkerProcess) -> None:
        """End a process whose result no client receives any more."""
        self._stop(worker, Problem("timeout", "The client went away."))

    def died(self, worker: WorkerProcess, error: WorkerDiedError) -> None:
        """Handle the end of a process: fail its current job and pass the others on."""
        self._starting.discard(worker)
        for lane in (self._fast, self._slow):
            if worker in lane:
                lane.remove(worker)
        self.counts.died += not self._closing
        self._stop_watching(worker)
        refusal = self._refusals.pop(worker, None)
        for place, job in reversed(list(enumerate(worker.jobs))):  # the last goes to the front first
            if place and not worker.stalled:
                self._queue.appendleft(job)
                continue
            job.copies -= 1
            if job.stream is not None and job.stream.source is worker:
                job.stream.fail(refusal or self._explain(error))
            elif not job.copies:
                job.fail(refusal or self._explain(error))
        self._fill()
        self._dispatch()

    def _fill(self) -> None:
        """Start processes until the fast lane is full."""
        while not self._closing and len(self._fast) + len(self._spawning) < self._lanes.fast:
            task = asyncio.get_running_loop().create_task(self._spawn())
            self._spawning.add(task)
            task.add_done_callback(self._spawned)

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._spawning.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _LOG.warning("A worker process does not start: %s", error)
            asyncio.get_running_loop().call_later(RESTART, self._fill)

    async def _spawn(self) -> None:
        worker = WorkerProcess(self._role, self._memory, self)
        self._starting.add(worker)
        self.counts.started += 1
        await worker.connect()
        self._starting.discard(worker)
        self._fast.append(worker)
        if self._closing:
            worker.kill()
        self._dispatch()

    def _dispatch(self) -> None:
        """Send waiting jobs to processes with capacity, the least busy first.

        A few busy processes cost less than waking many for single jobs. Costly jobs wait while enough of them run.
        """
        ahead = AHEAD if self._lanes.slow and self._mean < SHORT else 1
        while self._queue:
            free = [worker for worker in self._fast if worker.takes_jobs and len(worker.jobs) < ahead]
            costly = sum(_is_costly(job) for worker in self._fast for job in worker.jobs) if self._lanes.costly else -1
            may_start = (job for job in self._queue if costly < self._lanes.costly or not _is_costly(job))
            job = next(may_start, None) if free else None
            if job is None:
                return
            self._queue.remove(job)
            if job.answer.done():
                job.copies -= 1
            else:
                min(free[:CORES], key=_load).submit(job)

    def _tick(self) -> None:
        """Check jobs that take long, and reschedule the check while there are any."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for worker in (*self._fast, *self._slow):
            if worker.jobs:
                self._check_worker(worker, *worker.times(now))
        while self._queue and now - self._queue[0].since > self._lanes.patience:
            self.counts.refused += 1
            job = self._queue.popleft()
            job.fail(busy(f"No place became free within {self._lanes.patience:g} seconds."))
        self._dispatch()
        more = bool(self._queue) or self.running > 0
        self._ticker = loop.call_later(TICK, self._tick) if more else None

    def _check_worker(self, worker: WorkerProcess, seconds: float, held: float) -> None:
        """Act on a process that has worked on one job for so many seconds: demote, stop or leave it.

        `held` is how long it has waited for the job's client beside.
        """
        job = worker.jobs[0]
        if seconds > job.seconds or held > STREAM_TIMES * job.seconds:
            self.counts.timeouts += 1
            detail = f"The request was stopped after {job.seconds:g} seconds. Narrow it down or add a LIMIT."
            self._stop(worker, Problem("timeout", detail, {"seconds": job.seconds}))
        elif seconds > self._lanes.slow_after and job.stoppable and job.answer.cancelled():
            self._stop(worker, Problem("timeout", "The client went away."))
        elif seconds > self._lanes.slow_after and self._lanes.slow and not worker.slow:
            if not self._is_expensive(worker, job):
                return
            if len(self._slow) < self._lanes.slow:
                self._make_slow(worker)
            else:
                self.counts.refused += 1
                self._stop(worker, busy("Too many expensive queries are running. Try again in a while.", 5))
        elif seconds > STALLED:
            if worker.spent is None:
                worker.spent = worker.processor_seconds()
                if self._lanes.slow and worker.spent is not None and not job.head.get("services"):
                    return
            if worker.stalled or not self._has_worked(worker, job, STALLED / 3):
                return
            worker.stalled = True
            behind = [waiting for waiting in list(worker.jobs)[1:] if not waiting.answer.done()]
            for waiting in reversed(behind):
                waiting.copies += 1
                self._queue.appendleft(waiting)

    def _is_expensive(self, worker: WorkerProcess, job: WorkerJob) -> bool:
        """Whether a job has taken its time itself, or waits for another host: not if the machine had no time.

        In the slow lane, with its lower priority, a job that only waits for the machine would wait for ever.
        """
        return self._has_worked(worker, job, self._lanes.slow_after - 2 * STALLED)

    def _has_worked(self, worker: WorkerProcess, job: WorkerJob, seconds: float) -> bool:
        """Whether a job has taken so much processor time since it was looked at first.

        Doing the jobs behind one that only waits for the machine twice would keep the machine busier still.
        """
        taken = worker.processor_seconds()
        if taken is None or worker.spent is None or job.head.get("services") or not self._lanes.slow:
            return True
        return taken - worker.spent >= seconds

    def _make_slow(self, worker: WorkerProcess) -> None:
        self.counts.slow += 1
        self._fast.remove(worker)
        self._slow.append(worker)
        worker.slow = True
        worker.lower_priority()
        self._fill()
        abandoned = worker.jobs[0].abandoned
        if abandoned is not None:
            watch = asyncio.get_running_loop().create_task(self._stop_when(abandoned, worker))
            self._watches[worker] = watch

    async def _stop_when(self, abandoned: Callable[[], Awaitable[None]], worker: WorkerProcess) -> None:
        await abandoned()
        self._watches.pop(worker, None)
        self._stop(worker, Problem("timeout", "The client went away."))

    def _stop_watching(self, worker: WorkerProcess) -> None:
        watch = self._watches.pop(worker, None)
        if watch is not None:
            watch.cancel()

    def _stop(self, worker: WorkerProcess, refusal: Problem) -> None:
        """Kill a process; its job fails with the given refusal once it has ended."""
        self._refusals.setdefault(worker, refusal)
        worker.kill()

    def _explain(self, error: WorkerDiedError) -> Problem:
        if error.out_of_memory:
            detail = f"The request needed more than {self._memory:,} bytes of memory."
            return Problem("memory-limit", detail)
        if error.out_of_stack:
            detail = "The engine ran out of stack: the request is nested too deeply, or has too many parts."
            return Problem("too-complex", detail)
        retry = {"retry-after": "1"}
        return Problem("crashed", "The process that worked on the request ended. Try again.", {}, retry)


def _load(worker: WorkerProcess) -> int:
    return len(worker.jobs)


def _is_costly(job: WorkerJob) -> bool:
    return job.head["op"] in COSTLY


def serial_lanes(lanes: Lanes, wide: int = 1) -> Lanes:
    """Lanes of a role that does few jobs at a time, however long they take, such as writing.

    Costly jobs leave one of several processes to the others.
    """
    return replace(lanes, fast=wide, slow=0, costly=wide - 1, patience=max(lanes.patience, 30.0))
