"""Candidates over the columns of a row: years side by side, two measures, the column with the most, sums of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Function,
    Limit,
    Lookup,
    Named,
    Operator,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    Unpivot,
    ValueKind,
)
from kgtable.questions.candidates import Candidate
from kgtable.questions.english import (
    is_verb_form,
    linking_verbs,
    months,
    synonyms,
    word_stem,
    words_of_type,
)
from kgtable.questions.grammar import AGGREGATES, Grammar
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet
from kgtable.text.words import stem as stemmed

_YEAR = stemmed("year")
_YEARS = re.compile(r"(?:19|20)\d\d")


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
    status = words_of_type("status")
    return (
        not all(measured)
        or bool(measured[0] & measured[1])
        or (one.period != other.period and measured[0] | measured[1] <= status)
    )


def _granularity(period: str) -> str:
    """Whether a period is a quarter, a half, a month, a day or a year.

    >>> [_granularity(period) for period in ("2024-Q2", "--05", "2024", "FY2024", "2024-03")]
    ['quarter', 'month', 'year', 'year', 'month']
    """
    if "-Q" in period:
        return "quarter"
    if "-H" in period:
        return "half"
    if re.fullmatch(r"(?:\d{4}|-)-\d\d", period):
        return "month"
    return "day" if re.fullmatch(r"\d{4}-\d\d-\d\d", period) else "year"


_KINDS = {stemmed(word): word for word in ("quarter", "half", "month", "year", "day")}


def _is_percent(view: ColumnView) -> bool:
    return set(view.units) == {"PERCENT"}


@cache
def _period_stems() -> frozenset[str]:
    """Stems that name a period in a header: months, and words such as *year*, *ended* and *restated*."""
    words = words_of_type("time") | words_of_type("term_end") | words_of_type("reporting")
    return words | {word_stem(name) for name in months()}


class ColumnComparisons(Grammar):
    """Operators that take the values of one row in several columns."""

    def _periods(self, conditions: ConditionSet) -> list[ColumnView]:
        """Columns of periods or of one measure side by side: those that the question names, else all."""
        source = self.source
        columns = [
            view
            for view in source.columns
            if view.period and (view.numeric or view.kind is ValueKind.TEXT) and view.place not in conditions.columns
        ]
        kinds = [_granularity(view.period) for view in columns]
        if len(set(kinds)) > 1:  # quarters and their year
            named = {kind for word, kind in _KINDS.items() if word in self.question.stems_of(self.question.focus)}
            kind = next(iter(named & set(kinds))) if len(named) == 1 and named & set(kinds) else ""
            kind = kind or max(dict.fromkeys(kinds), key=kinds.count)
            linked = {view.place for view in columns if self.source.link(view).exact}
            return [v for v, own in zip(columns, kinds, strict=True) if own == kind or v.place in linked]
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
        if not pairs and len(asked) == 1 and cues.keys() & {"change", "up", "down"}:
            # "The change in 2024" is that from the year before.
            earlier = [view for view in periods if view.period < asked[0].period]
            pairs = [(max(earlier, key=lambda view: view.period), asked[0])] if earlier else []
        rows = conditions.over(source.rows(conditions.choice))
        single = bool(conditions.conditions)
        has_totals = any(part.index.has_totals for part in source.links)
        wanted = "total" in cues or bool(self._heading(periods)[1])  # "the busiest quarter" is one of all goods
        totals = source.rows(RowChoice.TOTALS) if has_totals and wanted else None
        bases = [(rows, "", 0)] if single else []
        if totals is not None and not conditions.conditions:
            bases.append((totals, "/total", cues.get("total", 0)))
        for base, suffix, base_mask in bases:
            for one, other in pairs[:3]:
                early, late = self._in_order(one, other)
                first, last = Lookup(base, early.ref), Lookup(base, late.ref)
                yield from self._calculated(first, last, conditions, early, late, suffix, base_mask)
            if len(asked) >= 2:
                columns = tuple(ColumnRef(view.ref.name, view.ref.table) for view in self._spanned(asked, periods))
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
        if len(periods) >= 2:
            spanned = self._spanned(asked, periods) if len(asked) >= 2 else periods
            masks = asked if len(asked) >= 2 else []
            if single:
                yield from self._columns_beyond(rows, conditions, spanned, masks)
            elif totals is not None:
                yield from self._columns_beyond(totals, conditions, spanned, masks, cues.get("total", 0))

    def _columns_beyond(
        self, rows: Rows, conditions: ConditionSet, columns: Sequence[ColumnView], asked: Sequence[ColumnView],
        total: int = 0,
    ) -> Iterator[Candidate]:  # fmt: skip
        """The columns with the most or least of a row, those beyond a number, and what they come to together."""
        cues = self.cues
        wide = Unpivot(rows, tuple(view.ref for view in columns))
        value = ColumnRef("value")
        told, named = self._heading(columns)
        for down, token, _, _ in self._directions()[:1]:
            best = Limit(Sort(wide, (SortKey(value, down),)), 1, ties=True)
            listed = Project(best, (Named(told),))
            yield self.make("column_extreme", listed, conditions, mask=token | named | total, others=asked)
        for threshold in self.question.thresholds[:1]:
            limit = Constant(threshold.number.value, ValueKind.QUANTITY, None, threshold.number.scale)
            beyond = Filter(wide, Compare(threshold.relator, value, limit))
            mask = threshold.mask | named | total
            listed = Project(beyond, (Named(told),))
            yield self.make("column_extreme/threshold", listed, conditions, mask=mask, others=asked)
            counted = Aggregate(AggregateFunction.COUNT, None, beyond)
            yield self.make("column_extreme/count", counted, conditions, mask=mask, others=asked)
        for name, cue in (("mean", "average"), ("sum", "total")):
            if cue in cues and len(asked) < 2:
                root = Aggregate(AGGREGATES[name], value, wide)
                yield self.make(f"columns/{name}", root, conditions, mask=self._names_of_kind(columns))

    def _names_of_kind(self, columns: Sequence[ColumnView]) -> int:
        """The tokens that say what periods the columns are of: *the average quarterly revenue*."""
        kinds = {stemmed(_granularity(view.period)) for view in columns}
        return Question._all(
            1 << token.index
            for token in self.question.tokens
            if len(kinds) == 1 and kinds & {token.stem, *synonyms().get(token.stem, ())}
        )

    def _heading(self, columns: Sequence[ColumnView]) -> tuple[Expression, int]:
        """What says which column it is, its year where years are asked for; and the tokens that ask for it."""
        kinds = words_of_type("time")
        asked = [t for t in self.question.tokens if self.question.focus >> t.index & 1 and t.stem in kinds]
        years = [match[0] if (match := _YEARS.search(view.period)) else "" for view in columns]
        column = ColumnRef("column")
        mask = Question._all(1 << token.index for token in asked)
        yearly = any(token.stem == _YEAR for token in asked)
        if yearly and all(years) and len(set(years)) == len(years):
            return Apply(Function.YEAR, column), mask
        return column, mask

    @property
    def _says_span(self) -> bool:
        """Whether the question names the first and the last of several periods, not two of them."""
        cues = self.cues
        return self.question.says_span or bool(cues.keys() & {"between", "until", "since"} and "and" not in cues)

    def _spanned(self, asked: Sequence[ColumnView], periods: Sequence[ColumnView]) -> Sequence[ColumnView]:
        """The columns from the first to the last that are named, where the question names a span."""
        if len(asked) == 2 and self._says_span:
            low, high = sorted(view.place for view in asked)
            return [view for view in periods if low <= view.place <= high]
        return asked

    def _compares_back(self, early: ColumnView, late: ColumnView) -> bool:
        """Whether the earlier is said to be more: "higher in 2020 than in 2023", "lower in 2023 than in 2020"."""
        compared = [adjective for adjective, _ in self.question.adjectives if adjective.comparative]
        than = self.cues.get("than", 0)
        said_first, said_last = (self.source.link(view).mask & ~self.source.link(other).mask
                                 for view, other in ((early, late), (late, early)))  # fmt: skip
        if not compared or not than or not said_first or not said_last:
            return False
        before = min(said_first & -said_first, said_last & -said_last) < than < max(said_first, said_last)
        return before and ((said_first < said_last) == (compared[0].sign > 0))

    def _of_different_things(self, early: ColumnView, late: ColumnView) -> bool:
        """Whether columns of two periods tell of things not named by the question: "Assets 2019", "Debts 2018"."""
        said = {token.stem for token in self.question.tokens}
        apart = {stem for stem in set(early.stems) ^ set(late.stems) if stem.isalpha() and len(stem) > 2}
        return bool(apart - _period_stems() - said)

    def _says_late_first(self, early: ColumnView, late: ColumnView) -> bool:
        first, second = self.source.link(early).mask, self.source.link(late).mask
        first, second = first & ~second, second & ~first
        return not first or not second or (second & -second) < (first & -first)

    def _asks_of_whole(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether it says "what share of the gross pay was deducted": the whole first, then its part."""
        first, second = self.source.link(one).mask, self.source.link(other).mask
        first, second = first & ~second, second & ~first
        if not first or not second or first > second:
            return False
        said = self.cues.get("share", 0) & ((first & -first) - 1)
        between = self.question.tokens[first.bit_length() : (second & -second).bit_length() - 1]
        part = self.question.tokens[(second & -second).bit_length() - 1]
        # "What percentage of those enrolled responded" says the part with its verb.
        done = is_verb_form(part.word) and not self.question.tokens[part.index + 1 :]
        return bool(said) and (done or any(token.word in linking_verbs() for token in between))

    def _calculated(
        self, first: Expression, last: Expression, conditions: ConditionSet, early: ColumnView, late: ColumnView,
        suffix: str, mask: int,
    ) -> Iterator[Candidate]:  # fmt: skip
        """Arithmetic of two values: `last` is the later or the first named, `first` the other."""
        cues, others = self.cues, (early, late)
        if early.period and late.period and self._of_different_things(early, late):
            return
        if self._shows_costs_below_zero(early) or self._shows_costs_below_zero(late):
            first, last = (Apply(Function.ABSOLUTE, value) for value in (first, last))
            mask |= self._spending

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
        compared = self.question.words_of(cues.get("difference", 0)).lower()
        if compared in ("compared with", "compared to") and changing == {"difference"}:
            changing = set()  # "2023 compared with 2022" asks for both
        falls = "down" in cues and "up" not in cues
        if changing:
            # "By how much did it fall" asks for what was lost, a positive number where it fell.
            ends = (first, last) if falls or self._compares_back(early, late) else (last, first)
            root: Expression = Arithmetic(Operator.SUBTRACT, *ends)
            both = [(f"difference/columns{time}{suffix}", root)]
            if not time or "than" in cues or self._says_late_first(early, late):
                back = Arithmetic(Operator.SUBTRACT, *reversed(ends))
                both.append((f"difference/columns{time}/reverse{suffix}", back))
            for name, node in both:
                yield from self._maybe_converted(name, node, conditions, late, mask, others)
        if cues.keys() & {"percent", "rate", "change"}:
            change: Expression = Arithmetic(Operator.PERCENT_CHANGE, first, last)
            if falls:
                change = Apply(Function.NEGATE, change)
            yield made(f"percent_change/columns{time}{suffix}", change)
        if cues.keys() & {"ratio", "share", "percent", "per"}:
            part, whole = (first, last) if self._asks_of_whole(late, early) else (last, first)
            yield made(f"ratio/columns{suffix}", Arithmetic(Operator.RATIO, part, whole))
            if _is_percent(early) == _is_percent(late):
                yield made(f"share/columns{suffix}", Arithmetic(Operator.SHARE, part, whole))
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
