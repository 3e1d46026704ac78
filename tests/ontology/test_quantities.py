from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.quantities import (
    COUNTED,
    UNKNOWN,
    CellContext,
    Override,
    Quantity,
    QuantityResolver,
    Reading,
    read_context,
)
from kgtable.ontology.unit_clues import read_clue
from kgtable.ontology.unit_scope import TableClues
from kgtable.tables.column_profile import profile_columns, type_cell
from kgtable.tables.model import Context, Table
from kgtable.values.decimals import scaled
from kgtable.values.units import units
from tests.ontology.support import table


def quantity(made: Table, row: int, column: int, overrides: Mapping[int, Override] | None = None) -> Quantity:
    """The quantity of a cell that is a number."""
    text = made.grid.head[row][column]
    number = type_cell(text, profile_columns(made)[column]).number
    assert number is not None, text
    return QuantityResolver(made, overrides).resolve(number, row, column, made.grid.head[row][0])


def read(made: Table, row: int, column: int) -> tuple[str, str, int]:
    """Value, unit and scale of a cell."""
    found = quantity(made, row, column)
    return f"{found.value:f}", found.unit, found.scale


REPORT = table(
    ("(in millions, except per share data)", "2019", "2018", "Change %"),
    ("Revenue", "$ 1,250", "$ 1,000", "25.0"),
    ("Cost of sales", "(500)", "(400)", "25.0"),
    ("Gross margin %", "60.0", "60.0", "—"),
    ("Effective tax rate", "21.5", "35.0", ""),
    ("Income tax at federal rate", "52", "70", ""),
    ("Basic earnings per share", "1.25", "1.00", "25.0"),
    ("Weighted average shares outstanding", "200", "190", ""),
    ("Number of employees", "3,400", "3,300", "3.0"),
    ("Current ratio", "1.8", "1.7", ""),
    ("Remaining lease term (years)", "4.5", "5.0", ""),
    ("Fiscal year", "2019", "2018", ""),
)


@pytest.mark.parametrize(
    ("row", "value", "unit", "scale"),
    [
        (1, "1250000000", "CCY_USD", 6), (2, "-500000000", "CCY_USD", 6), (3, "60.0", "PERCENT", 0),
        (4, "21.5", "PERCENT", 0), (5, "52000000", "CCY_USD", 6), (6, "1.25", "CCY_USD", 0), (7, "200000000", "NUM", 6),
        (8, "3400", "NUM", 0), (9, "1.8", "UNITLESS", 0), (10, "4.5", "YR", 0), (11, "2019", "UNITLESS", 0),
    ],
)  # fmt: skip
def test_exceptions_of_annual_reports(row: int, value: str, unit: str, scale: int) -> None:
    assert read(REPORT, row, 1) == (value, unit, scale)


def test_percent_column_beats_the_rows_money() -> None:
    assert read(REPORT, 1, 3) == ("25.0", "PERCENT", 0)
    assert read(REPORT, 6, 3) == ("25.0", "PERCENT", 0)


def test_denominator_of_values_per_share() -> None:
    assert quantity(REPORT, 6, 1).denominator == "share"
    assert quantity(REPORT, 1, 1).denominator is None


def test_the_cell_wins() -> None:
    made = table(
        ("in thousands", "2019 £m"), ("A", "$1.2bn"), ("B", "12.5%"), ("C", "5 kg"), ("D", "3"), ("E", "25 bps")
    )
    assert read(made, 1, 1) == ("1200000000", "CCY_USD", 9)
    assert read(made, 2, 1) == ("12.5", "PERCENT", 0)
    assert read(made, 3, 1) == ("5", "KiloGM", 0)
    assert read(made, 4, 1) == ("3000000", "CCY_GBP", 6)
    assert read(made, 5, 1) == ("0.25", "PERCENT", -2)


