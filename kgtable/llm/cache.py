"""Completions kept on disk, and a trace of every prompt and reply."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgtable.config import ModelEndpoint
from kgtable.errors import StorageError
from kgtable.llm.conversation import ModelReply
from kgtable.llm.faults import RequestFault
from kgtable.llm.protocol import Completion, Usage
from kgtable.storage import make_private

logger = logging.getLogger(__name__)

_CREATE = "CREATE TABLE IF NOT EXISTS completions (fingerprint TEXT PRIMARY KEY, reply TEXT NOT NULL)"
_GET = "SELECT reply FROM completions WHERE fingerprint = ?"
_PUT = "INSERT OR REPLACE INTO completions VALUES (?, ?)"
_BUSY_SECONDS = 10.0


class CompletionCache:
    """A cache that may be shared by threads and processes.

    What it returns has used nothing: its usage is zero. A cache that cannot be read or written costs a
    warning, never an answer.
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
        self._lock = threading.Lock()

    def write(
        self,
        endpoint: ModelEndpoint,
        stage: str,
        body: Mapping[str, Any],
        outcome: ModelReply | RequestFault,
        seconds: float,
    ) -> None:
        """Append one attempt and its outcome. Raises `StorageError` where the file cannot be written."""
        record = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "stage": stage,
            "base_url": endpoint.base_url,
            "request": body,
            "reply" if isinstance(outcome, ModelReply) else "fault": asdict(outcome),
            "ms": round(seconds * 1000, 1),
        }
        line = json.dumps(record, ensure_ascii=False)
        if endpoint.key is not None:
            line = endpoint.key.scrub(line)
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
