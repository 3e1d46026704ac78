from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.measures import Measure
from kgtable.values.unit_phrases import parse_unit_phrase, parse_unit_text
from kgtable.values.units import units

TEXTS: list[tuple[str, str | None, int | None]] = [
    ("(in millions, except per share data)", None, 6),
    ("$ in millions", "CCY_USD", 6),
    ("US$’000", "CCY_USD", 3),
    ("$000", "CCY_USD", 3),
    ("(000's)", None, 3),
    ("£m", "CCY_GBP", 6),
    ("€ billions", "CCY_EUR", 9),
    ("RMB’Million", "CCY_CNY", 6),
    ("USD denominated RMB’Million", "CCY_CNY", 6),
    ("(in thousands of U.S. dollars)", "CCY_USD", 3),
    ("in millions of Canadian dollars", "CCY_CAD", 6),
    ("(in millions of €)", "CCY_EUR", 6),
    ("$ MILLION", "CCY_USD", 6),
    ("Rs. in crore", "CCY_INR", 7),
    ("EUR m", "CCY_EUR", 6),
    ("T€", "CCY_EUR", 3),
    ("TEUR", "CCY_EUR", 3),
    ("Mio. €", "CCY_EUR", 6),
    ("k€", "CCY_EUR", 3),
    ("$mm", "CCY_USD", 6),
    ("2019 £m", "CCY_GBP", 6),
    ("Millions of yen", "CCY_JPY", 6),
    ("EUR", "CCY_EUR", None),
    ("Price (€)", "CCY_EUR", None),
    ("Revenue ($m)", "CCY_USD", 6),
    ("payments volume ( billions )", None, 9),
    ("Population (millions)", None, 6),
    ("Average population (x 1000)", None, 3),
    ("Number of shares (1,000)", None, None),
    ("(%)", "PERCENT", None),
    ("Δ in %", "PERCENT", None),
    ("% of Total", "PERCENT", None),
    ("Weight (kg)", "KiloGM", None),
    ("Length [m]", "M", None),
    ("Height (m)", "M", None),
    ("Distance, km", "KiloM", None),
    ("Area in km²", "KiloM2", None),
    ("CO2 emissions (t)", "TONNE", None),
    ("million tonnes", "TONNE", 6),
    ("Speed (km/h)", "KiloM-PER-HR", None),
    ("Rainfall (in)", "IN", None),
    ("Current (A)", "A", None),
    ("Duration (min)", "MIN", None),
    ("Basic EPS (pence)", "CCY_GBP", -2),
    ("Earnings per share (cents)", None, -2),
]

NOTHING = [
    "",
    "Total",
    "Year",
    "Day",
    "Points",
    "Wins (W)",
    "Losses (L)",
    "Blocks (B)",
    "(a)",
    "(1)",
    "(unaudited)",
    "m",
    "(m)",
    "Note",
    "December 31",
    "2019",
    "Amount in 2019",
    "Class A",
    "Runs (in)",
    "Won",
    "GB",
    "M",
    "COP",
    "Gamma",
    "Grades",
    "b (pm)",
    "Population density (/mi²)",
    "Deaths (per 1000)",
    "Less than 1 year",
    "x" * 1000,
]


@pytest.mark.parametrize(("text", "unit", "scale"), TEXTS)
def test_units_and_scales(text: str, unit: str | None, scale: int | None) -> None:
    phrase = parse_unit_text(text)
    assert phrase is not None
    assert (phrase.unit, phrase.scale) == (unit, scale)


@pytest.mark.parametrize("text", NOTHING)
def test_texts_without_unit(text: str) -> None:
    assert parse_unit_text(text) is None


@pytest.mark.parametrize(
    ("text", "exceptions"),
    [
        ("in millions, except per share data", {Measure.PER_SHARE}),
        ("In thousands, except share and per share amounts", {Measure.PER_SHARE, Measure.SHARES}),
        ("in thousands, except percentages", {Measure.PERCENT, Measure.RATIO}),
        ("($ in millions, except number of stores)", {Measure.COUNT}),
        ("in millions", set()),
    ],
)
def test_exceptions(text: str, exceptions: set[Measure]) -> None:
    phrase = parse_unit_phrase(text)
    assert phrase is not None
    assert phrase.exceptions == exceptions


def test_shares_have_a_scale_of_their_own() -> None:
    phrase = parse_unit_phrase("(Dollars in millions, shares in thousands)")
    assert phrase is not None
    assert (phrase.unit, phrase.scale, phrase.share_scale) == ("CCY_USD", 6, 3)


@given(st.text(max_size=120) | st.text(alphabet="$€£%()m kgMillionthousandsper,'’0exct share", max_size=200))
def test_any_text_is_read_and_every_unit_is_qudts(text: str) -> None:
    phrase = parse_unit_text(text)
    assert phrase is None or phrase.unit is None or phrase.unit in units()
