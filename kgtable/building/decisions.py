"""Decisions about how a table is read, and previews of their effect for the page, the command and Python."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

from kgtable.building.catalogue import Catalogue, missing_table
from kgtable.building.convert import ConversionOptions
from kgtable.errors import UsageError
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.column_stats import evidence_text, said_meaning
from kgtable.ontology.mapping import UserMapping
from kgtable.ontology.mapping_rows import SCALES
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.discovery import TableFile, find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_content
from kgtable.tables.model import Grid, Row, Table, spreadsheet_reference
from kgtable.values.spoken import unit_name

HEAD_SHOWN, TAIL_SHOWN = 14, 6
"""Rows of a table that a preview shows."""
SAMPLED = 300
"""Body rows from which a preview describes a column."""
MOST_TABLES, MOST_COLUMNS = 50, 200
"""Tables of a file, and columns of a table, that a preview describes."""

_SCALE_NAMES = {power: name for name, power in SCALES.items()}


def file_of(catalogue: Catalogue, table: str) -> TableFile:
    """The file that a table of a graph, or the tables of a sheet, were read from.

    Raises `GraphNotFoundError` if there is no such table, `UsageError` if the file is gone.
    """
    for record in catalogue.files.values():
        if any(entry.id == table or _is_part(entry.id, table) for entry in record.tables):
            if not Path(record.location).is_file():
                raise UsageError(f"{record.path} is not there any more.", hint="Build the graph from what is there.")
            return replace(find_files([record.location])[0], relative=record.path, id=record.id)
    raise missing_table(table, catalogue.tables)


def _is_part(table: str, sheet: str) -> bool:
    return table.startswith(f"{sheet}#") and table[len(sheet) + 1 :].isdigit()


def preview_file(file: TableFile, mapping: UserMapping, only: str | None = None) -> dict[str, Any]:
    """What was read from a file: each table's header, columns with units and scales, first rows and notes.

    `only` restricts it to one table, or the tables of one sheet. Raises `TableError` if the file cannot be read.
    """
    content = read_content(ConversionOptions(mapping=mapping).told(file))
    grids = [grid for grid in content.grids if only is None or grid.id == only or _is_part(grid.id, only)]
    return {
        "tables": [_table(grid, mapping) for grid in grids[:MOST_TABLES]],
        "more": max(0, len(grids) - MOST_TABLES),
        "has_text": content.has_text,
        "notes": [notice.message for notice in content.notices],
    }


def _table(grid: Grid, mapping: UserMapping) -> dict[str, Any]:
    annotated = annotate(make_table(grid, mapping.layout(grid.id, grid.source.sha256)), mapping)
    table = annotated.table
    structure = table.structure
    rows = dropwhile(_is_blank, enumerate(table.grid.head))
    head = list(islice(rows, HEAD_SHOWN))
    tail = [] if grid.streamed else [one for one in deque(rows, TAIL_SHOWN) if not _is_blank(one)]
    return {
        "id": grid.id,
        "title": table.context.title or grid.id,
        "sheet": grid.source.sheet,
        "rows": None if grid.streamed else len(grid.head),
        "width": grid.width,
        "header_rows": _row_list(structure.header),
        "label_column": _letters(structure.label_column),
        "columns": [_column(annotated, index, mapping) for index in range(min(grid.width, MOST_COLUMNS))],
        "head": [_row(table, number, row) for number, row in head],
        "tail": [_row(table, number, row) for number, row in tail],
        "notes": [notice.message for notice in table.grid.notices],
    }


def _row(table: Table, number: int, row: Row) -> dict[str, Any]:
    cells = [cell[:200] for cell in row[:MOST_COLUMNS]]
    return {"row": number + 1, "kind": _kind(table, number), "cells": cells}


def _is_blank(row: tuple[int, Row]) -> bool:
    return not any(map(str.strip, row[1]))


def _row_list(rows: Sequence[int]) -> str:
    """Rows as the mapping writes them: ``1-2``, or ``none``."""
    if not rows:
        return "none"
    return str(rows[0] + 1) if len(rows) == 1 else f"{rows[0] + 1}-{rows[-1] + 1}"


def _letters(column: int) -> str:
    return spreadsheet_reference(0, column)[:-1]


def _kind(table: Table, row: int) -> str:
    structure = table.structure
    kinds = {
        "header": structure.header,
        "title": structure.titles,
        "group": structure.groups,
        "total": structure.totals,
        "statistic": structure.statistics,
        "change": structure.changes,
        "footnote": structure.footnotes,
    }
    return next((kind for kind, rows in kinds.items() if row in rows), "body")


def _column(annotated: AnnotatedTable, index: int, mapping: UserMapping) -> dict[str, Any]:
    """A column by its first rows: kind, units and scales of its numbers, and an example as read; its
    meaning and the evidence, and the decisions about it."""
    table, style = annotated.table, annotated.styles[index]
    labels = table.structure.label_column
    kinds: Counter[str] = Counter()
    found: Counter[str] = Counter()
    scales: Counter[str] = Counter()
    sources: dict[str, str] = {}
    sample: dict[str, str] | None = None
    for number, row in islice(table.body(), SAMPLED):
        if index >= len(row) or not row[index].strip() or number in table.structure.groups:
            continue
        value = type_cell(row[index], style)
        kinds[value.kind.name.lower()] += 1
        if value.kind is not CellKind.NUMBER or value.number is None:
            continue
        label = row[labels] if labels < len(row) else ""
        quantity = annotated.quantities.resolve(value.number, number, index, label, row)
        found[quantity.unit] += 1
        sources.setdefault(quantity.unit, quantity.unit_from)
        scales[_SCALE_NAMES.get(quantity.scale, f"10^{quantity.scale}")] += 1
        if sample is None:
            sample = {"text": row[index], "value": format(quantity.value, "f"), "unit": quantity.unit}
    meaning = table.columns[index].meaning if index < len(table.columns) else None
    decided = mapping.lookup(annotated.names[index], table.grid.id)
    return {
        "index": index,
        "letters": _letters(index),
        "name": annotated.names[index],
        "predicate": annotated.predicates[index],
        "kind": kinds.most_common(1)[0][0] if kinds else "empty",
        "units": [
            {"name": unit, "label": unit_name(unit, plural=True), "cells": n, "from": sources[unit]}
            for unit, n in found.most_common(6)
        ],
        "scales": [scale for scale, _ in scales.most_common(4)],
        "sample": sample,
        "meaning": said_meaning(meaning),
        "role": None if meaning is None else meaning.role.value,
        "measure kind": meaning.kind.value if meaning and meaning.kind else None,
        "evidence": "" if meaning is None else evidence_text(meaning),
        "decided": {} if decided is None else decided.texts,
    }
