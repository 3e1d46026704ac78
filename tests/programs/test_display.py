"""Values as people read them: in each number style, scale and sign the text shown is the value."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.programs.display import display, style_of, text_of_rows
from kgtable.programs.scalars import Datum, quantity
from kgtable.values.units import SCALE_POWERS

STYLES = {"English": (".", ","), "German": (",", "."), "French": (",", " "), "Swiss": (".", "'"), "plain": (".", "")}
NAMES = {None: "", "T": "thousand", "M": "million", "B": "billion"}
POWERS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}


def printed(cents: int, scale: str | None, marks: tuple[str, str]) -> Datum:
    """A number of two decimals as a cell of a style prints it."""
    decimal, group = marks
    text = f"{Decimal(cents) / 100:,.2f}".translate({ord(","): group, ord("."): decimal})
    value = Decimal(cents).scaleb(SCALE_POWERS.get(scale or "", 0) - 2)
    return quantity(value, "CCY_EUR", scale, text)


def read_by_a_person(shown: str, marks: tuple[str, str]) -> Decimal:
    """The number that a person reads who knows the style."""
    decimal, _ = marks
    found = re.search(r"\d[\d.,' ]*", shown)
    assert found is not None
    digits = re.sub(rf"[^\d{re.escape(decimal)}]", "", found[0])
    word = next((power for name, power in POWERS.items() if name in shown), 0)
    value = Decimal(digits.replace(decimal, ".")).scaleb(word)
    return -value if "−" in shown else value


@pytest.mark.parametrize("style", STYLES)
@given(
    cents=st.lists(st.integers(-(10**11), 10**11).filter(lambda cents: cents % 10 != 0), min_size=1, max_size=4),
    scale=st.sampled_from(list(NAMES)),
)
def test_the_text_shown_is_the_value(style: str, cents: list[int], scale: str | None) -> None:
    marks = STYLES[style]
    column = [printed(number, scale, marks) for number in cents]
    found = style_of(column)
    for datum in column:
        assert read_by_a_person(display(datum, found), marks) == datum.number
    shown = text_of_rows([(datum,) for datum in column], lambda datum: display(datum, found))
    assert shown.count("€") == len(column)
    total = quantity(sum((datum.number or Decimal(0) for datum in column), Decimal(0)), "CCY_EUR", scale)
    said = display(total, found)
    assert "about" in said or read_by_a_person(said, marks) == total.number


@pytest.mark.parametrize(
    ("datum", "shown"),
    [
        (quantity(Decimal("0.1"), "KiloGM", text="<0.1"), "<0.1"), (quantity(Decimal(6), text="(6) pts"), "(6) pts"),
        (quantity(Decimal(-1234), "CCY_USD", text="(1,234)"), "−$1,234"),
        (quantity(Decimal(2024), text="2024"), "2024"), (quantity(Decimal(1281)), "1,281"),
    ],
)  # fmt: skip
def test_what_a_cell_says_beside_its_number_is_kept(datum: Datum, shown: str) -> None:
    assert display(datum) == shown
