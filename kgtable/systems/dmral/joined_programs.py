"""Programs over two joined tables, composed from what a question asks of each (DMRAL, section 5, without a model).

One table has the key (its rows are *things*), the other refers to it (its rows are *events* of things). The program
grows by the sub-questions: conditions of both tables filter the joined rows, rows are counted for each thing
where the question compares or gives counts, and at last the columns that are asked for are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from kgtable.index.inferred.column_profiles import KEY_WORDS, header_words
from kgtable.index.inferred.relations import TableRelations
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    GroupBy,
    Join,
    KeyPair,
    Limit,
    Membership,
    Named,
    Not,
    Program,
    Project,
    Relator,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
)
from kgtable.programs.relation import Relation
from kgtable.semantic_parsing.conditions import Condition
from kgtable.semantic_parsing.linking import Links
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView, index_of
from kgtable.semantic_parsing.sources import ProgramSource, TableKey, shared_key

FUZZY = 85
"""The similarity from which spellings join, where the relation has values that are spelt otherwise."""

LEAST_QUALITY = 0.65
"""The quality of a condition from which it filters."""

MOST_TARGETS = 6
_MEASURE = "measure"
_NAMING = ("name", "titl", "fullnam", "label")
_IMPERATIVE = re.compile(r"^(?:please )?(?:list|give|show|return|find|tell|display|report|state|what|which|who|count)\b")  # noqa: E501  # fmt: skip
_OPENING = re.compile(
    r"^\W*(?:(?:please )?(?:list|give|show|return|find|tell|display|report|state|compute|count)(?: me| us)?\b|"
    r"(?:what|who|which)(?: is| are| was| were)\b|in which|on what|what|which|who)\s*(?:all |the |of )*"
)
_BOUNDARY = re.compile(
    r"\b(?:who|whom|that|which|whose|where|with|without|having|has|have|had|did|do|does|done|in|from|by|when|ordered|"
    r"sorted|is|are|was|were|for|to|on|at|after|before|there|not|never|belong|belongs|belonging|owned?|owns|"
    r"sung|sold|named|called|made|used|uses?)\b"
)
_EACH = re.compile(r"\b(?:each|every|per|corresponding|respective)\b")
_COUNTED = re.compile(
    r"\b(?:(?:the )?(?:total )?(?:number|count|amount)s? of|how many|count)\b(?: the| different)*"
)
_MOST = re.compile(r"\b(?:most|largest number of|greatest number of|highest number of|maximum number of|biggest number of)\b")  # noqa: E501  # fmt: skip
_FEWEST = re.compile(r"\b(?:fewest|least|smallest number of|lowest number of|minimum number of)\b")
_NEVER = re.compile(
    r"\b(?:(?:do|does|did|have|has|had|are|is|was|were) ?n[o']?t|not|no|never|without|n't|except)\b"
    r"(?! (?:more|less|fewer))"
)
_FILTERING = ("exact", "partial", "several", "contains", "number", "time", "threshold", "truth")
_AGGREGATES = (
    (re.compile(r"\b(?:average|mean)\b"), AggregateFunction.MEAN),
    (re.compile(r"\b(?:total|sum)\b(?! (?:number|count)s? of)"), AggregateFunction.SUM),
    (re.compile(r"\b(?:maximum|highest|largest|greatest)\b(?! number of)"), AggregateFunction.MAX),
    (re.compile(r"\b(?:minimum|lowest|smallest)\b(?! number of)"), AggregateFunction.MIN),
)


@dataclass(frozen=True, slots=True)
class TableJoin:
    """Join of two tables: the referring column of the events, the key of the things, and whether fuzzily."""

    events: int
    things: int
    reference: ColumnRef
    key: ColumnRef
    similarity: int = 0


@dataclass(frozen=True, slots=True)
class ComposedProgram:
    """A program with the words for what it does, and the share of the question's words it accounts for."""

    program: Program
    form: str
    covered: float


