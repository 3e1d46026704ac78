"""Coverage-aware retrieval (DMRAL, section 4): groups of joined tables by what of the question they cover.

On top of `hybrid`: its best tables and those of each sub-question are candidates, groups of candidates that joins
connect are scored by the needs they meet together, and where the best group leaves a gap, a residual
sub-question looks for what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM
from kgtable.retrieval.hybrid import Clock, HybridRetriever
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import Scored, table_scores
from kgtable.retrieval.registry import require_range
from kgtable.systems.dmral.connected_groups import GroupFinder, RelationGraph, TableGroup
from kgtable.systems.dmral.decomposition import (
    Decomposition,
    SubQuestion,
    decompose,
    residual_question,
    worded,
)
from kgtable.systems.dmral.needs import NeedMatcher, information_needs
from kgtable.text.words import is_empty_word

FADES = 8.0
"""The difference of logits over which a table's fit falls from 1 to 0."""

OF_SUBQUESTION = 0.85
"""The fit of the best table of a sub-question; the question's own best table has 1."""

PART_OF_BEST = 0.02
"""What a part of a table falls behind the best of its parts."""

OWN_FIT = 0.3
"""How much a table's own fit counts beside the score of its best group."""

LIFT = 6.0
"""What the difference of 1 in a table's final score is in logits."""


class ReasonerLanguage(StrEnum):
    """What a model writes the answer's program in: kgtable's algebra, or DuckDB's SQL in a process of its own."""

    PROGRAM = "program"
    SQL = "sql"


