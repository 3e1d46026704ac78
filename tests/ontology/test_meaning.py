"""Meaning of columns and rows: by values, arithmetic and words, and under a mapping's decision."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.ontology.annotate import annotate
from kgtable.ontology.mapping import UserMapping
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Role, Source, Table


def decided(text: str, mapping: UserMapping | None = None, delimiter: str = "|") -> Table:
    rows = tuple(tuple(line.split(delimiter)) for line in text.splitlines())
    return annotate(make_table(Grid("t", Source("t.csv"), rows, max(map(len, rows)))), mapping).table


def said(table: Table, column: int) -> str:
    meaning = table.columns[column].meaning
    assert meaning is not None
    return " ".join(filter(None, (meaning.role, meaning.kind, meaning.variant)))


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("Part no", "1001 1007 1002 1040", "Identifier"), ("Postcode", "01234 99999 04000 10115", "Identifier"),
        ("Version", "1.1 1.2 1.10 1.20", "Identifier"), ("Rank", "1 2 3 4", "Ordinal"), ("Paid", "Y N Y N", "Flag"),
        ("Bezahlt", "ja nein nein ja", "Flag"), ("Founded", "1901 1950 1988 2001", "Time"),
        ("Visitors", "120 340 95 410", "Measure Count"), ("Anzahl", "120 340 95 410", "Measure Count"),
        ("Units", "95 50 36 95", "Measure Count"), ("Unit", "95 50 36 95", "Identifier"),
        ("Revenue (EUR)", "120 340 95 410", "Measure Amount"), ("Balance (EUR)", "120 340 95 410", "Measure Level"),
        ("Kontostand (EUR)", "120 340 95 410", "Measure Level"),
        ("Price index (2015=100)", "105.2 106.0 109.5 110.1", "Measure Rate"),
        ("Unemployment", "5.2% 6.0% 9.5% 1.1%", "Measure Rate"), ("Downtime (min)", "5 90 7 30", "Measure Duration"),
        ("Unique visitors", "120 340 95 410", "Measure Rate"), ("Leaves", "12:15+AM 9:05+PM 10:30+AM 12:40+PM", "Time"),
        ("Start date", "45292 45323 45383 45400", "Time"),
        ("Lap time", "1:02.5 1:01.9 0:59.0 1:03.1", "Measure Duration"),
    ],
)  # fmt: skip
def test_a_column_is_known_by_its_values_and_words(header: str, cells: str, expected: str) -> None:
    lines = [
        f"Thing|{header}",
        *(f"name {chr(97 + at)}|{cell.replace('+', ' ')}" for at, cell in enumerate(cells.split())),
    ]
    assert said(decided("\n".join(lines)), 1) == expected


def test_arithmetic_outranks_words() -> None:
    bank = (
        "Date|Text|In|Figure\n2024-01-02|pay|100|100\n2024-01-03|tea|-5|95\n2024-01-04|rent|-40|55\n2024-01-05|x|7|62"
    )
    assert said(decided(bank), 3) == "Measure Level"
    order = "Item|Pieces|Each|All\nbolt|12|2.5|30\nnut|40|0.2|8\nwasher|7|1.1|7.7\nscrew|9|3|27"
    assert [said(decided(order), at) for at in (1, 2, 3)] == ["Measure Count", "Measure Rate", "Measure Amount"]


DEATHS = """\
Year|Sex|Age|Deaths
2020|Male|0-64|10
2020|Male|65+|40
2020|Male|All ages|50
2020|Female|0-64|6
2020|Female|65+|44
2020|Female|All ages|50
2020|Both sexes|0-64|16
2020|Both sexes|65+|84
2020|Both sexes|All ages|100"""


def test_a_category_that_adds_up_the_others_is_a_total_in_each_dimension() -> None:
    assert decided(DEATHS).structure.totals == {3, 6, 7, 8, 9}
    assert not decided(DEATHS.replace("|84", "|85")).structure.totals


def test_a_row_that_adds_up_several_others_in_several_columns_is_a_total() -> None:
    economies = "economy|pushes|developers\nUS|500|100\nEU|900|210\nDE|400|90\nFR|300|70\nIT|200|50\nJP|250|60"
    assert decided(economies).structure.summed == {2: (3, 4, 5)}


def test_a_sum_of_few_figures_is_chance_where_each_row_has_a_time_of_its_own() -> None:
    permits = "Year|Quarter|Permits\n2022|3|12\n2022|4|30\n2023|1|7\n2023|2|23\n2023|3|42"
    assert not decided(permits).structure.totals
    assert decided(permits.replace("2023|3|42", "Total||42")).structure.totals == {5}


def test_rows_that_sum_others_are_totals_whatever_they_are_called() -> None:
    levels = "Region|Sales\nEurope|30\nGermany|10\nFrance|20\nAsia|70\nJapan|40\nChina|30\nWorld|100"
    assert decided(levels).structure.summed == {1: (2, 3), 4: (5, 6), 7: (1, 4)}
    valley = "Village|1990|2005\nOberau|2140|2390\nSee|1870|1790\nTal|3320|3650\nUpper valley|4010|4180\nAll|7330|7830"
    assert sorted(decided(valley).structure.totals) == [4, 5]
    plain = "Team|Won\nA|1\nB|2\nC|3\nD|9"
    assert not decided(plain).structure.totals


def test_results_statistics_and_changes_are_no_totals() -> None:
    text = "Item|2018|2019\nSales|900|950\nCosts|(400)|(420)\nNet|500|530"
    assert not decided(text).structure.totals
    table = decided("City|Rain\nRome|700\nOslo|800\nAverage|750")
    assert (table.structure.statistics, table.structure.totals) == ({3}, frozenset())
    change = decided("Year|Sales|Staff\n2018|900|30\n2019|990|33\nChange|90|3")
    assert change.structure.changes == {3}


def test_measures_in_rows_have_kinds_of_their_own() -> None:
    table = decided("|2018|2019\nRevenue|$900|$950\nTotal assets|$4,000|$4,100\nMargin|12.5%|13.0%")
    assert [str(table.structure.measures[row]) for row in (1, 2, 3)] == ["Amount", "Level", "Rate"]
    assert said(table, 1) == "Measure"


def test_variants_tell_columns_of_one_measure_apart() -> None:
    table = decided("Department|Budget 2023|Actual 2023\nParks|100|120\nRoads|300|280")
    assert [table.columns[at].meaning.variant for at in (1, 2)] == ["budget", "actual"]  # type: ignore[union-attr]


def test_a_mapping_decides_and_says_so() -> None:
    mapping = UserMapping({("Figure", ""): {"role": "Identifier"}, ("Sum", ""): {"measure kind": "Level"}})
    table = decided("Thing|Figure|Sum\na|12|1\nb|15|2\nc|19|3", mapping)
    assert [said(table, at) for at in (1, 2)] == ["Identifier", "Measure Level"]
    meaning = table.columns[1].meaning
    assert meaning is not None
    assert (meaning.evidence, meaning.confidence, meaning.role) == (("mapping",), 1.0, Role.IDENTIFIER)


def test_bounds_are_read_in_the_unit_of_what_they_bound() -> None:
    text = "Age|% of all|95% confidence interval from|95% confidence interval to"
    rows = [f"group {at}|{at}.5|{at}.1|{at}.9" for at in range(10, 16)]
    table = make_table(Grid("t", Source("t.csv"), tuple(tuple(x.split("|")) for x in (text, *rows)), 4))
    annotated = annotate(table)
    context = annotated.quantities.row_contexts([1], ["group 10"], [()])[0]
    assert {annotated.quantities.reading(1, column, context).unit for column in (1, 2, 3)} == {"PERCENT"}  # type: ignore[union-attr]


def test_what_all_rows_of_an_order_repeat_is_of_the_order() -> None:
    by_word = decided("Order|Order total|Item|Price\nA1|90|pen|2\nA1|90|ink|3\nB2|40|pen|2\nB2|40|pad|9\nC3|10|ink|3")
    assert [column.meaning.grain for column in by_word.columns if column.meaning] == [None, 0, None, None]
    by_sum = decided("Bill|Sum|Item|Amount\nA1|90|pen|50\nA1|90|ink|40\nB2|40|pen|15\nB2|40|pad|25\nC3|10|ink|10")
    assert [column.meaning.grain for column in by_sum.columns if column.meaning] == [None, 0, None, None]


def test_what_differs_within_an_order_or_by_a_plan_is_of_the_row() -> None:
    differs = decided("Order|Order total|Item\nA1|90|pen\nA1|80|ink\nB2|40|pen\nB2|40|pad\nC3|10|ink")
    plans = decided("Member|Plan|Plan fee\nAnn|Basic|10\nBob|Basic|10\nCy|Gold|30\nDee|Gold|30\nEli|Basic|10")
    for table in (differs, plans):
        assert {column.meaning.grain for column in table.columns if column.meaning} == {None}


def test_a_result_is_not_a_part_of_what_it_is_taken_from() -> None:
    rows = "Revenue|500|600\nCosts|300|350\nGross profit|200|250\nWages|80|90\nRent|20|30\nTotal expenses|100|120"
    table = decided(f"|2023|2024\n{rows}\nNet income|100|130")
    assert table.structure.totals == {6}
    both = decided(f"|2023|2024\nSales|400|470\nFees|100|130\nTotal income|500|600\n{rows.partition('250')[2][1:]}\n"
                   "Result|400|480")  # fmt: skip
    assert both.structure.totals == {3, 6, 7}


def test_fractions_of_one_are_ratios() -> None:
    table = decided("District|Turnout rate|Width\nAlt|0.62|0.5\nBru|0.48|0.6\nCys|0.71|0.7")
    kinds = [column.meaning.quantity_kind for column in table.columns if column.meaning]
    assert kinds == [None, "DimensionlessRatio", None]


def test_most_rows_that_are_products_make_one_column_a_price() -> None:
    rows = [(number % 5 + 2, Decimal("1.25") * (number % 4 + 2)) for number in range(20)]
    paid = ["157" if number in (3, 11) else str(count * price) for number, (count, price) in enumerate(rows)]
    lines = [
        f"P{at}|{count}|{price}|{total}" for at, ((count, price), total) in enumerate(zip(rows, paid, strict=True))
    ]
    found = decided("Order|Quantity|Unit|Paid\n" + "\n".join(lines))
    assert (said(found, 2), said(found, 3)) == ("Measure Rate", "Measure Amount")
