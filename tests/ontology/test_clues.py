from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.unit_evidence import TableClues, read_clue
from kgtable.tables.model import Context
from kgtable.values.measures import Measure
from kgtable.values.units import units
from tests.ontology.support import table


@pytest.mark.parametrize(
    ("name", "unit", "scale", "measure"),
    [
        ("Revenue ($m)", "CCY_USD", 6, None),
        ("Basic EPS (pence)", "CCY_GBP", -2, Measure.PER_SHARE),
        ("Gross margin %", "PERCENT", 0, Measure.PERCENT),
        ("Remaining lease term (years)", "YR", None, Measure.DURATION),
        ("Number of employees", None, None, Measure.COUNT),
    ],
)
def test_what_a_name_says(name: str, unit: str | None, scale: int | None, measure: Measure | None) -> None:
    clue = read_clue(name, "column")
    assert clue is not None
    assert (clue.phrase.unit, clue.phrase.scale, clue.measure) == (unit, scale, measure)


def test_a_bare_word_names_a_row_and_is_no_unit_of_it() -> None:
    assert read_clue("Miles", "column") is not None
    assert read_clue("Miles", "row") is None
    assert read_clue("Distance in miles", "row") is not None


@pytest.mark.parametrize("name", ["", "Total", "Turnover", '"', "<script>", "\u202e", "x" * 10_000])
def test_names_that_say_nothing(name: str) -> None:
    assert read_clue(name, "column") is None


@given(st.text(max_size=60), st.sampled_from(["column", "row", "group"]))
def test_any_name_is_read_and_its_unit_is_qudts(name: str, source: str) -> None:
    clue = read_clue(name, source)
    assert clue is None or clue.source == source
    assert clue is None or clue.phrase.unit is None or clue.phrase.unit in units()


def test_units_of_a_row_cover_the_columns_up_to_the_next() -> None:
    made = table(
        ("", "A", "B", "C", "D"),
        ("", "€m", "", "%", ""),
        ("x", "1", "2", "3", "4"),
        header=2,
        unit_rows=frozenset({1}),
    )
    found = [clues[0].phrase.unit if clues else None for clues in TableClues(made).columns]
    assert found == [None, "CCY_EUR", "CCY_EUR", "PERCENT", "PERCENT"]


def test_a_text_alone_in_its_row_of_units_covers_all_columns() -> None:
    made = table(("", "A", "B"), ("", "", "€m"), ("x", "1", "2"), header=2, unit_rows=frozenset({1}))
    assert [clues[0].phrase.unit for clues in TableClues(made).columns if clues] == ["CCY_EUR", "CCY_EUR"]


def test_the_groups_above_a_row_the_innermost_first() -> None:
    made = table(
        ("", "2019"), ("Weights (kg)", ""), ("Costs (£)", ""), ("a", "1"),
        groups=frozenset({1, 2}), parents={2: 1, 3: 2},
    )  # fmt: skip
    clues = TableClues(made)
    assert [clue.phrase.unit for clue in clues.of_groups(3)] == ["CCY_GBP", "KiloGM"]
    assert clues.of_groups(1) == ()
    assert (clues.label_of(3), clues.label_of(99)) == ("a", "")


@pytest.mark.parametrize(
    ("rows", "context", "currency"),
    [
        ((("(in € millions)", "2019"), ("a", "$ 1")), Context(), ("CCY_EUR", "corner")),
        ((("", "2019"), ("a", "$ 1"), ("b", "2")), Context(), ("CCY_USD", "column cells")),
        ((("", "2019", "2018"), ("a", "$ 1", "£ 2")), Context(), (None, "")),
        ((("", "2019"), ("a", "1")), Context(paragraphs=("It cost £ 5.",)), ("CCY_GBP", "text")),
        ((("", "2019"), ("a", "1")), Context(paragraphs=("It cost £ 5 or $6.",)), (None, "")),
    ],
)
def test_the_currency_of_a_table(
    rows: tuple[tuple[str, ...], ...], context: Context, currency: tuple[str | None, str]
) -> None:
    clues = TableClues(table(*rows, context=context))
    assert (clues.currency, clues.currency_from) == currency


def test_a_table_said_to_be_in_percent_and_one_with_a_scale_as_near() -> None:
    percent = TableClues(table(("", "2019"), ("a", "1"), context=Context(caption="As a percentage of sales")))
    assert percent.percent is not None
    assert percent.scale is None
    both = TableClues(table(("(in millions, %)", "2019"), ("a", "1")))
    assert both.percent is None or both.scale is None


def test_a_table_without_rows_or_names() -> None:
    clues = TableClues(table(("",)))
    assert (clues.columns, clues.scale, clues.currency, clues.of_groups(0)) == (((),), None, None, ())
