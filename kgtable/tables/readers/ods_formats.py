"""Number formats of .ods workbooks, which are kept as styles, as the format codes that other workbooks use."""

from __future__ import annotations

import re
from bisect import bisect_right

from lxml import etree

_NUMBER = "{urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
CODED = frozenset(f"{_NUMBER}{kind}-style" for kind in ("number", "date", "time"))
"""The elements that describe how numbers, days and times are shown."""
CELL_STYLE = f"{_STYLE}style"

_DEEPEST = 10
"""How many styles one may be derived from."""
_PLAIN = re.compile(r"[ /.,:-]*")
_TIME = re.compile(
    r"(?P<sign>-?)P(?:(?P<days>\d{1,7})D)?T(?:(?P<hours>\d{1,7})H)?(?:(?P<minutes>\d{1,7})M)?"
    r"(?:(?P<seconds>\d{1,7})(?:[.,](?P<part>\d{1,12}))?S)?",
    re.ASCII,
)


class DocumentFormats:
    """The format codes of cells by the names of their styles."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._shown_by: dict[str, str] = {}
        self._parents: dict[str, str] = {}

    def add(self, style: etree._Element) -> None:
        """Take a style of a cell, or one of numbers, days or times, into account."""
        name = style.get(_STYLE + "name", "")
        if style.tag in CODED:
            self._codes[name] = format_code(style)
        elif style.get(_STYLE + "family") == "table-cell":
            self._parents[name] = style.get(_STYLE + "parent-style-name", "")
            if shown_by := style.get(_STYLE + "data-style-name"):
                self._shown_by[name] = shown_by

    def code(self, style: str) -> str:
        """The format code of a cell of some style; "" where it has none."""
        for _ in range(_DEEPEST):
            if style in self._shown_by:
                return self._codes.get(self._shown_by[style], "")
            if not style:
                break
            style = self._parents.get(style, "")
        return ""


class DefaultStyles:
    """The styles that the columns of one sheet give to cells without a style of their own."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._names: list[str] = []
        self._end = 0

    def add(self, column: etree._Element, times: int) -> None:
        """Take the next column, which is repeated `times` times, into account."""
        self._starts.append(self._end)
        self._names.append(column.get(_TABLE + "default-cell-style-name", ""))
        self._end += times

    def of(self, column: int) -> str:
        """The style of cells in a column."""
        index = bisect_right(self._starts, column) - 1
        return self._names[index] if index >= 0 and column < self._end else ""


def format_code(style: etree._Element) -> str:
    """The format code of a style of numbers, days or times; "" for one that shows numbers as they are."""
    long_hours = style.get(_NUMBER + "truncate-on-overflow") == "false"
    parts = [_part(part, long_hours) for part in style if isinstance(part.tag, str)]
    code = "".join(parts)
    return "" if code == "0" and not _states_decimals(style) else code


def _states_decimals(style: etree._Element) -> bool:
    return any(part.get(_NUMBER + "decimal-places") is not None for part in style)


def _part(part: etree._Element, long_hours: bool) -> str:
    kind = str(part.tag).removeprefix(_NUMBER)
    is_long = part.get(_NUMBER + "style") == "long"
    if kind == "text":
        text = (part.text or "").replace('"', "")
        return text if _PLAIN.fullmatch(text) else f'"{text}"'
    if kind == "number":
        return _number_code(part)
    if kind == "month":
        letters = "mmm" if part.get(_NUMBER + "textual") == "true" else "m"
        return letters + "m" * is_long
    if kind == "hours":
        hours = "hh" if is_long else "h"
        return f"[{hours}]" if long_hours else hours
    if kind == "seconds":
        places = _places(part)
        return ("ss" if is_long else "s") + (f".{'0' * places}" if places else "")
    short, long = {
        "day": ("d", "dd"),
        "year": ("yy", "yyyy"),
        "day-of-week": ("ddd", "dddd"),
        "minutes": ("m", "mm"),
        "am-pm": ("AM/PM", "AM/PM"),
        "scientific-number": ("0.00E+00", "0.00E+00"),
        "fraction": ("# ??/??", "# ??/??"),
    }.get(kind, ("", ""))
    return long if is_long else short


def _places(part: etree._Element) -> int:
    places = part.get(_NUMBER + "decimal-places", "0")
    return min(int(places), 30) if places.isdecimal() and len(places) < 4 else 0


def _number_code(part: etree._Element) -> str:
    places = _places(part)
    factor = part.get(_NUMBER + "display-factor", "1")
    thousands = (len(factor) - 1) // 3 if re.fullmatch(r"1(?:000){1,4}", factor) else 0
    whole = "#,##0" if part.get(_NUMBER + "grouping") == "true" else "0"
    return whole + (f".{'0' * places}" if places else "") + "," * thousands


def clock_text(value: str) -> str:
    """A length of time in the form of ISO 8601 with hours, minutes and seconds separated by colons; else "".

    >>> clock_text("PT26H05M00S"), clock_text("-P1DT2H"), clock_text("PT0H1M2.50S"), clock_text("26:05")
    ('26:05:00', '-26:00:00', '0:01:02.5', '')
    """
    match = _TIME.fullmatch(value)
    if match is None:
        return ""
    days, hours, minutes, seconds = (int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    minutes, seconds = minutes + seconds // 60, seconds % 60
    hours, minutes = 24 * days + hours + minutes // 60, minutes % 60
    part = (match["part"] or "").rstrip("0")
    return f"{match['sign']}{hours}:{minutes:02d}:{seconds:02d}{f'.{part}' if part else ''}"
