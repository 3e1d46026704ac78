from __future__ import annotations

import datetime
import gc
import io
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

import kgtable
from kgtable.building.workbook_export import typed_value, write_workbook
from kgtable.cli.main import main
from kgtable.errors import UsageError
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import find_files, read_file
from kgtable.tables.model import Grid, Source, Table
from tests.tables.readers.files import workbook

SHEET = [
    ["Region", "When", ("2023", "@"), (datetime.date(2023, 1, 1), "mmm-yy")],
    ["North", (datetime.date(2023, 5, 4), "dd.mm.yyyy"), (0.025, "0.0%"), (1234.5, '#,##0.00 "€"')],
    ["South", (datetime.datetime(2023, 5, 1, 10, 30), "yyyy-mm-dd hh:mm"), (0.12345, "0%"), (-5, "0;(0)")],
    ["007", (datetime.time(10, 30), "hh:mm"), "x", 12345678901234567890],
    ["_x0041_", "@cmd", "a\nb", (3, '0 "kg"')],
]


def table(*rows: tuple[str, ...], id: str = "t") -> Table:
    return make_table(Grid(id, Source(f"{id}.csv"), rows, max(map(len, rows))))


def read_back(data: bytes, folder: Path) -> list[Grid]:
    path = folder / "back.xlsx"
    path.write_bytes(data)
    (file,) = find_files([path])
    return list(read_file(file))


def written(*tables: Table) -> bytes:
    buffer = io.BytesIO()
    write_workbook(tables, buffer)
    return buffer.getvalue()


def test_a_workbook_comes_back_with_texts_formats_and_merged_cells(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "x.xlsx"
    path.write_bytes(workbook({"S": SHEET}))
    opened = load_workbook(path)
    opened.worksheets[0].merge_cells("C1:D1")
    opened.save(path)
    (file,) = find_files([path])
    (original,) = read_file(file)
    kg = kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none")
    (out,) = kg.export(tmp_path / "out.xlsx")
    (back,) = read_back(out.read_bytes(), tmp_path)
    assert back.rows == original.rows
    assert dict(back.formats) == dict(original.formats)
    assert back.merged == original.merged
    sheet = load_workbook(out).worksheets[0]
    assert (sheet["C2"].value, sheet["C2"].number_format) == (0.025, "0.0%")
    assert (sheet["D2"].value, sheet["D2"].number_format) == (1234.5, '#,##0.00 "€"')
    assert sheet["B2"].value == datetime.datetime(2023, 5, 4)


def test_the_command_writes_all_tables_and_the_same_bytes_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("Item,2022\nA,1\nB,2\n")
    (tmp_path / "in" / "b.csv").write_text("Item,2022\nC,1\nD,2\n")
    kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none").close()
    for name in ("one.xlsx", "two.xlsx"):
        done = CliRunner().invoke(main, ["export", "--kg", str(tmp_path / "kg"), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()
    assert [grid.rows[1] for grid in read_back((tmp_path / "one.xlsx").read_bytes(), tmp_path)] == [
        ("A", "1"),
        ("C", "1"),
    ]


def test_a_formula_in_a_text_is_no_formula_of_the_workbook() -> None:
    cell = load_workbook(io.BytesIO(written(table(("=1+1", "a"), ("b", "1"))))).worksheets[0]["A1"]
    assert (cell.value, cell.data_type, cell.quotePrefix) == ("=1+1", "s", True)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_text_is_read_back_or_stays_text(texts: list[str]) -> None:
    sheet = load_workbook(io.BytesIO(written(table(("a", *texts), ("b", "1"))))).worksheets[0]
    for cell in sheet[1]:
        assert cell.data_type != "f"


def test_a_sheet_is_named_after_any_id(tmp_path: Path) -> None:
    ids = ("a\x01", "b\x7f", "c\n\r\n", "d\ufffe", "e\uffff", "f\ud800", "g\x1b]0;x\x07", "\u202eh", "&<>\"'", "")
    found = read_back(written(*(table(("A",), ("1",), id=id) for id in ids)), tmp_path)
    assert [grid.rows for grid in found] == [(("A",), ("1",))] * len(ids)


def test_a_workbook_that_is_not_finished_leaves_no_words_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sound = table(("a", "b"), ("b", "1"))
    with pytest.raises(UsageError, match="does not fit a sheet"):
        written(sound, sound, table(("a", "b"), ("x" * 40_000, "1"), id="long"))
    gc.collect()
    assert said == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("1.50", "", None), ("1.5", "0.00", 1.5), ("50%", "", None), ("2.5%", "0.0%", 0.025), ("2.5%", '0.0"%"', None),
        ("12345678901234567890", "", None),
        ("2024-05-01T10:30:00", "yyyy-mm-dd hh:mm", datetime.datetime(2024, 5, 1, 10, 30)), ("Monday", "dddd", None),
    ],
)  # fmt: skip
def test_values_that_read_back_as_their_text(text: str, code: str, value: object) -> None:
    assert typed_value(text, code) == value
