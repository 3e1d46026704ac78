from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.cell_units import (
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


FILE = tomllib.loads(Path(__file__).with_name("quantities.toml").read_text(encoding="utf-8"))


def place(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


@pytest.mark.parametrize("case", FILE["case"], ids=lambda case: case["about"])
def test_quantities_of_a_table(case: dict[str, Any]) -> None:
    """``cells`` are value, unit and scale by row and column; ``said`` are further parts of a quantity."""
    parts: dict[str, Any] = {name: frozenset(case[name]) for name in ("unit_rows", "groups") if name in case}
    if "parents" in case:
        parts["parents"] = {int(row): parent for row, parent in case["parents"].items()}
    about = {name: text if isinstance(text, str) else tuple(text) for name, text in case.get("context", {}).items()}
    made = table(
        *(line.split("|") for line in case["rows"].split("\n")), header=case.get("header", 1),
        context=Context(**about), formats={place(at): code for at, code in case.get("formats", {}).items()}, **parts,
    )  # fmt: skip
    assert case.keys() & {"cells", "said"}
    for at, expected in case.get("cells", {}).items():
        assert " ".join(map(str, read(made, *place(at)))) == expected
    for key, expected in case.get("said", {}).items():
        at, _, name = key.partition(" ")
        found = getattr(quantity(made, *place(at)), name)
        assert found == (Decimal(expected) if isinstance(found, Decimal) else None if expected == "None" else expected)


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


def test_mapping_wins() -> None:
    made = table(("in thousands", "2019"), ("Sales", "$ 5"), ("Margin", "12%"))
    overrides = {1: Override("CCY_CAD", 6)}
    found = quantity(made, 1, 1, overrides)
    assert (found.value, found.unit, found.scale, found.unit_from) == (Decimal(5_000_000), "CCY_CAD", 6, "mapping")
    assert quantity(made, 2, 1, overrides).unit == "PERCENT"


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