def test_number_format_is_next() -> None:
    made = table(("", "2019 £m"), ("A", "0.125"), ("B", "12"), formats={(1, 1): "0.0%", (2, 1): "[$€-407] #,##0"})
    assert read(made, 1, 1) == ("12.5", "PERCENT", 0)
    assert read(made, 2, 1) == ("12000000", "CCY_EUR", 6)
    assert quantity(made, 2, 1).unit_from == "format"


def test_column_then_row_then_group_then_corner() -> None:
    made = table(
        ("€ billions", "2019", "Weight (kg)"),
        ("Plants", "", ""),
        ("Sales ($ thousand)", "5", "7"),
        ("Costs", "6", "8"),
        ("Costs in £m", "", ""),
        ("Labour", "9", "10"),
        groups=frozenset({1, 4}),
        parents={2: 1, 3: 1, 5: 4},
    )
    assert read(made, 2, 1) == ("5000", "CCY_USD", 3)
    assert read(made, 2, 2) == ("7", "KiloGM", 0)
    assert read(made, 3, 1) == ("6000000000", "CCY_EUR", 9)
    assert read(made, 5, 1) == ("9000000", "CCY_GBP", 6)
    found = quantity(made, 5, 1)
    assert (found.unit_from, found.scale_from) == ("group", "group")


def test_rows_of_units_hold_for_their_columns() -> None:
    made = table(
        ("", "Sales", "Costs", "Margin", "Volume"),
        ("", "€m", "", "%", "kt"),
        ("A", "1", "2", "3", "4"),
        header=2,
        unit_rows=frozenset({1}),
    )
    assert [read(made, 2, column) for column in (1, 2, 3)] == [
        ("1000000", "CCY_EUR", 6),
        ("2000000", "CCY_EUR", 6),
        ("3", "PERCENT", 0),
    ]
    alone = table(("", "2019", "2018"), ("", "", "(in millions)"), ("A", "1", "2"), header=2, unit_rows=frozenset({1}))
    assert read(alone, 2, 1) == ("1000000", "UNITLESS", 6)


@pytest.mark.parametrize(
    "context",
    [
        Context(caption="Segments (in thousands of dollars)"),
        Context(title="Results, in $ thousands"),
        Context(heading=("Results", "(Dollars in thousands)")),
        Context(before=("The following table shows our segments (dollars in thousands):",)),
        Context(after=("Amounts are stated in thousands of dollars.",)),
        Context(paragraphs=("Sales rose by $ 5 million.", "Expressed in US $000's except share amounts")),
    ],
)
def test_texts_around_the_table(context: Context) -> None:
    made = table(("", "2019"), ("Sales", "12"), context=context)
    assert read(made, 1, 1) == ("12000", "CCY_USD", 3)


def test_a_mere_amount_in_the_text_is_no_scale() -> None:
    made = table(("", "2019"), ("Sales", "12"), context=Context(before=("Sales rose by $5 million in 2019.",)))
    assert read(made, 1, 1) == ("12", "UNITLESS", 0)


def test_nearer_source_beats_farther() -> None:
    context = Context(caption="In millions", paragraphs=("(in thousands)",))
    assert quantity(table(("", "2019"), ("Sales", "12"), context=context), 1, 1).scale_from == "caption"


@pytest.mark.parametrize(
    ("header", "caption", "read_as"),
    [
        (("Line", "Stops", "Passengers"), "Passengers per weekday in thousands", ("24", "12000")),
        (("Line", "Stops", "2023"), "Passengers per weekday in thousands", ("24000", "12000")),
        (("Line", "Stops", "Passengers"), "Lines, in thousands", ("24000", "12000")),
        (("Line", "Profit", "Sales"), "Sales by line in thousands", ("24000", "12000")),
        (("Line", "Stops", "Passengers"), "Passengers per weekday (in thousands)", ("24000", "12000")),
    ],
)
def test_a_scale_of_what_a_title_names_is_of_the_columns_that_it_names(
    header: tuple[str, ...], caption: str, read_as: tuple[str, ...]
) -> None:
    made = table(header, ("North", "24", "12"), ("South", "19", "7"), context=Context(caption=caption))
    assert tuple(read(made, 1, column)[0] for column in (1, 2)) == read_as


