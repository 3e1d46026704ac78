"""Building the index of a graph's generation: the step that follows the conversion of its tables."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.graph.catalogue import Catalogue
from kgtable.graph.generation import Generation
from kgtable.graph.storage import storage_errors
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.assembly import assemble
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import DEFAULT, Embedder, embedder_or_lexical
from kgtable.index.lexical import write_trigrams
from kgtable.index.postings import Integers
from kgtable.index.reading import TableContent, read_content

VERSION = 1
"""Rises when the files of an index change."""

LONGEST_TEXT = 128
"""Word pieces of a table's text that are embedded; more of them cost time and gain nothing measurable."""

CHUNK = 32
"""Tables a worker process reads in one go."""

_NUMERAL = re.compile(r"[\W\d_]*")
_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,2}|[^\w\s]|_")


def index_step(
    embedding: str = DEFAULT, workers: int = 1, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> Callable[[Generation], None]:
    """The step for `kgtable.graph.build.build_graph(after=…)` that builds the index of a generation."""
    return partial(build_index, embedding=embedding, workers=workers, load=load)


def build_index(
    generation: Generation,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
) -> None:
    """Write the index of a generation into its folder.

    Tables that the previous generation held in the same state are not read again, and no text is
    embedded that was embedded there. Raises `StorageError`, `EmbeddingError`.
    """
    folder = generation.index_path
    with storage_errors(folder):
        folder.mkdir()
        previous = _previous(generation)
        ids = list(Catalogue.load(generation.catalogue_path).tables)
        contents = _contents(generation, ids, previous, workers)
        corpus = assemble(_keep(contents, folder / "contents.sqlite"), folder)
        write_trigrams(corpus.texts, folder / "trigrams.sqlite")
        embedder = load(embedding)
        if embedder is not None:
            write_vectors(corpus, folder, embedder, previous)
        about = {
            "version": VERSION,
            "asked": embedding,
            "embedding": "none" if embedder is None else embedder.name,
            "tables": len(ids),
        }
        (folder / "index.json").write_text(json.dumps(about), encoding="utf-8")


def read_about(folder: Path) -> dict[str, Any]:
    """What ``index.json`` says. Raises `VocabularyIndexError` where there is no index of this version."""
    try:
        about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VocabularyIndexError(f"There is no index in {folder}.", hint="Build the graph again.") from error
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise VocabularyIndexError(
            f"The index in {folder} was made by another version of kgtable.", hint="Build the graph again."
        )
    return about


def write_vectors(corpus: Corpus, folder: Path, embedder: Embedder, previous: Path | None) -> None:
    """Embed tables, column names, subjects and groups into the index folder."""
    from kgtable.index import vectors

    usable = previous is not None and read_about(previous)["embedding"] == embedder.name
    cache = vectors.VectorCache.load(embedder, previous if usable else None)
    vectors.write_tables(cache, list(_table_texts(folder / "contents.sqlite")), folder)
    places = corpus.places
    kinds = {
        "predicates": np.unique(places.column_name),
        "groups": np.unique(places.row_group_label),
        "subjects": np.unique(places.row_label),
    }
    for kind, found in kinds.items():
        texts = [(number, corpus.texts[number]) for number in found[found != NONE].tolist()]
        worded = [(number, text) for number, text in texts if kind == "predicates" or not _NUMERAL.fullmatch(text)]
        numbers: Integers = np.array([number for number, _ in worded], dtype=np.int64)
        vectors.write_vocabulary(cache, kind, [text for _, text in worded], numbers, folder)


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


def _previous(generation: Generation) -> Path | None:
    """The index folder of the generation before, where it can be used."""
    if generation.previous is None:
        return None
    folder = generation.previous.index_path
    try:
        read_about(folder)
    except VocabularyIndexError:
        return None
    return folder


def _contents(
    generation: Generation, ids: Sequence[str], previous: Path | None, workers: int
) -> Iterator[TableContent]:
    """The contents of the tables in order; those of unchanged tables from the previous index."""
    if previous is None:
        yield from _read(generation, ids, workers)
        return
    changed = {*generation.changes.added, *generation.changes.changed}
    with closing(sqlite3.connect(previous / "contents.sqlite")) as database:
        held = {id for (id,) in database.execute("SELECT id FROM contents")} - changed
        fresh = _read(generation, [id for id in ids if id not in held], workers)
        for id in ids:
            if id not in held:
                yield next(fresh)
                continue
            row = database.execute("SELECT content FROM contents WHERE id = ?", (id,)).fetchone()
            yield TableContent.from_json(row[0])


def _keep(contents: Iterator[TableContent], path: Path) -> Iterator[TableContent]:
    """The contents, each written to the file on the way."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE contents (id TEXT PRIMARY KEY, content TEXT NOT NULL)")
        for content in contents:
            database.execute("INSERT INTO contents VALUES (?, ?)", (content.id, content.to_json()))
            yield content


def _table_texts(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        for (content,) in database.execute("SELECT content FROM contents ORDER BY rowid"):
            yield table_text(TableContent.from_json(content))


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
