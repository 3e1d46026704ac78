from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.measures import Measure
from kgtable.values.number_formats import FormatUnit, read_number_format
from kgtable.values.unit_phrases import Clause, parse_clause, parse_unit_phrase, parse_unit_text
from kgtable.values.units import (
    SIGNS,
    WORDS,
    currency_codes,
    currency_unit,
    may_name_unit,
    needs_support,
    unit_of_symbol,
    units,
)

TEXTS: list[tuple[str, str | None, int | None]] = [
    ("(in millions, except per share data)", None, 6), ("$ in millions", "CCY_USD", 6), ("US$’000", "CCY_USD", 3),
    ("$000", "CCY_USD", 3), ("(000's)", None, 3), ("£m", "CCY_GBP", 6), ("€ billions", "CCY_EUR", 9),
    ("RMB’Million", "CCY_CNY", 6), ("USD denominated RMB’Million", "CCY_CNY", 6),
    ("(in thousands of U.S. dollars)", "CCY_USD", 3), ("in millions of Canadian dollars", "CCY_CAD", 6),
    ("(in millions of €)", "CCY_EUR", 6), ("$ MILLION", "CCY_USD", 6), ("Rs. in crore", "CCY_INR", 7),
    ("EUR m", "CCY_EUR", 6), ("T€", "CCY_EUR", 3), ("TEUR", "CCY_EUR", 3), ("Mio. €", "CCY_EUR", 6),
    ("k€", "CCY_EUR", 3), ("$mm", "CCY_USD", 6), ("2019 £m", "CCY_GBP", 6), ("Millions of yen", "CCY_JPY", 6),
    ("EUR", "CCY_EUR", None), ("Price (€)", "CCY_EUR", None), ("Revenue ($m)", "CCY_USD", 6),
    ("payments volume ( billions )", None, 9), ("Population (millions)", None, 6),
    ("Average population (x 1000)", None, 3), ("Number of shares (1,000)", None, None), ("(%)", "PERCENT", None),
    ("Concentration (mg/ml)", "MilliGM-PER-MilliL", None), ("Flow (ml/min)", "MilliL-PER-MIN", None),
    ("Z-Avg Dia. (nm)", "NanoM", None), ("Diameter (nm)", "NanoM", None),
    ("Δ in %", "PERCENT", None), ("% of Total", "PERCENT", None), ("Weight (kg)", "KiloGM", None),
    ("0-100 km/h (s)", "SEC", None), ("Break (min)", "MIN", None), ("2019-20 kg", "KiloGM", None),
    ("Length [m]", "M", None), ("Height (m)", "M", None), ("Distance, km", "KiloM", None),
    ("Area in km²", "KiloM2", None), ("CO2 emissions (t)", "TONNE", None), ("million tonnes", "TONNE", 6),
    ("Speed (km/h)", "KiloM-PER-HR", None), ("Rainfall (in)", "IN", None), ("Current (A)", "A", None),
    ("Duration (min)", "MIN", None), ("Basic EPS (pence)", "CCY_GBP", -2), ("Earnings per share (cents)", None, -2),
]  # fmt: skip

NOTHING = [
    "", "Total", "Year", "Day", "Points", "Wins (W)", "Losses (L)", "Blocks (B)", "(a)", "A-1000", "SP-1,000", "(1)",
    "(unaudited)", "m", "(m)", "Note", "December 31", "2019", "Amount in 2019", "Class A", "Runs (in)", "Won", "GB",
    "M", "COP", "Gamma", "Grades", "b (pm)", "Population density (/mi²)", "Deaths (per 1000)", "Less than 1 year",
    "Est. MW (kDa)", "Fuel l/100 km", "x" * 1000,
]  # fmt: skip


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


@pytest.mark.parametrize(
    ("symbol", "name", "unit"),
    [
        ("km/h", "", "KiloM-PER-HR"), ("kg", "", "KiloGM"), ("m", "Height", "M"), ("m", "HEIGHT of towers", "M"),
        ("m", "Votes", None), ("in", "Rainfall", "IN"), ("in", "Runs", None), ("K", "Melting point", "K"),
        ("x", "Weight", None), ("year", "", None), ("Gamma", "", None), ("EUR", "", None), ("", "", None),
        ("<b>", "Weight", None), ("\u202ekg", "", None),
    ],
)  # fmt: skip
def test_which_symbols_are_units(symbol: str, name: str, unit: str | None) -> None:
    assert unit_of_symbol(symbol, name) == unit


def test_symbols_that_need_support_have_none_without_a_name() -> None:
    assert needs_support("m")
    assert not needs_support("km")
    for symbol in ("m", "g", "t", "s", "h", "l", "L", "W", "A", "V", "K", "N", "J", "in", "min", "nm"):
        assert needs_support(symbol)
        assert unit_of_symbol(symbol, "") is None


@pytest.mark.parametrize("text", [text for text, unit, scale in TEXTS if (unit, scale) != (None, None)])
def test_the_cheap_look_overlooks_no_unit(text: str) -> None:
    assert may_name_unit(text)


@given(st.text("$€%kgmMilonthusdper'0,() ", max_size=30))
def test_what_the_cheap_look_passes_over_has_no_unit(text: str) -> None:
    if not may_name_unit(text):
        assert parse_unit_phrase(text) is None


