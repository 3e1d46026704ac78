"""Names of predicates and entities (thesis, section 4.4 and Table 2).

A column becomes ``has`` and its header in camel case, ``in`` where the header says when (a date, a
year, a quarter), ``hasValue3`` where the third column has no header. The unit that the header states is
left out, on any line: each quantity has its own. Every name is a local name that
Turtle can write without escapes, for any header.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from kgtable.tables.model import Column
from kgtable.values.periods import is_temporal
from kgtable.values.text import normal_form, without_marks
from kgtable.values.unit_phrases import without_unit

LONGEST_NAME: Final = 100
"""Characters of a local name before it is cut and closed with a hash."""

SYMBOLS: Final = {
    "∆": "Delta", "∑": "Sum", "∅": "Average", "⌀": "Average", "√": "Root", "∞": "Infinity",
    "&": "And", "#": "Number", "№": "Number", "@": "At", "‰": "InPermille", "°": "Degree",
    "$": "Dollar", "€": "Euro", "£": "Pound", "¥": "Yen", "₹": "Rupee", "₩": "Won", "₽": "Rouble",
    "₺": "Lira", "₪": "Shekel", "₫": "Dong", "₴": "Hryvnia", "₦": "Naira", "฿": "Baht", "₱": "Peso",
    "¢": "Cent", "₿": "Bitcoin", "+": "Plus", "±": "PlusMinus", "×": "Times", "÷": "DividedBy",
    "=": "Equals", "≠": "NotEqualTo", "≈": "About", "~": "About", "<": "LessThan", ">": "GreaterThan",
    "≤": "AtMost", "≥": "AtLeast", "←": "Left", "→": "Right", "↑": "Up", "↓": "Down",
    "♂": "Male", "♀": "Female", "©": "Copyright", "§": "Section", "⁄": "Over",
}  # fmt: skip
"""How a symbol is spelt; ``%`` is ``InPercent``, or ``Percent`` after a figure or "in" and at the start."""

_GREEK_SYMBOL = re.compile(r"(?<![\u0370-\u03ff])([ΔΣ])(?![\u0370-\u03ff])")
_GREEK_NAMES = {"Δ": " Delta ", "Σ": " Sum "}
_AVERAGE = re.compile(r"(?<!\w)[Øø](?!\w)")
_FOOTNOTE = re.compile(r"(?<!\s)\s*\[(?:\d{1,3}|[a-z]|(?:note|nb)\s*\d*)\]", re.IGNORECASE)
_RANGE = re.compile(r"(?<=\d)\s*[-‐‑‒–—−]\s*(?=\d)")
_MINUS = re.compile(r"(?<![\w)])[-−–](?=\d)")
_PERCENT_AFTER_IN = re.compile(r"(?<![^\W_])(in)\s*%", re.IGNORECASE)
_PERCENT_OF_FIGURE = re.compile(r"(?<=\d)\s?%")
_LEADING_PERCENT = re.compile(r"^[\W_]{0,40}%(?=.*[^\W_])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’ʼ`´](?=[^\W\d_])")
_NAME_START = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_NAME_CHARACTER = re.compile(f"[{_NAME_START}0-9\u0300-\u036f]")
_SLUG_START = re.compile(f"[{_NAME_START}0-9_%]")
_PLAIN_WORDS = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")
_BULLET = re.compile(r"\A(?:\s*[-‐‑‒–—−•·▪●◦‣∙*»›>](?=\s|[^\W\d_]))+\s*(?=\S)")


def predicate_name(path: Sequence[str], index: int) -> str:
    """The local name of a column's predicate from its header texts, the top one first.

    `index` is the column's 0-based position, used (counted from 1) if there is no header.

    >>> predicate_name(["pension"], 1), predicate_name(["1 - 2 years"], 1)
    ('hasPension', 'has1to2Years')
    >>> predicate_name(["12/9/2013"], 1), predicate_name(["Δ in %"], 1), predicate_name([""], 1)
    ('in1292013', 'hasDeltaInPercent', 'hasValue2')
    >>> predicate_name(["2018 £m"], 1), predicate_name(["2018", "£m"], 1), predicate_name(["£m"], 1)
    ('in2018', 'in2018', 'hasPoundM')
    """
    return _local_names(tuple(path))[0] or f"hasValue{index + 1}"


@lru_cache(maxsize=20_000)
def _local_names(path: tuple[str, ...]) -> tuple[str, str]:
    """The name by the header's texts without units, and with them; empty if they hold no letter or figure."""
    bare = tuple(filter(None, map(without_unit, path)))
    temporal = is_temporal(bare)
    whole = _named(path, temporal=temporal)
    return (_named(bare, temporal=temporal) if bare != path else "") or whole, whole


