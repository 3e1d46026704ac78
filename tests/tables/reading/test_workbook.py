from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from kgtable.tables.readers.workbook_parts import SheetDetails, WorkbookParts
from tests.tables.reading.files import member, with_member, workbook_bytes

SHEET = "xl/worksheets/sheet1.xml"


def details(path: Path, content: bytes) -> SheetDetails:
    path.write_bytes(content)
    with closing(WorkbookParts(path)) as parts:
        assert parts.sheets == ("Sheet",)
        return parts.details("Sheet")


def test_formats_errors_and_formulas_with_their_places(tmp_path: Path) -> None:
    content = workbook_bytes({"B2": 0.5, "C3": "#N/A", "D4": "=B2", "A9": "x"}, B2="0.0%")
    found = details(tmp_path / "t.xlsx", content)
    assert found.formats == {(1, 1): "0.0%"}
    assert found.errors == {(2, 2): "#N/A"}
    assert found.unresolved == [(3, 3)]
    assert (found.bottom, found.right) == (8, 2)


def test_cells_without_references_follow_each_other(tmp_path: Path) -> None:
    book = workbook_bytes({"A1": 0.5, "B1": 0.25, "A2": 0.75}, A1="0%", B1="0%", A2="0%")
    xml = member(book, SHEET)
    for reference in (b' r="A1"', b' r="B1"', b' r="A2"', b' r="1"', b' r="2"'):
        assert xml.count(reference) == 1
        xml = xml.replace(reference, b"")
    assert set(details(tmp_path / "t.xlsx", with_member(book, SHEET, xml)).formats) == {
        (0, 0),
        (0, 1),
        (1, 0),
    }


@pytest.mark.parametrize("reference", ["A0", "ABCD1", "1A", "", "A99999999", "Ä1", "$A$1", "Aorkshe1"])
def test_references_that_are_none(tmp_path: Path, reference: str) -> None:
    book = workbook_bytes({"A1": 5})
    xml = member(book, SHEET).replace(b' r="A1"', f' r="{reference}"'.encode())
    with pytest.raises(ValueError, match="no cell reference"):
        details(tmp_path / "t.xlsx", with_member(book, SHEET, xml))


def test_a_filter_marks_the_header(tmp_path: Path) -> None:
    book = workbook_bytes({"A1": "n", "B1": "v", "A2": "x"})
    xml = member(book, SHEET).replace(b"</sheetData>", b'</sheetData><autoFilter ref="$A$1:$B$2"/>')
    assert details(tmp_path / "t.xlsx", with_member(book, SHEET, xml)).header_cells == {(0, 0), (0, 1)}
