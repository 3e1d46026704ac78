"""The options of the method ``dmral``, and what makes its retriever."""

from __future__ import annotations

from dataclasses import dataclass

from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever


@dataclass(frozen=True)
class DmralOptions:
    """The options of the method ``dmral``.

    `candidates` tables of the question and `per_subquestion` of each sub-question are looked at, groups are
    built around the best `seeds`. A group that covers less than `gap` of the question has a gap, for
    which `residual` tables are looked for. Without `subquestions` or `gaps` these steps are left out.
    `steps` is how often a program may be repaired.
    """

    candidates: int = 30
    seeds: int = 8
    per_subquestion: int = 8
    subquestions: bool = True
    gaps: bool = True
    gap: float = 0.6
    residual: int = 3
    unions: bool = True
    steps: int = 2


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``dmral``. Raises `RetrievalError` for a graph behind an endpoint, which has no index."""
    from kgtable.index.open import GraphIndex
    from kgtable.index.relations import TableRelations
    from kgtable.systems.dmral.coverage_retrieval import CoverageRetriever

    material = retrievers.material
    if not isinstance(material.store, EmbeddedStore):
        raise RetrievalError(
            "The method dmral needs the index of a graph on disk.", hint="Take the method hybrid."
        )
    options = choice.options if isinstance(choice.options, DmralOptions) else DmralOptions()
    return CoverageRetriever(
        material.store,
        material.names,
        GraphIndex(material.index_path),
        TableRelations.open(material.index_path),
        options,
        llm=material.llm,
    )


METHOD = Method(make_retriever, DmralOptions)