def test_dollar_signs_on_first_and_total_rows_hold_for_the_column() -> None:
    made = table(("", "2019", "Stores"), ("A", "$ 5", "7"), ("B", "3", "8"), ("Total", "$ 8", "15"))
    assert read(made, 2, 1) == ("3", "CCY_USD", 0)
    assert read(made, 2, 2) == ("8", "NUM", 0)


def test_percent_signs_on_the_first_row_hold_for_the_column() -> None:
    made = table(("", "2019"), ("A", "60.5%"), ("B", "39.5"), ("Total", "100.0%"))
    assert read(made, 2, 1) == ("39.5", "PERCENT", 0)


def test_group_of_percentages_and_of_values_per_share() -> None:
    made = table(
        ("in thousands", "2019"),
        ("As a percentage of revenue:", ""),
        ("Gross profit", "60.5"),
        ("Earnings per share:", ""),
        ("Basic", "1.25"),
        groups=frozenset({1, 3}),
        parents={2: 1, 4: 3},
    )
    assert read(made, 2, 1) == ("60.5", "PERCENT", 0)
    assert read(made, 4, 1) == ("1.25", "UNITLESS", 0)


def test_shares_with_and_without_exception() -> None:
    row = ("Weighted average number of shares", "200")
    without = table(("In thousands, except share and per share amounts", "2019"), row)
    assert read(without, 1, 1) == ("200", "NUM", 0)
    apart = table(("(Dollars in millions, shares in thousands)", "2019"), row)
    assert read(apart, 1, 1) == ("200000", "NUM", 3)


def test_cents_and_pence() -> None:
    made = table(("£m", "2019"), ("Turnover", "12"), ("Basic EPS (pence)", "45.6"))
    assert read(made, 2, 1) == ("0.456", "CCY_GBP", -2)


def test_metre_or_million() -> None:
    made = table(("", "Height (m)", "Revenue (€)"), ("A", "12m", "12m"))
    assert read(made, 1, 1) == ("12", "M", 0)
    assert read(made, 1, 2) == ("12000000", "CCY_EUR", 6)


def test_dollars_of_the_table() -> None:
    made = table(("A$ million", "2019"), ("Sales", "$ 5"))
    assert read(made, 1, 1) == ("5000000", "CCY_AUD", 6)


def test_mapping_wins() -> None:
    made = table(("in thousands", "2019"), ("Sales", "$ 5"), ("Margin", "12%"))
    overrides = {1: Override("CCY_CAD", 6)}
    found = quantity(made, 1, 1, overrides)
    assert (found.value, found.unit, found.scale, found.unit_from) == (Decimal(5_000_000), "CCY_CAD", 6, "mapping")
    assert quantity(made, 2, 1, overrides).unit == "PERCENT"


def test_ranges_are_scaled_at_both_ends() -> None:
    found = quantity(table(("in thousands", "2019"), ("Sales", "5–6")), 1, 1)
    assert (found.value, found.upper) == (5000, 6000)


def test_scaling_is_exact() -> None:
    digits = "1.2345678901234567890123456789012345678901"
    assert quantity(table(("in millions", "2019"), ("Sales", digits)), 1, 1).value == Decimal(digits + "E6")


def test_unknown_is_unitless() -> None:
    found = quantity(table(("", "2019"), ("Sales", "5")), 1, 1)
    assert (found.unit, found.unit_from, found.scale_from) == ("UNITLESS", "", "")


def test_period_of_header_label_and_group() -> None:
    made = table(
        ("", "Years Ended September 30, 2019", "Amount"),
        ("Balance at 31 December 2018", "5", "6"),
        ("2017", "", ""),
        ("Sales", "7", "8"),
        groups=frozenset({2}),
        parents={3: 2},
    )
    resolver = QuantityResolver(made)
    assert resolver.period(1, 1, "Balance at 31 December 2018") == "P1Y/2019-09-30"
    assert resolver.period(1, 2, "Balance at 31 December 2018") == "2018-12-31"
    assert resolver.period(3, 2, "Sales") == "2017"
    assert resolver.period(1, 9, "Sales") is None


