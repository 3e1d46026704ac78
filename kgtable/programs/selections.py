"""Candidates over one set of rows: cells, lists, counts, aggregates, extremes, groups, neighbours, existence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    GroupBy,
    Limit,
    Lookup,
    Membership,
    Named,
    Neighbours,
    Not,
    Operator,
    Project,
    Relator,
    Rows,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
)
from kgtable.programs.grammar import AGGREGATES, MOST_MEASURES, MOST_SHOWN, MOST_TARGETS, Candidate, Grammar
from kgtable.programs.reading import Question
from kgtable.programs.relation import ColumnRole
from kgtable.programs.relation_index import ColumnView
from kgtable.programs.sources import ConditionSet, condition_set

LEAST_DERIVED = 0.45
"""From which score on a column that is named by a related word is shown beside others."""


class Selections(Grammar):
    """Operators over the rows of a condition set."""

    def _basic(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Cells, lists, counts, sums, means and other aggregates of the rows of a condition set."""
        source, question = self.source, self.question
        rows = conditions.over(source.rows(conditions.choice))
        targets = [
            view
            for view in self.targets
            if view.place not in conditions.columns or source.link(view).score > 0.5
        ]
        limit = (
            len(source.columns) if len(source.columns) <= 8 and len(conditions.conditions) else MOST_TARGETS
        )
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
                yield self.make("select", Project(rows, (Named(view.ref),), True), conditions, target=view)
        linked = self._shown(targets, conditions.mask)
        if len(linked) >= 2:
            columns = tuple(Named(view.ref) for view in linked)
            yield self.make(
                "select/columns", Project(rows, columns), conditions, target=linked[0], others=linked
            )
        if "order" in self.cues or "first" in self.cues or "last" in self.cues:
            for by in self.sortables[:2]:
                down = "descending" in self.cues
                ordered = Sort(rows, (SortKey(by.ref, down),))
                for view in targets[:2]:
                    yield self.make(
                        "sorted", Project(ordered, (Named(view.ref),)), conditions, target=view, measure=by
                    )
                shown = self._shown(targets, conditions.mask)
                if len(shown) >= 2:
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

    def _shown(self, views: Sequence[ColumnView], taken: int) -> list[ColumnView]:
        """The columns that a question names in full by tokens of their own, in its order; none where too many.

        `taken` are the tokens that conditions account for.
        """
        link = self.source.link
        said = {token.stem for token in self.question.tokens}
        named = [
            view
            for view in views
            if (link(view).exact or self._is_asked_for(view))
            and link(view).mask & ~taken
            and (not view.key_words or view.key_words & said)
        ]
        named.sort(key=lambda view: (link(view).mask & -link(view).mask, view.place))
        apart: list[ColumnView] = []
        for view in named:
            mask = link(view).mask
            inside = any(mask & link(other).mask == mask != link(other).mask for other in named)
            if not inside and not any(mask == link(other).mask for other in apart):
                apart.append(view)
        return apart if len(apart) <= MOST_SHOWN else []

    def _is_asked_for(self, view: ColumnView) -> bool:
        """Whether a related word names a column in the part of the question that says what is asked for."""
        link = self.source.link(view)
        return link.derived and link.score >= LEAST_DERIVED and bool(link.mask & self.question.focus)

    def _aggregates_apart(self, rows: Rows, conditions: ConditionSet) -> Iterator[Candidate]:
        """Several aggregates of different columns, each word of one with the next column that is named."""
        words = [(name, mask) for name, cue in (("mean", "average"), ("sum", "total"), ("median", "median"))
                 if (mask := self.cues.get(cue, 0))]  # fmt: skip
        words += [
            ("max" if adjective.sign > 0 else "min", token) for adjective, token in self.question.adjectives
        ]
        named = self._shown([view for view in self.source.columns if view.measure], conditions.mask)
        found: list[tuple[int, str, ColumnView]] = []
        for name, mask in words:
            after = [view for view in named if self.source.link(view).mask > mask & -mask]
            if after:
                found.append((mask & -mask, name, after[0]))
        found.sort(key=lambda entry: entry[0])
        if (
            len({(name, view.place) for _, name, view in found}) < 2
            or len({v.place for _, _, v in found}) < 2
        ):
            return
        measures = tuple(
            Named(Aggregate(AGGREGATES[name], view.ref), f"{name} {view.place}") for _, name, view in found
        )
        yield self.make(
            "aggregates/columns", GroupBy(rows, (), measures), conditions, measure=found[0][2],
            mask=Question._all(mask for _, mask in words), others=[view for _, _, view in found],
        )  # fmt: skip

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
            for name in wanted:
                root: Expression = Aggregate(AGGREGATES[name], view.ref, rows)
                yield from self._converted(name, root, conditions, view)
        several = [
            name
            for name in ("mean", "min", "max", "sum")
            if name in wanted or (name == "mean" and "average" in cues)
        ]
        if len(several) >= 2 and "and" in cues:
            for view in self.measures[:2]:
                group = GroupBy(
                    rows, (), tuple(Named(Aggregate(AGGREGATES[name], view.ref), name) for name in several)
                )
                adjectives = Question._all(token for _, token in question.adjectives)
                yield self.make(
                    "aggregates",
                    group,
                    conditions,
                    measure=view,
                    mask=adjectives | cues.get("average", 0) | cues.get("total", 0),
                )
        if "and" in cues:
            yield from self._aggregates_apart(rows, conditions)
        dates = [view for view in self.sortables if view.temporal][:2]
        if cues.keys() & {"difference", "how_long", "days_between"} and (
            signs >= {1, -1} or cues.keys() >= {"first", "last"}
        ):
            for view in [*self.measures[:2], *dates]:
                ends = (
                    Aggregate(AggregateFunction.MAX, view.ref, rows),
                    Aggregate(AggregateFunction.MIN, view.ref, rows),
                )
                mask = (
                    Question._all(token for _, token in question.adjectives)
                    | cues.get("first", 0)
                    | cues.get("last", 0)
                )
                yield self.make(
                    "difference/range",
                    Arithmetic(Operator.SUBTRACT, *ends),
                    conditions,
                    measure=view,
                    mask=mask,
                )
        for view in dates:
            for name, cue in (("min", "first"), ("max", "last")):
                if cue in cues:
                    root = Aggregate(AGGREGATES[name], view.ref, rows)
                    yield self.make(f"{name}/time", root, conditions, target=view, mask=cues[cue])

    def _extremes(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The rows with the largest or smallest value of a column, the first and last rows."""
        source, cues = self.source, self.cues
        base = conditions.over(source.rows(conditions.choice))
        count, count_mask = self.question.limit
        ordinals = [(n, mask) for n, mask in self.question.ordinals if n > 1]
        targets = self.targets[:4]
        won = [(False, token, "won", each.headers) for each, token in self.question.achievements[:1]]
        for down, token, name, headers in [*self._directions(), *won]:
            for by in self.sortables[: MOST_MEASURES + 1]:
                if (
                    by.place in conditions.columns
                    and conditions.conditions
                    and conditions.conditions[0].kind != "threshold"
                ):
                    continue
                sign = next((headers[stem] for stem in sorted(by.aspects) if stem in headers), 0)
                if name == "won" and not sign:
                    continue
                if by.temporal and not sign and name not in ("early", "late", "old", "young", "new"):
                    continue
                descending = sign > 0 if sign else down
                if (
                    by.role is ColumnRole.ORDINAL
                    and not sign
                    and name in ("high", "low", "good", "bad", "most")
                ):
                    descending = not down
                key: Expression = by.ref
                order = Sort(base, (SortKey(key, descending),))
                mask = token | (
                    Question._all([cues.get("first", 0) | cues.get("last", 0)])
                    if name in ("early", "late")
                    else 0
                )
                shown = self._shown(
                    [v for v in source.columns if v.place not in conditions.columns], conditions.mask
                )
                if len(shown) >= 2:
                    best = Limit(order, count) if count > 1 else Limit(order, 1, ties=True)
                    yield self.make(
                        "top/columns" if count > 1 else "extreme/columns",
                        Project(best, tuple(Named(view.ref) for view in shown)),
                        conditions, target=shown[0], measure=by,
                        mask=mask | (count_mask if count > 1 else 0), others=shown,
                    )  # fmt: skip
                    unsorted = [view for view in shown if view.place != by.place]
                    if 2 <= len(unsorted) < len(shown):
                        yield self.make(
                            "extreme/columns", Project(best, tuple(Named(view.ref) for view in unsorted)),
                            conditions, target=unsorted[0], measure=by,
                            mask=mask | (count_mask if count > 1 else 0), others=unsorted,
                        )  # fmt: skip
                for view in targets:
                    if view.place == by.place:
                        continue
                    if count > 1:
                        root = Project(Limit(order, count), (Named(view.ref),))
                        yield self.make(
                            "top", root, conditions, target=view, measure=by, mask=mask | count_mask
                        )
                    else:
                        root = Project(Limit(order, 1, ties=True), (Named(view.ref),), True)
                        yield self.make("extreme", root, conditions, target=view, measure=by, mask=mask)
                        for n, ordinal in ordinals[:1]:
                            nth = Project(Limit(order, 1, n - 1), (Named(view.ref),), True)
                            yield self.make(
                                "extreme/nth", nth, conditions, target=view, measure=by, mask=mask | ordinal
                            )
        positions = [("first", False, cues.get("first", 0)), ("last", True, cues.get("last", 0))]
        for name, last, mask in positions:
            if not mask or self._is_measured(mask):
                continue
            ordered: Rows = Sort(base, (SortKey(ColumnRef("@row"), last),)) if last else base
            for view in self.targets[:5]:
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
        source, cues, question = self.source, self.cues, self.question
        rows = conditions.over(source.rows(conditions.choice))
        keys = [view for view in self.targets if view.place not in conditions.columns][:3]
        directions = self._directions()
        average = "average" in cues
        numbers = [t for t in question.thresholds if not t.mask & conditions.mask and t.number.unit is None]
        for key in keys:
            if not (source.link(key).score > 0.3 or key.label or source.link(key).mask & question.focus):
                continue
            repeated = key.distinct < key.filled
            named = (Named(key.ref, "key"),)
            measures: list[tuple[str, Expression, ColumnView | None]] = []
            if repeated:
                measures.append(("count", Aggregate(AggregateFunction.COUNT), None))
                for view in self.measures[:2]:
                    if view.place != key.place:
                        function = AggregateFunction.MEAN if average else AggregateFunction.SUM
                        measures.append(("mean" if average else "sum", Aggregate(function, view.ref), view))
                measures += [
                    ("distinct", Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref), view)
                    for view in self.targets[:4]
                    if view.place != key.place and source.link(view).score >= 0.5 and not view.measure
                ]
            for name, aggregate, measure in measures:
                grouped = GroupBy(rows, named, (Named(aggregate, "value"),))
                for down, token, _adjective, _ in directions[:2]:
                    order = Sort(grouped, (SortKey(ColumnRef("value"), down),))
                    root = Project(Limit(order, 1, ties=True), (Named(ColumnRef("key")),))
                    mask = token | (cues.get("average", 0) if name == "mean" else 0)
                    yield self.make(
                        f"group_extreme/{name}", root, conditions, target=key, measure=measure, mask=mask
                    )
                    if name == "count":
                        value = Project(Limit(order, 1), (Named(ColumnRef("value")),))
                        yield self.make("group_extreme/value", value, conditions, target=key, mask=mask)
                    if "and" in cues:
                        both = Project(
                            Limit(order, 1, ties=True), (Named(ColumnRef("key")), Named(ColumnRef("value")))
                        )
                        yield self.make(
                            f"group_extreme/{name}/both", both, conditions, target=key, measure=measure,
                            mask=mask | cues["and"],
                        )  # fmt: skip
                if cues.keys() & {"each", "per"}:
                    yield self.make(f"group/{name}", grouped, conditions, target=key, measure=measure)
                    swapped = Project(grouped, (Named(ColumnRef("value")), Named(ColumnRef("key"))))
                    yield self.make(f"group/{name}/swapped", swapped, conditions, target=key, measure=measure)
                for threshold in numbers[:1]:
                    limit = Constant(threshold.number.value, ValueKind.QUANTITY)
                    having = Filter(grouped, Compare(threshold.relator, ColumnRef("value"), limit))
                    root = Project(having, (Named(ColumnRef("key")),))
                    yield self.make(
                        f"having/{name}", root, conditions, target=key, measure=measure, mask=threshold.mask
                    )
                    counted = Aggregate(AggregateFunction.COUNT, None, having)
                    yield self.make(
                        f"having/{name}/count",
                        counted,
                        conditions,
                        target=key,
                        measure=measure,
                        mask=threshold.mask,
                    )
                if name == "count" and "most_often" in cues and not numbers:
                    having = Filter(
                        grouped,
                        Compare(
                            Relator.GREATER, ColumnRef("value"), Constant(Decimal(1), ValueKind.QUANTITY)
                        ),
                    )
                    root = Project(having, (Named(ColumnRef("key")),))
                    yield self.make("having/repeated", root, conditions, target=key, mask=cues["most_often"])

    def _neighbours(self) -> Iterator[Candidate]:
        """The rows before and after the rows of a condition."""
        source, cues = self.source, self.cues
        for conditions in self.sets[:3]:
            expression = conditions.expression()
            if expression is None:
                continue
            for cue, offset in (("next", 1), ("previous", -1)):
                if not cues.get(cue, 0) & ~conditions.mask:
                    continue
                around = Neighbours(source.rows(conditions.choice), expression, offset)
                views = self.targets[:4]
                if conditions.conditions[0].column >= 0:
                    views = list(dict.fromkeys([source.columns[conditions.conditions[0].column], *views]))
                for view in views:
                    root = Project(around, (Named(view.ref),))
                    yield self.make(f"neighbour/{cue}", root, conditions, target=view, mask=cues[cue])
            if "same" in cues or "other" in cues:
                for view in self.targets[:3]:
                    if view.place in conditions.columns:
                        continue
                    known = Lookup(Filter(source.rows(conditions.choice), expression), view.ref)
                    rows = Filter(
                        source.rows(), And((Compare(Relator.EQUAL, view.ref, known), Not(expression)))
                    )
                    column = (
                        source.columns[conditions.conditions[0].column]
                        if conditions.conditions[0].column >= 0
                        else source.labels[0]
                    )
                    yield self.make(
                        "same_as",
                        Project(rows, (Named(column.ref),), True),
                        conditions,
                        target=column,
                        measure=view,
                        mask=cues.get("same", 0) | cues.get("other", 0),
                    )
                    yield self.make(
                        "same_as/count",
                        Aggregate(AggregateFunction.COUNT, None, rows),
                        conditions,
                        measure=view,
                        mask=cues.get("same", 0) | cues.get("other", 0),
                    )

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

    def _never(self) -> Iterator[Candidate]:
        """Rows of one table that no row of the other refers to."""
        source, cues = self.source, self.cues
        if "negation" not in cues or source.join is None:
            return
        nothing = condition_set([])
        keys = source.join.left, source.join.right
        for place in (0, 1):
            own, other = source.links[place], source.links[1 - place]
            own_id, other_id = own.index.id, other.index.id
            referred = Project(TableRows((other_id,)), (Named(keys[1 - place]),))
            rows = Filter(TableRows((own_id,)), Not(Membership(keys[place], referred)))
            views = [view for view in self.targets if view.ref.table == own_id][:3]
            spoken = (
                Question._all(source.link(v).mask for v in source.columns if v.ref.table == other_id)
                | other.title
            )
            for view in views:
                yield self.make(
                    "never",
                    Project(rows, (Named(view.ref),), True),
                    nothing,
                    target=view,
                    mask=cues["negation"] | spoken,
                )
            yield self.make(
                "never/count",
                Aggregate(AggregateFunction.COUNT, None, rows),
                nothing,
                mask=cues["negation"] | spoken,
            )
