from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtable.errors import MappingError
from kgtable.ontology.column_stats import clean_text
from kgtable.ontology.mapping import FIELDS, NAME, csv_bytes, read_rows, xlsx_bytes

HOSTILE = [
    "=1+1",
    "+a",
    "-a",
    "@a",
    "'a",
    "'=a",
    "''=a",
    "a_x000a_b",
    'a "b", c;d',
    "Größe €",
    "\U0001f680",
    "2013",
    "1e5",
    "TRUE",
]


def line(name: str, predicate: str = "hasX") -> list[str]:
    return [name, predicate, *[""] * (len(FIELDS) - 2)]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_every_text_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    lines = [line(name) for name in HOSTILE]
    path.write_bytes(csv_bytes(lines) if suffix == "csv" else xlsx_bytes(lines))
    rows = read_rows(path)
    assert [row.values[NAME] for row in rows] == HOSTILE
    assert [row.line for row in rows] == list(range(2, len(HOSTILE) + 2))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.text().map(clean_text).filter(bool), min_size=1, max_size=5))
def test_any_text_comes_back_from_csv(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(csv_bytes(map(line, names)))
    assert [row.values[NAME] for row in read_rows(path)] == names


def test_no_formula_is_written(tmp_path: Path) -> None:
    path = tmp_path / "m.xlsx"
    path.write_bytes(xlsx_bytes([line("=HYPERLINK(1)")]))
    cell = openpyxl.load_workbook(path).active["A2"]
    assert (cell.data_type, cell.value, cell.quotePrefix) == ("s", "=HYPERLINK(1)", True)
    assert b"\n'=HYPERLINK(1)," in csv_bytes([line("=HYPERLINK(1)")])


@pytest.mark.parametrize(
    "data",
    [
        "column name;predicate\nGröße;hasX\n".encode(),
        "column name\tpredicate\nGröße\thasX\n".encode("utf-8-sig"),
        "Column Name,Predicate\r\nGröße,hasX\r\n".encode("cp1252"),
        "column name,predicate\nGröße,hasX\n".encode("utf-16"),
    ],
)
def test_what_spreadsheet_programs_save_is_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(data)
    (row,) = read_rows(path)
    assert (row.values[NAME], row.values["predicate"]) == ("Größe", "hasX")


def test_numbers_of_a_spreadsheet_are_texts(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["column name", "predicate", "scale"])
    book.active.append([2013, "in2013", 1000.0])
    book.save(tmp_path / "m.xlsx")
    (row,) = read_rows(tmp_path / "m.xlsx")
    assert (row.values[NAME], row.values["scale"]) == ("2013", "1000")


def test_lines_are_counted_through_quoted_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text('column name,predicate\n"a\nb",hasX\n\nc,hasY\n', encoding="utf-8")
    assert [row.line for row in read_rows(path)] == [2, 5]
    assert read_rows(path)[1].place("predicate") == "m.csv, line 5, column 'predicate'"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.csv", b"", "no column 'column name'"),
        ("m.csv", b"column name,unit\na,b\n", "no column 'predicate'"),
        ("m.csv", b"column name,predicate,predicate\n", "more than one column 'predicate'"),
        ("m.csv", b"column name,predicate\n,hasX\n", "line 2, column 'column name'"),
        ("m.xlsx", b"not a workbook", "cannot be read"),
        ("m.csv", b"\xff\xfea", "cannot be read"),
    ],
)
def test_faults_are_told(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(MappingError, match=message):
        read_rows(tmp_path / name)
