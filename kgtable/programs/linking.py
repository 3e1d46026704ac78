"""Schema linking: what the words of a question name in a table: columns, cells, groups, numbers, times.

`Links` are those of one question in one table, whose `TableIndex` is made once.
Conditions are ready expressions of the algebra with the tokens that they account for.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from kgtable.programs.algebra import (
    And,
    Apply,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Function,
    IsMissing,
    Membership,
    Not,
    Or,
    Relator,
    RowChoice,
    ValueKind,
)
from kgtable.programs.column_links import ColumnLinks, inflected
from kgtable.programs.dimensions import NO_UNIT, comparable, convert, is_known
from kgtable.programs.english import fold, months, peoples, words_of_type
from kgtable.programs.reading import (
    ClockMention,
    NumberMention,
    Question,
    QuestionToken,
    Threshold,
    TimeMention,
)
from kgtable.programs.relation import ColumnRole, MemberKind
from kgtable.programs.relation_index import LONGEST_VALUE, ColumnView, TableIndex, stems_of
from kgtable.programs.scalars import SCALES, duration_seconds, normal, text_of, time_in
from kgtable.text.words import is_empty_word


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows that the question seems to make.

    `kind` is exact, partial, group, number, time, threshold, missing, truth, header; `column` is the
    place of its column among those of the source, -1 for none; `choice` the rows it needs.
    """

    expression: Expression
    mask: int
    column: int
    kind: str
    quality: float
    choice: RowChoice = RowChoice.MEMBERS
    size: int = 0
    text: str = ""
    relation: str = ""


MOST_SCALED = 2_000
"""Different numbers of a column that are looked at for the scale that a limit is meant in."""

MOST_MONTHS = 24
"""Different texts of a column that are looked at for names of months."""

_SPANS = frozenset(
    {("from", "to"), ("from", "until"), ("from", "through"), ("between", "and"), ("from", "till")}
)

_ENDING_SIGNS = frozenset("+-−–#*")
_MINUS = str.maketrans("−–", "--")


_ENDS = frozenset({"from", "to"})
"""Prepositions that head columns of where something begins and where it ends."""
_PERCENT = frozenset({"PERCENT"})


