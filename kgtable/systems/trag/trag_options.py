"""The options of ``trag``: what the paper varies, and whether its procedure runs as published."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kgtable.errors import RetrievalError
from kgtable.retrieval.registry import require_range

CLUSTERS, TYPICAL = 10, 100
"""K and k of the paper (appendix D.3)."""

DAMPING, OWN_DAMPING = 0.85, 0.3
"""α of the paper, and of a walk along the parts of tables."""


class Feature(StrEnum):
    """The feature by which the tables of a hyperedge are similar."""

    SEMANTIC = "semantic"
    STRUCTURAL = "structural"
    HEURISTIC = "heuristic"


class TableRelation(StrEnum):
    """The kind of an edge between two tables."""

    SIMILARITY = "similarity"
    PARTS = "parts of one table"


@dataclass(frozen=True)
class TragOptions:
    """The options of ``trag``.

    - `published`: as in the paper, the walk starts by the cosine of question and table and goes along cosines, and a
      model is shown HTML. Otherwise it starts by the table scores of `hybrid`, whose best tables join those of the
      hyperedges, goes along the parts of tables, and a model is shown sub-tables.
    - `clusters`, `typical`: K and k of the hypergraph.
    - `semantic`, `structural`, `heuristic`: the features whose hyperedges take part.
    - `threshold`: the minimum cosine of an edge (τ).
    - `alpha`: the weight of the edges in the walk; 0 turns the walk off, None the default of either way.
    - `graph`, `reasoning`: whether the prompt has the relations between the tables, and asks for long reasoning.
    - `tables`: how many tables a model is shown: 10, 20 or 50 in the paper; 0 for those that are likely.
    """

    published: bool = False
    clusters: int = CLUSTERS
    typical: int = TYPICAL
    semantic: bool = True
    structural: bool = True
    heuristic: bool = True
    threshold: float = 0.3
    alpha: float | None = None
    graph: bool = True
    reasoning: bool = True
    tables: int = 0

    def __post_init__(self) -> None:
        require_range(self, ("clusters", "typical"))
        require_range(self, ("tables",), 0)
        require_range(self, ("threshold",), 0, 1)
        if self.alpha is not None and not 0 <= self.alpha < 1:
            raise RetrievalError("The option alpha lies between 0 and 1, and is less than 1.")
        if not self.features and self.published:
            raise RetrievalError(
                "Without a feature no table is found.", hint="Leave one of semantic, structural and heuristic on."
            )

    @property
    def features(self) -> frozenset[Feature]:
        """The features whose hyperedges take part."""
        chosen = (self.semantic, self.structural, self.heuristic)
        return frozenset(feature for feature, wanted in zip(Feature, chosen, strict=True) if wanted)

    @property
    def damping(self) -> float:
        """The weight of the edges in the walk."""
        return self.alpha if self.alpha is not None else DAMPING if self.published else OWN_DAMPING

    @property
    def shown(self) -> str:
        """The presentation by which a model is shown the tables."""
        return "html" if self.published else "subtable"
