"""Coverage-aware retrieval (DMRAL, section 4), and the decomposition of a question along the tables (section 3.2).

On top of `hybrid`: its best tables and those of each sub-question are candidates, groups of candidates that joins
connect are scored by the needs they meet together, and where the best group leaves a gap, a residual
sub-question looks for what is missing.

To decompose a question, each need is mapped to a column so that all columns lie in tables that joins connect: greedily
from the surest need, going back to the next column of the first need where a need finds none. The needs of one table,
or of parts of one, make one sub-question. With a language model it words them; without one the phrases stay as they
are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from kgtable.errors import LLMReplyError
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, reply_data
from kgtable.llm.request_parts import TEXT, object_schema
from kgtable.resources import read_packaged, read_packaged_json
from kgtable.retrieval.cell_scores import Scored, table_scores
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.registry import require_range
from kgtable.retrieval.result import Clock, Guide
from kgtable.systems.dmral.needs import (
    BY_RULES,
    JOINED_FROM,
    GroupFinder,
    GroupWeights,
    InformationNeed,
    NeedMatch,
    NeedMatcher,
    RelationGraph,
    TableGroup,
    information_needs,
)
from kgtable.text.words import is_empty_word

CANDIDATES = 30
"""Columns that are looked at for a need, as in the paper, and tables for a question."""

SEEDS, PER_SUBQUESTION, RESIDUAL = 8, 8, 3
"""Tables that groups are built around, and tables that are looked for by a sub-question and for a gap."""

LEAST_MATCH = 0.4
"""The similarity below which no column answers a need."""

TRIED_FIRST = 5
"""Columns of the surest need from which a mapping is begun."""

MOST_SUBQUESTIONS = 8
SAME_TABLE = 0.1
"""What a column gains by lying in a table that other needs lie in: sub-questions stay few."""

WEIGHTS = "systems/dmral/coverage_weights.json"
_SUBQUESTIONS = object_schema(subquestions={"type": "array", "items": TEXT})
_RESIDUAL = object_schema(residual=TEXT)


@dataclass(frozen=True, slots=True)
class MappedNeed:
    """A need and the column of a table that answers it."""

    need: InformationNeed
    table: int
    match: NeedMatch


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A sub-question about one table, or the parts of one: its text and its needs."""

    text: str
    tables: tuple[int, ...]
    needs: tuple[InformationNeed, ...]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The needs of a question, the columns that answer them, and the sub-questions; `unmet` needs have none."""

    needs: tuple[InformationNeed, ...]
    mapped: tuple[MappedNeed, ...]
    subquestions: tuple[SubQuestion, ...]
    unmet: tuple[InformationNeed, ...]


def decompose(matcher: NeedMatcher, graph: RelationGraph, base: Mapping[int, float]) -> Decomposition:
    """Decompose a question over the candidate tables in `base`, whose values say how well they fit (0 to 1)."""
    options = [_options(place, matcher, base) for place in range(len(matcher.needs))]
    open_needs = [place for place, found in enumerate(options) if found]
    open_needs.sort(key=lambda place: (-options[place][0][0], place))
    best: dict[int, tuple[float, int, NeedMatch]] = {}
    if open_needs:
        for begin in options[open_needs[0]][:TRIED_FIRST]:
            mapping = _expanded(open_needs, options, begin, graph)
            if _value(mapping) > _value(best):
                best = mapping
            if len(mapping) == len(open_needs):
                break
    mapped = tuple(MappedNeed(matcher.needs[place], table, match) for place, (_, table, match) in sorted(best.items()))
    unmet = tuple(need for place, need in enumerate(matcher.needs) if place not in best)
    return Decomposition(matcher.needs, mapped, _grouped(mapped, graph), unmet)


def _options(place: int, matcher: NeedMatcher, base: Mapping[int, float]) -> list[tuple[float, int, NeedMatch]]:
    found = [
        (match.score + 0.5 * fit, table, match)
        for table, fit in base.items()
        for match in matcher.column_matches(place, table)[:2]
        if match.score >= LEAST_MATCH
    ]
    return sorted(found, key=lambda option: (-option[0], option[1], option[2].column))[:CANDIDATES]


def _expanded(
    needs: Sequence[int],
    options: Sequence[Sequence[tuple[float, int, NeedMatch]]],
    begin: tuple[float, int, NeedMatch],
    graph: RelationGraph,
) -> dict[int, tuple[float, int, NeedMatch]]:
    mapping = {needs[0]: begin}
    component = graph.component(begin[1]) | set(graph.parts(begin[1]))
    used = {begin[1]}
    for need in needs[1:]:
        connected = [option for option in options[need] if option[1] in component]
        if not connected:
            continue
        chosen = max(connected, key=lambda option: (option[0] + SAME_TABLE * (option[1] in used), -option[1]))
        mapping[need] = chosen
        used.add(chosen[1])
    return mapping


def _value(mapping: Mapping[int, tuple[float, int, NeedMatch]]) -> float:
    return sum(score for score, _, _ in mapping.values())


def _grouped(mapped: Sequence[MappedNeed], graph: RelationGraph) -> tuple[SubQuestion, ...]:
    """The needs of each table as a sub-question; those that hold a value of the question come first."""
    groups: dict[tuple[int, ...], list[InformationNeed]] = {}
    for found in mapped:
        groups.setdefault(graph.parts(found.table), []).append(found.need)
    ordered = sorted(groups.items(), key=lambda item: (not any(need.is_value for need in item[1]), item[1][0].start))
    return tuple(SubQuestion(", ".join(need.text for need in needs), tables, tuple(needs)) for tables, needs in ordered)


def worded(question: str, decomposition: Decomposition, llm: LLM) -> Decomposition:
    """The same decomposition with sub-questions in the model's words; unchanged where the reply cannot be used.

    Raises leaves of `LLMError` other than `LLMReplyError`.
    """
    parts = decomposition.subquestions
    if len(parts) < 2:
        return decomposition
    groups = json.dumps([[need.text for need in part.needs] for part in parts], ensure_ascii=False)
    data = _reply(
        "decompose",
        f"Question: <<<{unmarked(question)}>>>\nGroups of phrases: <<<{unmarked(groups)}>>>",
        _SUBQUESTIONS,
        llm,
    )
    texts = data.get("subquestions")
    if not isinstance(texts, list) or len(texts) != len(parts):
        return decomposition
    said = tuple(replace(part, text=str(text).strip() or part.text) for part, text in zip(parts, texts, strict=True))
    return replace(decomposition, subquestions=said)


def decomposed_by_model(question: str, needs: tuple[InformationNeed, ...], llm: LLM | None) -> Decomposition:
    """Sub-questions in the model's words that saw no table; none without a model. Raises as `worded` does."""
    data = {} if llm is None else _reply("decompose_alone", f"Question: <<<{unmarked(question)}>>>", _SUBQUESTIONS, llm)
    given = data.get("subquestions")
    texts = [str(text).strip() for text in given][:MOST_SUBQUESTIONS] if isinstance(given, list) else []
    return Decomposition(needs, (), tuple(SubQuestion(text, (), ()) for text in texts if text), ())


