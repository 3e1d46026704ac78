"""The form of a question: what is to be done with the cells it means."""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from kgtable.index.words import stem
from kgtable.resources import PACKAGE

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_FIGURE = r"(\d[\d,]*(?:\.\d+)?)"
NUMBER = rf"({_FIGURE[1:-1]}|(?:{'|'.join(WORDS)})\b)"


_SPREAD = frozenset({"opening", "selection"})


@cache
def section(name: str) -> Any:
    """A table of the file."""
    path = PACKAGE / "answering" / "offline" / "english.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))[name]


@cache
def words(kind: str) -> tuple[str, ...]:
    """A list of words: ``stop``, ``person``, ``place`` or ``time``."""
    return tuple(section("words")[kind].split())


@cache
def ordinals() -> tuple[str, ...]:
    """The ordinal numbers in words, from the first."""
    return tuple(section("ordinals")["words"].split())


@cache
def explained(rule: str) -> str:
    """The words that a rule gives their meaning, so that no cell need say them."""
    return f"{section('explained')['always']} {section('explained').get(rule, '')}"


@cache
def any_of(*names: str) -> re.Pattern[str]:
    """Any of the adjectives of these kinds, such as ``most`` or ``earlier``, as whole words."""
    return pattern(rf"\b(?:{'|'.join(section('extremes')[name] for name in names)})\b")


@cache
def asked(name: str) -> re.Pattern[str]:
    """A pattern of the section `asked`; those of `_SPREAD` are spread over lines."""
    text = _with_numbers(_with_extremes(section("asked")[name]))
    return re.compile(text, re.IGNORECASE | (re.VERBOSE if name in _SPREAD else 0))


@cache
def english_forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The name of a form and a pattern by which to know it, in the order in which they are tried."""
    return tuple((name, pattern(text)) for name, text in _form_patterns())


@cache
def thresholds() -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    """Sign, whether it is about years, and pattern of each way to say a threshold."""
    return tuple(
        (
            entry["sign"],
            entry.get("years", False),
            pattern(_with_numbers(_with_extremes(text))),
        )
        for entry in section("thresholds")
        for text in entry["patterns"]
    )


@cache
def english_wants() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """What is asked for (``time``, ``person``, …) and the pattern that tells so."""
    return tuple((name, pattern(text)) for name, text in section("wants").items())


def pattern(text: str) -> re.Pattern[str]:
    """The pattern, blind to case."""
    return re.compile(text, re.IGNORECASE)


def _form_patterns() -> Iterator[tuple[str, str]]:
    for entry in section("forms"):
        for text in entry["patterns"]:
            yield entry["form"], _with_extremes(text)


def _with_numbers(text: str) -> str:
    ordinal = rf"{'|'.join(ordinals())}|\d+(?:st|nd|rd|th)"
    return text.replace("#", NUMBER).replace("@", _FIGURE).replace("{ordinal}", ordinal)


def _with_extremes(text: str) -> str:
    for name, found in section("extremes").items():
        text = text.replace(f"{{{name}}}", found)
    return text


_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][a-z]+)?")
_MARKS = re.compile(r"\[[^\[\]]{1,12}\]")
STOPWORDS = frozenset(words("stop"))


@lru_cache(maxsize=200_000)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text, folded and stemmed, in order; numbers without their separators.

    >>> stems("Café openings (1,200)[3]")
    ('cafe', 'open', '1200')
    """
    folded = unicodedata.normalize("NFKD", _MARKS.sub(" ", text)).casefold()
    plain = "".join(sign for sign in folded if not unicodedata.combining(sign))
    return tuple(_stem(word) for word in _WORD.findall(plain))


def spoken(text: str) -> dict[str, str]:
    """The words of a text as they stand in it, by their stems.

    >>> spoken("Planets of Mars")["planet"]
    'Planets'
    """
    return {stem: word for word in reversed(_WORD.findall(text)) for stem in stems(word)}


def content(words: tuple[str, ...]) -> frozenset[str]:
    """The words that carry meaning.

    >>> sorted(content(stems("What is the total of all ships?")))
    ['ship', 'total']
    """
    return frozenset(words) - _stemmed_stopwords()


@cache
def _stemmed_stopwords() -> frozenset[str]:
    return STOPWORDS | frozenset(_stem(word) for word in STOPWORDS)


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    word = re.sub(r"['’][a-z]*$", "", word)
    return stem(word)