def test_amounts_that_the_text_repeats_tell_the_scale() -> None:
    rows = (("", "2019"), ("Net income", "24,193"), ("Depreciation", "47,625"), ("Cash", "1,200"))
    text = "Cash of $45.0 million: net income of $24.2 million and depreciation of $47.6 million."
    assert read(table(*rows, context=Context(paragraphs=(text,))), 3, 1) == ("1200000", "CCY_USD", 3)
    unrelated = "Cash of $45.0 million: net income of $84.2 million and depreciation of $97.6 million."
    assert read(table(*rows, context=Context(paragraphs=(unrelated,))), 3, 1) == ("1200", "UNITLESS", 0)


def test_exceptions_in_a_row_of_units() -> None:
    made = table(
        ("", "2019", "Change"),
        ("", "Amount", "(%)"),
        ("", "(In thousands, except percentages)", ""),
        ("Interest income", "$30,182", "127"),
        header=3,
        unit_rows=frozenset({2}),
    )
    assert read(made, 3, 1) == ("30182000", "CCY_USD", 3)
    assert read(made, 3, 2) == ("127", "PERCENT", 0)


def test_counts_of_groups_are_not_in_a_column_of_money() -> None:
    made = table(
        ("", "Number", "$m"),
        ("Shares held in trust", "", ""),
        ("Balance at end of period", "6.9", "205"),
        groups=frozenset({1}),
        parents={2: 1},
    )
    assert read(made, 2, 2) == ("205000000", "CCY_USD", 6)


def test_corner_that_counts() -> None:
    made = table(("Number of shares (1,000)", "2019"), ("Granted", "1,001.1"))
    assert read(made, 1, 1) == ("1001100", "NUM", 3)


def test_percent_heading_that_is_another_columns() -> None:
    made = table(
        ("", "", "Percent change", "Percent change"),
        ("(Dollars in millions)", "2019", "Actual", "2018"),
        ("Americas", "$ 410", "2%", "$ 400"),
        ("Asia", "168", "0%", "163"),
        header=2,
    )
    made = Table(made.grid, replace(made.structure, corner="(Dollars in millions)"))
    assert read(made, 3, 3) == ("163000000", "CCY_USD", 6)


def test_a_symbol_below_its_name() -> None:
    made = table(("", "Height", "Class"), ("", "m", "m"), ("A", "5", "6"), header=2, unit_rows=frozenset({1}))
    assert read(made, 2, 1) == ("5", "M", 0)
    assert read(made, 2, 2) == ("6", "UNITLESS", 0)


def test_short_symbols_beside_plain_units_of_a_row_and_a_yield_in_kilograms() -> None:
    made = table(
        ("", "Yield", "Moisture", "Straw"),
        ("", "kg", "%", "g"),
        ("A", "4.2", "13", "950"),
        header=2,
        unit_rows=frozenset({1}),
    )
    assert [read(made, 2, column)[1] for column in (1, 2, 3)] == ["KiloGM", "PERCENT", "GM"]


def test_cents_without_a_currency_are_not_scaled() -> None:
    assert read(table(("", "Interval (cents)"), ("fifth", "702")), 1, 1) == ("702", "UNITLESS", 0)


def test_currency_of_dated_columns_only() -> None:
    made = table(("", "2019", "2010 rank"), ("A", "$ 5", "1"), ("B", "3", "2"))
    assert read(made, 2, 2) == ("2", "UNITLESS", 0)


def test_a_column_with_a_scale_of_its_own_takes_no_other_columns_currency() -> None:
    made = table(("", "Volume (billions)", "Cards (millions)"), ("A", "$ 2,457", "1,592"), ("B", "1,697", "916"))
    assert read(made, 2, 1) == ("1697000000000", "CCY_USD", 9)
    assert read(made, 2, 2) == ("916000000", "UNITLESS", 6)


