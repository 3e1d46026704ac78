from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgtable
from kgtable.ontology.unit_arithmetic import scale_of_amounts
from kgtable.ontology.unit_clues import ColumnPrint, column_prints, currency_of_texts, read_clue, read_unit_cell
from kgtable.ontology.unit_scope import TableClues, table_statements
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Context
from kgtable.values.measures import Measure
from kgtable.values.units import units
from tests.ontology.support import table
from tests.tables.layout.grids import grid


def test_a_row_of_the_number_1000_has_no_thousands() -> None:
    clues = TableClues(table(("Order", "Price"), ("999", "12.5"), ("1000", "13.5"), ("in 1000", "14")))
    assert [clues.of_row(label) for label in ("999", "1000", "1,000")] == [None, None, None]
    thousands = clues.of_row("in 1000")
    assert thousands is not None
    assert thousands.phrase.scale == 3


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


@given(st.text(max_size=60), st.sampled_from(["column", "row", "group"]))
def test_any_name_is_read_and_its_unit_is_qudts(name: str, source: str) -> None:
    clue = read_clue(name, source)
    assert clue is None or clue.source == source
    assert clue is None or clue.phrase.unit is None or clue.phrase.unit in units()


def test_units_of_a_row_cover_the_columns_up_to_the_next() -> None:
    made = table(
        ("", "A", "B", "C", "D"), ("", "€m", "", "%", ""), ("x", "1", "2", "3", "4"), header=2, unit_rows=frozenset({1})
    )
    found = [clues[0].phrase.unit if clues else None for clues in TableClues(made).columns]
    assert found == [None, "CCY_EUR", "CCY_EUR", "PERCENT", "PERCENT"]


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


def printed(*cells: str) -> ColumnPrint:
    """What the only column of numbers prints."""
    return column_prints(table(("", "2019"), *((f"r{n}", cell) for n, cell in enumerate(cells))))[1]


@pytest.mark.parametrize(
    ("cells", "currency"),
    [
        (("$ 5", "3", "$ 8"), "CCY_USD"), (("5 €", "3"), "CCY_EUR"), (("(£ 5)", "3"), "CCY_GBP"),
        (("- $5", "3"), "CCY_USD"), (("$ —", "3"), "CCY_USD"), (("CHF 12", "3"), "CCY_CHF"),
        (("12 CHF", "3"), "CCY_CHF"), (("$ 5", "£ 3"), None), (("$ a lot", "3"), None),
        (("Fuss£ 3 " + "x" * 40, "3"), None), (("INCHF", "3"), None), ((), None), (('"', "<script>", "\u202e"), None),
    ],
)  # fmt: skip
def test_the_one_currency_of_a_column(cells: tuple[str, ...], currency: str | None) -> None:
    assert printed(*cells).currency == currency


@pytest.mark.parametrize(
    ("cells", "leads"),
    [
        (("60.5%", "39.5", "100.0%"), True), (("60.5%", "39.5"), False), (("39.5", "60.5%", "100%"), False),
        (("60%", "40%"), False), (("60%", "$ 5", "100%", "7"), False), (("(60)%", "—", "39", "1 %"), True),
    ],
)  # fmt: skip
def test_a_percent_sign_on_the_first_row_and_the_last(cells: tuple[str, ...], leads: bool) -> None:
    assert printed(*cells).leads_with_percent is leads


@given(st.lists(st.lists(st.text(max_size=12), max_size=4), max_size=4))
def test_ragged_rows_of_any_text_give_one_print_a_column(rows: list[list[str]]) -> None:
    made = table(("", "2019", "2018"), *rows)
    found = column_prints(made)
    assert len(found) == len(made.columns)
    assert all(each.currency is None or each.currency in units() for each in found)


any_text = st.text(max_size=60) | st.text("$€in milosthundper,ct(%)0 ", max_size=80)


def of_prose(text: str) -> list[tuple[str | None, int | None]]:
    found = table_statements(Context(paragraphs=(text,)), "", ())
    return list(dict.fromkeys((s.phrase.unit, s.phrase.scale) for s in found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The table (in thousands) shows sales.", [(None, 3)]),
        ("Amounts are expressed in millions of U.S. dollars.", [("CCY_USD", 6)]),
        ("Figures rounded to the nearest thousand", [(None, 3)]), ("In thousands, except per share data", [(None, 3)]),
        ("Sales rose by $5 million.", []), ("There were millions of them.", []), ("", []),
        ("<script>in millions</script>" * 2, [(None, 6)]),
    ],
)  # fmt: skip
def test_phrases_inside_sentences(text: str, found: list[tuple[str | None, int | None]]) -> None:
    assert of_prose(text) == found


@pytest.mark.parametrize("caption", ["As a percentage of revenue", "Share of sales (%)", "expressed as percent"])
def test_a_whole_table_in_percent(caption: str) -> None:
    (statement,) = table_statements(Context(caption=caption), "", ())
    assert statement.is_percent
    assert statement.phrase.unit == "PERCENT"


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (("It cost $ 5.", "And $6 more"), "CCY_USD"), (("It cost C$5.",), "CCY_CAD"), (("It cost £5 or €6.",), None),
        (("A dollar sign $ alone",), None), (("RMB 5",), "CCY_CNY"), ((), None),
    ],
)  # fmt: skip
def test_the_one_currency_of_the_texts(texts: tuple[str, ...], unit: str | None) -> None:
    assert currency_of_texts(Context(paragraphs=texts)) == unit


@given(st.lists(any_text, min_size=8, max_size=8))
def test_any_surroundings_are_read_and_units_are_qudts(texts: list[str]) -> None:
    context = Context(texts[0], (texts[1],), texts[2], (texts[3],), (texts[4],), (texts[5],))
    for statement in table_statements(context, texts[6], (texts[7],)):
        assert statement.phrase.unit is None or statement.phrase.unit in units()
        assert statement.phrase.unit or statement.phrase.scale is not None or statement.phrase.share_scale


