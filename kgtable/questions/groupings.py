"""Groups that a question asks for by a word of grouping: "total hours by client", "orders per month", "top 3 drivers".

The word is a part of the question: a column or a period of dates must follow it and is the key of the groups. The
value of each group is a number of rows or an aggregate of a measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import islice, product
from operator import and_
from typing import NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Apply,
    ColumnRef,
    Expression,
    Function,
    GroupBy,
    IsMissing,
    Limit,
    Named,
    Project,
    Rows,
    Sort,
    SortKey,
    Unpivot,
    ValueKind,
)
from kgtable.programs.fields import BUCKETS, Bucket
from kgtable.programs.relation import NAMING
from kgtable.questions.candidates import DETERMINERS, Candidate
from kgtable.questions.english import words_of_type
from kgtable.questions.grammar import AGGREGATES, Grammar
from kgtable.questions.ranker_weights import SAID_GROUPS as SAID
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet

SPANS = {name: BUCKETS[Bucket(name)] for name in ("month", "quarter", "year", "weekday")}
"""The periods that dates are grouped by, under the names of their types of words."""

_HEADED = {
    BUCKETS[Bucket.YEAR]: re.compile(r"\d{4}|P1Y/.+"),
    BUCKETS[Bucket.QUARTER]: re.compile(r"\d{4}-Q\d"),
    BUCKETS[Bucket.MONTH]: re.compile(r"(?:\d{4}-|--)\d\d"),
}
"""What a header is that is such a period, see `kgtable.values.periods.find_period`."""

_HEADER, _CELL = "header", "values"
_MOST_KEYS = 3
"""Columns that one word of grouping may be followed by, and keys of one program."""
_MOST_GROUPINGS = 6
_LEAST_MISSPELT = 4
"""Letters of a word from which one of them may be wrong."""
_FILLERS = DETERMINERS | {"of", "different", "single", "individual", "calendar"}
_KINDS = ("type", "kind")


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A column, or a period of its dates, that rows are grouped by, with the tokens that say so."""

    view: ColumnView
    span: Function | None
    mask: int
    score: float
    word: str
    """The word of grouping."""
    columns: tuple[ColumnView, ...] = ()
    """The columns headed by periods, each of which is a group; `view` is the first of them."""

    @property
    def expression(self) -> Expression:
        """Its value for a row."""
        value = ColumnRef(_HEADER) if self.columns else self.view.ref
        return value if self.span is None else Apply(self.span, value)

    @property
    def places(self) -> frozenset[int]:
        """The columns that it takes from those that may be measures or limited."""
        return frozenset(view.place for view in self.columns or (self.view,))

    @property
    def has_gaps(self) -> bool:
        """Whether rows may have no value for it."""
        return not self.columns and bool(self.view.missing)

    @property
    def name(self) -> str:
        """Its header in the result."""
        words = next((word for word, span in SPANS.items() if span is self.span), "")
        if self.columns:
            return words.capitalize()
        return f"{self.view.name} ({words})" if words else self.view.name or "key"


class GroupValue(NamedTuple):
    """What is computed of each group: an aggregate, the column that it measures, and the tokens that name it."""

    name: str
    aggregate: Expression
    measure: ColumnView | None
    mask: int
    columns: tuple[ColumnView, ...] = ()
    """The columns headed by periods whose cells it aggregates together."""