def residual_question(question: str, tables: Sequence[str], unmet: Sequence[str], llm: LLM | None) -> str:
    """The part of a question that the tables do not answer, as a search text; empty if nothing is missing.

    `tables` are lines that describe the tables. Without a model the needs that no table meets are the text.
    """
    if llm is None:
        return " ".join(unmet)
    shown = "\n".join(tables)
    data = _reply(
        "residual", f"Question: <<<{unmarked(question)}>>>\nTables:\n<<<\n{unmarked(shown)}\n>>>", _RESIDUAL, llm
    )
    text = data.get("residual")
    return text.strip() if isinstance(text, str) else " ".join(unmet)


def unmarked(text: str) -> str:
    """A text of the data without the marks that the prompts set around data.

    >>> unmarked("a >>> b <<<<")
    'a > > > b < < < <'
    """
    return re.sub("<{3,}|>{3,}", lambda marks: " ".join(marks[0]), text)


def _reply(prompt: str, said: str, schema: Mapping[str, object], llm: LLM) -> Mapping[str, object]:
    system = read_packaged(f"systems/dmral/prompts/{prompt}.txt")
    try:
        return reply_data(llm, system, said, schema=schema, stage=prompt, max_tokens=600)
    except LLMReplyError:
        return {}


FADES = 8.0
"""The difference of logits over which a table's fit falls from 1 to 0."""

