from __future__ import annotations

from dataclasses import replace

from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import SubTable
from tests.answering.sample import SOURCE, evidence, retrieval, triple


def shown(*places: tuple[str, int, int]) -> str:
    """The fragments of some cells, the best first."""
    triples = tuple(triple(id, row, column, 9.0 - n) for n, (id, row, column) in enumerate(places))
    found = Evidence(replace(retrieval("?"), triples=triples), SOURCE)
    return SubTable().render(SubTable().units(found), found)


def test_a_fragment_has_title_headers_and_the_rows_of_the_table() -> None:
    assert shown(("accounts", 5, 2), ("accounts", 1, 1)).splitlines() == [
        "T1: Norrvik Ltd (file tables/accounts.csv), 2 of 5 rows shown",
        "row | c0 EUR million | c1 2018 (EUR million) | c2 2019 (EUR million)",
        "r1 | Revenue | 1,200 | 1,500",
        "r5 | Result | 700 | (955)",
    ]


def test_groups_stand_above_their_rows_once() -> None:
    lines = shown(("accounts", 3, 1), ("accounts", 4, 1)).splitlines()
    assert [line for line in lines if line.startswith("r")][1:] == [
        "r2 | Costs:",
        "r3 | - Staff | 400",
        "r4 | - Cloud | 100",
    ]


def test_tables_come_in_the_order_of_their_best_rows() -> None:
    text = shown(("ports", 2, 2), ("accounts", 1, 1), ("ports", 1, 2))
    first, second = text.split("\n\n")
    assert first.startswith("T2: Ports")
    assert second.startswith("T1: Norrvik")
    assert first.index("r1 |") < first.index("r2 |")


def test_no_cell_can_break_out_of_its_line() -> None:
    text = shown(("ports", 2, 3))
    assert len(text.splitlines()) == 3
    assert "rebuilt \\| 1999" in text


def test_nothing_retrieved_shows_nothing() -> None:
    assert SubTable().render((), evidence()) == ""
