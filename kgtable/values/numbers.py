"""Printed numbers: separators, signs, exponents, fractions, currencies, scales, units, footnote marks.

All patterns are linear: at each position one alternative at most can go on.

A cell is a number only if all of its text is understood as one; anything else stays text. The time
taken is linear in the length of the text, and longer texts than `LONGEST` are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from kgtable.values.decimals import scaled
from kgtable.values.text import text_cache
from kgtable.values.units import (
    ATTACHED_SCALES,
    BASIS_POINTS,
    CENTS,
    CURRENCY_SCALES,
    KRONER,
    PLAIN_SCALES,
    SCALE_WORDS,
    WORDS,
    currency_names,
    currency_prefix,
    currency_unit,
    find_printed_unit,
)

_DASHES = ("-", "–", "—", "―", "−")
_MARKER_WORDS = (
    "n/a N/A n/a. N/a n.a. N.A. n.a N.A n/d N/D n.d. #N/A #VALUE! #REF! #DIV/0! NA NaN nan NULL null nm NM"
    " n.m. N.M. n/m N/M NMF nmf nil Nil NIL k.A. k.a. n.v. o.A. N.A.V. : (:) % . .. ... .... … ? ?? ??? * -- --- ---- –– —— -) (-) (–) (—)"  # noqa: E501
)
MISSING_MARKERS = frozenset(
    {
        *_MARKER_WORDS.split(),
        *("k. A.", "n. v.", "o. A."),
        *("- -", "— —", ". .", ". . .", "- )", "(- )", "( - )", "$ -0-"),
        *(dash + mark for dash in _DASHES for mark in ("", "*", "%", " %")),
        *(sign + space + dash for sign in "$£€¥" for space in ("", " ") for dash in _DASHES),
    }
)
"""Texts that say that a value is missing."""

LARGEST_EXPONENT = 308
"""Powers of ten beyond this are not taken for numbers."""

MOST_PLAIN_DIGITS = 18
"""A longer run of digits without separators is an identifier."""

FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip
_FRACTION_SIGNS = "".join(FRACTIONS)

_POINT = re.compile(
    r"""(?:
        (?P<dotted>
            \d{1,3}(?:\.\d{3})+,\d+ | \d{1,3}(?:\.\d{3}){2,}(?!\d) | \d{1,3}(?:[ ]\d{3})+,\d{1,2}(?!\d)
        )
      | (?P<grouped>
            \d{1,3}(?:,\d{3})+(?!\d) | \d{1,2}(?:,\d{2})+,\d{3}(?!\d)
          | \d{1,3}(?:[ ]\d{3})+(?!\d) | \d{1,3}(?:['’]\d{3})+(?!\d)
        )(?:\.\d+)?
      | (?P<plain>\d+)(?:\.\d+)?
      | \.\d+
    )""",
    re.VERBOSE,
)
_COMMA = re.compile(
    r"""(?:
        (?P<grouped>\d{1,3}(?:\.\d{3})+(?!\d) | \d{1,3}(?:[ ]\d{3})+(?!\d) | \d{1,3}(?:['’]\d{3})+(?!\d))
        (?:,\d+)?
      | (?P<plain>\d+)(?:,\d+)?
    )""",
    re.VERBOSE,
)
_EXPONENT = re.compile(
    r"[eE]([+-]?\d{1,4})(?![\w.])|\s?[x×·*]\s?10(?:\^?([+-]?\d{1,4})|([⁺⁻]?[⁰¹²³⁴-⁹]{1,4}))(?![\w.])"
)
_FRACTION = re.compile(rf"[ ]?([{_FRACTION_SIGNS}])|[ ](\d{{1,2}})/(\d{{1,3}})(?![\d/])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


class Digits(NamedTuple):
    """An unsigned number: its value, whether that is exact, where it ends, whether it is a bare integer."""

    value: Decimal
    end: int
    exact: bool = True
    bare: bool = False


def read_digits(
    text: str, start: int, decimal_comma: bool = False, most_plain: int = MOST_PLAIN_DIGITS
) -> Digits | None:
    """The unsigned number that begins at `start`, or None.

    Zero-padded integers (``007``) and runs of more than `most_plain` digits are identifiers: None.

    >>> read_digits("1,234.5 kg", 0).value
    Decimal('1234.5')
    >>> read_digits("3 ¾", 0).value
    Decimal('3.75')
    >>> read_digits("1.234,5", 0, decimal_comma=True).value
    Decimal('1234.5')
    """
    match = (_COMMA if decimal_comma else _POINT).match(text, start)
    if match is None:
        fraction = _FRACTION.match(text, start)
        if fraction is None or fraction[1] is None:
            return None
        return _add_fraction(Decimal(0), *FRACTIONS[fraction[1]], fraction.end())
    printed = match[0]
    plain = match["plain"]
    if plain is not None and (len(plain) > most_plain or (plain[0] == "0" and len(plain) > 1)):
        return None
    if not decimal_comma and match["dotted"]:
        digits = _without(printed, " .").replace(",", ".")
    elif decimal_comma:
        digits = _without(printed, " '’.").replace(",", ".")
    else:
        digits = _without(printed, " '’,")
    value, end = Decimal(digits), match.end()
    if plain == printed or (not decimal_comma and match["grouped"] == printed):
        fraction = _FRACTION.match(text, end)
        if fraction is not None:
            above, below = FRACTIONS.get(fraction[1]) or (int(fraction[2]), int(fraction[3]))
            if 0 < above < below:
                return _add_fraction(value, above, below, fraction.end())
    return _with_exponent(text, value, end, bare=plain == printed)


def _with_exponent(text: str, value: Decimal, end: int, bare: bool) -> Digits | None:
    exponent = _EXPONENT.match(text, end)
    if exponent is None:
        if value == 10 and bare and text[end : end + 1] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻" and text[end:]:
            return _power_of_ten(text, end)
        return Digits(value, end, bare=bare)
    power = int(exponent[1] or exponent[2] or exponent[3].translate(_SUPERSCRIPTS))
    if abs(power) > LARGEST_EXPONENT:
        return None
    return Digits(scaled(value, power), exponent.end())


def _power_of_ten(text: str, start: int) -> Digits | None:
    end = start
    while end < len(text) and text[end] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
        end += 1
    try:
        power = int(text[start:end].translate(_SUPERSCRIPTS))
    except ValueError:
        return None
    return Digits(scaled(Decimal(1), power), end) if abs(power) <= LARGEST_EXPONENT else None


def _add_fraction(whole: Decimal, above: int, below: int, end: int) -> Digits:
    value = whole + Decimal(above) / Decimal(below)
    numerator, denominator = value.as_integer_ratio()
    exact = numerator * below == denominator * (int(whole) * below + above)
    return Digits(value, end, exact=exact)


def _without(text: str, characters: str) -> str:
    for character in characters:
        text = text.replace(character, "")
    return text


LONGEST = 120
"""Cells with more characters than this are never numbers."""


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """Number format of a column, where a single cell leaves it open.

    `decimal_comma`: ``1.234`` is 1234. `ranges`: ``1–2`` is a range (in a column of scores it is
    not). `numbered_marks`: a trailing ``(1)`` is a footnote mark. `letter_marks`: so is a trailing
    letter, as in the ``12.3E`` of statistics offices. `long_integers`: runs of more than 18 digits are
    numbers and no identifiers. `converted`: ``10.7 (51.3)`` is a number and the same in another unit.
    `trailing_minus`: ``12.50-`` is a number below zero. `letters` are those after figures whose unit and
    power of ten a note or the neighbouring cells explain. `whole_ringgit`: ``RM 9`` is an amount.
    """

    decimal_comma: bool = False
    ranges: bool = True
    numbered_marks: bool = False
    letter_marks: bool = False
    long_integers: bool = False
    converted: bool = False
    trailing_minus: bool = False
    letters: tuple[tuple[str, str | None, int], ...] = ()
    whole_ringgit: bool = False


class Number(NamedTuple):
    """A printed number.

    `value` is the number as printed, with its sign, before any scale (``12.5%`` → 12.5, ``$1.2bn``
    → 1.2); `upper` the other end of a range. `unit` is a QUDT local name where the cell itself names
    one, `scale` the power of ten it names. `signed` is the printed number with explicit sign.
    """

    value: Decimal
    upper: Decimal | None = None
    unit: str | None = None
    scale: int = 0
    approximate: bool = False
    marks: tuple[str, ...] = ()
    signed: str = ""


DEFAULT_STYLE = NumberStyle()
_SIMPLE = re.compile(
    r"(\$ ?)?(?:(-)|(\( ?))?((?:0|[1-9][0-9]{0,17}|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?)( ?\))?( ?%)?"
)
_LETTERS = re.compile(r"[A-Za-zł]+\.?(?:[A-Za-z]\.)*")
FIRST_LETTERS = re.compile(r"[A-Za-z]+")
"""The ASCII letters that a text begins with."""
_HAS_DIGIT = re.compile(r"[0-9½⅓⅔¼¾⅕-⅞]")
_NORMAL = str.maketrans(
    {
        **dict.fromkeys(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)), " "),
        **dict.fromkeys("\t\n\r", " "),
        **dict.fromkeys("\u200b\u200e\u200f\u2060\ufeff\u00ad", ""),
        **dict.fromkeys("−‐‑‒﹣－", "-"),
        "（": "(", "）": ")", "％": "%", "＋": "+", "∼": "~", "～": "~", "≈": "~",
    }
)  # fmt: skip
_APPROXIMATE = re.compile(
    r"(?:~|[<>]=?|[≤≥]|(?:c\.|ca\.|circa|about|around|approx\.|approx|approximately|est\.)(?=[ \d$€£(]))",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"(?:\[[^\[\]]{1,20}\]|[*†‡§¶#^=]|(?<=^\d)\.|(?<=^\d\d)\."
    r"|(?<=[\d)%])[¹²³⁴-⁹⁰ᵃ-ᶻ]|(?<=[\d)%]) ?\([a-z]\)| \( [a-z] \))$"
)
_FIGURES = frozenset("0123456789")
_NUMBERED_MARK = re.compile(r"(?<=[\d)%]) ?\( ?\d{1,2} ?\)$")
_LETTER_MARK = re.compile(r"(?<=\d) ?[A-Za-z]$|(?<=\d) [a-z]{2}$")
_DOUBLED = re.compile(r"([^()]*)\( ?([^()]*?) ?\)( ?%)?")
_POINT_ONLY = re.compile(r"^[^,.]*\d\.(?:\d{1,2}|\d{4,})(?!\d)[^,.]*$")
_EMPTY_DOUBLE = re.compile(r" ?\( ?% ?\)$")
_RANGE = re.compile(r" ?[-–—] ?| to ")
_CONVERTED = re.compile(r" ?\(([^()]{2,40})\)$")
_NUMBER_AND_CONVERSION = re.compile(r"([^()]{1,20}?) ?\([-+]?\d[\d.,]*\)")
_WHOLE_SIGN = re.compile(r"(?<=\d)[.,](?:-{1,2}|[–—])(?!\d)")
"""What stands for no cents after an amount: ``CHF 12.–``, ``500,- €``."""
_TRAILING_MINUS = re.compile(r"[^-–—]*\d-")
_KRONE = re.compile(r"[Kk]r\.?(?= ?\d)")
_PHONE = re.compile(r"\d{3}-\d{4}")


def parse_number(text: str, style: NumberStyle = DEFAULT_STYLE) -> Number | None:
    """The number a cell prints, or None if the text is not wholly a number.

    >>> parse_number("(1,234.5)").value
    Decimal('-1234.5')
    >>> parse_number("$ 1.2bn")[:4]
    (Decimal('1.2'), None, 'CCY_USD', 9)
    >>> parse_number("12[3]").marks
    ('[3]',)
    >>> parse_number("12 monkeys") is None
    True
    """
    if not style.decimal_comma and (number := parse_simple(text)):
        return number
    return parse_elaborate(text, style)


def parse_elaborate(text: str, style: NumberStyle = DEFAULT_STYLE) -> Number | None:
    """The number of a cell that `read_simple` does not understand, or None.

    >>> parse_elaborate("3 ¾").value
    Decimal('3.75')
    """
    if len(text) > LONGEST:
        return None
    if not _HAS_DIGIT.search(text) or _is_prose(text):
        return None
    plain = " ".join(text.translate(_NORMAL).split())
    plain, marks = _strip_marks(plain, style)
    plain = _WHOLE_SIGN.sub("", plain)
    if style.trailing_minus and _TRAILING_MINUS.fullmatch(plain):
        plain = f"-{plain[:-1]}"
    number = _parse(plain, style)
    if number is None and plain.endswith("+") and style.ranges:
        number = _parse(plain[:-1].rstrip(), style)
        number = number and number._replace(approximate=True, marks=("+",))
    if number is None:
        plain = _EMPTY_DOUBLE.sub("", plain)
        number = _parse_doubled(plain, style) or _parse_converted(plain, style)
    if number is None and style.converted and (pair := _NUMBER_AND_CONVERSION.fullmatch(plain)):
        number = _parse(pair[1], style)
    if number is None and style.decimal_comma and _POINT_ONLY.search(plain):
        number = _parse(plain, replace(style, decimal_comma=False))
    return number._replace(marks=marks) if number is not None and marks else number


class SimpleNumber(NamedTuple):
    """A number in a plain form as texts: digits with a point, whether it is negative, unit, as printed."""

    digits: str
    negative: bool
    unit: str | None
    printed: str

    @property
    def signed(self) -> str:
        """The printed number with its sign; a zero has none."""
        if not self.digits.strip("0."):
            return self.printed
        return f"-{self.printed}" if self.negative else f"+{self.printed}"


def read_simple(text: str) -> SimpleNumber | None:
    """The parts of a number in the plainest and commonest forms only: ``$ (1,234.5)``, ``12.5 %``; else None.

    >>> read_simple("$ (1,234)")
    SimpleNumber(digits='1234', negative=True, unit='CCY_USD', printed='1,234')
    """
    if len(text) > LONGEST or (match := _SIMPLE.fullmatch(text)) is None:
        return None
    dollar, minus, opened, printed, closed, percent = match.groups()
    if (opened is None) is not (closed is None) or (dollar and percent):
        return None
    unit = "PERCENT" if percent else "CCY_USD" if dollar else None
    parts = (printed.replace(",", ""), bool(opened or minus), unit, printed)
    return tuple.__new__(SimpleNumber, parts)  # half the time of calling it, millions of times


def parse_simple(text: str) -> Number | None:
    """The number that `read_simple` finds.

    >>> parse_simple("$ (1,234)").value, parse_simple("5 kg")
    (Decimal('-1234'), None)
    """
    simple = read_simple(text)
    if simple is None:
        return None
    value = Decimal(simple.digits)
    return Number(value.copy_negate() if simple.negative else value, None, simple.unit, 0, False, (), simple.signed)


@text_cache(4096)
def opens_words(letters: str) -> bool:
    """Whether every text whose first letters these are is one of words: no number, and no marker of a missing value.

    >>> opens_words("Item"), opens_words("USD"), opens_words("n")
    (True, False, False)
    """
    return letters.lower() not in _first_letters()


@cache
def _first_letters() -> frozenset[str]:
    """The first letters, in lower case, of the words that numbers begin with and of the markers of missing values."""
    found = map(FIRST_LETTERS.match, (*_opening_words(), *MISSING_MARKERS))
    return frozenset(match[0].lower() for match in found if match)


@cache
def _opening_words() -> frozenset[str]:
    """The letters that a number can begin with, in lower case: ``usd``, ``rs.``, ``us``, ``ca.``."""
    words = {match[0].lower() for name in currency_names() if (match := _LETTERS.match(name))}
    return frozenset(
        words | {"kr", "kr."} | {"c.", "ca.", "circa", "about", "around", "approx.", "approx", "approximately", "est."}
    )


def _is_prose(text: str) -> bool:
    """Whether the text begins with a word that no number begins with."""
    word = _LETTERS.match(text)
    return word is not None and word[0].lower() not in _opening_words()


def _strip_marks(text: str, style: NumberStyle) -> tuple[str, tuple[str, ...]]:
    marks: list[str] = []
    if text.startswith("=") and text[1:].isdecimal():
        return text[1:], ("=",)
    if text[-1:] in _FIGURES:  # most texts: no mark ends in a figure
        return text, ()
    while (match := _MARK.search(text)) or (style.numbered_marks and (match := _NUMBERED_MARK.search(text))):
        if match[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹" and re.search(r"(?:^|[^\d.,])10[⁰¹²³⁴-⁹]*$", text[: match.start()]):
            break
        marks.insert(0, match[0].strip())
        text = text[: match.start()].rstrip()
    if style.letter_marks and (match := _LETTER_MARK.search(text)):
        marks.insert(0, match[0].strip())
        text = text[: match.start()].rstrip()
    return text, tuple(marks)


def _parse(text: str, style: NumberStyle) -> Number | None:
    """Prefix signs, digits, an upper bound, what follows."""
    position, negative, signs, opened, unit, approximate, krone = 0, False, 0, False, None, False, False
    while position < len(text):
        character = text[position]
        if character == " ":
            position += 1
        elif character in "+-–—" and not signs:
            signs, negative, position = 1, character != "+", position + 1
        elif character == "(" and not opened:
            opened, position = True, position + 1
        elif not approximate and (match := _APPROXIMATE.match(text, position)):
            approximate, position = True, match.end()
        elif unit is None and (match := currency_prefix().match(text, position)):
            unit, position = currency_names()[match[0]], match.end()
        elif unit is None and style.whole_ringgit and text.startswith("RM", position):
            unit, position = currency_names()["RM"], position + 2
        elif character in "Kk" and not krone and (match := _KRONE.match(text, position)):
            krone, position = True, match.end()
        else:
            break
    if opened and negative:
        return None
    most_plain = LONGEST if style.long_integers else MOST_PLAIN_DIGITS
    digits = read_digits(text, position, style.decimal_comma, most_plain)
    if digits is None:
        return None
    printed, end = text[position : digits.end], digits.end
    upper = None
    if not signs and not opened and style.ranges and not _PHONE.fullmatch(text):
        bound = _read_upper(text, digits, unit, style)
        if bound is not None:
            upper, start, end, unit = bound
            printed = f"{printed}–{text[start:end]}"
    suffix = _read_suffix(text, end, opened, unit, printed, style.letters)
    if suffix is None:
        return None
    unit, scale = suffix
    value = digits.value.copy_negate() if negative or opened else digits.value
    approximate = approximate or not digits.exact
    return Number(value, upper, unit, scale, approximate, (), _signed(value, printed))


def _read_upper(
    text: str, lower: Digits, unit: str | None, style: NumberStyle
) -> tuple[Decimal, int, int, str | None] | None:
    """Where a range follows: its upper bound, from where to where it is printed, and its unit so far."""
    end = lower.end
    if unit is None and text[end : end + 1] == "%" and text.endswith("%"):
        end += 1
    dash = _RANGE.match(text, end)
    if dash is None:
        return None
    start = dash.end()
    if match := currency_prefix().match(text, start):
        unit, start = unit or currency_names()[match[0]], match.end()
    start += text[start : start + 1] == " "
    upper = read_digits(text, start, style.decimal_comma)
    return None if upper is None or upper.value <= lower.value else (upper.value, start, upper.end, unit)


def _read_suffix(
    text: str,
    end: int,
    opened: bool,
    unit: str | None,
    printed: str,
    letters: tuple[tuple[str, str | None, int], ...] = (),
) -> tuple[str | None, int] | None:
    """Unit and power of ten from what follows the digits; None if it is not understood."""
    rest = text[end:]
    if not rest:
        return unit, 0
    attached = rest[0] not in " )"
    rest = rest.strip()
    if opened:
        if rest.startswith(")"):
            rest, opened = rest[1:].lstrip(), False
        elif rest.endswith(")"):
            rest = rest[:-1].rstrip()
    if not rest:
        return unit, 0
    if rest == "%":
        return ("PERCENT", 0) if unit is None else None
    for letter, named, power in letters:
        if rest == letter:
            return unit or named, power
    scale, rest = _read_scale(rest, attached, unit is not None, "." in printed)
    if not rest:
        return unit, scale
    if unit is not None:
        return None
    lowered = rest.lower()
    if lowered in KRONER:
        return None, scale + KRONER[lowered]
    if lowered in CENTS:
        return currency_unit(CENTS[lowered]), scale - 2
    if lowered in BASIS_POINTS:
        return "PERCENT", -2
    if rest in currency_names():
        return currency_names()[rest], scale
    if lowered in WORDS:
        return currency_unit(WORDS[lowered]), scale
    if lowered in {"x", "times"}:
        return "UNITLESS", scale
    if attached and len(rest) == 1 and rest.isalpha() and rest not in "mg" and "." not in printed:
        return None
    name = find_printed_unit(rest)
    return None if name is None else (name, scale)


def _read_scale(rest: str, attached: bool, with_currency: bool, with_point: bool) -> tuple[int, str]:
    """The power of ten at the beginning of what follows the digits, and the rest of it."""
    word, _, tail = rest.partition(" ")
    if with_currency:
        power = CURRENCY_SCALES.get(word) or SCALE_WORDS.get(word.lower(), 0)
    else:
        power = PLAIN_SCALES.get(word.lower(), 0)
        if not power and attached and (word != "B" or with_point):
            power = ATTACHED_SCALES.get(word, 0)
        if not power and (tail in currency_names() or tail.lower() in KRONER):
            power = CURRENCY_SCALES.get(word, 0) or SCALE_WORDS.get(word.lower(), 0)
        if not power and word[:-1] and word[-1] in "€£$":
            power = CURRENCY_SCALES.get(word[:-1], 0) or SCALE_WORDS.get(word[:-1].lower(), 0)
            tail = word[-1] if power else tail
    return (power, tail.strip()) if power else (0, rest)


def _parse_doubled(text: str, style: NumberStyle) -> Number | None:
    """A number followed by itself: ``-32 ( 32 )``, ``-7.2 ( 7.2 ) %``, and percentages, ``11% ( 11 % )``."""
    if (number := _parse(text, style)) is not None:
        return number
    match = _DOUBLED.fullmatch(text)
    if match is None:
        return None
    number = _parse(match[1].strip() + (match[3] or ""), style) or _parse(match[1].strip(), style)
    again = _parse(match[2].removesuffix("%").strip().lstrip("$€£ "), style)
    if number is None or again is None or again.value != number.value.copy_abs():
        return None
    if number.value >= 0 and not (number.unit == "PERCENT" and "%" in match[2]):
        return None
    if number.unit is None and "%" in match[2]:
        return number._replace(unit="PERCENT")
    return number


def _parse_converted(text: str, style: NumberStyle) -> Number | None:
    """A measure with its conversion, ``35 km (22 mi)``: the first counts."""
    match = _CONVERTED.search(text)
    if match is None or not text[:1].strip("(") or not _HAS_DIGIT.search(match[1]):
        return None
    number, other = _parse(text[: match.start()], style), _parse(match[1], style)
    if number is None or other is None or not number.unit or not other.unit or number.unit == other.unit:
        return None
    return number


def _signed(value: Decimal, printed: str) -> str:
    if not value:
        return printed
    return ("-" if value < 0 else "+") + printed
