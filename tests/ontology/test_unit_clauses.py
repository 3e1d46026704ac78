from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.currencies import SIGNS, WORDS, currency_unit
from kgtable.values.unit_phrases import Clause, parse_clause
from kgtable.values.units import currency_codes, units


@pytest.mark.parametrize(
    ("clause", "unit", "scale"),
    [
        ("Amounts in US$ thousands", "CCY_USD", 3),
        ("million tonnes", "TONNE", 6),
        ("× 10³ m³", "M3", 3),
        ("10**6 kg", "KiloGM", 6),
        ("'000", None, 3),
        ("$'000,000", "CCY_USD", 6),
        ("mUSD", "CCY_USD", 6),
        ("USDm", "CCY_USD", 6),
        ("KEUR", "CCY_EUR", 3),
        ("$b", "CCY_USD", 9),
        ("bps", "PERCENT", -2),
        ("pence", "CCY_GBP", -2),
        ("cents", None, -2),
        ("‰", "PERMILLE", None),
        ("new taiwan dollars in millions", "CCY_TWD", 6),
        ("(millions)", None, 6),
    ],
)
def test_clauses(clause: str, unit: str | None, scale: int | None) -> None:
    assert parse_clause(clause) == Clause(unit, scale)


@pytest.mark.parametrize(
    "clause",
    [
        "",
        "cash in millions",
        "/ year",
        "COP",
        "TOP",
        "in",
        "$ sales",
        "kg EUR x y",
        "<b>",
        '"',
        "\u202e$",
        "km kg",
    ],
)
def test_what_says_anything_else(clause: str) -> None:
    assert parse_clause(clause) is None


@pytest.mark.parametrize(
    ("clause", "name", "found"),
    [
        ("m", "Height", Clause("M")),
        ("m", "Population", Clause(None, 6)),
        ("m", "Votes", None),
        ("(t)", "CO2 emissions", Clause("TONNE")),
        ("min", "Played", Clause("MIN")),
    ],
)
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
