"""Adapter of kgtable's table retrievers to the TARGET benchmark.

TARGET passes a corpus in batches: dicts of lists with the keys ``database_id``, ``table_id``, ``table`` (rows
as a nested array, the header first) and ``context``; it expects ranked tables. Its package is not imported
here: `TargetRetriever` has the two methods that TARGET calls, and `as_target_class` makes a subclass of its
`AbsCustomEmbeddingRetriever` for code that checks the type.

    from target_benchmark.retrievers import AbsCustomEmbeddingRetriever
    retriever = as_target_class(AbsCustomEmbeddingRetriever)(method="dense", format="markdown")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kgtable.errors import RetrievalError
from kgtable.index.embedding import load_embedder
from kgtable.resources import cache_folder
from kgtable.retrieval.table_texts import Scores, TableTexts
from kgtable.retrieval.whole_table import BM25Retriever, DenseRetriever
from kgtable.tables.layout.detect import make_table
from kgtable.tables.linearize import TableFormat
from kgtable.tables.model import Context, Grid, Source, Table

Batch = Mapping[str, Sequence[Any]]
KEYS = ("database_id", "table_id", "table")


class TargetRetriever:
    """Retriever by `bm25` or `dense` over TARGET's corpora, with one index per data set.

    Raises `RetrievalError` for another method, an unknown format, and an unknown embedding or `none`.
    """

    def __init__(self, method: str = "bm25", format: str | None = None, embedding: str = "minilm") -> None:
        if method not in ("bm25", "dense"):
            raise RetrievalError(f"There is no method {method!r} here.", hint="There are: bm25, dense.")
        chosen = format or (TableFormat.SCHEMA if method == "bm25" else TableFormat.PLAINTEXT)
        if chosen not in list(TableFormat):
            raise RetrievalError(
                f"There is no table format {chosen!r}.", hint=f"There are: {', '.join(TableFormat)}."
            )
        self._method, self._format, self._embedding = method, TableFormat(chosen), embedding
        self._corpora: dict[str, tuple[TableTexts, Callable[[str], Scores], dict[str, tuple[Any, Any]]]] = {}

    def embed_corpus(self, dataset_name: str, corpus: Iterable[Batch]) -> None:
        """Index a corpus, replacing one of the same name.

        Raises `RetrievalError` for a batch without the keys or with lists of different lengths.
        """
        tables: list[Table] = []
        names: dict[str, tuple[Any, Any]] = {}
        for batch in corpus:
            for database, table, rows, context in _entries(batch):
                id = json.dumps([str(database), str(table)])
                names[id] = (database, table)
                tables.append(_table(id, rows, context))
        texts = TableTexts.write(tables, self._format)
        self._corpora[dataset_name] = (texts, self._scorer(texts), names)

    def retrieve(
        self, query: str, dataset_name: str, top_k: int, **_options: object
    ) -> list[tuple[Any, Any]]:
        """The best tables as (database id, table id), at most `top_k`, with ids of their original type.

        Raises `RetrievalError` where no corpus of that name was given.
        """
        if dataset_name not in self._corpora:
            raise RetrievalError(
                f"There is no corpus {dataset_name!r}.", hint="Call embed_corpus with it first."
            )
        texts, scores, names = self._corpora[dataset_name]
        return [names[found.table] for found in texts.rank(scores(query))[:top_k]]

    def _scorer(self, texts: TableTexts) -> Callable[[str], Scores]:
        if self._method == "bm25":
            return BM25Retriever(texts, _no_triples).scores
        embedder = load_embedder(self._embedding)
        if embedder is None:
            raise RetrievalError("The method dense needs an embedding.", hint="Name one, such as minilm.")
        return DenseRetriever(texts, embedder, _no_triples, cache_folder() / "vectors").scores


def as_target_class(base: type) -> type:
    """Make a class that is both a `TargetRetriever` and a subclass of TARGET's class `base`.

    `base` is TARGET's ``AbsCustomEmbeddingRetriever``; it takes the arguments of `TargetRetriever`.
    """

    class KgtableRetriever(TargetRetriever, base):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            base.__init__(self)  # type: ignore[misc]
            TargetRetriever.__init__(self, *arguments, **options)

    return KgtableRetriever


def _entries(batch: Batch) -> Iterable[tuple[Any, Any, Any, Any]]:
    missing = [key for key in KEYS if key not in batch]
    if missing:
        raise RetrievalError(f"A batch of the corpus has no {missing[0]!r}.", hint="Is it TARGET's corpus?")
    columns = [batch[key] for key in KEYS]
    columns.append(batch.get("context") or [None] * len(columns[0]))
    if len({len(column) for column in columns}) != 1:
        raise RetrievalError("The lists of a batch of the corpus differ in length.")
    return zip(*columns, strict=True)


def _table(id: str, rows: Any, context: Any) -> Table:
    """A table from a nested array, with TARGET's context."""
    texts = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
    width = max(map(len, texts), default=0)
    return make_table(Grid(id, Source(id), texts, width, _context(context)))


def _context(context: Any) -> Context:
    if not isinstance(context, Mapping):
        return Context(title=str(context)) if context else Context()
    known = {str(key): str(value) for key, value in context.items() if value}
    title = next((known[key] for key in ("table_page_title", "title", "page_title") if key in known), "")
    section = next((known[key] for key in ("table_section_title", "section_title") if key in known), "")
    others = tuple(value for value in known.values() if value not in (title, section))
    return Context(title=title, heading=(section,) if section else (), paragraphs=others)


def _no_triples(table: str) -> Sequence[Any]:
    return ()
