"""Retrieval of tables and passages, each in an order of its own.

TableRAG (Huawei, section 3.3) recalls 30 chunks of text and of tables written as Markdown by their vectors, and
reranks them by a cross-encoder. Here tables are recalled by kgtable's own retriever, passages by words and vectors of
their pieces; the two lists are taken in turn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TypeAlias

import numpy as np

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.graph.document_statements import StoredPassage
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import PassageIndex
from kgtable.index.postings import FloatArray
from kgtable.retrieval.registry import require_range
from kgtable.retrieval.result import UNGUIDED, Clock, Guide, Retrieval, Retriever

Listed: TypeAlias = tuple[str, str, float]
"""The kind of a piece of evidence (``table``, ``passage``), its id or IRI, its score."""

PASSAGES_KEPT = 100
SIGNALS = (0.5, 0.5, 1.0)
"""How much a passage's words count, the words of its best piece, and the meaning of its best piece."""


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the method ``documents``.

    `rounds` bounds the questions to a model, `recall` the passages and tables that are listed, `keep` those that
    are read. Without `sql` no query is run and a model reads the tables as Markdown; without `text` it reads no
    passage; without `context` it decomposes the question without seeing what was found. With `chunks` tables are
    Markdown and rank with the passages by their vectors alone; `reranker` names a cross-encoder that orders what was
    recalled.
    """

    rounds: int = 5
    recall: int = 30
    keep: int = 3
    sql: bool = True
    text: bool = True
    context: bool = True
    chunks: bool = False
    reranker: str = ""

    def __post_init__(self) -> None:
        require_range(self, ("rounds", "recall", "keep"))


Reranker = Callable[[str, Sequence[str]], Sequence[float]]
"""Scores of texts for a question, the higher the better."""


def load_reranker(name: str) -> Reranker:
    """A cross-encoder of sentence-transformers, from its hub name or a folder.

    Raises `MissingExtraError` without the library, `EmbeddingError` for a model that cannot be loaded.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"The reranker {name!r}", "embeddings")
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(name)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EmbeddingError(
            f"The reranker {name!r} cannot be loaded: {reason}",
            hint="Give a cross-encoder of the Hugging Face hub, or a folder with a saved one.",
        ) from error
    return lambda question, texts: [float(score) for score in model.predict([(question, text) for text in texts])]


class DocumentRetriever:
    """Ranks the tables and the passages of a graph. With a model, its tables are those `hybrid` ranks with one."""

    name = "documents"

    def __init__(
        self,
        tables: Retriever,
        index: GraphIndex,
        passages: PassageIndex,
        options: DocumentOptions,
        markdown: Callable[[str], str],
        reranker: Reranker | None = None,
    ) -> None:
        self._tables, self._index, self._passages = tables, index, passages
        self._options = options
        self._markdown, self._reranker = markdown, reranker

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples, the tables as `hybrid` ranks them, and the passages by how well they fit.

        The trace's ``evidence`` lists both in turn, or chunks by their scores: kind (``table``, ``passage``), id or
        IRI, score. A reranker orders the list again, and the tables and passages by it.
        """
        found = self._tables.retrieve(question, k, guide)
        clock = Clock()
        with clock("passages"):
            passages = self._passages.passages
            vector = self._index.embed([question]) if passages else None
            logits = self._logits(question, vector, guide.tables)
            order = np.argsort(-logits, kind="stable")[:PASSAGES_KEPT].tolist()
            fitting = [at for at in order if np.isfinite(logits[at])]
            powers = np.exp(logits[fitting] - logits[fitting].max()) if fitting else logits[:0]
            shares = (logits[fitting] if self._options.chunks else powers / powers.sum()).tolist()
            texts = tuple(replace(passages[at], score=share) for at, share in zip(fitting, shares, strict=True))
        of_tables = (("table", table.table, table.score) for table in found.tables)
        of_texts = (("passage", text.passage, text.score) for text in texts)
        if self._options.chunks:
            listed = sorted(chain(of_tables, of_texts), key=lambda item: -item[2])
        else:
            listed = [item for item in chain.from_iterable(zip_longest(of_tables, of_texts)) if item is not None]
        listed = listed[: self._options.recall]
        if self._reranker is not None and listed:
            with clock("reranking"):
                listed = self._reranked(question, listed, texts)
            place = {id: at for at, (_, id, _) in enumerate(listed)}
            tables = sorted(found.tables, key=lambda table: place.get(table.table, len(place)))
            scores = [table.score for table in found.tables]
            moved = (replace(table, score=score) for table, score in zip(tables, scores, strict=True))
            found = replace(found, tables=tuple(moved))
            texts = tuple(sorted(texts, key=lambda text: place.get(text.passage, len(place))))
        times = {**found.timings_ms, **{step: ms for step, ms in clock.times.items() if step != "total"}}
        times["total"] = found.timings_ms.get("total", 0.0) + clock.times.get("total", 0.0)
        trace = {**found.trace, "evidence": listed}
        return replace(found, passages=texts, method=self.name, timings_ms=times, trace=trace)

    def passage_signals(self, question: str, vector: Matrix | None) -> list[FloatArray]:
        """How well each passage fits, standardised: by its words, and by the words and the vector of its best piece."""
        index = self._passages
        if not index.passages:
            return [np.zeros(0, dtype=np.float32)] * len(SIGNALS)
        words, cosines = index.piece_scores(question, vector)
        scores = index.passage_scores(question), index.best_of_pieces(words), index.best_of_pieces(cosines)
        return [_standardized(score) for score in scores]

    def _reranked(self, question: str, listed: Sequence[Listed], texts: Sequence[StoredPassage]) -> list[Listed]:
        """The listed tables and passages by the reranker's scores."""
        assert self._reranker is not None
        passages = {text.passage: f"{text.title}\n{text.text}" for text in texts}
        read = [self._markdown(id) if kind == "table" else passages[id] for kind, id, _ in listed]
        scored = zip(listed, self._reranker(question, read), strict=True)
        return sorted(((kind, id, score) for (kind, id, _), score in scored), key=lambda item: -item[2])

    def _logits(self, question: str, vector: Matrix | None, tables: Sequence[str] | None) -> FloatArray:
        """The signals together, or with chunks the cosines; minus infinity for passages that are not looked at."""
        logits = np.zeros(len(self._passages.passages), dtype=np.float32)
        if self._options.chunks and len(logits):
            logits += self._passages.best_of_pieces(self._passages.piece_scores(question, vector)[1])
        elif len(logits):
            for weight, signal in zip(SIGNALS, self.passage_signals(question, vector), strict=True):
                logits += weight * signal
        if tables is not None:
            apart = [set(tables).isdisjoint(passage.tables) for passage in self._passages.passages]
            logits[np.array(apart, dtype=bool)] = -np.inf
        return logits


def _standardized(scores: FloatArray) -> FloatArray:
    return np.asarray((scores - scores.mean()) / (scores.std() + 1e-6), dtype=np.float32)