OF_SUBQUESTION = 0.85
"""The fit of the best table of a sub-question; the question's own best table has 1."""

PART_OF_BEST = 0.02
"""How far a part of a table falls behind its best part."""

OWN_FIT = 0.3
"""How much a table's own fit counts in addition to the score of its best group."""

LIFT = 6.0
"""Logits per difference of 1 in a table's final score."""


class CoverageScorer(StrEnum):
    """What scores how well tables cover a question: weights by `scripts/train_coverage.py`, shares of its needs, or
    nothing but the fit of each table."""

    TRAINED = "trained"
    RULES = "rules"
    NONE = "none"


class Decomposer(StrEnum):
    """The basis of a decomposition: the tables, or, by the model alone, nothing."""

    TABLES = "tables"
    MODEL = "model"


@dataclass(frozen=True)
class DmralOptions:
    """The options of the method ``dmral``.

    Without `subquestions` none are looked for. A best group that covers less than `gap` of the question has a gap, for
    which further tables are looked for; 0 is none. `steps` is how often a program may be repaired, and the best
    `tables` are answered from: the paper's 5, and one for the gap. Joins and unions count from the scores
    `joinability` and `unionability` on. `scorer` scores what a group covers. Without `reasoning` a model sees no
    sub-questions and replies without steps. Raises `RetrievalError` for numbers out of range.
    """

    subquestions: bool = True
    gap: float = 0.6
    steps: int = 2
    tables: int = 6
    joinability: float = JOINED_FROM
    unionability: float = 0.0
    decomposition: Decomposer = Decomposer.TABLES
    scorer: CoverageScorer = CoverageScorer.TRAINED
    reasoning: bool = True

    def __post_init__(self) -> None:
        require_range(self, ("steps",), 0)
        require_range(self, ("tables",))
        require_range(self, ("gap", "joinability", "unionability"), 0, 1)

    def likely(self, relations: TableRelations) -> TableRelations:
        """The joins and unions whose scores reach the thresholds."""
        return TableRelations(
            (join for join in relations.joins if join.score >= self.joinability),
            (union for union in relations.unions if union.score >= self.unionability),
        )


