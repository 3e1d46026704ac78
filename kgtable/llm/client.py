"""Client of an OpenAI-compatible endpoint, with its cache on disk and its trace."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtable.config import NO_MODEL, OPENAI_URL, ModelEndpoint, Settings, same_url
from kgtable.errors import ConfigError, StorageError
from kgtable.llm.conversation import ModelReply, ReplyReader, RetryPolicy, Speaker
from kgtable.llm.deadline import DeadlineError, keeps_deadlines, within
from kgtable.llm.protocol import (
    FORMS,
    LLM,
    ChatDialect,
    Completion,
    OnText,
    Request,
    RequestFault,
    Usage,
    fault_from_response,
    price,
)
from kgtable.llm.repair import mismatch
from kgtable.resources import cache_folder
from kgtable.storage import make_private, refuse_within_graph

if TYPE_CHECKING:
    import openai


logger = logging.getLogger(__name__)

_CREATE = "CREATE TABLE IF NOT EXISTS completions (fingerprint TEXT PRIMARY KEY, reply TEXT NOT NULL)"
_GET = "SELECT reply FROM completions WHERE fingerprint = ?"
_PUT = "INSERT OR REPLACE INTO completions VALUES (?, ?)"
_BUSY_SECONDS = 10.0


class CompletionCache:
    """Completions kept in an SQLite file, which threads and processes may share.

    The usage of a cached completion is zero. A cache that cannot be read or written causes a warning in the log
    and no error.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def get(self, fingerprint: str) -> Completion | None:
        """The completion kept under the fingerprint, or None."""
        try:
            with self._connection() as connection:
                row = connection.execute(_GET, (fingerprint,)).fetchone()
            if row is None:
                return None
            kept = json.loads(row[0])
            text, data, model = kept["text"], kept["data"], kept["model"]
            if not (isinstance(text, str) and isinstance(model, str) and isinstance(data, dict | None)):
                raise ValueError("an entry is not of the form of a reply")
            return Completion(text, data, Usage(), model, from_cache=True)
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            logger.warning("%s: the cache of model replies cannot be read: %s", self.path, error)
            return None

    def put(self, fingerprint: str, completion: Completion) -> None:
        """Keep a completion."""
        kept = {"text": completion.text, "data": completion.data, "model": completion.model}
        try:
            with self._connection() as connection:
                connection.execute(_PUT, (fingerprint, json.dumps(kept)))
        except (sqlite3.Error, OSError) as error:
            logger.warning("%s: the cache of model replies cannot be written: %s", self.path, error)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        make_private(self.path)
        with contextlib.closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with connection:
                connection.execute(_CREATE)
                yield connection


class Trace:
    """A JSONL file of all attempts, written from any number of threads. It never holds a key."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        refuse_within_graph(self.path)
        self._lock = threading.Lock()

    def write(
        self,
        endpoint: ModelEndpoint,
        stage: str,
        body: Mapping[str, Any],
        outcome: ModelReply | RequestFault,
        seconds: float,
    ) -> None:
        """Append one attempt and its outcome. Raises `StorageError` if the file cannot be written."""
        record = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "stage": stage,
            "base_url": endpoint.base_url,
            "request": body,
            "reply" if isinstance(outcome, ModelReply) else "fault": asdict(outcome),
            "ms": round(seconds * 1000, 1),
        }
        line = json.dumps(record, ensure_ascii=False)
        line = endpoint.scrub(line)
        try:
            if self.path.parent.is_dir():
                make_private(self.path)
            with self._lock, self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line + "\n")
        except OSError as error:
            raise StorageError(
                f"The trace file {self.path} cannot be written: {error.strerror or error}.",
                hint="Name another with KGTABLE_TRACE.",
            ) from error


_NO_KEY = "none"
_ERROR_BYTES = 64 << 10
"""Bytes that are read of the body of an error."""
_ERROR_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


class Tap:
    """Pass streamed text on, from one attempt only: shown text cannot be withdrawn."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._ran = False

    @property
    def open(self) -> bool:
        """Whether the next attempt is streamed."""
        return self._on_text is not None and not self._ran

    def close(self) -> None:
        """Stream no further attempt."""
        self._ran = True

    def __call__(self, piece: str) -> None:
        self._ran = True
        if self._on_text is not None:
            self._on_text(piece)


