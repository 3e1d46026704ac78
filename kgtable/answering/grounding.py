"""The grounding check: whether a text states the computed or cited values, and nothing else.

Each number in a text must be a result or occur in a row that a result comes from, with unit, scale, sign
and rounding; each content word must be a result's, a label's, a header's, a title's or the question's.
Every result must be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from kgtable.programs.batch_execution import value_text
from kgtable.programs.dimensions import COUNTS, comparable, conversion, describe
from kgtable.programs.scalars import SCALES, Datum, TimeSpan, duration_seconds, normal, text_of, time_in
from kgtable.questions.english import months, number_words, unit_named
from kgtable.questions.reading import MOST_TOKENS, Question
from kgtable.questions.relation_index import stems_of
from kgtable.values.text import without_accents
from kgtable.values.units import SCALE_WORDS, scale_name


def contains(text: str, part: str) -> bool:
    """Whether `part` is in `text` as whole words."""
    return f" {part} " in f" {text} "


def plain(text: str) -> str:
    """Letters and digits of the text, ignoring case and accents."""
    return " ".join(re.findall(r"\w+", without_accents(without_accents(text).casefold())))


_CODE = r"US\$|(?-i:[A-Z]{3})|[$€£¥]"
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<open>\()?(?P<sign>[-+−–])?\s?(?:(?P<currency>{_CODE})\s?(?P<inner>[-−])?)?"
    r"(?P<digits>\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?(open)\))"
    r"(?:\s?(?P<percent>%|percent\b|per cent\b)"
    r"|[\s-]?(?P<scale>thousand|million|billion|trillion|bn|mn?|tn|k|cent|pence|basis point)s?\b)?"
    r"(?:[\s-]?(?P<unit>[€£¥$]|(?:US )?[^\W\d_]+))?",
    re.IGNORECASE,
)
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "m": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12, "tn": 12,
    "cent": -2, "pence": -2, "basis point": -2,
}  # fmt: skip
_DOLLARS = frozenset(f"CCY_{code}" for code in ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "TWD", "MXN"))
_FALLING = re.compile(
    r"\b(?:decreas|declin|fell|fall|drop|lower|less|fewer|loss|lost|reduc|negative|down|shr[aiu]nk)", re.IGNORECASE
)
_RISING = re.compile(
    r"\b(?:increas|grow|grew|ris(?:e|es|en|ing)\b|rose|gain|higher|more|greater|up\b|climb|improv|surg|jump)",
    re.IGNORECASE,
)
_ROUNDING = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class StatedNumber:
    """A number in an answer: its text, its value as printed, and the smallest step of its digits.

    `power` is the power of ten it names, which a lone letter (`doubtful`) may not mean: 5 m are five
    metres or five million. A number in brackets (`bracketed`) is negative, or an aside. `unit` is the
    QUDT unit it names, percent apart; `unit_text` the word or sign.
    """

    text: str
    value: Fraction
    step: Fraction
    power: int | None = None
    percent: bool = False
    doubtful: bool = False
    bracketed: bool = False
    unit: str | None = None
    unit_text: str = ""


def stated_numbers(text: str) -> Iterator[StatedNumber]:
    """The numbers in a text; digits inside words, such as A380, do not count.

    >>> [(n.text, n.power, n.unit) for n in stated_numbers("A380: $1.5 million, (3) and 12%, 5 kg")]
    [('$1.5 million', 6, 'CCY_USD'), ('(3)', None, None), ('12%', None, None), ('5', None, 'KiloGM')]
    """
    place = 0
    while match := _NUMBER.search(text, place):
        end = match.start("unit") if match["unit"] else match.end()
        place = end = match.start() + len(match.group()[: end - match.start()].rstrip(" -"))
        after = text[end : end + 1]
        if after.isalpha() or (after == "." and text[end + 1 : end + 2].isdigit()):
            place = max(place, match.start() + 1)
            continue
        place = max(place, match.start() + 1)
        digits = match["digits"].replace(",", "")
        negative = match["sign"] in ("-", "−", "–") or bool(match["open"]) or bool(match["inner"])
        value = Fraction(Decimal(digits))
        scale = (match["scale"] or "").lower()
        unit, unit_text = _unit_beside(match)
        yield StatedNumber(
            text[match.start() : end].strip(),
            -value if negative else value,
            Fraction(1, 10 ** len(digits.partition(".")[2])),
            _SCALES.get(scale),
            bool(match["percent"]),
            scale in ("k", "m"),
            bool(match["open"]),
            unit,
            unit_text,
        )


def _unit_beside(match: re.Match[str]) -> tuple[str | None, str]:
    """The unit that a number's currency sign or the word after it names."""
    for group in ("currency", "unit"):
        word = (match[group] or "").strip()
        if word and word.casefold() not in ("us", "in", "a"):
            unit = unit_named("$" if word.upper() == "US$" else word)
            if unit is not None and unit != "PERCENT":
                return unit, word
    return None, ""


