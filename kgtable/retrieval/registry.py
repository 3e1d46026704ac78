"""The retrieval methods by name, each made once for an open graph and the choices of its user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from kgtable.errors import MissingExtraError, RetrievalError
from kgtable.graph.store import EmbeddedStore, TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.embedding import Embedder
from kgtable.index.embedding_models import load_embedder
from kgtable.llm.protocol import LLM
from kgtable.resources import cache_folder
from kgtable.retrieval.result import Retriever, ScoredTriple
from kgtable.retrieval.schemas import WRITTEN_SCHEMA, write_schemas
from kgtable.retrieval.triples import triples_of
from kgtable.retrieval.whole_table import TableTexts, TriplesOf
from kgtable.tables.linearize import TableFormat

TABLES_REMEMBERED = 2_048


@dataclass(frozen=True)
class Choice:
    """What a method may be told: the format whole tables are written in, and the embedding's name.

    None stands for the method's own default.
    """

    format: str | None = None
    embedding: str | None = None


@dataclass(frozen=True)
class Material:
    """What methods are made from: a graph's store, what lists its tables' ids, its index, a model if any."""

    store: TripleStore
    names: Namespaces
    tables: Callable[[], Iterable[str]]
    index_path: Path
    llm: LLM | None = None
    """What writes the schemas of `WRITTEN_SCHEMA`, and guides `hybrid`."""

    @cached_property
    def reader(self) -> TableReader:
        """Tables out of the store."""
        return TableReader(self.store, self.names)

    @cached_property
    def triples_of(self) -> TriplesOf:
        """The triples of a table's body cells by its id, all scored 0; those of the last tables are kept."""

        @lru_cache(maxsize=TABLES_REMEMBERED)
        def read(id: str) -> tuple[ScoredTriple, ...]:
            return tuple(triples_of(self.reader.content(id), self.names))

        return read

    def texts(self, format: str) -> TableTexts:
        """Every table as text. Raises `RetrievalError` for an unknown format, or one that wants a model."""
        tables = (self.reader.read(id) for id in self.tables())
        if format == WRITTEN_SCHEMA:
            if self.llm is None:
                raise RetrievalError(
                    f"The format {WRITTEN_SCHEMA} is written by a language model, and there is none.",
                    hint="Give a model, or take the format schema, which needs none.",
                )
            return write_schemas(tables, self.llm)
        if format not in list(TableFormat):
            known = ", ".join([*TableFormat, WRITTEN_SCHEMA])
            raise RetrievalError(f"There is no table format {format!r}.", hint=f"There are: {known}.")
        return TableTexts.write(tables, format)


Maker = Callable[[Material, Choice], Retriever]


def make_bm25(material: Material, choice: Choice) -> Retriever:
    """Okapi BM25 over whole tables, by default as table schema (thesis, section 4.3.1)."""
    from kgtable.retrieval.whole_table import BM25Retriever  # brings numba and scipy along

    texts = material.texts(choice.format or TableFormat.SCHEMA)
    return BM25Retriever(texts, material.triples_of)


def make_dense(material: Material, choice: Choice) -> Retriever:
    """Vectors of whole tables, by default as plaintext (thesis, section 4.3.2); kept on disk.

    Raises `RetrievalError` where the embedding is ``none``.
    """
    from kgtable.retrieval.whole_table import DenseRetriever

    embedder = _embedder(choice.embedding or "minilm")
    texts = material.texts(choice.format or TableFormat.PLAINTEXT)
    return DenseRetriever(texts, embedder, material.triples_of, cache_folder() / "vectors")


def _embedder(name: str) -> Embedder:
    try:
        embedder = load_embedder(name)
    except MissingExtraError as error:
        raise RetrievalError(f"The method dense: {error.message}", hint=error.hint) from error
    if embedder is None:
        raise RetrievalError(
            "The method dense cannot do without an embedding.", hint="Name one, such as minilm."
        )
    return embedder


def make_hybrid(material: Material, choice: Choice) -> Retriever:
    """The thesis's hybrid method over the graph and its index (section 4.4).

    A graph behind an endpoint has no index: there candidates are found by ``CONTAINS``. Raises
    `VocabularyIndexError` where a graph on disk has none.
    """
    if not isinstance(material.store, EmbeddedStore):
        from kgtable.retrieval.hybrid import IndexlessRetriever

        return IndexlessRetriever(material.store, material.names, llm=material.llm)
    from kgtable.index.open import GraphIndex
    from kgtable.retrieval.hybrid import HybridRetriever

    return HybridRetriever(material.store, material.names, GraphIndex(material.index_path), llm=material.llm)


METHODS: dict[str, Maker] = {"hybrid": make_hybrid, "bm25": make_bm25, "dense": make_dense}
"""What makes the retriever of each method."""


class Retrievers:
    """The retrievers of one open graph, made at their first question. May be used from several threads."""

    def __init__(self, material: Material) -> None:
        self.material = material
        """What they are made from."""
        self._made: dict[tuple[str, Choice, str | None], Retriever] = {}
        self._making = threading.Lock()

    def get(self, method: str, choice: Choice, llm: LLM | None = None) -> Retriever:
        """The retriever of a method. Raises `RetrievalError` for an unknown one.

        `llm` writes what the choice wants written by a model; one name stands for one model.
        """
        if method not in METHODS:
            raise RetrievalError(f"There is no method {method!r}.", hint=f"There are: {', '.join(METHODS)}.")
        writes = llm is not None and choice.format == WRITTEN_SCHEMA
        key = (method, choice, llm.model if llm is not None and writes else None)
        with self._making:
            if key not in self._made:
                material = replace(self.material, llm=llm) if writes else self.material
                self._made[key] = METHODS[method](material, choice)
            return self._made[key]
