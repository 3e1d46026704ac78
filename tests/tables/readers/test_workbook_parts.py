from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

import pytest
from lxml import etree

from kgtable.tables.model import Area
from kgtable.tables.readers.workbook_parts import SheetDetails, WorkbookParts, document_sheets, forget
from tests.tables.readers.files import member, ods_bytes, with_member, workbook_bytes

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


def test_spans_are_areas(tmp_path: Path) -> None:
    spanning = cell(
        'office:value-type="string" table:number-columns-spanned="2" table:number-rows-spanned="3"'
    )
    found = sheets(
        tmp_path / "t.ods",
        f'<table:table table:name="S"><table:table-row>{cell()}{spanning}</table:table-row></table:table>',
    )
    assert found["S"].merged == [Area(0, 1, 2, 2)]


def test_formats_of_endless_repeats_are_left_out(tmp_path: Path) -> None:
    percent = cell('office:value-type="percentage" table:number-columns-repeated="999999999"')
    found = sheets(
        tmp_path / "t.ods",
        f'<table:table table:name="S"><table:table-row>{percent}</table:table-row></table:table>',
    )
    assert found["S"].formats == {}
    assert found["S"].right == 999_999_998


def test_nothing_is_known_of_a_new_sheet_and_sheets_share_nothing() -> None:
    one, other = SheetDetails(), SheetDetails()
    one.formats[0, 0] = "0%"
    one.merged.append(None)  # type: ignore[arg-type]
    assert other == SheetDetails()
    assert (other.bottom, other.right, other.formats) == (-1, -1, {})


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


def test_an_element_without_a_parent() -> None:
    root = etree.fromstring("<a><b/></a>")
    forget(root)
    assert len(root) == 0