def joins_between(
    relations: TableRelations | None, tables: Sequence[Relation], one: int, other: int
) -> list[TableJoin]:
    """The joins of two tables: those of the graph, the surest first, else what their values alone suggest."""
    found = []
    ids = tables[one].id, tables[other].id
    for join in relations.between(*ids) if relations is not None else ():
        turned = join.left.table != ids[0]
        events, things = (other, one) if turned else (one, other)
        similarity = FUZZY if join.fuzzy else 0
        reference = index_of(tables[events]).columns[join.left.column].ref
        key = index_of(tables[things]).columns[join.right.column].ref
        found.append(TableJoin(events, things, reference, key, similarity))
    if found:
        return found
    shared = shared_key(index_of(tables[one]), index_of(tables[other]))
    if shared is None:
        return []
    views = [index_of(tables[table]).columns for table in (one, other)]
    if _is_unique(views[0], shared.left) and not _is_unique(views[1], shared.right):
        return [TableJoin(other, one, shared.right, shared.left)]
    return [TableJoin(one, other, shared.left, shared.right)]


def _is_unique(columns: Sequence[ColumnView], ref: ColumnRef) -> bool:
    return any(view.ref == ref and view.distinct >= view.filled for view in columns)


class JoinComposer:
    """Composes programs for one question over two tables and one join of theirs."""

    def __init__(self, question: Question, tables: Sequence[Relation], join: TableJoin) -> None:
        self.question, self.join = question, join
        self._tables = tables[join.things], tables[join.events]
        links = [Links(question, index_of(table)) for table in self._tables]
        features: Mapping[str, float] = {}
        self.source = ProgramSource(links, 1.0, 0, (TableKey(join.key, join.reference, features),))
        self._first_event = len(links[0].index.columns)
        self._text = question.lower
        self._names = [self._naming(table) for table in self._tables]

    def _naming(self, table: Relation) -> int:
        """The tokens that name a table: the words of its own name."""
        words = set(header_words(re.split(r"__|[/#]", table.id)[-1]))
        return sum(1 << t.index for t in self.question.tokens if t.stem in words and not t.empty)

    @property
    def speaks_of_both(self) -> bool:
        """Whether the question names something of each table: the table itself, a column or a value."""
        sides = {0 if view.place < self._first_event else 1 for view in self.targets}
        sides |= {0 if c.column < self._first_event else 1 for c in self.conditions}
        sides |= {side for side in (0, 1) if self._names[side] & ~self._names[1 - side]}
        return sides == {0, 1}

    def programs(self) -> list[ComposedProgram]:
        """The programs whose form the question has, the most telling form first."""
        found = []
        for form, root in self._forms():
            if root is not None:
                found.append(ComposedProgram(Program(root), form, self._covered()))
        return found

    def _covered(self) -> float:
        content = self.question.content
        if not content:
            return 0.0
        touched = self._names[0] | self._names[1]
        for link in self.source.column_links:
            touched |= link.mask
        for condition in self.conditions:
            touched |= condition.mask
        for mask in self.question.cues.values():
            touched |= mask
        return (content & touched).bit_count() / content.bit_count()

    def _forms(self) -> Iterable[tuple[str, Rows | Expression | None]]:
        text = self._text
        counted = _COUNTED.search(text)
        compared = next((t for t in self.question.thresholds if self._compares_rows(t.mask)), None)
        if compared is not None:
            yield "having", self._having(compared.relator, compared.number.value)
        if _NEVER.search(text) and compared is None:
            yield "never", self._never(counting=bool(counted and counted.start() < 12))
        if re.search(r"\bboth\b", text):
            yield "both", self._both()
        for pattern, descending in ((_MOST, True), (_FEWEST, False)):
            match = pattern.search(text)
            if match is None or re.search(r"\bat (?:least|most)\b", text):
                continue
            summed = self._quantity_after(match.end())
            if summed is not None:
                yield (
                    "most of a quantity",
                    self._most(Aggregate(AggregateFunction.SUM, summed.ref), descending),
                )
            elif self._counts_after(match.end()):
                yield "most", self._most(Aggregate(AggregateFunction.COUNT), descending)
        if counted and (_EACH.search(text) or self._shows_beside(counted)):
            yield "count for each", self._for_each(Aggregate(AggregateFunction.COUNT))
        measure = self._measure()
        if measure is not None:
            function, view = measure
            aggregate = Aggregate(function, view.ref)
            if _EACH.search(text) or (len(self.targets) > 0 and self._lists()):
                yield "aggregate for each", self._for_each(aggregate)
            yield "aggregate", Aggregate(function, view.ref, self._filtered())
        yield "extreme", self._extreme()
        if counted and counted.start() < 25:
            yield "count", self._count()
        yield "select", self._select()

    # What the question says

    @cached_property
    def _segments(self) -> tuple[int, int]:
        """Where the columns that are asked for are named: the first clause, or that of the last command."""
        text = self._text
        start = 0
        for sentence in re.finditer(r"[.?!;]\s+(?=\S)", text):
            rest = text[sentence.end() :]
            if _IMPERATIVE.match(rest):
                start = sentence.end()
        each = re.match(r"for (?:each|every|all)\b[^,]*,\s*", text[start:])
        if each:
            start += each.end()
        opening = _OPENING.match(text[start:])
        begin = start + (opening.end() if opening else 0)
        end = len(text)
        for boundary in _BOUNDARY.finditer(text, begin):
            before = text[begin : boundary.start()].strip()
            if before and not before.endswith(("number", "and", ",")):
                end = boundary.start()
                break
        return begin, end

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions on either table that do not share words, the surest first."""
        chosen: list[Condition] = []
        taken = 0
        for threshold in self.question.thresholds:
            if self._compares_rows(threshold.mask):
                taken |= threshold.mask
        for condition in self.source.conditions:
            if condition.column < 0 or condition.quality < LEAST_QUALITY or condition.mask & taken:
                continue
            if condition.kind not in (
                "exact",
                "partial",
                "several",
                "contains",
                "number",
                "time",
                "threshold",
                "truth",
            ):
                continue
            words = self._names[0] | self._names[1]
            if condition.mask & ~words == 0 or condition.mask & ~self._header_words == 0:
                continue
            chosen.append(condition)
            taken |= condition.mask
        return tuple(chosen)

    @cached_property
    def _header_words(self) -> int:
        total = 0
        for link in self.source.column_links:
            if link.exact:
                total |= link.mask
        return total & ~self.question.names & ~self.question.quoted

    @cached_property
    def targets(self) -> tuple[ColumnView, ...]:
        """The columns that are asked for, in the order in which they are named."""
        begin, end = self._segments
        most = _MOST.search(self._text, begin, end) or _FEWEST.search(self._text, begin, end)
        end = min(end, most.start()) if most is not None and most.start() > begin + 2 else end
        inside = self.question.mask(begin, end)
        used = all_masks(condition.mask for condition in self.conditions)
        best: dict[int, tuple[float, ColumnView]] = {}
        for view, link in zip(self.source.columns, self.source.column_links, strict=True):
            if link.score < 0.5 or not link.mask & inside & ~used:
                continue
            mask = link.mask & inside & ~used
            score = link.score + 0.3 * self._beside_name(mask, view) + 0.02 * (view.place < self._first_event)
            if not mask & ~(self._names[0] | self._names[1]):
                continue
            mask &= ~(self._names[0] | self._names[1])
            first = (mask & -mask).bit_length() - 1
            for place, (known, other) in list(best.items()):
                if self.source.link(other).mask & mask:
                    if known >= score:
                        break
                    del best[place]
            else:
                best[first] = score, view
        chosen = [(place, view) for place, (score, view) in sorted(best.items()) if score >= 0.5]
        counted = _COUNTED.search(self._text, begin, end)
        if counted is not None:
            inside &= ~self.question.mask(counted.end(), counted.end() + 20)
        named = self._named_tables(inside)
        if not chosen:
            sides = list(named)[: 2 if " and " in self._text[begin:end] else 1] or [0]
            return tuple(label for side in sides if (label := self._label(side)) is not None)
        for side, place in named.items():
            own = [view for _, view in chosen if (view.place >= self._first_event) == (side == 1)]
            if not own and counted is None and self._stands_alone(place):
                label = self._label(side)
                if label is not None:
                    chosen.append((place, label))
        return tuple(view for _, view in sorted(chosen, key=lambda item: item[0]))[:MOST_TARGETS]

    def _named_tables(self, inside: int) -> dict[int, int]:
        """The tables that the clause names, 0 for things and 1 for events, with the first token that does."""
        found = {
            side: ((mask & -mask).bit_length() - 1)
            for side in (0, 1)
            if (mask := self._names[side] & inside & ~self._names[1 - side])
        }
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def _stands_alone(self, place: int) -> bool:
        """Whether a token stands behind *and*, as a thing of its own that is asked for."""
        before = [token.word for token in self.question.tokens[max(place - 3, 0) : place]]
        return "and" in before and "of" not in before[before.index("and") :]

    def _own(self, view: ColumnView) -> Relation:
        return self._tables[0 if view.place < self._first_event else 1]

    def _words(self, mask: int) -> set[str]:
        return {token.word for token in self.question.tokens if mask >> token.index & 1}

    def _beside_name(self, mask: int, view: ColumnView) -> bool:
        """Whether the words of a column stand beside those of its own table: *name of the singer*."""
        own = self._names[0 if view.place < self._first_event else 1]
        other = self._names[1 if view.place < self._first_event else 0]
        near = mask
        for _ in range(3):
            near |= near << 1 | near >> 1
            if near & own & ~mask:
                return True
            if near & other & ~mask:
                return False
        return False

    def _label(self, side: int) -> ColumnView | None:
        columns = (
            self.source.columns[: self._first_event]
            if side == 0
            else self.source.columns[self._first_event :]
        )
        own = set(header_words(re.split(r"__|[/#]", self._tables[side].id)[-1]))
        columns = tuple(view for view in columns if not KEY_WORDS & set(header_words(view.name))) or columns
        naming = [view for view in columns if view.stems and set(view.stems) <= own]
        naming += [view for view in columns if set(view.stems) & set(_NAMING)]
        texts = [view for view in columns if view.kind is ValueKind.TEXT]
        return next(iter([*naming, *texts, *columns]), None)

    def _compares_rows(self, mask: int) -> bool:
        """Whether a threshold counts rows: a noun of the tables, no column of numbers, stands behind it."""
        behind = mask.bit_length()
        after = 0b1111 << behind
        measures = [
            link.mask
            for view, link in zip(self.source.columns, self.source.column_links, strict=True)
            if view.measure and link.score >= 0.5
        ]
        if any(measure & (after | mask >> 1 | mask >> 2 | mask >> 3) & ~(self._names[0] | self._names[1]) for measure in measures):  # noqa: E501  # fmt: skip
            return False
        nouns = [token for token in self.question.tokens[behind : behind + 3] if not token.empty]
        return bool(after & (self._names[0] | self._names[1])) or bool(
            nouns and self._counted_noun(nouns[0].stem)
        )

    def _counted_noun(self, stem: str) -> bool:
        return any(stem in header_words(table.id) for table in self._tables)

    def _counts_after(self, place: int) -> bool:
        """Whether what follows names rows, not a column of numbers."""
        following = self.question.mask(place, min(place + 30, len(self._text)))
        for view, link in zip(self.source.columns, self.source.column_links, strict=True):
            if (
                view.measure
                and link.score >= 0.6
                and link.mask & following
                and not link.mask & self._names[1]
            ):
                return False
        return True

    def _quantity_after(self, place: int) -> ColumnView | None:
        """The column that counts things, such as pieces, that the words from a place on name."""
        following = self.question.mask(place, min(place + 20, len(self._text)))
        views = [
            view
            for view, link in zip(self.source.columns, self.source.column_links, strict=True)
            if view.quantity and link.score >= 0.6 and link.mask & following
        ]
        return views[0] if views else None

    def _shows_beside(self, counted: re.Match[str]) -> bool:
        begin, end = self._segments
        return len(self.targets) > 0 and begin <= counted.start() <= end and " and " in self._text[begin:end]

    def _lists(self) -> bool:
        begin, end = self._segments
        return bool(re.search(r"\band\b|,", self._text[begin:end]))

    def _measure(self) -> tuple[AggregateFunction, ColumnView] | None:
        for pattern, function in _AGGREGATES:
            match = pattern.search(self._text)
            if match is None:
                continue
            following = self.question.mask(match.end(), min(match.end() + 40, len(self._text)))
            views = [
                (link.score, -view.place, view)
                for view, link in zip(self.source.columns, self.source.column_links, strict=True)
                if view.measure and link.score >= 0.5 and link.mask & following
            ]
            if views:
                return function, max(views, key=lambda item: item[:2])[2]
        return None

    # What programs are made of

    def _rows(self, side: int) -> Rows:
        return TableRows((self._tables[side].id,))

    @cached_property
    def joined(self) -> Rows:
        """The joined rows."""
        pair = KeyPair(self.join.key, self.join.reference)
        return Join(self._rows(0), self._rows(1), (pair,), self.join.similarity)

    def _filtered(self) -> Rows:
        parts = [condition.expression for condition in self.conditions]
        return (
            self.joined
            if not parts
            else Filter(self.joined, parts[0] if len(parts) == 1 else And(tuple(parts)))
        )

    def _of_side(self, side: int) -> list[Condition]:
        return [c for c in self.conditions if (c.column < self._first_event) == (side == 0)]

    def _project(self, rows: Rows, *, distinct: bool = False) -> Rows | None:
        if not self.targets:
            return None
        return Project(rows, tuple(Named(view.ref) for view in self.targets), distinct)

    def _grouped(self, measure: Expression) -> tuple[GroupBy, list[Named]]:
        """The joined rows for each thing: the columns asked for as keys beside the thing's own, and the measure."""
        asked = [Named(view.ref, f"key {place}") for place, view in enumerate(self.targets)]
        by_events = bool(self.targets) and all(view.place >= self._first_event for view in self.targets)
        keys = asked if by_events else [Named(self.join.key, "thing"), *asked]
        shown = [Named(ColumnRef(key.name)) for key in asked]
        return GroupBy(self._filtered(), tuple(keys), (Named(measure, _MEASURE),)), shown

    def _having(self, relator: Relator, number: Decimal) -> Rows | None:
        grouped, shown = self._grouped(Aggregate(AggregateFunction.COUNT))
        enough = Compare(relator, ColumnRef(_MEASURE), Constant(number, ValueKind.QUANTITY))
        return Project(Filter(grouped, enough), tuple(shown)) if shown else None

    def _most(self, measure: Aggregate, descending: bool) -> Rows | None:
        grouped, shown = self._grouped(measure)
        counted = _COUNTED.search(self._text, *self._segments)
        if counted is not None and shown and not _MOST.search(self._text, *self._segments):
            shown.append(Named(ColumnRef(_MEASURE)))
        best = Limit(Sort(grouped, (SortKey(ColumnRef(_MEASURE), descending),)), 1)
        return Project(best, tuple(shown)) if shown else None

    def _for_each(self, aggregate: Aggregate) -> Rows | None:
        grouped, shown = self._grouped(aggregate)
        begin, end = self._segments
        counted = _COUNTED.search(self._text, begin, end)
        columns = [
            name
            for name, view in zip(shown, self.targets, strict=True)
            if aggregate.argument is None or view.ref != aggregate.argument
        ]
        first = counted is not None and counted.start() <= begin + 2
        measure = Named(ColumnRef(_MEASURE))
        return Project(grouped, (measure, *columns) if first else (*columns, measure)) if columns else None

    def _never(self, *, counting: bool) -> Rows | Expression | None:
        """The things without events that fit."""
        events: Rows = self._rows(1)
        if conditions := self._of_side(1):
            parts = tuple(_plain(condition.expression) for condition in conditions)
            events = Filter(events, parts[0] if len(parts) == 1 else And(parts))
        wanted: list[Expression] = [
            Not(Membership(self.join.key, Project(events, (Named(self.join.reference),)))),
            *(condition.expression for condition in self._of_side(0)),
        ]
        rows = Filter(self._rows(0), wanted[0] if len(wanted) == 1 else And(tuple(wanted)))
        if counting:
            return Aggregate(AggregateFunction.COUNT, None, rows)
        if any(view.place >= self._first_event for view in self.targets):
            return None
        return self._project(rows)

    def _both(self) -> Rows | None:
        """The rows that two values of one column lead to alike."""
        several = next((c for c in self.source.conditions if c.kind == "several" and isinstance(c.expression, Membership)), None)  # noqa: E501  # fmt: skip
        if several is None or not self.targets:
            return None
        assert isinstance(several.expression, Membership)
        choices = several.expression.choices
        if isinstance(choices, Rows) or len(choices) != 2:
            return None
        others = [c.expression for c in self.conditions if not c.mask & several.mask]
        sides = []
        for choice in choices:
            parts = (_equal(several.expression.operand, choice), *others)
            rows = Filter(self.joined, parts[0] if len(parts) == 1 else And(parts))
            sides.append(self._project(rows, distinct=True))
        assert sides[0] is not None
        assert sides[1] is not None
        return SetOperation(SetOperator.INTERSECT, sides[0], sides[1])

    def _extreme(self) -> Rows | None:
        """The columns asked for of the joined row that has the greatest or least of a measure."""
        for adjective, token in self.question.adjectives:
            named = any(link.exact and link.mask & token for link in self.source.column_links)
            if not adjective.superlative or named or token & all_masks(c.mask for c in self.conditions):
                continue
            near = token
            for _ in range(4):
                near |= near << 1
            views = []
            for view, link in zip(self.source.columns, self.source.column_links, strict=True):
                if not view.sortable or (view in self.targets and len(self.targets) > 1):
                    continue
                hinted = next((sign for stem, sign in adjective.headers.items() if stem in view.stems), 0)
                if hinted or (link.score >= 0.5 and link.mask & near):
                    views.append(
                        (bool(link.mask & near) * link.score + 0.5 * bool(hinted), -view.place, hinted, view)
                    )
            if views:
                _, _, hinted, view = max(views, key=lambda item: item[:2])
                descending = (hinted or adjective.sign) > 0
                targets = [target for target in self.targets if target.ref != view.ref] or list(self.targets)
                sort = Sort(self._filtered(), (SortKey(view.ref, descending),))
                return (
                    Project(Limit(sort, 1), tuple(Named(target.ref) for target in targets))
                    if targets
                    else None
                )
        return None

    def _count(self) -> Expression:
        """How many joined rows there are; of things or different values, each once."""
        counted = _COUNTED.search(self._text)
        assert counted is not None
        after = self.question.mask(counted.end(), min(counted.end() + 25, len(self._text)))
        summed = self._quantity_after(counted.end())
        if summed is not None:
            return Aggregate(AggregateFunction.SUM, summed.ref, self._filtered())
        things = self._names[0] & after
        events = self._names[1] & after
        if things and (not events or things & -things < events & -events):
            return Aggregate(AggregateFunction.COUNT_DISTINCT, self.join.key, self._filtered())
        if re.search(r"\b(?:different|distinct|unique)\b", self._text) and self.targets:
            return Aggregate(AggregateFunction.COUNT_DISTINCT, self.targets[0].ref, self._filtered())
        return Aggregate(AggregateFunction.COUNT, None, self._filtered())

    def _select(self) -> Rows | None:
        distinct = re.search(r"\b(?:different|distinct|unique)\b", self._text) is not None
        return self._project(self._filtered(), distinct=distinct)


def all_masks(masks: Iterable[int]) -> int:
    """All tokens of some masks."""
    total = 0
    for mask in masks:
        total |= mask
    return total


def _equal(operand: Expression, value: Expression) -> Expression:
    """Whether a value equals another."""
    return Compare(Relator.EQUAL, operand, value)


def _plain(expression: Expression) -> Expression:
    """A condition without its negation: the events that must not be there."""
    if isinstance(expression, Not):
        return expression.condition
    if isinstance(expression, Compare) and expression.relator is Relator.NOT_EQUAL:
        return Compare(Relator.EQUAL, expression.left, expression.right)
    return expression
