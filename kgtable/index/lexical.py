"""Which texts of the graph contain a label: a trigram index in SQLite, for labels of any length."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.index.postings import Integers
from kgtable.index.strings import Strings

SHORTEST_INDEXED = 3
"""Characters of a trigram; shorter labels are searched by walking through the texts."""


def folded(text: str) -> str:
    """A text as labels and graph texts are compared: lower case, no white space at its ends.

    >>> folded(" Net Income ")
    'net income'
    """
    return text.strip().lower()


def write_trigrams(texts: Iterable[str], path: Path) -> None:
    """Write the index of folded texts, numbered from 0, to a new SQLite file."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='trigram case_sensitive 1')"
        )
        database.executemany(
            "INSERT INTO texts (rowid, text) VALUES (?, ?)",
            ((number, _sound(text)) for number, text in enumerate(texts, start=1)),
        )
        database.execute("INSERT INTO texts (texts) VALUES ('optimize')")


class LexicalIndex:
    """Substring search over the distinct texts of a graph. May be used from several threads."""

    def __init__(self, path: Path, texts: Strings) -> None:
        if not path.exists():
            raise VocabularyIndexError(f"The index {path} is missing.", hint="Build the graph again.")
        self._path = path
        self._texts = texts
        self._local = threading.local()

    def containing(self, labels: Iterable[str]) -> Integers:
        """The ids of all texts that contain one of the folded labels, rising; an empty label is in none."""
        short: list[Integers] = []
        phrases: list[str] = []
        for label in labels:
            if _is_indexed(label):
                phrases.append(_phrase(label))
            elif label:
                short.append(self._texts.containing(label))
        found = np.zeros(0, dtype=np.int64)
        if phrases:
            rows = self._database().execute(
                "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid", (" OR ".join(phrases),)
            )
            found = np.fromiter(chain.from_iterable(rows), dtype=np.int64) - 1
        return np.unique(np.concatenate([found, *short])) if short else found

    def is_known(self, label: str) -> bool:
        """Whether any text contains the folded label."""
        if not _is_indexed(label):
            return bool(label) and self._texts.is_within(label)
        query = "SELECT rowid FROM texts WHERE texts MATCH ? LIMIT 1"
        return self._database().execute(query, (_phrase(label),)).fetchone() is not None

    def _database(self) -> sqlite3.Connection:
        database: sqlite3.Connection | None = getattr(self._local, "database", None)
        if database is None:
            uri = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
            database = self._local.database = sqlite3.connect(uri, uri=True)
        return database


def _is_indexed(label: str) -> bool:
    return len(label) >= SHORTEST_INDEXED and _sound(label) == label


def _phrase(label: str) -> str:
    return '"' + label.replace('"', '""') + '"'


def _sound(text: str) -> str:
    """The text without what SQLite cannot hold: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
