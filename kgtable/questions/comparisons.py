"""Candidates that compare two values: of two rows, of two columns of a row; and columns of periods side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
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
    Convert,
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
    Sort,
    SortKey,
    Unpivot,
    ValueKind,
)
from kgtable.programs.fields import Bucket, FieldColumn, FieldOrder, How
from kgtable.questions.candidates import Candidate
from kgtable.questions.conditions import Condition
from kgtable.questions.english import is_verb_form, linking_verbs, words_of_type
from kgtable.questions.grammar import AGGREGATES, MOST_MEASURES, Grammar
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet, condition_set
from kgtable.tables.model import Role
from kgtable.text.words import stem as stemmed

_YEAR = stemmed("year")
_YEARS = re.compile(r"(?:19|20)\d\d")
_DIFFERENCE = frozenset(("difference", "change", "down", "up", "more_than", "less_than", "how_much", "how_many"))
_PAIRS = _DIFFERENCE | {
    "ratio", "share", "percent", "than", "or", "both", "total", "average", "and", "days_between", "between", "first",
    "last", "how_long", "next", "previous", "same",
}  # fmt: skip
"""The operator words next to which two values of one column may be taken apart."""
_ORDERED = {"first": False, "previous": False, "last": True, "next": True, "more_than": True, "less_than": False}
"""Whether the larger of two values is meant next to an operator word."""


class Comparisons(Grammar):
    """Operators that take two values or more apart."""

    def _pairs(self) -> Iterator[Candidate]:
        """Two entities of one column: their difference, ratio, and which of them has more."""
        source = self.source
        if not self.cues.keys() & _PAIRS:
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

    def _pair(self, one: Condition, other: Condition, extra: Sequence[Condition]) -> Iterator[Candidate]:
        source, cues, question = self.source, self.cues, self.question
        both = condition_set([one, other, *extra])
        rows = [condition_set([each, *extra]).over(source.rows(both.choice)) for each in (one, other)]
        column = source.columns[one.column]
        timed = one.kind == "time"
        either = Or((one.expression, other.expression))
        holds = either if not extra else And((either, *(c.expression for c in extra)))
        union = Filter(source.rows(both.choice), holds)
        adjectives = Question._all(token for _, token in question.adjectives)
        for view in [view for view in self.sortables if view.place != one.column][: MOST_MEASURES + 1]:
            left, right, costs = self._costs(Lookup(rows[0], view.ref), Lookup(rows[1], view.ref), (view,))
            late, early = (right, left) if timed else (left, right)
            asked = cues.keys() & (_DIFFERENCE | {"days_between", "how_long"})
            if asked and view.role is not Role.ORDINAL and (view.measure or view.temporal):
                # "How much faster was A than B": what A has less of the time, so that the answer is positive.
                less = not timed and self._measures_the_other_way(view) != self._says_other_first(one)
                kind = "/time" if timed else "/date" if view.temporal else ""
                ends = (early, late) if less else (late, early)
                yield self._difference(f"difference/rows{kind}", ends, both, view)
                yield self._difference(f"difference/rows/reverse{kind}", ends[::-1], both, view)
            if view.measure and cues.keys() & {"ratio", "share", "percent"}:
                part, whole = (right, left) if self._names_whole_first(one.mask, other.mask) else (left, right)
                yield self.make("ratio/rows", Arithmetic(Operator.RATIO, part, whole), both, measure=view)
                yield self.make("share/rows", Arithmetic(Operator.SHARE, part, whole), both, measure=view)
            if view.measure and cues.keys() & {"total", "and", "both"}:
                yield self.filled("sum/rows", both, How.SUM, view, rows=union)
            for down, token in self._pair_signs(view):
                if "or" in cues or question.wh in ("which", "who", "other"):
                    order, name = Sort(union, (SortKey(view.ref, down),)), column.ref
                    if view.adds_up and max(one.size, other.size) > 1:  # "more hours" are those of all rows
                        summed = Named(Aggregate(AggregateFunction.SUM, view.ref), "sum")
                        name = ColumnRef("name")
                        groups = GroupBy(union, (Named(column.ref, "name"),), (summed,))
                        order = Sort(groups, (SortKey(ColumnRef("sum"), down),))
                    root = Project(Limit(order, 1), (Named(name),))
                    yield self.make("compare", root, both, measure=view, mask=token | cues.get("or", 0) | adjectives)
                if question.wh == "yes_no" and (view.measure or view.temporal):
                    truth = Compare(Relator.GREATER if down else Relator.LESS, left, right)
                    yield self.make("compare_yes", truth, both, measure=view, mask=token | adjectives | costs)

    def _costs(
        self, first: Expression, last: Expression, views: Sequence[ColumnView]
    ) -> tuple[Expression, Expression, int]:
        """Two values, those of costs below zero without their sign, and the tokens that speak of spending."""
        if not any(map(self._shows_costs_below_zero, views)):
            return first, last, 0
        return Apply(Function.ABSOLUTE, first), Apply(Function.ABSOLUTE, last), self._spending

    def _difference(
        self, op: str, ends: Sequence[Expression], conditions: ConditionSet, view: ColumnView, mask: int = 0,
        others: Sequence[ColumnView] = (),
    ) -> Candidate:  # fmt: skip
        """The first of two values less the second, in the unit that is asked for."""
        root: Expression = Arithmetic(Operator.SUBTRACT, *ends)
        named = ("large", "small", "most")
        for adjective, token in self.question.adjectives:
            if not view.aspects.isdisjoint(adjective.headers) or adjective.name in named:
                mask |= token
        timed = view.clock or view.kind is ValueKind.DURATION
        days = view.kind is ValueKind.DATE and not timed and "/date" in op
        unit = self._unit_asked(("SEC",) if timed else ("DAY",) if days else view.units)
        if unit is not None and self.question.unit_asked is not None:
            root, mask = Convert(root, unit), mask | self.question.unit_asked[1]
        also = ("convert",) if unit else ()
        return self.make(op, root, conditions, measure=view, mask=mask, also=also, others=others)

    def _names_whole_first(self, one: int, other: int) -> bool:
        """Whether it says "what share of the whole was the part", and not "the share of the part in the whole"."""
        one, other = one & ~other, other & ~one
        if not one or not other or one > other:
            return False
        tokens, part = self.question.tokens, (other & -other).bit_length() - 1
        # "What percentage of those enrolled responded" says the part with its verb.
        done = is_verb_form(tokens[part].word) and part + 1 == len(tokens)
        verb = any(token.word in linking_verbs() for token in tokens[one.bit_length() : part])
        return bool(self.cues.get("share", 0) & (one & -one) - 1) and (done or verb)

    def _says_other_first(self, one: Condition) -> bool:
        """Whether what is compared with is named first, as A of "how many more points than A did B get"."""
        than = self.cues.get("than", 0)
        return bool(than) and one.mask > than and not than >> one.mask.bit_length()

    def _measures_the_other_way(self, view: ColumnView) -> bool:
        """Whether the one with more of the question's comparative has the smaller number of a column."""
        comparatives = Question._all(token for adjective, token in self.question.adjectives if adjective.comparative)
        return any(not down for down, token in self._pair_signs(view) if token & comparatives)

    def _pair_signs(self, view: ColumnView) -> list[tuple[bool, int]]:
        """Whether the larger wins, by the question's comparative and what the column measures."""
        found: list[tuple[bool, int]] = []
        for adjective, token in self.question.adjectives:
            sign = next((adjective.headers[s] for s in sorted(view.aspects) if s in adjective.headers), 0)
            if not sign and view.role is Role.ORDINAL:
                sign = -adjective.sign
            found.append(((sign or adjective.sign) > 0, token))
        for cue, down in _ORDERED.items():
            if not found and cue in self.cues and (cue in ("more_than", "less_than") or view.temporal):
                found.append((down, self.cues[cue]))
        return list(dict.fromkeys(found))[:2] or [(True, 0)]

    def _rows_compared(self) -> Iterator[Candidate]:
        """Rows with one column greater than another; the days between two dates of a row."""
        source, cues = self.source, self.cues
        if source.join is not None or not source.labels:
            return
        nothing = condition_set([])
        focus = [view for view in self.targets[:2] if not view.measure] or [source.labels[0]]
        linked = [view for view in source.columns if source.link(view).exact and view.numeric]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        moved = cues.keys() & {"change", "up", "down", "more_than", "less_than"}
        for pair in combinations(linked[:3], 2) if moved else ():
            one, other = self._as_named(*pair)
            if source.link(one).mask == source.link(other).mask:
                continue
            early, late = self._in_order(one, other)
            if "than" in cues:
                relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                holds: Expression = Compare(relator, one.ref, other.ref)
            else:
                holds = Compare(Relator.LESS if "down" in cues else Relator.GREATER, late.ref, early.ref)
            negation = cues.get("negation", 0)
            if negation:
                holds = Not(holds)
            rows = Filter(source.rows(), holds)
            mask = Question._all(cues.get(cue, 0) for cue in moved) | negation
            also = ("timed",) if early.period and late.period else ()
            for view in focus:
                yield self.filled("change_rows", nothing, ask=[view], rows=rows, mask=mask, others=pair, also=also)
            yield self.filled("change_rows/count", nothing, How.COUNT, rows=rows, mask=mask, others=pair)
            superlative = any(adjective.superlative for adjective, _ in self.question.adjectives)
            for down, token, _, _ in self._directions()[: int(superlative)]:
                falling = "down" in cues and "less_than" not in cues
                gain = SortKey(Arithmetic(Operator.SUBTRACT, late.ref, early.ref), down != falling)
                best = Limit(Sort(source.rows(), (gain,)), 1, ties=True)
                for view in focus:
                    yield self.filled("change_extreme", nothing, ask=[view], rows=best, mask=token | mask, others=pair)
        dates = sorted([v for v in self.sortables if v.temporal][:3], key=lambda view: view.place)
        wanted = cues.keys() & {"difference", "change", "how_long", "days_between"}
        for conditions in self.sets[:2] if wanted else ():
            of = self._rows_of(conditions)
            for one, other in combinations(dates, 2) if conditions.conditions else ():
                ends = Lookup(of, other.ref), Lookup(of, one.ref)
                yield self._difference("difference/dates", ends, conditions, other, 0, (one,))

    def _by_columns(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Calculations across the columns of one row: years side by side, two measures."""
        source, question = self.source, self.question
        if source.join is not None or not conditions.conditions:
            return
        periods = [
            view
            for view in source.columns
            if view.period and (view.numeric or view.kind is ValueKind.TEXT) and view.place not in conditions.columns
        ]
        linked = [
            view
            for view in source.columns
            if source.link(view).exact and view.numeric and view.place not in conditions.columns
        ]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        asked = [view for view in periods if view in linked]
        pairs = [
            (one, other)
            for one, other in combinations(linked[:4], 2)
            if source.link(one).mask != source.link(other).mask
        ]
        if not pairs and len(periods) == 2 and len(question.times) == 0:
            pairs = [(periods[0], periods[1])]
        if not pairs and len(asked) == 1 and self.cues.keys() & {"change", "up", "down"}:
            # "The change in 2024" is that from the year before.
            earlier = [view for view in periods if view.period < asked[0].period]
            pairs = [(max(earlier, key=lambda view: view.period), asked[0])] if earlier else []
        for one, other in pairs[:3]:
            yield from self._calculated(conditions, *self._in_order(one, other))
        if len(periods) >= 2:
            yield from self._columns_beyond(conditions, periods, asked)

    def _columns_beyond(
        self, conditions: ConditionSet, periods: Sequence[ColumnView], asked: Sequence[ColumnView]
    ) -> Iterator[Candidate]:
        """The columns with the most or least of a row, those beyond a number, and what they come to together."""
        cues = self.cues
        several = asked if len(asked) >= 2 else []
        columns = several or periods
        if len(several) == 2 and self._between(*several):  # the first and the last of several
            low, high = sorted(view.place for view in several)
            columns = [view for view in periods if low <= view.place <= high]
        wide = Unpivot(self._rows_of(conditions), tuple(view.ref for view in columns))
        value = FieldColumn("value")
        told, named = self._heading(columns)
        for down, token, _, _ in self._directions()[:1]:
            yield self.filled("column_extreme", conditions, shown=(told,), rows=wide, order=FieldOrder(value, down),
                              first=1, ties=True, mask=token | named, others=several)  # fmt: skip
        for threshold in self.question.thresholds[:1]:
            limit = Constant(threshold.number.value, ValueKind.QUANTITY, None, threshold.number.scale)
            beyond = Filter(wide, Compare(threshold.relator, value.expression, limit))
            beyond_it = partial(self.filled, rows=beyond, mask=threshold.mask | named, others=several)
            yield beyond_it("column_extreme/threshold", conditions, shown=(told,))
            yield beyond_it("column_extreme/count", conditions, How.COUNT)
        for how, cue in ((How.MEAN, "average"), (How.SUM, "total")):
            if cue in cues:
                root = Aggregate(AGGREGATES[how], value.expression, wide)
                yield self.make(f"columns/{how}", root, conditions, measure=several[0] if several else None,
                                others=several)  # fmt: skip

    def _heading(self, columns: Sequence[ColumnView]) -> tuple[FieldColumn, int]:
        """The value that names the column, its year if years are asked for; and the tokens that ask for it."""
        kinds = words_of_type("time")
        asked = [t for t in self.question.tokens if self.question.focus >> t.index & 1 and t.stem in kinds]
        years = [match[0] if (match := _YEARS.search(view.period)) else "" for view in columns]
        yearly = any(token.stem == _YEAR for token in asked) and all(years) and len(set(years)) == len(years)
        mask = Question._all(1 << token.index for token in asked)
        return FieldColumn("column", bucket=Bucket.YEAR if yearly else None), mask

    def _compares_back(self, early: ColumnView, late: ColumnView) -> bool:
        """Whether the earlier is said to be more: "higher in 2020 than in 2023", "lower in 2023 than in 2020"."""
        compared = [adjective for adjective, _ in self.question.adjectives if adjective.comparative]
        than, first, last = self.cues.get("than", 0), self.source.link(early).mask, self.source.link(late).mask
        first, last = first & ~last, last & ~first
        if not compared or not than or not first or not last:
            return False
        before = min(first & -first, last & -last) < than < max(first, last)
        return before and ((first < last) == (compared[0].sign > 0))

    def _calculated(self, conditions: ConditionSet, early: ColumnView, late: ColumnView) -> Iterator[Candidate]:
        """Arithmetic of two values of a row: of the later or the first named, and of the other."""
        cues, others = self.cues, (early, late)
        rows = self._rows_of(conditions)
        first, last, mask = self._costs(Lookup(rows, early.ref), Lookup(rows, late.ref), others)

        def made(op: str, root: Expression) -> Candidate:
            return self.make(op, root, conditions, measure=late, mask=mask, others=others)

        time = "/time" if early.period and late.period else ""
        changing = cues.keys() & _DIFFERENCE
        falls = "down" in cues and "up" not in cues
        if changing:
            # "By how much did it fall" asks for what was lost, a positive number where it fell.
            ends = (first, last) if falls or self._compares_back(early, late) else (last, first)
            yield self._difference(f"difference/columns{time}", ends, conditions, late, mask, others)
            if not time:
                yield self._difference("difference/columns/reverse", ends[::-1], conditions, late, mask, others)
        if time and cues.keys() & {"percent", "rate", "change"}:
            change: Expression = Arithmetic(Operator.PERCENT_CHANGE, first, last)
            yield made(
                "percent_change/columns/time",
                Apply(Function.NEGATE, change) if falls else change,
            )
        if cues.keys() & {"ratio", "share", "percent", "per"}:
            masks = self.source.link(late).mask, self.source.link(early).mask
            part, whole = (first, last) if self._names_whole_first(*masks) else (last, first)
            yield made("ratio/columns", Arithmetic(Operator.RATIO, part, whole))
            if (set(early.units) == {"PERCENT"}) == (set(late.units) == {"PERCENT"}):
                yield made("share/columns", Arithmetic(Operator.SHARE, part, whole))
        if cues.keys() & {"total", "together"} and not self._between(early, late):
            yield made("columns/sum", Arithmetic(Operator.ADD, first, last))
        if self.question.wh == "yes_no":
            yield made(
                "compare_yes/columns", Compare(Relator.LESS if self._sign() < 0 else Relator.GREATER, last, first)
            )
