"""Whole-table retrieval: tables as texts, ranked by BM25 or by vectors (thesis, 4.3).

Thesis, section 4.3. A long table is cut into pieces; it scores as its best piece.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import bm25s
import faiss
import numpy as np
import numpy.typing as npt

from kgtable.index.embedding import Embedder, Matrix
from kgtable.retrieval.result import Retrieval, Retriever, ScopedRetriever, ScoredTable, ScoredTriple
from kgtable.tables.linearize import ROWS_PER_CHUNK, TableFormat, chunks, format_table
from kgtable.tables.model import Table

Scores = npt.NDArray[np.floating]
TriplesOf = Callable[[str], Sequence[ScoredTriple]]
"""The triples of a table by its id, in reading order."""

TABLES_KEPT = 100


@dataclass(frozen=True)
class TableTexts:
    """The pieces of all tables as texts in one format: `texts[i]` is a piece of table `tables[i]`.

    `substitutes` says, by table id, why a table is written otherwise than it was to be.
    """

    format: TableFormat
    tables: tuple[str, ...]
    texts: tuple[str, ...]
    substitutes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def write(
        cls, tables: Iterable[Table], format_name: TableFormat | str, rows: int = ROWS_PER_CHUNK
    ) -> TableTexts:
        """Write every table in the format, long ones in pieces of `rows` body rows."""
        pieces = [
            (table.id, format_table(piece, format_name)) for table in tables for piece in chunks(table, rows)
        ]
        return cls(TableFormat(format_name), tuple(id for id, _ in pieces), tuple(text for _, text in pieces))

    def digest(self) -> str:
        """A hash of the format, the table ids and all texts: the key of anything made from them."""
        content = hashlib.sha256(self.format.encode())
        for table, text in zip(self.tables, self.texts, strict=True):
            content.update(f"\0{table}\0{text}".encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def rank(self, scores: Scores) -> tuple[ScoredTable, ...]:
        """The tables by their best piece, ties by id: at most `TABLES_KEPT`, each above 0."""
        best: dict[str, float] = {}
        for table, score in zip(self.tables, scores.tolist(), strict=True):
            if score > best.get(table, 0.0):
                best[table] = score
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return tuple(ScoredTable(table, score) for table, score in ranked[:TABLES_KEPT])


def as_retrieval(
    question: str,
    ranked: Sequence[ScoredTable],
    k: int,
    triples_of: TriplesOf,
    *,
    method: str,
    texts: TableTexts,
    started: float,
) -> Retrieval:
    """The ranked tables spelt out: all triples of the best table, then of the next, up to `k`.

    The trace names the format the tables were indexed in, and `TableTexts.substitutes` if there are any.
    `started` is the `time.perf_counter` value at which the question came.
    """
    scored = time.perf_counter()
    triples: list[ScoredTriple] = []
    for table in ranked:
        if len(triples) >= k:
            break
        room = islice(triples_of(table.table), k - len(triples))
        triples += (triple._replace(score=table.score) for triple in room)
    ended = time.perf_counter()
    trace: dict[str, Any] = {"format": texts.format.value, "pieces": len(texts.texts)}
    if texts.substitutes:
        trace["substitutes"] = dict(texts.substitutes)
    return Retrieval(
        question=question,
        triples=tuple(triples),
        tables=tuple(ranked),
        timings_ms={"rank": (scored - started) * 1e3, "triples": (ended - scored) * 1e3},
        method=method,
        trace=trace,
    )


WORD = re.compile(r"\w+")
OKAPI = "robertson"
"""bm25s's name for the original formula, with k1 = 1.5 and b = 0.75."""


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, numbers and single letters among them.

    >>> tokens("Net income, 2016: $615")
    ['net', 'income', '2016', '615']
    """
    return WORD.findall(text.lower())


class BM25Retriever:
    """Ranks tables by the words they share with the question."""

    name = "bm25"

    def __init__(self, texts: TableTexts, triples_of: TriplesOf) -> None:
        self._texts = texts
        self._triples_of = triples_of
        self._index = bm25s.BM25(method=OKAPI)
        self._words: set[str] = set()
        documents = [tokens(text) for text in texts.texts]
        for document in documents:
            self._words.update(document)
        if self._words:
            self._index.index(documents, show_progress=False)

    def scores(self, question: str) -> Scores:
        """The BM25 score of each piece, shape (pieces,)."""
        known = [word for word in tokens(question) if word in self._words]
        if not known:
            return np.zeros(len(self._texts.texts), dtype=np.float32)
        return np.asarray(self._index.get_scores(known), dtype=np.float32)

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples of the best tables, table by table."""
        started = time.perf_counter()
        ranked = self._texts.rank(self.scores(question))
        return as_retrieval(
            question, ranked, k, self._triples_of, method=self.name, texts=self._texts, started=started
        )


class DenseRetriever:
    """Ranks tables by the cosine of the question's vector with those of their pieces."""

    name = "dense"

    def __init__(
        self, texts: TableTexts, embedder: Embedder, triples_of: TriplesOf, cache: Path | None = None
    ) -> None:
        self._texts = texts
        self._embedder = embedder
        self._triples_of = triples_of
        self._index = faiss.IndexFlatIP(embedder.dimension)
        self._index.add(_vectors(texts, embedder, cache))

    def scores(self, question: str) -> Scores:
        """The cosine of the question with each piece, shape (pieces,)."""
        count = len(self._texts.texts)
        scores = np.zeros(count, dtype=np.float32)
        if count:
            found, places = self._index.search(self._embedder.embed([question]), count)
            scores[places[0]] = found[0]
        return scores

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples of the nearest tables, table by table."""
        started = time.perf_counter()
        ranked = self._texts.rank(self.scores(question))
        return as_retrieval(
            question, ranked, k, self._triples_of, method=self.name, texts=self._texts, started=started
        )


def _vectors(texts: TableTexts, embedder: Embedder, cache: Path | None) -> Matrix:
    """The vectors of all pieces; read from the folder `cache` where they were made before."""
    if cache is None:
        return embedder.embed(texts.texts)
    key = hashlib.sha256(f"{embedder.name}\0{texts.digest()}".encode()).hexdigest()
    path = cache / f"{key}.npy"
    if path.exists():
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
    vectors = embedder.embed(texts.texts)
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with partial.open("wb") as file:
        np.save(file, vectors, allow_pickle=False)
    partial.replace(path)
    return vectors


class NamedTables:
    """Any retriever with the tables that are named in place of those it finds: its scores order them.

    Their triples are spelt out table by table.
    """

    def __init__(self, retriever: Retriever, tables: Sequence[str], triples_of: TriplesOf) -> None:
        self.name = retriever.name
        self._retriever, self._tables, self._triples_of = retriever, tuple(tables), triples_of

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples of the named tables."""
        found = self._retriever.retrieve(question, k)
        scores = {table.table: table.score for table in found.tables}
        ranked = sorted(self._tables, key=lambda id: -scores.get(id, 0.0))
        triples: list[ScoredTriple] = []
        for id in ranked:
            room = islice(self._triples_of(id), max(k - len(triples), 0))
            triples += (triple._replace(score=scores.get(id, 0.0)) for triple in room)
        tables = tuple(ScoredTable(id, scores.get(id, 0.0)) for id in ranked)
        return Retrieval(question, tuple(triples), tables, found.timings_ms, self.name, found.trace)


def within(retriever: Retriever, tables: Sequence[str], triples_of: TriplesOf) -> Retriever:
    """The retriever over these tables alone."""
    if isinstance(retriever, ScopedRetriever):
        return retriever.within(tables)
    return NamedTables(retriever, tables, triples_of)
