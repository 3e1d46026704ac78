"""Tables read back from the statements that they become, without a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyoxigraph as ox

from kgtable.graph.table_content import CellContent
from kgtable.graph.table_decoder import DecodedTable, TableStatements
from kgtable.graph.table_encoder import TableShape
from kgtable.graph.terms import Namespaces
from kgtable.ontology.annotate import annotate
from kgtable.tables.model import Position, Table


def decode_in_memory(
    table: Table, names: Namespaces | None = None, quantities: Mapping[Position, CellContent] | None = None
) -> DecodedTable:
    """The table as its graph would give it back, with other `quantities` where they are given."""
    names = names or Namespaces()
    shape = TableShape(annotate(table), names)
    text = "".join(f"{subject} {predicate} {value} .\n" for subject, pairs in shape for predicate, value in pairs)
    triples = (quad.triple for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES))
    found = TableStatements(table.id, names, triples).whole()
    if quantities is None:
        return found
    rows = []
    for index, row in enumerate(found.rows):
        contents = {c: CellContent(n.text, n.is_node) if n.is_number else n for c, n in row.contents.items()}
        given = {c: n for (at, c), n in quantities.items() if at == index and c < len(row.cells)}
        rows.append(replace(row, contents={**contents, **given}))
    return replace(found, rows=tuple(rows))
