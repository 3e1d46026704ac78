"""Conditions by limits: dates and periods, times of the day, thresholds, ranks and signs of changes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property

from kgtable.programs.algebra import And, Apply, Compare, Constant, Expression, Function, Membership, Relator, ValueKind
from kgtable.programs.dimensions import NO_UNIT, comparable, convert, is_known
from kgtable.programs.relation import NAMING
from kgtable.programs.scalars import SCALES, WEEKDAYS, duration_seconds, text_of, time_in
from kgtable.questions.column_links import ColumnLinks
from kgtable.questions.conditions import Condition, distance
from kgtable.questions.english import months as month_names
from kgtable.questions.mentions import ClockMention, NumberMention, Threshold, TimeMention
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import MOST_VALUES, ColumnView, TableIndex
from kgtable.tables.model import Role
from kgtable.values.decimals import scaled

MOST_SCALED = 2_000
"""Different numbers of a column that are looked at for the scale that a limit is meant in."""

_SPANS = frozenset({("from", "to"), ("from", "until"), ("from", "through"), ("between", "and"), ("from", "till")})
_MOST_MONTHS = 24
_PERCENT = frozenset({"PERCENT"})


class LimitConditions(ColumnLinks):
    """What one question says of the numbers and times of one table."""

    def of_limits(self) -> Iterator[Condition]:
        """All of them, in no order."""
        yield from self._times()
        yield from self._thresholds()
        yield from self._clocks()

    def _times(self) -> Iterator[Condition]:
        """Dates and periods of the question on columns of dates and periods."""
        for view in self.index.columns:
            if not view.temporal and not (view.timelike and view.kind is ValueKind.TEXT):
                continue
            yield from self._times_on(view)
            if view.kind is ValueKind.DATE and not view.clock:
                yield from self._weekdays_on(view)
        for view in self.index.columns if self._spans_of_months else ():
            yield from self._months_on(view)

    @cached_property
    def _spans_of_months(self) -> tuple[tuple[int, int, int], ...]:
        """Months of any year from a first to a last, with their tokens: a quarter, a half, *January to July*."""
        found = []
        for name, mask in self.question.quarters:
            size = 3 if name[0] == "q" else 6
            said = mask | Question._all(mention.mask for mention in self.question.times if mention.mask & mask)
            found.append((size * int(name[1:]) - size + 1, size * int(name[1:]), said))
        months = [mention for mention in self.question.times if re.fullmatch(r"--\d\d", mention.lexical)]
        for one, other in itertools.pairwise(months):
            between = self.question.tokens[one.mask.bit_length() : (other.mask & -other.mask).bit_length() - 1]
            if [token.word for token in between] in (["to"], ["until"], ["through"], []):
                mask = (1 << other.mask.bit_length()) - (one.mask & -one.mask)
                found.append((int(one.lexical[2:]), int(other.lexical[2:]), mask))
        return tuple(entry for entry in found if entry[0] <= entry[1] <= 12)

    def _months_on(self, view: ColumnView) -> Iterator[Condition]:
        """Spans of months on dates of any year, and on a column that has the names of months."""
        bonus = 0.1 * self.columns[view.place].score
        if view.kind is ValueKind.DATE and not view.clock:
            month = Apply(Function.MONTH, view.ref)
            for first, last, mask in self._spans_of_months:
                ends = (Constant(Decimal(number), ValueKind.QUANTITY) for number in (first, last))
                relators = (Relator.GREATER_OR_EQUAL, Relator.LESS_OR_EQUAL)
                within = And(tuple(map(Compare, relators, (month, month), ends)))
                yield Condition(within, mask, view.place, "time", 0.75 + bonus, relation="months")
        elif view.kind in (ValueKind.TEXT, ValueKind.ENTITY) and view.distinct <= _MOST_MONTHS:
            data = self.index.relation.data(view.place)
            texts = [text_of(data.values[code]) for code in data.used()]
            named = {text: month_names().get(text.casefold().rstrip("."), 0) for text in texts}
            if not all(named.values()):
                return
            for first, last, mask in self._spans_of_months:
                held = tuple(Constant(text) for text, number in named.items() if first <= number <= last)
                if held:
                    yield Condition(
                        Membership(view.ref, held), mask, view.place, "time", 0.85 + bonus, relation="months"
                    )

    def _weekdays_on(self, view: ColumnView) -> Iterator[Condition]:
        """The days of the week that the question names."""
        for token in self.question.tokens:
            day = token.word.removesuffix("s").title()
            if day in WEEKDAYS:
                on = Compare(Relator.EQUAL, Apply(Function.WEEKDAY_NAME, view.ref), Constant(day))
                quality = 0.75 + 0.1 * self.columns[view.place].score
                yield Condition(on, 1 << token.index, view.place, "time", quality, relation="day")

    def _times_on(self, view: ColumnView) -> Iterator[Condition]:
        question = self.question
        link = self.columns[view.place]
        bonus = 0.1 * link.score
        whole = [mention for mention in question.times if not mention.lexical.startswith("-")]
        for mention in question.times:
            if not view.temporal:
                # Texts that speak of times: a containment of the year or day as it is said.
                if mention.lexical.isdigit() and self._may_say(view, mention.lexical):
                    expression: Expression = Compare(Relator.CONTAINS, view.ref, Constant(mention.lexical))
                    yield Condition(expression, mention.mask, view.place, "time", 0.5 + bonus, relation="in")
                continue
            if mention.lexical.startswith("-"):
                month = int(mention.lexical[2:4])
                months_of = _months_in(self.index, view)
                if month in months_of:
                    yield from self._month(view, mention, 0.7 + bonus)
                continue
            relator = {"before": Relator.LESS, "after": Relator.GREATER, "since": Relator.GREATER_OR_EQUAL,
                       "from": Relator.GREATER_OR_EQUAL, "until": Relator.LESS_OR_EQUAL}.get(mention.relation)  # fmt: skip  # noqa: E501
            constant = _time_constant(mention.lexical)
            said = link.mask & (_widened(mention.full_mask)) or self._dated == view.place
            link_mask = link.mask if said else 0
            equal = Compare(Relator.EQUAL, view.ref, constant)
            plain = mention.mask if mention.relation else mention.full_mask
            yield Condition(equal, plain | link_mask, view.place, "time", 0.8 + bonus, relation="in")
            if relator is not None:
                expression = Compare(relator, view.ref, constant)
                yield Condition(
                    expression,
                    mention.full_mask | link_mask,
                    view.place,
                    "time",
                    0.82 + bonus,
                    relation=mention.relation,
                )
        for first, second in itertools.pairwise(whole):
            span = question.span(first.mask, second.mask) if view.temporal and first.lexical <= second.lexical else 0
            if span:
                expression = _range(view.ref, first.lexical, second.lexical)
                mask = first.full_mask | second.full_mask | span
                yield Condition(expression, mask, view.place, "time", 0.9 + bonus, relation="between")

    def _may_say(self, view: ColumnView, digits: str) -> bool:
        """Whether a text of a column has these digits; true for columns of many texts, which are not searched."""
        data = self.index.relation.data(view.place)
        return len(data.values) > MOST_VALUES or any(digits in text_of(value) for value in data.values)

    @cached_property
    def _dated(self) -> int:
        """The place of the one column of times that the question names, and does not ask for; -1 for none."""
        named = [
            view.place
            for view in self.index.columns
            if view.temporal
            and self.columns[view.place].exact
            and not self.columns[view.place].mask & self.question.head
        ]
        return named[0] if len(named) == 1 else -1

    def _month(self, view: ColumnView, mention: TimeMention, quality: float) -> Iterator[Condition]:
        """A month of any year, where the column has it in one year or as a text."""

        month = Apply(Function.MONTH, view.ref)
        equal = Compare(Relator.EQUAL, month, Constant(Decimal(int(mention.lexical[2:4])), ValueKind.QUANTITY))
        yield Condition(equal, mention.mask, view.place, "time", quality, relation="month")
        if len(mention.lexical) > 5:
            day = Compare(
                Relator.EQUAL,
                Apply(Function.DAY, view.ref),
                Constant(Decimal(int(mention.lexical[5:7])), ValueKind.QUANTITY),
            )
            yield Condition(And((equal, day)), mention.mask, view.place, "time", quality + 0.15, relation="day")

    def _clocks(self) -> Iterator[Condition]:
        """Times of the day of the question on columns of such: *after 12:00*."""
        relators = {"before": Relator.LESS, "after": Relator.GREATER, "since": Relator.GREATER_OR_EQUAL,
                    "from": Relator.GREATER_OR_EQUAL, "until": Relator.LESS_OR_EQUAL,
                    "below": Relator.LESS, "above": Relator.GREATER}  # fmt: skip
        mentions = self.question.clocks
        for view in self.index.columns:
            link = self.columns[view.place]
            for mention in mentions if view.clock or view.kind is ValueKind.DURATION else ():
                near = link.mask if distance(link.mask, mention.full_mask) <= 3 else 0
                quality = 0.6 + (0.3 * link.score if near else 0.15 * link.score)
                relator = relators.get(mention.relation, Relator.EQUAL)
                expression: Expression = Compare(relator, view.ref, _clock_constant(view, mention))
                yield Condition(
                    expression, mention.full_mask | near, view.place, "time", quality, relation=mention.relation
                )
            if view.clock and len(mentions) == 2:
                first, last = mentions
                lead = self.question.words_of((first.mask & -first.mask) >> 1).lower()
                start, end = first.mask.bit_length(), (last.mask & -last.mask).bit_length() - 1
                middle = self.question.words_of(((1 << end) - 1) >> start << start).lower()
                if (lead, middle) in _SPANS and first.lexical < last.lexical:
                    ends = (
                        Compare(Relator.GREATER_OR_EQUAL, view.ref, _clock_constant(view, first)),
                        Compare(Relator.LESS_OR_EQUAL, view.ref, _clock_constant(view, last)),
                    )
                    inside = ((1 << last.mask.bit_length()) - 1) & ~((first.mask & -first.mask) - 1)
                    mask = inside | (first.mask & -first.mask) >> 1
                    yield Condition(
                        And(ends), mask | link.mask, view.place, "time", 0.85 + 0.1 * link.score, relation="between"
                    )

    def _thresholds(self) -> Iterator[Condition]:
        """Comparisons with a number, on each column that they may be about."""
        for threshold in self.question.thresholds:
            scored = []
            for view in self.index.columns:
                if not (view.numeric or view.temporal or view.role is Role.ORDINAL):
                    continue
                found = self._threshold(threshold, view)
                if found is not None:
                    scored.append(found)
            scored.sort(key=lambda condition: -condition.quality)
            yield from scored[:4]

    def _threshold(self, threshold: Threshold, view: ColumnView) -> Condition | None:
        number, link = threshold.number, self.columns[view.place]
        if threshold.upper is not None and any(m.mask & number.mask for m in self.question.times):
            return None
        if any("/" in mention.lexical and mention.mask & number.mask for mention in self.question.times):
            return None  # "over 2018-2023" is a span
        near = distance(link.mask, threshold.mask) if link.mask else 99
        quality = 0.35 + (0.35 * link.score if near <= 3 else 0.2 * link.score if near < 99 else 0)
        mask = threshold.mask | (link.mask if near <= 3 else 0)
        hinted = [a for a, m in self.question.adjectives if m & threshold.mask and set(a.headers) & view.aspects]
        quality += 0.2 if hinted else 0
        units = [unit for unit in view.units if unit not in NO_UNIT]
        kind = ValueKind.QUANTITY
        if view.clock:
            return None
        if view.kind is ValueKind.DURATION:
            if number.unit not in ("SEC", "MIN", "HR", "DAY"):
                return None
            quality += 0.2
        elif view.temporal:
            return None  # times have conditions of their own
        elif number.unit:
            shares = {other.place for other in self.index.columns if {other.unit_hint, *other.units} & _PERCENT}
            if number.unit == "PERCENT" and shares and view.place not in shares:
                return None  # "more than 15 % of the votes" is said of the column of shares
            if units and is_known(number.unit) and any(comparable(number.unit, unit) for unit in units):
                quality += 0.25
            elif units:
                return None
            elif view.unit_hint is not None:
                if not comparable(number.unit, view.unit_hint):
                    return None
                quality += 0.25
            elif number.unit == "PERCENT":
                quality -= 0.05
            else:
                quality -= 0.1
        unit = number.unit if units or view.kind is ValueKind.DURATION else None
        if view.role in NAMING:
            quality -= 0.25
        if (
            number.value == number.value.to_integral_value()
            and 1900 <= number.value <= 2100
            and any(mention.mask & number.mask for mention in self.question.times)
        ):
            quality -= 0.3
        ref: Expression = view.ref
        if view.role is Role.ORDINAL:
            ref = Apply(Function.NUMBER, view.ref)
        constant = Constant(number.value, kind, unit, number.scale or self._plain_scale(number, view))
        if number.unit and not units and view.unit_hint is not None and view.kind is not ValueKind.DURATION:
            constant = Constant(convert(number.value, number.unit, view.unit_hint), kind, None, number.scale)
        if view.kind is ValueKind.DURATION:
            factor = {"SEC": 1, "MIN": 60, "HR": 3600, "DAY": 86400}[number.unit or "SEC"]
            constant = Constant(number.value * factor, ValueKind.DURATION, "SEC")
        expression: Expression = Compare(threshold.relator, ref, constant)
        if threshold.upper is not None:
            upper = Constant(
                threshold.upper.value, kind, threshold.upper.unit if units else None, threshold.upper.scale
            )
            expression = And((expression, Compare(Relator.LESS_OR_EQUAL, ref, upper)))
        return Condition(expression, mask, view.place, "threshold", quality, text=number.text)

    def _plain_scale(self, number: NumberMention, view: ColumnView) -> str | None:
        """ONE where a number is meant in full although the column prints thousands: 20,000 next to "44.9"."""
        data = self.index.relation.data(view.place)
        values = [data.values[code] for code in data.used()[:MOST_SCALED]]
        amounts = [(value.number, SCALES.get(value.scale or "ONE", 0)) for value in values if value.number is not None]
        if not amounts or not all(power for _, power in amounts):
            return None
        most = max(value.copy_abs() for value, _ in amounts)
        power = amounts[0][1]
        return "ONE" if scaled(number.value.copy_abs(), power) > most >= number.value.copy_abs() else None


def _time_constant(lexical: str) -> Constant:
    kind = ValueKind.DATE if re.fullmatch(r"\d{4}-\d\d-\d\d", lexical) else ValueKind.PERIOD
    return Constant(lexical, kind)


def _clock_constant(view: ColumnView, mention: ClockMention) -> Constant:
    """A time of the day as the values of a column are: a time, or the seconds since midnight."""
    if view.kind is not ValueKind.DURATION:
        return Constant(f"{mention.lexical}:00", ValueKind.DATE)
    if not view.clock and (seconds := duration_seconds(mention.text)) is not None:
        return Constant(seconds, ValueKind.DURATION, "SEC")
    hours, minutes = mention.lexical.split(":")
    return Constant(Decimal(int(hours) * 3600 + int(minutes) * 60), ValueKind.DURATION, "SEC")


def _range(ref: Expression, first: str, last: str) -> Expression:

    return And(
        (
            Compare(Relator.GREATER_OR_EQUAL, ref, _time_constant(first)),
            Compare(Relator.LESS_OR_EQUAL, ref, _time_constant(last)),
        )
    )


def _months_in(index: TableIndex, view: ColumnView) -> frozenset[int]:
    data = index.relation.data(view.place)
    found = set()
    for code in data.used()[:5000]:
        span = time_in(text_of(data.values[code]))
        if span is not None and span.start[5:7] == span.end[5:7] and span.start[5:7].isdigit():
            found.add(int(span.start[5:7]))
    return frozenset(found)


def _widened(mask: int) -> int:
    return mask | mask << 1 | mask >> 1 | mask << 2 | mask >> 2 | mask << 3 | mask >> 3