class Groupings(Grammar):
    """Groups by the columns that a question names for it."""

    def _said_groups(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """All groups with their values, or the first of them, over the rows of a condition set."""
        for keys in self.said_keys:
            mask = Question._all(key.mask for key in keys)
            apart = _spanned(keys)
            others = Question._all(c.mask for c in conditions.conditions if c.column not in apart)
            headed = all(key.columns for key in keys)  # a corner "Year" is in the name of each row
            taken = frozenset(place for key in keys if key.span is None or key.columns for place in key.places)
            if (mask & others and not headed) or taken & conditions.columns:
                continue
            for told in self._told_of_groups(keys, mask | conditions.mask):
                yield self._groups(keys, told, mask, conditions)

    def _groups(self, keys: Sequence[GroupKey], value: GroupValue, mask: int, conditions: ConditionSet) -> Candidate:
        name, aggregate, measure, said, columns = value
        told = name if columns else "count" if measure is None else f"{name} of {measure.name}"
        rows: Rows = conditions.over(self.source.rows(conditions.choice))
        if columns:
            rows = Unpivot(rows, tuple(view.ref for view in columns), _HEADER, _CELL)
        for key in keys:
            if key.span is Function.WEEKDAY_NAME:  # groups are in the order of their first rows
                rows = Sort(rows, (SortKey(Apply(Function.WEEKDAY, key.view.ref), False),))
        names = [key.name if key.name != told else "key" for key in keys]
        grouped: Rows = GroupBy(
            rows,
            tuple(Named(key.expression, title) for key, title in zip(keys, names, strict=True)),
            (Named(aggregate, told),),
        )
        by_time = [
            SortKey(ColumnRef(title), False)
            for key, title in zip(keys, names, strict=True)
            if (key.view.temporal or key.columns) and key.span is not Function.WEEKDAY_NAME
        ]
        count, limited = self.question.limit
        whole = [key.view for key in keys if key.span is None and not columns]
        features = {
            SAID: 1.0,
            f"{SAID}:{name} {'said' if said else 'meant'}": 1.0,
            f"{SAID}:keys": float(len(keys)),
            f"{SAID}:key": min(key.score for key in keys),
            f"{SAID}:span": float(any(key.span is not None for key in keys)),
            f"{SAID}:of one row": float(any(view.distinct == view.filled for view in whole)),
            **{f"{SAID}:word {key.word}": 1.0 for key in keys},
            f"{SAID}:{name}:rows {'named' if self._names_rows else 'unnamed'}": 1.0,
        }
        if measure is not None and measure.measure:
            features[f"{SAID}:{name}:{'adds up' if measure.adds_up else 'adds up never'}"] = 1.0
        mask |= said
        if self._is_first_of_groups(keys):
            down = next((down for down, _, _, _ in self._directions()), True)
            direction = Question._all(token for _, token, _, _ in self._directions())
            mask |= limited | direction | self.cues.get("first", 0)
            grouped = Limit(Sort(grouped, (SortKey(ColumnRef(told), down),)), count)
        elif not any(key.span is Function.WEEKDAY_NAME for key in keys) or any(key.has_gaps for key in keys):
            gaps = [SortKey(IsMissing(ColumnRef(title)), False) for title in names if any(key.has_gaps for key in keys)]
            by_value = (
                () if keys[0].view.temporal or keys[0].columns or len(keys) > 1 else (SortKey(ColumnRef(told), True),)
            )
            order = (*gaps, *by_time, *by_value)
            grouped = Sort(grouped, order) if order else grouped
        candidate = self.make(
            f"group/{name}", grouped, conditions, target=keys[0].view, measure=measure, mask=mask, features=features,
            others=[key.view for key in keys[1:]],
        )  # fmt: skip
        unsaid = self.source.named & ~candidate.mask  # "amount", which says nothing in most questions, is a column
        candidate.features[f"{SAID}:left"] = float(unsaid.bit_count())
        return candidate

    def _told_of_groups(self, keys: Sequence[GroupKey], taken: int) -> Iterator[GroupValue]:
        """The possible values of a group."""
        places = {key.view.place for key in keys}
        how_many = self.cues.get("how_many", 0)
        named = [(name, mask) for name, mask in self._aggregates_named() if mask & ~taken]
        if headed := next((key for key in keys if key.columns), None):
            of_whom = self.question.wh in ("which", "who", "where")  # "the region with the most each year" is a name
            for name, mask in named or [(_usual(headed.columns), how_many)]:
                if not (of_whom and name in ("max", "min")):
                    yield GroupValue(name, Aggregate(AGGREGATES[name], ColumnRef(_CELL)), None, mask, headed.columns)
            return
        if self._is_first_of_groups(keys):
            named = [(name, mask) for name, mask in named if name not in ("max", "min")]
        if how_many or not named:
            yield GroupValue("count", Aggregate(AggregateFunction.COUNT), None, how_many)
        for columns, said in self._periods_together:
            for name, mask in named or [(_usual(columns), how_many)]:
                value = Aggregate(AGGREGATES[name], ColumnRef(_CELL))
                yield GroupValue(name, value, None, mask | said, columns)
        free = [view for view in self.measures if view.place not in places and not self._counts_keys]
        linked = [view for view in free if self.source.link(view).mask & ~taken][: _MOST_KEYS + 1]
        for view in linked or free[:2]:
            for name, mask in named or [("sum", how_many), ("mean", 0)]:
                yield GroupValue(name, Aggregate(AGGREGATES[name], view.ref), view, mask)
        summed = bool(named) and bool(linked) and not how_many
        for view in self.targets[:4] if not summed else ():  # "total order amount" is not a number of orders
            link = self.source.link(view)
            if view.place not in places and not view.measure and link.score >= 0.5 and link.mask & ~taken:
                if view.kind is ValueKind.TRUTH or (view.temporal and not view.missing):
                    continue  # which are given in each row
                function, name = AggregateFunction.COUNT, "count"
                written = {token.word for token in self.question.tokens if link.mask >> token.index & 1}
                named_apart = not written.isdisjoint(spellings(view)) and (view.role in NAMING or view.personal)
                if "distinct" in self.cues or self.source.join is not None or named_apart:
                    function, name = AggregateFunction.COUNT_DISTINCT, "distinct"
                measure = None if name == "count" else view
                yield GroupValue(name, Aggregate(function, view.ref), measure, how_many | link.mask)

    @cached_property
    def _counts_keys(self) -> bool:
        """Whether a column that is not a measure is named right after "how many": "how many orders per town"."""
        how_many = self.cues.get("how_many", 0)
        linked = zip(self.source.columns, self.source.column_links, strict=True)
        named = [view for view, link in linked if link.exact and link.mask & how_many << 1 & ~how_many]
        return bool(named) and not any(view.measure for view in named)

    def _is_first_of_groups(self, keys: Sequence[GroupKey]) -> bool:
        """Whether the groups with the highest or lowest values are asked for, and not the highest value of each."""
        return bool(self._ranked_by_limit) and all(key.mask & self._ranked_by_limit for key in keys)

    @cached_property
    def _names_rows(self) -> bool:
        """Whether a column names each row: orders have numbers, and exports, which are summed, have none."""
        return any(
            view.filled > 1 and view.distinct == view.filled and (view.role in NAMING or view.key_words)
            for view in self.source.columns
        )

    @cached_property
    def _ranked_by_limit(self) -> int:
        """The tokens after "top 3"."""
        _, limited = self.question.limit
        return limited << 1 | limited << 2

    @cached_property
    def said_keys(self) -> list[tuple[GroupKey, ...]]:
        """The keys that the words of grouping are followed by: for each several columns may be meant."""
        choices: list[list[GroupKey]] = []
        taken = 0
        for marker, place, word in self._markers:
            if marker & taken:  # "by each supplier" says one key
                continue
            taken |= marker
            found = self._keys_at(marker, place, word)
            if not found:
                continue
            choices.append(found)
            end = max(key.mask for key in found).bit_length()
            if end + 1 < len(self.question.tokens) and self.question.tokens[end].word == "and":
                more = self._keys_at(1 << end, end + 1, word)
                choices += [more] if more else []
        headed = any(key.columns for keys in choices for key in keys)  # each row has all of these
        if len(choices) > 1 and not headed:  # "the average quantity per order for every product" has one for each order
            several_rows = [keys for keys in choices if keys[0].span is not None or self._repeats(keys[0].view)]
            choices = several_rows or choices[:1]
        if not choices and (asked := self._keys_asked_for()):
            choices.append(asked)
        several = islice(product(*choices[:_MOST_KEYS]), 4 * _MOST_GROUPINGS) if choices else ()
        apart = (keys for keys in several if len({key.view.place for key in keys}) == len(keys))
        return sorted(apart, key=lambda keys: -sum(key.score for key in keys))[:_MOST_GROUPINGS]

    @cached_property
    def _markers(self) -> list[tuple[int, int, str]]:
        """The words of grouping: their tokens, the place of the word that names the key, and the kind of each."""
        tokens, found = self.question.tokens, []
        values = Question._all(c.mask for chosen in self.sets for c in chosen.conditions if c.kind == "exact")
        each = (self.cues.get("each", 0) | self.cues.get("per", 0)) & ~self._within_names
        kinds = Question._all(link.mask for link in self.source.column_links if link.exact)  # a column "Type"
        for token in tokens:
            mark = 1 << token.index
            by = token.word == "by" and "order" not in self.cues
            if (by or each & mark) and not mark & values:
                place = token.index + 1
                while place < len(tokens) - 1 and (
                    tokens[place].word in _FILLERS
                    or each >> place & 1
                    or self._titles_a_column(place)
                    or (tokens[place].word in _KINDS and tokens[place + 1].word == "of" and not kinds >> place & 1)
                ):
                    mark |= 1 << place
                    place += 1
                if place < len(tokens):
                    found.append((mark, place, token.word if token.word in ("by", "per") else "each"))
            elif token.word == "wise" and token.index:
                found.append((mark, token.index - 1, "wise"))
            elif not token.index and self._span_at(0) and token.word.endswith("ly"):
                found.append((mark, 0, "first"))
        return found

    def _titles_a_column(self, place: int) -> bool:
        """Whether a word of the title stands before the name of a column: "per World Cup year"."""
        named = Question._all(link.mask for link in self.source.column_links)
        rest = self.source.title & ~named
        while rest >> place & 1:
            place += 1
            if named >> place & 1:
                return True
        return False

    @cached_property
    def _within_names(self) -> int:
        """The tokens that lie within the name of a column that says *per* itself: "price per kg"."""
        words = {token.word for token in self.question.tokens if (self.cues.get("per", 0) >> token.index) & 1}
        linked = zip(self.source.columns, self.source.column_links, strict=True)
        masks = (link.mask for view, link in linked if link.exact and link.mask and words & set(_words(view)))
        return Question._all((1 << mask.bit_length()) - (mask & -mask) for mask in masks)

    def _keys_at(self, marker: int, place: int, word: str) -> list[GroupKey]:
        """The columns, and the periods of dates, that a word of grouping before this place may mean."""
        found = list(self._columns_at(marker, place, word))
        spans = self._span_at(place) or self._span_at(place + 1)
        headed = self._headed_at(marker | spans[1], spans[0], word) if spans else []
        if headed and not any(key.view.temporal for key in found):
            return headed  # a corner "Year" names the columns, not the labels below it
        if spans and not any(key.score >= 1 and key.view.kind is not ValueKind.DATE for key in found):
            found = [key for key in found if not key.view.temporal]
            found += self._dates_at(marker | spans[1], spans[0], word)
        found = found or list(self._misspelt(marker, place, word))
        return sorted(found, key=lambda key: (-key.mask.bit_count(), -key.score))[:_MOST_KEYS]

    def _columns_at(self, marker: int, place: int, word: str) -> Iterator[GroupKey]:
        """The columns that are named here, or by the next word: *by customer town*."""
        source, tokens = self.source, self.question.tokens
        here = at = 1 << place
        others = Question._all(link.mask for link in source.column_links) | source.title
        if place + 1 < len(tokens) and not tokens[place + 1].empty and here & others:
            at |= here << 1
        exact = Question._all(link.mask for link in source.column_links if link.exact)
        for view in source.columns:
            link = source.link(view)
            said = link.mask
            if view.label and not view.temporal:  # the rows of a table are called as it is
                said |= source.links[source.part_of(view.place)].titled & ~exact
            unique = view.filled > 1 and view.distinct == view.filled and not self._repeats(view)
            named = said & (here if unique else at)
            graded = link.exact and named & here and 2 * view.distinct <= view.filled
            numbered = view.measure and (self.question.limit[0] > 1 or not graded)  # "top 3 by points" are in order
            if numbered or not named or (link.mask & here and view.place in source.overshadowed):
                continue  # but "pupils per grade" are of grades, which are numbers
            run = here | named
            while (wider := said & (run | run << 1) | run) != run:
                run = wider
            if self._names_value(view, run):
                continue  # "paid by the customer Acme"
            score = link.score if link.mask & at else 0.5
            yield GroupKey(view, None, marker | run, score + 0.2 * bool(named & here), word)

    def _names_value(self, view: ColumnView, run: int) -> bool:
        """Whether a value of a column directly follows its name."""
        behind = (run << 1) & ~run
        values = (c for c in self.source.conditions if c.column == view.place and c.kind in ("exact", "several"))
        return any(c.mask & behind for c in values)

    def _dates_at(self, mask: int, span: Function, word: str) -> Iterator[GroupKey]:
        """The columns of dates whose periods may be meant, the one that the question names best first."""
        link = self.source.link
        dates = [view for view in self.source.columns if view.kind is ValueKind.DATE and not view.clock]
        for view in sorted(dates, key=lambda view: (-link(view).score, view.place))[:2]:
            yield GroupKey(view, span, mask | link(view).mask, 0.6 + 0.3 * link(view).score, word)

    def _headed_at(self, mask: int, span: Function, word: str) -> list[GroupKey]:
        """The columns of numbers with such periods for headers, each once: "by year" where each year has a column."""
        found = []
        for views in self._headed(span):
            said = Question._all(self.source.link(view).mask for view in views)
            found.append(GroupKey(views[0], span, mask | said, 0.9, word, views))
        return found

    def _headed(self, span: Function) -> Iterator[tuple[ColumnView, ...]]:
        """The columns of numbers with such periods for headers, measure by measure: those that the question names."""
        form, source = _HEADED.get(span), self.source
        dated = any(view.kind is ValueKind.DATE and not view.clock for view in source.columns)
        if form is None or dated or source.join is not None:
            return
        headed = [view for view in source.columns if view.numeric and form.fullmatch(view.period)]
        periods: dict[str, set[str]] = {}
        for view in headed:
            for stem in view.stems:
                periods.setdefault(stem, set()).add(view.period)
        measures: dict[tuple[str, ...], list[ColumnView]] = {}  # "Revenue May 2023" and "Revenue June 2023" are one
        for view in headed:
            own = (stem for stem in view.stems if len(periods[stem]) > 1 and not any(map(str.isdigit, stem)))
            measures.setdefault(tuple(own), []).append(view)
        for views in measures.values():
            said = any(source.link(view).mask for view in views)
            if 1 < len(views) == len({view.period for view in views}) and (said or len(measures) == 1):
                yield tuple(views)

    @cached_property
    def _periods_together(self) -> list[tuple[tuple[ColumnView, ...], int]]:
        """The columns of a measure in all periods, or in several that the question names, with the tokens for them."""
        found = []
        for span in _HEADED:
            for views in self._headed(span):
                masks = [self.source.link(view).mask for view in views]
                shared = reduce(and_, masks)
                named = [view for view, mask in zip(views, masks, strict=True) if mask & ~shared]
                if len(named) == 2 and self._between(*named):
                    first, last = sorted(view.place for view in named)
                    views = tuple(view for view in views if first <= view.place <= last)
                elif named:
                    views = tuple(named)
                if len(views) > 1:
                    found.append((views, Question._all(masks)))
        return found

    def _most_in_periods(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The row or period with the most in columns headed by periods: "the harbour with the highest total catch"."""
        count, limited = self.question.limit
        cues = {"mean": self.cues.get("average", 0), "sum": self.cues.get("total", 0)}
        for (columns, said), (down, token, _, _) in product(self._periods_together, self._directions()[:1]):
            name = "mean" if cues["mean"] else _usual(columns)
            rows = Unpivot(self._rows_of(conditions), tuple(view.ref for view in columns), _HEADER, _CELL)
            value = Named(Aggregate(AGGREGATES[name], ColumnRef(_CELL)), name)
            for view, key, asked in self._ranked_keys():
                groups = Sort(GroupBy(rows, (key,), (value,)), (SortKey(ColumnRef(name), down),))
                first = Project(Limit(groups, count, ties=True), (Named(ColumnRef(key.name)),))
                mask = token | cues[name] | limited | said | asked
                yield self.make(f"group_extreme/{name}", first, conditions, target=view, mask=mask)

    def _ranked_keys(self) -> Iterator[tuple[ColumnView | None, Named, int]]:
        """The keys of which the first may be asked for: the label of a row, or the period of a column."""
        focus = self.question.focus
        for view in self.targets[:2]:
            if not view.measure and (view.label or self.source.link(view).score >= 0.5):
                yield view, Named(view.ref, view.name or "key"), 0
        spans = (self._span_at(place) for place in range(len(self.question.tokens)) if focus >> place & 1)
        for span, mask in filter(None, spans):
            if span in _HEADED:
                yield None, Named(Apply(span, ColumnRef(_HEADER)), "period"), mask

    def _misspelt(self, marker: int, place: int, word: str) -> Iterator[GroupKey]:
        """The columns whose name differs by one letter from the word."""
        written = self.question.tokens[place].word
        for view in self.source.columns:
            near = (DamerauLevenshtein.distance(written, name, score_cutoff=1) <= 1 for name in spellings(view))
            if len(written) >= _LEAST_MISSPELT and not view.measure and any(near):
                yield GroupKey(view, None, marker | 1 << place, 0.7, word)

    def _keys_asked_for(self) -> list[GroupKey]:
        """The keys after "top 3"."""
        limited = self._ranked_by_limit
        places = (place for place in range(len(self.question.tokens)) if limited >> place & 1)
        keys = (key for place in places for key in self._keys_at(0, place, "limit"))
        found = [key for key in keys if self._repeats(key.view) and key.score > 0.5]
        return sorted(found, key=lambda key: -key.score)[:_MOST_KEYS]

    def _span_at(self, place: int) -> tuple[Function, int] | None:
        """The period that a word names, and its tokens."""
        tokens = self.question.tokens
        if not 0 <= place < len(tokens):
            return None
        if [token.word for token in tokens[place : place + 4]] == ["day", "of", "the", "week"]:
            return Function.WEEKDAY_NAME, 15 << place
        for name, span in SPANS.items():
            if tokens[place].stem in words_of_type(name):
                return span, 1 << place
        return None


def _usual(columns: Sequence[ColumnView]) -> str:
    """The aggregate of the cells of some columns where none is named."""
    return "sum" if columns[0].adds_up or not columns[0].measure else "mean"


def _spanned(keys: Sequence[GroupKey]) -> frozenset[int]:
    """The places of the columns of dates whose periods are keys."""
    return frozenset(key.view.place for key in keys if key.span is not None and not key.columns)


def spellings(view: ColumnView) -> Iterable[str]:
    """The words of a header, singular and plural."""
    return (form for word in _words(view) for form in (word, f"{word}s"))


def _words(view: ColumnView) -> list[str]:
    return view.name.lower().split()