class Links(ColumnLinks):
    """What one question names in one table."""

    @cached_property
    def values(self) -> int:
        """The tokens of exact cells that win over everything else."""
        total = 0
        for condition in self.conditions:
            if condition.kind == "exact":
                total |= condition.mask
        return total

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of all kinds, the surest first."""
        found = [*self._exact(), *self._partial(), *self._groups(), *self._numbers(), *self._times()]
        found += [
            *self._thresholds(),
            *self._standings(),
            *self._truths(),
            *self._missing(),
            *self._month_spans(),
            *self._terms(),
            *self._clocks(),
        ]
        found += self._signs()
        found = [condition for condition in found if not self._is_headed(condition)]
        found = _with_alternatives(found, [link.mask for link in self.columns])
        found.sort(key=lambda c: (-c.quality, -c.mask.bit_count(), c.column))
        return tuple(found)

    def _is_headed(self, condition: Condition) -> bool:
        """Whether it takes periods that head measures, as in "from 2023 to 2024", for dates of a column not named."""
        if condition.column < 0:
            return False
        return not self.columns[condition.column].mask and not condition.mask & ~self._heads

    @cached_property
    def _heads(self) -> int:
        """The tokens of periods that measures are headed by, with the words between them."""
        named = Question._all(
            mention.mask
            for mention in self.question.times
            for view, link in zip(self.index.columns, self.columns, strict=True)
            if view.measure and link.exact and link.mask & mention.mask
        )
        if not named:
            return 0
        low, high = (named & -named).bit_length() - 1, named.bit_length()
        between = sum(1 << token.index for token in self.question.tokens[low:high] if token.empty)
        return named | between | (named & -named) >> 1

    def _exact(self) -> Iterator[Condition]:
        """Runs of tokens that are a whole cell, the longest first; function words only by their capitals."""
        question, cells = self.question, self.index.cells
        tokens = question.tokens
        stems = [token.stem for token in tokens]
        covered: dict[int, int] = defaultdict(int)
        for size in range(min(LONGEST_VALUE, len(tokens)), 0, -1):
            for start in range(len(tokens) - size + 1):
                key = tuple(stems[start : start + size])
                places = cells.whole.get(key)
                if not places:
                    continue
                mask = ((1 << size) - 1) << start
                run = tokens[start : start + size]
                printed = {place: self._is_printed(run[0], cells.text(place)) for place in places}
                for place in sorted(places, key=lambda place: not printed[place]):
                    column = place[0]
                    if mask & ~covered[column] == 0:
                        continue
                    text = cells.text(place)
                    if all(token.empty for token in run) and not (
                        printed[place] or self._value_by_case(run, text)
                    ):
                        continue
                    covered[column] |= mask
                    before = tokens[start - 1].stem if start else ""
                    ends = _ENDS & {before, *self.index.columns[column].stems}
                    said = len(ends) == 1 and before in ends and before in self.index.columns[column].stems
                    same = fold(text) == fold(question.text[run[0].start : run[-1].end])
                    quality = 1.0 if same else 0.93
                    if (
                        size == 1
                        and len(run[0].text) <= 2
                        and not run[0].text[0].isdigit()
                        and run[0].text.islower()
                    ):
                        quality = 0.3
                    if said:  # "from Kiel" of a column "From"
                        yield self._equal(place, mask | 1 << start - 1, "exact", quality + 0.15)
                        continue
                    if len(ends) == 2:
                        quality = 0.4
                    yield self._equal(place, mask, "exact", quality)

    def _is_printed(self, first: QuestionToken, text: str) -> bool:
        """Whether a cell of letters and a sign, as the blood group A−, is written as it stands from this word on."""
        return text[-1:] in _ENDING_SIGNS and self.question.text.translate(_MINUS).startswith(
            text.translate(_MINUS), first.start
        )

    def _value_by_case(self, run: Sequence[QuestionToken], text: str) -> bool:
        """Whether function words are meant as a cell: written with its capitals within the sentence, or quoted."""
        question = self.question
        first, last = run[0], run[-1]
        said = question.text[first.start : last.end]
        mask = question.mask(first.start, last.end)
        if question.quoted & mask == mask:
            return fold(said) == fold(text)
        plain = normal(text)
        if said.casefold() != plain or not any(map(str.isupper, said)):
            return False
        inner = first.index > 0 or (said.isupper() and len(said) > 1 and not question.text.isupper())
        return inner and said[:1].isupper() and (said == text.strip("*†¹²³ ") or said.isupper())

    def _equal(self, place: tuple[int, int], mask: int, kind: str, quality: float) -> Condition:
        cells, view = self.index.cells, self.index.columns[place[0]]
        text = cells.text(place)
        rows = cells.rows(place)
        kinds = {int(self.index.relation.kinds[row]) for row in rows}
        choice = RowChoice.MEMBERS if MemberKind.MEMBER in kinds else RowChoice.ALL
        expression = Compare(Relator.EQUAL, view.ref, _constant(text, view))
        return Condition(expression, mask, view.place, kind, quality, choice, len(rows), text)

    def _partial(self) -> Iterator[Condition]:
        """Cells of which the question says some words: those of each column that it says most of."""
        question, cells = self.question, self.index.cells
        hits: dict[tuple[int, int], int] = defaultdict(int)
        for token in question.tokens:
            if token.empty or (token.stem.isdigit() and len(token.stem) < 3):
                continue
            bit = 1 << token.index
            for stem in (token.stem, *sorted(peoples().get(token.stem, ()))):
                for place in cells.words.get(stem, ())[:4000]:
                    hits[place] |= bit
            if len(token.stem) >= 5 and token.stem.isalpha():
                for place in cells.prefixes.get(token.stem[:4], ())[:500]:
                    if not hits[place] & bit and any(
                        inflected(token.stem, stem) for stem in cells.stems[place]
                    ):
                        hits[place] |= bit
        by_column: dict[int, list[tuple[float, int, tuple[int, int]]]] = defaultdict(list)
        for place, mask in hits.items():
            if not mask:
                continue
            stems = [stem for stem in cells.stems[place] if not is_empty_word(stem)] or cells.stems[place]
            share = mask.bit_count() / max(len(stems), mask.bit_count())
            by_column[place[0]].append((share, mask, place))
        for column, found in by_column.items():
            view = self.index.columns[column]
            kind = Question._all(1 << token.index for token in question.tokens if token.stem in view.own)
            best: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
            for share, mask, place in found:
                if mask & ~kind:  # "bridge" names the kind of thing, though all names end with "Bridge"
                    best[mask].append((share, place))
            masks = sorted(best, key=lambda mask: (-mask.bit_count(), -max(s for s, _ in best[mask])))[:8]
            for mask in masks:
                inside = any(other & mask == mask and other != mask for other in best)
                places = sorted(best[mask], key=lambda entry: (-entry[0], entry[1]))
                top = places[0][0]
                exact = self._is_exact(places[0][1])
                if top < 1.0 or not exact or len(stems_of(cells.text(places[0][1]))) != mask.bit_count():
                    for share, place in places[: 3 if len(places) > 3 else 4]:
                        if share >= 0.999 and self._is_exact(place):
                            continue
                        quality = (
                            0.25 + 0.5 * share - (0.15 if inside else 0) - (0.1 if len(places) > 1 else 0)
                        )
                        yield self._equal(place, mask, "partial", quality)
                if all(self._is_exact(place) for _, place in places):
                    continue
                yield from self._containing(view, mask, [place for _, place in places], inside)

    def _is_exact(self, place: tuple[int, int]) -> bool:
        stems = self.index.cells.stems[place]
        said = [token.stem for token in self.question.tokens]
        size = len(stems)
        return any(tuple(said[i : i + size]) == stems for i in range(len(said) - size + 1))

    def _containing(
        self, view: ColumnView, mask: int, places: Sequence[tuple[int, int]], inside: bool
    ) -> Iterator[Condition]:
        """A containment where the words stand side by side in the question and in the cells."""
        low = (mask & -mask).bit_length() - 1
        size = mask.bit_length() - low
        if mask != ((1 << size) - 1) << low:
            return
        run = self.question.tokens[low : low + size]
        said = normal(self.question.text[run[0].start : run[-1].end]).removesuffix("'s")
        held = [place for place in places if said in normal(self.index.cells.text(place))]
        if not held:
            singular = said.removesuffix("s")
            held = [
                place
                for place in places
                if len(singular) > 3 and singular in normal(self.index.cells.text(place))
            ]
            said = singular
        if held:
            quality = 0.6 - (0.15 if inside else 0) + (0.1 if len(held) > 1 else 0)
            rows = sum(len(self.index.cells.rows(place)) for place in held[:50])
            expression = Compare(Relator.CONTAINS, view.ref, Constant(said))
            yield Condition(expression, mask, view.place, "contains", quality, size=rows, text=said)

    def _groups(self) -> Iterator[Condition]:
        """Headings over rows that the question says."""
        stems = {token.stem: 1 << token.index for token in self.question.tokens if not token.empty}
        for name, text, said in self.index.group_values:
            content = [stem for stem in said if not is_empty_word(stem)] or list(said)
            mask = 0
            for stem in content:
                mask |= stems.get(stem, 0)
            if mask:
                share = mask.bit_count() / max(len(content), mask.bit_count())
                expression = Compare(Relator.EQUAL, ColumnRef(name, self.index.id), Constant(text))
                yield Condition(expression, mask, -1, "group", 0.3 + 0.5 * share, text=text)

    def _numbers(self) -> Iterator[Condition]:
        """Numbers of the question that stand in cells."""
        question, cells = self.question, self.index.cells
        limits = Question._all(t.number.mask for t in question.thresholds if t.relator is not Relator.EQUAL)
        for number in (
            *question.numbers,
            *(NumberMention(Decimal(n), m, str(n)) for n, m in question.ordinals),
        ):
            if number.mask & limits:
                continue
            seen: set[int] = set()
            ordinal = any(m == number.mask for _, m in question.ordinals)
            for place in cells.numbers.get(number.value, ()):
                view = self.index.columns[place[0]]
                named = (
                    self.columns[place[0]].mask & number.mask << 1
                )  # "the second floor" of a column "Floor"
                if place[0] in seen or (ordinal and view.role is not ColumnRole.ORDINAL and not named):
                    continue
                if (
                    number.unit
                    and view.units
                    and not any(comparable(number.unit, unit) for unit in view.units)
                ):
                    continue
                seen.add(place[0])
                link = self.columns[place[0]]
                near = _run_beside(number.mask, link.mask)
                quality = (
                    0.45
                    + 0.4 * (bool(near) and link.score > 0.5)
                    + (0.1 if view.role is not ColumnRole.PLAIN else 0)
                )
                mask = number.mask | near | number.unit_mask
                found = self._equal(place, mask, "number", min(quality, 0.95))
                if view.numeric and view.role is ColumnRole.PLAIN:
                    constant = Constant(number.value, ValueKind.QUANTITY, number.unit, number.scale)
                    found = replace(found, expression=Compare(Relator.EQUAL, view.ref, constant))
                yield found

    def _times(self) -> Iterator[Condition]:
        """Dates and periods of the question on columns of dates and periods."""
        for view in self.index.columns:
            if not view.temporal and not (view.timelike and view.kind is ValueKind.TEXT):
                continue
            yield from self._times_on(view)

    def _times_on(self, view: ColumnView) -> Iterator[Condition]:
        question = self.question
        link = self.columns[view.place]
        bonus = 0.1 * link.score
        whole = [mention for mention in question.times if not mention.lexical.startswith("-")]
        for mention in question.times:
            if not view.temporal:
                # Texts that speak of times: a containment of the year or day as it is said.
                if mention.lexical.isdigit():
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
            between = question.text[: question.tokens[(second.mask & -second.mask).bit_length() - 1].start]
            start = question.tokens[first.mask.bit_length() - 1].end
            middle = between[start:].strip().casefold()
            if (
                view.temporal
                and middle in ("and", "to", "-", "–", "until", "through", "till")
                and first.lexical <= second.lexical
            ):
                lead = question.lower[
                    : question.tokens[(first.mask & -first.mask).bit_length() - 1].start
                ].split()[-1:]
                opened = bool(lead) and lead[0] in ("between", "from", "during")
                if middle == "and" and not opened:
                    continue
                expression = _range(view.ref, first.lexical, second.lexical)
                mask = first.full_mask | second.full_mask | question.mask(start, start + len(between[start:]))
                if opened:
                    mask |= (first.mask & -first.mask) >> 1
                yield Condition(expression, mask, view.place, "time", 0.9 + bonus, relation="between")

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

    def _terms(self) -> Iterator[Condition]:
        """The rows whose time, from one column to another, holds a year of the question: who was mayor *in 1995*."""
        starts, ends = (
            [v for v in self.index.columns if v.temporal and set(v.stems) & words_of_type(name)]
            for name in ("term_start", "term_end")
        )
        if len(starts) != 1 or len(ends) != 1:
            return
        start, end = starts[0].ref, ends[0].ref
        for mention in self.question.times:
            if mention.relation == "in" and mention.lexical.isdigit():
                year = _time_constant(mention.lexical)
                lasts = Or((Compare(Relator.GREATER_OR_EQUAL, end, year), IsMissing(end)))
                within = And((Compare(Relator.LESS_OR_EQUAL, start, year), lasts))
                mask = mention.full_mask
                if self.question.tokens[max(mask.bit_length() - 2, 0)].word == "in":
                    mask |= mask >> 1
                yield Condition(within, mask, -1, "term", 0.9)

    def _month_spans(self) -> Iterator[Condition]:
        """The rows of months from one to another, in columns whose texts are names of months."""
        question = self.question
        for one, other in itertools.pairwise(t for t in question.tokens if t.word in months()):
            first, last = months()[one.word], months()[other.word]
            lead = question.tokens[one.index - 1].word if one.index else ""
            middle = question.lower[one.end : other.start].strip()
            if first >= last or (lead, middle) not in _SPANS:
                continue
            mask = question.mask(question.tokens[one.index - 1].start, other.end)
            for view in self.index.columns:
                data = self.index.relation.data(view.place)
                texts = [text_of(data.values[code]) for code in data.used()[:MOST_MONTHS]]
                held = [text for text in texts if first <= months().get(fold(text), 0) <= last]
                named = {months()[fold(text)] for text in held}
                if {first, last} <= named:
                    choices = tuple(Constant(" ".join(text.split())) for text in held)
                    expression = Membership(view.ref, choices)
                    yield Condition(expression, mask, view.place, "months", 0.96, size=len(held))

    def _month(self, view: ColumnView, mention: TimeMention, quality: float) -> Iterator[Condition]:
        """A month of any year, where the column has it in one year or as a text."""

        month = Apply(Function.MONTH, view.ref)
        equal = Compare(
            Relator.EQUAL, month, Constant(Decimal(int(mention.lexical[2:4])), ValueKind.QUANTITY)
        )
        yield Condition(equal, mention.mask, view.place, "time", quality, relation="month")
        if len(mention.lexical) > 5:
            day = Compare(
                Relator.EQUAL,
                Apply(Function.DAY, view.ref),
                Constant(Decimal(int(mention.lexical[5:7])), ValueKind.QUANTITY),
            )
            yield Condition(
                And((equal, day)), mention.mask, view.place, "time", quality + 0.15, relation="day"
            )

    def _signs(self) -> Iterator[Condition]:
        """Rises and falls by the sign of a column of changes: *in which towns did rents go down*."""
        cues = self.question.cues
        for cue, relator in (("down", Relator.LESS), ("up", Relator.GREATER)):
            moved = cues.get(cue, 0)
            if not moved or cues.keys() >= {"down", "up"} or self.question.thresholds:
                continue
            for view in self.index.columns:
                if view.measure and set(view.stems) & words_of_type("change"):
                    zero = Constant(Decimal(0), ValueKind.QUANTITY)
                    link = self.columns[view.place]
                    yield Condition(
                        Compare(relator, view.ref, zero),
                        moved | link.mask,
                        view.place,
                        "sign",
                        0.6 + 0.2 * link.score,
                    )

    def _clocks(self) -> Iterator[Condition]:
        """Times of the day of the question on columns of such: *after 12:00*."""
        relators = {"before": Relator.LESS, "after": Relator.GREATER, "since": Relator.GREATER_OR_EQUAL,
                    "from": Relator.GREATER_OR_EQUAL, "until": Relator.LESS_OR_EQUAL,
                    "below": Relator.LESS, "above": Relator.GREATER}  # fmt: skip
        mentions = self.question.clocks
        for view in self.index.columns:
            link = self.columns[view.place]
            for mention in mentions if view.clock or view.kind is ValueKind.DURATION else ():
                near = link.mask if _distance(link.mask, mention.full_mask) <= 3 else 0
                quality = 0.6 + (0.3 * link.score if near else 0.15 * link.score)
                relator = relators.get(mention.relation, Relator.EQUAL)
                expression: Expression = Compare(relator, view.ref, _clock_constant(view, mention))
                yield Condition(
                    expression,
                    mention.full_mask | near,
                    view.place,
                    "time",
                    quality,
                    relation=mention.relation,
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
                        And(ends),
                        mask | link.mask,
                        view.place,
                        "time",
                        0.85 + 0.1 * link.score,
                        relation="between",
                    )

    def _thresholds(self) -> Iterator[Condition]:
        """Comparisons with a number, on each column that they may be about."""
        for threshold in self.question.thresholds:
            scored = []
            for view in self.index.columns:
                if not (view.numeric or view.temporal or view.role is ColumnRole.ORDINAL):
                    continue
                found = self._threshold(threshold, view)
                if found is not None:
                    scored.append(found)
            scored.sort(key=lambda condition: -condition.quality)
            yield from scored[:4]

    def _standings(self) -> Iterator[Condition]:
        """Ranks above, below or up to a place that the question names, on columns of ranks."""
        ranks = words_of_type("rank") | words_of_type("standing")
        for standing in self.question.standings:
            for view, link in zip(self.index.columns, self.columns, strict=True):
                stems = set(view.stems)
                if view.role is not ColumnRole.ORDINAL and (stems.isdisjoint(ranks) or not view.numeric):
                    continue
                near = link.mask and _distance(link.mask, standing.mask) <= 3
                quality = 0.55 + 0.2 * (not stems.isdisjoint(ranks)) + 0.15 * link.score
                ref = Apply(Function.NUMBER, view.ref) if view.role is ColumnRole.ORDINAL else view.ref
                constant = Constant(standing.number.value, ValueKind.QUANTITY)
                yield Condition(
                    Compare(standing.relator, ref, constant),
                    standing.mask | (link.mask if near else 0),
                    view.place,
                    "standing",
                    quality,
                )

    def _threshold(self, threshold: Threshold, view: ColumnView) -> Condition | None:
        number, link = threshold.number, self.columns[view.place]
        if threshold.upper is not None and any(m.mask & number.mask for m in self.question.times):
            return None
        if any("/" in mention.lexical and mention.mask & number.mask for mention in self.question.times):
            return None  # "over 2018-2023" is a span
        near = _distance(link.mask, threshold.mask) if link.mask else 99
        quality = 0.35 + (0.35 * link.score if near <= 3 else 0.2 * link.score if near < 99 else 0)
        mask = threshold.mask | (link.mask if near <= 3 else 0)
        hinted = [
            a for a, m in self.question.adjectives if m & threshold.mask and set(a.headers) & view.aspects
        ]
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
            plain = number.value == number.value.to_integral_value() and 1000 <= number.value < 2200
            if not plain or number.unit:
                return None
            return None  # times have conditions of their own
        elif number.unit:
            shares = {
                other.place for other in self.index.columns if {other.unit_hint, *other.units} & _PERCENT
            }
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
        if view.role is not ColumnRole.PLAIN:
            quality -= 0.25
        if (
            number.value == number.value.to_integral_value()
            and 1900 <= number.value <= 2100
            and any(mention.mask & number.mask for mention in self.question.times)
        ):
            quality -= 0.3
        ref: Expression = view.ref
        if view.role is ColumnRole.ORDINAL:
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
        """ONE where a number is meant in full although the column prints thousands: 20,000 beside "44.9"."""
        data = self.index.relation.data(view.place)
        values = [data.values[code] for code in data.used()[:MOST_SCALED]]
        scaled = [
            (value.number, SCALES.get(value.scale or "ONE", 0))
            for value in values
            if value.number is not None
        ]
        if not scaled or not all(power for _, power in scaled):
            return None
        most = max(abs(value) for value, _ in scaled)
        power = scaled[0][1]
        return "ONE" if abs(number.value).scaleb(power) > most >= abs(number.value) else None

    def _truths(self) -> Iterator[Condition]:
        """Columns of yes and no that the question names: the rows where it holds."""
        for view, link in zip(self.index.columns, self.columns, strict=True):
            if view.kind is ValueKind.TRUTH and link.score >= 0.5:
                expression = Compare(Relator.EQUAL, view.ref, Constant(True, ValueKind.TRUTH))
                yield Condition(expression, link.mask, view.place, "truth", 0.4 + 0.3 * link.score)

    def _missing(self) -> Iterator[Condition]:
        """Columns with blank cells, where the question negates or asks for what is not there."""
        words = [token.word for token in self.question.tokens]
        for view, link in zip(self.index.columns, self.columns, strict=True):
            first = (link.mask & -link.mask).bit_length() - 1
            out_of = first >= 2 and words[first - 2 : first] == ["out", "of"]  # out of stock: there is none
            negation = 3 << first - 2 if out_of else self.question.cues.get("negation", 0)
            if view.missing and link.score >= 0.5 and negation:
                yield Condition(IsMissing(view.ref), link.mask | negation, view.place, "missing", 0.5)
            zero = self.index.cells.numbers.get(Decimal(0), ())
            if (
                negation
                and link.score >= 0.5
                and view.numeric
                and any(place[0] == view.place for place in zero)
            ):
                expression = Compare(Relator.EQUAL, view.ref, Constant(Decimal(0), ValueKind.QUANTITY))
                yield Condition(expression, link.mask | negation, view.place, "zero", 0.6)


def _with_alternatives(found: Sequence[Condition], named: Sequence[int]) -> list[Condition]:
    """The conditions, those of the same tokens and column folded, and the choice between cells of a column.

    `named` are the tokens that name each column: "grade 9 or 10" says *grade* once for both cells.
    """
    best: dict[tuple[object, ...], Condition] = {}
    for condition in found:
        key = condition.expression, condition.mask
        if key not in best or best[key].quality < condition.quality:
            best[key] = condition
    kept = list(best.values())
    by_column: dict[int, list[Condition]] = defaultdict(list)
    for condition in kept:
        if (
            condition.kind in ("exact", "number")
            and condition.column >= 0
            and isinstance(condition.expression, Compare)
        ):
            by_column[condition.column].append(condition)
    for column, several in by_column.items():
        apart: list[Condition] = []
        for condition in sorted(several, key=lambda c: -c.mask.bit_count()):
            if all(not condition.mask & other.mask & ~named[column] for other in apart):
                apart.append(condition)
        if 2 <= len(apart) <= 6:
            mask = 0
            for condition in apart:
                mask |= condition.mask
            choices = tuple(c.expression.right for c in apart if isinstance(c.expression, Compare))
            operand = next(c.expression.left for c in apart if isinstance(c.expression, Compare))
            choice = RowChoice.ALL if any(c.choice is RowChoice.ALL for c in apart) else RowChoice.MEMBERS
            quality = min(c.quality for c in apart) - 0.02
            kept.append(
                Condition(
                    Membership(operand, choices),
                    mask,
                    column,
                    "several",
                    quality,
                    choice,
                    sum(c.size for c in apart),
                )
            )
    return kept


def negated(condition: Condition, mask: int) -> Condition:
    """The opposite of a condition, said by further tokens."""
    expression: Expression = Not(condition.expression)
    if isinstance(condition.expression, Compare) and condition.expression.relator is Relator.EQUAL:
        expression = replace(condition.expression, relator=Relator.NOT_EQUAL)
    elif isinstance(condition.expression, IsMissing):
        expression = Not(condition.expression)
    return replace(
        condition,
        expression=expression,
        mask=condition.mask | mask,
        kind=f"not {condition.kind}",
        choice=RowChoice.MEMBERS,
    )


def _constant(text: str, view: ColumnView) -> Constant:
    return Constant(" ".join(text.split()))


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


def _run_beside(token: int, mask: int) -> int:
    """The run of a set's tokens that is nearest to a token, within three; none where all are farther away.

    Of "version 3.1 larger than version 1.0" each number has its own *version*.
    """
    for step in (1, 2, 3):
        run = mask & (token << step | token >> step)
        if run:
            if run == token >> step | token << step and step == 1:
                run = token >> step  # the word before a number names it
            while (wider := mask & (run | run << 1 | run >> 1)) != run:
                run = wider
            return run
    return 0


def _distance(one: int, other: int) -> int:
    """Tokens between two sets, 0 where they touch or overlap."""
    steps = 0
    grown = one
    while not grown & other and steps < 40:
        grown |= grown << 1 | grown >> 1
        steps += 1
    return max(steps - 1, 0) if grown & other else 99
