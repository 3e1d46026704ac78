"""A separate program that reads a workbook and prints the values of its sheets, one JSON text a line.

The library that reads workbooks can be led by a damaged file to ask for any amount of memory, which
ends the process; so it runs apart, with bounds. Only that library and what comes with Python is
imported. Argument: a JSON object with `path`, `by_name` (whether the suffix says what the file is),
`skip` (names of sheets to leave out), `memory` in bytes, `seconds` of processor time, `size` in bytes of
what is printed.
"""

from __future__ import annotations

import datetime
import json
import sys
from typing import Any

PROTECTED = 3
DAMAGED = 4


def main(argument: str) -> int:
    """Prints for each sheet a list of its name, number and merged areas, its rows, and a null."""
    order: dict[str, Any] = json.loads(argument)
    _bound(order["memory"], order["seconds"], order["size"])
    from python_calamine import PasswordError

    try:
        _print_sheets(order["path"], by_name=order["by_name"], skip=set(order["skip"]))
    except PasswordError:
        return PROTECTED
    except BaseException as error:  # a panic in the library's Rust code is no Exception
        print(json.dumps(str(error)))  # noqa: T201
        return DAMAGED
    return 0


def _print_sheets(path: str, *, by_name: bool, skip: set[str]) -> None:
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    if by_name:
        workbook = CalamineWorkbook.from_path(path)
    else:
        with open(path, "rb") as stream:
            workbook = CalamineWorkbook.from_filelike(stream)
    encode = json.JSONEncoder(default=_tagged).encode
    write = sys.stdout.write
    for number, metadata in enumerate(workbook.sheets_metadata):
        if metadata.typ != SheetTypeEnum.WorkSheet or metadata.name in skip:
            continue
        sheet = workbook.get_sheet_by_index(number)
        write(encode([sheet.name, number, sheet.merged_cell_ranges or []]) + "\n")
        for row in sheet.to_python(skip_empty_area=False) if sheet.start else ():
            write(encode(row) + "\n")
        write("null\n")


def _bound(memory: int, seconds: int, size: int) -> None:
    try:
        import resource
    except ImportError:  # not on every system
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _tagged(value: object) -> list[object]:
    """Dates and times, which JSON lacks, as the name of their type and their ISO form."""
    if isinstance(value, datetime.timedelta):
        return ["timedelta", value.total_seconds()]
    if isinstance(value, datetime.date | datetime.time):
        return [type(value).__name__, value.isoformat()]
    return ["str", str(value)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
