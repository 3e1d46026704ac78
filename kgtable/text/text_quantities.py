"""Numbers in running text as quantities: value, unit, scale, period, and the words around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from kgtable.text.passages import sentence_spans
from kgtable.values.dates import MONTH_NAMES
from kgtable.values.decimals import scaled
from kgtable.values.numbers import Number, parse_number
from kgtable.values.periods import find_period
from kgtable.values.units import SCALE_LETTERS, currency_prefix

LONGEST_TEXT = 200_000
"""Characters of a paragraph that are looked through."""

MOST_IN_SENTENCE = 200
"""Numbers of a sentence from which on it is a list of figures whose periods nobody pairs."""

_DIGITS = re.compile(r"(?<![\w.,/:'’])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d])")
_WORD_BEHIND = re.compile(r"[ \u00a0-]?(?:[^\W\d_]+\.?|%|°[CF]?)")
_NO_QUANTITY_BEFORE = re.compile(
    r"(?:\b(?:notes?|tables?|figures?|fig|sections?|items?|pages?|p|pp|chapters?|parts?|appendix|exhibits?|asc|asu"
    r"|ifrs|ias|ifric|fas|sfas|fin|eitf|sab|topics?|rules?|articles?|paragraphs?|level|tier|phase|step|no|nos"
    r"|number|class|series|form|schedule|page|version|release|iso|grade|type|title)\.?\s*|#|№)\s*"
    r"(?:\d+[\w.()]*(?:,| and| or|,? to| through| &)\s+)*$",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"\([^\d()\w]{0,3}\d[\d,.]*\)%?")
_UNIT_DASH = re.compile(r"(\d)-([^\W\d_])")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_MONTHS = rf"(?:{MONTH_NAMES})\.?"
_YEAR = r"(?:19|20)\d\d"
_PERIOD = re.compile(
    r"(?:(?:(?:three|six|nine|twelve|\d\d?)[ -](?:months?|weeks?)|(?:fiscal |financial )?years?|quarters?)"
    r"\s+end(?:ed|ing)\s+)?"
    rf"(?:{_MONTHS}\s+\d\d?(?:,\s*|\s+){_YEAR}|\d\d?(?:st|nd|rd|th)?\s+{_MONTHS}\s*,?\s*{_YEAR}|{_MONTHS},?\s+{_YEAR})"
    rf"|(?:Q[1-4]|(?:first|second|third|fourth)\s+quarter(?:\s+of)?(?:\s+fiscal(?:\s+year)?)?)\s*(?:FY)?'?\s*{_YEAR}"
    rf"|(?:FY|fiscal(?:\s+year)?|financial\s+year)\s*(?:{_YEAR}(?:[-/–]\d\d(?:\d\d)?)?|'?\d\d\b)"
    rf"|\b{_YEAR}[-/–](?:{_YEAR}|\d\d)\b|(?<![\w.,$€£¥/-]){_YEAR}(?![\d%])(?![.,]\d)",
    re.IGNORECASE,
)
_DATE_WITHOUT_YEAR = re.compile(rf"(?:{_MONTHS}\s+\d\d?|\d\d?(?:st|nd|rd|th)?\s+{_MONTHS})\b", re.IGNORECASE)
_LENGTH = re.compile(r"[ -](?:days?|weeks?|months?|years?)\b", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|and|,\s*and|&|or|,\s*or)\s*(?:(?:in|for|at|fiscal|fiscal year|year|of)\s+)?")
_CLAUSE_EDGE = re.compile(r"[;:]|,?\s+(?:compared|versus|while|whereas|from|but|and|against)\b")


@dataclass(frozen=True, slots=True)
class TextQuantity:
    """A number in a text.

    `value` is exact with the `scale` (``T M B TN``) applied, `unit` a QUDT local name; `period` in the form
    of `kgtable.values.periods.find_period`. It is in the text from `start` to `end`, printed as `text`;
    `signed` are its digits with their sign.
    """

    value: Decimal
    unit: str | None
    scale: str | None
    period: str | None
    text: str
    start: int
    end: int
    signed: str


class _Mention(NamedTuple):
    period: str
    start: int
    end: int


def find_quantities(text: str) -> list[TextQuantity]:
    """The quantities of a text in reading order; years, dates, and numbers of notes or sections are left out.

    >>> grown = find_quantities("In 2019, revenue grew 12 % to $4.2 billion.")
    >>> [(q.text, f"{q.value:f}", q.unit, q.period) for q in grown]
    [('12 %', '12', 'PERCENT', '2019'), ('$4.2 billion', '4200000000', 'CCY_USD', '2019')]
    >>> costs = "Costs were £3m and £2m in 2019 and 2018, respectively (2017: £1m)."
    >>> [(q.text, q.period) for q in find_quantities(costs)]
    [('£3m', '2019'), ('£2m', '2018'), ('£1m', '2017')]
    """
    found: list[TextQuantity] = []
    text = text[:LONGEST_TEXT]
    for start, end in sentence_spans(text):
        found += _in_sentence(text[start:end], start)
    return found


def _in_sentence(sentence: str, offset: int) -> list[TextQuantity]:
    periods = _periods(sentence)
    taken = [(mention.start, mention.end) for mention in periods]
    taken += [match.span() for match in _DATE_WITHOUT_YEAR.finditer(sentence)]
    read = list(_numbers(sentence, taken))
    paired = _pair(sentence, [(start, end) for _, start, end in read], periods)
    quantities = []
    for (number, start, end), period in zip(read, paired, strict=True):
        text = sentence[start:end]
        value = scaled(number.value, number.scale)
        letter = SCALE_LETTERS.get(number.scale)
        quantities.append(
            TextQuantity(value, number.unit, letter, period, text, start + offset, end + offset, number.signed)
        )
    return quantities


def _numbers(sentence: str, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[Number, int, int]]:
    for match in _DIGITS.finditer(sentence):
        if any(start <= match.start() < end for start, end in taken) or _ORDINAL.match(sentence, match.end()):
            continue
        if _NO_QUANTITY_BEFORE.search(sentence, max(0, match.start() - 60), match.start()):
            continue
        start = _start(sentence, match.start())
        ends = [match.end()]
        for _ in range(2):
            behind = _WORD_BEHIND.match(sentence, ends[-1])
            if behind is None:
                break
            ends.append(behind.end() - behind[0].endswith("."))
            if behind[0].endswith("."):
                break
        if sentence[match.end() : match.end() + 1].isalpha():
            ends = ends[1:]
        if start and sentence[start - 1] == "(" and (negative := _NEGATIVE.match(sentence, start - 1)):
            start, ends = start - 1, [negative.end()]
        for end in sorted(set(ends), reverse=True):
            number = parse_number(_UNIT_DASH.sub(r"\1 \2", sentence[start:end]))
            if number is not None and number.upper is None and not number.marks:
                yield number, start, end
                break


def _start(sentence: str, digits: int) -> int:
    """Where a number begins: its currency and sign precede its digits."""
    for length in (5, 4, 3, 2, 1):
        for at in (digits - length,):
            if at < 0:
                continue
            match = currency_prefix().match(sentence, at)
            if match and not sentence[match.end() : digits].strip(" -−") and not sentence[at - 1 : at].isalnum():
                before = sentence[at - 1 : at]
                return at - 1 if before in "-−" and not sentence[at - 2 : at - 1].strip() and before else at
    before = sentence[digits - 1 : digits] if digits else ""
    if before in ("-", "−") and not sentence[max(digits - 2, 0) : digits - 1].strip():
        return digits - 1
    return digits


def _periods(text: str) -> list[_Mention]:
    mentions = []
    for match in _PERIOD.finditer(text):
        if _LENGTH.match(text, match.end()):
            continue
        period = find_period(match[0])
        if period is not None:
            mentions.append(_Mention(period, match.start(), match.end()))
    return mentions


def _pair(sentence: str, numbers: Sequence[tuple[int, int]], periods: Sequence[_Mention]) -> list[str | None]:
    """The period of each number: by "respectively", in the same brackets, else the nearest of its clause."""
    if not periods or len(numbers) > MOST_IN_SENTENCE:
        return [None] * len(numbers)
    if len({mention.period for mention in periods}) == 1:
        return [periods[0].period] * len(numbers)
    in_brackets = _brackets(sentence)
    found: list[str | None] = [None] * len(numbers)
    for index, (start, _) in enumerate(numbers):
        bracket = next((b for b in in_brackets if b[0] < start < b[1]), None)
        inside = [m for m in periods if bracket and bracket[0] <= m.start < bracket[1]]
        if inside:
            found[index] = min(inside, key=lambda m: abs(m.start - start)).period
    open_periods = [m for m in periods if not any(b[0] < m.start < b[1] for b in in_brackets)] or list(periods)
    for period_run in _runs(sentence, [(m.start, m.end) for m in open_periods]):
        series = [run for run in _runs(sentence, numbers) if len(run) == len(period_run) > 1]
        for run in series:
            for place, index in enumerate(run):
                found[index] = found[index] or open_periods[period_run[place]].period
    for index, (start, end) in enumerate(numbers):
        if found[index] is None:
            found[index] = _nearest(sentence, start, end, open_periods)
    return found


def _runs(sentence: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The numbers of spans listed one after the other: "2019, 2018 and 2017"."""
    runs: list[list[int]] = [[0]] if spans else []
    for index in range(1, len(spans)):
        if _LISTED.fullmatch(sentence, spans[index - 1][1], spans[index][0]):
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _brackets(sentence: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\([^()]*\)", sentence)]


def _nearest(sentence: str, start: int, end: int, periods: Sequence[_Mention]) -> str | None:
    """The nearest period; one after the number in its clause takes precedence ("$5 in 2019")."""

    def distance(mention: _Mention) -> tuple[int, int]:
        between = sentence[end : mention.start] if mention.start >= end else sentence[mention.end : start]
        edges = len(_CLAUSE_EDGE.findall(between))
        return edges, len(between) if mention.start >= end else len(between) + 10

    return min(periods, key=distance).period
