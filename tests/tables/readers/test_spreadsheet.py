from __future__ import annotations

import datetime as dt
import io
import random
from pathlib import Path

import openpyxl
import pytest
import xlwt
import xlwt.CompoundDoc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Alignment
from openpyxl.worksheet.table import Table as ExcelTable

from kgtable.building.workbook_export import typed_value
from kgtable.errors import TableError, UnreadableTableError
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Area
from kgtable.tables.readers.spreadsheet import SheetValues, read_sheets
from kgtable.tables.readers.xls_formats import xls_details
from tests.tables.readers.files import member, ods_bytes, read_all, read_one, with_member, workbook_bytes

SOUND = workbook_bytes({"A1": "a", "B2": 2.5, "C3": True})


def test_values_are_what_a_person_would_type(tmp_path: Path) -> None:
    cells = {
        "A1": " text ", "B1": 3, "C1": 1234.5, "D1": True, "E1": dt.date(2024, 12, 31),
        "F1": dt.datetime(2024, 12, 31, 13, 45), "G1": "007",
    }  # fmt: skip
    grid = read_one(tmp_path / "t.xlsx", workbook_bytes(cells))
    assert grid.rows == ((" text ", "3", "1234.5", "TRUE", "2024-12-31", "2024-12-31T13:45:00", "007"),)
    assert grid.id == "t"


def test_number_formats_other_than_general(tmp_path: Path) -> None:
    content = workbook_bytes({"A1": 0.125, "B1": 5, "C1": 1, "Z9": None}, A1="0.0%", B1='#,##0 "€"', Z9="0.00")
    grid = read_one(tmp_path / "t.xlsx", content)
    assert dict(grid.formats) == {(0, 0): "0.0%", (0, 1): '#,##0 "€"'}
    assert grid.rows == (("12.5%", "5", "1"),)


