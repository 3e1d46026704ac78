"""Bounded pool of worker processes with one queue.

A process works on one job at a time. One whose job overruns its time is killed and replaced, so that the number of
processes and the time of each request stay bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kgtable.server.options import COSTLY, STREAM_TIMES, QueueLimits
from kgtable.server.workers.messages import Head, Problem, busy
from kgtable.server.workers.process import ResultStream, View, WorkerDiedError, WorkerFrame, WorkerJob, WorkerProcess

_LOG = logging.getLogger(__name__)

TICK = 0.02
"""Polling interval of the watchdog, in seconds."""
LONG = 0.5
"""Seconds after which a job is stopped when its client is gone; shorter ones cost less than a new process."""
RESTART = 1.0
"""Seconds until the next attempt after a process that did not even start."""


@dataclass(slots=True)
class Counts:
    """Counters of the pool, for the metrics."""

    started: int = 0
    died: int = 0
    timeouts: int = 0
    refused: int = 0


class Pool:
    """Worker processes of one role. Use it from a single event loop.

    At most `costly` of the `COSTLY` operations run at a time; None for as many as there are processes.
    """

    def __init__(self, role: str, limits: QueueLimits, memory: int, costly: int | None = None) -> None:
        self.counts = Counts()
        self._role, self._limits, self._memory = role, limits, memory
        self._costly = limits.processes if costly is None else costly
        self._workers: list[WorkerProcess] = []
        self._starting: set[WorkerProcess] = set()
        self._spawning: set[asyncio.Task[None]] = set()
        self._refusals: dict[WorkerProcess, Problem] = {}
        self._queue: deque[WorkerJob] = deque()
        self._ticker: asyncio.TimerHandle | None = None
        self._closing = False

    @property
    def processes(self) -> int:
        """Number of worker processes."""
        return len(self._workers) + len(self._starting)

    @property
    def running(self) -> int:
        """Number of jobs that a process is working on."""
        return sum(worker.job is not None for worker in self._workers)

    @property
    def waiting(self) -> int:
        """Number of jobs in the queue."""
        return len(self._queue)

    async def start(self) -> None:
        """Start the processes before the first request. Raises `WorkerDiedError` if they do not start."""
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

        `abandoned` waits until the client is gone; it is only used for long jobs. A long result begins with
        the frame that is returned, and goes on in `stream`. The process of a `stoppable` job is ended where
        this call is cancelled and the job takes long.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[WorkerFrame] = loop.create_future()
        job = WorkerJob(head, body, seconds, answer, loop.time(), events, abandoned, view, stream, stoppable)
        if self._closing:
            raise busy("The server is shutting down.")
        if len(self._queue) >= self._limits.waiting:
            self.counts.refused += 1
            raise busy(f"{len(self._queue)} requests are waiting already.")
        self._queue.append(job)
        self._fill()
        self._dispatch()
        if self._ticker is None:
            self._ticker = loop.call_later(TICK, self._tick)
        try:
            return await answer
        except asyncio.CancelledError:
            if job in self._queue:
                self._queue.remove(job)
            raise

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
        for worker in (*self._workers, *self._starting):
            if worker.job is not None or worker in self._starting:
                worker.kill()
            else:
                worker.close()
        while self.processes:
            await asyncio.sleep(0.01)

    def answered(self, worker: WorkerProcess, job: WorkerJob) -> None:
        """Handle a finished job: give the process more work."""
        job.stop_watching()
        self._dispatch()

    def unwanted(self, worker: WorkerProcess) -> None:
        """End a process whose result no client receives any more."""
        self._stop(worker, Problem("timeout", "The client went away."))

    def died(self, worker: WorkerProcess, error: WorkerDiedError) -> None:
        """Handle the end of a process: fail its job, and start another one."""
        self._starting.discard(worker)
        if worker in self._workers:
            self._workers.remove(worker)
        self.counts.died += not self._closing
        refusal, job = self._refusals.pop(worker, None), worker.job
        if job is not None:
            job.stop_watching()
            failed = job.stream if job.stream is not None and job.stream.source is worker else job
            failed.fail(refusal or self._explain(error))
        self._fill()
        self._dispatch()

    def _fill(self) -> None:
        """Start processes until there are enough."""
        while not self._closing and len(self._workers) + len(self._spawning) < self._limits.processes:
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
        self._workers.append(worker)
        if self._closing:
            worker.kill()
        self._dispatch()

    def _dispatch(self) -> None:
        """Send waiting jobs to free processes. Costly jobs wait while enough of them run."""
        free = [worker for worker in self._workers if worker.job is None and not worker.ending]
        while free:
            running = sum(worker.job is not None and _is_costly(worker.job) for worker in self._workers)
            may_start = (job for job in self._queue if running < self._costly or not _is_costly(job))
            job = next(may_start, None)
            if job is None:
                return
            self._queue.remove(job)
            if not job.answer.done():
                free.pop().submit(job)

    def _tick(self) -> None:
        """Check jobs that take long, and reschedule the check while there are any."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for worker in list(self._workers):
            if worker.job is not None:
                self._check(worker, worker.job, *worker.times(now))
        while self._queue and now - self._queue[0].since > self._limits.patience:
            self.counts.refused += 1
            self._queue.popleft().fail(busy(f"No place became free within {self._limits.patience:g} seconds."))
        self._dispatch()
        self._ticker = loop.call_later(TICK, self._tick) if self._queue or self.running else None

    def _check(self, worker: WorkerProcess, job: WorkerJob, seconds: float, held: float) -> None:
        """Stop a process that has worked too long, or for nobody; `held` is how long it has waited for the client."""
        if seconds > job.seconds or held > STREAM_TIMES * job.seconds:
            self.counts.timeouts += 1
            detail = f"The request was stopped after {job.seconds:g} seconds. Narrow it down or add a LIMIT."
            self._stop(worker, Problem("timeout", detail, {"seconds": job.seconds}))
        elif seconds > LONG and job.stoppable and job.answer.cancelled():
            self.unwanted(worker)
        elif seconds > LONG and job.abandoned is not None and job.watch is None:
            job.watch = asyncio.get_running_loop().create_task(self._stop_when(job.abandoned, worker))

    async def _stop_when(self, abandoned: Callable[[], Awaitable[None]], worker: WorkerProcess) -> None:
        await abandoned()
        self.unwanted(worker)

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


def _is_costly(job: WorkerJob) -> bool:
    return job.head["op"] in COSTLY
