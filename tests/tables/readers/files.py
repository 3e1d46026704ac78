"""Writing files for the tests of the readers, and reading them back."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import xlwt

from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import read_file
from kgtable.tables.model import Grid


def read_all(path: Path, content: bytes | str | None = None, limits: ReadLimits | None = None) -> list[Grid]:
    """The tables of a file, written first where its content is given."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_file(TableFile(path, path.name, path.name.partition(".")[0]), limits)


def read_one(path: Path, content: bytes | str | None = None, limits: ReadLimits | None = None) -> Grid:
    """The only table of a file."""
    [grid] = read_all(path, content, limits)
    return grid


def workbook_bytes(cells: dict[str, object], **formats: str) -> bytes:
    """An .xlsx of one sheet from values by reference, and number formats by reference."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    for reference, value in cells.items():
        sheet[reference] = value
    for reference, code in formats.items():
        sheet[reference].number_format = code
    content = io.BytesIO()
    workbook.save(content)
    return content.getvalue()


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """An .xlsx; a cell is a value or a pair of value and number format."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row, cells in enumerate(rows, 1):
            for column, value in enumerate(cells, 1):
                cell = sheet.cell(row, column)
                cell.value, code = value if isinstance(value, tuple) else (value, None)
                if code:
                    cell.number_format = code
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def old_workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """An .xls of one sheet; a cell is a value or a pair of value and number format."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            value, code = cell if isinstance(cell, tuple) else (cell, None)
            style = xlwt.XFStyle()
            if code:
                style.num_format_str = code
            if value is not None:
                sheet.write(row, column, value, style)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def raised_workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """An .xls of one sheet; a cell is a value, or a text and the mark raised behind it."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    plain, raised = xlwt.Font(), xlwt.Font()
    plain.height, raised.height = 202, 201
    raised.escapement = xlwt.Font.ESCAPEMENT_SUPERSCRIPT
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            if isinstance(cell, tuple):
                sheet.write_rich_text(row, column, [(cell[0], plain), (cell[1], raised)])
            else:
                sheet.write(row, column, cell)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def parquet_bytes(table: pa.Table) -> bytes:
    """A Parquet file."""
    content = io.BytesIO()
    pa.parquet.write_table(table, content)
    return content.getvalue()


def with_member(archive: bytes, name: str, content: bytes) -> bytes:
    """A ZIP archive with one member replaced or added."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            if member != name:
                new.writestr(member, old.read(member))
        new.writestr(name, content)
    return target.getvalue()


def member(archive: bytes, name: str) -> bytes:
    """The content of one member of a ZIP archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(name)


def ods_bytes(table_xml: str) -> bytes:
    """An .ods of the sheets given as XML."""
    content = (
        '<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" '
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
        f"<office:body><office:spreadsheet>{table_xml}</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return target.getvalue()


_NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office", "table": "table", "text": "text", "style": "style", "number": "datastyle"
    }.items()
)  # fmt: skip
_ODS_STYLES = """<number:date-style style:name="N1"><number:month number:textual="true"/><number:text> </number:text>
<number:year/></number:date-style><number:number-style style:name="N2"><number:number number:decimal-places="0"
number:grouping="true"/><number:text> kg</number:text></number:number-style><number:time-style style:name="N3"
number:truncate-on-overflow="false"><number:hours number:style="long"/><number:text>:</number:text><number:minutes
number:style="long"/></number:time-style><number:number-style style:name="N4"><number:number number:decimal-places="1"
number:display-factor="1000000"/><number:text> Mio. €</number:text></number:number-style>""" + "".join(
    f'<style:style style:name="ce{n}" style:family="table-cell" style:data-style-name="N{n}"/>' for n in range(1, 5)
)


def styled_ods_bytes() -> bytes:
    """An .ods with a month, a mass, a length of time and an amount, whose formats are styles of cells and columns."""

    def cell(kind: str, value: str, shown: str, style: str = "") -> str:
        name = f' table:style-name="{style}"' if style else ""
        return f'<table:table-cell{name} office:value-type="{kind}" {value}><text:p>{shown}</text:p></table:table-cell>'

    rows = ["".join(cell("string", "", name) for name in ("Tag", "Menge", "Zeit", "Umsatz"))]
    rows += [
        cell("date", f'office:date-value="2023-0{month}-01"', "x")
        + cell("float", f'office:value="{mass}"', "x")
        + cell("time", f'office:time-value="PT{hours:02d}H05M00S"', "x", "ce3")
        + cell("float", f'office:value="{amount}"', "x", "ce4")
        for month, mass, hours, amount in ((1, 1200, 1, 1200000), (2, 90, 26, 3400000))
    ]
    columns = (
        '<table:table-column table:default-cell-style-name="ce1"/><table:table-column '
        'table:default-cell-style-name="ce2"/><table:table-column table:number-columns-repeated="2"/>'
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" {_NAMESPACES}>'
        f"<office:automatic-styles>{_ODS_STYLES}</office:automatic-styles><office:body><office:spreadsheet>"
        f'<table:table table:name="Zahlen">{columns}{body}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    return with_member(ods_bytes(""), "content.xml", content.encode())