def open_client(endpoint: ModelEndpoint, timeout: float) -> openai.OpenAI:
    """A client that sends the endpoint only its own key, and never retries by itself."""
    import openai

    def bounded(response: Any) -> None:
        if response.status_code >= 300:
            parts = _ErrorBody()
            for piece in response.iter_bytes():
                if parts.filled(piece):
                    break
            response.close()
            parts.become(response)

    http = openai.DefaultHttpxClient(follow_redirects=False, timeout=timeout, event_hooks={"response": [bounded]})
    client = openai.OpenAI(**_arguments(endpoint, timeout), http_client=keeps_deadlines(http))
    _forget_foreign(client, endpoint)
    return client


def _forget_foreign(client: openai.OpenAI, endpoint: ModelEndpoint) -> None:
    """Take from a client what the environment holds for another endpoint: account names, extra headers.

    ``OPENAI_CUSTOM_HEADERS`` may hold secrets; like ``OPENAI_API_KEY`` they are for ``OPENAI_BASE_URL``.
    """
    if not endpoint.is_openai:
        client.organization = client.project = None
    if not same_url(endpoint.base_url, os.environ.get("OPENAI_BASE_URL") or OPENAI_URL):
        client._custom_headers = {}


MOST_RECEIVED = 16 << 20
"""Bytes of a reply, whole or streamed, beyond which it is given up."""


class _ErrorBody:
    """The start of the body of an error, in place of all of it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._left = _ERROR_BYTES

    def filled(self, piece: bytes) -> bool:
        """Take a piece; returns whether that is enough."""
        self._parts.append(piece[: self._left])
        self._left -= len(piece)
        return self._left <= 0

    def become(self, response: Any) -> None:
        """Make what was read so far the content of the response and stop reading."""
        response._content = b"".join(self._parts)


class _TooLongError(Exception):
    """A reply has too many bytes."""


def post(client: openai.OpenAI, body: Mapping[str, Any], tap: Tap, timeout: float) -> ModelReply | RequestFault:
    """Send one attempt, streamed where `tap` is open. `timeout` is for the whole reply, in seconds."""
    try:
        received, reader = 0, ReplyReader(tap if tap.open else None)
        sent = _streamed(body) if tap.open else body
        with within(timeout), client.chat.completions.with_streaming_response.create(**sent) as streamed:
            for piece in streamed.iter_bytes():
                received += len(piece)
                if received > MOST_RECEIVED:
                    raise _TooLongError(f"the reply is longer than {MOST_RECEIVED:,} bytes")
                reader.feed(piece)
        return reader.reply()
    except Exception as error:
        fault = _fault(error)
    return post(client, body, tap, timeout) if _dislikes_streams(fault, tap) else fault


def _arguments(endpoint: ModelEndpoint, timeout: float) -> dict[str, Any]:
    return {
        "api_key": endpoint.key.reveal() if endpoint.key else _NO_KEY,
        "base_url": endpoint.base_url,
        "timeout": timeout,
        "max_retries": 0,
    }


def _streamed(body: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


def _dislikes_streams(fault: RequestFault, tap: Tap) -> bool:
    """Whether a streamed attempt was refused for being one; the tap is closed then."""
    refused = tap.open and fault.status in (400, 422) and "stream" in fault.message.lower()
    if refused:
        tap.close()
    return refused


def _fault(error: Exception) -> RequestFault:
    """Turn an exception of the client into a fault; any other is raised again."""
    import openai

    if _is_late(error):
        return RequestFault("no whole reply in time", timed_out=True)
    if isinstance(error, _TooLongError):
        return RequestFault(str(error), 502)
    if isinstance(error, openai.APIStatusError) and 300 <= error.status_code < 400:
        location = str(error.response.headers.get("location"))[:200]
        return RequestFault(f"it redirects to {location!r}, which is not followed", error.status_code)
    if isinstance(error, openai.APIStatusError):
        return fault_from_response(error.status_code, error.response.headers, _body(error))
    if isinstance(error, openai.APITimeoutError):
        return RequestFault("the time limit passed", timed_out=True)
    if isinstance(error, openai.APIConnectionError):
        return RequestFault(_cause(error))
    if isinstance(error, openai.OpenAIError):
        return RequestFault(str(error) or type(error).__name__, 502)
    # the transport below the client (httpx, under either of its names) breaks off while a body is read
    if type(error).__module__.partition(".")[0].startswith(("httpx", "httpcore")):
        return RequestFault(_cause(error), timed_out="Timeout" in type(error).__name__)
    raise error


def _is_late(error: BaseException | None) -> bool:
    """Whether a deadline caused an error; the client wraps errors of its connections and hooks."""
    while error is not None and not isinstance(error, DeadlineError):
        error = error.__cause__
    return error is not None


def _body(error: openai.APIStatusError) -> str:
    with contextlib.suppress(Exception):
        return error.response.text
    return json.dumps(error.body) if error.body is not None else error.message


def _cause(error: BaseException) -> str:
    """The innermost reason a connection failed for, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _ERROR_NUMBER.sub("", str(error) or type(error).__name__).rstrip(".")


