"""Numbers, times, limits and units that a question mentions, with the tokens that say them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from typing import NamedTuple

from kgtable.programs.algebra import Relator
from kgtable.questions.english import comparatives, months, number_words, operator_meant, ordinal_words, unit_named
from kgtable.values.dates import parse_date
from kgtable.values.periods import quarters_in
from kgtable.values.unit_phrases import parse_unit_phrase
from kgtable.values.units import SCALE_LETTERS, SCALE_WORDS

_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
DECADE = re.compile(r"(1[5-9]|20)\d0s")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_TO = frozenset(["to", "until", "till", "through", "-", "–"])
"""Between the first and the last day of a span."""
_SPAN_OF_DAYS = len("--03-01"), len("2023-05-31")
_SPAN_OF_MONTHS = len("--03"), len("2023-05")
_YEAR_BEFORE = re.compile(r"\b(?:(?:the )?(?:previous|prior|preceding|last) year|(?:in )?the year before|a year (?:before|earlier))\b(?! (?:in|of)\b)")  # fmt: skip  # noqa: E501
_OR_LATER = re.compile(r",? or (earlier|before|later|after|newer)\b")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CLOCK = re.compile(
    r"(?<![\w.,:])(?:(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour2>[01]?\d|2[0-3]):(?P<minute2>[0-5]\d)(?::[0-5]\d)?(?: o'clock)?(?![\w:])"
    r"|(?P<hour3>[01]?\d|2[0-3]) o'clock\b|(?P<word>noon|midday|midnight)\b)"
)
_SIGNED = re.compile(r"\b(?:negative|positive|below zero|in the red)\b")
_LIMITED = re.compile(
    r"\b(?:(?P<above>over|above|more than|longer than|slower than|beyond)"
    r"|under|below|less than|within|faster than|quicker than|shorter than)\s+$"
)
_QUARTER = re.compile(
    r"\b(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)[ -](?:quarter|half)\b|\bquarter (?P<number>[1-4])\b"
)


_THRESHOLDS = (
    (Relator.GREATER_OR_EQUAL, r"(?:at least|no less than|no fewer than|not less than|a minimum of|minimum of|not (?:under|below)) {n}"),  # noqa: E501
    (Relator.LESS_OR_EQUAL, r"(?:at most|no more than|not more than|a maximum of|maximum of|up to|not (?:over|above)) {n}"),  # noqa: E501
    (Relator.GREATER_OR_EQUAL, r"{n}(?: {u})? or (?:more|above|higher|greater|over|later|older|better)"),
    (Relator.LESS_OR_EQUAL, r"{n}(?: {u})? or (?:less|fewer|below|lower|under|earlier|younger)"),
    (Relator.GREATER, r"(?:{more}) than {n}|(?:over|above|exceed(?:s|ed|ing)?|beyond|in excess of|surpass(?:ed|es)?|greater then|more then) (?:(?:an?|the|their) (?:[a-z]+ ){1,2}of |[a-z]+ )?{n}"),  # noqa: E501
    (Relator.LESS, r"(?:{less}) than (?:the )?{n}|(?:under|below|beneath|less then) (?:(?:an?|the|their) (?:[a-z]+ ){1,2}of |[a-z]+ )?{n}"),  # noqa: E501
    (Relator.EQUAL, r"(?:exactly|equal to|equals) {n}"),
)  # fmt: skip
_JOINTS = frozenset({"to", "-", "–", "until", "through", "till"})
_SPAN = re.compile(
    r"over (?:the (?:last |past |next )?[\w-]+ (?:years|seasons|months|quarters|weeks|days|hours)\b"
    r"|(?:19|20)\d\d ?(?:to|through|until|[-–]) ?(?:19|20)\d\d\b)"
)
"""Words for several times together: *over the four years*, *over 2000 to 2007*, which compare nothing."""
_COMPARING = frozenset({"than", "over", "under", "above", "below", "least", "most", "within", "exceeding"})
_SINCE = re.compile(r"\b(since|after|before|until|till|through|prior to|by|later than|earlier than|starting in|from)\s+(?:the\s+)?(?:year\s+)?$")  # fmt: skip  # noqa: E501

_ON_FROM = re.compile(r".*(?:\b(?:on|onwards?|upwards?|to|until|till|through|and|up)\b|[-–])")
"""What follows where *from* a time means a span."""


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A word, number or sign of a question; `empty` is one that carries no meaning or only asks."""

    index: int
    start: int
    end: int
    text: str
    word: str
    stem: str
    empty: bool


