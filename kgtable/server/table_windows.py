"""Windows of a table and single cells, read from the graph for the pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.terms import KGT, QUDT, RDF, RDFS, UNIT, XSD, literal_text
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.mapping_files import load_edits
from kgtable.resources import read_shipped
from kgtable.server.frames import Head
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.values.units import units

NodeStatements: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


@dataclass(frozen=True)
class Layout:
    """What holds for every window of a table: its description and its columns."""

    facts: dict[str, list[str]]
    texts: dict[str, tuple[str, ...]]
    titles: tuple[str, ...]
    predicates: tuple[str, ...]

    def number(self, name: str, default: int = 0) -> int:
        """A number of the table's description."""
        return int(self.facts.get(KGT + name, [str(default)])[0])

    def first(self, name: str) -> str:
        """A text of the table's description, empty where there is none."""
        return self.facts.get(name, [""])[0]


@lru_cache(maxsize=64)
def layout_of(graph: KnowledgeGraph, id: str) -> Layout:
    """The layout of a table."""
    iri = ox.NamedNode(graph.names.table_iri(id))
    facts: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[int, str]]] = {}
    for row in ask(graph, "table-facts", table=iri):
        predicate, value = row["predicate"].value, row["object"]
        if row["text"] is not None:
            name = predicate.removeprefix(KGT)
            texts.setdefault(name, []).append((int(row["order"].value), text_of(row["text"])))
        else:
            facts.setdefault(predicate, []).append(
                text_of(value) if isinstance(value, ox.Literal) else value.value
            )
    width = int(facts.get(KGT + "width", ["0"])[0])
    titles, predicates = [""] * width, [""] * width
    for row in ask(graph, "table-columns", table=iri):
        index = int(row["index"].value)
        predicates[index] = row["predicate"].value
        titles[index] = "" if row["title"] is None else text_of(row["title"])
    ordered = {name: tuple(text for _, text in sorted(pairs)) for name, pairs in texts.items()}
    return Layout(facts, ordered, tuple(titles), tuple(predicates))


def row_of(
    graph: KnowledgeGraph, id: str, layout: Layout, index: int
) -> tuple[dict[int, str], frozenset[str], dict[str, list[NodeStatements]]]:
    """The texts of a row by column, the classes of the row, and its statements by predicate."""
    places = {predicate: column for column, predicate in enumerate(layout.predicates)}
    names = graph.names
    table = ox.NamedNode(names.table_iri(id))
    cells: dict[int, str] = {}
    printed: dict[int, str] = {}
    statements: dict[str, list[NodeStatements]] = {}
    for found in ask(graph, "table-row", table=table, row=ox.NamedNode(names.row_iri(id, index))):
        predicate, value = found["predicate"].value, found["object"]
        statements.setdefault(predicate, []).append(value)
        if predicate == KGT + "printed" and found["text"] is not None:
            address = names.parse_cell_iri(value.value)
            if address is not None:
                printed[address.column] = text_of(found["text"])
        elif predicate in places:
            text = found["text"] if isinstance(value, ox.NamedNode) else value
            cells[places[predicate]] = "" if text is None else text_of(text)
    types = frozenset(value.value for value in statements.get(f"{RDF}type", ()))
    if types & {f"{KGT}HeaderRow", f"{KGT}TitleRow"}:
        number = ox.Literal(str(index), datatype=ox.NamedNode(f"{XSD}integer"))
        for found in ask(graph, "header-cells", table=table, index=number):
            cells[int(found["column"].value)] = text_of(found["text"])
    return {**cells, **printed}, types, statements


@lru_cache(maxsize=20_000)
def group_rows(graph: KnowledgeGraph, id: str, index: int) -> tuple[int, ...]:
    """The rows of the groups a row is in, the innermost first."""
    path: list[int] = []
    table = ox.NamedNode(graph.names.table_iri(id))
    while len(path) < 20:
        row = ox.NamedNode(graph.names.row_iri(id, path[-1] if path else index))
        parents = [found["object"].value for found in ask(graph, "group", table=table, row=row)]
        if not parents or not parents[0].rpartition("/")[2].isdigit():
            break
        parent = int(parents[0].rpartition("/")[2])
        if parent in path:
            break
        path.append(parent)
    return tuple(path)


@contextmanager
def sound_table(id: str) -> Iterator[None]:
    """Turns what goes wrong where a table's statements were changed by hand into a `GraphError`."""
    try:
        yield
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise GraphError(
            f"The statements about table {id!r} are incomplete or damaged.",
            hint="Building the graph again restores them.",
        ) from error


