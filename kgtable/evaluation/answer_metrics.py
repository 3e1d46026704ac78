"""Whether an answer is right, without a model: exact match, containment, token F1, number match.

`exact_match` follows the rules by which WikiTableQuestions compares values: texts are normalised
(accents, quotes, dashes, footnotes, trailing detail in brackets), numbers compare as numbers and
dates as dates, and lists compare as sets without regard to order.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

QUOTES = str.maketrans({"‘": "'", "’": "'", "´": "'", "`": "'", "“": '"', "”": '"'})
DASHES = re.compile("[‐‑‒–—−]")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?")
PRINTED = re.compile(
    r"^[^\w.+-]*([-+]?)[^\w.+-]*((?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)\D*$", re.IGNORECASE
)
DATE = re.compile(r"^(\d{4}|xx(?:xx)?)-(\d{1,2}|xx)-(\d{1,2}|xx)$", re.IGNORECASE)
LONGEST = 100
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
        text = re.sub(r"(?<!^)(\s*\([^()]*\))*$", "", text.strip())
        text = re.sub(r'^"([^"]*)"$', r"\1", text.strip())
        if text == before:
            break
    return re.sub(r"\s+", " ", text.rstrip(".")).strip().casefold()


def number_of(text: str) -> Decimal | None:
    """The number a text is, if it is one and nothing else.

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


def same_value(answer: str, gold: str) -> bool:
    """Whether two single values are equal: as text, as numbers, or as dates."""
    if normalized(answer) == normalized(gold):
        return True
    left, right = number_of(answer), number_of(gold)
    if left is not None and right is not None:
        return abs(left - right) < TOLERANCE
    first, second = _date(answer), _date(gold)
    return first is not None and first == second


def exact_match(answers: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether the two lists hold the same values, each matched once, in any order.

    >>> exact_match(["2", "Norway"], ["norway", "2.0"])
    True
    """
    distinct = _distinct(answers)
    wanted = _distinct(gold)
    if not wanted or len(distinct) != len(wanted):
        return False
    return all(any(same_value(answer, value) for answer in distinct) for value in wanted)


def contained(answer: str, gold: Sequence[str]) -> bool:
    """Whether every gold value stands in the answer as words of its own."""
    text = f" {_tokens_text(answer)} "
    return bool(gold) and all(f" {_tokens_text(value)} " in text for value in gold)


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """The F1 of the answer's tokens against those of the gold values, articles and punctuation aside.

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
    """Whether a printed number equals the gold number once scale, percent and rounding are allowed for.

    `scale` is the gold's scale word (``thousand``, ``million``, ``billion``, ``percent``). The answer
    may be written out in full or in the scale, a percentage as such or as a fraction; it may be
    rounded, but not more coarsely than the gold or than three significant digits.
    """
    left, right = _printed(answer), number_of(gold.strip().lstrip("$€£").rstrip("%"))
    if left is None or right is None:
        return False
    candidates = {right, right.scaleb(SCALES.get(scale, 0))}
    if "%" in answer or "%" in gold or scale == "percent":
        candidates |= {right * 100, right / 100}
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


def _date(text: str) -> tuple[str, ...] | None:
    found = DATE.match(text.strip())
    return tuple(part.lower().lstrip("0") for part in found.groups()) if found else None


def _distinct(values: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for value in values:
        if not any(same_value(value, other) for other in kept):
            kept.append(value)
    return kept


def _tokens_text(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", normalized(text))
    text = "".join(" " if c in string.punctuation and c not in ".-" else c for c in text)
    return " ".join(word.strip(".") for word in ARTICLES.sub(" ", text).split())
