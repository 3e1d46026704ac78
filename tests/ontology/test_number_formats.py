from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.unit_phrases import FormatUnit, read_number_format


@pytest.mark.parametrize(
    ("code", "unit", "scale", "shift"),
    [
        ("0%", "PERCENT", 0, 2),
        ("0.00%;[Red]-0.00%", "PERCENT", 0, 2),
        ('"$"#,##0.00', "CCY_USD", None, 0),
        ("$#,##0_);($#,##0)", "CCY_USD", None, 0),
        ("[$€-407] #,##0.00", "CCY_EUR", None, 0),
        ("#,##0.00 [$EUR]", "CCY_EUR", None, 0),
        ("£#,##0", "CCY_GBP", None, 0),
        ('#,##0 "kg"', "KiloGM", None, 0),
        ('0.0 "million"', None, 6, 0),
        ('"€"0.0" bn"', "CCY_EUR", 9, 0),
        ('[$€-2]\\ #,##0.00" m"', "CCY_EUR", 6, 0),
        ('#,##0.0" m"', "M", None, 0),
        ('#,##0.0" kt"', "KiloTONNE", None, 0),
        ('0.0,, "million"', None, None, 0),
    ],
)
def test_formats(code: str, unit: str | None, scale: int | None, shift: int) -> None:
    expected = FormatUnit(unit, scale, shift)
    assert read_number_format(code) == (None if expected == FormatUnit() else expected)


@pytest.mark.parametrize("code", ["General", "#,##0", "0.00", "@", "0.00E+00", "yyyy-mm-dd", "#,##0,", ""])
def test_formats_without_unit(code: str) -> None:
    assert read_number_format(code) is None


@given(st.text(max_size=60))
def test_any_format_is_read(code: str) -> None:
    read_number_format(code)