def test_merged_cells_indents_and_marked_headers(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.append(["Name", "2019"])
    sheet.append(["Cloud", 5])
    sheet["A4"] = "both"
    sheet.merge_cells("A4:B4")
    sheet.merge_cells("H20:Z99")
    sheet["A2"].alignment = Alignment(indent=2)
    sheet.add_table(ExcelTable(displayName="T", ref="A1:B2"))
    workbook.save(tmp_path / "t.xlsx")
    grid = read_one(tmp_path / "t.xlsx")
    assert grid.merged == (Area(3, 0, 3, 1),)
    assert dict(grid.indents) == {(1, 0): 2}
    assert grid.header_cells == {(0, 0), (0, 1)}


def test_each_sheet_that_holds_something_is_a_table(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    first = workbook.active
    assert first is not None
    first.title = "Income, 2019"
    first["A1"] = "x"
    workbook.create_sheet("empty")
    workbook.create_sheet("..%2Fetc")["A1"] = "y"
    workbook.save(tmp_path / "t.xlsx")
    grids = read_all(tmp_path / "t.xlsx")
    assert [(g.id, g.source.sheet, g.source.number) for g in grids] == [
        ("t#Income, 2019", "Income, 2019", 0),
        ("t#..%2Fetc", "..%2Fetc", 2),
    ]
    assert grids[0].context.title == "Income, 2019"


def test_a_formula_without_result_is_noticed(tmp_path: Path) -> None:
    grid = read_one(tmp_path / "t.xlsx", workbook_bytes({"A1": "a", "B2": "=1+1"}))
    assert [(n.code, n.row, n.column) for n in grid.notices] == [("formula", 1, 1)]


def test_one_sheet_beyond_the_limits_does_not_cost_the_others(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    good = workbook.active
    assert good is not None
    good["A1"] = "x"
    workbook.create_sheet("far")["XFD1048576"] = "y"
    workbook.save(tmp_path / "t.xlsx")
    [grid] = read_all(tmp_path / "t.xlsx")
    assert grid.rows == (("x",),)
    assert [(n.code, n.sheet) for n in grid.notices] == [("sheet", "far")]


def test_a_far_cell_alone_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTableError, match=r"t\.xlsx \[Sheet\], XFD1048576"):
        read_one(tmp_path / "t.xlsx", workbook_bytes({"A1": 1, "XFD1048576": 2}))


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    content = with_member(workbook_bytes({"A1": 1}), "xl/media/x.bin", b"\0" * 3_000_000)
    with pytest.raises(UnreadableTableError, match="unpack to"):
        read_one(tmp_path / "t.xlsx", content, ReadLimits(ratio_from=1_000_000, max_ratio=20))


def test_stated_sizes_that_lie_do_not_help(tmp_path: Path) -> None:
    content = bytearray(with_member(workbook_bytes({"A1": 1}), "xl/media/x.bin", b"\0" * 3_000_000))
    size = (3_000_000).to_bytes(4, "little")
    assert content.count(size) == 2
    lying = bytes(content).replace(size, (10).to_bytes(4, "little"))
    with pytest.raises(UnreadableTableError, match="unpack to"):
        read_one(tmp_path / "t.xlsx", lying, ReadLimits(ratio_from=1_000_000, max_ratio=20))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_workbook_cut_off_is_a_clear_error(tmp_path: Path, share: float) -> None:
    content = workbook_bytes({"A1": 1, "B2": "x"})
    with pytest.raises(UnreadableTableError, match=r"t\.xlsx: the workbook is damaged") as raised:
        read_one(tmp_path / "t.xlsx", content[: int(len(content) * share)])
    assert raised.value.hint


def test_a_password_is_named(tmp_path: Path) -> None:
    content = io.BytesIO()
    xlwt.CompoundDoc.XlsDoc().save(content, b"secret" * 1000)
    name, protected = ("Workbook".encode("utf-16-le"), "EncryptedPackage".encode("utf-16-le"))
    entry = name.ljust(64, b"\0") + (len(name) + 2).to_bytes(2, "little")
    assert content.getvalue().count(entry) == 1
    changed = protected.ljust(64, b"\0") + (len(protected) + 2).to_bytes(2, "little")
    with pytest.raises(UnreadableTableError, match="password"):
        read_one(tmp_path / "t.xlsx", content.getvalue().replace(entry, changed))


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("<html><table><tr><th>a</th><th>b</th></tr></table></html>", (("a", "b"),)),
        ("a\tb\n1\t2\n", (("a", "b"), ("1", "2"))),
    ],
)
def test_text_under_a_workbooks_name(tmp_path: Path, content: str, rows: object) -> None:
    grid = read_one(tmp_path / "t.xls", content)
    assert grid.rows == rows
    assert [notice.code for notice in grid.notices] == ["kind"]


def test_ods_merges_currencies_and_repeats(tmp_path: Path) -> None:
    grid = read_one(
        tmp_path / "t.ods",
        ods_bytes(
            '<table:table table:name="S">'
            '<table:table-row><table:table-cell office:value-type="string" table:number-columns-spanned="2">'
            "<text:p>both</text:p></table:table-cell><table:covered-table-cell/></table:table-row>"
            '<table:table-row table:number-rows-repeated="2">'
            '<table:table-cell office:value-type="percentage" '
            'office:value="0.5"><text:p>50%</text:p></table:table-cell><table:table-cell '
            'office:value-type="currency" office:currency="EUR" office:value="3"><text:p>3 €</text:p>'
            "</table:table-cell></table:table-row>"
            '<table:table-row table:number-rows-repeated="1048573"><table:table-cell '
            'table:number-columns-repeated="16384"/></table:table-row></table:table>'
        ),
    )
    assert grid.rows == (("both", ""), ("50%", "3"), ("50%", "3"))
    assert grid.merged == (Area(0, 0, 0, 1),)
    assert grid.formats[1, 0] == "0%"
    assert "EUR" in grid.formats[2, 1]


