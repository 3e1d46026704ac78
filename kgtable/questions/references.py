"""Candidates over rows that refer to other rows: more than a named row, the same as it, in both, in none."""

from __future__ import annotations

from collections.abc import Iterator

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Expression,
    Filter,
    Membership,
    Named,
    Not,
    Project,
    Rows,
    TableRows,
)
from kgtable.questions.candidates import Candidate
from kgtable.questions.grammar import AGGREGATES, Grammar
from kgtable.questions.reading import Question
from kgtable.questions.sources import ConditionSet, condition_set

LEAST_QUALITY = 0.7
"""Of conditions on the rows that are referred to."""


class References(Grammar):
    """Operators whose rows are chosen by what other rows hold."""

    def _referred_to(self) -> Iterator[Candidate]:
        """Rows of one table that some row of the other refers to, or none does: of all, or of those of a condition.

        A row counts once, however many refer to it: "the average age of the members with a loan".
        """
        source, negation = self.source, self.cues.get("negation", 0)
        if source.join is None:
            return
        keys = source.join.left, source.join.right
        name = "never" if negation else "ever"
        for place in (0, 1):
            own_id, other_id = source.links[place].index.id, source.links[1 - place].index.id
            named = Question._all(source.link(v).mask for v in source.columns if v.ref.table == other_id)
            title = source.links[1 - place].title
            if not negation and not title:
                continue
            mask = negation | named | title
            own = [view for view in self.targets if view.ref.table == own_id]
            for conditions in self._of_other(1 - place):
                referred = Project(conditions.over(TableRows((other_id,))), (Named(keys[1 - place]),))
                among: Expression = Membership(keys[place], referred)
                rows = Filter(TableRows((own_id,)), Not(among) if negation else among)
                for view in own[:3] if negation else ():  # else the join gives them
                    root: Rows = Project(rows, (Named(view.ref),), True)
                    yield self.make("never", root, conditions, target=view, mask=mask)
                for shown in self._lists(own, conditions.mask):
                    root = Project(rows, tuple(Named(each.ref) for each in shown), True)
                    yield self.make(name, root, conditions, target=shown[0], mask=mask, others=shown)
                counted = Aggregate(AggregateFunction.COUNT, None, rows)
                yield self.make(f"{name}/count", counted, conditions, mask=mask)
                for aggregate, told in self._aggregates_named():
                    for view in [v for v in self.measures if v.ref.table == own_id][:2]:
                        of_rows = Aggregate(AGGREGATES[aggregate], view.ref, rows)
                        yield self.make(f"{name}/{aggregate}", of_rows, conditions, measure=view, mask=mask | told)

    def _of_other(self, part: int) -> Iterator[ConditionSet]:
        """No condition, and the likeliest conditions on the columns of one part of a join, none negated."""
        yield condition_set([])
        within = [
            condition
            for condition in self.source.conditions
            if condition.column >= 0
            and self.source.part_of(condition.column) == part
            and condition.quality >= LEAST_QUALITY
            and condition.kind not in ("missing", "zero")
        ]
        yield from (condition_set([condition]) for condition in within[:2])
