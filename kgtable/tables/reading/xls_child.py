"""A program of its own that reads an old workbook (.xls) and prints its sheets as JSON.

The library that reads this format can be led by a damaged file to ask for any amount of memory, so
it runs apart, with bounds. Only what comes with Python and that library is imported.

Arguments: path, bytes of memory, seconds of processor time. Exit code 3: a password is needed.
"""

from __future__ import annotations

import datetime
import json
import sys

PROTECTED = 3


def main(path: str, memory: str, seconds: str) -> int:
    """Prints one JSON array of sheets: name, number, rows of values, merged areas; returns the exit code."""
    _bound(int(memory), int(seconds))
    from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum

    try:
        # by its name, which gives the better errors, unless that says something else
        if path.lower().endswith(".xls"):
            workbook = CalamineWorkbook.from_path(path)
        else:
            with open(path, "rb") as stream:
                workbook = CalamineWorkbook.from_filelike(stream)
    except PasswordError:
        return PROTECTED
    sheets = []
    for number, metadata in enumerate(workbook.sheets_metadata):
        if metadata.typ == SheetTypeEnum.WorkSheet:
            sheet = workbook.get_sheet_by_index(number)
            rows = sheet.to_python(skip_empty_area=False) if sheet.start else []
            sheets.append([sheet.name, number, rows, sheet.merged_cell_ranges or []])
    json.dump(sheets, sys.stdout, default=_tagged)
    return 0


def _bound(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not on every system
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _tagged(value: object) -> list[object]:
    """Dates and times, which JSON lacks, as the name of their type and their ISO form."""
    if isinstance(value, datetime.timedelta):
        return ["timedelta", value.total_seconds()]
    if isinstance(value, datetime.date | datetime.time):
        return [type(value).__name__, value.isoformat()]
    return ["str", str(value)]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
