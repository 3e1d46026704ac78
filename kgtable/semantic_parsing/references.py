"""Candidates over rows that refer to other rows: more than a named row, the same as it, in both, in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Compare,
    Expression,
    Filter,
    Limit,
    Lookup,
    Membership,
    Named,
    Not,
    Project,
    Relator,
    Rows,
    Sort,
    SortKey,
    TableRows,
)
from kgtable.semantic_parsing.candidates import Candidate
from kgtable.semantic_parsing.grammar import AGGREGATES, Grammar
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView
from kgtable.semantic_parsing.sources import ConditionSet, condition_set

MOST_PAIRS = 4
"""Pairs of conditions that are looked at for members that meet both."""

LEAST_QUALITY = 0.7
"""Of conditions on the rows that are referred to."""

_VALUES = frozenset(("exact", "partial", "time", "number"))


class References(Grammar):
    """Operators whose rows are chosen by what other rows hold."""

    def _same_as(self) -> Iterator[Candidate]:
        """Other rows that share a value with the rows of a condition."""
        source, cues = self.source, self.cues
        mask = cues.get("same", 0) | cues.get("other", 0)
        if not mask:
            return
        for conditions in self.sets[:3]:
            expression = conditions.expression()
            if expression is None:
                continue
            for view in self.targets[:3]:
                if view.place in conditions.columns:
                    continue
                known = Lookup(Filter(source.rows(conditions.choice), expression), view.ref)
                rows = Filter(source.rows(), And((Compare(Relator.EQUAL, view.ref, known), Not(expression))))
                place = conditions.conditions[0].column
                column = source.columns[place] if place >= 0 else source.labels[0]
                yield self.make(
                    "same_as", Project(rows, (Named(column.ref),), True), conditions, target=column,
                    measure=view, mask=mask,
                )  # fmt: skip
                counted = Aggregate(AggregateFunction.COUNT, None, rows)
                yield self.make("same_as/count", counted, conditions, measure=view, mask=mask)

    def _beyond_row(self) -> Iterator[Candidate]:
        """Rows with more of a measure than one row has: a row that is named, or the extreme of another column."""
        source, cues, question = self.source, self.cues, self.question
        compared = Question._all(token for adjective, token in question.adjectives if adjective.comparative)
        compared |= cues.get("more_than", 0) | cues.get("less_than", 0)
        if source.join is not None or "than" not in cues or not compared or question.thresholds:
            return
        than = (cues["than"] & -cues["than"]) - 1  # the tokens before it
        for view in self.measures[:2]:
            relator = Relator.GREATER if self._wants_more(view) else Relator.LESS
            if source.link(view).mask and not source.link(view).mask & than:
                continue
            for conditions, reference, mask in self._rows_named(view):
                if (mask | conditions.mask) & than:
                    continue
                rows = Filter(source.rows(), Compare(relator, view.ref, Lookup(reference, view.ref)))
                for target in [target for target in self.targets[:4] if not target.measure][:3]:
                    yield self.make(
                        "beyond", Project(rows, (Named(target.ref),)), conditions, target=target,
                        measure=view, mask=compared | mask,
                    )  # fmt: skip
                counted = Aggregate(AggregateFunction.COUNT, None, rows)
                yield self.make("beyond/count", counted, conditions, measure=view, mask=compared | mask)

    def _rows_named(self, measure: ColumnView) -> Iterator[tuple[ConditionSet, Rows, int]]:
        """Rows that others are compared with: their conditions, the rows, and the tokens of a superlative."""
        source = self.source
        for conditions in self.sets[:2]:
            if len(conditions.conditions) == 1 and conditions.conditions[0].kind in ("exact", "partial"):
                yield conditions, conditions.over(source.rows(conditions.choice)), 0
        for adjective, token in self.question.adjectives:
            if not adjective.superlative:
                continue
            named = [v for v in self.sortables if v.place != measure.place and source.link(v).score >= 0.5]
            for by in named[:2]:
                signs = [adjective.headers[stem] for stem in sorted(by.aspects) if stem in adjective.headers]
                down = (signs[0] if signs else adjective.sign) > 0
                first = Limit(Sort(source.rows(), (SortKey(by.ref, down),)), 1)
                yield condition_set([]), first, token | source.link(by).mask

    def _wants_more(self, view: ColumnView) -> bool:
        """Whether rows with larger numbers of a column have more of the question's comparative."""
        for adjective, _ in self.question.adjectives:
            if adjective.comparative:
                signs = [adjective.headers[s] for s in sorted(view.aspects) if s in adjective.headers]
                return (signs[0] if signs else adjective.sign) > 0
        return "less_than" not in self.cues

    def _in_both(self) -> Iterator[Candidate]:
        """Members of a column that have a row of one value and a row of another: *in both 2014 and 2015*."""
        source, cues = self.source, self.cues
        if not cues.keys() & {"both", "and"}:
            return
        values = [c for c in source.conditions if c.kind in _VALUES and c.relation in ("", "in", "header")]
        pairs = [
            (one, other)
            for one, other in combinations(values[:8], 2)
            if one.column == other.column >= 0 and one.kind == other.kind and not one.mask & other.mask
        ]
        for one, other in pairs[:MOST_PAIRS]:
            both = condition_set([one, other])
            for view in self.targets[:4]:
                if view.place == one.column or view.measure or not self._repeats(view):
                    continue
                met: list[Expression] = [
                    Membership(view.ref, Project(condition_set([c]).over(source.rows()), (Named(view.ref),)))
                    for c in (one, other)
                ]
                rows = Filter(source.rows(), And(tuple(met)))
                mask = cues.get("both", 0)
                yield self.make("both", Project(rows, (Named(view.ref),), True), both, target=view, mask=mask)
                for shown in self._lists(self._of_side(view), both.mask):
                    root = Project(rows, tuple(Named(each.ref) for each in shown), True)
                    yield self.make("both/columns", root, both, target=shown[0], mask=mask, others=shown)
                counted = Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref, rows)
                yield self.make("both/count", counted, both, target=view, mask=mask)

    def _never_within(self) -> Iterator[Candidate]:
        """Members of a column of which no row meets a condition."""
        source, cues = self.source, self.cues
        for conditions in self.sets[:4]:
            if not conditions.conditions or any(
                c.kind.startswith(("not", "missing")) for c in conditions.conditions
            ):
                continue
            for view in self.targets[:2]:
                if view.place in conditions.columns or view.distinct >= view.filled:
                    continue
                met = Project(conditions.over(source.rows()), (Named(view.ref),))
                rows = Filter(source.rows(), Not(Membership(view.ref, met)))
                root = Project(rows, (Named(view.ref),), True)
                yield self.make("never/within", root, conditions, target=view, mask=cues["negation"])
                counted = Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref, rows)
                yield self.make("never/within/count", counted, conditions, target=view, mask=cues["negation"])

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
                        yield self.make(
                            f"{name}/{aggregate}", of_rows, conditions, measure=view, mask=mask | told
                        )

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

    def _of_side(self, view: ColumnView) -> Sequence[ColumnView]:
        """The columns of the table that a column of a join belongs to."""
        part = self.source.part_of(view.place)
        return [v for v in self.source.columns if self.source.part_of(v.place) == part]
