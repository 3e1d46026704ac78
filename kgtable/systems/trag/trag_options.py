"""The options of ``trag``: as published, and as kgtable presets them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kgtable.errors import RetrievalError
from kgtable.retrieval.registry import require_range

CLUSTERS, TYPICAL = 10, 100
"""K and k of the paper (appendix D.3)."""

DAMPING = 0.85
"""The paper's α."""

NEIGHBOURS = 20
"""Edges of a table that are kept, the heaviest."""


class Feature(StrEnum):
    """The feature by which the tables of a hyperedge are similar."""

    SEMANTIC = "semantic"
    STRUCTURAL = "structural"
    HEURISTIC = "heuristic"


class TableRelation(StrEnum):
    """The kind of an edge between two tables."""

    SIMILARITY = "similarity"
    SUBJECTS = "shared subjects"
    PREDICATES = "shared predicates"
    PARTS = "parts of one table"


class Start(StrEnum):
    """The start of the walk: by cosine of question and table, or by the table scores of `hybrid`."""

    SIMILARITY = "similarity"
    HYBRID = "hybrid"


@dataclass(frozen=True)
class TragOptions:
    """The options of ``trag``.

    - `clusters`, `typical`: K and k of the hypergraph.
    - `semantic`, `structural`, `heuristic`: the features whose hyperedges take part.
    - `start`: what the walk starts by; with ``hybrid`` its `candidates` best tables join those of the hyperedges.
    - `similarity`, `subjects`, `predicates`, `parts`: the edges that the walk goes along.
    - `threshold`, `neighbours`: the least cosine of an edge (τ), and how many edges a table keeps; 0 keeps every
      edge of `similarity`.
    - `schema`: whether the semantic feature is the vector of the linearised schema, not that of the search index.
    - `pagerank`: whether there is a walk at all; `alpha` is its damping, the weight of the edges.
    - `rounds`, `kept`: how often the walk is repeated on the `kept` best tables alone.
    - `shown`: how a model is shown the tables, as a name of a presentation, such as ``subtable`` or ``html``.
    - `graph`, `reasoning`: whether the prompt has the relations between the tables, and asks for long reasoning.
    """

    clusters: int = CLUSTERS
    typical: int = TYPICAL
    semantic: bool = True
    structural: bool = True
    heuristic: bool = True
    start: Start = Start.HYBRID
    candidates: int = 200
    similarity: bool = False
    subjects: bool = False
    predicates: bool = False
    parts: bool = True
    threshold: float = 0.3
    neighbours: int = NEIGHBOURS
    schema: bool = False
    pagerank: bool = True
    alpha: float = 0.3
    rounds: int = 1
    kept: int = 50
    shown: str = "subtable"
    graph: bool = True
    reasoning: bool = True

    def __post_init__(self) -> None:
        require_range(self, ("clusters", "typical", "candidates", "rounds", "kept"))
        require_range(self, ("neighbours",), 0)
        require_range(self, ("threshold",), 0, 1)
        if not 0 <= self.alpha < 1:
            raise RetrievalError("The option alpha lies between 0 and 1, and is less than 1.")
        if not self.features and self.start is Start.SIMILARITY:
            raise RetrievalError(
                "Without a feature no table is found.",
                hint="Leave one of semantic, structural and heuristic on, or take start=hybrid.",
            )

    @property
    def features(self) -> frozenset[Feature]:
        """The features whose hyperedges take part."""
        chosen = (self.semantic, self.structural, self.heuristic)
        return frozenset(feature for feature, wanted in zip(Feature, chosen, strict=True) if wanted)

    @property
    def relations(self) -> tuple[TableRelation, ...]:
        """The kinds of edges that the walk goes along."""
        chosen = (self.similarity, self.subjects, self.predicates, self.parts)
        return tuple(relation for relation, wanted in zip(TableRelation, chosen, strict=True) if wanted)


@dataclass(frozen=True)
class PublishedOptions(TragOptions):
    """The options of ``trag-paper``: the same, preset as the paper has them."""

    start: Start = Start.SIMILARITY
    similarity: bool = True
    parts: bool = False
    alpha: float = DAMPING
    neighbours: int = 0
    schema: bool = True
    shown: str = "html"
