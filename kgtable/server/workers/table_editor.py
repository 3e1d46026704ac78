"""The worker process behind the page that adds tables: previews of files under decisions, and builds of the graph."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyoxigraph as ox

import kgtable
from kgtable.building.catalogue import Catalogue, FileRecord
from kgtable.building.generations import GraphDirectory
from kgtable.errors import GraphLockedError, KgtableError, StorageError, UsageError, VocabularyIndexError
from kgtable.index.embedding import DEFAULT
from kgtable.index.graph_index import read_about
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.column_stats import said_meaning
from kgtable.ontology.mapping import UserMapping
from kgtable.ontology.mapping_files import load_edits
from kgtable.ontology.mapping_rows import (
    EDITABLE,
    NAME,
    ONLY_IN,
    SCALES,
    TABLE,
    TABLE_EDITABLE,
    xlsx_bytes,
)
from kgtable.resources import read_shipped
from kgtable.server.workers.messages import Emit, Head, Problem, storage_kind
from kgtable.storage import storage_errors
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.discovery import TableFile, find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_content
from kgtable.tables.model import Grid, Table, spreadsheet_reference
from kgtable.values.spoken import unit_name

FILES_A_PROCESS = 20
"""New files for which a build starts a further process."""
HEAD_SHOWN = 14
"""Rows of a table that a preview shows."""
SAMPLED = 300
"""Body rows by which a preview says what a column holds."""
MOST_TABLES, MOST_COLUMNS = 50, 200
"""Tables of a file, and columns of a table, that a preview describes."""
_FIELDS = {NAME, ONLY_IN, *EDITABLE}
_SCALE_NAMES = {power: name for name, power in SCALES.items()}


def decided(decisions: Mapping[str, Any], folder: Path) -> UserMapping:
    """The decisions of a page as a mapping, by way of a workbook in `folder`, so that one reader checks them all.

    Raises `MappingError`, naming line and column, for what makes no sense.
    """
    path = folder / "decisions.xlsx"
    path.write_bytes(_workbook(decisions))
    return UserMapping.load(path)


def _workbook(decisions: Mapping[str, Any]) -> bytes:
    order = (NAME, *EDITABLE, ONLY_IN)
    columns = [[str(row.get(name) or "") for name in order] + ["", ""] for row in decisions["columns"]]
    about = [[str(row.get(name) or "") for name in (TABLE, *TABLE_EDITABLE)] for row in decisions["tables"]]
    return xlsx_bytes(columns, [row for row in about if any(row[1:])])


def check_decisions(value: object) -> dict[str, list[dict[str, str]]]:
    """The decisions of a request, checked in shape only. Raises `UsageError`."""
    if value is None:
        return {"columns": [], "tables": []}
    if not isinstance(value, dict) or not set(value) <= {"columns", "tables"}:
        raise UsageError("decisions must be an object with columns and tables.")
    checked: dict[str, list[dict[str, str]]] = {}
    for kind, fields in (("columns", _FIELDS), ("tables", {TABLE, *TABLE_EDITABLE})):
        rows = value.get(kind, [])
        if not isinstance(rows, list) or len(rows) > 5_000:
            raise UsageError(f"{kind} must be a list of at most 5,000 decisions.")
        for row in rows:
            if not isinstance(row, dict) or not set(row) <= fields:
                raise UsageError(f"A decision about {kind} may have: {', '.join(sorted(fields))}.")
            if not all(isinstance(text, str) and len(text) <= 1_000 for text in row.values()):
                raise UsageError("Decisions are texts of at most 1,000 characters.")
        checked[kind] = rows
    return checked


def preview_file(file: TableFile, mapping: UserMapping, only: str | None = None) -> dict[str, Any]:
    """What is read of a file: each table's header, columns with units and scales, first rows and notes.

    `only` restricts it to one table. Raises `TableError` where the file cannot be read.
    """
    content = read_content(replace(file, encoding=mapping.about_table(file.id).get("encoding")))
    grids = [grid for grid in content.grids if only is None or grid.id == only]
    return {
        "tables": [_table(grid, mapping) for grid in grids[:MOST_TABLES]],
        "more": max(0, len(grids) - MOST_TABLES),
        "has_text": content.has_text,
        "notes": [notice.message for notice in content.notices],
    }


def _table(grid: Grid, mapping: UserMapping) -> dict[str, Any]:
    annotated = annotate(make_table(grid, mapping.layout(grid.id)), mapping)
    table = annotated.table
    structure = table.structure
    return {
        "id": grid.id,
        "title": table.context.title or grid.id,
        "sheet": grid.source.sheet,
        "rows": None if grid.streamed else len(grid.head),
        "width": grid.width,
        "header_rows": _row_list(structure.header),
        "label_column": _letters(structure.label_column),
        "columns": [_column(annotated, index) for index in range(min(grid.width, MOST_COLUMNS))],
        "head": [
            {
                "row": number + 1,
                "kind": _kind(table, number),
                "cells": [cell[:200] for cell in row[:MOST_COLUMNS]],
            }
            for number, row in enumerate(islice(table.grid.head, HEAD_SHOWN))
        ],
        "notes": [notice.message for notice in grid.notices],
    }


def _row_list(rows: Sequence[int]) -> str:
    """Rows as the mapping writes them: ``1-2``, or ``none``."""
    if not rows:
        return "none"
    return str(rows[0] + 1) if len(rows) == 1 else f"{rows[0] + 1}-{rows[-1] + 1}"


def _letters(column: int) -> str:
    return spreadsheet_reference(0, column)[:-1]


def _kind(table: Table, row: int) -> str:
    structure = table.structure
    for kind, rows in (
        ("header", structure.header),
        ("title", structure.titles),
        ("group", structure.groups),
        ("total", structure.totals),
        ("statistic", structure.statistics),
        ("change", structure.changes),
        ("footnote", structure.footnotes),
    ):
        if row in rows:
            return kind
    return "body"


def _column(annotated: AnnotatedTable, index: int) -> dict[str, Any]:
    """What a column holds, by its first rows: kind, units and scales of its numbers, and one as it is read."""
    table, style = annotated.table, annotated.styles[index]
    labels = table.structure.label_column
    kinds: Counter[str] = Counter()
    found: Counter[str] = Counter()
    scales: Counter[str] = Counter()
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
        scales[_SCALE_NAMES.get(quantity.scale, f"10^{quantity.scale}")] += 1
        if sample is None:
            sample = {"text": row[index], "value": format(quantity.value, "f"), "unit": quantity.unit}
    return {
        "index": index,
        "letters": _letters(index),
        "name": annotated.names[index],
        "predicate": annotated.predicates[index],
        "kind": kinds.most_common(1)[0][0] if kinds else "empty",
        "units": [{"name": unit, "label": _label(unit), "cells": n} for unit, n in found.most_common(6)],
        "scales": [scale for scale, _ in scales.most_common(4)],
        "sample": sample,
        "meaning": said_meaning(table.columns[index].meaning if index < len(table.columns) else None),
    }


def _label(unit: str) -> str:
    return unit_name(unit, plural=True)


def source_paths(catalogue: Catalogue, roots: Sequence[Path] = ()) -> list[Path]:
    """The files and folders that the graph was built from, so that building from them gives it again.

    A file below a folder is reached through the folder, which its relative path tells. What is below `roots` is
    whatever is there now. Raises `UsageError` where another file is not there any more: a build without it
    would drop its tables.
    """
    paths: dict[str, None] = dict.fromkeys(map(str, roots))
    for record in catalogue.files.values():
        location = Path(record.location)
        if any(location.is_relative_to(root) for root in roots):
            continue
        if not location.is_file():
            raise UsageError(
                f"{record.location} is not there any more.",
                hint="The graph can only be changed here with every file it was built from; use kgtable build.",
            )
        depth = record.path.count("/")
        root = location.parents[depth] if depth and location.as_posix().endswith(f"/{record.path}") else location
        paths[str(root)] = None
    return [Path(path) for path in paths]


class TableEditor:
    """Executes previews and builds for one graph directory."""

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The result as JSON; a build emits its progress before. Raises `Problem`."""
        try:
            with storage_errors(Path(job["directory"])), TemporaryDirectory(prefix="kgtable-") as folder:
                result = self._do(job, Path(folder), emit)
        except GraphLockedError as error:
            raise Problem("unavailable", str(error), {}, {"retry-after": "5"}) from None
        except KgtableError as error:
            kind = storage_kind(error) if isinstance(error, StorageError) else "bad-request"
            raise Problem(kind, str(error)) from None
        return {"status": 200}, json.dumps(result, ensure_ascii=False).encode("utf-8", "backslashreplace")

    def _do(self, job: Head, folder: Path, emit: Emit) -> dict[str, Any]:
        directory = GraphDirectory(job["directory"])
        decisions = check_decisions(job.get("decisions"))
        if job["op"] == "build":
            return _build(directory, job, decisions, folder, emit)
        known = Catalogue.load(directory.current().catalogue_path)
        edits = load_edits(directory.path).mapping
        mapping = decided(decisions, folder).over(edits)
        if job["op"] == "changes":
            record = _record_of(known, job["table"])
            file = replace(find_files([record.location])[0], relative=record.path, id=record.id)
            before = preview_file(file, edits, job["table"])
            return {**preview_file(file, mapping, job["table"]), "before": before["tables"]}
        (file,) = find_files([job["file"]])
        return preview_file(replace(file, relative=file.path.name), mapping)


