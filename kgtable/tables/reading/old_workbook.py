"""Old workbooks (.xls), read by a process of its own with bounds on memory and time."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from kgtable.tables.limits import Limits
from kgtable.tables.model import Area, Row
from kgtable.tables.reading import xls_child
from kgtable.tables.text import SPREADSHEET_DIGITS, sound_text, value_text

_SECONDS = 120
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
class OldSheet:
    """A sheet of an old workbook: its name, its place among the sheets, texts and merged areas."""

    name: str
    number: int
    rows: list[Row]
    merged: list[Area]


def read_old_workbook(path: Path, limits: Limits) -> list[OldSheet]:
    """The sheets of an .xls file, empty ones among them.

    Raises `PasswordNeededError` for a protected one, `ValueError` for one that cannot be read within
    the limits.
    """
    child = [sys.executable, "-P", xls_child.__file__, str(path), str(limits.max_memory), str(_SECONDS)]
    try:
        done = subprocess.run(child, capture_output=True, timeout=2 * _SECONDS)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"reading it took more than {2 * _SECONDS} seconds") from error
    if done.returncode == xls_child.PROTECTED:
        raise PasswordNeededError
    if done.returncode != 0:
        raise ValueError("its records contradict each other, or ask for too much memory")
    return [
        OldSheet(
            sound_text(name),
            number,
            [tuple(map(_text, row)) for row in rows],
            [Area(top, left, bottom, right) for (top, left), (bottom, right) in merged],
        )
        for name, number, rows, merged in json.loads(done.stdout)
    ]


def _text(value: object) -> str:
    if not isinstance(value, list):
        return value_text(value, SPREADSHEET_DIGITS)
    kind, content = value
    if kind == "timedelta":
        return value_text(datetime.timedelta(seconds=content))
    return value_text(_MOMENTS[kind](content) if kind in _MOMENTS else content)