def scale(text: str, *cells: str) -> int | None:
    rows = ((f"r{number}", cell) for number, cell in enumerate(cells))
    return scale_of_amounts(table(("", "2019"), *rows, context=Context(paragraphs=(text,))))


@pytest.mark.parametrize(
    ("text", "cells", "found"),
    [
        ("income of $24.2 million and depreciation of $47.6 million", ("24,193", "47,625"), 3),
        ("income of $24.2 million and depreciation of $47.6 million", ("24.193", "47.625"), 6),
        ("income of $24.2 million and depreciation of $47.6 million", ("24,193,000", "47,600,001"), 0),
        ("€ 1.25 billion, then RMB 3,450 million", ("1,250", "3,450"), 6),
        ("income of $24.2 million", ("24,193", "47,625"), None),
        ("income of $24.2 million, again $24.2 million", ("24,193",), None),
        ("income of $24.2 million and $84.2 million and $97.6 million", ("24,193",), None),
        ("income of $24 million and $47 million", ("24,193", "47,125"), None),
        ("growth of 24.2 million and 47.6 million", ("24,193", "47,625"), None),
        ("income of $24.2 million and $47.6 million", ("24,193%", "47,625%"), None),
        ("income of $24.2 million and $47.6 million", (), None),
    ],
)
def test_amounts_that_cells_repeat(text: str, cells: tuple[str, ...], found: int | None) -> None:
    assert scale(text, *cells) == found


@given(
    st.lists(
        st.sampled_from(["$ 24.2 million", "€1,234 thousand", "$" + "9" * 30 + " billion", "$٢٤٫٢ million", '"']),
        max_size=4,
    ),
    st.lists(st.sampled_from(["24,200", "1,234", "9" * 30, "٢٤", "-1", "", "<b>"]), max_size=4),
)
def test_any_amounts_and_cells_give_a_scale_or_none(amounts: list[str], cells: list[str]) -> None:
    assert scale(" and ".join(amounts), *cells) in {None, 0, 3, 6, 9}


@pytest.mark.parametrize(
    ("line", "unit", "scale"),
    [
        ("thousand tonnes", "TONNE", 3), ("million tonnes of carbon", "TONNE", 6), ("tonnes of carbon", None, None),
        ("by the tonne", None, None),
    ],
)  # fmt: skip
def test_a_line_below_the_title_that_is_only_a_unit(line: str, unit: str | None, scale: int | None) -> None:
    clues = TableClues(make_table(grid(f"Output of mills||\n{line}||\nMill|2000|2001\nAder|2666|2274\nBode|2927|2744")))
    assert (clues.unit and clues.unit.unit) == unit
    assert (clues.scale and clues.scale.phrase.scale) == scale


@pytest.mark.parametrize(("beside", "percent"), [(": 100.00", False), ("", True), ("by run", True), ("2024", True)])
def test_a_unit_of_a_number_in_a_title_row_is_not_the_tables(beside: str, percent: bool) -> None:
    made = table(("Run", "Count"), ("View volume (%)", beside), ("Run 1", "52"), titles=(1,))
    assert (TableClues(made).percent is not None) == percent


def test_the_measure_of_a_row_of_years_names_its_unit() -> None:
    rows = "Country|Indicator|2019|2020\nAruba|GDP (current US$)|33100|24966\nOman|People, total|106|107"
    found = make_table(grid(rows))
    clues = TableClues(found)
    units = [clues.unit_of_columns(2, clues.of_unit_columns(row)) for row in found.grid.head[1:]]
    assert [clue and clue.phrase.unit for clue in units] == ["CCY_USD", None]


@pytest.mark.parametrize(
    ("cell", "unit", "per"),
    [("EUR/MWh", "CCY_EUR", "MWh"), ("EUR/LKW", "CCY_EUR", "LKW"), ("USD/t CO2", "CCY_USD", "t CO2")],
)
def test_a_compound_unit_in_a_cell_is_kept_whole(cell: str, unit: str, per: str) -> None:
    clue = read_unit_cell(cell)
    assert clue is not None
    assert (clue.phrase.unit, clue.per) == (unit, per)


@pytest.mark.parametrize(
    ("headers", "currency"),
    [(("产品", "单价"), "CCY_CNY"), (("製品", "価格（円）"), "CCY_JPY"), (("Item", "Price"), "CCY_JPY")],
)
def test_the_yuan_and_the_yen_share_a_sign(headers: tuple[str, str], currency: str) -> None:
    assert TableClues(table(headers, ("A", "¥5"), ("B", "¥7"))).prints[1].currency == currency


def test_a_column_of_scales_and_one_of_units_tell_of_each_row(tmp_path: Path) -> None:
    (tmp_path / "trade.csv").write_text(
        "Year,Place,UOM,SCALAR_FACTOR,VALUE\n2020,Aland,Dollars,millions,12\n2020,Borea,Dollars,thousands,900\n"
        "2020,Delva,Dollars,units,450000\n",
        encoding="utf-8",
    )
    (tmp_path / "lab.csv").write_text("Sample,Result,Unit\nS1,1.5,mg/L\nS2,900,ug/L\nS3,0.002,g/L\n", encoding="utf-8")
    with kgtable.build(tmp_path, tmp_path / "kg", embedding="none") as kg:
        assert kg.ask("Which place had the highest value?", model="none").text == "Aland"
        assert kg.ask("What was the value of Borea in 2020?", model="none").value == "900000"
        assert kg.ask("Which sample had the highest result?", model="none").text == "S3"
