"""The context of a prompt: retrieved triples in some presentation, cut to a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from kgtable.answering.evidence import Evidence
from kgtable.answering.tokens import TokenCounter, estimate_tokens
from kgtable.errors import AnswerError
from kgtable.retrieval.result import ScoredTriple

Kind = Literal["triples", "tables"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What is shown or cut as one: a triple, a row's triples, or (`row` None) a whole table."""

    table: str
    row: int | None
    triples: tuple[ScoredTriple, ...]
    score: float


def by_row(triples: Iterable[ScoredTriple]) -> list[Unit]:
    """The triples of each row as one unit, scored as its best triple."""
    rows: dict[tuple[str, int], list[ScoredTriple]] = {}
    for triple in triples:
        rows.setdefault((triple.table, triple.row), []).append(triple)
    return [
        Unit(table, row, tuple(sorted(found, key=lambda t: t.column)), max(t.score for t in found))
        for (table, row), found in rows.items()
    ]


class Presentation(Protocol):
    """A way to lay out what was retrieved. `kind` says which instructions and examples go with it."""

    name: str
    kind: Kind
    reading: str
    """How to read it and how to cite from it, for the prompt."""

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Everything that can be shown, by falling score."""
        ...

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """The text that shows these units."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The text that goes into a prompt, and what was left out of it for want of room."""

    text: str
    tokens: int
    presentation: str
    shown: tuple[Unit, ...] = field(repr=False)
    cut: tuple[Unit, ...] = field(repr=False)

    def report(self) -> dict[str, Any]:
        """Counts of what is shown and what was cut, as plain JSON values."""
        shown_tables = {unit.table for unit in self.shown}
        return {
            "presentation": self.presentation,
            "tokens": self.tokens,
            "shown_rows": len({(u.table, u.row) for u in self.shown}),
            "cut_rows": len({(u.table, u.row) for u in self.cut} - {(u.table, u.row) for u in self.shown}),
            "shown_triples": sum(len(unit.triples) for unit in self.shown),
            "cut_triples": sum(len(unit.triples) for unit in self.cut),
            "shown_tables": len(shown_tables),
            "cut_tables": len({unit.table for unit in self.cut} - shown_tables),
        }


def make_context(
    evidence: Evidence, presentation: Presentation, budget: int, count: TokenCounter = estimate_tokens
) -> Context:
    """As many of the best units as fit into `budget` tokens, never a part of one.

    Raises `AnswerError` where not even the best one fits.
    """
    units = sorted(presentation.units(evidence), key=lambda unit: -unit.score)
    fitting, beyond = 0, len(units) + 1
    texts = {0: ""}
    attempt = len(units)
    while fitting + 1 < beyond:
        texts[attempt] = presentation.render(units[:attempt], evidence)
        if count(texts[attempt]) <= budget:
            fitting = attempt
        else:
            beyond = attempt
        attempt = (fitting + beyond) // 2
    if units and not fitting:
        raise AnswerError(
            f"A context of {budget} tokens has no room for the best row.",
            hint="Raise KGTABLE_CONTEXT_TOKENS.",
        )
    text = texts[fitting]
    return Context(text, count(text), presentation.name, tuple(units[:fitting]), tuple(units[fitting:]))