@pytest.mark.parametrize("text", ["", "Sales, net", "Total", "a of the", "\u202e", "<script>"])
def test_ordinary_words_are_passed_over(text: str) -> None:
    assert not may_name_unit(text)


@given(st.text(max_size=12), st.text(max_size=12))
def test_every_unit_is_qudts(symbol: str, name: str) -> None:
    found = unit_of_symbol(symbol, name)
    assert found is None or found in units()


@pytest.mark.parametrize(
    ("clause", "unit", "scale"),
    [
        ("Amounts in US$ thousands", "CCY_USD", 3), ("million tonnes", "TONNE", 6), ("× 10³ m³", "M3", 3),
        ("10**6 kg", "KiloGM", 6), ("'000", None, 3), ("$'000,000", "CCY_USD", 6), ("mUSD", "CCY_USD", 6),
        ("USDm", "CCY_USD", 6), ("KEUR", "CCY_EUR", 3), ("$b", "CCY_USD", 9), ("bps", "PERCENT", -2),
        ("pence", "CCY_GBP", -2), ("cents", None, -2), ("‰", "PERMILLE", None),
        ("new taiwan dollars in millions", "CCY_TWD", 6), ("(millions)", None, 6),
    ],
)  # fmt: skip
def test_clauses(clause: str, unit: str | None, scale: int | None) -> None:
    assert parse_clause(clause) == Clause(unit, scale)


@pytest.mark.parametrize(
    "clause",
    ["", "cash in millions", "/ year", "COP", "TOP", "in", "$ sales", "kg EUR x y", "<b>", '"', "\u202e$", "km kg"],
)
def test_what_says_anything_else(clause: str) -> None:
    assert parse_clause(clause) is None


@pytest.mark.parametrize(
    ("clause", "name", "found"),
    [
        ("m", "Height", Clause("M")), ("m", "Population", Clause(None, 6)), ("m", "Votes", None),
        ("(t)", "CO2 emissions", Clause("TONNE")), ("min", "Played", Clause("MIN")),
    ],
)  # fmt: skip
def test_symbols_that_need_the_name_beside_them(clause: str, name: str, found: Clause | None) -> None:
    assert parse_clause(clause, name) == found


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_name_of_a_currency_is_one(word: str) -> None:
    assert parse_clause(f"in millions of {word}") == Clause(currency_unit(WORDS[word]), 6)


@pytest.mark.parametrize("sign", sorted(sign for sign in SIGNS if not sign.isalpha() and sign != "Rs."))
def test_every_sign_of_a_currency_is_one(sign: str) -> None:
    found = parse_clause(f"{sign} thousands")
    if SIGNS[sign] in currency_codes():
        assert found == Clause(currency_unit(SIGNS[sign]), 3)


@given(st.text(max_size=40), st.text(max_size=10))
def test_any_clause_is_read_and_its_unit_is_qudts(clause: str, name: str) -> None:
    found = parse_clause(clause, name)
    assert found is None or found != Clause()
    assert found is None or found.unit is None or found.unit in units()


@pytest.mark.parametrize(
    ("code", "unit", "scale", "shift"),
    [
        ("0%", "PERCENT", 0, 2), ("0.00%;[Red]-0.00%", "PERCENT", 0, 2), ('"$"#,##0.00', "CCY_USD", None, 0),
        ("$#,##0_);($#,##0)", "CCY_USD", None, 0), ("[$€-407] #,##0.00", "CCY_EUR", None, 0),
        ("#,##0.00 [$EUR]", "CCY_EUR", None, 0), ("£#,##0", "CCY_GBP", None, 0), ('#,##0 "kg"', "KiloGM", None, 0),
        ('0.0 "million"', None, 6, 0), ('"€"0.0" bn"', "CCY_EUR", 9, 0), ('[$€-2]\\ #,##0.00" m"', "CCY_EUR", 6, 0),
        ('#,##0.0" m"', "M", None, 0), ('#,##0.0" kt"', "KiloTONNE", None, 0), ('0.0,, "million"', None, None, 0),
    ],
)  # fmt: skip
def test_formats(code: str, unit: str | None, scale: int | None, shift: int) -> None:
    expected = FormatUnit(unit, scale, shift)
    assert read_number_format(code) == (None if expected == FormatUnit() else expected)


@pytest.mark.parametrize("code", ["General", "#,##0", "0.00", "@", "0.00E+00", "yyyy-mm-dd", "#,##0,", ""])
def test_formats_without_unit(code: str) -> None:
    assert read_number_format(code) is None


@given(st.text(max_size=60))
def test_any_format_is_read(code: str) -> None:
    read_number_format(code)


@pytest.mark.parametrize(
    ("text", "unit", "per"),
    [
        ("EJ/yr", "ExaJ", "yr"), ("kg CO2/MWh", "KiloGM", "MWh"), ("EUR/MWh", "CCY_EUR", "MWh"),
        ("Mt CO2", "MegaTONNE", None), ("km/h", "KiloM-PER-HR", None),
    ],
)  # fmt: skip
def test_a_unit_per_another_is_kept_whole(text: str, unit: str, per: str | None) -> None:
    phrase = parse_unit_phrase(text)
    assert phrase is not None
    assert (phrase.unit, phrase.per) == (unit, per)


@pytest.mark.parametrize("text", ["Points per game", "Yards per carry", "km/h/s/x", "per yr"])
def test_what_is_not_a_unit_per_another(text: str) -> None:
    assert parse_unit_phrase(text) is None