def ask(graph: KnowledgeGraph, name: str, **bindings: ox.NamedNode | ox.Literal) -> Iterable[Any]:
    """The solutions of one of the pages' queries."""
    found = graph.store.query(read_shipped(f"queries/explorer/{name}.rq"), bindings=bindings)
    assert isinstance(found, ox.QuerySolutions)
    return found


def text_of(value: ox.Literal) -> str:
    """The text a literal of the graph stands for."""
    return literal_text(value.value, value.datatype.value)


def forget_grids() -> None:
    """Lets go of what is remembered of a graph that is closed."""
    layout_of.cache_clear()
    group_rows.cache_clear()


Tell: TypeAlias = Callable[[str, Any], None]

LONGEST_TEXT = 2_000
"""Characters of a cell that a window shows; the cell itself tells the rest."""
AROUND = 2
"""Rows shown above and below a cited one."""

_KINDS = (
    ("Group", "group"),
    ("TotalRow", "total"),
    ("FootnoteRow", "footnote"),
    ("HeaderRow", "header"),
    ("TitleRow", "title"),
)


def table(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Some rows and columns of a table: a window from `row` and `column`, or the rows `around` some.

    The rows above the body come with every window.
    """
    id = job["id"]
    if id not in graph.catalogue.tables:
        raise GraphNotFoundError(f"The graph holds no table {id!r}.")
    record = graph.catalogue.tables[id]
    layout = layout_of(graph, id)
    body_start = layout.number("bodyStart")
    if job["around"]:
        wanted = {row + step for row in job["around"] for step in range(-AROUND, AROUND + 1)}
    else:
        wanted = set(range(job["row"], job["row"] + job["rows"]))
    rows = sorted({*range(min(body_start, 20)), *wanted} & set(range(record.rows)))
    columns = range(job["column"], min(record.width, job["column"] + job["columns"]))
    return {
        "id": id,
        "iri": graph.names.table_iri(id),
        "title": record.title or id,
        "file": record.path,
        "sheet": record.sheet,
        "heading": layout.texts.get("heading", ()),
        "before": layout.texts.get("before", ()),
        "after": layout.texts.get("after", ()),
        "paragraphs": layout.texts.get("paragraph", ()),
        "caption": layout.first(KGT + "caption"),
        "marks": json.loads(layout.first(KGT + "marks") or "{}"),
        "label_column": layout.number("labelColumn"),
        "body_start": body_start,
        "rows_total": record.rows,
        "width": record.width,
        "columns": [
            {"index": index, "title": layout.titles[index], "predicate": layout.predicates[index]}
            for index in columns
        ],
        "rows": [_row(graph, id, layout, index, columns) for index in rows],
    }


def csv(graph: KnowledgeGraph, job: Head, tell: Tell) -> bytes:
    """The whole table as CSV, as it was read."""
    return graph.tables[job["id"]].to_csv().encode("utf-8", "surrogatepass")


def _row(graph: KnowledgeGraph, id: str, layout: Layout, index: int, columns: range) -> dict[str, Any]:
    """One row: its kind, how deep it is nested, and the texts of the wanted columns."""
    cells, types, _ = row_of(graph, id, layout, index)
    kind = next((kind for name, kind in _KINDS if KGT + name in types), "body")
    return {
        "index": index,
        "kind": kind,
        "depth": len(group_rows(graph, id, index)),
        "cells": [cells.get(column, "")[:LONGEST_TEXT] for column in columns],
    }


LARGEST_EXPLAINED = 100_000
"""Cells of a table beyond which it is not read as a whole just to say where a unit came from."""

_ROW_QUERY = """SELECT ?predicate ?object WHERE {{
  GRAPH <{table}> {{ <{row}> ?predicate ?object }}
}}"""
_SCALES = {"T": "thousands", "M": "millions", "B": "billions", "TN": "trillions"}


def cell(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A cell by table id, row and column. Raises `GraphNotFoundError` where the table has no such cell."""
    id, row, column = job["id"], job["row"], job["column"]
    record = graph.catalogue.tables.get(id)
    if record is None or row >= record.rows or column >= record.width:
        raise GraphNotFoundError(f"Table {id!r} has no cell in row {row}, column {column}.")
    layout = layout_of(graph, id)
    texts, _, statements = row_of(graph, id, layout, row)
    names = graph.names
    iri, row_iri = names.cell_iri(id, row, column), names.row_iri(id, row)
    table_node = ox.NamedNode(names.table_iri(id))
    own = list(ask(graph, "cell", table=table_node, cell=ox.NamedNode(iri)))
    facts = {found["predicate"].value: found["object"] for found in own}
    predicate = layout.predicates[column]
    in_row = [value for value in statements.get(predicate, ()) if value.value]
    unit = _local(facts.get(f"{QUDT}hasUnit"))
    scale = _lexical(facts.get(f"{KGT}scale"))
    typed = next((value for value in in_row if isinstance(value, ox.Literal)), None)
    value = _lexical(facts.get(f"{QUDT}numericValue") or facts.get(f"{KGT}lowerBound"))
    unit_from, scale_from = _sources(graph, id, row, column) if unit else ("", "")
    label = statements.get(f"{RDFS}label", [])
    text = texts.get(column, "")
    return {
        "text": text,
        "iri": iri,
        "row_iri": row_iri,
        "table": id,
        "row": row,
        "column": column,
        "value": value if value is not None or typed is None else typed.value,
        "upper": _lexical(facts.get(f"{KGT}upperBound")),
        "datatype": typed.datatype.value if typed is not None and value is None else None,
        "unit": unit,
        "unit_iri": f"{UNIT}{unit}" if unit else None,
        "unit_label": units()[unit].label if unit in units() else None,
        "unit_from": unit_from,
        "scale": scale,
        "scale_label": _SCALES.get(scale or ""),
        "scale_from": scale_from,
        "period": _lexical(facts.get(f"{KGT}period")),
        "header": layout.titles[column],
        "label": text_of(label[0]) if label and isinstance(label[0], ox.Literal) else "",
        "groups": [_label(graph, id, group) for group in reversed(group_rows(graph, id, row))],
        "predicate": predicate if in_row else None,
        "query": _ROW_QUERY.format(table=table_node.value, row=row_iri),
        "triples": [
            *(
                {"predicate": predicate, "object": _labelled(value, texts.get(column, ""))}
                for value in in_row
            ),
            *({"predicate": found["predicate"].value, "object": term_json(found["object"])} for found in own),
        ],
    }


def term_json(value: NodeStatements) -> dict[str, Any]:
    """A term for the pages."""
    if isinstance(value, ox.NamedNode):
        return {"type": "uri", "value": value.value}
    if isinstance(value, ox.BlankNode):
        return {"type": "bnode", "value": value.value}
    return {
        "type": "literal",
        "value": text_of(value),
        "datatype": value.datatype.value,
        "language": value.language,
    }


def _labelled(value: NodeStatements, text: str) -> dict[str, Any]:
    """The term of a cell, which as a node is called by its text."""
    term = term_json(value)
    return {**term, "label": text[:200]} if term["type"] == "uri" else term


def _sources(graph: KnowledgeGraph, id: str, row: int, column: int) -> tuple[str, str]:
    """What unit and scale of a number were read from, found by reading the table once more."""
    if graph.catalogue.tables[id].cells > LARGEST_EXPLAINED:
        return "", ""
    annotated = _annotated(graph, id)
    rows = annotated.table.grid.head
    if row >= len(rows) or column >= len(rows[row]):
        return "", ""
    value = type_cell(rows[row][column], annotated.styles[column])
    if value.kind is not CellKind.NUMBER or value.number is None:
        return "", ""
    label_column = annotated.table.structure.label_column
    label = rows[row][label_column] if label_column < len(rows[row]) else ""
    quantity = annotated.quantities.resolve(value.number, row, column, label)
    return quantity.unit_from, quantity.scale_from


@lru_cache(maxsize=16)
def _annotated(graph: KnowledgeGraph, id: str) -> AnnotatedTable:
    return annotate(graph.tables[id].table, load_edits(graph.path).mapping)


def _label(graph: KnowledgeGraph, id: str, row: int) -> str:
    texts, _, statements = row_of(graph, id, layout_of(graph, id), row)
    label = statements.get(f"{RDFS}label", [])
    if label and isinstance(label[0], ox.Literal):
        return text_of(label[0])
    return next((text.strip() for _, text in sorted(texts.items()) if text.strip()), f"row {row + 1}")


def _lexical(value: NodeStatements | None) -> str | None:
    return text_of(value) if isinstance(value, ox.Literal) else None


def _local(value: NodeStatements | None) -> str | None:
    return value.value.removeprefix(UNIT) if isinstance(value, ox.NamedNode) else None


def forget_cells() -> None:
    """Lets go of what is remembered of a graph that is closed."""
    _annotated.cache_clear()
