"""Units and scales that the number formats of spreadsheets show: ``0.0%``, ``#,##0 "kg"``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kgtable.values.unit_phrases import UnitPhrase, parse_unit_phrase
from kgtable.values.units import currency_names

_BRACKET_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[0-9A-Fa-f,]*)?\]")
_QUOTED = re.compile(r'"([^"]*)"|\\(.)')
_BARE_CURRENCY = re.compile(r"[$€£¥₹]")
_SCALED_DISPLAY = re.compile(r"[0#?](?:\.[0#?]+)?,+(?![0#?])")


@dataclass(frozen=True, slots=True)
class FormatUnit:
    """The unit a format shows, the power of ten it names, and what the stored value is multiplied with."""

    unit: str | None = None
    scale: int | None = None
    shift: int = 0


@lru_cache(maxsize=4_096)
def read_number_format(code: str) -> FormatUnit | None:
    """The unit and scale of a number format code, or None if it shows neither.

    A percent format stores 0.125 for 12.5 %: `shift` is 2. Thousands hidden by a trailing comma are in
    the stored value: no scale.

    >>> read_number_format("0.0%").shift, read_number_format('#,##0 "kg"').unit
    (2, 'KiloGM')
    >>> read_number_format('[$€-407] #,##0').unit, read_number_format("#,##0.00") is None
    ('CCY_EUR', True)
    """
    section = code.split(";")[0]
    bracketed = _BRACKET_CURRENCY.search(section)
    literals = [(match[1] or match[2] or "").strip() for match in _QUOTED.finditer(section)]
    bare = _QUOTED.sub("", _BRACKET_CURRENCY.sub("", section))
    if "%" in bare:
        return FormatUnit("PERCENT", 0, 2)
    unit = currency_names().get(bracketed[1].strip()) if bracketed else None
    if unit is None and (sign := _BARE_CURRENCY.search(bare)):
        unit = currency_names()[sign[0]]
    scale: int | None = None
    for literal in filter(None, literals):
        phrase = _phrase(literal, unit)
        if phrase is not None:
            unit = unit or phrase.unit
            scale = phrase.scale if scale is None else scale
    if scale is not None and _SCALED_DISPLAY.search(bare):
        scale = None
    return FormatUnit(unit, scale) if unit or scale is not None else None


def _phrase(literal: str, unit: str | None) -> UnitPhrase | None:
    """What a quoted text says: after a currency a letter is a scale, else it may be a short symbol."""
    if unit is not None and unit.startswith("CCY_"):
        return parse_unit_phrase(f"{unit.removeprefix('CCY_')} {literal}")
    return parse_unit_phrase(literal) or parse_unit_phrase(literal, "height time weight capacity")
