"""Number formats, indents and raised marks of .xls workbooks, which the library that reads their values leaves out.

Unreadable parts yield no details here; whether the file can be used at all is decided where its values
are read.
"""

from __future__ import annotations

import io
from itertools import pairwise

import xlrd

from kgtable.tables.readers.workbook_parts import GENERAL, SheetDetails
from kgtable.values.text import joined_runs, sound_text


def xls_details(content: bytes) -> dict[str, SheetDetails]:
    """Formats, indents and raised marks by the names of the sheets; nothing if the file is damaged."""
    try:
        with xlrd.open_workbook(
            file_contents=content, formatting_info=True, ragged_rows=True, logfile=io.StringIO()
        ) as book:
            return {sheet.name: _details(book, sheet) for sheet in book.sheets()}
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception:  # of damaged content it raises many kinds, AssertionError among them
        return {}


def _details(book: xlrd.Book, sheet: xlrd.sheet.Sheet) -> SheetDetails:
    found = SheetDetails()
    for row in range(sheet.nrows):
        for column, kind in enumerate(sheet.row_types(row)):
            if kind in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK):
                continue
            style = book.xf_list[sheet.cell_xf_index(row, column)]
            code = book.format_map[style.format_key].format_str
            if code.upper() != GENERAL.upper():
                found.formats[row, column] = code
            if style.alignment.indent_level:
                found.indents[row, column] = style.alignment.indent_level
    raised = {number for number, font in enumerate(book.font_list) if font.escapement == 1}
    for (row, column), runs in sheet.rich_text_runlist_map.items():
        text = sheet.cell_value(row, column)
        places = pairwise([(0, None), *runs, (len(text), None)])
        shown = joined_runs((text[start:end], font in raised) for (start, font), (end, _) in places if end > start)
        if shown != text:
            found.shown[row, column] = sound_text(text), sound_text(shown)
    return found
