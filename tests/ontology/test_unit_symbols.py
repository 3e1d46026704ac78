from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.unit_phrases import may_name_unit, needs_support, parse_unit_phrase, unit_of_symbol
from kgtable.values.units import units
from tests.ontology.test_units import TEXTS


@pytest.mark.parametrize(
    ("symbol", "name", "unit"),
    [
        ("km/h", "", "KiloM-PER-HR"),
        ("kg", "", "KiloGM"),
        ("m", "Height", "M"),
        ("m", "HEIGHT of towers", "M"),
        ("m", "Votes", None),
        ("in", "Rainfall", "IN"),
        ("in", "Runs", None),
        ("K", "Melting point", "K"),
        ("x", "Weight", None),
        ("year", "", None),
        ("Gamma", "", None),
        ("EUR", "", None),
        ("", "", None),
        ("<b>", "Weight", None),
        ("\u202ekg", "", None),
    ],
)
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
