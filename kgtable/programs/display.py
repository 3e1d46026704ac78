"""Values as people read them, made from the exact number, its unit and scale, in the number style of the cells.

The printed text of a cell only tells how many decimals it has and which marks it uses: the number is never read from
it again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from kgtable.programs.algebra import ValueKind
from kgtable.programs.batch_execution import value_text
from kgtable.programs.dimensions import NO_UNIT
from kgtable.programs.scalars import Datum
from kgtable.values.spoken import ENGLISH, JOINT, NumberMarks, spoken_number, unit_name, unit_symbol
from kgtable.values.units import SCALE_LETTERS, SCALE_POWERS, units

_DIGITS = re.compile(r"\d(?:[.,'’٬٫\s]?\d)*|[.,]\d+")
_MEASURES = re.compile(r"thousands?|millions?|billions?|trillions?|percent|us|dollars?|euros?|pounds?", re.IGNORECASE)
_MOST_COMPARED = 200
"""Maximum cells that determine the number style of a result."""

_OTHER_MARK = {",": ".", ".": ",", "'": ".", "’": ".", "٬": "٫", "٫": "٬"}
"""The mark of decimals next to a mark of thousands, and the other way round; a comma next to spaces."""


class _Print(NamedTuple):
    """Where a number is in a printed text, its decimals, its power of ten, and its marks; empty if it has none."""

    start: int
    end: int
    decimals: int
    power: int
    decimal: str
    group: str


def display(datum: Datum, style: NumberMarks = ENGLISH) -> str:
    """A value for display: a number with scale and unit, and no more decimals than its cell.

    A printed text that says more than the number, its unit and its scale is shown as it is.

    >>> from decimal import Decimal
    >>> from kgtable.programs.scalars import quantity
    >>> display(quantity(Decimal("340500000"), "CCY_EUR", "T", "340,500")), display(quantity(12, "PERCENT"))
    ('€340.5 million', '12%')
    >>> rent = quantity(Decimal(8200), "CCY_EUR", text="8.200,00")
    >>> display(rent, style_of([rent])), display(quantity(Decimal("43.3333333333")))
    ('€8.200,00', 'about 43.33')
    """
    number = datum.number
    if number is None or datum.kind is ValueKind.DURATION or datum.unit == "SEC":
        return on_one_line(value_text(datum))
    power, decimals = SCALE_POWERS.get(datum.scale or "", 0), None
    if datum.text:
        found = _print_of(datum)
        measured = unit_name(datum.unit) or (found is not None and found.power)
        if found is None or not measured or not _is_bare(datum.text, found, datum.unit):
            return on_one_line(value_text(datum))
        power, decimals = found.power, found.decimals
    return spoken_number(number, datum.unit, power=power, decimals=decimals, style=style).replace(JOINT, " ")


def style_of(data: Iterable[Datum]) -> NumberMarks:
    """The marks of decimals and thousands that printed numbers use; those of English where none shows any.

    >>> from decimal import Decimal
    >>> from kgtable.programs.scalars import quantity
    >>> style_of([quantity(Decimal("21450.5"), text="21.450,50")])
    NumberMarks(decimal=',', group='.')
    """
    group = ""
    for datum, _ in zip(data, range(_MOST_COMPARED), strict=False):
        found = _print_of(datum) if datum.text and datum.number is not None else None
        if found is not None and found.decimal:
            grouped = found.group or group or _OTHER_MARK.get(found.decimal, ",")
            return NumberMarks(found.decimal, grouped if grouped != found.decimal else _OTHER_MARK[found.decimal])
        group = group or (found.group if found is not None else "")
    return NumberMarks(_OTHER_MARK.get(group, ","), group) if group else ENGLISH


def _print_of(datum: Datum) -> _Print | None:
    """The print of a datum's number in its text: the digits that are its value at some power of ten."""
    assert datum.number is not None
    size = abs(Fraction(datum.number))
    powers = dict.fromkeys((SCALE_POWERS.get(datum.scale or "", 0), 0, *SCALE_LETTERS))
    for match in _DIGITS.finditer(datum.text):
        digits = re.sub(r"\D", "", match[0])
        whole, marks = int(digits), re.findall(r"\D", match[0])
        last = len(re.split(r"\D", match[0])[-1]) if marks else 0
        for power in powers:
            for decimals in (last, *range(len(digits) + 1)):
                if Fraction(whole, 10**decimals) * Fraction(10) ** power == size:
                    decimal = marks[-1] if marks and decimals == last else ""
                    group = next(iter(marks[:-1] if decimal else marks), "")
                    return _Print(match.start(), match.end(), decimals, power, decimal, group)
            if not whole:
                break
    return None


