from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.unit_evidence import LOOKED_AT, ColumnPrint, column_prints
from kgtable.values.units import units
from tests.ontology.support import table


def printed(*cells: str) -> ColumnPrint:
    """What the only column of numbers prints."""
    return column_prints(table(("", "2019"), *((f"r{n}", cell) for n, cell in enumerate(cells))))[1]


@pytest.mark.parametrize(
    ("cells", "currency"),
    [
        (("$ 5", "3", "$ 8"), "CCY_USD"),
        (("5 €", "3"), "CCY_EUR"),
        (("(£ 5)", "3"), "CCY_GBP"),
        (("- $5", "3"), "CCY_USD"),
        (("$ —", "3"), "CCY_USD"),
        (("CHF 12", "3"), "CCY_CHF"),
        (("12 CHF", "3"), "CCY_CHF"),
        (("$ 5", "£ 3"), None),
        (("$ a lot", "3"), None),
        (("Fuss£ 3 " + "x" * 40, "3"), None),
        (("INCHF", "3"), None),
        ((), None),
        (('"', "<script>", "\u202e"), None),
    ],
)
def test_the_one_currency_of_a_column(cells: tuple[str, ...], currency: str | None) -> None:
    assert printed(*cells).currency == currency


@pytest.mark.parametrize(
    ("cells", "leads"),
    [
        (("60.5%", "39.5", "100.0%"), True),
        (("60.5%", "39.5"), False),
        (("39.5", "60.5%", "100%"), False),
        (("60%", "40%"), False),
        (("60%", "$ 5", "100%", "7"), False),
        (("(60)%", "—", "39", "1 %"), True),
    ],
)
def test_a_percent_sign_on_the_first_row_and_the_last(cells: tuple[str, ...], leads: bool) -> None:
    assert printed(*cells).leads_with_percent is leads


def test_rows_far_below_and_the_header_are_not_looked_at() -> None:
    assert printed(*["1"] * LOOKED_AT, "$ 5").currency is None
    assert column_prints(table(("$ 1", "€ 2"), ("a", "3")))[1].currency is None


@given(st.lists(st.lists(st.text(max_size=12), max_size=4), max_size=4))
def test_ragged_rows_of_any_text_give_one_print_a_column(rows: list[list[str]]) -> None:
    made = table(("", "2019", "2018"), *rows)
    found = column_prints(made)
    assert len(found) == len(made.columns)
    assert all(each.currency is None or each.currency in units() for each in found)
