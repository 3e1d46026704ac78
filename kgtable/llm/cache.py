"""Completions kept on disk: one SQLite file of JSON, so that a question asked twice is paid for once."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from kgtable.llm.protocol import Completion
from kgtable.llm.usage import Usage

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
            return Completion(kept["text"], kept["data"], Usage(), kept["model"], from_cache=True)
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s: the cache of model replies cannot be read: %s", self.path, error)
            return None

    def put(self, fingerprint: str, completion: Completion) -> None:
        """Keeps a completion."""
        kept = {"text": completion.text, "data": completion.data, "model": completion.model}
        try:
            with self._connection() as connection:
                connection.execute(_PUT, (fingerprint, json.dumps(kept)))
        except (sqlite3.Error, OSError) as error:
            logger.warning("%s: the cache of model replies cannot be written: %s", self.path, error)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with connection:
                connection.execute(_CREATE)
                yield connection
