"""Candidates over several values: differences, ratios, shares, changes, which of two, columns side by side."""

from __future__ import annotations

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
    Unpivot,
    ValueKind,
)
from kgtable.programs.grammar import AGGREGATES, MOST_MEASURES, Candidate, Grammar
from kgtable.programs.linking import Condition
from kgtable.programs.reading import Question, linking_verbs, months
from kgtable.programs.relation import ColumnRole
from kgtable.programs.relation_index import ColumnView
from kgtable.programs.sources import ConditionSet, condition_set


def _same_measure(one: ColumnView, other: ColumnView) -> bool:
    """Whether two columns of periods are of one measure, as far as their headers say what they measure."""
    if bool(one.whole) != bool(other.whole):
        return False  # an amount and its share in something
    if not (one.period and other.period):
        return True
    measured = [
        {stem for stem in view.stems if stem not in months() and not any(map(str.isdigit, stem))}
        for view in (one, other)
    ]
    return not all(measured) or bool(measured[0] & measured[1])


def _is_percent(view: ColumnView) -> bool:
    return set(view.units) == {"PERCENT"}


class Comparisons(Grammar):
    """Operators that take two values or more apart."""

    def _periods(self, conditions: ConditionSet) -> list[ColumnView]:
        """Columns of periods or of one measure side by side: those that the question names, else all."""
        source = self.source
        columns = [
            view
            for view in source.columns
            if view.period
            and (view.numeric or view.kind is ValueKind.TEXT)
            and view.place not in conditions.columns
        ]
        return columns

    def _by_columns(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Calculations across the columns of one row: years side by side, two measures."""
        source, cues, question = self.source, self.cues, self.question
        if source.join is not None:
            return
        periods = self._periods(conditions)
        linked = [
            view
            for view in source.columns
            if source.link(view).exact and view.numeric and view.place not in conditions.columns
        ]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        asked = [view for view in periods if view in linked]
        if asked:
            best = max(asked, key=lambda view: source.link(view).mask.bit_count())
            periods = [view for view in periods if _same_measure(view, best)]
            asked = [view for view in asked if _same_measure(view, best)]
        pairs = [
            (one, other)
            for one, other in combinations(linked[:4], 2)
            if source.link(one).mask != source.link(other).mask and _same_measure(one, other)
        ]
        if not pairs and len(periods) == 2 and len(question.times) == 0:
            pairs = [(periods[0], periods[1])]
        rows = conditions.over(source.rows(conditions.choice))
        single = bool(conditions.conditions)
        totals = (
            source.rows(RowChoice.TOTALS)
            if any(part.index.has_totals for part in source.links) and "total" in cues
            else None
        )
        bases = [(rows, "", 0)] if single else []
        if totals is not None and not conditions.conditions:
            bases.append((totals, "/total", cues["total"]))
        for base, suffix, base_mask in bases:
            for one, other in pairs[:3]:
                early, late = self._in_order(one, other)
                first, last = Lookup(base, early.ref), Lookup(base, late.ref)
                yield from self._calculated(first, last, conditions, early, late, suffix, base_mask)
            if len(asked) >= 2:
                columns = tuple(
                    ColumnRef(view.ref.name, view.ref.table) for view in self._spanned(asked, periods)
                )
                wide = Unpivot(base, columns)
                for name in ("mean", "sum", "max", "min"):
                    if (name == "mean" and "average" in cues) or (name == "sum" and "total" in cues):
                        root = Aggregate(AGGREGATES[name], ColumnRef("value"), wide)
                        yield self.make(
                            f"columns/{name}{suffix}",
                            root,
                            conditions,
                            measure=asked[0],
                            mask=base_mask,
                            others=asked,
                        )
                        low, high = min(view.place for view in asked), max(view.place for view in asked)
                        span = tuple(view.ref for view in periods if low <= view.place <= high)
                        if cues.keys() & {"between", "since", "until"} and len(span) > len(columns):
                            root = Aggregate(AGGREGATES[name], ColumnRef("value"), Unpivot(base, span))
                            yield self.make(
                                f"columns/{name}/span{suffix}",
                                root,
                                conditions,
                                measure=asked[0],
                                mask=base_mask,
                                others=asked,
                            )
        if len(periods) >= 2 and single:
            columns = tuple(
                view.ref for view in (self._spanned(asked, periods) if len(asked) >= 2 else periods)
            )
            wide = Unpivot(rows, columns)
            masks = asked if len(asked) >= 2 else []
            for down, token, _, _ in self._directions()[:1]:
                listed = Project(
                    Limit(Sort(wide, (SortKey(ColumnRef("value"), down),)), 1, ties=True),
                    (Named(ColumnRef("column")),),
                )
                yield self.make("column_extreme", listed, conditions, mask=token, others=masks)
            for threshold in question.thresholds[:1]:
                limit = Constant(threshold.number.value, ValueKind.QUANTITY, None, threshold.number.scale)
                listed = Project(
                    Filter(wide, Compare(threshold.relator, ColumnRef("value"), limit)),
                    (Named(ColumnRef("column")),),
                )
                yield self.make(
                    "column_extreme/threshold", listed, conditions, mask=threshold.mask, others=masks
                )
            if "average" in cues and len(asked) < 2:
                yield self.make(
                    "columns/mean", Aggregate(AggregateFunction.MEAN, ColumnRef("value"), wide), conditions
                )
            if "total" in cues and len(asked) < 2:
                yield self.make(
                    "columns/sum", Aggregate(AggregateFunction.SUM, ColumnRef("value"), wide), conditions
                )

    @property
    def _says_span(self) -> bool:
        """Whether the question names the first and the last of several periods, not two of them."""
        cues = self.cues
        return self.question.says_span or bool(
            cues.keys() & {"between", "until", "since"} and "and" not in cues
        )

    def _spanned(self, asked: Sequence[ColumnView], periods: Sequence[ColumnView]) -> Sequence[ColumnView]:
        """The columns from the first to the last that are named, where the question names a span."""
        if len(asked) == 2 and self._says_span:
            low, high = sorted(view.place for view in asked)
            return [view for view in periods if low <= view.place <= high]
        return asked

    def _calculated(
        self, first: Expression, last: Expression, conditions: ConditionSet, early: ColumnView, late: ColumnView,
        suffix: str, mask: int,
    ) -> Iterator[Candidate]:  # fmt: skip
        """Arithmetic of two values: `last` is the later or the first named, `first` the other."""
        cues, others = self.cues, (early, late)

        def made(op: str, root: Expression) -> Candidate:
            return self.make(op, root, conditions, measure=late, mask=mask, others=others)

        time = "/time" if early.period and late.period else ""
        changing = cues.keys() & {
            "difference",
            "change",
            "down",
            "up",
            "more_than",
            "less_than",
            "how_much",
            "how_many",
        }
        falls = "down" in cues and "up" not in cues
        if changing:
            # "By how much did it fall" asks for what was lost, a positive number where it fell.
            ends = (first, last) if falls else (last, first)
            root: Expression = Arithmetic(Operator.SUBTRACT, *ends)
            for name, node in (
                (f"difference/columns{time}{suffix}", root),
                (f"difference/columns{time}/reverse{suffix}", Arithmetic(Operator.SUBTRACT, *reversed(ends))),
            ):
                yield from self._maybe_converted(name, node, conditions, late, mask, others)
        if cues.keys() & {"percent", "rate", "change"}:
            change: Expression = Arithmetic(Operator.PERCENT_CHANGE, first, last)
            if falls:
                change = Apply(Function.NEGATE, change)
            yield made(f"percent_change/columns{time}{suffix}", change)
        if cues.keys() & {"ratio", "share", "percent", "per"}:
            yield made(f"ratio/columns{suffix}", Arithmetic(Operator.RATIO, last, first))
            if _is_percent(early) == _is_percent(late):
                yield made(f"share/columns{suffix}", Arithmetic(Operator.SHARE, last, first))
        if "average" in cues and not self._says_span:
            half = Arithmetic(
                Operator.DIVIDE,
                Arithmetic(Operator.ADD, first, last),
                Constant(Decimal(2), ValueKind.QUANTITY),
            )
            yield made(f"columns/mean{suffix}", half)
        if cues.keys() & {"total", "together"}:
            yield made(f"columns/sum{suffix}", Arithmetic(Operator.ADD, first, last))
        if self.question.wh == "yes_no":
            relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
            yield made(f"compare_yes/columns{suffix}", Compare(relator, last, first))

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
        }:
            return
        named = [
            c
            for c in source.conditions
            if c.kind in ("exact", "partial", "contains", "number", "time")
            and (c.relation in ("", "in", "month"))
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
        union = Filter(
            source.rows(choice), either if not extra else And((either, *(c.expression for c in extra)))
        )
        adjectives = Question._all(token for _, token in question.adjectives)
        for view in measures:
            left, right = Lookup(rows_one, view.ref), Lookup(rows_other, view.ref)
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
                less = not timed and self._measures_the_other_way(view)
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
                        mask=token | adjectives,
                    )
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
            pairs = [self._as_named(*pair) for pair in combinations(linked[:3], 2)]
            for one, other in [*pairs, *self._beyond(linked)]:
                if source.link(one).mask == source.link(other).mask:
                    continue
                early, late = self._in_order(one, other)
                timed = bool(early.period and late.period)
                if "than" in cues or (one, other) not in pairs:
                    relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                    holds: Expression = Compare(relator, one.ref, other.ref)
                else:
                    relator = Relator.LESS if "down" in cues else Relator.GREATER
                    holds = Compare(relator, late.ref, early.ref)
                negation = cues.get("negation", 0)
                if negation:
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
                for down, token, _, _ in self._directions()[:1]:
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
                    yield self.make("difference/dates", root, conditions, measure=other, others=(one,))
                paired = self._opposed()
                for one, other, mask in paired:
                    root = Arithmetic(Operator.SUBTRACT, Lookup(chosen, one.ref), Lookup(chosen, other.ref))
                    yield self.make(
                        "difference/opposed", root, conditions, measure=one, others=(other,), mask=mask
                    )

    def _beyond(self, linked: Sequence[ColumnView]) -> list[tuple[ColumnView, ColumnView]]:
        """A measure and the one column named that limits it: *below their minimum stock* is said of the stock."""
        if len(linked) != 1 or not self.cues.keys() & {"more_than", "less_than"} or self.question.thresholds:
            return []
        limit = linked[0]
        shared = [view for view in self.measures if view is not limit and set(view.stems) & set(limit.stems)]
        return [(view, limit) for view in shared[:1]]

    def _opposed(self) -> list[tuple[ColumnView, ColumnView, int]]:
        """Pairs of measures that share a word of the question and differ in another: *goals for*, *goals against*."""
        source = self.source
        found = []
        for one, other in combinations([view for view in source.columns if view.measure], 2):
            shared = set(one.stems) & set(other.stems)
            if shared and len(one.stems) == len(other.stems) == 2:
                mask = Question._all(1 << t.index for t in self.question.tokens if t.stem in shared)
                if mask:
                    found.append((one, other, mask))
        return found[:2]