class ChatModel:
    """A model at an OpenAI-compatible endpoint; an `LLM`.

    At most `concurrency` requests are on the way at a time. `timeout` (seconds) bounds each attempt,
    the whole reply included. Completions are looked up in and added to `cache`; each attempt is written to `trace`.
    `prices` are the user's own, in US dollars per million tokens; the shipped table is OpenAI's and
    used for its endpoint alone.
    """

    def __init__(
        self,
        model: str,
        endpoint: ModelEndpoint,
        *,
        timeout: float = 120.0,
        policy: RetryPolicy | None = None,
        concurrency: int = 8,
        structured: str = "schema",
        cache: CompletionCache | None = None,
        trace: Trace | None = None,
        prices: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self.model, self.endpoint = model, endpoint
        self._timeout, self._cache, self._trace = timeout, cache, trace
        pricing = partial(price, own=prices, shipped=endpoint.is_openai)
        self._speaker = Speaker(model, endpoint, ChatDialect(structured), policy or RetryPolicy(), pricing)
        self._concurrency = max(1, concurrency)
        self._slots = threading.BoundedSemaphore(self._concurrency)
        self._client: openai.OpenAI | None = None
        self._opening = threading.Lock()

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """Ask the model and return its reply. Raises a leaf of `LLMError`."""
        kept = self._kept(request, on_text)
        if kept is not None:
            return kept
        tap = Tap(on_text)

        def send(body: dict[str, Any]) -> ModelReply | RequestFault:
            started = time.perf_counter()
            outcome = post(self._open(), body, tap, self._timeout)
            if self._trace is not None:
                self._trace.write(self.endpoint, request.stage, body, outcome, time.perf_counter() - started)
            return outcome

        with self._slots:
            completion = self._speaker.converse(request, send)
        if self._cache is not None:
            self._cache.put(request.fingerprint(self.model, self.endpoint.base_url), completion)
        return completion

    def close(self) -> None:
        """Close the connections; the model can still be used."""
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
        if kept is not None and request.schema is not None and mismatch(kept.data, request.schema):
            return None
        if kept is not None and on_text is not None:
            on_text(kept.text)
        return kept


def connect(settings: Settings) -> LLM | None:
    """Connect to the model of the settings; None if none is configured. Sends nothing yet.

    Raises `ConfigError` for a model that is named without a key or a base URL.
    """
    if not settings.uses_llm:
        if settings.model_given and settings.model != NO_MODEL:
            raise ConfigError(
                f"The model {settings.model!r} is named, but no endpoint and no key for it.",
                hint="Set OPENAI_API_KEY, or name a base URL (--base-url, KGTABLE_BASE_URL); "
                "the model none answers by rules.",
            )
        return None
    if settings.structured not in FORMS:
        raise ConfigError(f"structured = {settings.structured!r} is none of: {', '.join(FORMS)}.")
    return ChatModel(
        settings.model,
        settings.endpoint,
        timeout=settings.timeout,
        policy=RetryPolicy(retries=settings.retries),
        concurrency=settings.concurrency,
        structured=settings.structured,
        cache=_cache(settings.llm_cache),
        trace=Trace(settings.trace) if settings.trace else None,
        prices=settings.prices,
    )


def _cache(setting: str) -> CompletionCache | None:
    """The cache that is set: none, the one in the user's cache folder (``on``), or a file."""
    if setting.lower() in ("", "off"):
        return None
    return CompletionCache(cache_folder() / "replies.sqlite" if setting.lower() == "on" else setting)