class QuestionForm(StrEnum):
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
    GROUPS = "groups"
    LIST = "list"
    YES_NO = "yes or no"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition on numbers, such as more than 5; `sign` is one of ``> >= < <= ==``.

    ``==`` is that of a place among others, such as *finished third*. `years` tells that it is one on
    years, `said` is how the question puts it.
    """

    sign: str
    number: Decimal
    years: bool = False
    said: str = ""

    def holds(self, number: Decimal) -> bool:
        """Whether `number` meets the condition."""
        return {
            ">": number > self.number,
            ">=": number >= self.number,
            "<": number < self.number,
            "<=": number <= self.number,
            "==": number == self.number,
        }[self.sign]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question taken apart; `other_forms` are those that it may have besides `form`.

    `focus` are the words of what is asked for (which *team*, how many *gold medals*), `direction` is
    +1 for the most, the next, the last and -1 for the opposite, `ordered` whether an extreme is one of
    order or time (first, latest) instead of size, `place` is 2 for the second of it. `wants` is ``number``,
    ``time``, ``person`` or ``place``.
    """

    text: str
    form: QuestionForm
    words: tuple[str, ...]
    focus: frozenset[str]
    direction: int = 1
    ordered: bool = False
    wants: str = ""
    thresholds: tuple[Threshold, ...] = ()
    place: int = 1
    several: bool = False
    other_forms: tuple[QuestionForm, ...] = ()

    @property
    def negated(self) -> bool:
        """Whether the question asks for what is not so."""
        return asked("not").search(_without_thresholds(self.text)) is not None

    @property
    def hinted(self) -> frozenset[str]:
        """The words of headers, such as *height*, to which its adjectives, such as *tall*, hint."""
        return frozenset(word for _, headers in self._hints() for word in headers)

    def adjectives(self, headers: frozenset[str]) -> frozenset[str]:
        """Its adjectives that one of the words of headers answers to."""
        return frozenset(word for words, hinted in self._hints() if hinted & headers for word in words)

    def _hints(self) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        for adjectives, hinted in section("hints").items():
            said = pattern(rf"\b(?:{adjectives})\w*").findall(self.text)
            if said:
                yield frozenset(stems(" ".join(said))), frozenset(stems(hinted))

    @property
    def selection(self) -> str:
        """The words between its opening and its conditions, which name what is to be told."""
        match = asked("selection").search(self.text)
        if match is None:
            return ""
        end = asked("selection_ends").search(match[1])
        told = match[1] if end is None else match[1][: end.start()]
        extreme = any_of("most", "least").search(told)
        if extreme is not None and told[: extreme.start()].lower().strip(" ,") not in _NOTHING_BEFORE:
            told = told[: extreme.start()]
        ends = frozenset(section("asked")["ends_before"].split()) - _WITHIN_A_SELECTION
        return " ".join(itertools.takewhile(lambda word: word.lower() not in ends, told.split()))

    @property
    def first_several(self) -> int:
        """How many of an extreme are asked for: 3 for the top three, else 1."""
        match = asked("first_several").search(_without_thresholds(self.text))
        found = None if match is None else next(filter(None, match.groups()), None)
        number = 1 if found is None else int(_number(found))
        return number if 1 < number <= _MOST_OF_AN_EXTREME else 1

    @property
    def several_words(self) -> frozenset[str]:
        """The words by which it says how many of an extreme it asks for."""
        match = asked("first_several").search(_without_thresholds(self.text))
        return frozenset() if match is None or self.first_several == 1 else frozenset(stems(match.group()))

    @property
    def grouping(self) -> str:
        """The words after *each*, *every* or *per*, which name what rows are to be grouped by."""
        match = asked("group").search(self.text)
        return "" if match is None else match[1]

    @property
    def ordering(self) -> str:
        """The words that name what the rows are to be sorted by."""
        match = asked("order").search(self.text)
        return "" if match is None else match[1]

    @property
    def enumerates(self) -> bool:
        """Whether it names several things side by side."""
        return _SIDE_BY_SIDE.search(self.text) is not None

    @property
    def size_thresholds(self) -> tuple[Threshold, ...]:
        """Its conditions on sizes: neither on years nor on places among others."""
        return tuple(found for found in self.thresholds if not found.years and found.sign != "==")

    @property
    def placed(self) -> bool:
        """Whether it asks for a place among others, such as *finished third*."""
        return any(found.sign == "==" for found in self.thresholds)

    @property
    def threshold_words(self) -> frozenset[str]:
        """The words by which its thresholds are told."""
        said = [found.said for found in self.thresholds]
        said += [found.group() for found in asked("beside_average").finditer(self.text)]
        return content(stems(" ".join(said)))

    @property
    def years(self) -> tuple[str, ...]:
        """The years that the question names, in its order; those of a span are all named."""
        found: list[str] = []
        over = _FROM_TO.search(self.text) if self.form in (QuestionForm.SUM, QuestionForm.AVERAGE) else None
        begin = int(over[1] or over[2]) if over is not None else 0
        if over is not None and 0 < int(over[3]) - begin <= _LONGEST_SPAN:
            found += [str(year) for year in range(begin, int(over[3]) + 1)]
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
_SIDE_BY_SIDE = re.compile(r"\b(?:and|or)\b|,\s|&", re.IGNORECASE)
_FROM_TO = re.compile(
    r"\b(?:(?:from|between)\s+(?:\w+\s+)?((?:19|20)\d\d)\s+and|((?:19|20)\d\d)\s+(?:to|through|until))"
    r"\s+((?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NEVER_FIRST = frozenset({QuestionForm.GROUPS, QuestionForm.LIST})
"""The forms that a question has besides another."""

_MOST_OF_AN_EXTREME = 20
_NOTHING_BEFORE = ("", "the", "a")
_WITHIN_A_SELECTION = frozenset(("and", "as", "the", "a", "an", "of"))
_SCALE = re.compile(r"\s?(thousand|million|billion)s?\b", re.IGNORECASE)
_POWERS = {"thousand": 3, "million": 6, "billion": 9}
_NO_ORDER = re.compile(r"\bfirst (?:place|name)|last name", re.IGNORECASE)


def read_question(text: str) -> AskedQuestion:
    """The question's form and parts.

    >>> read_question("Which team won the most games after 2010?").form
    <QuestionForm.EXTREME: 'extreme'>
    """
    plain = " ".join(text.split())
    thresholds = _thresholds(plain)
    beside_average = asked("beside_average")
    bare = beside_average.sub(" ", _without_thresholds(plain) if thresholds else plain)
    forms = tuple(
        dict.fromkeys(QuestionForm(name) for name, pattern in english_forms() if pattern.search(bare))
    )
    wants = next((name for name, pattern in english_wants() if pattern.search(plain)), "")
    if wants == "time" and thresholds and QuestionForm.WHEN not in forms:
        forms = (*forms, QuestionForm.WHEN)
    if not forms and beside_average.search(plain):
        forms = (QuestionForm.LIST,)
    if thresholds and QuestionForm.GROUPS not in forms:
        forms = (*forms, QuestionForm.GROUPS)
    if thresholds and wants == "number" and forms and forms[0] == QuestionForm.EXTREME:
        forms = tuple(dict.fromkeys([QuestionForm.COUNT, *forms]))
    if forms and forms[0] in _NEVER_FIRST:
        forms = (QuestionForm.LOOKUP, *forms)
    ordered = any_of("last", "first").search(bare) is not None
    downwards = any_of("smaller", "least", *(["first"] if ordered else []))
    return AskedQuestion(
        plain,
        forms[0] if forms else QuestionForm.LOOKUP,
        stems(plain),
        _focus(plain),
        -1 if downwards.search(bare) else 1,
        ordered and not _NO_ORDER.search(bare),
        "" if wants == "named" else wants,
        thresholds,
        _place(bare),
        asked("several").search(plain) is not None,
        forms[1:],
    )


def _place(text: str) -> int:
    """Which one of an extreme is asked for: 2 for the second highest."""
    match = asked("place").search(text)
    return 1 if match is None else 1 + (match.lastindex or 0)


def _focus(text: str) -> frozenset[str]:
    match = asked("opening").search(text)
    if match is None:
        return frozenset()
    ends = frozenset(section("asked")["ends_before"].split())
    phrase = itertools.takewhile(lambda word: word.lower() not in ends, match[1].split())
    return content(stems(" ".join(phrase)))


def _thresholds(text: str) -> tuple[Threshold, ...]:
    found = []
    for sign, years, pattern in thresholds():
        for match in pattern.finditer(text):
            number = _number(match[1])
            said, scale = match.group(), None if years else _SCALE.match(text, match.end(1))
            if scale is not None:
                number = number.scaleb(_POWERS[scale[1].lower()])
                said += scale.group()
            if not years or 1000 <= number <= 2200:
                found.append(Threshold(sign, number, years, said))
    for match in asked("finished").finditer(text):
        ordinal = next(filter(None, match.groups())).lower()
        known = ordinals()
        place = known.index(ordinal) + 1 if ordinal in known else int(ordinal[:-2])
        found.append(Threshold("==", Decimal(place), said=match.group()))
    return tuple(found)


def _number(text: str) -> Decimal:
    if text.lower() in WORDS:
        return Decimal(1 + WORDS.index(text.lower()))
    return Decimal(text.replace(",", ""))


def _without_thresholds(text: str) -> str:
    for _, _, pattern in thresholds():
        text = pattern.sub(" ", text)
    return asked("finished").sub(" ", text)
