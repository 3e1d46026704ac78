"""Candidates over one set of rows: cells, lists, counts, aggregates, extremes, groups, existence."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Apply,
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
    Node,
    Project,
    Relator,
    Rows,
    Sort,
    SortKey,
    ValueKind,
)
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.scalars import text_of
from kgtable.questions.candidates import Candidate
from kgtable.questions.grammar import AGGREGATES, MOST_MEASURES, MOST_TARGETS
from kgtable.questions.groupings import Groupings, GroupKey
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet
from kgtable.tables.model import Role

_AS_A_TOTAL = {"sum:total": 1.0}
"""The feature of a sum that a word of the question asks for."""
_ZERO = Constant(Decimal(0), ValueKind.QUANTITY)


class Selections(Groupings):
    """Operators over the rows of a condition set."""

    def _basic(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Cells, lists, counts, sums, means and other aggregates of the rows of a condition set."""
        source, question = self.source, self.question
        rows = conditions.over(source.rows(conditions.choice))
        # "Who else than Ada" asks for names other than hers.
        without = {c.column for c in conditions.conditions if c.kind.startswith("not ")}
        targets = [
            view
            for view in self.targets
            if (view.place not in conditions.columns - without or source.link(view).score > 0.5)
            and not self._is_number_of_named_rows(view)
        ]
        limit = len(source.columns) if len(source.columns) <= 8 and len(conditions.conditions) else MOST_TARGETS
        if conditions.conditions or question.wh in (
            "list",
            "which",
            "what_is",
            "who",
            "other",
            "where",
            "when",
        ):
            decided = {c.column for c in conditions.conditions if c.kind.endswith("truth")}
            for view in targets[:limit]:
                if view.place in decided:
                    continue
                yield self.make("select", Project(rows, (Named(view.ref),), not view.measure), conditions, target=view)
                if (unit := self._another_unit(view)) is not None:
                    converted = Convert(Lookup(rows, view.ref), unit)
                    mask = question.unit_asked[1] if question.unit_asked else 0
                    yield self.make("select", converted, conditions, target=view, mask=mask, also=("convert",))
        # "2023 compared with 2022" may ask for both, side by side.
        beside = self.cues.get("than", 0) & self.cues.get("difference", 0)
        for linked in self._lists(targets, conditions.mask):
            # "The owner and price of the boat Merle" asks for no name of the boat.
            asked = [view for view in linked if view.place not in conditions.columns]
            for shown in [linked, asked] if 2 <= len(asked) < len(linked) else [linked]:
                chosen = Project(rows, tuple(Named(view.ref) for view in shown))
                yield self.make("select/columns", chosen, conditions, target=shown[0], others=shown, mask=beside)
        if "order" in self.cues or "first" in self.cues or "last" in self.cues:
            for by in self.ordered_by:
                down = "descending" in self.cues
                ordered = Sort(rows, (SortKey(by.ref, down),))
                others = [view for view in targets if view.place != by.place and view.label][:1]
                for view in dict.fromkeys((*targets[:2], *others)):
                    yield self.make("sorted", Project(ordered, (Named(view.ref),)), conditions, target=view, measure=by)
                for shown in self._lists(targets, conditions.mask):
                    yield self.make(
                        "sorted/columns", Project(ordered, tuple(Named(view.ref) for view in shown)),
                        conditions, target=shown[0], measure=by, others=shown,
                    )  # fmt: skip
        if question.wh != "how_much":
            yield self.make("count", Aggregate(AggregateFunction.COUNT, None, rows), conditions)
        if question.wh in ("how_many", "other", "what_is", "list") or "how_many" in self.cues:
            for view in targets[:4]:
                if (source.link(view).score > 0.3 or view.label) and not view.measure:
                    root = Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref, rows)
                    yield self.make("count_distinct", root, conditions, target=view)
        yield from self._aggregates(rows, conditions)

    def _another_unit(self, view: ColumnView) -> str | None:
        """The unit that an amount is asked in, where its column has another: grams of an amount in kilograms."""
        asked, units = self.question.unit_asked, set(view.units) - NO_UNIT
        if asked is None or not view.measure or not units or units == {asked[0]}:
            return None
        return asked[0] if all(unit and comparable(unit, asked[0]) for unit in units) else None

    def _aggregates(self, rows: Rows, conditions: ConditionSet) -> Iterator[Candidate]:
        question, cues = self.question, self.cues
        signs = {1 if down else -1 for down, _, _, _ in self._directions()}
        wanted = []
        if cues.keys() & {"total", "how_many", "how_much", "together"}:
            wanted.append("sum")
        if "average" in cues:
            wanted.append("mean")
        if "median" in cues:
            wanted.append("median")
        if 1 in signs:
            wanted.append("max")
        if -1 in signs:
            wanted.append("min")
        for view in self.measures[:MOST_MEASURES]:
            if view.place in conditions.columns and not self.source.link(view).score:
                continue
            costs = self._shows_costs_below_zero(view)
            for name in wanted:
                root: Expression = Aggregate(AGGREGATES[name], view.ref, rows)
                if costs and name in ("max", "min"):  # the largest cost is the lowest amount
                    other = AGGREGATES["min" if name == "max" else "max"]
                    spent = Filter(rows, Compare(Relator.LESS, view.ref, _ZERO))
                    root = Apply(Function.ABSOLUTE, Aggregate(other, view.ref, spent))
                yield from self._converted(name, root, conditions, view)
            if not wanted and self._is_amount(view, conditions):
                total = Aggregate(AggregateFunction.SUM, view.ref, rows)
                yield from self._converted("sum", total, conditions, view, features=_AS_A_TOTAL)
        for adjective, _ in question.achievements[:1]:  # "the winning time" is the lowest
            for view in self.measures[:MOST_MEASURES]:
                told = self._told_by(view)
                sign = next((adjective.headers[stem] for stem in sorted(told) if stem in adjective.headers), 0)
                if sign and self.source.link(view).exact:
                    name = "max" if sign > 0 else "min"
                    yield from self._converted(name, Aggregate(AGGREGATES[name], view.ref, rows), conditions, view)
        dates = [view for view in self.sortables if view.temporal][:2]
        for view in dates:
            for name, cue in (("min", "first"), ("max", "last")):
                if cue in cues:
                    root = Aggregate(AGGREGATES[name], view.ref, rows)
                    yield self.make(f"{name}/time", root, conditions, target=view, mask=cues[cue])

    def _is_of_days(self, view: ColumnView) -> bool:
        """Whether a column has single days, of which a month, quarter or weekday is asked for: these are groups."""
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
        base = conditions.over(source.rows(conditions.choice))
        count, count_mask = self.question.limit
        ordinals = [(n, mask) for n, mask in self.question.ordinals if n > 1]
        columns = dict.fromkeys([*self.targets[:4], *source.labels[:1]])
        targets = [view for view in columns if not self._numbers_what_is_named(view) and not self._is_of_days(view)]
        won = [(False, token, "won", each.headers) for each, token in self.question.achievements[:1]]
        for down, token, name, headers in [*self._directions(), *won]:
            for by in self.sortables[: MOST_MEASURES + 1]:
                if (
                    by.place in conditions.columns
                    and conditions.conditions
                    and conditions.conditions[0].kind != "threshold"
                ):
                    continue
                sign = next((headers[stem] for stem in sorted(self._told_by(by)) if stem in headers), 0)
                if name == "won" and not sign:
                    continue
                if by.clock and name in ("fast", "slow", "long", "short"):
                    continue  # a time of the day is no length
                if by.temporal and not sign and name not in ("early", "late", "old", "young", "new"):
                    continue
                descending = sign > 0 if sign else down
                if by.role is Role.ORDINAL and not sign and name in ("high", "low", "good", "bad", "most"):
                    descending = not down
                ranked: Rows = base
                if self._shows_costs_below_zero(by):  # what costs most is the lowest of the amounts below zero
                    ranked = Filter(base, Compare(Relator.LESS, by.ref, _ZERO))
                    descending = not descending
                order = Sort(ranked, (SortKey(by.ref, descending),))
                costs = self._spending if ranked is not base else 0
                mask = (
                    token
                    | costs
                    | (Question._all([cues.get("first", 0) | cues.get("last", 0)]) if name in ("early", "late") else 0)
                )
                best = Limit(order, count) if count > 1 else Limit(order, 1, ties=True)
                free = [v for v in source.columns if v.place not in conditions.columns]
                for shown in self._lists(free, conditions.mask):
                    unsorted = [view for view in shown if view.place != by.place]
                    for listed in [shown, unsorted] if 2 <= len(unsorted) < len(shown) else [shown]:
                        yield self.make(
                            "top/columns" if count > 1 else "extreme/columns",
                            Project(best, tuple(Named(view.ref) for view in listed)),
                            conditions, target=listed[0], measure=by,
                            mask=mask | (count_mask if count > 1 else 0), others=listed,
                        )  # fmt: skip
                for view in targets:
                    if view.place == by.place:
                        continue
                    if view.sortable and self._stands_before(token, view) and not source.link(by).mask:
                        continue  # "the highest price" is the most of the prices
                    if count > 1:
                        root = Project(Limit(order, count), (Named(view.ref),))
                        yield self.make("top", root, conditions, target=view, measure=by, mask=mask | count_mask)
                    else:
                        root = Project(Limit(order, 1, ties=True), (Named(view.ref),), True)
                        yield self.make("extreme", root, conditions, target=view, measure=by, mask=mask)
                        for n, ordinal in ordinals[:1]:
                            nth = Project(Limit(order, 1, n - 1), (Named(view.ref),), True)
                            yield self.make(
                                "extreme/nth", nth, conditions, target=view, measure=by, mask=mask | ordinal
                            )
        # "Who began in 2021", of a column "Began", asks for no first row.
        named = Question._all(
            1 << token.index
            for view in self.sortables
            if view.temporal and source.link(view).exact
            for token in self.question.tokens
            if source.link(view).mask >> token.index & 1 and token.word not in ("first", "last")
        )
        positions = [
            ("first", False, cues.get("first", 0) & ~named),
            ("last", True, cues.get("last", 0) & ~named),
        ]
        for name, last, mask in positions:
            if not mask or self._is_measured(mask):
                continue
            ordered: Rows = Sort(base, (SortKey(ColumnRef("@row"), last),)) if last else base
            for view in self.targets[:5]:
                if view.temporal and self.question.wh == "when":
                    continue  # the earliest date, wherever its row stands
                root = Project(Limit(ordered, count), (Named(view.ref),))
                yield self.make(
                    f"first_last/{name}",
                    root,
                    conditions,
                    target=view,
                    mask=mask | (count_mask if count > 1 else 0),
                )
        for n, ordinal in ordinals[:1]:
            for view in targets:
                root = Project(Limit(base, 1, n - 1), (Named(view.ref),))
                yield self.make("first_last/nth", root, conditions, target=view, mask=ordinal)

    def _stands_before(self, token: int, view: ColumnView) -> bool:
        """Whether a superlative stands right before the name of a column."""
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
        free = [view for view in self.targets if view.place not in conditions.columns]
        named = [] if source.join is None else [v for v in self._shown(free, conditions.mask) if not v.measure]
        for key in list(dict.fromkeys([*free[:3], *named]))[:5]:
            asked = key.personal and question.wh == "who"  # "who did the most shifts"
            linked = source.link(key).score > 0.3 or source.link(key).mask & question.focus
            if not (linked or key.label or asked) or not self._repeats(key):
                continue
            for name, aggregate, measure, mask in self._group_measures(key):
                yield from self._of_groups(name, aggregate, measure, mask, conditions, key)

    def _period_of_most(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The month or weekday that is asked for with a superlative, of dates: "which month had the most visits"."""
        for place in range(len(self.question.tokens)):
            span = self._span_at(place) if self.question.focus >> place & 1 and self._directions() else None
            if span is None or span[1] & self.source.named:
                continue
            for key in self._dates_at(span[1], span[0], "focus"):
                if key.mask & Question._all(c.mask for c in conditions.conditions if c.column != key.view.place):
                    continue
                for name, aggregate, measure, mask in self._group_measures(key.view):
                    yield from self._of_groups(name, aggregate, measure, mask | key.mask, conditions, key.view, key)

    def _group_measures(self, key: ColumnView) -> Iterator[tuple[str, Expression, ColumnView | None, int]]:
        """What may be told of each group: name, aggregate, its column, and the tokens that name the aggregate."""
        source, cues = self.source, self.cues
        yield "count", Aggregate(AggregateFunction.COUNT), None, 0
        for view in self.measures[:2]:
            if view.place != key.place:
                name, mask = ("mean", cues["average"]) if "average" in cues else ("sum", 0)
                yield name, Aggregate(AGGREGATES[name], view.ref), view, mask
        for view in self.targets[:4]:
            if view.place != key.place and source.link(view).score >= 0.5 and not view.measure:
                yield "distinct", Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref), view, 0

    def _of_groups(
        self, name: str, aggregate: Expression, measure: ColumnView | None, named: int, conditions: ConditionSet,
        key: ColumnView, period: GroupKey | None = None,
    ) -> Iterator[Candidate]:  # fmt: skip
        """The extreme group, all groups with what is told of each, and those beyond a number."""
        told = f"{name} of {measure.name}" if measure is not None else "count"
        title = key.name if key.name and key.name != told else "key"
        by = key.ref if period is None else period.expression
        shown, value = Named(ColumnRef(title)), Named(ColumnRef(told))
        rows = conditions.over(self.source.rows(conditions.choice))
        grouped = GroupBy(rows, (Named(by, title),), (Named(aggregate, told),))

        def made(op: str, root: Node, mask: int) -> Candidate:
            return self.make(op, root, conditions, target=key, measure=measure, mask=mask | named)

        for down, token, _, _ in self._directions()[:2]:
            if name == "count" and any(self._stands_before(token, view) for view in self.measures):
                continue  # "the most downtime" is no number of rows
            order = Sort(grouped, (SortKey(ColumnRef(told), down),))
            yield made(f"group_extreme/{name}", Project(Limit(order, 1, ties=True), (shown,)), token)
            if name == "count":
                yield made("group_extreme/value", Project(Limit(order, 1), (value,)), token)
        if self.cues.keys() & {"each", "per"}:
            yield made(f"group/{name}", grouped, 0)
        numbers = [t for t in self.question.thresholds if not t.mask & conditions.mask and t.number.unit is None]
        for threshold in numbers[:1]:
            limit = Constant(threshold.number.value, ValueKind.QUANTITY)
            having = Filter(grouped, Compare(threshold.relator, ColumnRef(told), limit))
            yield made(f"having/{name}", Project(having, (shown,)), threshold.mask)
            counted = Aggregate(AggregateFunction.COUNT, None, having)
            yield made(f"having/{name}/count", counted, threshold.mask)

    def _truths(self) -> Iterator[Candidate]:
        """Whether there is a row of which the conditions hold."""
        if self.question.wh != "yes_no":
            return
        for conditions in self.sets[:4]:
            if conditions.conditions:
                rows = conditions.over(self.source.rows(conditions.choice))
                counted = Aggregate(AggregateFunction.COUNT, None, rows)
                yield self.make(
                    "yes_no",
                    Compare(Relator.GREATER, counted, Constant(Decimal(0), ValueKind.QUANTITY)),
                    conditions,
                )
