"""The headline number of an answer in words, shared by pages, shell and notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

from kgtable.answering.grounding import StatedNumber, stated_numbers
from kgtable.values.spoken import exact_number, spoken_number, unit_name, unit_symbol
from kgtable.values.units import SCALE_LETTERS, SCALE_POWERS, units

PrintedNumber: TypeAlias = tuple[str, str | None, str | None]
"""The text, unit and scale of a cell that an answer cites."""


def headline_and_exact(
    text: str, value: str | None, unit: str | None, printed: Sequence[PrintedNumber] = ()
) -> tuple[str, str]:
    """A text that gives a number as one says it, and the whole number in full where that says more.

    A text that says more than a number stays as it is; only what it does not say stands in the second. Where
    it lists numbers of `printed` cells, each is said with the cell's unit and scale; the lines of a printed cell, and
    lists in JSON, stand side by side.

    >>> said, exact = headline_and_exact("198.0", "198000000", "CCY_USD")
    >>> said.replace("\N{NO-BREAK SPACE}", " "), exact
    ('$198.0 million', '198,000,000 US dollars')
    >>> headline_and_exact("Norrvik", None, None)
    ('Norrvik', '')
    >>> headline_and_exact("Monday\\nFriday", None, None, [("Monday\\nFriday", None, None)])[0]
    'Monday, Friday'
    >>> cells = [("224,300", "CCY_EUR", "T"), ("116,200", "CCY_EUR", "T")]
    >>> headline_and_exact("224,300; 116,200", None, None, cells)[0].replace("\N{NO-BREAK SPACE}", " ")
    '€224.3 million; €116.2 million'
    """
    number = _decimal(value)
    stated = list(stated_numbers(text))
    if number is None or not number.is_finite():
        return _list(text, printed), ""
    exact = exact_number(number, unit)
    if len(stated) != 1 or not _is_bare(text, stated[0], unit):
        return text, exact if len(stated) <= 1 and unit_name(unit) else ""
    power = _power(number, stated[0])
    if not unit_name(unit) and not power:
        return text, ""
    digits = re.search(r"\.(\d+)", stated[0].text)
    decimals = len(digits[1]) if digits else 0
    said = spoken_number(number, unit, power=power or 0, decimals=decimals if power is not None else None)
    return said, "" if said.replace("\N{NO-BREAK SPACE}", " ") == exact or unit == "PERCENT" else exact


def _list(text: str, printed: Sequence[PrintedNumber]) -> str:
    """A list of printed numbers, each as one says it; other texts as they are."""
    known = {cell: (unit, scale) for cell, unit, scale in printed if unit_name(unit) or scale}
    parts = text.split("; ")
    if len(parts) < 2 or not all(part in known for part in parts):
        cells = {cell for cell, _, _ in printed}
        return "; ".join(map(on_one_line, parts)) if cells.issuperset(parts) else text
    said = []
    for part in parts:
        unit, scale = known[part]
        stated = list(stated_numbers(part))
        if len(stated) != 1:
            return text
        power = stated[0].power
        value = stated[0].value * Fraction(10) ** (SCALE_POWERS.get(scale or "", 0) if power is None else power)
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        said.append(headline_and_exact(part, format(exact, "f"), unit)[0])
    return "; ".join(said)


def on_one_line(text: str) -> str:
    """The lines of a cell, or what JSON in it holds, side by side.

    >>> on_one_line('{"street": "Hill 1", "towns": ["Ely", "York"]}'), on_one_line("[1] a footnote")
    ('street: Hill 1, towns: Ely, York', '[1] a footnote')
    """
    if text[:1] in ("[", "{"):
        try:
            return _json_said(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return ", ".join(filter(None, map(str.strip, text.split("\n")))) if "\n" in text else text


def _json_said(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_json_said(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_json_said, value))
    return value if isinstance(value, str) else json.dumps(value)


def _decimal(value: str | None) -> Decimal | None:
    try:
        return None if value is None else Decimal(value)
    except InvalidOperation:
        return None


def _power(number: Decimal, stated: StatedNumber) -> int | None:
    """The power of ten by which the printed number is multiplied; None where it is another number."""
    if not stated.value:
        return 0 if not number else None
    ratio = Fraction(number) / stated.value
    return next((power for power in (0, *SCALE_LETTERS) if ratio == Fraction(10) ** power), None)


_MEASURES = re.compile(
    r"\b(?:thousands?|millions?|billions?|trillions?|percent|us|dollars?|euros?|pounds?)\b", re.IGNORECASE
)


def _is_bare(text: str, number: StatedNumber, unit: str | None) -> bool:
    """Whether a text is a number with nothing but its scale and unit beside it."""
    rest = text.replace(number.text, " ", 1)
    known = units().get(unit or "")
    for word in filter(None, (unit_symbol(unit), unit_name(unit, plural=True), unit_name(unit), number.unit_text)):
        rest = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", rest, flags=re.IGNORECASE)
    if known is not None:
        for word in filter(None, (known.symbol, known.label, known.currency)):
            rest = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", rest, flags=re.IGNORECASE)
    return not any(sign.isalnum() for sign in _MEASURES.sub(" ", rest))
