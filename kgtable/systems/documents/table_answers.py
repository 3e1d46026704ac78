"""What the tables answer: a program over all that were found, or over the table that fits the question best alone.

The ranker of programs weighs a table by little. Where its program is unsure and reads another table than the one whose
place fits best, the best one is asked alone, and the likelier of the two answers is taken, by learned weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import answer_by_rules
from kgtable.resources import read_packaged_json

LEAST_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class TableAnswers:
    """The answer over all tables, and the one over the best table alone where that was asked.

    `share` is the probability of the place whose table the first one reads, `best` that of the best place.
    """

    over_all: Answer
    over_best: Answer | None = None
    share: float = 0.0
    best: float = 0.0

    @property
    def features(self) -> tuple[tuple[str, float], ...]:
        """What speaks for the answer over the best table."""
        alone = self.over_best
        return (
            ("best", 1.0),
            ("confidence-all", log_odds(self.over_all.confidence or 0.0)),
            ("confidence-best", log_odds(0.0 if alone is None else alone.confidence or 0.0)),
            ("share-all", log(max(self.share, LEAST_SHARE))),
            ("share-best", log(max(self.best, LEAST_SHARE))),
        )

    def chosen(self, weights: Mapping[str, float]) -> Answer:
        """The likelier answer by these weights.

        That of the best table alone is never verified: in another table something else fits about as well. Its
        confidence is that of its program, given the table, times the probability of the place.
        """
        alone = self.over_best
        if alone is None or not alone.found or self.over_all.verified:
            return self.over_all
        if sum(weights.get(name, 0.0) * value for name, value in self.features) <= 0:
            return self.over_all
        reasons = ["Read from the table that fits the question best; others were not ruled out."]
        if self.over_all.found:
            reasons.append(f"Another table may mean something else: {self.over_all.text[:120]}.")
        return replace(
            alone, verified=False, reasons=tuple(reasons), confidence=(alone.confidence or 0.0) * self.best
        )


def table_answers(evidence: Evidence) -> TableAnswers:
    """The answers of the tables, ranked by their places where the retrieval tells them."""
    retrieval = evidence.retrieval
    by_place = retrieval.trace.get("tables") or retrieval.tables
    over_all = answer_by_rules(Evidence(replace(retrieval, tables=tuple(by_place)), evidence.source))
    shares = {place.table: place.score for place in by_place}
    read = next((citation.table for citation in over_all.citations), None)
    first = by_place[0]
    if over_all.verified or read == first.table or not retrieval.trace.get("tables"):
        return TableAnswers(over_all)
    alone = answer_by_rules(Evidence(replace(retrieval, tables=(first,)), evidence.source))
    return TableAnswers(over_all, alone, shares.get(read or "", 0.0), first.score)


def table_weights() -> dict[str, float]:
    """The learned weight of each feature of `TableAnswers`, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/table_weights.json")
    return weights


def log_odds(probability: float) -> float:
    """The logarithm of the odds, within bounds."""
    bounded = min(max(probability, 0.01), 0.99)
    return log(bounded / (1 - bounded))