def test_an_ods_of_endless_repeats_is_refused(tmp_path: Path) -> None:
    content = ods_bytes(
        '<table:table table:name="S"><table:table-row table:number-rows-repeated="1000000">'
        '<table:table-cell office:value-type="string" table:number-columns-repeated="16000">'
        "<text:p>x</text:p></table:table-cell></table:table-row></table:table>"
    )
    with pytest.raises(UnreadableTableError, match="cells"):
        read_one(tmp_path / "t.ods", content)


def test_a_billion_laughs_stay_unheard(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    sheet = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{entities}]>'.encode()
    book = workbook_bytes({"A1": 1})
    body = member(book, "xl/worksheets/sheet1.xml").replace(b"<v>1</v>", b"<v>&l11;</v>")
    content = with_member(book, "xl/worksheets/sheet1.xml", sheet + body)
    with pytest.raises(TableError):
        read_one(tmp_path / "t.xlsx", content)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_give_grids_or_a_table_error(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(SOUND)
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[position] = data.draw(st.integers(0, 255))
    try:
        grids = read_all(tmp_path / "t.xlsx", bytes(content))
    except TableError:
        return
    assert all(grid.width == max(map(len, grid.rows)) for grid in grids)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]))
def test_any_bytes_give_grids_or_a_table_error(tmp_path: Path, content: bytes, start: bytes) -> None:
    for name in ("t.xlsx", "t.xls", "t.ods"):
        try:
            grids = read_all(tmp_path / name, start + content)
        except TableError:
            continue
        assert grids


