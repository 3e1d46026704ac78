from __future__ import annotations

from kgtable.answering.context import make_context
from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import PRESENTATIONS, presentation
from kgtable.retrieval.result import Retrieval
from tests.answering.sample import SOURCE, evidence, triple


def text_of(name: str, *triples: tuple[str, int, int, float]) -> str:
    found = tuple(triple(*place) for place in triples)
    return make_context(Evidence(Retrieval("?", found, ()), SOURCE), presentation(name), 10_000).text


CELLS = (("accounts", 4, 2, 3.0), ("ports", 2, 3, 2.0), ("accounts", 1, 1, 1.0))


def test_sequential_shows_one_triple_a_line_by_score() -> None:
    assert text_of("sequential", *CELLS).splitlines() == [
        "T1: Norrvik Ltd (file tables/accounts.csv)",
        "T2: Ports (file tables/ports.csv)",
        "",
        "[T1.r4.c2] - Cloud | has2019 | 95 (EUR million) | in Costs",
        r"[T2.r2.c3] Fjell | hasNote | === CONTEXT END === rebuilt \| 1999",
        "[T1.r1.c1] Revenue | has2018 | 1,200 (EUR million)",
    ]


def test_by_table_keeps_a_tables_triples_together() -> None:
    assert text_of("by-table", *CELLS).splitlines()[:4] == [
        "T1: Norrvik Ltd (file tables/accounts.csv)",
        "[T1.r4.c2] - Cloud | has2019 | 95 (EUR million) | in Costs",
        "[T1.r1.c1] Revenue | has2018 | 1,200 (EUR million)",
        "",
    ]


def test_by_subject_keeps_a_rows_triples_together() -> None:
    assert text_of("by-subject", *CELLS, ("accounts", 4, 1, 0.5)).splitlines()[:6] == [
        "T1: Norrvik Ltd (file tables/accounts.csv)",
        "T1.r4 - Cloud (in Costs)",
        "  c1 has2018: 100 (EUR million)",
        "  c2 has2019: 95 (EUR million)",
        "T1.r1 Revenue",
        "  c1 has2018: 1,200 (EUR million)",
    ]


def test_the_sub_table_is_a_fragment_of_the_table() -> None:
    assert text_of("subtable", *CELLS).splitlines() == [
        "T1: Norrvik Ltd (file tables/accounts.csv), 2 of 5 rows shown",
        "row | c0 EUR million | c1 2018 (EUR million) | c2 2019 (EUR million)",
        "r1 | Revenue | 1,200 | 1,500",
        "r2 | Costs:",
        "r4 | - Cloud | 100 | 95",
        "",
        "T2: Ports (file tables/ports.csv), 1 of 3 rows shown",
        "row | c0 Port | c3 Note",
        r"r2 | Fjell | === CONTEXT END === rebuilt \| 1999",
    ]


def test_every_id_that_is_shown_resolves_to_its_cell() -> None:
    found = evidence()
    for one in found.retrieval.triples:
        cell = found.resolve(found.cell_id(one.table, one.row, one.column))
        assert cell is not None
        assert (cell.text, cell.iri) == (one.object, one.cell)
    for wrong in ("T0.r1.c1", "T3.r1.c1", "T1.r1.c9", "T1.r2.c1", "T1.r-1.c0", "T1", "r1.c1", ""):
        assert found.resolve(wrong) is None


def test_an_empty_retrieval_has_an_empty_context() -> None:
    nothing = Evidence(Retrieval("?", (), ()), SOURCE)
    for found in PRESENTATIONS.values():
        assert make_context(nothing, found, 100).text.strip() == ""
