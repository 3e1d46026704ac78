"""Candidates over several values: differences, ratios, shares, changes, which of two, columns side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Expression,
    Filter,
    Function,
    GroupBy,
    Limit,
    Lookup,
    Named,
    Not,
    Operator,
    Or,
    Project,
    Relator,
    RowChoice,
    Sort,
    SortKey,
)
from kgtable.questions.candidates import Candidate
from kgtable.questions.conditions import Condition
from kgtable.questions.english import linking_verbs
from kgtable.questions.grammar import MOST_MEASURES, Grammar
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import condition_set
from kgtable.tables.model import Role


class Comparisons(Grammar):
    """Operators that take two values or more apart."""

    def _pairs(self) -> Iterator[Candidate]:
        """Two entities of one column: their difference, ratio, and which of them has more."""
        source, cues, _question = self.source, self.cues, self.question
        if not cues.keys() & {
            "difference",
            "change",
            "ratio",
            "share",
            "percent",
            "than",
            "or",
            "more_than",
            "less_than",
            "both",
            "total",
            "average",
            "and",
            "days_between",
            "between",
            "first",
            "last",
            "how_long",
            "next",
            "previous",
            "same",
        }:
            return
        named = [
            c
            for c in source.conditions
            if c.kind in ("exact", "partial", "contains", "number", "time")
            and (c.relation in ("", "in", "month", "header"))
        ][:9]
        done = 0
        for one, other in combinations(named, 2):
            if one.column != other.column or one.mask & other.mask or one.column < 0:
                continue
            if (one.mask & -one.mask) > (other.mask & -other.mask):
                one, other = other, one
            rest = [
                c
                for c in source.conditions
                if not c.mask & (one.mask | other.mask) and c.column != one.column and c.quality >= 0.6
            ][:1]
            for extra in ([], rest) if rest else ([],):
                done += 1
                if done > 5:
                    return
                yield from self._pair(one, other, extra)

    def _names_whole_first(self, one: Condition, other: Condition) -> bool:
        """Whether it says "what share of the whole was the part", and not "the share of the part in the whole"."""
        start = (one.mask & -one.mask).bit_length() - 1
        said = self.cues.get("share", 0) & ((1 << start) - 1)
        words = self.question.tokens[one.mask.bit_length() : (other.mask & -other.mask).bit_length() - 1]
        return bool(said) and any(token.word in linking_verbs() for token in words)

    def _pair(self, one: Condition, other: Condition, extra: Sequence[Condition]) -> Iterator[Candidate]:
        source, cues, question = self.source, self.cues, self.question
        both = condition_set([one, other, *extra])
        first_set, second_set = condition_set([one, *extra]), condition_set([other, *extra])
        choice = both.choice
        rows_one, rows_other = first_set.over(source.rows(choice)), second_set.over(source.rows(choice))
        column = source.columns[one.column]
        timed = one.kind == "time"
        measures = [view for view in self.sortables if view.place != one.column][: MOST_MEASURES + 1]

        either = Or((one.expression, other.expression))
        union = Filter(source.rows(choice), either if not extra else And((either, *(c.expression for c in extra))))
        adjectives = Question._all(token for _, token in question.adjectives)
        for view in measures:
            left: Expression = Lookup(rows_one, view.ref)
            right: Expression = Lookup(rows_other, view.ref)
            costs = self._spending if self._shows_costs_below_zero(view) else 0
            if costs:
                left, right = (Apply(Function.ABSOLUTE, value) for value in (left, right))
            late, early = (right, left) if timed else (left, right)
            if (
                cues.keys()
                & {
                    "difference",
                    "change",
                    "more_than",
                    "less_than",
                    "days_between",
                    "how_long",
                    "up",
                    "down",
                    "how_many",
                    "how_much",
                }
                and view.role is not Role.ORDINAL
            ):
                # "How much faster was A than B": what A has less of the time, so that the answer is positive.
                less = not timed and self._measures_the_other_way(view) != self._says_other_first(one)
                ends = (early, late) if less else (late, early)
                for name, node in (
                    ("difference/rows", Arithmetic(Operator.SUBTRACT, *ends)),
                    ("difference/rows/reverse", Arithmetic(Operator.SUBTRACT, *reversed(ends))),
                ):
                    if view.measure or view.temporal:
                        yield from self._maybe_converted(
                            name + ("/time" if timed else "/date" if view.temporal else ""),
                            node,
                            both,
                            view,
                            0,
                        )
            if view.measure:
                if cues.keys() & {"percent", "rate", "change"} and timed:
                    yield self.make(
                        "percent_change/rows",
                        Arithmetic(Operator.PERCENT_CHANGE, early, late),
                        both,
                        measure=view,
                    )
                if cues.keys() & {"ratio", "share", "percent"}:
                    part, whole = (right, left) if self._names_whole_first(one, other) else (left, right)
                    yield self.make("ratio/rows", Arithmetic(Operator.RATIO, part, whole), both, measure=view)
                    yield self.make("share/rows", Arithmetic(Operator.SHARE, part, whole), both, measure=view)
                if cues.keys() & {"total", "and", "both"}:
                    yield self.make("sum/rows", Aggregate(AggregateFunction.SUM, view.ref, union), both, measure=view)
                if "average" in cues:
                    yield self.make("mean/rows", Aggregate(AggregateFunction.MEAN, view.ref, union), both, measure=view)
            signs = self._pair_signs(view)
            for down, token in signs:
                if "or" in cues or question.wh in ("which", "who", "other"):
                    order = Sort(union, (SortKey(view.ref, down),))
                    if view.adds_up and max(one.size, other.size) > 1:  # "more hours" are those of all rows
                        summed = Named(Aggregate(AggregateFunction.SUM, view.ref), "sum")
                        groups = GroupBy(union, (Named(column.ref, "name"),), (summed,))
                        order = Sort(groups, (SortKey(ColumnRef("sum"), down),))
                    shown = Named(ColumnRef("name") if isinstance(order.source, GroupBy) else column.ref)
                    root = Project(Limit(order, 1), (shown,))
                    yield self.make("compare", root, both, measure=view, mask=token | cues.get("or", 0) | adjectives)
                if question.wh == "yes_no" and (view.measure or view.temporal):
                    relator = Relator.GREATER if down else Relator.LESS
                    yield self.make(
                        "compare_yes",
                        Compare(relator, left, right),
                        both,
                        measure=view,
                        mask=token | adjectives | costs,
                    )

    def _says_other_first(self, one: Condition) -> bool:
        """Whether what is compared with is named first, as A of "how many more points than A did B get"."""
        than = self.cues.get("than", 0)
        return bool(than) and one.mask > than and not than >> one.mask.bit_length()

    def _measures_the_other_way(self, view: ColumnView) -> bool:
        """Whether the one with more of the question's comparative has the smaller number of a column."""
        return any(not down for down, token in self._pair_signs(view) if token & self._comparatives)

    @property
    def _comparatives(self) -> int:
        return Question._all(token for adjective, token in self.question.adjectives if adjective.comparative)

    def _pair_signs(self, view: ColumnView | None) -> list[tuple[bool, int]]:
        """Whether the larger wins, by the question's comparative and what the column measures."""
        found: list[tuple[bool, int]] = []
        for adjective, token in self.question.adjectives:
            sign = (
                next((adjective.headers[s] for s in sorted(view.aspects) if s in adjective.headers), 0) if view else 0
            )
            if view is not None and not sign and view.role is Role.ORDINAL:
                sign = -adjective.sign
            found.append(((sign or adjective.sign) > 0, token))
        for cue, down in (
            ("first", False),
            ("previous", False),
            ("last", True),
            ("next", True),
            ("more_than", True),
            ("less_than", False),
        ):
            if not found and cue in self.cues and (cue in ("more_than", "less_than") or view is None or view.temporal):
                found.append((down, self.cues[cue]))
        return list(dict.fromkeys(found))[:2] or [(True, 0)]

    def _shares(self) -> Iterator[Candidate]:
        """The share of a row in its total, and of some rows in all."""
        source, cues = self.source, self.cues
        if not cues.keys() & {"share", "percent", "ratio"}:
            return
        totals = any(part.index.has_totals for part in source.links)
        for conditions in self.sets[:3]:
            if not conditions.conditions:
                continue
            rows = conditions.over(source.rows(conditions.choice))
            everything = source.rows()
            for view in list(
                self._ranked(
                    [
                        view
                        for view in source.columns
                        if view.measure and not view.whole and view.place not in conditions.columns
                    ]
                )
            )[:3]:
                part = Aggregate(AggregateFunction.SUM, view.ref, rows)
                yield self.make(
                    "share/sum",
                    Arithmetic(Operator.SHARE, part, Aggregate(AggregateFunction.SUM, view.ref, everything)),
                    conditions,
                    measure=view,
                )
                if totals:
                    whole = Lookup(Limit(source.rows(RowChoice.TOTALS), 1), view.ref)
                    yield self.make("share/total", Arithmetic(Operator.SHARE, part, whole), conditions, measure=view)
            counted = Aggregate(AggregateFunction.COUNT, None, rows)
            yield self.make(
                "share/count",
                Arithmetic(Operator.SHARE, counted, Aggregate(AggregateFunction.COUNT, None, everything)),
                conditions,
            )

    def _rows_compared(self) -> Iterator[Candidate]:
        """Rows of which one column is more than another, or than the mean; the row that changed most."""
        source, cues, _question = self.source, self.cues, self.question
        if source.join is not None or not source.labels:
            return
        nothing = condition_set([])
        label = source.labels[0]
        focus = [view for view in self.targets[:2] if not view.measure] or [label]
        linked = [view for view in source.columns if source.link(view).exact and view.numeric]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        moved = cues.keys() & {"change", "up", "down", "more_than", "less_than"}
        if moved:
            pairs = [self._as_named(*pair) for pair in combinations(linked[:3], 2)]
            for one, other in pairs:
                if source.link(one).mask == source.link(other).mask:
                    continue
                early, late = self._in_order(one, other)
                timed = bool(early.period and late.period)
                if "than" in cues:
                    relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                    holds: Expression = Compare(relator, one.ref, other.ref)
                else:
                    relator = Relator.LESS if "down" in cues else Relator.GREATER
                    holds = Compare(relator, late.ref, early.ref)
                negation = cues.get("negation", 0)
                if negation and moved == {"change"}:
                    holds = Compare(Relator.EQUAL, late.ref, early.ref)  # what did not change neither rose nor fell
                elif negation:
                    holds = Not(holds)
                rows = Filter(source.rows(), holds)
                moves = Question._all(cues.get(cue, 0) for cue in moved) | negation
                for view in focus:
                    yield self.make(
                        "change_rows",
                        Project(rows, (Named(view.ref),)),
                        nothing,
                        target=view,
                        mask=moves,
                        others=(one, other),
                        also=("timed",) if timed else (),
                    )
                yield self.make(
                    "change_rows/count",
                    Aggregate(AggregateFunction.COUNT, None, rows),
                    nothing,
                    mask=moves,
                    others=(one, other),
                )
                superlative = any(adjective.superlative for adjective, _ in self.question.adjectives)
                for down, token, _, _ in self._directions()[: int(superlative)]:
                    gain: Expression = Arithmetic(Operator.SUBTRACT, late.ref, early.ref)
                    falling = "down" in cues and "less_than" not in cues
                    order = Sort(source.rows(), (SortKey(gain, down != falling),))
                    for view in focus:
                        yield self.make(
                            "change_extreme",
                            Project(Limit(order, 1, ties=True), (Named(view.ref),)),
                            nothing,
                            target=view,
                            mask=token | moves,
                            others=(one, other),
                        )
        if cues.keys() & {"difference", "change", "how_long", "days_between"}:
            for conditions in self.sets[:2]:
                if not conditions.conditions:
                    continue
                chosen = conditions.over(source.rows(conditions.choice))
                dates = sorted([v for v in self.sortables if v.temporal][:3], key=lambda view: view.place)
                for one, other in combinations(dates, 2):
                    root: Expression = Arithmetic(Operator.SUBTRACT, Lookup(chosen, other.ref), Lookup(chosen, one.ref))
                    yield from self._maybe_converted("difference/dates", root, conditions, other, 0, (one,))
