"""Windows of a table and single cells, read from the graph for the pages.

A window has the rows in the order of the table or of one of its columns, all of them or those that hold a text.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyoxigraph as ox

from kgtable.answering.charts import ChartPoint, chart_of
from kgtable.building.catalogue import TableRecord, counted_rows
from kgtable.building.export import write_parquet
from kgtable.building.workbook_export import write_workbook
from kgtable.errors import GraphNotFoundError, UsageError
from kgtable.graph.table_content import CellContent
from kgtable.graph.table_decoder import ObjectTerm, TableFrame, TableRow, text_of
from kgtable.graph.terms import UNIT
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.column_stats import ColumnFact, display_name, evidence_text, said_meaning
from kgtable.ontology.inferred_names import SURE_FROM, USED_FROM, is_missing_header, is_missing_title
from kgtable.ontology.mapping_files import load_edits
from kgtable.resources import read_shipped
from kgtable.server.views.answer_card import drawn
from kgtable.server.views.table_columns import columns_of, members, rows_aside
from kgtable.server.views.table_facets import Conditions, conditions, forget_facets, fulfilling
from kgtable.server.views.table_list import titled
from kgtable.server.workers.messages import Head, Tell
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.model import Meaning, Row, Table, spreadsheet_reference
from kgtable.values.periods import find_period
from kgtable.values.spoken import spoken_period, unit_name, unit_symbol
from kgtable.values.units import SCALE_LETTERS, scale_name

LARGEST_SORTED = 2_000_000
"""Maximum cells of a table that can be sorted and searched on the page."""


@lru_cache(maxsize=16)
def row_order(
    graph: KnowledgeGraph, id: str, sort: int | None, descending: bool, find: str, where: Conditions = ()
) -> tuple[int, ...]:
    """The rows of the body in the order of the column `sort`, those alone that hold the text `find` and fulfil the
    conditions `where`.

    Numbers go by value, unit and scale applied, dates by time, texts by their letters; what is blank comes
    last, followed by totals and notes, which are not members. Raises `UsageError` for a table that is too
    large.
    """
    record = graph.catalogue.tables[id]
    if record.cells > LARGEST_SORTED:
        raise UsageError("This table is too large to be sorted on the page.", hint="Ask by SPARQL.")
    body = range(graph.reader.frame(id).table.structure.body_start, record.rows)
    columns = columns_of(graph, id)
    rows = [row for row in columns.holding(find) if row in body] if find else list(body)
    if where:
        held = fulfilling(graph, id, where) & members(graph, id)
        rows = [row for row in rows if held[row]]
    if sort is None:
        return tuple(rows)
    aside = rows_aside(graph, id)
    keys = columns.keys(sort)
    body_rows = [row for row in rows if row not in aside]
    ordered = sorted((row for row in body_rows if row in keys), key=keys.__getitem__, reverse=descending)
    blank = [row for row in body_rows if row not in keys]
    return (*ordered, *blank, *(row for row in rows if aside.get(row, "Group") != "Group"))


def ask(graph: KnowledgeGraph, name: str, **bindings: ox.NamedNode | ox.Literal) -> Iterable[Any]:
    """The solutions of one of the pages' queries."""
    found = graph.store.query(read_shipped(f"queries/explorer/{name}.rq"), bindings=bindings)
    assert isinstance(found, ox.QuerySolutions)
    return found


LONGEST_TEXT = 2_000
"""Characters of a cell that a window shows; the cell's own page shows the rest."""
AROUND = 2
"""Rows shown above and below a cited one."""
BESIDE, FIRST_COLUMNS = 1, 2
"""Columns shown left and right of a cited one, and those shown anyway."""
FEW_ROWS, FEW_COLUMNS = 16, 9
"""A table up to this size is shown whole around its citations."""
MOST_NOTES = 100
"""Rows at the end of a table that are searched for printed footnotes."""
MOST_HEAD_ROWS = 20
"""Rows above the body that come with every window."""

_KINDS = (
    ("Group", "group"),
    ("TotalRow", "total"),
    ("StatisticRow", "statistic"),
    ("ChangeRow", "change"),
    ("FootnoteRow", "footnote"),
    ("HeaderRow", "header"),
    ("TitleRow", "title"),
)