class NumberMention(NamedTuple):
    """A number that the question names, with a unit or scale that follows it."""

    value: Decimal
    mask: int
    text: str
    unit: str | None = None
    scale: str | None = None
    unit_mask: int = 0


class TimeMention(NamedTuple):
    """A date or period of the question: lexical form (``2024-03``; ``--03`` for a month of any year).

    `relation` is ``in``, ``before``, ``after``, ``since``, ``until`` or ``between``.
    """

    lexical: str
    mask: int
    relation: str = "in"
    full_mask: int = 0


class ClockMention(NamedTuple):
    """A time of the day, or a length of time, that is named in figures (``12:00``, ``2:30:00``).

    `relation` is that of a `TimeMention`, also ``below`` and ``above``; `text` is how it is written.
    """

    lexical: str
    mask: int
    relation: str = "in"
    full_mask: int = 0
    text: str = ""


class Threshold(NamedTuple):
    """A number compared with: ``more than 5``; with `upper` a range."""

    relator: Relator
    number: NumberMention
    mask: int
    upper: NumberMention | None = None


@dataclass(frozen=True)
class Mentions:
    """The information in the words of a text alone; sets of tokens are bit masks, bit i is token i."""

    text: str
    tokens: tuple[QuestionToken, ...]

    @cached_property
    def lower(self) -> str:
        """The text in lower case, of the same length."""
        folded = self.text.replace("’", "'").lower()
        return folded if len(folded) == len(self.text) else self.text

    def mask(self, start: int, end: int) -> int:
        """The tokens between two places of the text."""
        return sum(1 << token.index for token in self.tokens if token.start < end and token.end > start)

    def span(self, first: int, last: int) -> int:
        """The tokens of two times and around them if they are the ends of a span, and 0 for two times of their own.

        "From 2019 to 2021" and "between 2019 and 2021" are spans; "2019 and 2021" is not.
        """
        start, end = self.tokens[(first & -first).bit_length() - 1].start, self.tokens[last.bit_length() - 1].end
        joint = self.lower[self.tokens[first.bit_length() - 1].end : self.tokens[(last & -last).bit_length() - 1].start]
        opened = self.lower[:start].split()[-1:] in (["between"], ["from"], ["during"])
        if joint.strip() not in _JOINTS and not (opened and joint.strip() == "and"):
            return 0
        return self.mask(start, end) | ((first & -first) >> 1 if opened else 0)

    def words_of(self, mask: int) -> str:
        """The text of some tokens."""
        return " ".join(token.text for token in self.tokens if mask >> token.index & 1)

    def stems_of(self, mask: int) -> tuple[str, ...]:
        """The stems of some tokens."""
        return tuple(token.stem for token in self.tokens if mask >> token.index & 1)

    @staticmethod
    def _all(masks: Iterable[int]) -> int:
        total = 0
        for mask in masks:
            total |= mask
        return total

    def _after(self, token: QuestionToken) -> str:
        """The next word; empty after the last."""
        return self.tokens[token.index + 1].word if token.index + 1 < len(self.tokens) else ""

    @cached_property
    def times(self) -> tuple[TimeMention, ...]:
        """Dates, months, years and spans, each with how it limits time."""
        found = [self._related(mention) for mention in self._years_of_spans(tuple(self._times()))]
        years = [mention for mention in found if _YEAR.fullmatch(mention.lexical)]
        if len(years) == 1:  # "in 2023 … the year before"
            for match in _YEAR_BEFORE.finditer(self.lower):
                mask = self.mask(*match.span())
                if not mask & years[0].full_mask:
                    found.append(TimeMention(str(int(years[0].lexical) - 1), mask, full_mask=mask))
        return tuple(found)

    def _years_of_spans(self, found: Sequence[TimeMention]) -> Iterator[TimeMention]:
        """*Between 1 March and 31 May 2023*: the first day is in the year said once, or in the one before it."""
        for mention, after in itertools.zip_longest(found, found[1:]):
            sizes = len(mention.lexical), 0 if after is None else len(after.lexical)
            if after is None or sizes not in (_SPAN_OF_DAYS, _SPAN_OF_MONTHS):
                yield mention
                continue
            before = self.tokens[: (mention.mask & -mention.mask).bit_length() - 1]
            behind = self.tokens[(after.mask & -after.mask).bit_length() - 1]
            joint = self.text[self.tokens[mention.mask.bit_length() - 1].end : behind.start].strip().lower()
            opened = bool(before) and before[-1].word in ("between", "from")
            if joint in _TO or (joint == "and" and opened):
                day, last = mention.lexical[1:], after.lexical[4:]
                mention = mention._replace(lexical=f"{int(after.lexical[:4]) - (day > last)}{day}")
            yield mention

    def _day_before(self, place: int) -> tuple[int, int] | None:
        """The first day of a span within a month, and its token: *between 12 and* before "18 February"."""
        words = [token.word for token in self.tokens[:place]]
        found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", words[-2]) if len(words) >= 2 else None
        opened = len(words) >= 3 and words[-3] in ("between", "from")
        in_month = len(words) >= 3 and words[-3] in months()  # "March 1 to May 3"
        if found is None or in_month or not (words[-1] in _TO or (words[-1] == "and" and opened)):
            return None
        return int(found[1]), 1 << (place - 2)

    def _times(self) -> Iterator[TimeMention]:
        names = months()
        taken = 0
        quarterly = self._all(self.mask(start, end) for _, start, end in quarters_in(self.text))
        tokens = self.tokens
        for index, token in enumerate(tokens):
            if taken >> index & 1:
                continue
            around = [tokens[index + step].word if 0 <= index + step < len(tokens) else "" for step in range(-2, 4)]
            day, month, year = None, names.get(token.word) or names.get(operator_meant(token.word)), None
            if month and (len(token.word) > 4 or token.text[:1].isupper() or around[3][:1].isdigit()):
                last = index
                first = index
                day_before = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", around[1])
                day_after = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", around[3])
                if _YEAR.fullmatch(around[3]):
                    year, last = around[3], index + 1
                elif day_after and 0 < int(day_after[1]) <= 31:
                    day, last = int(day_after[1]), index + 1
                    if _YEAR.fullmatch(around[4]):
                        year, last = around[4], index + 2
                if day is None and day_before and 0 < int(day_before[1]) <= 31:
                    day, first = int(day_before[1]), index - 1
                mask = ((1 << (last - first + 1)) - 1) << first
                taken |= mask
                text = f"{year or '-'}-{month:02d}" + (f"-{day:02d}" if day else "")
                if day and (opening := self._day_before(first)) is not None and opening[0] < day:
                    taken |= opening[1]
                    yield TimeMention(f"{text[:-2]}{opening[0]:02d}", opening[1], full_mask=opening[1])
                yield TimeMention(text, mask, full_mask=mask)
            elif _YEAR.fullmatch(token.word) and not quarterly >> index & 1:
                end = tokens[index + 1] if index + 1 < len(tokens) else None
                gap = self.text[token.end : end.start] if end else ""
                if end and gap.strip() in ("-", "–") and len(gap) == 1 and re.fullmatch(r"\d\d|\d{4}", end.word):
                    second = end.word if len(end.word) == 4 else token.word[:2] + end.word
                    if (
                        re.fullmatch(r"\d\d", end.word)
                        and tokens[index + 2 : index + 3]
                        and re.fullmatch(r"\d\d", tokens[index + 2].word)
                    ):
                        mask = 7 << index
                        taken |= mask
                        yield TimeMention(f"{token.word}-{end.word}-{tokens[index + 2].word}", mask, full_mask=mask)
                        continue
                    mask = 3 << index
                    taken |= mask
                    yield TimeMention(f"{token.word}/{second}", mask, full_mask=mask)
                else:
                    yield TimeMention(token.word, 1 << index, full_mask=1 << index)
            elif DECADE.fullmatch(token.word):
                first = int(token.word[:4])
                yield TimeMention(f"{first}/{first + 9}", 1 << index, full_mask=1 << index)
            elif match := re.fullmatch(r"fy(\d\d(?:\d\d)?)", token.word):
                text = match[1] if len(match[1]) == 4 else f"20{match[1]}"
                yield TimeMention(text, 1 << index, full_mask=1 << index)
        for lexical, begin, behind in quarters_in(self.text):
            mask = self.mask(begin, behind)
            if not mask & taken:
                taken |= mask
                yield TimeMention(lexical, mask, full_mask=mask)
        for match in re.finditer(r"\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b", self.text):
            date = parse_date(match[0])
            if date is not None:
                mask = self.mask(match.start(), match.end())
                yield TimeMention(date.lexical, mask, full_mask=mask)

    def _related(self, mention: TimeMention) -> TimeMention:
        first = self.tokens[(mention.mask & -mention.mask).bit_length() - 1]
        before = self.lower[: first.start]
        last = self.tokens[mention.mask.bit_length() - 1]
        if behind := _OR_LATER.match(self.lower, last.end):
            relation = "until" if behind[1] in ("earlier", "before") else "since"
            return mention._replace(relation=relation, full_mask=mention.mask | self.mask(behind.start(), behind.end()))
        match = _SINCE.search(before)
        if match is None:
            return mention
        if match[1] == "from" and not _ON_FROM.match(self.lower, last.end):
            # "Songs from 2019" are of that year; a span goes "from 2019 on" or "to 2021".
            return mention._replace(full_mask=mention.mask | self.mask(match.start(1), match.end(1)))
        relation = {
            "since": "since", "after": "after", "later than": "after", "before": "before", "prior to": "before",
            "earlier than": "before", "until": "until", "till": "until", "through": "until", "by": "until",
            "starting in": "since", "from": "from",
        }[match[1]]  # fmt: skip
        return mention._replace(relation=relation, full_mask=mention.mask | self.mask(match.start(1), match.end(1)))

    @cached_property
    def clocks(self) -> tuple[ClockMention, ...]:
        """Times of the day: ``12:00``, *9 am*, *noon*."""
        found = []
        for match in _CLOCK.finditer(self.lower):
            hour = int(match["hour"] or match["hour2"] or match["hour3"] or (0 if match["word"] == "midnight" else 12))
            if match["half"]:
                hour = hour % 12 + (12 if match["half"] == "p" else 0)
            mask = self.mask(*match.span())
            if not mask:  # after the last token that is read
                break
            mention = TimeMention(f"{hour:02d}:{match['minute'] or match['minute2'] or '00'}", mask, full_mask=mask)
            found.append(self._limited(ClockMention(*self._related(mention), text=match[0])))
        return tuple(found)

    def _limited(self, mention: ClockMention) -> ClockMention:
        """The mention with the words before it that limit a length of time: *under 2:30:00*."""
        start = self.tokens[(mention.mask & -mention.mask).bit_length() - 1].start
        match = _LIMITED.search(self.lower, 0, start)
        if match is None:
            return mention
        relation = "above" if match["above"] else "below"
        return mention._replace(relation=relation, full_mask=mention.mask | self.mask(*match.span()))

    @cached_property
    def numbers(self) -> tuple[NumberMention, ...]:
        """Numbers in figures and words, with the units and scales that follow."""
        found = []
        clocks = self._all(clock.mask for clock in self.clocks)
        for token in self.tokens:
            value: Decimal | None = None
            if clocks >> token.index & 1:
                continue
            if _NUMBER.fullmatch(token.text):
                value = Decimal(token.text.replace(",", ""))
                if (
                    token.start
                    and self.text[token.start - 1] in "-−"
                    and self.text[token.start - 2 : token.start - 1] in ("", " ")
                ):
                    value = -value
            elif token.word == "half" and self._after(token) in ("a", "an"):
                half = self._with_unit(NumberMention(Decimal("0.5"), 1 << token.index, "half"), token.index + 1)
                if half.unit is not None:
                    found.append(half._replace(unit_mask=half.unit_mask | 2 << token.index))
                continue
            elif token.word in number_words():
                value = Decimal(number_words()[token.word])
            elif token.word in ("a", "an") and self._is_one(token):
                value = Decimal(1)
            if value is None:
                continue
            mask, last = 1 << token.index, token.index
            if [after.word for after in self.tokens[last + 1 : last + 4]] == ["and", "a", "half"]:
                value, mask, last = value + Decimal("0.5"), mask | 0b1110 << last, last + 3
            found.append(self._with_unit(NumberMention(value, mask, token.text), last))
        return tuple(found)

    def _is_one(self, token: QuestionToken) -> bool:
        """Whether an article counts: "less than an hour", "over a million"."""
        before = self.tokens[token.index - 1].word if token.index else ""
        after = self.tokens[token.index + 1].text if token.index + 1 < len(self.tokens) else ""
        return before in _COMPARING and (unit_named(after) is not None or (len(after) > 2 and after in SCALE_WORDS))

    def _with_unit(self, number: NumberMention, index: int) -> NumberMention:
        """The number with a scale word and a unit in the next tokens, or a currency sign before it."""
        scale, unit, mask = None, None, 0
        place = index + 1
        if place < len(self.tokens) and self.tokens[place].word in SCALE_WORDS and len(self.tokens[place].word) > 2:
            scale = SCALE_LETTERS.get(SCALE_WORDS[self.tokens[place].word])
            mask |= 1 << place
            place += 1
        for length in (2, 1):
            if place + length > len(self.tokens):
                continue
            text = self.text[self.tokens[place].start : self.tokens[place + length - 1].end]
            gap = self.text[self.tokens[place - 1].end : self.tokens[place].start]
            if gap.strip() == "°":
                gap, text = "", f"°{text}"
            if gap.strip() or (self.tokens[place].empty and length == 1):
                continue
            unit = unit_named(text)
            if unit is not None:
                mask |= ((1 << length) - 1) << place
                after = place + length
                if after < len(self.tokens) and self.text[self.tokens[after - 1].end : self.tokens[after].start] == "/":
                    unit, mask = None, mask | 1 << after  # so much in another unit, as mg/l
                break
        if unit is None and index and self.tokens[index - 1].text in "€£$¥":
            phrase = parse_unit_phrase(self.tokens[index - 1].text)
            unit = phrase.unit if phrase else None
            mask |= 1 << (index - 1)
        return number._replace(unit=unit, scale=scale, unit_mask=mask)

    @cached_property
    def ordinals(self) -> tuple[tuple[int, int], ...]:
        """Ordinal numbers above first, and their tokens."""
        found = []
        for token in self.tokens:
            match = _ORDINAL.fullmatch(token.word)
            number = int(match[1]) if match else ordinal_words().get(token.word, 0)
            if number >= 1:
                found.append((number, 1 << token.index))
        return tuple(found)

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Numbers that something is compared with."""
        by_place = {self.tokens[(n.mask & -n.mask).bit_length() - 1].start: n for n in self.numbers}
        found: list[Threshold] = []
        taken = 0
        for match in _between().finditer(self.lower):
            ends = [by_place.get(match.start(name)) for name in (("a", "b") if match["a"] else ("c", "d"))]
            low, high = ends
            if low is not None and high is not None:
                mask = self.mask(match.start(), match.end()) | high.unit_mask | low.unit_mask
                if low.unit is None and high.unit is not None:
                    low = low._replace(unit=high.unit, scale=high.scale)
                found.append(Threshold(Relator.GREATER_OR_EQUAL, low, mask, high))
        for match in _SIGNED.finditer(self.lower):
            mask = self.mask(*match.span())
            relator = Relator.GREATER if match[0].startswith("pos") else Relator.LESS
            found.append(Threshold(relator, NumberMention(Decimal(0), mask, "0"), mask))
        for relator, pattern in _threshold_patterns():
            for match in pattern.finditer(self.lower):
                group = next(name for name in ("number", "number2") if match.groupdict().get(name))
                number = by_place.get(match.start(group))
                if number is not None and not number.mask & taken and not _SPAN.match(self.lower, match.start()):
                    taken |= number.mask
                    mask = self.mask(match.start(), match.end()) | number.mask | number.unit_mask
                    found.append(Threshold(relator, number, mask))
        return tuple(found)

    @cached_property
    def quarters(self) -> tuple[tuple[str, int], ...]:
        """Quarters and halves without their year, as headers write them: *second quarter* is Q2."""
        found = []
        for match in _QUARTER.finditer(self.lower):
            number = match["number"] or str(ordinal_words().get(match["ordinal"], 0) or match["ordinal"][0])
            letter = "q" if "quarter" in match[0] else "h"
            found.append((f"{letter}{number}", self.mask(*match.span())))
        return tuple(found)

    @cached_property
    def units_named(self) -> tuple[tuple[str, int], ...]:
        """The units that words of more than two letters name, except those of numbers: *per square metre*."""
        taken = self._all(number.unit_mask for number in self.numbers)
        found: list[tuple[str, int]] = []
        for length in (2, 1):
            for first in self.tokens[: len(self.tokens) - length + 1]:
                mask = ((1 << length) - 1) << first.index
                last = self.tokens[first.index + length - 1]
                if mask & taken or len(last.word) < 3 or first.empty or last.empty:
                    continue
                unit = unit_named(self.text[first.start : last.end])
                if unit is not None:
                    taken |= mask
                    found.append((unit, mask))
        return tuple(found)

    @cached_property
    def unit_asked(self) -> tuple[str, int] | None:
        """The unit in which the answer is wanted: "in kg", "how many centimetres"."""
        for match in _UNIT_ASKED.finditer(self.text):
            word = match[1] or match[2]
            unit = unit_named(word)
            if unit is not None:
                return unit, self.mask(match.start(1 if match[1] else 2), match.end(1 if match[1] else 2))
        return None


_UNIT_ASKED = re.compile(
    r"\b(?:in|as)\s+(?:terms of\s+)?([^\W\d_]+|%)\s*(?:[?.!,]|$)|\bhow many\s+([^\W\d_]{2,})\b", re.IGNORECASE
)


@cache
def _threshold_patterns() -> tuple[tuple[Relator, re.Pattern[str]], ...]:
    words = "|".join(number_words())
    number = rf"(?:[€£$¥]\s?)?(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?|(?:{words}|half(?= an? )|an?)\b)"
    filled = []
    for relator, text in _THRESHOLDS:
        plain = text.replace("{more}", comparatives(1)).replace("{less}", comparatives(-1)).replace("{u}", r"[^\W\d_]+")
        first, rest = plain.replace("{n}", number, 1), ""
        pieces = first + rest
        pieces = pieces.replace("{n}", number.replace("P<number>", "P<number2>"))
        filled.append((relator, re.compile(rf"(?<!\w){pieces}")))
    return tuple(filled)


@cache
def _between() -> re.Pattern[str]:
    words = "|".join(number_words())
    number = rf"(?:[€£$¥]\s?)?(?P<{{}}>\d+(?:,\d{{{{3}}}})*(?:\.\d+)?|(?:{words})\b)(?:\s[^\W\d_]+)?"
    return re.compile(
        rf"\bbetween\s+{number.format('a')}\s+and\s+{number.format('b')}|\bfrom\s+{number.format('c')}\s+(?:to|until|through)\s+{number.format('d')}"
    )