def test_old_workbooks(tmp_path: Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("s")
    sheet.write(0, 0, "a")
    sheet.write(1, 1, 2.5)
    content = io.BytesIO()
    book.save(content)
    assert read_one(tmp_path / "t.xls", content.getvalue()).rows == (("a", ""), ("", "2.5"))


def workbook() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Ünits")
    sheet.write(0, 0, " a ")
    sheet.write(0, 1, 3.0)
    sheet.write(0, 2, True)
    for column, (value, code) in enumerate(
        [
            (dt.date(2024, 12, 31), "yyyy-mm-dd"),
            (dt.datetime(2024, 12, 31, 13, 45), "yyyy-mm-dd hh:mm"),
            (dt.time(13, 45), "hh:mm"),
        ]
    ):
        style = xlwt.XFStyle()
        style.num_format_str = code
        sheet.write(1, column, value, style)
    sheet.write_merge(2, 3, 0, 1, 0.1)
    book.add_sheet("empty")
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_sheets_texts_and_merged_areas(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(workbook())
    assert list(read_sheets(path)) == [
        SheetValues(
            "Ünits",
            0,
            [(" a ", "3", "TRUE"), ("2024-12-31", "2024-12-31T13:45:00", "13:45:00"), ("0.1", "", "")],
            [Area(2, 0, 3, 1)],
        ),
        SheetValues("empty", 1, [], []),
    ]


def test_too_little_memory_is_an_error_not_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook_bytes({f"A{row}": f"{row} {row}" for row in range(1, 60_000)}))
    with pytest.raises(UnreadableTableError, match="memory"):
        read_one(path, limits=ReadLimits(max_memory=1 << 20))


def test_the_content_tells_where_the_name_may_not(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(workbook_bytes({"A1": "x"}))
    assert [sheet.rows for sheet in read_sheets(path, by_name=False)] == [[("x",)]]


@pytest.mark.parametrize("content", [b"", b"x" * 999, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600])
def test_what_is_no_workbook(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        list(read_sheets(path))


def test_sheets_and_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "-ü 'x.xlsx"
    cells: dict[str, object] = {
        "A1": 'a"\u2028\n\u202e', "B1": 3.5, "C1": True, "A2": dt.datetime(2024, 12, 31, 13, 45), "B2": dt.time(1, 2),
    }  # fmt: skip
    path.write_bytes(workbook_bytes(cells))
    [sheet] = read_sheets(path, by_name=False)
    assert (sheet.name, sheet.number, sheet.merged) == ("Sheet", 0, [])
    assert sheet.rows == [('a"\u2028\n\u202e', "3.5", "TRUE"), ("2024-12-31T13:45:00", "01:02:00", "")]
    assert list(read_sheets(path, skip=["Sheet"])) == []
    assert list(read_sheets(path)) == [sheet]


@pytest.mark.parametrize("content", [b"", b"no workbook", b"PK\x03\x04" + b"\0" * 99, None])
def test_what_is_damaged_or_missing_is_told(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        list(read_sheets(tmp_path / "t.xlsx", by_name=False))


def old_workbook_with_formats() -> bytes:
    book = xlwt.Workbook()
    for name, rows in {"Plan": 3, "Ünits": 200}.items():
        sheet = book.add_sheet(name)
        style = xlwt.XFStyle()
        style.num_format_str = "0.0%"
        style.alignment.inde = 2
        for row in range(rows):
            sheet.write(row, 0, f"row {row}")
            sheet.write(row, 1, row / 400, style)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_formats_and_indents_of_old_workbooks() -> None:
    details = xls_details(old_workbook_with_formats())
    assert {name: len(detail.formats) for name, detail in details.items()} == {"Plan": 3, "Ünits": 200}
    assert details["Plan"].formats[2, 1] == "0.0%"
    assert details["Plan"].indents == {(row, 1): 2 for row in range(3)}


def test_damaged_old_workbooks_give_fewer_formats_and_no_error() -> None:
    content = old_workbook_with_formats()
    numbers = random.Random(5)
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(numbers.choice([1, 3, 20])):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        assert len(xls_details(bytes(damaged[: numbers.randrange(len(damaged))]))) <= 2
        xls_details(bytes(damaged))


def test_raised_marks_of_rich_text_join_no_word(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    raised = InlineFont(vertAlign="superscript")
    texts = [("Wind", "1", ""), ("Area (km", "2", ")"), ("Sun", "(1, 2)", ""), ("1", "st", " place")]
    for row, (before, mark, after) in enumerate(texts, 1):
        sheet.cell(row, 1).value = CellRichText(*filter(None, (before, TextBlock(raised, mark), after)))
        sheet.cell(row, 2).value = row
    book.save(tmp_path / "t.xlsx")
    first = [row[0] for row in read_one(tmp_path / "t.xlsx").head]
    assert first == ["Wind¹", "Area (km²)", "Sun¹ ²", "1st place"]


def test_raised_marks_of_an_open_document(tmp_path: Path) -> None:
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    marked = cell.format('Wind<text:span text:style-name="T1">1</text:span>')
    sheet = f'<table:table table:name="S"><table:table-row>{marked}{cell.format("x")}</table:table-row></table:table>'
    styles = (
        '<office:automatic-styles><style:style xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
        'style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
        "</office:automatic-styles>"
    )
    content = ods_bytes(sheet)
    xml = member(content, "content.xml").replace(b"<office:body>", styles.encode() + b"<office:body>")
    assert read_one(tmp_path / "t.ods", with_member(content, "content.xml", xml)).head == (("Wind¹", "x"),)


def test_days_are_shown_as_their_format_shows_them(tmp_path: Path) -> None:
    day, end = dt.datetime(2023, 1, 1), dt.datetime(2023, 1, 31)
    content = workbook_bytes(
        {"A1": day, "B1": day, "C1": end, "D1": day}, A1="mmm-yy", B1="yyyy", C1="mmm-yy", D1="dd.mm.yyyy"
    )
    grid = read_one(tmp_path / "t.xlsx", content)
    assert grid.head == (("Jan 2023", "2023", "2023-01-31", "2023-01-01"),)
    written = [typed_value(text, grid.formats[0, column]) for column, text in enumerate(grid.head[0])]
    assert written == [day.date(), day.date(), end.date(), day.date()]