class CoverageRetriever(HybridRetriever):
    """The method ``dmral``: `hybrid`, then tables by the best connected group they are part of."""

    name = "dmral"

    def __init__(
        self, store: TripleStore, names: Namespaces, index: GraphIndex, relations: TableRelations, options: DmralOptions
    ) -> None:
        super().__init__(store, names, index)
        self._relations, self._options = options.likely(relations), options
        self._graph = RelationGraph(self._relations, index.corpus.table_ids)
        trained = options.scorer is CoverageScorer.TRAINED
        self.scorer: Mapping[str, float] = read_packaged_json(WEIGHTS)["weights"] if trained else BY_RULES

    def regrouped(self, scored: Scored, query: Query, guide: Guide, clock: Clock, trace: dict[str, Any]) -> Scored:
        """The tables by the score of the best group that each is part of."""
        options, graph = self._options, self._graph
        if guide.tables is not None:
            graph = RelationGraph(self._relations, self._index.corpus.table_ids, guide.tables)
        with clock("needs"):
            matcher = NeedMatcher(information_needs(query.text, self._index), self._index)
            base = self._fits(scored.table_logits, CANDIDATES)
        if not matcher.needs or not base:
            return scored
        with clock("decomposition"):
            if options.decomposition is Decomposer.MODEL:
                decomposition = decomposed_by_model(query.text, matcher.needs, guide.llm)
            else:
                decomposition = decompose(matcher, graph, _with_joined(base, graph))
                if guide.llm is not None:
                    decomposition = worded(query.text, decomposition, guide.llm)
        if options.subquestions and len(decomposition.subquestions) > 1:
            with clock("sub-questions"):
                self._add([part.text for part in decomposition.subquestions], base, PER_SUBQUESTION, guide.tables)
        with clock("groups"):
            weights = GroupWeights(coverage=float(options.scorer is not CoverageScorer.NONE))
            finder = GroupFinder(matcher, graph, base, weights, self.scorer)
            groups = finder.groups(_best(base, SEEDS))
            gap = self._gap(groups[0], finder)
        if gap:
            with clock("gap"):
                asked = residual_question(query.text, self._described(groups[0]), [gap], guide.llm)
                added = self._add([asked], base, RESIDUAL, guide.tables) if asked else []
                groups = sorted([*groups, *finder.groups(added)], key=lambda group: (-group.score, group.tables))
        trace |= self._told(decomposition, groups, gap)
        return _lifted(scored, groups, base, graph)

    def _fits(self, logits: np.ndarray, count: int) -> dict[int, float]:
        order = np.argsort(-logits, kind="stable")[:count]
        order = order[np.isfinite(logits[order])]  # tables that may not be looked at have no score
        top = float(logits[order[0]]) if len(order) else 0.0
        return {int(table): max(0.0, 1 + (float(logits[table]) - top) / FADES) for table in order}

    def _add(self, texts: Sequence[str], base: dict[int, float], count: int, tables: Sequence[str] | None) -> list[int]:
        """Add the best tables for each text to the candidates; returns them."""
        corpus = self._index.corpus
        vectors = self._index.embed(list(texts))
        known = None if self._index.vectors is None else self._index.vectors.tables
        allowed = self._allowed(tables)
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
        """The needs that the best group leaves unmet, as a text; empty if it covers enough."""
        if best.coverage >= self._options.gap:
            return ""
        unmet = finder.needs_at(finder.uncovered(best.tables)) or finder.all_needs()
        return " ".join(need.text for need in unmet if not all(map(is_empty_word, need.text.lower().split())))

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
            return f"{part.text} [{', '.join(ids[table] for table in part.tables[:3])}]" if part.tables else part.text

        return {
            "needs": tuple(need.text for need in decomposition.needs),
            "unmet": tuple(need.text for need in decomposition.unmet),
            "subquestions": tuple(map(shown, decomposition.subquestions)),
            "groups": tuple(
                f"{', '.join(ids[table] for table in group.tables)}: {group.coverage:.2f}" for group in groups[:3]
            ),
            "gap": gap,
        }


def _best(base: dict[int, float], count: int) -> list[int]:
    return sorted(base, key=lambda table: (-base[table], table))[:count]


def _with_joined(base: dict[int, float], graph: RelationGraph) -> dict[int, float]:
    """The candidates with the tables that the best of them can be joined with."""
    found = dict(base)
    for table in _best(base, SEEDS):
        for other in graph.joined(table):
            found.setdefault(other, 0.0)
    return found


def _lifted(scored: Scored, groups: Sequence[TableGroup], base: dict[int, float], graph: RelationGraph) -> Scored:
    best: dict[int, float] = {}
    for group in groups:
        for table in group.tables:
            best[table] = max(group.score, best.get(table, -1.0))
    least = min(best.values())
    final = {table: best.get(table, least - 0.5) + OWN_FIT * base.get(table, 0.0) for table in {*best, *base}}
    for table in [table for table in final if len(graph.parts(table)) > 1]:
        parts = graph.parts(table)
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