@dataclass(frozen=True)
class DmralOptions:
    """The options of the method ``dmral``.

    `candidates` tables of the question and `per_subquestion` of each sub-question are looked at, groups are
    built around the best `seeds`. A group that covers less than `gap` of the question has a gap, for
    which `residual` tables are looked for. Without `subquestions` or `gaps` these steps are left out.
    `steps` is how often a program may be repaired, `language` what a model writes it in. Raises
    `RetrievalError` for numbers out of range.
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
    language: ReasonerLanguage = ReasonerLanguage.PROGRAM

    def __post_init__(self) -> None:
        require_range(self, ("candidates", "seeds", "per_subquestion", "residual"))
        require_range(self, ("steps",), 0)
        require_range(self, ("gap",), 0, 1)


class CoverageRetriever(HybridRetriever):
    """The method ``dmral``: `hybrid`, then tables by the best connected group they are part of."""

    name = "dmral"

    def __init__(
        self,
        store: TripleStore,
        names: Namespaces,
        index: GraphIndex,
        relations: TableRelations,
        options: DmralOptions,
        *,
        llm: LLM | None = None,
    ) -> None:
        super().__init__(store, names, index, llm=llm)
        self._relations, self._options = relations, options
        self._graph = RelationGraph(relations, index.corpus.table_ids)

    def within(self, tables: Sequence[str]) -> Self:
        """The same retriever over these tables alone, and the relations between them."""
        changed = super().within(tables)
        changed._graph = RelationGraph(self._relations, self._index.corpus.table_ids, tables)
        return changed

    def regrouped(self, scored: Scored, query: Query, clock: Clock, trace: dict[str, Any]) -> Scored:
        """The tables by the score of the best group that each is part of."""
        options = self._options
        with clock("needs"):
            matcher = NeedMatcher(information_needs(query.text, self._index), self._index)
            base = self._fits(scored.table_logits, options.candidates)
        if not matcher.needs or not base:
            return scored
        with clock("decomposition"):
            decomposition = decompose(matcher, self._graph, self._with_joined(base))
            if self._llm is not None:
                decomposition = worded(query.text, decomposition, self._llm)
        if options.subquestions and len(decomposition.subquestions) > 1:
            with clock("sub-questions"):
                self._add([part.text for part in decomposition.subquestions], base, options.per_subquestion)
        with clock("groups"):
            finder = GroupFinder(matcher, self._graph, base)
            groups = finder.groups(_best(base, options.seeds))
            gap = self._gap(groups[0], finder) if options.gaps else ""
        if gap:
            with clock("gap"):
                asked = residual_question(query.text, self._described(groups[0]), [gap], self._llm)
                added = self._add([asked], base, options.residual) if asked else []
                groups = sorted(
                    [*groups, *finder.groups(added)], key=lambda group: (-group.score, group.tables)
                )
        trace |= self._told(decomposition, groups, gap)
        return self._lifted(scored, groups, base)

    def _fits(self, logits: np.ndarray, count: int) -> dict[int, float]:
        order = np.argsort(-logits, kind="stable")[:count]
        order = order[np.isfinite(logits[order])]  # tables that may not be looked at have no score
        top = float(logits[order[0]]) if len(order) else 0.0
        return {int(table): max(0.0, 1 + (float(logits[table]) - top) / FADES) for table in order}

    def _with_joined(self, base: dict[int, float]) -> dict[int, float]:
        """The candidates with the tables that the best of them can be joined with."""
        found = dict(base)
        for table in _best(base, self._options.seeds):
            for other in self._graph.joined(table):
                found.setdefault(other, 0.0)
        return found

    def _add(self, texts: Sequence[str], base: dict[int, float], count: int) -> list[int]:
        """Add the best tables for each text to the candidates; gives them."""
        corpus = self._index.corpus
        vectors = self._index.embed(list(texts))
        known = None if self._index.vectors is None else self._index.vectors.tables
        allowed = self._allowed()
        added: list[int] = []
        for place, text in enumerate(texts):
            query = Query.of(text, corpus, None if vectors is None else vectors[place])
            if not len(query.terms):
                continue
            logits = table_scores(query, corpus, known, self._weights.tables)
            if allowed is not None:
                logits = np.where(allowed, logits, -np.inf)
            for table, fit in self._fits(logits, count).items():
                base[table] = max(base.get(table, 0.0), fit - (1 - OF_SUBQUESTION))
                added.append(table)
        return list(dict.fromkeys(added))

    def _gap(self, best: TableGroup, finder: GroupFinder) -> str:
        """The needs that the best group leaves unmet, as a text; empty where it covers enough."""
        if best.coverage >= self._options.gap:
            return ""
        return " ".join(
            need.text
            for need in finder.needs_at(finder.uncovered(best.tables))
            if not all(is_empty_word(word) for word in need.text.lower().split())
        )

    def _lifted(self, scored: Scored, groups: Sequence[TableGroup], base: dict[int, float]) -> Scored:
        best: dict[int, float] = {}
        for group in groups:
            for table in group.tables:
                best[table] = max(group.score, best.get(table, -1.0))
        least = min(best.values())
        final = {
            table: best.get(table, least - 0.5) + OWN_FIT * base.get(table, 0.0) for table in {*best, *base}
        }
        if self._options.unions:
            for table in [table for table in final if len(self._graph.parts(table)) > 1]:
                parts = self._graph.parts(table)
                top = max(final.get(part, -1.0) for part in parts)
                for part in parts:
                    behind = PART_OF_BEST * (1 + (part != max(parts, key=lambda p: final.get(p, -1.0))))
                    final[part] = max(final.get(part, -1.0), top - behind)
        logits = np.array(scored.table_logits, dtype=np.float32, copy=True)
        top_logit, top_score = float(logits.max()), max(final.values())
        lowest = top_logit + LIFT * (min(final.values()) - top_score)
        logits = np.minimum(logits, lowest - 1)
        for table, value in final.items():
            logits[table] = top_logit + LIFT * (value - top_score)
        return replace(scored, table_logits=logits)

    def _described(self, group: TableGroup) -> list[str]:
        corpus = self._index.corpus
        lines = []
        for table in group.tables:
            first, last = corpus.places.table_column_start[table], corpus.places.table_column_start[table + 1]
            names = [corpus.texts[int(name)] for name in corpus.places.column_name[first:last] if name >= 0]
            lines.append(f"{corpus.table_ids[table]}({', '.join(names)})")
        return lines

    def _told(self, decomposition: Decomposition, groups: Sequence[TableGroup], gap: str) -> dict[str, Any]:
        ids = self._index.corpus.table_ids

        def shown(part: SubQuestion) -> str:
            return f"{part.text} [{', '.join(ids[table] for table in part.tables[:3])}]"

        return {
            "needs": tuple(need.text for need in decomposition.needs),
            "unmet": tuple(need.text for need in decomposition.unmet),
            "subquestions": tuple(map(shown, decomposition.subquestions)),
            "groups": tuple(
                f"{', '.join(ids[table] for table in group.tables)}: {group.coverage:.2f}"
                for group in groups[:3]
            ),
            "gap": gap,
        }


def _best(base: dict[int, float], count: int) -> list[int]:
    return sorted(base, key=lambda table: (-base[table], table))[:count]
