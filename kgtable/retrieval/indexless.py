"""`hybrid` on an engine without kgtable's index: candidates by ``CONTAINS``, then the same scores."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from math import log
from pathlib import Path
from typing import Any

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.build import write_lexical
from kgtable.index.opened import GraphIndex
from kgtable.index.reading import read_content
from kgtable.llm.protocol import LLM
from kgtable.retrieval.candidates import containing_cells
from kgtable.retrieval.hybrid import Clock, HybridRetriever
from kgtable.retrieval.labels import plain_labels, question_labels
from kgtable.retrieval.result import Retrieval

TABLES_READ = 30
"""Tables that are fetched and scored, those with the rarest labels first."""

MOST_LABELS = 8
"""Labels searched for: each is compared with every text of the graph."""


class IndexlessRetriever:
    """The thesis's substring search by SPARQL on any engine; the best tables are indexed for the question.

    There are no vectors, so nothing is expanded. With a model it names the labels and orders tables.
    """

    name = "hybrid"

    def __init__(
        self, store: TripleStore, names: Namespaces, *, llm: LLM | None = None, rerank: bool = True
    ) -> None:
        self._store, self._names = store, names
        self._llm, self._rerank = llm, rerank

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> IndexlessRetriever:
        """The same retriever with another language model, or none."""
        return IndexlessRetriever(self._store, self._names, llm=llm, rerank=rerank)

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples of the tables that labels of the question lead to, the best first.

        Raises what the engine's queries raise, and a leaf of `LLMError`.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, self._llm, plain_labels, trace)
        with clock("contains"):
            found = containing_cells(labels[:MOST_LABELS], self._store, self._names)
        trace |= {"labels": labels, "contains": {label: len(cells) for label, cells in found.items()}}
        tables = likeliest(found)
        if not tables:
            return Retrieval(question, (), (), clock.times, self.name, trace)
        with tempfile.TemporaryDirectory(prefix="kgtable-") as folder:
            with clock("tables"):
                index = self._index(tables, Path(folder))
            hybrid = HybridRetriever(self._store, self._names, index, llm=self._llm, rerank=self._rerank)
            return hybrid.retrieve_labelled(question, labels, k, clock, trace)

    def _index(self, tables: Iterable[str], folder: Path) -> GraphIndex:
        contents = (read_content(self._store, id, self._names) for id in tables)
        write_lexical(contents, folder)
        return GraphIndex(folder)


def likeliest(found: Mapping[str, Set[CellAddress]], count: int = TABLES_READ) -> list[str]:
    """The ids of at most `count` tables by the labels found in them; a label in few tables counts most."""
    tables = {label: {cell.table for cell in cells} for label, cells in found.items()}
    everywhere = len(set().union(*tables.values())) if tables else 0
    scores: dict[str, float] = defaultdict(float)
    for holding in tables.values():
        for id in holding:
            scores[id] += log(1 + everywhere / len(holding))
    ranked = sorted(scores, key=lambda id: (-scores[id], id))
    return ranked[:count]