def table(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Some rows and columns of a table, and its surrounding texts.

    The rows are a window from `row` on, or those `around` some; the columns a window from `column` on, or
    the column of labels and those `across` some. With `sort` (a column), `find` (a text of a cell) or `where`
    (columns with their values), `row` counts the rows of the body in that order, or those that fulfil that.
    The rows above the body come with every window. Raises `GraphNotFoundError`.
    """
    id = job["id"]
    record = _record(graph, id)
    frame = graph.reader.frame(id)
    structure, context = frame.table.structure, frame.table.context
    head = min(structure.body_start, MOST_HEAD_ROWS)
    order = None
    where = conditions(job)
    if job.get("sort") is not None or job.get("find") or where:
        order = row_order(graph, id, job.get("sort"), bool(job.get("descending")), job.get("find") or "", where)
    if order is not None:
        wanted = list(order[job["row"] : job["row"] + job["rows"]])
    elif job["around"] and record.rows > FEW_ROWS:
        steps = range(-AROUND, AROUND + 1)
        wanted = sorted({row + step for row in job["around"] for step in steps} & set(range(record.rows)))
    else:
        wanted = list(range(job["row"], min(record.rows, job["row"] + job["rows"])))
    numbers = [*range(min(head, record.rows)), *(row for row in wanted if row >= head)]
    rows = graph.reader.rows(id, numbers)
    columns = _columns(job, record.width, structure.label_column)
    return {
        **_named(graph, id, record),
        "heading": context.heading,
        "before": context.before,
        "caption": context.caption,
        "notes": _notes(graph, frame, id),
        "around": _beside(frame),
        "direction": direction(frame, rows.values()),
        "label_column": structure.label_column,
        "body_start": structure.body_start,
        "head": head,
        "rows_total": record.rows,
        "members": record.members,
        "counted": counted_rows(record.members, record.totals),
        "rows_shown": record.rows - head if order is None else len(order),
        "width": record.width,
        "columns": [_column(graph, frame, record, index) for index in columns],
        "rows": [_row(frame, index, rows.get(index, TableRow(())), columns) for index in numbers],
    }


def _record(graph: KnowledgeGraph, id: str) -> TableRecord:
    if id not in graph.catalogue.tables:
        raise GraphNotFoundError(f"The graph holds no table {id!r}.")
    return graph.catalogue.tables[id]


def _columns(job: Head, width: int, label: int) -> Sequence[int]:
    """The columns of a window; of the cited ones with those next to them and the first."""
    if not job.get("across") or width <= FEW_COLUMNS:
        window = range(job["column"], min(width, job["column"] + job["columns"]))
        return window if label in window or not window else (label, *window)
    wanted = {label, *range(FIRST_COLUMNS)}
    for column in job["across"]:
        wanted.update(range(column - BESIDE, column + BESIDE + 1))
    return sorted(wanted & set(range(width)))[: job["columns"]]


def _named(graph: KnowledgeGraph, id: str, record: TableRecord) -> dict[str, Any]:
    """The name of a table, and its source."""
    name = titled(graph, id)
    return {
        "id": id,
        "iri": graph.names.table_iri(id),
        "title": name.title,
        "subtitle": name.subtitle,
        "inferred": _inferred(graph, id, None) if is_missing_title(name.title, "") else None,
        "file": record.path,
        "sheet": record.sheet,
    }


def _inferred(graph: KnowledgeGraph, id: str, column: int | None, *, least: float = USED_FROM) -> dict[str, Any] | None:
    """The name proposed for a column without a header, or for a table without a title.

    None if there is none, or one of a confidence below `least`.
    """
    found = graph.inferred_names.at(id, column)
    if found is None or found.confidence < least:
        return None
    return {"name": found.name, "confidence": found.confidence, "basis": found.basis}


def _names_rows(table: Table, column: int) -> bool:
    """Whether a column holds the names of the rows, next to columns with headers: mostly it is left without one."""
    others = (other.name for other in table.columns if other.index != column)
    return column == table.structure.label_column and not all(map(is_missing_header, others))


def _column(graph: KnowledgeGraph, frame: TableFrame, record: TableRecord, index: int) -> dict[str, Any]:
    fact = next((fact for fact in record.facts if fact.index == index), None)
    least = SURE_FROM if _names_rows(frame.table, index) else USED_FROM
    meaning = frame.table.columns[index].meaning
    return {
        "index": index,
        "name": display_name(frame.table.columns[index]),
        "title": frame.table.columns[index].name,
        "path": list(frame.table.columns[index].path),
        "inferred": _inferred(graph, record.id, index, least=least),
        "predicate": frame.predicates[index],
        "unit": "" if fact is None else unit_chip(fact),
        "meaning": said_meaning(meaning, SURE_FROM) or ("" if meaning is None else "not known"),
        "evidence": "" if meaning is None else _evidence(meaning),
    }


def _evidence(meaning: Meaning) -> str:
    guess = "" if meaning.confidence >= SURE_FROM else f"perhaps {said_meaning(meaning)}, "
    return f"{guess}{evidence_text(meaning)}"


def unit_chip(fact: ColumnFact) -> str:
    """Unit and scale of a column's numbers in a word or two; empty if they have none, or many."""
    units = [unit for unit in fact.units if unit_symbol(unit)]
    if not units:
        return ""
    if len(units) > 2:
        return f"{len(units)} units"
    one = len(units) == len(fact.scales) == 1
    scale = scale_name(SCALE_LETTERS.get(next(iter(fact.scales))), units[0]) if one else ""
    return " ".join(filter(None, (" / ".join(map(unit_symbol, units)), scale)))


def _notes(graph: KnowledgeGraph, frame: TableFrame, id: str) -> list[dict[str, str]]:
    """The explained footnote marks, without those that a row of the table prints anyway."""
    structure = frame.table.structure
    if not structure.marks:
        return []
    rows = graph.catalogue.tables[id].rows
    last = graph.reader.rows(id, range(max(structure.body_start, rows - MOST_NOTES), rows))
    notes = (row for row in last.values() if "FootnoteRow" in row.kinds)
    printed = " ".join(_squeezed(" ".join(row.cells)) for row in notes)
    marks = structure.marks.items()
    return [{"mark": mark, "text": text} for mark, text in marks if _squeezed(text) not in printed]


def _beside(frame: TableFrame) -> list[str]:
    """The texts around the table, each once, without its footnotes."""
    context, structure = frame.table.context, frame.table.structure
    noted = {_squeezed(text) for text in structure.marks.values()}
    shown = {_squeezed(text) for text in (*context.before, context.caption, context.title, *context.heading)}
    texts = {_squeezed(text): text for text in (*context.after, *context.paragraphs)}
    rest = {key: text for key, text in texts.items() if key and key not in shown and key not in noted}
    return [text for key, text in rest.items() if not any(key.endswith(note) for note in noted if note)]


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def direction(frame: TableFrame, rows: Iterable[TableRow]) -> str:
    """Whether a table runs ``ltr`` or ``rtl``, by most letters of its header and labels."""
    label = frame.table.structure.label_column
    texts = [column.name for column in frame.table.columns]
    texts += [row.cells[label] for row in rows if label < len(row.cells)]
    kinds = [unicodedata.bidirectional(sign) for text in texts for sign in text[:200] if sign.isalpha()]
    leftward = sum(kind in ("R", "AL") for kind in kinds)
    return "rtl" if leftward > len(kinds) / 2 else "ltr"


def exists(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The title and the name for downloads of a table. Raises `GraphNotFoundError`."""
    record = _record(graph, job["id"])
    title = titled(graph, record.id).title
    return {"title": title, "name": file_name(title, record.id)}


def file_name(title: str, id: str) -> str:
    """A name for a download that says the table: its title in letters that every file system takes.

    >>> file_name("Net revenue, by segment: 2019/20", "t1"), file_name("營收", "t1")
    ('net-revenue-by-segment-2019-20', '營收')
    """
    words = re.findall(r"\w+", title)
    return "-".join(words).lower()[:80].strip("-") or re.sub(r"\W+", "-", id).strip("-") or "table"


def file(graph: KnowledgeGraph, job: Head, tell: Tell) -> bytes:
    """The whole table as CSV, as it was read or without formulas, as XLSX, or with typed values as Parquet.

    Raises `UsageError` for a table that does not fit a sheet, `MissingExtraError` without the packages for Parquet.
    """
    view = graph.tables[job["id"]]
    if job["form"] == "csv":
        return view.to_csv(defuse=job.get("defuse", False)).encode("utf-8", "surrogatepass")
    out = io.BytesIO()
    if job["form"] == "xlsx":
        write_workbook([view.table], out)
    else:
        write_parquet(view, out)
    return out.getvalue()


def whole(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The whole table as printed, with the exact value, unit and period of each number.

    Raises `GraphNotFoundError`, `UsageError` for a table that is too large for one answer.
    """
    id = job["id"]
    record = _record(graph, id)
    if record.cells > LARGEST_SORTED:
        raise UsageError("This table is too large for one JSON document.", hint="Take the CSV.")
    frame = graph.reader.frame(id)
    rows = graph.reader.rows(id, range(record.rows))
    everything = range(record.width)
    return {
        **_named(graph, id, record),
        "columns": [_column(graph, frame, record, index) for index in everything],
        "rows": [{**_row(frame, index, row, everything), "values": _values(row)} for index, row in rows.items()],
    }


def _values(row: TableRow) -> dict[str, dict[str, str | None]]:
    """The numbers of a row by column: exact value, scale applied, unit and period."""
    return {
        str(column): {"value": f"{found.number:f}", "unit": found.unit, "period": found.period}
        for column, found in row.quantities.items()
    }


def _row(frame: TableFrame, index: int, row: TableRow, columns: Sequence[int]) -> dict[str, Any]:
    """One row: its kind, how deep it is nested, and the texts of the wanted columns."""
    return {
        "index": index,
        "kind": next((kind for name, kind in _KINDS if name in row.kinds), "body"),
        "depth": len(group_path(frame, row)),
        "cells": [row.cells[column][:LONGEST_TEXT] if column < len(row.cells) else "" for column in columns],
    }


def group_path(frame: TableFrame, row: TableRow) -> tuple[int, ...]:
    """The rows of the groups a row is in, the outermost first."""
    return () if row.parent is None else (*frame.table.group_path(row.parent), row.parent)


LARGEST_EXPLAINED = 1_000_000
"""Cells of a table beyond which it is not said where a unit came from."""
READ_WHOLE = 4_000
"""Cells of a table beyond which its first rows alone are read to say so."""
READ_ROWS = 200

_ROW_QUERY = """SELECT ?predicate ?object WHERE {{
  GRAPH <{table}> {{ <{row}> ?predicate ?object }}
}}"""


def cell(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A cell by table id, row and column. Raises `GraphNotFoundError` if the table has no such cell."""
    id, row, column = job["id"], job["row"], job["column"]
    record = graph.catalogue.tables.get(id)
    if record is None or row >= record.rows or column >= record.width:
        raise GraphNotFoundError(f"Table {id!r} has no cell {spreadsheet_reference(row, column)}.")
    frame = graph.reader.frame(id)
    found = graph.reader.row(id, row) or TableRow(())
    names = graph.names
    iri, row_iri = names.cell_iri(id, row, column), names.row_iri(id, row)
    own = graph.reader.statements(id, iri)
    content = found.contents.get(column)
    quantity = content if content is not None and content.is_quantity else None
    literal = found.literals.get(column)
    text = found.cells[column] if column < len(found.cells) else ""
    in_body = row >= frame.table.structure.body_start and bool(text)
    predicate = frame.predicates[column] if in_body else None
    unit, scale = (quantity.unit, quantity.scale) if quantity else (None, None)
    unit_from, scale_from = _sources(graph, id, (row, column), quantity) if quantity else ("", "")
    value = None if quantity is None else f"{quantity.number:f}"
    return {
        "text": text,
        "iri": iri,
        "row_iri": row_iri,
        "table": id,
        "row": row,
        "column": column,
        "value": literal.value if literal is not None and value is None else value,
        "upper": quantity.upper if quantity else None,
        "datatype": literal.datatype.value if literal is not None and value is None else None,
        "unit": unit,
        "unit_iri": f"{UNIT}{unit}" if unit else None,
        "unit_label": unit_name(unit) or None,
        "unit_symbol": unit_symbol(unit) or None,
        "unit_from": unit_from,
        "scale": scale,
        "scale_label": scale_name(scale, unit, plural=True) or None,
        "scale_from": scale_from,
        "period": spoken_period(quantity.period) if quantity and quantity.period else None,
        "header": frame.table.columns[column].name,
        "label": found.label,
        "groups": _labels(graph, id, group_path(frame, found)),
        "predicate": predicate,
        "query": _ROW_QUERY.format(table=names.table_iri(id), row=row_iri),
        "triples": [
            *({"predicate": predicate, "object": term} for term in _object(found, column, iri, predicate)),
            *({"predicate": name, "object": term_json(said)} for name, said in own),
        ],
    }


FEWEST_PERIODS = 3


def row_chart(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The chart of the numbers in a cell's row that have its unit and are in columns of periods; null for fewer than 3.

    Raises `GraphNotFoundError` if there is no such cell.
    """
    id, row, column = job["id"], job["row"], job["column"]
    record = _record(graph, id)
    columns = graph.reader.frame(id).table.columns
    found = graph.reader.row(id, row) or TableRow(())
    own = found.quantity(column)
    if row >= record.rows or column >= record.width:
        raise GraphNotFoundError(f"Table {id!r} has no cell {spreadsheet_reference(row, column)}.")
    if own is None or find_period(columns[column].name) is None:
        return {"chart": None}
    points = [
        ChartPoint(found.label, columns[at].name, quantity.number, at == column)
        for at, quantity in sorted(found.quantities.items())
        if quantity.unit == own.unit and find_period(columns[at].name) is not None
    ]
    chart = chart_of(points, found.label or record.title, own.unit) if len(points) >= FEWEST_PERIODS else None
    return {"chart": drawn(chart)}


def _object(row: TableRow, column: int, iri: str, predicate: str | None) -> Iterator[dict[str, Any]]:
    """The object of a body cell's statement: a literal of its row, or the cell's node with its text."""
    if predicate is None:
        return
    literal = row.literals.get(column)
    if literal is not None:
        yield term_json(literal)
    elif column in row.contents and row.contents[column].is_node:
        yield {**term_json(ox.NamedNode(iri)), "label": row.cells[column][:200]}
    else:
        yield term_json(ox.Literal(row.cells[column]))


def term_json(value: ObjectTerm) -> dict[str, Any]:
    """A term for the pages."""
    if isinstance(value, ox.NamedNode):
        return {"type": "uri", "value": value.value}
    if isinstance(value, ox.BlankNode):
        return {"type": "bnode", "value": value.value}
    return {"type": "literal", "value": text_of(value), "datatype": value.datatype.value, "language": value.language}


def _sources(graph: KnowledgeGraph, id: str, position: tuple[int, int], stored: CellContent) -> tuple[str, str]:
    """What unit and scale of a number were read from, found by reading the table once more.

    From a large table the head, the first rows and the cell's own are read; if they yield another unit or
    scale than the whole table gave, what these were read from is not known.
    """
    row, column = position
    cells = graph.catalogue.tables[id].cells
    if cells > LARGEST_EXPLAINED or not stored.unit:
        return "", ""
    annotated = _annotated(graph, id, None if cells <= READ_WHOLE else row)
    rows = annotated.table.grid.head
    if row >= len(rows) or column >= len(rows[row]):
        return "", ""
    value = type_cell(rows[row][column], annotated.styles[column])
    if value.kind is not CellKind.NUMBER or value.number is None:
        return "", ""
    label_column = annotated.table.structure.label_column
    label = rows[row][label_column] if label_column < len(rows[row]) else ""
    quantity = annotated.quantities.resolve(value.number, row, column, label, rows[row])
    return (
        quantity.unit_from if quantity.unit == stored.unit else "",
        quantity.scale_from if SCALE_LETTERS.get(quantity.scale) == stored.scale else "",
    )


@lru_cache(maxsize=16)
def _annotated(graph: KnowledgeGraph, id: str, row: int | None) -> AnnotatedTable:
    """A table as it was typed: the whole one, or of its body the first rows and one more."""
    mapping = load_edits(graph.path).mapping
    if row is None:
        return annotate(graph.tables[id].table, mapping)
    table = graph.reader.frame(id).table
    start = table.structure.body_start
    rows: list[Row] = [*table.grid.rows]
    rows += [()] * (graph.catalogue.tables[id].rows - len(rows))
    parents = dict(table.structure.parents)
    for place, found in graph.reader.rows(id, {*range(start, start + READ_ROWS), row}).items():
        rows[place] = found.cells
        if found.parent is not None:
            parents[place] = found.parent
    structure = replace(table.structure, parents=parents)
    return annotate(replace(table, structure=structure, grid=replace(table.grid, rows=tuple(rows))), mapping)


def _labels(graph: KnowledgeGraph, id: str, rows: Sequence[int]) -> list[str]:
    """The names of rows: their labels, or their first texts."""
    found = graph.reader.rows(id, rows)
    return [
        row.label or next((text.strip() for text in row.cells if text.strip()), f"row {number + 1}")
        for number in rows
        if (row := found.get(number)) is not None
    ]


def forget_cells() -> None:
    """Drop the caches of a graph that is closed."""
    _annotated.cache_clear()
    forget_facets()
    row_order.cache_clear()
