"""Rival programs of an answer by rules: other readings of a question that fit it about as well.

A program with a near score is not a rival where the best one answers the question more closely: where it leaves
words out, where it guesses a column although the question names one, where it returns another kind of thing than
the question asks for, or where its answer is the same with further columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgtable.programs.algebra import ColumnRef, walk
from kgtable.questions.ranker import Executed
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ProgramSource

RIVAL_WITHIN = 1.0
"""How far below the best score a program is still a rival, in natural logarithms of odds."""

RIVAL_TABLE_WITHIN = 3.5
"""The same for the same operator over other tables."""

_LEAVES = ("uncovered", "cue:left")
_NAMED = 0.5
"""From which score of its link on a column counts as named."""


@dataclass(frozen=True)
class Interpretation:
    """The best program for a question, with its rivals, its confidence and the tables that were looked at."""

    question: Question
    best: Executed
    rivals: Sequence[Executed]
    confidence: float
    sources: Sequence[ProgramSource]

    @property
    def source(self) -> ProgramSource:
        """The table, or the join of two, that the best program reads."""
        return self.best.candidate.source

    @property
    def op(self) -> str:
        """The operator of the best program, without its variant."""
        return self.best.candidate.op.partition("/")[0]

    @property
    def target(self) -> ColumnView | None:
        """The column that the best program answers from."""
        return self.best.candidate.target


def rivals_of(best: Executed, others: Sequence[Executed]) -> list[Executed]:
    """The programs, of those with other answers, that fit about as well as the best."""
    return [other for other in others if _is_near(other, best)]


def _is_near(other: Executed, best: Executed) -> bool:
    if other.score < best.score - RIVAL_WITHIN:
        apart = other.candidate.source.ids != best.candidate.source.ids
        forms = {other.candidate.op, best.candidate.op}
        total = forms == {"select", "sum"} and "total" in best.candidate.source.question.cues
        same_form = len(forms) == 1 or total  # the total of one table, and what another adds up to
        if not (apart and same_form and other.score > best.score - RIVAL_TABLE_WITHIN):
            return False
    return all(other.features.get(name, 0.0) <= best.features.get(name, 0.0) + 1e-9 for name in _LEAVES)


def columns_read(executed: Executed) -> frozenset[ColumnRef]:
    """The columns that a program reads."""
    found = (node for node in walk(executed.candidate.program.root) if isinstance(node, ColumnRef))
    return frozenset(found)
