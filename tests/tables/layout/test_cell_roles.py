from __future__ import annotations

import pytest

from kgtable.tables.layout.cell_roles import Look, is_money_or_scale, is_period, look


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ", Look.EMPTY), ("—", Look.MISSING), ("$—", Look.MISSING), ("2019 (1)", Look.YEAR), ("(1,234)", Look.NUMBER),
        ("$ -5 ( 5 )", Look.NUMBER), ("$ 0", Look.NUMBER), ("117 (16.9)", Look.NUMBER), ("12 months", Look.TEXT),
        ("0%", Look.NUMBER), ("US $’000", Look.UNIT), ("(Dollars in millions, except percentages)", Look.UNIT),
        ("April 26, 2019", Look.DATE), ("ASC 606", Look.TEXT), ("2019 and 2018", Look.TEXT),
    ],
)  # fmt: skip
def test_look(text: str, expected: Look) -> None:
    assert look(text) is expected


def test_words_that_may_name_a_column_are_no_sure_unit() -> None:
    assert look("Years") is Look.UNIT
    assert not is_money_or_scale("Years")
    assert is_money_or_scale("in thousands")


def test_periods() -> None:
    assert is_period("Quarter ended June 30")
    assert not is_period("Net sales")
