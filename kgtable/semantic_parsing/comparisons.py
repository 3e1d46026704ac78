"""Candidates over several values: differences, ratios, shares, changes, which of two, columns side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
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
    ValueKind,
)
from kgtable.programs.relation import ColumnRole
from kgtable.semantic_parsing.candidates import Candidate
from kgtable.semantic_parsing.conditions import Condition
from kgtable.semantic_parsing.english import linking_verbs, words_of_type
from kgtable.semantic_parsing.grammar import MOST_MEASURES, Grammar
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView
from kgtable.semantic_parsing.sources import condition_set

_AS_LARGE_AS = re.compile(r"\btimes as (?:\w+|(?:many|much)(?: \w+){1,3}?) as$")


_BEYOND = frozenset(("above", "below", "under", "over", "beneath", "beyond", "exceed", "exceeds", "exceeded"))


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
        opening = " ".join(token.word for token in self.question.tokens[:start] if token.word != "the")
        if _AS_LARGE_AS.search(opening):  # "how many times as large as A is B" is B over A
            return True
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
        union = Filter(
            source.rows(choice), either if not extra else And((either, *(c.expression for c in extra)))
        )
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
                and view.role is not ColumnRole.ORDINAL
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
                    yield self.make(
                        "sum/rows", Aggregate(AggregateFunction.SUM, view.ref, union), both, measure=view
                    )
                if "average" in cues:
                    yield self.make(
                        "mean/rows", Aggregate(AggregateFunction.MEAN, view.ref, union), both, measure=view
                    )
            signs = self._pair_signs(view)
            for down, token in signs:
                if "or" in cues or question.wh in ("which", "who", "other"):
                    order = Sort(union, (SortKey(view.ref, down),))
                    root = Project(Limit(order, 1), (Named(column.ref),))
                    yield self.make(
                        "compare", root, both, measure=view, mask=token | cues.get("or", 0) | adjectives
                    )
                if question.wh == "yes_no" and (view.measure or view.temporal):
                    relator = Relator.GREATER if down else Relator.LESS
                    yield self.make(
                        "compare_yes",
                        Compare(relator, left, right),
                        both,
                        measure=view,
                        mask=token | adjectives | costs,
                    )
        if question.wh == "yes_no" and "same" in cues:
            for view in [view for view in self.targets if view.place != one.column][:3]:
                equal = Compare(Relator.EQUAL, Lookup(rows_one, view.ref), Lookup(rows_other, view.ref))
                yield self.make("compare_yes/same", equal, both, target=view, mask=cues["same"])
        counts = [Aggregate(AggregateFunction.COUNT, None, rows) for rows in (rows_one, rows_other)]
        for down, token in self._pair_signs(None):
            if "or" in cues:
                key = GroupBy(
                    union, (Named(column.ref, "key"),), (Named(Aggregate(AggregateFunction.COUNT), "value"),)
                )
                root = Project(
                    Limit(Sort(key, (SortKey(ColumnRef("value"), down),)), 1), (Named(ColumnRef("key")),)
                )
                yield self.make("compare/count", root, both, mask=token | cues.get("or", 0) | adjectives)
                ordered = Project(
                    Limit(Sort(union, (SortKey(ColumnRef("@row"), down),)), 1), (Named(column.ref),)
                )
                yield self.make(
                    f"compare/position/{'last' if down else 'first'}",
                    ordered,
                    both,
                    mask=token | cues.get("or", 0) | adjectives,
                )
        if "difference" in cues:
            yield self.make("difference/count", Arithmetic(Operator.SUBTRACT, *counts), both)
        if "between" in cues and "how_many" in cues and not timed:
            position = [Lookup(rows, ColumnRef("@row")) for rows in (rows_one, rows_other)]
            apart = Arithmetic(
                Operator.SUBTRACT,
                Apply(Function.ABSOLUTE, Arithmetic(Operator.SUBTRACT, *position)),
                Constant(Decimal(1), ValueKind.QUANTITY),
            )
            yield self.make("difference/position", apart, both, mask=cues["between"])

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
                next((adjective.headers[s] for s in sorted(view.aspects) if s in adjective.headers), 0)
                if view
                else 0
            )
            if view is not None and not sign and view.role is ColumnRole.ORDINAL:
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
            if (
                not found
                and cue in self.cues
                and (cue in ("more_than", "less_than") or view is None or view.temporal)
            ):
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
                    yield self.make(
                        "share/total", Arithmetic(Operator.SHARE, part, whole), conditions, measure=view
                    )
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
            whole = self._named_in_full(linked)
            pairs = [self._as_named(*pair) for pair in combinations(whole[:3], 2)]
            for one, other in [*pairs, *self._beyond(linked)]:
                if source.link(one).mask == source.link(other).mask:
                    continue
                early, late = self._in_order(one, other)
                timed = bool(early.period and late.period)
                if "than" in cues or (one, other) not in pairs or self._stands_beyond(one, other):
                    relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                    holds: Expression = Compare(relator, one.ref, other.ref)
                elif self._opens_beyond(one, other):
                    relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                    holds = Compare(relator, other.ref, one.ref)
                else:
                    relator = Relator.LESS if "down" in cues else Relator.GREATER
                    holds = Compare(relator, late.ref, early.ref)
                negation = cues.get("negation", 0)
                if negation and moved == {"change"}:
                    holds = Compare(
                        Relator.EQUAL, late.ref, early.ref
                    )  # what did not change neither rose nor fell
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
        for cue, relator in (("above_average", Relator.GREATER), ("below_average", Relator.LESS)):
            if cue in cues:
                for by in self.measures[:2]:
                    mean = Aggregate(AggregateFunction.MEAN, by.ref, source.rows())
                    beyond = Filter(source.rows(), Compare(relator, by.ref, mean))
                    for view in self.targets[:3]:
                        yield self.make(
                            "select/average",
                            Project(beyond, (Named(view.ref),)),
                            nothing,
                            target=view,
                            measure=by,
                            mask=cues[cue],
                        )
                    yield self.make(
                        "count/average",
                        Aggregate(AggregateFunction.COUNT, None, beyond),
                        nothing,
                        measure=by,
                        mask=cues[cue],
                    )
        if cues.keys() & {"difference", "change", "how_long", "days_between"}:
            for conditions in self.sets[:2]:
                if not conditions.conditions:
                    continue
                chosen = conditions.over(source.rows(conditions.choice))
                dates = sorted([v for v in self.sortables if v.temporal][:3], key=lambda view: view.place)
                for one, other in combinations(dates, 2):
                    root: Expression = Arithmetic(
                        Operator.SUBTRACT, Lookup(chosen, other.ref), Lookup(chosen, one.ref)
                    )
                    yield from self._maybe_converted("difference/dates", root, conditions, other, 0, (one,))
                paired = self._opposed()
                for one, other, mask in paired:
                    root = Arithmetic(Operator.SUBTRACT, Lookup(chosen, one.ref), Lookup(chosen, other.ref))
                    yield self.make(
                        "difference/opposed", root, conditions, measure=one, others=(other,), mask=mask
                    )

    def _stands_beyond(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether *above* or *below* stands between the names of two columns: *in 2023 below their 2018 level*."""
        first, second = self.source.link(one).mask, self.source.link(other).mask
        words = (1 << token.index for token in self.question.tokens if token.word in _BEYOND)
        return any(first & -first < word < second & -second for word in words)

    def _opens_beyond(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether the limit is named first, right behind such a word: *above the alarm level on Friday*."""
        first = self.source.link(one).mask
        words = (1 << token.index for token in self.question.tokens if token.word in _BEYOND)
        return any(first & (word << 1 | word << 2) for word in words if first > word)

    def _is_within(self, view: ColumnView, other: ColumnView) -> bool:
        """Whether the words that name a column are part of another's name: the *level* of an *alarm level*."""
        mine, others = self.source.link(view).mask, self.source.link(other).mask
        return mine & others == mine != others

    def _named_in_full(self, linked: Sequence[ColumnView]) -> list[ColumnView]:
        """The columns that no other is named by more words than."""
        return [v for v in linked if not any(v is not o and self._is_within(v, o) for o in linked)]

    def _beyond(self, linked: Sequence[ColumnView]) -> list[tuple[ColumnView, ColumnView]]:
        """A measure and the one column named that limits it: *below their minimum stock* is said of the stock."""
        whole = self._named_in_full(linked)
        if len(whole) != 1 or not self.cues.keys() & {"more_than", "less_than"} or self.question.thresholds:
            return []
        limit = whole[0]
        others = [view for view in self.measures if view is not limit]
        shared = [view for view in others if set(view.stems) & set(limit.stems)]
        if limit.period:
            shared = [view for view in shared if view.period == limit.period]
        if not shared and set(limit.stems) & words_of_type("limit"):  # what was spent, beside a budget
            done = words_of_type("status") | words_of_type("spending")
            shared = [
                v for v in others if v.units == limit.units and set(v.stems) & done - words_of_type("limit")
            ]
        return [(view, limit) for view in shared[:1]]

    def _opposed(self) -> list[tuple[ColumnView, ColumnView, int]]:
        """Pairs of measures that share a word of the question and differ in another: *goals for*, *goals against*."""
        tokens = self.question.tokens
        asked = {token.stem for token in tokens}
        named = [
            view
            for view in self.source.columns
            if view.measure and len(view.stems) == 2 and not asked.isdisjoint(view.stems)
        ]
        found = []
        for one, other in combinations(named, 2):
            shared = asked & set(one.stems) & set(other.stems)
            if shared:
                mask = Question._all(1 << token.index for token in tokens if token.stem in shared)
                found.append((one, other, mask))
                if len(found) == 2:  # a table may have thousands of such columns
                    break
        return found
