from __future__ import annotations

import io

from hypothesis import given, settings

from kgtable.building.contents import ContentWriter
from kgtable.graph.table_content import CellContent, TableContent
from kgtable.graph.table_decoder import TableStatements
from kgtable.graph.table_encoder import TableShape
from kgtable.ontology.annotate import annotate
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
from tests.graph.support import NAMES, grid, triples_of
from tests.graph.test_table_decoder import grids


def encoded(table: Grid) -> TableContent:
    """What conversion says of a table."""
    shape = TableShape(annotate(make_table(table)), NAMES)
    out = io.StringIO()
    list(shape.description())
    writer = ContentWriter(shape.content(), out, with_head=True)
    for rows, said in shape.rows(make_table(table).rows()):
        writer.add(shape.content_rows(rows, said))
    writer.flush()
    parts = [line.partition("\t")[2] for line in out.getvalue().splitlines()]
    return TableContent.from_parts(table.id, parts).in_memory()


@settings(max_examples=300, deadline=None)
@given(grids)
def test_conversion_and_graph_say_the_same_of_every_grid(rows: list[tuple[str, ...]]) -> None:
    table = grid(*rows)
    assert encoded(table) == TableStatements("t", NAMES, triples_of(table)).content()


def test_every_kind_of_cell() -> None:
    table = grid(
        ("Item", "2019 ($m)", "Share", "Opened", "Range"),
        ("Pump", "1,234.50", "12.5%", "31 Dec. 1921", "5-7"),
        ("Valve", "(3)", "n/a", "1 May 1988", "8-9"),
    )
    pump = encoded(table).rows[1]  # type: ignore[index]
    cells = dict(pump.cells)
    assert cells[0] == CellContent("Pump")
    assert cells[1] == CellContent("1,234.50", True, "1234500000", "CCY_USD", "M", "POSITIVE", "2019")
    assert cells[3] == CellContent("31 Dec. 1921", True, "1921-12-31")
    assert (cells[4].value, cells[4].is_quantity) == ("5", True)
    assert encoded(table) == TableStatements("t", NAMES, triples_of(table)).content()


def test_lexical_forms_are_those_of_typed_literals_printed_otherwise() -> None:
    assert CellContent("31 Dec. 1921", True, "1921-12-31").lexical == "1921-12-31"
    assert CellContent("2019", False, "2019").lexical is None
    assert CellContent("1,234", True, "1234", "NUM").lexical is None
