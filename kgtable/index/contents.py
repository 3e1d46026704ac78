"""The contents of a generation's tables: read from the store, kept beside the index, reused by the next."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from kgtable.graph.generation import Generation
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.corpus import NONE
from kgtable.index.reading import TableContent, read_content

FILE = "contents.sqlite"

LONGEST_TEXT = 128
"""Word pieces of a table's text that are embedded; more of them cost time and gain nothing measurable."""

CHUNK = 32
"""Tables a worker process reads in one go."""

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,2}|[^\w\s]|_")


def table_text(content: TableContent) -> str:
    """What a table's vector stands for: title, headings, column names and as many first rows as fit."""
    named = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
    parts = [f"{named}. " if named else "", ", ".join(name for name, _ in content.columns if name), "."]
    row = NONE
    for at, _, text, _, _, header in content.cells[: 4 * LONGEST_TEXT]:
        if not header:
            parts.append(("; " if at != row != NONE else ", " if at == row else " ") + text)
            row = at
    text = " ".join("".join(parts).split())
    pieces = list(islice(_PIECE.finditer(text), LONGEST_TEXT))
    return text[: pieces[-1].end()] if pieces else text


def keep_contents(
    generation: Generation, ids: Sequence[str], previous: Path | None, workers: int, folder: Path
) -> Iterator[TableContent]:
    """The contents of the tables in order, each written into the index folder on the way.

    Those of unchanged tables come from the previous index.
    """
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        database.execute("CREATE TABLE contents (id TEXT PRIMARY KEY, content TEXT NOT NULL)")
        for content, text in _read_or_known(generation, ids, previous, workers):
            database.execute("INSERT INTO contents VALUES (?, ?)", (content.id, text))
            yield content


def _read_or_known(
    generation: Generation, ids: Sequence[str], previous: Path | None, workers: int
) -> Iterator[tuple[TableContent, str]]:
    """Contents with their JSON text."""
    if previous is None:
        yield from ((content, content.to_json()) for content in _read(generation, ids, workers))
        return
    changed = {*generation.changes.added, *generation.changes.changed}
    with closing(sqlite3.connect(previous / FILE)) as database:
        held = {id for (id,) in database.execute("SELECT id FROM contents")} - changed
        fresh = _read(generation, [id for id in ids if id not in held], workers)
        for id in ids:
            if id in held:
                row = database.execute("SELECT content FROM contents WHERE id = ?", (id,)).fetchone()
                yield TableContent.from_json(row[0]), row[0]
            else:
                content = next(fresh)
                yield content, content.to_json()


def are_kept(folder: Path) -> bool:
    """Whether an index folder holds contents; raises `sqlite3.Error` where they are missing or damaged."""
    with closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as database:
        return database.execute("SELECT 1 FROM contents").fetchone() is not None


def _read(generation: Generation, ids: Sequence[str], workers: int) -> Iterator[TableContent]:
    read = partial(_read_tables, generation.store_path, generation.base)
    chunks = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
    if workers < 2 or len(chunks) < 2:
        for chunk in chunks:
            yield from read(chunk)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for contents in pool.map(read, chunks):
            yield from contents


def _read_tables(store_path: Path, base: str, ids: Sequence[str]) -> list[TableContent]:
    names = Namespaces(base)
    store = EmbeddedStore(store_path, names.prefixes)
    return [read_content(store, id, names) for id in ids]
