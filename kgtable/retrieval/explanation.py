"""How a retrieval came about, step by step: for people as text, for programs as JSON."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 10
"""Tables and triples an explanation names, the best ones."""

_TRACED: Mapping[str, tuple[str, ...]] = {
    "labels": ("labels", "labels_refused"),
    "contains": ("contains",),
    "expansion": ("expanded",),
    "candidates": ("candidates",),
    "scores": ("scored",),
    "tables": ("hyperedges", "candidate_tables", "relations"),
    "reranking": ("reranked", "rerank_refused"),
    "triples": ("read_from",),
    "rank": ("format", "pieces", "substitutes"),
}
"""What the trace of a retrieval tells of each step."""

_PHRASES: Mapping[str, str] = {
    "labels_refused": "the model's labels were unusable",
    "candidates": "cells matched",
    "scored": "cells scored",
    "rerank_refused": "the model's order was unusable",
    "reranked": "put first",
    "candidate_tables": "candidates",
    "relations": "edges",
    "pieces": "texts compared",
    "read_from": "read when looked at, from the",
}


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One step of a retrieval: its name, its time in milliseconds, and what it found."""

    name: str
    ms: float
    found: Mapping[str, Any]

    def __str__(self) -> str:
        parts = []
        for name, value in self.found.items():
            if name in ("labels", "expanded", "contains"):
                parts.append(_words(value))
            else:
                parts.append(f"{_PHRASES.get(name, name)}: {_words(value)}")
        return f"{self.name:<11}{self.ms:>9.1f} ms  {'; '.join(filter(None, parts))}".rstrip()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of a retrieval in order, and the tables and triples it ranks first.

    `tables` are pairs of table id and score, `triples` pairs of a one-line text and score.
    """

    question: str
    method: str
    steps: tuple[ExplainedStep, ...]
    total_ms: float
    tables: tuple[tuple[str, float], ...]
    triples: tuple[tuple[str, float], ...]

    def to_json(self) -> dict[str, Any]:
        """The value of ``"explanation"`` in ``kgtable retrieve --explain --format json``."""
        return {
            "method": self.method,
            "steps": [{"step": step.name, "ms": round(step.ms, 3), **step.found} for step in self.steps],
            "total_ms": round(self.total_ms, 3),
            "tables": [{"table": table, "score": score} for table, score in self.tables],
            "triples": [{"triple": triple, "score": score} for triple, score in self.triples],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _lines(self) -> Iterator[str]:
        yield f"method {self.method}"
        yield from map(str, self.steps)
        yield f"{'total':<11}{self.total_ms:>9.1f} ms"
        for title, ranked in (("tables", self.tables), ("triples", self.triples)):
            if ranked:
                yield f"best {title}"
                yield from (f"  {score:.4f}  {name}" for name, score in ranked)


def explain(
    question: str,
    method: str,
    trace: Mapping[str, Any],
    timings_ms: Mapping[str, float],
    tables: Sequence[tuple[str, float]],
    triples: Sequence[tuple[str, float]],
) -> Explanation:
    """Explain a retrieval from its trace and timings; only the best `SHOWN` tables and triples are kept."""
    steps = []
    for name, ms in timings_ms.items():
        if name == "total":
            continue
        found = {key: _plain(trace[key]) for key in _TRACED.get(name, ()) if key in trace}
        steps.append(ExplainedStep(name, ms, found))
    total = timings_ms.get("total", sum(timings_ms.values()))
    return Explanation(question, method, tuple(steps), total, tuple(tables[:SHOWN]), tuple(triples[:SHOWN]))


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_words(inner)}" for key, inner in value.items() if inner)
    if isinstance(value, list):
        return ", ".join(_words(inner) for inner in value)
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return "".join(sign if sign.isprintable() else " " for sign in text)
