"""Scales of printed numbers: hundredths (cents, basis points), thousands, millions, billions, trillions.

The graph, the mapping and programs write a scale as one of the letters of `SCALE_POWERS`; the numeric value
beside it has the scale applied.
"""

from __future__ import annotations

from typing import Final

SCALE_POWERS: Final = {"C": -2, "T": 3, "M": 6, "B": 9, "TN": 12}
"""A scale's letters → its power of ten. T for thousand as in the thesis (section 4.4)."""

SCALE_LETTERS: Final = {power: letters for letters, power in SCALE_POWERS.items()}

SCALE_NAMES: Final = {"T": "thousand", "M": "million", "B": "billion", "TN": "trillion"}
"""The scales that have one name beside every unit."""

POWER_NAMES: Final = {SCALE_POWERS[letters]: name for letters, name in SCALE_NAMES.items()}


def scale_name(scale: str | None, unit: str | None = None, *, plural: bool = False) -> str:
    """The word for a scale beside a unit (a QUDT local name), or for so many of them; empty for none.

    >>> scale_name("M"), scale_name("C", "CCY_EUR"), scale_name("C", "CCY_GBP"), scale_name("C", "PERCENT")
    ('million', 'cents', 'pence', 'basis points')
    """
    if scale == "C":
        if unit == "PERCENT":
            return "basis points"
        return "pence" if unit == "CCY_GBP" else "cents"
    name = SCALE_NAMES.get(scale or "", "")
    return f"{name}s" if name and plural else name