TEXTS = st.text(max_size=40) | st.sampled_from(
    ["in millions", "£m", "%", "$", "Height (m)", "EPS", "2019", "Number of shares", "$ 5", "(3)", "12%", "5 kg", "-"]
)


@given(st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=2, max_size=6), TEXTS)
def test_any_table_is_resolved_to_units_of_qudt(rows: list[list[str]], caption: str) -> None:
    made = table(*rows, context=Context(caption=caption, paragraphs=(caption,)))
    resolver, styles = QuantityResolver(made), profile_columns(made)
    for index, row in made.body():
        for column, text in enumerate(row):
            number = type_cell(text, styles[column]).number
            resolver.period(index, column, row[0])
            if number is not None:
                found = resolver.resolve(number, index, column, row[0])
                assert found.unit in units()
                assert found.value == scaled(number.value, found.scale)


def test_names_that_are_also_units() -> None:
    made = table(("", "Points"), ("Yuan", "5"), ("Mio", "6"), ("Sales in millions", "7"))
    assert [read(made, row, 1)[1:] for row in (1, 2, 3)] == [("UNITLESS", 0), ("UNITLESS", 0), ("UNITLESS", 6)]


def context(*rows: tuple[str, ...], row: int = 1, column: int = 1, **parts: Any) -> CellContext:
    """What is said of a cell of such a table."""
    made = table(*rows, **parts)
    return read_context(TableClues(made), row, column, read_clue(made.grid.head[row][0], "row"))


@pytest.mark.parametrize(
    ("header", "label", "bare"),
    [
        ("2019", "Sales", Reading(UNKNOWN)),
        ("2019 £m", "Sales", Reading("CCY_GBP", 6, "column", "column")),
        ("2019", "Sales (£m)", Reading("CCY_GBP", 6, "row", "row")),
        ("2019 £m", "Weight (kg)", Reading("KiloGM", 0, "row", "row")),
        ("Weight (kg)", "Sales (£m)", Reading("KiloGM", 0, "column", "column")),
        ("2019 £m", "Gross margin %", Reading("PERCENT", 0, "row", "row")),
        ("2019 £m", "Number of stores", Reading(COUNTED, 0, "row")),
    ],
)
def test_column_and_row_put_together(header: str, label: str, bare: Reading) -> None:
    found = context(("", header), (label, "5")).bare
    assert (found.unit, found.scale, found.unit_from) == bare[:3]


def test_the_tables_scale_holds_for_amounts_and_shares_but_not_for_counts_and_values_per_share() -> None:
    rows = (
        ("($ in millions)", "2019"), ("Sales", "1"), ("Shares outstanding", "2"),
        ("Number of stores", "3"), ("Earnings per share", "4"),
    )  # fmt: skip
    found = [context(*rows, row=row).bare for row in (1, 2, 3, 4)]
    assert [(reading.unit, reading.scale) for reading in found] == [
        ("CCY_USD", 6), (COUNTED, 6), (COUNTED, 0), ("CCY_USD", 0),
    ]  # fmt: skip
    assert found[3].per == "share"


def test_exceptions_said_of_the_table_hold() -> None:
    rows = (("(in millions, except share amounts)", "2019"), ("Sales", "1"), ("Shares outstanding", "2"))
    assert context(*rows, row=2).bare.scale == 0
    own = (("(dollars in millions, shares in thousands)", "2019"), ("Sales", "1"), ("Shares outstanding", "2"))
    assert context(*own, row=2).bare[:2] == (COUNTED, 3)


def test_a_table_in_percent_leaves_amounts_their_own_unit() -> None:
    found = context(("", "2019"), ("Sales", "5"), context=Context(caption="As a percentage of net sales"))
    assert found.bare.unit == "PERCENT"
    assert found.amount.unit == UNKNOWN
    assert found.measure is None
