"""Small invented tables as people write them, each read as a careful reader reads it.

A case of ``reading_cases.toml`` names what it is about, holds a file (``text``, or the cells of one), and says
what is ``expected``: a cell by its spreadsheet reference (``1!B2`` in the second table of the file) as `read_cell`
writes it, and of the structure ``tables`` (how many), ``header`` (how many header rows), ``members`` (labels of the
rows that count), ``names`` (the columns), ``predicates``. A cell of a workbook is a value, a value and its number
format, or ``[]`` where it is empty.
"""

from __future__ import annotations

import csv
import datetime
import io
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import find_files, read_file
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.units import SCALE_LETTERS
from tests.tables.readers.files import old_workbook, raised_workbook, styled_ods_bytes, workbook

CASES = tomllib.loads(Path(__file__).with_name("reading_cases.toml").read_text(encoding="utf-8"))["case"]


def parquet(columns: dict[str, list[Any]]) -> bytes:
    content = io.BytesIO()
    pd.DataFrame({name: list(map(cell, values)) for name, values in columns.items()}).to_parquet(content, index=False)
    return content.getvalue()


def cell(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(cell, value)) or None
    return datetime.timedelta(**value) if isinstance(value, dict) else value


def cells(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(map(cell, row)) for row in rows]


CONTENTS: dict[str, Callable[[Any], bytes]] = {
    "text": str.encode, "sheets": lambda sheets: workbook({name: cells(rows) for name, rows in sheets.items()}),
    "xls": lambda rows: old_workbook(cells(rows)), "raised_xls": lambda rows: raised_workbook(cells(rows)),
    "parquet": parquet, "styled_ods": lambda _: styled_ods_bytes(),
}  # fmt: skip


def expected(case: dict[str, Any]) -> dict[str, object]:
    """What a case expects, as ``B2: 5 KiloGM; 1!header: 2``, by place."""
    pairs = [part.partition(": ")[::2] for part in case["expected"].split("; ")]
    return {place: int(value) if place.endswith(("tables", "header")) else value for place, value in pairs}


def write(case: dict[str, Any], folder: Path) -> Path:
    path = folder / case.get("file", "a.csv")
    [kind] = case.keys() & CONTENTS
    path.write_bytes(CONTENTS[kind](case[kind]))
    if "sidecar" in case:
        path.with_suffix(".json").write_text(case["sidecar"], encoding="utf-8")
    return path


def read(path: Path) -> list[AnnotatedTable]:
    """The tables of a file as the graph is made from them."""
    (file,) = find_files([path])
    return [annotate(make_table(grid)) for grid in read_file(file)]


def read_cell(annotated: AnnotatedTable, row: int, column: int) -> str:
    """How a cell is read: ``1000 CCY_EUR T @2023``, ``2024-05-01``, ``missing``, or its text in quotes."""
    table = annotated.table
    cells = table.grid.head[row] if row < len(table.grid.head) else ()
    text = cells[column] if column < len(cells) else ""
    if row < table.structure.body_start:
        return "header"
    value = type_cell(text, annotated.styles[column])
    if value.kind is CellKind.NUMBER and value.number is not None:
        label = cells[table.structure.label_column]
        quantity = annotated.quantities.resolve(value.number, row, column, label)
        value_text = format(quantity.value, "f")
        parts = [value_text.rstrip("0").rstrip(".") if "." in value_text else value_text, quantity.unit]
        if quantity.denominator:
            parts.append(f"/{quantity.denominator}")
        if quantity.scale:
            parts.append(SCALE_LETTERS.get(quantity.scale, f"10^{quantity.scale}"))
        if period := annotated.quantities.period(row, column, label):
            parts.append(f"@{period}")
        return " ".join(parts)
    if value.kind in (CellKind.TEXT, CellKind.PERIOD):
        return repr(text)
    return value.lexical or value.kind.value


def observed(places: Iterable[str], tables: Sequence[AnnotatedTable]) -> dict[str, object]:
    """What is read at each place."""
    found: dict[str, object] = {}
    for key in places:
        number, _, name = key.rpartition("!")
        if name == "tables":
            found[key] = len(tables)
            continue
        if int(number or 0) >= len(tables):
            found[key] = "no such table"
            continue
        found[key] = _observed(name, tables[int(number or 0)])
    return found


def _observed(name: str, annotated: AnnotatedTable) -> object:
    table, structure = annotated.table, annotated.table.structure
    if name == "header":
        return len(structure.header)
    if name == "members":
        return " | ".join(_members(annotated))
    if name == "names":
        return " | ".join(column.name for column in structure.columns)
    if name == "predicates":
        return " ".join(annotated.predicates)
    references = {
        spreadsheet_reference(row, column): (row, column)
        for row in range(len(table.grid.head))
        for column in range(table.grid.width)
    }
    return read_cell(annotated, *references[name]) if name in references else "no such cell"


def _members(annotated: AnnotatedTable) -> Iterator[str]:
    structure = annotated.table.structure
    aside = structure.footnotes | structure.totals | getattr(structure, "of_which", frozenset())
    for index, row in annotated.table.body():
        others = [text for column, text in enumerate(row) if column != structure.label_column and text.strip()]
        heading = index in structure.groups and not others
        if any(map(str.strip, row)) and index not in aside and not heading:
            yield row[structure.label_column] if structure.label_column < len(row) else ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_reads_as_a_careful_person_does(case: dict[str, Any], tmp_path: Path) -> None:
    wanted = expected(case)
    assert observed(wanted, read(write(case, tmp_path))) == wanted


def test_the_table_of_cases_says_what_is_read_now() -> None:
    wanted = {(case["about"], place): str(value) for case in CASES for place, value in expected(case).items()}
    with (Path(__file__).parents[2] / "docs" / "reading-cases.csv").open(encoding="utf-8", newline="") as lines:
        told = {(line["case"], line["place"]): line["now"] for line in csv.DictReader(lines)}
    assert len(told) >= 400
    assert {key: wanted.get(key) for key in told} == told
