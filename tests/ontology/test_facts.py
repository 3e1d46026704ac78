from __future__ import annotations

from kgtable.ontology.column_stats import (
    LONGEST_DISPLAY,
    ColumnFact,
    by_name,
    by_predicate,
    clean_text,
    display_name,
)
from kgtable.tables.model import Column

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


def test_facts_by_name_count_numbered_predicates_as_their_base() -> None:
    summaries = by_name(FACTS)
    assert summaries["Sales"].predicates == {"hasSales": 2}
    assert summaries["Sales"].units == {"CCY_USD": 7}
    assert summaries["Sales"].scales == {6: 7}


def test_order_of_facts_makes_no_difference() -> None:
    assert by_predicate(FACTS) == by_predicate(FACTS[::-1])
    assert [list(s.names) for s in by_predicate(FACTS).values()] == [
        list(s.names) for s in by_predicate(FACTS[::-1]).values()
    ]


def test_display_names() -> None:
    assert display_name(Column(0, ("Total\n", "", " revenue"))) == "Total revenue"
    assert display_name(Column(4, (" \x00",))) == "[column 5]"
    long = display_name(Column(0, ("x" * 10_000,)))
    assert len(long) < LONGEST_DISPLAY + 20
    assert long != display_name(Column(0, ("x" * 10_001,)))


def test_clean_text_can_stand_in_xml() -> None:
    assert clean_text("a\x00\x0b\ud800b\ufffec\u2028d") == "a b c d"
