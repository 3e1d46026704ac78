"""Metrics that compare an answer with the gold without a model: exact match, containment, token F1, numbers.

`exact_match` follows the rules of WikiTableQuestions' evaluator: texts are normalised (accents, quotes,
dashes, footnotes, trailing detail in brackets), numbers compare as numbers and dates as dates, and lists
compare as sets. One difference: that evaluator normalises its gold with CoreNLP; here only the thousands
separators of the gold are removed.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

QUOTES = str.maketrans({"‘": "'", "’": "'", "´": "'", "`": "'", "“": '"', "”": '"'})
DASHES = re.compile("[‐‑‒–—−]")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?")
PRINTED = re.compile(
    r"^[^\w.+-]*([-+]?)[^\w.+-]*((?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)\D*$", re.IGNORECASE
)
DATE = re.compile(r"^(\s*\d+\s*|xx(?:xx)?)-(\s*\d+\s*|xx)-(\s*\d+\s*|xx)$")
GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
LONGEST = 100
LARGEST_EXPONENT = 300
TOLERANCE = Decimal("1e-6")
ARTICLES = re.compile(r"\b(a|an|the)\b")
SCALES = {"": 0, "percent": 0, "thousand": 3, "million": 6, "billion": 9}


def normalized(text: str) -> str:
    """The text in WikiTableQuestions' normal form.

    >>> normalized("“Café – Live” (1999 version)[3]")
    'cafe - live'
    """
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    text = DASHES.sub("-", text.translate(QUOTES))
    while True:
        before = text
        text = re.sub(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$", "", text.strip())
        text = re.sub(r"(?<!^)( \([^)]*\))*$", "", text.strip())
        text = re.sub(r'^"([^"]*)"$', r"\1", text.strip())
        if text == before:
            break
    return re.sub(r"\s+", " ", text.removesuffix(".")).strip().lower()


def number_of(text: str) -> Decimal | None:
    """The value of a text that is a single number, else None.

    >>> number_of("1,234.50")
    Decimal('1234.50')
    """
    plain = normalized(text).replace(",", "")
    if not NUMBER.fullmatch(plain):
        return None
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 400 else None


def exact_match(answers: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether two lists hold the same values in any order, each matched once.

    >>> exact_match(["2", "Norway"], ["norway", "2.0"])
    True
    """
    found = _distinct(map(_value, answers))
    wanted = _distinct(_value(_without_separators(value), value) for value in gold)
    if not wanted or len(found) != len(wanted):
        return False
    return all(any(_same(value, other) for other in found) for value in wanted)


def contained(answer: str, gold: Sequence[str]) -> bool:
    """Whether every gold value occurs in the answer as whole words."""
    text = f" {_tokens_text(answer)} "
    return bool(gold) and all(f" {_tokens_text(value)} " in text for value in gold)


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """Token F1 of the answer against the gold values, without articles and punctuation.

    >>> round(token_f1("the red car", ["red bus"]), 2)
    0.5
    """
    found, wanted = Counter(_tokens_text(answer).split()), Counter(_tokens_text(" ".join(gold)).split())
    shared = sum((found & wanted).values())
    if not shared:
        return float(not found and not wanted)
    precision, recall = shared / sum(found.values()), shared / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)


def numbers_match(answer: str, gold: str, scale: str = "") -> bool:
    """Whether a printed number equals the gold number up to scale, percent and rounding.

    `scale` is the gold's scale word (``thousand``, ``million``, ``billion``, ``percent``). The answer
    may be written out in full or in the scale, a percentage as such or as a fraction; it may be
    rounded, but not more coarsely than the gold or than three significant digits.
    """
    left, right = _printed(answer), number_of(gold.strip().lstrip("$€£").rstrip("%"))
    if left is None or right is None:
        return False
    candidates = {right, right.scaleb(SCALES.get(scale, 0))}
    if "%" in answer or "%" in gold or scale == "percent":
        candidates |= {right.scaleb(2), right.scaleb(-2)}
    return any(_rounds_to(left, value) for value in candidates)


def _rounds_to(printed: Decimal, value: Decimal) -> bool:
    if abs(printed - value) < TOLERANCE:
        return True
    digits = max(3, min(_digits(printed), _digits(value)))
    step = Decimal(1).scaleb(max(printed.adjusted(), value.adjusted()) - digits + 1)
    return abs(printed - value) <= step / 2


def _digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)


def _printed(text: str) -> Decimal | None:
    negative = text.strip().startswith("(") and text.strip().endswith(")")
    found = PRINTED.match(DASHES.sub("-", text.strip().strip("()"))) if len(text) <= LONGEST else None
    if not found:
        return None
    value = number_of(found[1] + found[2])
    return -value if negative and value is not None else value


AnswerValue: TypeAlias = tuple[str, Decimal | tuple[int, int, int] | None]
"""The normal form of a text, and the number or date (year, month, day; -1: not known) it is read as."""


def _value(text: str, printed: str | None = None) -> AnswerValue:
    """Parse a single value; `printed` is the original text if `text` was normalised."""
    form = normalized(text if printed is None else printed)
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) < LARGEST_EXPONENT:
            return form, number
    date = _date(text)
    if date is not None and date[1:] == (-1, -1):
        return form, Decimal(date[0])
    return form, date


def _same(one: AnswerValue, other: AnswerValue) -> bool:
    if one[0] == other[0]:
        return True
    if isinstance(one[1], Decimal) and isinstance(other[1], Decimal):
        return abs(one[1] - other[1]) < TOLERANCE
    return one[1] is not None and one[1] == other[1]


def _date(text: str) -> tuple[int, int, int] | None:
    found = DATE.match(text.lower())
    if found is None:
        return None
    year, month, day = (-1 if part.startswith("x") else int(part) for part in found.groups())
    possible = month in (-1, *range(1, 13)) and day in (-1, *range(1, 32))
    return (year, month, day) if possible and (year, month, day) != (-1, -1, -1) else None


def _without_separators(text: str) -> str:
    return text.replace(",", "") if GROUPED.fullmatch(text.strip()) else text


def _distinct(values: Iterable[AnswerValue]) -> list[AnswerValue]:
    """Remove duplicates: equal numbers, equal dates, texts with the same normal form."""
    kept: dict[object, AnswerValue] = {}
    for value in values:
        kept.setdefault(_amount(value[1]) if isinstance(value[1], Decimal) else value[1] or value[0], value)
    return list(kept.values())


def _amount(number: Decimal) -> Decimal | float:
    """The number, rounded to an integer if it is one up to floating-point error."""
    whole = number.to_integral_value()
    return whole if abs(number - whole) < TOLERANCE else float(number)


def _tokens_text(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", normalized(text))
    text = "".join(" " if c in string.punctuation and c not in ".-" else c for c in text)
    return " ".join(word.strip(".") for word in ARTICLES.sub(" ", text).split())