def _record_of(catalogue: Catalogue, table: str) -> FileRecord:
    for record in catalogue.files.values():
        if any(entry.id == table for entry in record.tables):
            if not Path(record.location).is_file():
                raise UsageError(f"{record.path} is not there any more.")
            return record
    raise Problem("not-found", f"There is no table {table[:200]!r}.")


def _build(
    directory: GraphDirectory, job: Head, decisions: dict[str, list[dict[str, str]]], folder: Path, emit: Emit
) -> dict[str, Any]:
    generation = directory.current()
    roots = [Path(root) for root in job.get("roots", ())]
    paths = source_paths(Catalogue.load(generation.catalogue_path), roots)
    gone = {str(Path(path)) for path in job.get("without", ())}
    paths = [path for path in paths if str(path) not in gone] + [Path(path) for path in job["files"]]
    decided(decisions, folder)

    def progress(stage: str, done: int, total: int) -> None:
        text = json.dumps({"stage": stage, "done": done, "total": total})
        emit({"name": "progress"}, text.encode())

    with kgtable.build(
        paths,
        directory.path,
        mapping=folder / "decisions.xlsx",
        embedding=job.get("embedding") or _embedding_of(generation.index_path),
        workers=min(os.cpu_count() or 1, 1 + len(job["files"]) // FILES_A_PROCESS),
        progress=progress,
    ) as graph:
        assert graph.built is not None
        changes, report = graph.built.changes, graph.built.conversion
        return {
            "added": list(changes.added),
            "changed": list(changes.changed),
            "removed": list(changes.removed),
            "unchanged": changes.unchanged,
            "messages": list(graph.built.messages),
            "errors": list(report.errors),
            "question": next(_questions(graph, (*changes.added, *changes.changed)), None),
        }


def _embedding_of(folder: Path) -> str:
    """The embedding that an index was built with; the default where there is no index."""
    try:
        return str(read_about(folder)["embedding"])
    except (VocabularyIndexError, KeyError):
        return DEFAULT


def _questions(graph: kgtable.KnowledgeGraph, ids: Sequence[str]) -> Iterator[str]:
    """Questions about the first labelled number of tables, the first table's first."""
    for id in ids:
        for fact in graph.catalogue.tables[id].facts:
            if not fact.units or fact.name.startswith("["):
                continue
            bindings = {
                "table": ox.NamedNode(graph.names.table_iri(id)),
                "predicate": ox.NamedNode(graph.names.predicate_iri(fact.predicate)),
            }
            found = graph.store.query(read_shipped("queries/explorer/first-label.rq"), bindings=bindings)
            assert isinstance(found, ox.QuerySolutions)
            labels = [str(getattr(row["label"], "value", "")).strip() for row in found]
            if labels and labels[0]:
                where = f"in {fact.name}" if fact.name.isdigit() else ""
                yield f"What is {labels[0]} {where}?" if where else f"What is the {fact.name} of {labels[0]}?"
                break
