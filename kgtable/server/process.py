"""One worker process as the server's event loop sees it: started, given a job, killed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from kgtable.server.frames import Decoder, Head, encode

Frame: TypeAlias = tuple[Head, bytes]

_STARTER = "kgtable.server.worker"


class WorkerDiedError(Exception):
    """The process ended before it answered. `code` is its exit status, `words` what it left on stderr."""

    def __init__(self, code: int | None, words: str) -> None:
        super().__init__(f"exit status {code}: {words}")
        self.code, self.words = code, words

    @property
    def out_of_memory(self) -> bool:
        """Whether it ended because memory could not be had."""
        return any(word in self.words for word in ("memory allocation", "bad_alloc", "MemoryError"))


class WorkerProcess(asyncio.Protocol):
    """A process that answers one job at a time. `opened` is the version of the graph it looks at."""

    def __init__(self, role: str, memory: int, on_death: Callable[[WorkerProcess], None]) -> None:
        self.opened: str | None = None
        self.dead = False
        self._on_death = on_death
        self._decoder = Decoder()
        self._pending: asyncio.Future[Frame] | None = None
        self._events: Callable[[Frame], None] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._socket, theirs = socket.socketpair()
        environment = dict(os.environ)
        package_root = str(Path(__file__).parents[2])
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (package_root, environment.get("PYTHONPATH")))
        )
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
        self._transport: asyncio.WriteTransport | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def connect(self) -> None:
        """Attaches the process to the running event loop and waits until it is ready for jobs.

        Raises `WorkerDiedError` if it never is.
        """
        loop = asyncio.get_running_loop()
        self._pending = ready = loop.create_future()
        transport, _ = await loop.create_unix_connection(lambda: self, sock=self._socket)
        self._transport = transport
        await ready

    def submit(
        self, job: Head, body: bytes = b"", events: Callable[[Frame], None] | None = None
    ) -> asyncio.Future[Frame]:
        """Sends a job; the future gives its answer or raises `WorkerDiedError`."""
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        if self.dead or self._transport is None:
            future.set_exception(WorkerDiedError(self._process.poll(), self._last_words()))
            return future
        self._pending, self._events = future, events
        self._transport.write(encode(job, body))
        return future

    def lower_priority(self) -> None:
        """Lets the other processes go first from now on."""
        try:
            os.setpriority(os.PRIO_PROCESS, self.pid, 10)
        except OSError:
            return

    def kill(self) -> None:
        """Ends the process at once, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """Lets an idle process end by itself."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Takes what the process sends."""
        for head, body in self._decoder.feed(data):
            if head.get("event"):
                if self._events is not None:
                    self._events((head, body))
                continue
            pending, self._pending, self._events = self._pending, None, None
            if pending is not None and not pending.done():
                pending.set_result((head, body))

    def connection_lost(self, error: Exception | None) -> None:
        """The process is gone, or was let go."""
        self.dead = True
        self._on_death(self)
        asyncio.get_running_loop().run_in_executor(None, self._reap, asyncio.get_running_loop())

    def _reap(self, loop: asyncio.AbstractEventLoop) -> None:
        """Waits for the end of the process and tells whoever waits for its answer."""
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        words = self._last_words()
        self._stderr.close()
        if self._pending is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._fail, WorkerDiedError(self._process.returncode, words))

    def _fail(self, error: WorkerDiedError) -> None:
        if self._pending is not None and not self._pending.done():
            self._pending.set_exception(error)
        self._pending = None

    def _last_words(self) -> str:
        if self._stderr.closed:
            return ""
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 2_000))
        return self._stderr.read().decode("utf-8", "replace")
