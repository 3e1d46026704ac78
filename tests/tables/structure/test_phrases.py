from __future__ import annotations

from kgtable.tables.layout.cell_roles import Look, is_money_or_scale, is_period, look


def test_words_that_may_name_a_column_are_no_sure_unit() -> None:
    assert look("Years") is Look.UNIT
    assert not is_money_or_scale("Years")
    assert is_money_or_scale("in thousands")


def test_periods() -> None:
    assert is_period("Quarter ended June 30")
    assert not is_period("Net sales")
