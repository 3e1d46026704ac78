"""What the parts of a running server share."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from kgtable.server.answer_cache import Answer, AnswerCache
from kgtable.server.frames import Head
from kgtable.server.metrics import Metrics
from kgtable.server.pool import Pool, View, single_file
from kgtable.server.problems import Problem
from kgtable.server.process import Frame, WorkerDiedError
from kgtable.server.settings import ServerSettings
from kgtable.server.sources import Source

_LOG = logging.getLogger(__name__)


@dataclass
class ServerState:
    """The settings, where the graph lies, the worker pools and the counters.

    `writes` counts what this server wrote: readers with an older view open the store anew. The
    nonce keeps entity tags of different runs of a writable server apart.
    """

    settings: ServerSettings
    source: Source
    readers: Pool = field(init=False)
    writer: Pool | None = field(init=False)
    explorers: Pool = field(init=False)
    cache: AnswerCache = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    writes: int = 0
    _warming: asyncio.Task[None] | None = None
    _nonce: str = field(default_factory=lambda: secrets.token_hex(4))

    def __post_init__(self) -> None:
        settings = self.settings
        self.readers = Pool("read", settings.lanes, settings.limits.memory)
        self.explorers = Pool("explore", single_file(settings.lanes, 2), settings.limits.api_memory)
        self.writer = Pool("write", single_file(settings.lanes), 0) if settings.writable else None
        self.cache = AnswerCache(settings.answer_cache)

    def view(self) -> View:
        """The store as it is now, with this server's own writes in its version."""
        view = self.source.view()
        if self.writer is None:
            return view
        return replace(view, version=f"{view.version}-{self._nonce}-{self.writes}")

    async def read(
        self, job: Head, view: View, abandoned: Callable[[], Awaitable[None]] | None = None
    ) -> tuple[Answer, bool]:
        """A reader's answer, and whether the same job would get it again. Raises `Problem`."""
        frame = await self.readers.run(job, self.settings.limits.query_seconds, view, abandoned=abandoned)
        head, body = _sound(frame)
        encoding = head.get("encoding")
        answer = Answer(head["type"].encode("latin-1"), encoding.encode() if encoding else None, body)
        return answer, not head.get("volatile")

    async def explore(self, job: Head, events: Callable[[Frame], None] | None = None) -> bytes:
        """The JSON that an operation on the open graph gives. Raises `Problem`."""
        view = self.view()
        if view.directory is None:
            raise Problem("unavailable", "This server has a bare store: the API needs a graph directory.")
        _, body = _sound(await self.explorers.run(job, self.settings.limits.api_seconds, view, events=events))
        return body

    async def write(self, job: Head, body: bytes = b"") -> int:
        """Has one write applied; its HTTP status. Raises `Problem`."""
        if self.writer is None:
            raise Problem("forbidden", "This server was not started with --writable.")
        view = self.source.view()
        opening = {"path": view.path, "directory": view.directory}
        job = {**job, "prefixes": view.prefixes, "open": opening}
        try:
            head, _ = _sound(await self.writer.run(job, self.settings.limits.write_seconds, body=body))
        finally:
            # Even a write that was refused in the end may have been stored by the time it was.
            self.writes += 1
        return int(head["status"])

    async def start(self) -> None:
        """Starts the worker processes."""
        await self.readers.start()
        if self.source.view().directory is not None:
            self._warming = asyncio.get_running_loop().create_task(self._warm())
        if self.writer is not None:
            await self.writer.start()

    async def _warm(self) -> None:
        """Starts the explorers beside the first requests: they take a while."""
        try:
            await self.explorers.start()
        except (OSError, WorkerDiedError) as error:
            _LOG.warning("The processes behind the pages do not start yet: %s", error)

    async def close(self) -> None:
        """Finishes what is under way and ends the worker processes."""
        await self.readers.close()
        if self._warming is not None:
            self._warming.cancel()
        await self.explorers.close()
        if self.writer is not None:
            await self.writer.close()


def _sound(frame: Frame) -> Frame:
    """The frame, unless it tells of a problem."""
    head, body = frame
    if "problem" in head:
        raise Problem(
            head["problem"], body.decode("utf-8", "replace"), head["extra"], head.get("headers", {})
        )
    return frame
