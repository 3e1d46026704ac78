"""Decomposition of a question along the tables (DMRAL, section 3.2): needs to columns to sub-questions.

Each need is mapped to a column so that all columns lie in tables that joins connect: greedily from the surest need,
going back to the next column of the first need where a need finds none. The needs of one table, or of parts of
one, make one sub-question. With a language model it words them; without one the phrases stand as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgtable.errors import LLMReplyError
from kgtable.llm.protocol import LLM, reply_data
from kgtable.resources import PACKAGE
from kgtable.systems.dmral.connected_groups import RelationGraph
from kgtable.systems.dmral.needs import InformationNeed, NeedMatch, NeedMatcher

CANDIDATES = 30
"""Columns that are looked at for a need, as in the paper."""

LEAST_MATCH = 0.4
"""The similarity below which no column answers a need."""

TRIED_FIRST = 5
"""Columns of the surest need from which a mapping is begun."""

SAME_TABLE = 0.1
"""What a column gains by lying in a table that other needs lie in: sub-questions stay few."""

_FOLDER = PACKAGE / "systems" / "dmral" / "prompts"
_SUBQUESTIONS = {
    "type": "object",
    "properties": {"subquestions": {"type": "array", "items": {"type": "string"}}},
    "required": ["subquestions"],
    "additionalProperties": False,
}
_RESIDUAL = {
    "type": "object",
    "properties": {"residual": {"type": "string"}},
    "required": ["residual"],
    "additionalProperties": False,
}


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
    mapped = tuple(
        MappedNeed(matcher.needs[place], table, match) for place, (_, table, match) in sorted(best.items())
    )
    unmet = tuple(need for place, need in enumerate(matcher.needs) if place not in best)
    return Decomposition(matcher.needs, mapped, _grouped(mapped, graph), unmet)


def _options(
    place: int, matcher: NeedMatcher, base: Mapping[int, float]
) -> list[tuple[float, int, NeedMatch]]:
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
    ordered = sorted(
        groups.items(), key=lambda item: (not any(need.is_value for need in item[1]), item[1][0].start)
    )
    return tuple(
        SubQuestion(", ".join(need.text for need in needs), tables, tuple(needs)) for tables, needs in ordered
    )


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
    said = tuple(
        replace(part, text=str(text).strip() or part.text) for part, text in zip(parts, texts, strict=True)
    )
    return replace(decomposition, subquestions=said)


def residual_question(question: str, tables: Sequence[str], unmet: Sequence[str], llm: LLM | None) -> str:
    """The part of a question that the tables do not answer, as a search text; empty if nothing is missing.

    `tables` are lines that describe the tables. Without a model the needs that no table meets are the text.
    """
    if llm is None:
        return " ".join(unmet)
    shown = "\n".join(tables)
    data = _reply(
        "residual",
        f"Question: <<<{unmarked(question)}>>>\nTables:\n<<<\n{unmarked(shown)}\n>>>",
        _RESIDUAL,
        llm,
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
    system = (_FOLDER / f"{prompt}.txt").read_text(encoding="utf-8")
    try:
        return reply_data(llm, system, said, schema=schema, stage=prompt, max_tokens=600)
    except LLMReplyError:
        return {}