def speaks_of_falling(text: str) -> bool:
    """Whether a text describes a fall, so that a negative number in it may lack its sign."""
    return _FALLING.search(text) is not None


def speaks_of_rising(text: str) -> bool:
    """Whether a text describes a rise."""
    return _RISING.search(text) is not None


def agrees(
    stated: StatedNumber, actual: Fraction, *, power: int, unit: str | None = None, unsigned: bool = False
) -> bool:
    """Whether a number in a text is `actual` as a person would write it, rounded to the digits it has.

    Args:
        stated: the number in the text.
        actual: the number with its scale applied.
        power: the power of ten that it is printed with, which may be left out in the text.
        unit: its QUDT unit. A unit in the text must be the same or, except for currencies, convert into it;
            a bare ratio may be given in percent.
        unsigned: whether the minus of a negative number may be put in words.
    """
    if stated.unit is not None and not (stated.unit in _DOLLARS and stated.unit_text == "$" and unit in _DOLLARS):
        if unit in COUNTS or not comparable(unit, stated.unit):
            return False
        multiplier, addend = conversion(unit, stated.unit)
        actual = actual * multiplier + addend
    factors = [] if stated.power is None else [Fraction(10**stated.power)]
    if stated.power is None or stated.doubtful:
        factors += [Fraction(1), Fraction(10**power)]
    if stated.percent:
        if unit != "PERCENT" and unit not in COUNTS:
            return False
        factors = [Fraction(1) if unit == "PERCENT" else Fraction(1, 100)]
    worded = actual < 0 < stated.value and unsigned
    return any(
        _close(stated.value * factor, target, stated.step * factor)
        for factor in dict.fromkeys(factors)
        for target in ((actual, -actual) if worded or stated.bracketed else (actual,))
    )


def _close(stated: Fraction, actual: Fraction, step: Fraction) -> bool:
    """Equal up to rounding to `step`, where rounding leaves most of the number."""
    gap = abs(stated - actual)
    return gap == 0 or (2 * gap <= step and gap <= _ROUNDING * abs(actual))