def _named(texts: tuple[str, ...], *, temporal: bool) -> str:
    local = _camel(" ".join(map(without_marks, map(html.unescape, texts))), temporal=temporal)
    return _bounded(("in" if temporal else "has") + local) if local else ""


def predicate_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """The predicate names of a table's columns, unique within it: the second of two equal ones ends in ``_2``.

    >>> predicate_names([Column(0, ("Year",)), Column(1, ("Sales",)), Column(2, ("sales",))])
    ('hasYear', 'hasSales', 'hasSales_2')
    """
    return distinct_names(column_names(columns))


def column_names(columns: Iterable[Column]) -> list[str]:
    """The names of a table's columns; if only units distinguish columns, they are part of the names.

    >>> column_names([Column(0, ("Area (km²)",)), Column(1, ("Area (ha)",)), Column(2, ("Depth (m)",))])
    ['hasAreaKm2', 'hasAreaHa', 'hasDepth']
    """
    named = [(column.index, *_local_names(column.path)) for column in columns]
    wholes: dict[str, set[str]] = {}
    for _, name, whole in named:
        wholes.setdefault(name, set()).add(whole)
    return [(whole if len(wholes[name]) > 1 else name) or f"hasValue{index + 1}" for index, name, whole in named]


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with ``_2``, ``_3``… appended to repeated ones.

    >>> distinct_names(["hasRank", "hasName", "hasRank", "hasRank"])
    ('hasRank', 'hasName', 'hasRank_2', 'hasRank_3')
    """
    used: set[str] = set()
    counts: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        candidate = name
        while candidate in used:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}_{counts[name]}"
        used.add(candidate)
        result.append(candidate)
    return tuple(result)


def base_name(predicate: str) -> str | None:
    """The name a numbered one was made from, None if it stands for itself.

    >>> base_name("hasRank_2"), base_name("hasRank")
    ('hasRank', None)
    """
    match = re.fullmatch(r"(.+)_[1-9]\d{0,3}", predicate)
    return match[1] if match else None


def is_local_name(name: str) -> bool:
    """Whether a text can follow ``ex:`` in Turtle as it is and make a valid IRI.

    >>> is_local_name("hasNetIncome"), is_local_name("has net income"), is_local_name("")
    (True, False, False)
    """
    return (
        0 < len(name) <= 2 * LONGEST_NAME
        and re.fullmatch(f"[{_NAME_START}_][{_NAME_START}0-9_\u0300-\u036f-]*", name) is not None
        and all(c in "_-" or _is_word_character(c) for c in name)
    )


def prefixed(iri: str, prefixes: Mapping[str, str]) -> str:
    """An IRI as ``prefix:name``, by the first namespace that it begins with; as it is where none fits.

    >>> prefixed("http://qudt.org/schema/qudt/hasUnit", {"qudt": "http://qudt.org/schema/qudt/"})
    'qudt:hasUnit'
    """
    for prefix, namespace in prefixes.items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


def slug(text: str) -> str:
    """The local name of the entity a label names: equal labels, equal slug.

    Case, white space, a leading bullet, footnote marks at the end, HTML entities and canonically
    equivalent Unicode make no difference;
    every other difference is kept, what a local name cannot hold as percent-encoded UTF-8. Long texts
    are cut and closed with a hash of the whole.

    >>> slug("Net Income"), slug("- net  income"), slug("R&D"), slug("-5")
    ('net_income', 'net_income', 'r%26d', '%2D5')
    """
    if len(text) <= LONGEST_NAME and _PLAIN_WORDS.fullmatch(text):
        return text.lower().replace(" ", "_")
    text = normal_form("NFC", without_marks(html.unescape(text)))
    text = " ".join(_BULLET.sub("", text).casefold().split())
    text = normal_form("NFC", text)
    encoded = "".join(map(_slug_character, text))
    if encoded and (unicodedata.combining(encoded[0]) or not _SLUG_START.match(encoded)):
        encoded = _percent(encoded[0]) + encoded[1:]
    if len(encoded) > 2 * LONGEST_NAME:
        head = re.sub(r"(?:%[0-9A-F]?)?\Z", "", encoded[: 2 * LONGEST_NAME - 20])
        encoded = f"{head}__{_digest(text, 16)}"
    return encoded or "_"


def _camel(text: str, *, temporal: bool) -> str:
    text = _FOOTNOTE.sub(" ", text)
    text = _GREEK_SYMBOL.sub(lambda match: _GREEK_NAMES[match[1]], text)
    text = _AVERAGE.sub(" Average ", text)
    text = normal_form("NFKC", text.replace("№", "#").replace("´", "'"))
    text = _APOSTROPHE.sub("", text)
    text = _shorten_dates(text)
    if not temporal:
        text = re.sub(r"(?<=\d)/(?=\d)", " Over ", text)
        text = _THOUSANDS.sub("", text)
        text = re.sub(r"(?<=\d)\.(?=\d)", "Point", text)
    text = _RANGE.sub("to", text)
    text = _MINUS.sub(" Minus ", text)
    text = _PERCENT_AFTER_IN.sub(r"\1 Percent ", text)
    text = _PERCENT_OF_FIGURE.sub(" Percent ", text)
    text = _LEADING_PERCENT.sub(" Percent ", text).replace("%", " InPercent ")
    text = "".join(f" {SYMBOLS[c]} " if c in SYMBOLS else c for c in text)
    words = _words(text) or _words(" ".join(unicodedata.name(c, "").title() for c in text if _is_sign(c)))
    return normal_form("NFC", "".join(word[0].title() + word[1:] for word in words))


def _shorten_dates(text: str) -> str:
    text = re.sub(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", r"\1\2\3", text)
    return re.sub(r"(?<!\d)(\d{1,2})[./-](\d{1,2})[./-](\d{2,4})(?!\d)", r"\1\2\3", text)


def _words(text: str) -> list[str]:
    runs = "".join(c if _is_word_character(c) else " " for c in text).split()
    return list(filter(None, map(_without_leading_marks, runs)))


def _without_leading_marks(word: str) -> str:
    first = next((i for i, c in enumerate(word) if unicodedata.category(c)[0] != "M"), len(word))
    return word[first:]


def _is_word_character(character: str) -> bool:
    category = unicodedata.category(character)
    return (category[0] in "LM" or category == "Nd") and _NAME_CHARACTER.match(character) is not None


def _is_sign(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sm", "Sc")


def _slug_character(character: str) -> str:
    if character == " ":
        return "_"
    if character == "-" or _is_word_character(character):
        return character
    return _percent(character)


def _percent(character: str) -> str:
    encoded = quote(character.encode("utf-8", "surrogatepass"), safe="")
    return encoded if encoded[0] == "%" else f"%{ord(character):02X}"


def _bounded(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 11].rstrip()}_x{_digest(name, 8)}"


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
