from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.column_profile import (
    CACHED_CELLS,
    CellKind,
    CellValue,
    ColumnStyle,
    has_simple_numbers,
    profile_columns,
    sure_words,
    type_cell,
)
from kgtable.values.dates import Order
from kgtable.values.numbers import MISSING_MARKERS, NumberStyle, parse_number
from kgtable.values.plain_numbers import read_shape, shapes_of
from kgtable.values.units import currency_names
from tests.tables.column_samples import kinds, table, typed_column


def test_year_column_and_money_column() -> None:
    assert kinds("Year", "2013", "2014[a]", "c. 1850") == ["year", "year", "number"]
    assert kinds("Revenue", "2013", "345", "1,999") == ["number"] * 3
    assert kinds("2013", "2013", "1999", "2001", "1998", "1997") == ["number"] * 5
    assert kinds("Fiscal year", "2013", "2014") == ["year"] * 2
    assert kinds("Years of service", "12", "8") == ["number"] * 2


def test_label_column_of_years() -> None:
    made = table(("", "Amount"), ("2019", "12"), ("2020", "13"), ("Thereafter", "14"))
    assert [style.is_year for style in profile_columns(made)] == [True, False]


def test_columns_that_speak_of_years() -> None:
    for name in ("Incorporation date", "Start of term", "Created", "First served", "Year appointed"):
        assert kinds(name, "1885", "1887") == ["year"] * 2
    assert kinds("Winner", "1985", "1987", "1990", "1995", "2001") == ["year"] * 5
    assert kinds("Points", "1985", "1987", "1,990", "1995", "2001") == ["number"] * 5
    assert kinds("Created", "1885", "300") == ["number"] * 2


def test_months_and_spans_of_years() -> None:
    assert typed_column("Date", "2011-10", "2011-12")[1] == (CellKind.DATE, None, "2011-12", "xsd:gYearMonth")
    assert typed_column("Season", "2010-11", "2011-12")[1].lexical == "2011/2012"


def test_dates_of_eight_figures() -> None:
    assert typed_column("birth_date", "19831112", "19880701")[0].lexical == "1983-11-12"
    assert kinds("Amount", "19831112", "19880701") == ["number"] * 2
    assert kinds("birth_date", "19831112", "19881301") == ["number"] * 2


def test_label_columns_keep_ranges_as_names() -> None:
    made = table(("Age", "Persons"), ("12 to 18", "12–18"), ("65+", "7"))
    styles = profile_columns(made)
    assert type_cell("12 to 18", styles[0]).kind is CellKind.TEXT
    assert type_cell("65+", styles[0]).kind is CellKind.TEXT
    assert type_cell("12–18", styles[1]).kind is CellKind.NUMBER


def test_date_order_is_the_columns() -> None:
    assert typed_column("Date", "01/02/2003", "25/02/2003")[0].lexical == "2003-02-01"
    assert typed_column("Date", "01/02/2003", "02/25/2003")[0].lexical == "2003-01-02"
    assert typed_column("Date", "01/02/2003")[0].lexical == "2003-01-02"


def test_decimal_comma_is_the_columns() -> None:
    values = typed_column("Preis", "1.234", "1,5")
    assert [str(value.number.value) for value in values if value.number] == ["1234", "1.5"]
    values = typed_column("Price", "1,234", "1.5")
    assert [str(value.number.value) for value in values if value.number] == ["1234", "1.5"]


def test_decimal_comma_of_another_column_decides() -> None:
    made = table(("", "a", "b"), ("x", "1.234", "0,5"), ("y", "2.345", "1,25"))
    value = type_cell("1.234", profile_columns(made)[1])
    assert value.number is not None
    assert value.number.value == 1234


def test_scores_stay_text() -> None:
    assert kinds("Score", "3–1", "1–2", "2-2") == ["text"] * 3
    assert kinds("Outcome", "3–1", "1–2") == ["text"] * 2
    assert kinds("Age", "18-24", "25-34") == ["number"] * 2
    assert kinds("Index", "0.04−0.06", "0.0−0.04") == ["number"] * 2


def test_identifiers_stay_text() -> None:
    assert kinds("Key", "007", "123") == ["text"] * 2
    assert kinds("Phone", "5551234", "5559876") == ["text"] * 2
    assert kinds("Zip code", "90210", "10001") == ["text"] * 2
    assert kinds("customer_id", "1", "2") == ["text"] * 2
    assert kinds("Amount", "7", "123") == ["number"] * 2