_YES_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|without|except|nobody|nothing)\b|n['’]t\b", re.IGNORECASE)


def says_truth(text: str) -> bool:
    """Whether a text begins with yes or no."""
    return _YES_NO.match(text) is not None


MOST_SAID = 100
"""Results that are looked for in a text."""


@dataclass(frozen=True)
class Facts:
    """The facts that a text may state.

    `results` are the values that were computed or cited, each of which must be said; `beside` other
    values of their rows; `texts` the labels, headers, titles and constants that belong to them.
    """

    results: Sequence[Datum]
    beside: Sequence[Datum] = ()
    texts: Sequence[str] = ()


@dataclass
class TextCheck:
    """Result of checking a text: why it is not grounded, and what remains open."""

    faults: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def check_text(text: str, facts: Facts, question: str) -> TextCheck:
    """Check a text against the computed or cited values. Never raises for a model's text."""
    found = TextCheck()
    if len(facts.results) > MOST_SAID:
        found.faults.append(f"There are {len(facts.results):,} results, too many to be told.")
        return found
    truths = [datum for datum in facts.results if isinstance(datum.value, bool) and not datum.text]
    if truths:
        _check_truth(text, truths, found)
    rest = _check_words_of_results(text, facts, found)
    _check_numbers(text, _without_clocks(rest, facts), facts, question, found)
    _check_other_words(rest, facts, question, bool(truths), found)
    return found


def _check_truth(text: str, truths: Sequence[Datum], found: TextCheck) -> None:
    said = _YES_NO.match(text)
    actual = all(datum.value for datum in truths)
    if said is None:
        found.faults.append(f"The comparison is {str(actual).lower()}, but the answer says neither yes nor no.")
    elif (said[1].lower() in ("yes", "true")) is not actual:
        found.faults.append(f"The comparison is {str(actual).lower()}, but the answer is {said[1]}.")


def _check_words_of_results(text: str, facts: Facts, found: TextCheck) -> str:
    """Note each result that is a text and is not said; give the text without those that are."""
    rest = text
    wordy = [datum for datum in facts.results if datum.number is None and not isinstance(datum.value, bool)]
    wordy += [datum for datum in facts.results if isinstance(datum.value, bool) and datum.text]
    for datum in sorted(wordy, key=lambda datum: -len(text_of(datum))):
        printed = text_of(datum)
        without = _without(rest, printed)
        if without is not None:
            rest = without
        elif contains(plain(text), plain(normal(printed))) or _says_time(text, datum):
            continue
        elif plain(text) and contains(plain(printed), plain(text)):
            rest = ""
            found.doubts.append("The answer is only a part of the text in the cell.")
        else:
            found.faults.append(f"The result is {printed[:60]!r}, which the answer does not say.")
    return rest


def _without(text: str, part: str) -> str | None:
    """The text with a part of it, as whole words, taken out; None if it is not in it."""
    match = re.search(rf"(?<!\w){re.escape(part.strip())}(?!\w)", text, re.IGNORECASE) if part.strip() else None
    return f"{text[: match.start()]} ; {text[match.end() :]}" if match else None


def _without_clocks(text: str, facts: Facts) -> str:
    """The text without the durations that are results, as a clock shows them or as they are printed."""
    for datum in facts.results:
        if datum.unit == "SEC":
            for part in (datum.text, value_text(datum)):
                text = _without(text, part) or text
    return text


def _says_time(text: str, datum: Datum) -> bool:
    if not isinstance(datum.value, TimeSpan):
        return False
    said = time_in(text)
    return said is not None and (said.start, said.end) == (datum.value.start, datum.value.end)


def _check_numbers(text: str, rest: str, facts: Facts, question: str, found: TextCheck) -> None:
    """Note each number that comes from nowhere, and each result that is a number and is not said."""
    unsigned = speaks_of_falling(text) or (speaks_of_falling(question) and not speaks_of_rising(question))
    words = " ".join((question, *facts.texts))
    stems = frozenset(stems_of(words))
    numbers = [datum for datum in facts.results if datum.number is not None]
    left = list(numbers)
    for stated in (*stated_numbers(rest), *_number_words(rest)):
        known = stated
        if stated.unit is not None and all(datum.unit in COUNTS for datum in numbers):
            named = stems_of(stated.unit_text)
            said = (bool(named) and stems.issuperset(named)) or stated.unit_text in words
            known = replace(stated, unit=None) if said else stated
        met = [datum for datum in numbers if _is_said_by(datum, known, unsigned)]
        left = [datum for datum in left if datum not in met]
        if met or any(_is_said_by(datum, known, unsigned) for datum in facts.beside):
            continue
        if not _stands_in(stated, facts, question if len(left) < len(numbers) or not numbers else ""):
            found.faults.append(_wrong_number(stated, numbers))
    for datum in left if not found.faults else ():
        if not _says_duration(text, datum):
            found.faults.append(f"The result is {_measured(datum)}, which the answer does not say.")


def _stands_in(stated: StatedNumber, facts: Facts, question: str) -> bool:
    """Whether a number is part of a label, header, title, constant or question, or of a resulting date."""
    digits = _digits(stated.text)
    if re.search(rf"(?<![\d.,]){re.escape(digits)}(?![\d]|[.,]\d)", " ; ".join((*facts.texts, question))):
        return True
    times = [datum.value.lexical for datum in facts.results if isinstance(datum.value, TimeSpan)]
    return any(digits.lstrip("0") in re.split(r"\D+0*", lexical) for lexical in times)


def _digits(text: str) -> str:
    return re.sub(r"[^\d.,]", "", text).strip(".,")


def _number_words(text: str) -> Iterator[StatedNumber]:
    """Numbers in words from two on; *one* is too often no number."""
    for token in Question.read(text).tokens:
        value = number_words().get(token.word, 0)
        if value > 1:
            yield StatedNumber(token.text, Fraction(value), Fraction(1))


def _is_said_by(datum: Datum, stated: StatedNumber, unsigned: bool) -> bool:
    number = datum.number
    if number is None:
        return False
    if stated.unit is None and stated.text == datum.text.strip():
        return True
    power = SCALES.get(datum.scale or "ONE", 0)
    return agrees(stated, Fraction(number), power=power, unit=datum.unit, unsigned=unsigned)


def _says_duration(text: str, datum: Datum) -> bool:
    if datum.unit != "SEC" or datum.number is None:
        return False
    return duration_seconds(text.strip()) == datum.number or value_text(datum) in text


def _wrong_number(stated: StatedNumber, numbers: Sequence[Datum]) -> str:
    """Why a number is not grounded: the one result it should be, with its unit, or no result at all."""
    if len(numbers) != 1:
        return f"{stated.text} is neither a result nor in a cited cell."
    beside = stated.unit is None or stated.unit_text in stated.text
    said = stated.text if beside else f"{stated.text} {stated.unit_text}"
    return f"{said} is in no cited cell: the result is {_measured(numbers[0])}."


def _measured(datum: Datum) -> str:
    """A value as it is printed, with scale and the code of its unit, as a model is shown it."""
    scale = scale_name(datum.scale, datum.unit) if datum.text else ""
    unit = "" if datum.unit in (*COUNTS, None, "PERCENT") else describe(datum.unit)
    return " ".join(filter(None, (value_text(datum), scale, unit)))


def _check_other_words(rest: str, facts: Facts, question: str, truth: bool, found: TextCheck) -> None:
    """Note words that neither a result nor what belongs to it nor the question says."""
    asked = Question.read(question)
    known = {token.stem for token in asked.tokens}
    known.update(stem for text in facts.texts for stem in stems_of(text))
    for datum in (*facts.results, *facts.beside):
        if datum.unit is not None:
            known.update(stems_of(f"{describe(datum.unit)} {datum.unit.removeprefix('CCY_')}"))
        if datum.unit == "PERCENT":
            known.update(stems_of("percent percentage points"))
        if isinstance(datum.value, TimeSpan):
            known.update(stems_of(" ".join(months())))
    tokens = Question.read(rest).tokens
    if len(tokens) >= MOST_TOKENS:
        found.faults.append("The answer is too long to be checked.")
        return
    said = _YES_NO.match(rest)
    for token in tokens:
        if token.empty or not token.word[0].isalpha() or token.stem in known or token.word in SCALE_WORDS:
            continue
        if token.word in number_words() or unit_named(token.text) or (said and token.end <= said.end()):
            continue
        if _RISING.match(token.word) or _FALLING.match(token.word):
            continue
        found.faults.append(f"{token.text[:40]!r} is in no cited cell.")
    start = said.end() if truth and said else 0
    if (negation := _NEGATION.search(rest, start)) and not _NEGATION.search(question):
        found.faults.append(f"The answer says {negation[0]!r}, which nothing computed.")
