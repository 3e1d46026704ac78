from __future__ import annotations

import pytest

from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.column_stats import QUANTITY, ColumnFact, by_predicate, clean_text
from kgtable.ontology.mapping import UserMapping
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.model import Column, Grid, Source, Structure, Table

ROWS = (("Year", "Sales", "Sales", "Code"), ("2011", "574", "173", "12"), ("2012", "602", "170", "34"))


def table(width: int = 4) -> Table:
    columns = tuple(Column(index, (name,)) for index, name in enumerate(ROWS[0]))
    grid = Grid("t", Source("t.csv"), ROWS, width)
    return Table(grid, Structure(columns, header=(0,), body_start=1))


def annotated(**decisions: str) -> AnnotatedTable:
    return annotate(table(), UserMapping({("Sales", ""): decisions}))


def quantity(made: AnnotatedTable, row: int, column: int) -> tuple[str, str, str]:
    value = type_cell(ROWS[row][column], made.styles[column])
    assert value.number is not None
    resolved = made.quantities.resolve(value.number, row, column, ROWS[row][0])
    return f"{resolved.value:f}", resolved.unit, resolved.unit_from


def test_without_a_mapping_names_follow_the_thesis() -> None:
    made = annotate(table())
    assert made.predicates == made.generated == ("hasYear", "hasSales", "hasSales_2", "hasCode")
    assert made.names == ROWS[0]


def test_a_predicate_of_the_mapping_wins_and_stays_apart() -> None:
    made = annotated(predicate="hasRevenue")
    assert made.predicates == ("hasYear", "hasRevenue", "hasRevenue_2", "hasCode")
    assert made.generated == ("hasYear", "hasSales", "hasSales_2", "hasCode")
    assert made.fact(1, {QUANTITY: 2}, {"NUM": 2}, {}).generated == "hasSales"


def test_unit_and_scale_of_the_mapping_win() -> None:
    made = annotated(unit="CCY_EUR", scale="M")
    assert quantity(made, 1, 1) == ("574000000", "CCY_EUR", "mapping")


@pytest.mark.parametrize(
    ("datatype", "kind"), [("text", CellKind.TEXT), ("number", CellKind.NUMBER), ("year", CellKind.YEAR)]
)
def test_datatype_of_the_mapping_wins(datatype: str, kind: CellKind) -> None:
    made = annotate(table(), UserMapping({("Year", ""): {"datatype": datatype}}))
    assert type_cell("2011", made.styles[0]).kind is kind


FACTS = [
    ColumnFact("b", 1, "Sales", "hasSales", ranges={"q": 2}, units={"CCY_USD": 2}, scales={6: 2}),
    ColumnFact("a", 1, "sales", "hasSales", ranges={"q": 1, "s": 4}, units={"CCY_EUR": 1}, scales={0: 1}),
    ColumnFact("a", 2, "Sales", "hasSales_2", ranges={"q": 5}, units={"CCY_USD": 5}, scales={6: 5}),
]


def test_facts_by_predicate() -> None:
    summaries = by_predicate(FACTS)
    assert list(summaries) == ["hasSales", "hasSales_2"]
    assert summaries["hasSales"].tables == ("a", "b")
    assert list(summaries["hasSales"].names) == ["Sales", "sales"]
    assert list(summaries["hasSales"].ranges.items()) == [("s", 4), ("q", 3)]


def test_order_of_facts_makes_no_difference() -> None:
    assert by_predicate(FACTS) == by_predicate(FACTS[::-1])
    assert [list(s.names) for s in by_predicate(FACTS).values()] == [
        list(s.names) for s in by_predicate(FACTS[::-1]).values()
    ]


def test_clean_text_can_stand_in_xml() -> None:
    assert clean_text("a\x00\x0b\ud800b\ufffec\u2028d") == "a b c d"