def test_booleans_are_the_columns() -> None:
    values = typed_column("Active", "yes", "No", "-")
    assert [(value.kind.value, value.lexical) for value in values] == [
        ("boolean", "true"),
        ("boolean", "false"),
        ("missing", None),
    ]
    assert kinds("Note", "yes", "maybe") == ["text"] * 2


def test_clock_times_need_a_header() -> None:
    assert typed_column("Start", "10:30", "11:45")[0].lexical == "10:30:00"
    assert kinds("Length", "10:30", "11:45") == ["text"] * 2


def test_marks_are_the_columns() -> None:
    assert kinds("Share", "12.3E", "10.1", "9.8", "7.7") == ["number"] * 4
    assert kinds("House", "12A", "10", "9", "7") == ["text", "number", "number", "number"]
    assert kinds("Amount", "5 (1)", "10", "9", "7") == ["number"] * 4
    assert kinds("Area", "40000 ( 7 )", "15000 ( 3 )") == ["number"] * 2
    assert kinds("Apps (goals)", "5 (1)", "10 (3)", "9 (2)", "7 (1)") == ["text"] * 4


def test_flags_right_behind_a_number_are_marks() -> None:
    found = typed_column("Output", "1,210", "1,234r", "1,250", "1,300p", "1,320")
    assert [(int(cell.number.value), *cell.number.marks) for cell in found[1:4:2] if cell.number] == [
        (1234, "r"),
        (1300, "p"),
    ]
    assert kinds("Jobs", "10", "12e", "14") == ["number"] * 3
    assert kinds("House", "12b", "12", "14", "15") == ["text", *["number"] * 3]
    assert kinds("House", "12b", "12c", "14") == ["text", "text", "number"]
    assert kinds("Lot", "12a", "14", "15") == ["text", "number", "number"]
    length = typed_column("Length", "10m", "12", "14")[0].number
    assert length is not None
    assert length.marks == ()


def test_versions_stay_text() -> None:
    assert kinds("Built", "1.1", "1.10", "3.4.1") == ["text"] * 3
    assert kinds("Version", "1.1", "1.10", "2.0") == ["text"] * 3
    assert kinds("Price", "1.1", "1.10", "2.0") == ["number"] * 3
    assert kinds("Turnover", "1.234.567", "2.345.678") == ["number"] * 2
    sections = table(("Section", "Pages"), ("1.1", "4"), ("1.2", "5"), ("1.10", "6"))
    weights = table(("Weight", "Pages"), ("1.1", "4"), ("1.2", "5"), ("1.25", "6"))
    for made, kind in ((sections, CellKind.TEXT), (weights, CellKind.NUMBER)):
        style = profile_columns(made)[0]
        assert {type_cell(text, style).kind for text in ("1.1", "1.2")} == {kind}


def test_a_marker_that_is_a_code_like_the_others_is_a_value() -> None:
    assert kinds("Country", "SE", "NA", "CL") == ["text"] * 3
    assert kinds("State", "NY", "NM", "TX", "n/a") == [*["text"] * 3, "missing"]
    assert kinds("Count", "12", "NA", "14") == ["number", "missing", "number"]
    assert kinds("Remark", "late", "NA", "fine") == ["text", "missing", "text"]
    assert kinds("Element", "Fe", "NA", "Cl") == ["text", "missing", "text"]


def test_the_order_of_dates_in_one_column_holds_where_another_does_not_tell() -> None:
    made = table(("", "From", "To"), ("a", "01/02/2003", "25/02/2003"), ("b", "03/04/2003", "05/06/2003"))
    assert [style.date_order for style in profile_columns(made)[1:]] == [Order.DAY_FIRST] * 2


@given(st.lists(st.sampled_from(["2019", "1,5", "007", "yes", "12:30", "1-2", "", "\u202e1", "<b>"]), max_size=9))
def test_the_order_of_the_rows_changes_no_style(cells: list[str]) -> None:
    rows = [(f"r{number}", cell) for number, cell in enumerate(cells)]
    assert profile_columns(table(("", "Value"), *rows))[1] == profile_columns(table(("", "Value"), *rows[::-1]))[1]


def test_cache_is_bounded() -> None:
    style = ColumnStyle()
    for number in range(2 * CACHED_CELLS):
        type_cell(f"{number}", style)
    assert len(style.cache) == CACHED_CELLS


