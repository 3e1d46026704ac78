"""The form of a question: what is to be done with the cells it means."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from kgtable.answering.offline import english
from kgtable.answering.offline.words import content, stems


class Form(StrEnum):
    """What a question asks to be done."""

    LOOKUP = "look up"
    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"
    DIFFERENCE = "difference"
    CHANGE = "change in percent"
    SHARE = "share in percent"
    EXTREME = "extreme"
    WHEN = "column of the extreme"
    COMPARE = "comparison"
    NEIGHBOUR = "neighbour"
    YES_NO = "yes or no"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition on numbers, such as more than 5; `sign` is one of ``> >= < <=``, `years` tells of which."""

    sign: str
    number: Decimal
    years: bool = False

    def holds(self, number: Decimal) -> bool:
        """Whether `number` meets the condition."""
        return {
            ">": number > self.number,
            ">=": number >= self.number,
            "<": number < self.number,
            "<=": number <= self.number,
        }[self.sign]


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart.

    `focus` are the words of what is asked for (which *team*, how many *gold medals*), `direction` is
    +1 for the most, the next, the last and -1 for the opposite, `ordered` whether an extreme is one of
    order or time (first, latest) instead of size. `wants` is ``number``, ``time``, ``person`` or ``place``.
    """

    text: str
    form: Form
    words: tuple[str, ...]
    focus: frozenset[str]
    direction: int = 1
    ordered: bool = False
    wants: str = ""
    thresholds: tuple[Threshold, ...] = ()
    several: bool = False

    @property
    def negated(self) -> bool:
        """Whether the question asks for what is not so."""
        return english.asked("not").search(self.text) is not None

    @property
    def years(self) -> tuple[str, ...]:
        """The years that the question names, in its order; those of a span are all named."""
        found: list[str] = []
        for match in _SPAN_OR_YEAR.finditer(self.text):
            first, last = match[1], match[2]
            if last is None:
                found.append(match[3] or f"20{match[4]}")
            elif 0 < int(last) - int(first) <= _LONGEST_SPAN:
                found += [str(year) for year in range(int(first), int(last) + 1)]
            else:
                found += [first, last]
        return tuple(dict.fromkeys(found))

    @property
    def content(self) -> frozenset[str]:
        """The words that carry meaning."""
        return content(self.words)


_SPAN_OR_YEAR = re.compile(
    r"(?<!\d)((?:19|20)\d\d)\s?[-–]\s?((?:19|20)\d\d)(?!\d)|(?<![\d,.])((?:19|20)\d\d)(?![\d,]\d)|\bFY?['’]?(\d\d)\b"
)
_LONGEST_SPAN = 20
_NO_ORDER = re.compile(r"\bfirst (?:place|name)|last name", re.IGNORECASE)


def read_question(text: str) -> Question:
    """The question's form and parts.

    >>> read_question("Which team won the most games after 2010?").form
    <Form.EXTREME: 'extreme'>
    """
    plain = " ".join(text.split())
    thresholds = _thresholds(plain)
    bare = _without_thresholds(plain) if thresholds else plain
    form = next((Form(name) for name, pattern in english.forms() if pattern.search(bare)), Form.LOOKUP)
    ordered = english.any_of("last", "first").search(bare) is not None
    downwards = english.any_of("smaller", "least", *(["first"] if ordered else []))
    wants = next((name for name, pattern in english.wants() if pattern.search(plain)), "")
    return Question(
        plain,
        form,
        stems(plain),
        _focus(plain),
        -1 if downwards.search(bare) else 1,
        ordered and not _NO_ORDER.search(bare),
        wants,
        thresholds,
        english.asked("several").search(plain) is not None,
    )


def _focus(text: str) -> frozenset[str]:
    match = english.asked("opening").search(text)
    if match is None:
        return frozenset()
    ends = frozenset(english.section("asked")["ends_before"].split())
    phrase = itertools.takewhile(lambda word: word.lower() not in ends, match[1].split())
    return content(stems(" ".join(phrase)))


def _thresholds(text: str) -> tuple[Threshold, ...]:
    found = []
    for sign, years, pattern in english.thresholds():
        for match in pattern.finditer(text):
            number = Decimal(match[1].replace(",", ""))
            if not years or 1000 <= number <= 2200:
                found.append(Threshold(sign, number, years))
    return tuple(found)


def _without_thresholds(text: str) -> str:
    for _, _, pattern in english.thresholds():
        text = pattern.sub(" ", text)
    return text
