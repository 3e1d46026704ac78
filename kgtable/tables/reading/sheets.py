"""The values of a workbook's sheets, read by a process of its own with bounds on memory and time."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgtable.tables.limits import Limits
from kgtable.tables.model import Area, Row
from kgtable.tables.reading import sheets_child
from kgtable.tables.text import SPREADSHEET_DIGITS, sound_text, value_text

_MOMENTS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "date": datetime.date.fromisoformat,
        "datetime": datetime.datetime.fromisoformat,
        "time": datetime.time.fromisoformat,
    }
)


class PasswordNeededError(ValueError):
    """The workbook is protected by a password."""


@dataclass(frozen=True, slots=True)
class SheetValues:
    """A worksheet: its name, its place among the sheets, its texts from A1 on, its merged areas."""

    name: str
    number: int
    rows: list[Row]
    merged: list[Area]


def read_sheets(
    path: Path, limits: Limits, *, by_name: bool = True, skip: Collection[str] = ()
) -> Iterator[SheetValues]:
    """The worksheets of an .xlsx, .xls or .ods file, empty ones among them, those to skip left out.

    `by_name` trusts the suffix, otherwise the content tells the kind of file. Raises
    `PasswordNeededError` for a protected file, `ValueError` for one that cannot be read within the
    limits.
    """
    order = {
        "path": str(path),
        # the library takes no name that is no UTF-8
        "by_name": by_name and sound_text(str(path)) == str(path),
        "skip": sorted(skip),
        "memory": limits.max_memory,
        "seconds": limits.max_seconds,
    }
    child = [sys.executable, "-P", sheets_child.__file__, json.dumps(order)]
    with tempfile.TemporaryFile() as printed:
        try:
            done = subprocess.run(  # noqa: S603
                child, stdout=printed, stderr=subprocess.DEVNULL, timeout=2 * limits.max_seconds
            )
        except subprocess.TimeoutExpired as error:
            raise ValueError(f"reading it took more than {2 * limits.max_seconds} seconds") from error
        printed.seek(0)
        if done.returncode == sheets_child.PROTECTED:
            raise PasswordNeededError
        if done.returncode == sheets_child.DAMAGED:
            *_, reason = printed
            raise ValueError(str(json.loads(reason)))
        if done.returncode != 0:
            raise ValueError("its parts contradict each other, or ask for too much memory or time")
        yield from _sheets(printed)


def _sheets(lines: Iterable[bytes]) -> Iterator[SheetValues]:
    values = map(json.loads, lines)
    for name, number, merged in values:
        rows = [_texts(row) for row in iter(lambda: next(values), None)]
        areas = [Area(top, left, bottom, right) for (top, left), (bottom, right) in merged]
        yield SheetValues(sound_text(name), number, rows, areas)


def _texts(values: list[Any]) -> Row:
    return tuple([value if type(value) is str else _text(value) for value in values])


def _text(value: object) -> str:
    if not isinstance(value, list):
        return value_text(value, SPREADSHEET_DIGITS)
    kind, content = value
    if kind == "timedelta":
        return value_text(datetime.timedelta(seconds=content))
    return value_text(_MOMENTS[kind](content) if kind in _MOMENTS else content)
