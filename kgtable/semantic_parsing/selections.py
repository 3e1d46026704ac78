"""Candidates over one set of rows: cells, lists, counts, aggregates, extremes, groups, neighbours, existence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
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
    Neighbours,
    Node,
    Operator,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    ValueKind,
)
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.relation import ColumnRole
from kgtable.semantic_parsing.candidates import Candidate
from kgtable.semantic_parsing.grammar import AGGREGATES, MOST_MEASURES, MOST_TARGETS, Grammar
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView
from kgtable.semantic_parsing.sources import ConditionSet

_ZERO = Constant(Decimal(0), ValueKind.QUANTITY)


class Selections(Grammar):
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
                if (unit := self._another_unit(view)) is not None:
                    converted = Convert(Lookup(rows, view.ref), unit)
                    mask = question.unit_asked[1] if question.unit_asked else 0
                    yield self.make(
                        "select", converted, conditions, target=view, mask=mask, also=("convert",)
                    )
        if "members" in self.cues and source.labels and conditions.conditions:
            yield from self._members(conditions)
        # "2023 compared with 2022" may ask for both, side by side.
        beside = self.cues.get("than", 0) & self.cues.get("difference", 0)
        for linked in self._lists(targets, conditions.mask):
            # "The owner and price of the boat Merle" asks for no name of the boat.
            asked = [view for view in linked if view.place not in conditions.columns]
            for shown in [linked, asked] if 2 <= len(asked) < len(linked) else [linked]:
                chosen = Project(rows, tuple(Named(view.ref) for view in shown))
                yield self.make(
                    "select/columns", chosen, conditions, target=shown[0], others=shown, mask=beside
                )
        if "order" in self.cues or "first" in self.cues or "last" in self.cues:
            for by in self.ordered_by:
                told = bool(question.listed_first)
                down = self._lists_largest_first(by) if told else "descending" in self.cues
                ordered = Sort(rows, (SortKey(by.ref, down),))
                others = [view for view in targets if view.place != by.place and view.label][:1]
                for view in dict.fromkeys((*targets[:2], *others)):
                    yield self.make(
                        "sorted", Project(ordered, (Named(view.ref),)), conditions, target=view, measure=by
                    )
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

    def _lists_largest_first(self, view: ColumnView) -> bool:
        """Whether the question wants the rows with the largest values of a column at the head of the list."""
        signs = [
            next((sign for stem, sign in adjective.headers.items() if stem in view.aspects), adjective.sign)
            for adjective, _ in self.question.listed_first
        ]
        return bool(signs) and signs[0] > 0

    def _another_unit(self, view: ColumnView) -> str | None:
        """The unit that an amount is asked in, where its column has another: grams of an amount in kilograms."""
        asked, units = self.question.unit_asked, set(view.units) - NO_UNIT
        if asked is None or not view.measure or not units or units == {asked[0]}:
            return None
        return asked[0] if all(unit and comparable(unit, asked[0]) for unit in units) else None

    def _members(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The labels of the rows of a group, or of those that a table's total row adds up."""
        source, label = self.source, self.source.labels[0]
        rows = conditions.over(source.rows(conditions.choice))
        if not any(c.kind == "group" for c in conditions.conditions):
            whole = [
                c for c in conditions.conditions if c.column == label.place and c.choice is RowChoice.ALL
            ]
            if len(whole) < len(conditions.conditions) or source.links[0].index.group_values:
                return
            rows = source.rows()
        members = Project(rows, (Named(label.ref),))
        yield self.make("members", members, conditions, target=label, mask=self.cues["members"])

    def _aggregates_apart(self, rows: Rows, conditions: ConditionSet) -> Iterator[Candidate]:
        """Several aggregates of different columns, each word of one with the next column that is named."""
        aggregates = (("mean", "average"), ("sum", "total"), ("median", "median"))
        words = [(name, mask) for name, cue in aggregates if (mask := self.cues.get(cue, 0))]
        words += [
            ("max" if adjective.sign > 0 else "min", token) for adjective, token in self.question.adjectives
        ]
        if words and "together" not in self.cues and (many := self.cues.get("how_many", 0)):
            words.append(("sum", many))  # "how many people live there, and what is the largest income"
        named = self._shown([view for view in self.source.columns if view.measure], conditions.mask)
        found: list[tuple[int, str, ColumnView]] = []
        for name, mask in words:
            after = [view for view in named if self.source.link(view).mask > mask & -mask]
            if after:
                found.append((mask & -mask, name, after[0]))
                # "The average height and weight" says once what is asked of both.
                before = [next_ & -next_ for _, next_ in words if next_ & -next_ > mask & -mask]
                listed = [v for v in after[1:] if self._is_listed(after[0], v, min(before, default=0))]
                found += [(mask & -mask, name, view) for view in listed]
        found.sort(key=lambda entry: entry[0])
        if len({v.place for _, _, v in found}) < 2:
            return
        measures = tuple(
            Named(Aggregate(AGGREGATES[name], view.ref), f"{name} {view.place}") for _, name, view in found
        )
        yield self.make(
            "aggregates/columns", GroupBy(rows, (), measures), conditions, measure=found[0][2],
            mask=Question._all(mask for _, mask in words), others=[view for _, _, view in found],
        )  # fmt: skip

    def _is_listed(self, first: ColumnView, other: ColumnView, end: int) -> bool:
        """Whether "and" joins a column to the one named first, before the token `end` (0 for none)."""
        one = self.source.link(first).mask
        two = self.source.link(other).mask & ~one
        start, stop = one.bit_length(), (two & -two).bit_length() - 1
        between = sum(1 << place for place in range(start, stop))
        return bool(between & self.cues.get("and", 0)) and stop - start <= 4 and not (end and two > end)

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
        for adjective, _ in question.achievements[:1]:  # "the winning time" is the lowest
            for view in self.measures[:MOST_MEASURES]:
                told = self._told_by(view)
                sign = next(
                    (adjective.headers[stem] for stem in sorted(told) if stem in adjective.headers), 0
                )
                if sign and self.source.link(view).exact:
                    name = "max" if sign > 0 else "min"
                    yield from self._converted(
                        name, Aggregate(AGGREGATES[name], view.ref, rows), conditions, view
                    )
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
        columns = dict.fromkeys([*self.targets[:4], *source.labels[:1]])
        targets = [view for view in columns if not self._numbers_what_is_named(view)]
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
                lapse = self._lapse(by) if name in ("long", "short") and not sign else 0
                if (
                    by.temporal
                    and not (sign or lapse)
                    and name not in ("early", "late", "old", "young", "new")
                ):
                    continue
                descending = sign > 0 if sign else down ^ bool(lapse)
                if (
                    by.role is ColumnRole.ORDINAL
                    and not sign
                    and name in ("high", "low", "good", "bad", "most")
                ):
                    descending = not down
                ranked: Rows = base
                if self._shows_costs_below_zero(
                    by
                ):  # what costs most is the lowest of the amounts below zero
                    ranked = Filter(base, Compare(Relator.LESS, by.ref, _ZERO))
                    descending = not descending
                order = Sort(ranked, (SortKey(by.ref, descending),))
                costs = self._spending if ranked is not base else 0
                mask = (
                    token
                    | costs
                    | lapse
                    | (
                        Question._all([cues.get("first", 0) | cues.get("last", 0)])
                        if name in ("early", "late")
                        else 0
                    )
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
        source, question, cues = self.source, self.question, self.cues
        free = [view for view in self.targets if view.place not in conditions.columns]
        said = [view for view in free if self._says_each(view)]
        if source.join is not None:
            said += [view for view in self._shown(free, conditions.mask) if not view.measure]
        for key in list(dict.fromkeys([*free[:3], *said]))[:5]:
            asked = key.personal and question.wh == "who"  # "who did the most shifts"
            linked = source.link(key).score > 0.3 or source.link(key).mask & question.focus
            if not (linked or key.label or asked):
                continue
            measures = list(self._group_measures(key)) if self._repeats(key) or self._says_each(key) else []
            several, same = self._keys_beside(key, conditions), self._key_of(key)
            if self._says_each(key) and "and" in cues:
                yield from self._several_of_groups(key, conditions)
            for name, aggregate, measure, mask in measures:
                yield from self._of_groups(name, aggregate, measure, mask, conditions, [key])
                for keys in several:
                    yield from self._of_groups(name, aggregate, measure, mask, conditions, keys)
                for view in self._told_of(key):
                    yield from self._of_groups(name, aggregate, measure, mask, conditions, [view, key], 1)
                if same and key.label:
                    yield from self._of_groups(name, aggregate, measure, mask, conditions, [key, same], 1)

    def _several_of_groups(self, key: ColumnView, conditions: ConditionSet) -> Iterator[Candidate]:
        """Several aggregates of one column for each group: "the average and the highest price for each kind"."""
        words = sorted(self._aggregates_named(), key=lambda word: word[1])
        names = list(dict.fromkeys(name for name, _ in words))
        if len(names) < 2:
            return
        for view in self.measures[:2]:
            if view.place == key.place:
                continue
            grouped = GroupBy(
                conditions.over(self.source.rows(conditions.choice)),
                (Named(key.ref, "key"),),
                tuple(Named(Aggregate(AGGREGATES[name], view.ref), name) for name in names),
            )
            yield self.make(
                "group/several", grouped, conditions, target=key, measure=view,
                mask=Question._all(mask for _, mask in words), also=("group:said",),
            )  # fmt: skip

    def _group_measures(self, key: ColumnView) -> Iterator[tuple[str, Expression, ColumnView | None, int]]:
        """What may be told of each group: name, aggregate, its column, and the tokens that name the aggregate."""
        source, cues = self.source, self.cues
        yield "count", Aggregate(AggregateFunction.COUNT), None, 0
        for view in self.measures[:2]:
            if view.place != key.place:
                name, mask = ("mean", cues["average"]) if "average" in cues else ("sum", 0)
                yield name, Aggregate(AGGREGATES[name], view.ref), view, mask
                if self._says_each(key):
                    for down, token, _, _ in self._directions()[:2]:
                        name = "max" if down else "min"
                        yield name, Aggregate(AGGREGATES[name], view.ref), view, token
        for view in self.targets[:4]:
            if view.place != key.place and source.link(view).score >= 0.5 and not view.measure:
                yield "distinct", Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref), view, 0

    def _says_each(self, key: ColumnView) -> bool:
        """Whether the question asks for every group by naming a column: "for each year", "by year"."""
        if "order" not in self.cues and self._is_ordered_by(key):
            return True
        each = self.cues.get("each", 0) | self.cues.get("per", 0)
        link = self.source.link(key)
        named = link.mask
        if key.label and self.source.join is not None:
            named |= self.source.links[self.source.part_of(key.place)].titled
        return bool(named & (each << 1 | each << 2 | each << 3) & ~each)

    def _says_value_first(self, measure: ColumnView | None, keys: Sequence[ColumnView]) -> bool:
        """Whether the question names what is told of groups before it names the groups."""
        link = self.source.link
        told = self.cues.get("how_many", 0) if measure is None else link(measure).mask
        named = Question._all(link(view).mask for view in keys)
        return bool(told) and (not named or told & -told < named & -named)

    def _told_of(self, key: ColumnView) -> list[ColumnView]:
        """What is asked of the things that a join groups: the *town* of the clubs with the most players."""
        source = self.source
        if source.join is None or not key.label:
            return []
        part, named = source.part_of(key.place), source.link(key).mask
        return [
            view
            for view in source.columns
            if view is not key
            and source.part_of(view.place) == part
            and source.link(view).exact
            and 0 < source.link(view).mask < named & -named
        ][:2]

    def _key_of(self, view: ColumnView) -> ColumnView | None:
        """The key that tells things of one name apart, of the side of a join that names them; none where names do."""
        if not self.source.joins or view.distinct == view.filled:
            return None
        part = self.source.part_of(view.place)
        own = [v for v in self.source.columns if v.ref in self.source.keys and v.distinct == v.filled]
        return next((v for v in own if self.source.part_of(v.place) == part), None)

    def _keys_beside(self, key: ColumnView, conditions: ConditionSet) -> list[list[ColumnView]]:
        """The columns that a question names beside a key and that tell of the same thing; none for the key alone."""
        source = self.source
        part = source.part_of(key.place)
        same = [
            view
            for view in source.columns
            if source.part_of(view.place) == part
            and view.place not in conditions.columns
            and (not view.measure or (source.join is not None and key.distinct == key.filled))
        ]
        return [shown for shown in self._lists(same, conditions.mask) if key in shown]

    def _of_groups(
        self, name: str, aggregate: Expression, measure: ColumnView | None, named: int, conditions: ConditionSet,
        keys: Sequence[ColumnView], told: int = 0,
    ) -> Iterator[Candidate]:  # fmt: skip
        """The extreme group, all groups with what is told of each, and those beyond a number.

        The first `told` keys are shown, all where it is 0.
        """
        cues, question = self.cues, self.question
        names = ["key"] if len(keys) == 1 else [view.name for view in keys]
        if len({*names, "value"}) <= len(keys):
            names = [f"key {place}" for place in range(1, len(keys) + 1)]
        columns = tuple(Named(ColumnRef(each)) for each in names[: told or None])
        value = Named(ColumnRef("value"))
        grouped = GroupBy(
            conditions.over(self.source.rows(conditions.choice)),
            tuple(Named(view.ref, each) for view, each in zip(keys, names, strict=True)),
            (Named(aggregate, "value"),),
        )
        suffix = "" if len(columns) == 1 else "/columns"

        def made(op: str, root: Node, mask: int, also: Sequence[str] = ()) -> Candidate:
            return self.make(
                op + suffix, root, conditions, target=keys[0], measure=measure, mask=mask | named, also=also,
                others=keys[1:],
            )  # fmt: skip

        if name not in ("max", "min"):
            for down, token, _, _ in self._directions()[:2]:
                order = Sort(grouped, (SortKey(ColumnRef("value"), down),))
                best = Limit(order, 1, ties=True)
                yield made(f"group_extreme/{name}", Project(best, columns), token)
                if name == "count" and not suffix:
                    yield made("group_extreme/value", Project(Limit(order, 1), (value,)), token)
                if "and" in cues:
                    both = Project(best, (*columns, value))
                    yield made(f"group_extreme/{name}/both", both, token | cues["and"])
        listed = cues.get("and", 0)  # "and their corresponding number of"
        also_counted = self.cues.get("how_many", 0) & (listed << 1 | listed << 2 | listed << 3)
        each = also_counted or cues.keys() & {"each", "per"} or any(map(self._says_each, keys))
        if each and not (told and len(keys) == 2 and keys[1].label):
            also = ("group:said",) if any(map(self._says_each, keys)) else ()
            if self._says_value_first(measure, keys):
                yield made(f"group/{name}/swapped", Project(grouped, (value, *columns)), 0, also)
            else:
                root: Rows = Project(grouped, (*columns, value)) if told else grouped
                yield made(f"group/{name}", root, 0, also)
        numbers = [t for t in question.thresholds if not t.mask & conditions.mask and t.number.unit is None]
        for threshold in numbers[:1]:
            limit = Constant(threshold.number.value, ValueKind.QUANTITY)
            having = Filter(grouped, Compare(threshold.relator, ColumnRef("value"), limit))
            yield made(f"having/{name}", Project(having, columns), threshold.mask)
            if not suffix:
                counted = Aggregate(AggregateFunction.COUNT, None, having)
                yield made(f"having/{name}/count", counted, threshold.mask)
        if name == "count" and "most_often" in cues and not numbers:
            once = Constant(Decimal(1), ValueKind.QUANTITY)
            having = Filter(grouped, Compare(Relator.GREATER, ColumnRef("value"), once))
            yield made("having/repeated", Project(having, columns), cues["most_often"])

    def _neighbours(self) -> Iterator[Candidate]:
        """The rows before and after the rows of a condition."""
        source, cues = self.source, self.cues
        headers = Question._all(link.mask for link in source.column_links if link.exact)  # "next due"
        for conditions in self.sets[:3]:
            expression = conditions.expression()
            if expression is None:
                continue
            for cue, offset in (("next", 1), ("previous", -1)):
                if not cues.get(cue, 0) & ~conditions.mask & ~headers:
                    continue
                around = Neighbours(source.rows(conditions.choice), expression, offset)
                views = self.targets[:4]
                if conditions.conditions[0].column >= 0:
                    views = list(dict.fromkeys([source.columns[conditions.conditions[0].column], *views]))
                for view in views:
                    root = Project(around, (Named(view.ref),))
                    yield self.make(f"neighbour/{cue}", root, conditions, target=view, mask=cues[cue])

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
