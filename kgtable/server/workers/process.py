"""One worker process as seen from the server's event loop: start, submit jobs, kill."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from kgtable.server.workers.messages import LIMIT, Decoder, Head, Problem, encode
from kgtable.storage import Lease

WorkerFrame: TypeAlias = tuple[Head, bytes]

_ALLOCATION = "glibc.malloc.tcache_count=127"
"""The engine allocates and frees many small blocks at once: more are cached than by default."""
_STARTER = "kgtable.server.workers.worker"


class WorkerDiedError(Exception):
    """The process ended before it answered. `code` is its exit status, `words` its stderr."""

    def __init__(self, code: int | None, words: str) -> None:
        super().__init__(f"exit status {code}: {words}")
        self.code, self.words = code, words

    @property
    def out_of_memory(self) -> bool:
        """Whether the process ended because it could not allocate memory."""
        return any(word in self.words for word in ("memory allocation", "bad_alloc", "MemoryError"))

    @property
    def out_of_stack(self) -> bool:
        """Whether the process ended as one does that overflows its stack.

        Workers read files that do not change, so that a memory fault has no other usual cause.
        """
        return self.code == -signal.SIGSEGV


HELD_MOST, HELD_LEAST = 1 << 20, 1 << 18
"""Bytes of a result waiting for the client at which its process is paused, and at which it resumes."""


class ResultStream:
    """The parts of a long result, taken from its process as fast as the client takes them.

    `source` is the process, None as long as there is no part. Iterating raises the error that
    ends the result before its end, a `Problem`.
    """

    __slots__ = ("_ended", "_error", "_held", "_news", "_parts", "_stop", "source")

    def __init__(self) -> None:
        self.source: WorkerProcess | None = None
        self._parts: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._error: Exception | None = None
        self._news: asyncio.Event | None = None
        self._stop: Callable[[], None] | None = None

    def begin(self, source: WorkerProcess, stop: Callable[[], None]) -> None:
        """Note where the parts come from, and what stops them."""
        self.source, self._stop, self._news = source, stop, asyncio.Event()

    def put(self, part: bytes) -> None:
        """Take a part from the process; pause it where the client is slow."""
        self._parts.append(part)
        self._held += len(part)
        if self._held > HELD_MOST and self.source is not None:
            self.source.pause()
        self._tell()

    def end(self, frame: WorkerFrame) -> None:
        """Take the last part, or the problem that ends the result before its end."""
        head, body = frame
        if "problem" in head:
            self.fail(Problem(head["problem"], body.decode("utf-8", "replace"), head["extra"]))
            return
        self._parts.append(body)
        self._ended = True
        self._tell()

    def fail(self, error: Exception) -> None:
        """End the result before its end."""
        if not self._ended:
            self._error, self._ended = error, True
            self._tell()

    def close(self) -> None:
        """Stop a result that no client receives any more."""
        if not self._ended and self._stop is not None:
            self._stop()

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._parts:
                part = self._parts.popleft()
                self._held -= len(part)
                if self._held < HELD_LEAST and self.source is not None:
                    self.source.resume()
                if part:
                    yield part
            if self._error is not None:
                raise self._error
            if self._ended or self._news is None:
                return
            await self._news.wait()
            self._news.clear()


@dataclass(frozen=True, slots=True)
class View:
    """The store that a job reads: its path, its version, and the prefixes queries may use.

    `base` is the store whose version it is, see `kgtable.graph.store`; `directory` the graph directory it
    belongs to, None for a bare store. `leases` keep the files for as long as a job with this view waits or
    runs, and as long as it is the server's view.
    """

    path: str
    version: str
    prefixes: dict[str, str]
    directory: str | None = None
    base: str = ""
    leases: tuple[Lease | None, ...] = ()

    def opening(self) -> Head:
        """The instruction for a worker to open the store."""
        return {"path": self.path, "prefixes": self.prefixes, "directory": self.directory}


@dataclass(slots=True, eq=False)
class WorkerJob:
    """A job for a worker process, and the future of its result.

    `seconds` is its time limit, `since` the loop's time when it was queued. `events` receives progress, `abandoned`
    waits until the client is gone, in the task `watch`. `stoppable`: its process may be ended when nobody waits for
    the result any more.
    """

    head: Head
    body: bytes
    seconds: float
    answer: asyncio.Future[WorkerFrame]
    since: float
    events: Callable[[WorkerFrame], None] | None = None
    abandoned: Callable[[], Awaitable[None]] | None = None
    view: View | None = None
    stream: ResultStream | None = None
    stoppable: bool = False
    watch: asyncio.Task[None] | None = None

    def stop_watching(self) -> None:
        """Wait no longer for the client to go away."""
        if self.watch is not None:
            self.watch.cancel()

    def finish(self, frame: WorkerFrame) -> None:
        """Set the result, or the end of one that came in parts, if it is still wanted."""
        if not self.answer.done():
            self.answer.set_result(frame)

    def fail(self, error: Exception) -> None:
        """Set the error, if the result is still wanted."""
        if not self.answer.done():
            self.answer.set_exception(error)


class ProcessObserver(Protocol):
    """Receives the events of a process."""

    def answered(self, worker: WorkerProcess, job: WorkerJob) -> None:
        """The process has finished its job."""
        ...

    def unwanted(self, worker: WorkerProcess) -> None:
        """No client receives the result that the process sends."""
        ...

    def died(self, worker: WorkerProcess, error: WorkerDiedError) -> None:
        """The process has ended; `worker.job` is unfinished."""
        ...


class WorkerProcess(asyncio.Protocol):
    """A process that works on one job at a time.

    `job` is the unfinished one, `started` the loop's time when it began, `held` how long it has waited for its client;
    `opened` is the graph version that the last job reads. `ending`: it takes no more jobs.
    """

    def __init__(self, role: str, memory: int, observer: ProcessObserver) -> None:
        self.job: WorkerJob | None = None
        self.started = self.held = 0.0
        self.opened: str | None = None
        self._paused: float | None = None
        self.ending = False
        self._observer = observer
        self._decoder = Decoder()
        self._ready: asyncio.Future[None] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._socket, theirs = socket.socketpair()
        environment = dict(os.environ)
        package_root = str(Path(__file__).parents[3])
        paths = filter(None, (package_root, environment.get("PYTHONPATH")))
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        environment.setdefault("GLIBC_TUNABLES", _ALLOCATION)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", _STARTER, role, str(theirs.fileno()), str(memory)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                env=environment,
            )
        self._socket.setblocking(False)
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def connect(self) -> None:
        """Attach the process to the event loop and wait until it is ready for jobs.

        Raises `WorkerDiedError` if it never is. A process that is not waited for is killed.
        """
        self._ready = self._loop.create_future()
        try:
            self._transport, _ = await self._loop.create_unix_connection(lambda: self, sock=self._socket)
            await self._ready
        except BaseException:
            self._ready.cancel()
            self.kill()
            self._start_reaping()
            raise

    def submit(self, job: WorkerJob) -> None:
        """Send a job."""
        self.job, self.started, self.held = job, self._loop.time(), 0.0
        opens = job.view is not None and job.view.version != self.opened
        head = {**job.head, "seconds": job.seconds}
        if opens and job.view is not None:
            head["open"], self.opened = job.view.opening(), job.view.version
        if self._transport is not None:
            self._transport.write(encode(head, job.body))

    def pause(self) -> None:
        """Pause reading from the process and suspend its deadline."""
        if self._paused is None and self._transport is not None:
            self._paused = self._loop.time()
            self._transport.pause_reading()

    def resume(self) -> None:
        """Take again what the process sends."""
        if self._paused is not None and self._transport is not None:
            self.held += self._loop.time() - self._paused
            self._paused = None
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def times(self, now: float) -> tuple[float, float]:
        """The seconds for which its job has run, and has waited for its client."""
        held = self.held + (0.0 if self._paused is None else now - self._paused)
        return now - self.started - held, held

    def kill(self) -> None:
        """End the process at once."""
        self.resume()
        self._process.kill()

    def close(self) -> None:
        """Let an idle process exit by itself."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle data from the process."""
        for head, body in self._decoder.feed(data):
            if head.get("ready"):
                if self._ready is not None and not self._ready.done():
                    self._ready.set_result(None)
            elif head.get("event"):
                if head.get("name") == LIMIT and self.job is not None:
                    self.job.seconds = round(self._loop.time() - self.started + float(body), 1)
                elif self.job is not None and self.job.events is not None:
                    self.job.events((head, body))
            elif head.get("part"):
                self._take_part(head, body)
            elif self.job is not None:
                if head.get("problem") == "unavailable":
                    self.opened = None
                job, self.job = self.job, None
                if job.stream is not None and job.stream.source is self:
                    job.stream.end((head, body))
                else:
                    job.finish((head, body))
                self._observer.answered(self, job)

    def _take_part(self, head: Head, body: bytes) -> None:
        """Take a part of the job's result."""
        job = self.job
        if job is None or job.stream is None:
            return
        if job.stream.source is None and not job.answer.done():
            job.stream.begin(self, lambda: self._observer.unwanted(self))
            job.finish((head, body))
        elif job.stream.source is self:
            job.stream.put(body)

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the connection."""
        self._start_reaping()

    def _start_reaping(self) -> None:
        """Start waiting for the end of the process; does so only once."""
        if not self.ending:
            self.ending = True
            self._loop.run_in_executor(None, self._reap)

    def _reap(self) -> None:
        """Wait for the end of the process in a thread, then notify the observer."""
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # The reason comes before a long trace of the engine, or after one of Python.
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(0)
        first = self._stderr.read(2_000)
        self._stderr.seek(max(2_000, size - 2_000))
        words = (first + self._stderr.read()).decode("utf-8", "replace")
        self._stderr.close()
        if not self._loop.is_closed():
            died = WorkerDiedError(self._process.returncode, words)
            self._loop.call_soon_threadsafe(self._tell_end, died)

    def _tell_end(self, error: WorkerDiedError) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(error)
        self._observer.died(self, error)
