"""The client of any endpoint that speaks OpenAI's chat API, blocking and async alike."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kgtable.config import Endpoint
from kgtable.llm.cache import CompletionCache
from kgtable.llm.conversation import Outcome, Policy, Send, Speaker
from kgtable.llm.dialect import Dialect
from kgtable.llm.protocol import Completion, OnText, Request
from kgtable.llm.trace import Trace
from kgtable.llm.transport import Tap, open_async_client, open_client, post, post_async
from kgtable.llm.usage import price

if TYPE_CHECKING:
    import openai


class ChatModel:
    """A model at an OpenAI-compatible endpoint; an `LLM`.

    At most `concurrency` requests are on the way at a time. `timeout` (seconds) bounds each wait for
    the endpoint. Completions are looked up in and added to `cache`; each attempt is written to `trace`.
    `prices` are the user's own, in US dollars per million tokens; the shipped table is OpenAI's and
    used for its endpoint alone.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        timeout: float = 120.0,
        policy: Policy | None = None,
        concurrency: int = 8,
        structured: str = "schema",
        cache: CompletionCache | None = None,
        trace: Trace | None = None,
        prices: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self.model, self.endpoint = model, endpoint
        self._timeout, self._cache, self._trace = timeout, cache, trace
        pricing = partial(price, own=prices, shipped=endpoint.is_openai)
        self._speaker = Speaker(model, endpoint, Dialect(structured), policy or Policy(), pricing)
        self._concurrency = max(1, concurrency)
        self._slots = threading.BoundedSemaphore(self._concurrency)
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )
        self._client: openai.OpenAI | None = None
        self._opening = threading.Lock()

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The model's reply. Raises a leaf of `LLMError`."""
        kept = self._kept(request, on_text)
        if kept is not None:
            return kept
        course, tap = self._speaker.converse(request), Tap(on_text)
        outcome: Outcome = None
        with self._slots:
            while True:
                try:
                    step = course.send(outcome)
                except StopIteration as done:
                    return self._keep(request, done.value)
                if isinstance(step, Send):
                    started = time.perf_counter()
                    outcome = post(self._open(), step.body, tap)
                    self._record(request, step.body, outcome, started)
                else:
                    time.sleep(step.seconds)
                    outcome = None

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """As `complete`, without blocking the event loop."""
        kept = await asyncio.to_thread(self._kept, request, on_text)
        if kept is not None:
            return kept
        slots = self._loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))
        course, tap = self._speaker.converse(request), Tap(on_text)
        outcome: Outcome = None
        # a client belongs to its event loop, so none is kept; a connection costs little beside a reply
        async with slots, await asyncio.to_thread(open_async_client, self.endpoint, self._timeout) as client:
            while True:
                try:
                    step = course.send(outcome)
                except StopIteration as done:
                    return await asyncio.to_thread(self._keep, request, done.value)
                if isinstance(step, Send):
                    started = time.perf_counter()
                    outcome = await post_async(client, step.body, tap)
                    self._record(request, step.body, outcome, started)
                else:
                    await asyncio.sleep(step.seconds)
                    outcome = None

    def close(self) -> None:
        """Closes the kept connections; the model can still be used."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> openai.OpenAI:
        with self._opening:
            if self._client is None:
                self._client = open_client(self.endpoint, self._timeout)
                weakref.finalize(self, self._client.close)
            return self._client

    def _kept(self, request: Request, on_text: OnText | None) -> Completion | None:
        if self._cache is None:
            return None
        kept = self._cache.get(request.fingerprint(self.model, self.endpoint.base_url))
        if kept is not None and on_text is not None:
            on_text(kept.text)
        return kept

    def _keep(self, request: Request, completion: Completion) -> Completion:
        if self._cache is not None:
            self._cache.put(request.fingerprint(self.model, self.endpoint.base_url), completion)
        return completion

    def _record(self, request: Request, body: Mapping[str, Any], outcome: Outcome, started: float) -> None:
        if self._trace is not None and outcome is not None:
            self._trace.write(self.endpoint, request.stage, body, outcome, time.perf_counter() - started)
