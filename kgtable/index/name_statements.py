"""Inferred names as RDF: of a column or table the proposed name, how sure it is, and what it rests on.

They stand beside the header as it was printed (``csvw:titles``), which they never replace.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, XSD, Block, Namespaces, text_literal, typed
from kgtable.ontology.inferred_names import InferredName, InferredNames
from kgtable.resources import read_shipped

LABEL, CONFIDENCE, BASIS = f"{KGT}inferredLabel", f"{KGT}inferredConfidence", f"{KGT}inferredFrom"

NAMED_BY = (LABEL, CONFIDENCE, BASIS)
"""The predicates of columns and tables that state an inferred name."""


def name_blocks(inferred: InferredNames, names: Namespaces) -> Iterator[Block]:
    """What is stated of each column and table whose name was inferred."""
    for name in inferred:
        at = names.table_iri(name.table) if name.column is None else names.column_iri(name.table, name.column)
        yield (
            f"<{at}>",
            [
                (f"<{LABEL}>", text_literal(name.name)),
                (f"<{CONFIDENCE}>", typed(f"{name.confidence:.2f}", f"{XSD}decimal")),
                (f"<{BASIS}>", text_literal(name.basis)),
            ],
        )


def stated_names(store: TripleStore, names: Namespaces) -> InferredNames:
    """The inferred names that a graph states. Raises `QueryError`, `RemoteStoreError`."""
    found = store.query(read_shipped("queries/inferred-names.rq"))
    assert isinstance(found, ox.QuerySolutions)
    return InferredNames(
        InferredName(
            names.parse_table_iri(row["table"].value) or "",
            None if row["column"] is None else int(row["column"].value),
            row["label"].value,
            float(row["confidence"].value),
            row["basis"].value,
        )
        for row in found
    )