@given(st.lists(st.text(max_size=80) | st.from_regex(r"[-($]?\d{1,9}[.,)%]?\d{0,4}", fullmatch=True), min_size=1))
def test_any_column_is_typed(cells: list[str]) -> None:
    made = table(("label", "name"), *(("row", cell) for cell in cells))
    style = profile_columns(made)[1]
    for cell in cells:
        value = type_cell(cell, style)
        assert (value.kind is CellKind.NUMBER) == (value.number is not None)
        assert (value.kind is CellKind.EMPTY) == (cell == "")
        assert type_cell(cell, style) == value


@pytest.mark.parametrize("marker", sorted(MISSING_MARKERS))
def test_every_marker_says_that_a_value_is_missing(marker: str) -> None:
    for text in (marker, f" {marker}\u00a0"):
        assert type_cell(text, ColumnStyle()) == CellValue(CellKind.MISSING)
    assert marker == marker.strip()
    assert parse_number(marker) is None


@pytest.mark.parametrize(
    ("name", "cells", "read"),
    [
        ("Running time (h:min)", ("1:37", "2:04"), ["PT1H37M", "PT2H4M"]),
        ("Hours", ("4:00", "2:30"), ["PT4H", "PT2H30M"]),
        ("Out of use", ("14 h", "3 d", "90 min"), ["PT14H", "P3D", "PT1H30M"]),
        ("Departs", ("9:26", "19:16"), ["09:26:00", "19:16:00"]),
    ],
)
def test_a_column_tells_what_its_times_are(name: str, cells: tuple[str, ...], read: list[str]) -> None:
    assert [value.lexical for value in typed_column(name, *cells)] == read


flags = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            ["is_year", "is_identifier", "is_boolean", "is_clock", "is_month", "is_compact_date", "is_duration",
             "bare_seconds", "is_of_words", "has_days_of_year"],
            st.booleans(),
        ),
        "code_lengths": st.sampled_from([frozenset(), frozenset({2})]),
        "missing_codes": st.sampled_from([frozenset(), frozenset({"nd", "-99"})]),
        "zeros": st.sampled_from([frozenset(), frozenset({"nil", "-"})]),
        "numbers": st.builds(NumberStyle, *[st.booleans()] * 7, whole_ringgit=st.booleans()),
    },
)  # fmt: skip
styles = flags.map(lambda given: ColumnStyle(**given))
plain = st.from_regex(r"\A(\$ ?)?[-(]?(0|[1-9]?\d{1,18}|\d{1,3}(,\d{3})+)(\.\d{0,19})?\)?( ?%)?\Z", fullmatch=True)
beginnings = st.sampled_from(
    sorted(
        {*MISSING_MARKERS, *currency_names(), "Q", "h", "FY", "first", "Mar", "May", "Item", "nd", "nil", "yes", "zł"}
    )
) | st.text(alphabet="abmrsuQHzłé.", max_size=5)
ends = st.sampled_from(
    ["", " ", "1", "2 2019", " 12", "3rd", ". 5", "/a", "-20", " 2020", "\n7", "'19", "quarter 2020"]
)


@given(plain, styles)
def test_what_is_plain_by_its_shape_is_that_number(text: str, style: ColumnStyle) -> None:
    (shape,) = shapes_of([text])
    number = read_shape(shape)
    alike = text.translate(str.maketrans("123456789", "912345678"))
    assert read_shape(*shapes_of([alike])) == number
    if number is None or not has_simple_numbers(style):
        return
    typed = type_cell(text, style)
    assert typed.kind is CellKind.NUMBER
    assert typed.number is not None
    assert (typed.number.unit, typed.number.scale, typed.number.upper) == (number.unit, 0, None)
    assert (typed.number.value < 0, not typed.number.value) == (number.negative and not number.zero, number.zero)


@given(beginnings, ends, styles)
def test_what_is_surely_a_text_is_a_text(beginning: str, end: str, style: ColumnStyle) -> None:
    text = beginning + end
    first = text.partition(" ")[0]
    if sure_words({first}, style) and "&" not in text:
        assert type_cell(text, style).kind is CellKind.TEXT


def test_most_words_are_surely_texts() -> None:
    words = {"Item", "alpha.12@example.org", "Total", "Norwegen", "zebra", "usual"}
    assert sure_words(words, ColumnStyle()) == words
    assert sure_words({"USD", "n/a", "Q1", "March", "12", "-", "é", "first"}, ColumnStyle()) == set()
