from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.resources import read_shipped
from kgtable.values.currencies import currency_names
from kgtable.values.units import find_printed_unit, find_unit, units


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kg", "KiloGM"),
        ("Kilograms", "KiloGM"),
        ("m", "M"),
        ("t", "TONNE"),
        ("in", "IN"),
        ("h", "HR"),
        ("A", "A"),
        ("°C", "DEG_C"),
        ("Cel", "DEG_C"),
        ("m.s-1", "M-PER-SEC"),
        ("km/h", "KiloM-PER-HR"),
        ("kilometers per hour", "KiloM-PER-HR"),
        ("square kilometres", "KiloM2"),
        ("kg/m³", "KiloGM-PER-M3"),
        ("%", "PERCENT"),
        ("$", "CCY_USD"),
        ("€", "CCY_EUR"),
        ("¥", "CCY_JPY"),
        ("CHF", "CCY_CHF"),
        ("KiloGM", "KiloGM"),
    ],
)
def test_units_by_symbol_name_and_code(text: str, name: str) -> None:
    unit = find_unit(text)
    assert unit is not None
    assert unit.name == name


def test_cells_are_stricter_than_headers() -> None:
    for text in ("pp", "A", "K", "number", "st", "goals", "points", "cups", ""):
        assert find_printed_unit(text) is None
    assert find_printed_unit("W/(m²·K)") == "W-PER-M2-K"


def test_every_printed_unit_is_in_qudt() -> None:
    lines = [
        line
        for line in read_shipped("ontologies/printed_units.csv").splitlines()
        if not line.startswith("# ")
    ]
    assert len(lines) > 200
    assert {line.split(",")[1] for line in lines[1:]} <= set(units())
    assert set(currency_names().values()) <= set(units())


def test_the_table_is_whole() -> None:
    assert len(units()) > 2_500
    euro, kilogram = units()["CCY_EUR"], units()["KiloGM"]
    assert (euro.currency, euro.symbol, euro.kinds) == ("EUR", "€", ("Currency",))
    assert (kilogram.label, kilogram.symbol) == ("Kilogram", "kg")
    assert all(unit.label for unit in units().values())


@given(st.text(max_size=80))
def test_any_text_names_a_unit_of_the_table_or_none(text: str) -> None:
    unit = find_unit(text)
    assert unit is None or units()[unit.name] is unit
    printed = find_printed_unit(text)
    assert printed is None or printed in units()
