"""Cells and texts in the form in which an answer is compared with them."""

from __future__ import annotations

import re
import unicodedata
from decimal import Context, Decimal
from fractions import Fraction

from kgtable.answering.evidence import Cell
from kgtable.tables.numbers import parse_number

_EXACT = Context(prec=34)


def decimal_string(number: Fraction) -> str:
    """The number as a plain decimal, to 34 significant digits.

    >>> decimal_string(Fraction(1, 8)), decimal_string(Fraction(1200))
    ('0.125', '1200')
    """
    found = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    text = f"{found:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_of(cell: Cell) -> Fraction | None:
    """A cell's number, scale applied, from the graph or, failing that, from its text."""
    if cell.value is not None:
        return Fraction(cell.value)
    parsed = parse_number(cell.text.strip())
    return None if parsed is None else Fraction(parsed.value) * Fraction(10) ** parsed.scale


def unit_of(cell: Cell) -> str:
    """The cell's unit, empty for bare counts and where none is known."""
    return cell.unit if cell.unit is not None and cell.unit not in ("UNITLESS", "NUM") else ""


def contains(text: str, part: str) -> bool:
    """Whether `part` stands in `text` as whole words."""
    return f" {part} " in f" {text} "


def plain(text: str) -> str:
    """Letters and digits of the text, without case and accents."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join(re.findall(r"\w+", "".join(sign for sign in folded if not unicodedata.combining(sign))))
