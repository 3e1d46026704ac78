from __future__ import annotations

from pathlib import Path

from kgtable.tables.model import Area
from kgtable.tables.readers.workbook_parts import SheetDetails, document_sheets
from tests.tables.reading.files import ods_bytes


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
