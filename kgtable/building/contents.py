"""Contents of a generation's tables, for its index: written by conversion, kept for unchanged tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore, store_state
from kgtable.graph.table_content import PART_ROWS, ContentRow, TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.storage import PARTS, differing, storage_errors


class ContentWriter:
    """Writes the content of one table, or of a share of its rows, to a part file as its rows come."""

    def __init__(self, content: TableContent, out: IO[str], *, with_head: bool) -> None:
        self._content, self._out, self._with_head = content, out, with_head
        self._rows: list[ContentRow] = []

    def add(self, row: ContentRow | None) -> None:
        """Append a row; nothing for a blank one."""
        if row is not None:
            self._rows.append(row)
            if len(self._rows) >= PART_ROWS:
                self.flush()

    def flush(self) -> None:
        """Write what has been added; to be called once more after the last row."""
        content = replace(self._content, rows=tuple(self._rows))
        for text in content.to_parts(with_head=self._with_head):
            with storage_errors("the contents of the tables"):
                self._out.write(f"{json.dumps(content.id)}\t{text}\n")
        self._rows.clear()
        self._with_head = False


def save_contents(generation: Generation, fresh: Iterable[Path], kept: Collection[str]) -> None:
    """Write the contents of a new generation, once its store is complete.

    `fresh` are the part files of converted tables. Those of the tables `kept` come from the previous
    generation, or from the store where that was changed after it was built. Raises `OSError`.
    """
    with _open(generation.contents_path) as database:
        database.execute("CREATE TABLE store (state TEXT NOT NULL)")
        database.execute("INSERT INTO store VALUES (?)", (store_state(generation.store_path),))
        database.execute("CREATE TABLE contents (id TEXT, part INTEGER, content TEXT NOT NULL, PRIMARY KEY (id, part))")
        for path in fresh:
            with path.open(encoding="ascii") as lines:
                for line in lines:
                    id, _, text = line.partition("\t")
                    _insert(database, json.loads(id), [text])
        if not kept:
            return
        previous = generation.previous
        if previous is not None and contents_state(previous) == store_state(previous.store_path):
            _copy(database, previous.contents_path, kept)
        else:
            for content in _from_store(generation, kept):
                _insert(database, content.id, content.to_parts())


def read_contents(generation: Generation, ids: Sequence[str]) -> Iterator[TableContent]:
    """The contents of the tables in order; of those not kept, from the store. Raises `OSError`."""
    if contents_state(generation) is None:
        yield from _from_store(generation, ids)
        return
    with _open(generation.contents_path) as database:
        for id in ids:
            parts = database.execute("SELECT content FROM contents WHERE id = ? ORDER BY part", (id,))
            yield TableContent.from_parts(id, (text for (text,) in parts))


def contents_state(generation: Generation) -> str | None:
    """The state that the store had when the contents were written; None where there are none, or they are damaged."""
    if differing(generation.path, [generation.contents_path.name], PARTS):
        return None
    try:
        uri = f"{generation.contents_path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            found = database.execute("SELECT state FROM store").fetchone()
    except sqlite3.Error:
        return None
    return None if found is None else str(found[0])


def mark_contents(generation: Generation) -> None:
    """Mark the contents as up to date with the store; statements written since the build belong to no table.

    Raises `OSError`.
    """
    with _open(generation.contents_path) as database:
        database.execute("UPDATE store SET state = ?", (store_state(generation.store_path),))


def _insert(database: sqlite3.Connection, id: str, texts: Iterable[str]) -> None:
    query = "INSERT INTO contents SELECT :id, (SELECT COUNT(*) FROM contents WHERE id = :id), :text"
    for text in texts:
        database.execute(query, {"id": id, "text": text})


def _copy(database: sqlite3.Connection, path: Path, ids: Collection[str]) -> None:
    database.commit()
    database.execute("ATTACH ? AS previous", (str(path),))
    query = "INSERT INTO contents SELECT id, part, content FROM previous.contents WHERE id = ?"
    database.executemany(query, ((id,) for id in ids))
    database.commit()
    database.execute("DETACH previous")


def _from_store(generation: Generation, ids: Iterable[str]) -> Iterator[TableContent]:
    names = Namespaces(generation.base)
    reader = TableReader(EmbeddedStore(generation.store_path, names.prefixes), names)
    return map(reader.content, ids)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database; SQLite's errors, such as a full disk, are raised as errors of the storage."""
    try:
        with closing(sqlite3.connect(path)) as database, database:
            yield database
    except sqlite3.Error as error:
        raise OSError(str(error)) from error
