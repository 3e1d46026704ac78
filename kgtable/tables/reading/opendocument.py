"""What an .ods says beyond its values: merged cells, currencies and percents, and how far it reaches."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from kgtable.tables.model import Area
from kgtable.tables.reading.sheet_details import SheetDetails, forget

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"


def document_sheets(path: Path, max_cells: int) -> Iterator[tuple[str, SheetDetails]]:
    """The sheets of an .ods file in order, from one pass over its content.

    Formats of repeated cells are given while a sheet has no more than `max_cells` cells. Raises
    `zipfile.BadZipFile`, `KeyError` or `etree.XMLSyntaxError` where the file is damaged.
    """
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as stream:
        name, sheet = "", SheetDetails()
        row = column = 0
        events = etree.iterparse(
            stream, events=("start", "end"), resolve_entities=False, no_network=True, huge_tree=True
        )
        for event, element in events:
            if event == "start":
                if element.tag == _TABLE + "table":
                    name, sheet, row = element.get(_TABLE + "name", ""), SheetDetails(), 0
                elif element.tag == _TABLE + "table-row":
                    column = 0
                continue
            if element.tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                times = _number(element, "number-columns-repeated")
                down = _row_repeats(element)
                _add_cell(sheet, element, Area(row, column, row + down - 1, column + times - 1), max_cells)
                column += times
            elif element.tag == _TABLE + "table-row":
                row += _number(element, "number-rows-repeated")
                forget(element)
            elif element.tag == _TABLE + "table":
                yield name, sheet
                forget(element)


def _add_cell(sheet: SheetDetails, cell: etree._Element, area: Area, max_cells: int) -> None:
    rows, columns = _number(cell, "number-rows-spanned"), _number(cell, "number-columns-spanned")
    if rows > 1 or columns > 1:
        sheet.merged.append(Area(area.top, area.left, area.top + rows - 1, area.left + columns - 1))
    kind = cell.get(_OFFICE + "value-type")
    if kind is None and not len(cell):
        return
    sheet.bottom, sheet.right = max(sheet.bottom, area.bottom), max(sheet.right, area.right)
    code = {"percentage": "0.00%", "currency": f"[${cell.get(_OFFICE + 'currency', '')}]#,##0.00"}.get(
        kind or ""
    )
    if code is None or (sheet.bottom + 1) * (sheet.right + 1) > max_cells:
        return
    for row in range(area.top, area.bottom + 1):
        for column in range(area.left, area.right + 1):
            sheet.formats[row, column] = code


def _row_repeats(cell: etree._Element) -> int:
    row = cell.getparent()
    return 1 if row is None else _number(row, "number-rows-repeated")


def _number(element: etree._Element, name: str) -> int:
    text = element.get(_TABLE + name, "1")
    return max(int(text), 1) if text.isdecimal() and len(text) < 10 else 1
