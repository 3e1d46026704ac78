from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

from lxml import etree

from kgtable.tables.readers.workbook_parts import SheetDetails, WorkbookParts, document_sheets, forget
from tests.tables.readers.files import member, ods_bytes, with_member, workbook_bytes

SHEET = "xl/worksheets/sheet1.xml"


def details(path: Path, content: bytes) -> SheetDetails:
    path.write_bytes(content)
    with closing(WorkbookParts(path)) as parts:
        assert parts.sheets == ("Sheet",)
        return parts.details("Sheet")


def test_cells_without_references_follow_each_other(tmp_path: Path) -> None:
    book = workbook_bytes({"A1": 0.5, "B1": 0.25, "A2": 0.75}, A1="0%", B1="0%", A2="0%")
    xml = member(book, SHEET)
    for reference in (b' r="A1"', b' r="B1"', b' r="A2"', b' r="1"', b' r="2"'):
        assert xml.count(reference) == 1
        xml = xml.replace(reference, b"")
    assert set(details(tmp_path / "t.xlsx", with_member(book, SHEET, xml)).formats) == {(0, 0), (0, 1), (1, 0)}


def test_a_filter_marks_the_header(tmp_path: Path) -> None:
    book = workbook_bytes({"A1": "n", "B1": "v", "A2": "x"})
    xml = member(book, SHEET).replace(b"</sheetData>", b'</sheetData><autoFilter ref="$A$1:$B$2"/>')
    assert details(tmp_path / "t.xlsx", with_member(book, SHEET, xml)).header_cells == {(0, 0), (0, 1)}


def sheets(path: Path, xml: str, max_cells: int = 1_000) -> dict[str, SheetDetails]:
    path.write_bytes(ods_bytes(xml))
    return dict(document_sheets(path, max_cells))


def cell(attributes: str = 'office:value-type="string"') -> str:
    return f"<table:table-cell {attributes}><text:p>x</text:p></table:table-cell>"


def test_repeats_move_what_follows(tmp_path: Path) -> None:
    blank = '<table:table-cell table:number-columns-repeated="2"/>'
    percent = cell('office:value-type="percentage" office:value="1"')
    found = sheets(
        tmp_path / "t.ods",
        '<table:table table:name="S"><table:table-row table:number-rows-repeated="3"/>'
        f"<table:table-row>{blank}{percent}</table:table-row></table:table>"
        f'<table:table table:name="T"><table:table-row>{cell()}</table:table-row></table:table>',
    )
    assert list(found) == ["S", "T"]
    assert list(found["S"].formats) == [(3, 2)]
    assert (found["S"].bottom, found["S"].right) == (3, 2)
    assert (found["T"].bottom, found["T"].right) == (0, 0)


def test_formats_of_endless_repeats_are_left_out(tmp_path: Path) -> None:
    percent = cell('office:value-type="percentage" table:number-columns-repeated="999999999"')
    found = sheets(
        tmp_path / "t.ods", f'<table:table table:name="S"><table:table-row>{percent}</table:table-row></table:table>'
    )
    assert found["S"].formats == {}
    assert found["S"].right == 999_999_998


def test_elements_that_were_read_are_freed_and_the_rest_is_still_read() -> None:
    rows = "".join(f'<row n="{n}"><c>{n}</c></row>' for n in range(20_000))
    xml = f"<sheet>{rows}<end/></sheet>"
    seen, most = [], 0
    for _, element in etree.iterparse(io.BytesIO(xml.encode()), tag=("row", "end")):
        parent = element.getparent()
        assert parent is not None
        most = max(most, len(parent))
        seen.append(element.get("n") or element.tag)
        forget(element)
        assert len(element) == 0
        assert parent[0] is element
    assert seen == [*map(str, range(20_000)), "end"]
    assert most < 5_000
