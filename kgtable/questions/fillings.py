"""Fillings of the fields: what is asked for or measured, how, by what, in which order, of which rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial

from kgtable.programs.algebra import (
    Compare,
    Constant,
    Expression,
    Filter,
    Membership,
    Named,
    Not,
    Project,
    Relator,
    Rows,
    TableRows,
    ValueKind,
)
from kgtable.programs.fields import VALUE, FieldColumn, FieldOrder, Having, How, bucket_of
from kgtable.programs.scalars import text_of
from kgtable.questions.candidates import Candidate
from kgtable.questions.grammar import MOST_MEASURES, MOST_TARGETS
from kgtable.questions.groupings import Groupings, GroupKey
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet, condition_set
from kgtable.tables.model import Role

LEAST_QUALITY = 0.7
"""Of conditions on the rows that are referred to."""
_AS_A_TOTAL = {"sum:total": 1.0}
"""The feature of a sum that a word of the question asks for."""
_ZERO = Constant(Decimal(0), ValueKind.QUANTITY)
_LISTS = frozenset(("list", "which", "what_is", "who", "other", "where", "when"))


class Fillings(Groupings):
    """Candidates that fill fields over the rows of a condition set."""

    def _rows_asked(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Cells, lists, counts, sums, means and other aggregates of the rows of a condition set."""
        source, question, cues = self.source, self.question, self.cues
        # "Who else than Ada" asks for names other than hers.
        without = {c.column for c in conditions.conditions if c.kind.startswith("not ")}
        targets = [
            view
            for view in self.targets
            if view.place not in conditions.columns - without or source.link(view).score > 0.5
        ]
        limit = len(source.columns) if len(source.columns) <= 8 and len(conditions.conditions) else MOST_TARGETS
        lists = self._lists(targets, conditions)
        if conditions.conditions or question.wh in _LISTS:
            decided = {c.column for c in conditions.conditions if c.kind.endswith("truth")}
            for view in targets[:limit]:
                if view.place in decided:
                    continue
                yield self.filled("select", conditions, ask=[view], distinct=not view.measure)
                if view.measure and (unit := self._unit_asked(view.units)) and set(view.units) != {unit}:
                    yield self.filled("select", conditions, How.VALUE, view, target=view, unit=unit)
        # "2023 compared with 2022" may ask for both, side by side.
        beside = cues.get("than", 0) & cues.get("difference", 0)
        for ask in lists:
            yield self.filled("select", conditions, ask=ask, mask=beside)
        if cues.keys() & {"order", "first", "last"}:
            labels = [view for view in targets if view.label]
            for by in self.ordered_by:
                others = [view for view in labels if view.place != by.place][:1]
                for ask in [*([view] for view in dict.fromkeys((*targets[:2], *others))), *lists]:
                    yield self.filled("sorted", conditions, ask=ask, ordered=(by, "descending" in cues))
        if question.wh != "how_much":
            yield self.filled("count", conditions, How.COUNT)
        if question.wh in ("how_many", "other", "what_is", "list") or "how_many" in cues:
            for view in targets[:4]:
                if (source.link(view).score > 0.3 or view.label) and not view.measure:
                    yield self.filled("count_distinct", conditions, How.DISTINCT, view, target=view)
        yield from self._aggregates(conditions)

    def _aggregates(self, conditions: ConditionSet) -> Iterator[Candidate]:
        cues = self.cues
        signs = {down for down, _, _, _ in self._directions()}
        said = {
            How.SUM: cues.keys() & {"total", "how_many", "how_much", "together"}, How.MEAN: "average" in cues,
            How.MEDIAN: "median" in cues, How.MAX: True in signs, How.MIN: False in signs,
        }  # fmt: skip
        wanted = [how for how, asked in said.items() if asked]
        for view in self.measures[:MOST_MEASURES]:
            if view.place in conditions.columns and not self.source.link(view).score:
                continue
            for how in wanted:
                yield self._of_measure_asked(how, conditions, view)
            if not wanted and self._is_amount(view, conditions):
                yield self.filled(
                    "sum", conditions, How.SUM, view, unit=self._unit_asked(view.units), features=_AS_A_TOTAL
                )
        for view in [view for view in self.sortables if view.temporal][:2]:
            for how, cue in ((How.MIN, "first"), (How.MAX, "last")):
                if cue in cues:
                    yield self.filled(f"{how}/time", conditions, how, view, target=view, mask=cues[cue])

    def _of_measure_asked(
        self, how: How, conditions: ConditionSet, view: ColumnView, features: Mapping[str, float] | None = None
    ) -> Candidate:
        """An aggregate of the rows in the unit that is asked for; the largest cost is the lowest amount."""
        unit, mask = self._unit_asked(view.units), 0
        if how in (How.MIN, How.MAX):
            mask = Question._all(token for _, token in self.question.adjectives)
        return self.filled(how, conditions, how, view, mask=mask, unit=unit, features=features)

    def _spent(self, view: ColumnView, conditions: ConditionSet) -> Rows:
        """The rows of a condition set in which a column is below zero."""
        return Filter(self._rows_of(conditions), Compare(Relator.LESS, view.ref, _ZERO))

    def _is_of_days(self, view: ColumnView) -> bool:
        """Whether a column has single days whose month, quarter or weekday is asked for: these are groups."""
        focus = self.question.focus
        spans = (self._span_at(place) for place in range(len(self.question.tokens)) if focus >> place & 1)
        asked = any(span is not None and not span[1] & self.source.named for span in spans)
        if not asked or view.kind is not ValueKind.DATE:
            return False
        return any(text_of(value)[8:10] not in ("", "01") for value in self.source.values_of(view, 40))

    def _is_amount(self, view: ColumnView, conditions: ConditionSet) -> bool:
        """Whether one amount is asked for that several rows have parts of: "hotel costs in Lyon" are added up."""
        words = [token.word for token in self.question.tokens[:2]]
        asked = self.question.wh in ("other", "what_is") or words in (["what", "did"], ["what", "does"])
        asked = asked and not self.question.plural and "list" not in self.cues
        apart = all(c.kind != "several" for c in conditions.conditions)
        return asked and apart and view.adds_up and bool(self.source.link(view).mask & ~conditions.mask)

    def _extremes(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The rows with the largest or smallest value of a column, the first and last rows."""
        source, cues = self.source, self.cues
        count, count_mask = self.question.limit
        count_mask = count_mask if count > 1 else 0
        ordinals = [(n, mask) for n, mask in self.question.ordinals if n > 1][:1]
        columns = dict.fromkeys([*self.targets[:4], *source.labels[:1]])
        targets = [view for view in columns if not self._numbers_what_is_named(view) and not self._is_of_days(view)]
        lists = self._lists([v for v in source.columns if v.place not in conditions.columns], conditions)
        won = [(False, token, "won", each.headers) for each, token in self.question.achievements[:1]]
        for down, token, name, headers in [*self._directions(), *won]:
            for by in self.sortables[: MOST_MEASURES + 1]:
                limited = by.place in conditions.columns and conditions.conditions
                if limited and conditions.conditions[0].kind != "threshold":
                    continue
                sign = self._sign_of(by, headers)
                if name == "won" and not sign:
                    continue
                if by.clock and name in ("fast", "slow", "long", "short"):
                    continue  # a time of the day is not a length
                if by.temporal and not sign and name not in ("early", "late", "old", "young", "new"):
                    continue
                descending = sign > 0 if sign else down
                if by.role is Role.ORDINAL and not sign and name in ("high", "low", "good", "bad", "most"):
                    descending = not down
                rows, mask = None, token
                if self._shows_costs_below_zero(by):  # what costs most is the lowest of the amounts below zero
                    rows, mask, descending = self._spent(by, conditions), mask | self._spending, not descending
                if name in ("early", "late"):
                    mask |= cues.get("first", 0) | cues.get("last", 0)
                apart = [
                    [view]
                    for view in targets
                    if view.place != by.place
                    # "the highest price" is the most of the prices
                    and (not view.sortable or not self._stands_before(token, view) or source.link(by).mask)
                ]
                unsorted = [[v for v in ask if v.place != by.place] for ask in lists]
                asks = [*lists, *(ask for ask in unsorted if len(ask) >= 2 and ask not in lists), *apart]
                for ask in asks:
                    one = len(ask) == 1
                    if count > 1:
                        yield self.filled("top", conditions, ask=ask, ordered=(by, descending), first=count, rows=rows,
                                          mask=mask | count_mask)  # fmt: skip
                        continue
                    yield self.filled("extreme", conditions, ask=ask, ordered=(by, descending), first=1, ties=True,
                                      distinct=one, rows=rows, mask=mask)  # fmt: skip
                    for n, ordinal in ordinals if one else ():
                        yield self.filled("extreme/nth", conditions, ask=ask, ordered=(by, descending), first=1,
                                          skip=n - 1, distinct=True, rows=rows, mask=mask | ordinal)  # fmt: skip
        # "Who began in 2021", of a column "Began", asks for no first row.
        named = Question._all(
            1 << token.index
            for view in self.sortables
            if view.temporal and source.link(view).exact
            for token in self.question.tokens
            if source.link(view).mask >> token.index & 1 and token.word not in ("first", "last")
        )
        for name, order in (("first", None), ("last", FieldOrder(FieldColumn("@row"), True))):
            mask = cues.get(name, 0) & ~named
            for view in self.targets[:5] if mask and not self._is_measured(mask) else ():
                if not view.temporal or self.question.wh != "when":  # else the earliest date, in any row
                    yield self.filled(f"first_last/{name}", conditions, ask=[view], order=order, first=count,
                                      mask=mask | count_mask)  # fmt: skip

    def _sign_of(self, view: ColumnView, headers: Mapping[str, int]) -> int:
        """Whether an adjective, by its headers, means the high or the low values of a column."""
        return next((headers[stem] for stem in sorted(self._told_by(view)) if stem in headers), 0)

    def _stands_before(self, token: int, view: ColumnView) -> bool:
        """Whether a superlative directly precedes the name of a column."""
        return bool(self.source.link(view).mask & (token << 1 | token << 2))

    def _is_measured(self, mask: int) -> bool:
        """Whether a superlative such as *oldest* stands for a place among the rows, while a column measures it."""
        headers = {
            stem
            for adjective, token in self.question.adjectives
            if token & mask and self.question.tokens[token.bit_length() - 1].word.endswith("est")
            for stem in adjective.headers
        }
        return any(by.aspects & headers for by in self.sortables)

    def _grouped(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Groups of equal values: the one with the most rows or the largest sum, all with their counts, HAVING."""
        source, question = self.source, self.question
        yield from self._said_groups(conditions)
        yield from self._period_of_most(conditions)
        yield from self._most_in_periods(conditions)
        free = [view for view in self.targets if view.place not in conditions.columns]
        named = [] if source.join is None else [v for v in self._shown(free, conditions.mask) if not v.measure]
        for key in list(dict.fromkeys([*free[:3], *named]))[:5]:
            asked = key.personal and question.wh == "who"  # "who did the most shifts"
            linked = source.link(key).score > 0.3 or source.link(key).mask & question.focus
            if (linked or key.label or asked) and self._repeats(key):
                yield from self._of_groups(GroupKey(key, None, 0, 0.0, ""), conditions)

    def _period_of_most(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The month or weekday that is asked for with a superlative, of dates: "which month had the most visits"."""
        for place in range(len(self.question.tokens)):
            span = self._span_at(place) if self.question.focus >> place & 1 and self._directions() else None
            if span is None or span[1] & self.source.named:
                continue
            for key in self._dates_at(span[1], span[0], "focus"):
                if not key.mask & Question._all(c.mask for c in conditions.conditions if c.column != key.view.place):
                    yield from self._of_groups(key, conditions)

    def _told_of_each(self, key: ColumnView) -> Iterator[tuple[How, ColumnView | None, int]]:
        """The possible values of a group: aggregate, column, and the tokens that name the aggregate."""
        yield How.COUNT, None, 0
        average = self.cues.get("average", 0)
        for view in self.measures[:2]:
            if view.place != key.place:
                yield How.MEAN if average else How.SUM, view, average
        for view in self.targets[:4]:
            if view.place != key.place and self.source.link(view).score >= 0.5 and not view.measure:
                yield How.DISTINCT, view, 0

    def _of_groups(self, key: GroupKey, conditions: ConditionSet) -> Iterator[Candidate]:
        """The extreme group, all groups with their values, and those beyond a number."""
        by = FieldColumn(key.view.ref.name, key.view.ref.table, bucket_of(key.span))
        for how, measure, named in self._told_of_each(key.view):
            mask = named | key.mask
            filled = partial(self.filled, conditions=conditions, how=how, measure=measure, target=key.view, by=(by,))
            for down, token, _, _ in self._directions()[:2]:
                if how is How.COUNT and any(self._stands_before(token, view) for view in self.measures):
                    continue  # "the most downtime" is not a number of rows
                best, said = FieldOrder(VALUE, down), mask | token
                yield filled(f"group_extreme/{how}", shown=(by,), order=best, first=1, ties=True, mask=said)
                if how is How.COUNT:
                    yield filled("group_extreme/value", shown=(VALUE,), order=best, first=1, mask=said)
            if self.cues.keys() & {"each", "per"}:
                yield filled(f"group/{how}", mask=mask)
            for threshold in self.question.thresholds[:1]:
                if not threshold.mask & conditions.mask and threshold.number.unit is None:
                    limit = Having(Constant(threshold.number.value, ValueKind.QUANTITY), threshold.relator)
                    yield filled(f"having/{how}", shown=(by,), having=limit, mask=mask | threshold.mask)

    def _shares(self) -> Iterator[Candidate]:
        """The share of some rows in all, and of what they add up to."""
        if not self.cues.keys() & {"share", "percent", "ratio"}:
            return
        for conditions in self.sets[:3]:
            if not conditions.conditions:
                continue
            free = [v for v in self.measures if not v.whole and v.place not in conditions.columns]
            for view in free[:3]:
                yield self.filled("share/sum", conditions, How.SHARE, view)
            yield self.filled("share/count", conditions, How.SHARE)

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
            title = source.links[1 - place].title
            mask = (
                negation | title | Question._all(source.link(v).mask for v in source.columns if v.ref.table == other_id)
            )
            own = [view for view in self.targets if view.ref.table == own_id]
            for conditions in self._of_other(1 - place) if negation or title else ():
                referred = Project(conditions.over(TableRows((other_id,))), (Named(keys[1 - place]),))
                among: Expression = Membership(keys[place], referred)
                rows = Filter(TableRows((own_id,)), Not(among) if negation else among)
                filled = partial(self.filled, conditions=conditions, rows=rows)
                for ask in [[view] for view in own[:3]] if negation else ():  # else the join returns them
                    yield filled(name, ask=ask, distinct=True, mask=mask)
                yield filled(f"{name}/count", how=How.COUNT, mask=mask)
                for how, told in self._aggregates_named():
                    for view in [v for v in self.measures if v.ref.table == own_id][:2]:
                        yield filled(f"{name}/{how}", how=How(how), measure=view, mask=mask | told)

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
