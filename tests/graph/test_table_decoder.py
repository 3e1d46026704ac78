from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.building.load import fill_store
from kgtable.errors import GraphError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_decoder import TableStatements
from kgtable.graph.table_source import read_table
from kgtable.graph.terms import Namespaces
from kgtable.ontology.annotate import annotate
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Area, Grid, Table
from tests.graph.support import NAMES, grid, text_of, triples_of

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=12)
telling_text = st.sampled_from(
    ["", " ", "0", "-", "n/a", "1,234.50", "$ 12bn", "12.5%", "(3)", "2013", "31 Dec. 2024", "yes", "TRUE",
     "1–2", "Total", "  - Cloud", "Q3 2020", "007", "1e5", "3 ¾", "2020-01-01", "true", "\u202e1", "12[3]"]
)  # fmt: skip
cell = st.one_of(any_text, telling_text)
grids = st.lists(st.lists(cell, max_size=5).map(tuple), min_size=1, max_size=7)


def decoded(triples: Iterable[ox.Triple], id: str, names: Namespaces) -> Table:
    return TableStatements(id, names, triples).table()


@settings(max_examples=300)
@given(grids)
def test_every_grid_comes_back_through_nquads(rows: list[tuple[str, ...]]) -> None:
    table = grid(*rows)
    assert decoded(triples_of(table), "t", NAMES).grid.rows == table.rows


@settings(max_examples=3, deadline=None)
@given(st.lists(grids, min_size=20, max_size=30))
def test_every_grid_comes_back_through_a_store(contents: list[list[tuple[str, ...]]]) -> None:
    tables = [grid(*rows, id=f"t{number}") for number, rows in enumerate(contents)]
    with tempfile.TemporaryDirectory() as folder:
        texts = []
        for table in tables:
            texts.append(Path(folder, table.id))
            texts[-1].write_text(text_of(table), encoding="utf-8", newline="")
        fill_store(Path(folder, "store"), texts)
        store = EmbeddedStore(Path(folder, "store"))
        for table in tables:
            assert read_table(store, table.id, NAMES).grid.rows == table.rows
        del store


def test_structure_and_context_come_back(folder: Path) -> None:
    for found in read_folder(folder):
        assert isinstance(found, Grid)
        table = annotate(make_table(found)).table
        back = decoded(triples_of(found), found.id, NAMES)
        assert back.structure == table.structure
        assert [column.meaning for column in back.columns] == [column.meaning for column in table.columns]
        assert back.context == found.context


def test_what_a_spreadsheet_says_of_cells_comes_back() -> None:
    table = grid(
        ("Region", "2019", "2020"),
        ("North", "1", "2"),
        ("South", "3", "4"),
        merged=(Area(0, 1, 0, 2),),
        formats={(1, 1): "0.0%", (2, 1): "0.0%", (1, 2): '#,##0 "kg"'},
        indents={(1, 0): 1},
        header_cells=frozenset({(0, 0), (0, 1)}),
    )
    back = decoded(triples_of(table), "t", NAMES).grid
    assert back.merged == table.merged
    assert back.formats == table.formats
    assert back.indents == {(1, 0): 1}
    assert back.header_cells == table.header_cells


def test_damaged_statements_give_a_clear_error() -> None:
    triples = [triple for triple in triples_of(grid(("a", "b"), ("1", "2"))) if "width" not in str(triple.predicate)]
    with pytest.raises(GraphError, match="'t' are incomplete or damaged"):
        decoded(triples, "t", NAMES)


def test_literals_of_other_types_are_refused() -> None:
    place = ox.NamedNode(NAMES.table_iri("t"))
    with pytest.raises(GraphError):
        decoded([ox.Triple(place, place, place)], "t", NAMES)