def _is_bare(text: str, found: _Print, unit: str | None) -> bool:
    """Whether a text has no words but those of the number's unit and scale."""
    rest = f"{text[: found.start]} {text[found.end :]}"
    known = units().get(unit or "")
    words = [unit_symbol(unit), unit_name(unit, plural=True), unit_name(unit)]
    words += [known.symbol, known.label, known.currency] if known is not None else []
    named = "|".join(re.escape(word) for word in sorted(filter(None, words), key=len, reverse=True))
    for pattern in (named, _MEASURES.pattern):
        rest = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", " ", rest, flags=re.IGNORECASE) if pattern else rest
    return not any((sign.isalnum() and not _is_note(sign)) or _is_relation(sign) for sign in rest)


def says_only(text: str, datum: Datum) -> bool:
    """Whether a text is the number of a datum, with no words but those of its unit and scale.

    >>> from kgtable.programs.scalars import quantity
    >>> says_only("1,250 thousand EUR", quantity(1_250_000, "CCY_EUR", "T", "1,250"))
    True
    """
    found = _print_of(datum._replace(text=text)) if datum.number is not None else None
    return found is not None and _is_bare(text, found, datum.unit)


def _is_relation(sign: str) -> bool:
    """Whether a sign makes a bound or an estimate of the number behind it, such as < and ±."""
    return unicodedata.category(sign) == "Sm" and sign not in "+−"


def _is_note(sign: str) -> bool:
    return not sign.isalpha() and not sign.isdecimal()


def on_one_line(text: str) -> str:
    """The lines of a cell, or the JSON in it, side by side.

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


def text_of_rows(rows: Iterable[tuple[Datum | None, ...]], shown: Callable[[Datum], str] = value_text) -> str:
    """Rows as one text: a list of values, or of ``name: values`` where a row has several.

    Each row with a number is kept; a row of texts alone is listed once.

    >>> from kgtable.programs.scalars import quantity
    >>> rents = [(quantity(620, text="620"),), (quantity(640, text="640"),), (quantity(620, text="620"),)]
    >>> text_of_rows(rents)
    '620; 640; 620'
    >>> text_of_rows([(quantity(2023), quantity(4, text="4")), (quantity(2024), quantity(4, text="4"))])
    '2023: 4; 2024: 4'
    """
    listed: dict[object, str] = {}
    found = [row for row in rows if any(value is not None for value in row)]
    numbered = _are_numbered(found)
    for place, row in enumerate(found):
        values = [value for value in row if value is not None]
        texts = (value for value in values[: None if len(found) > 1 else 1] if value.number is None)
        name = row[0] if numbered else next(texts, None)
        rest = [shown(value) for value in values if value is not name]
        said = "; ".join(rest) if name is None else shown(name) + (f": {', '.join(rest)}" if rest else "")
        if row[0] is None and len(row) > 1 and len(found) > 1:
            said = f"{BLANK}: {said}"
        listed.setdefault(said if all(value.number is None for value in values) else place, said)
    return "; ".join(listed.values())


def _are_numbered(rows: Sequence[tuple[Datum | None, ...]]) -> bool:
    """Whether rows are named by a number of their own without a unit, as the groups of years are."""
    firsts = [row[0] for row in rows]
    plain = all(
        value is not None
        and (value.unit in NO_UNIT or value.unit == "PERCENT")
        and value.number is not None
        and value.number == value.number.to_integral_value()
        for value in firsts
    )
    return (
        len(rows) > 1
        and all(len(row) > 1 for row in rows)
        and plain
        and len({v.number for v in firsts if v}) == len(rows)
    )


BLANK = "(blank)"
"""The name of the group of rows whose key is missing."""
