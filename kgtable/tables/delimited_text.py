"""Rows as delimited text (RFC 4180, lines end with a line feed) that is read back as it was."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9,. ]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s?%?")


def delimited_text(rows: Iterable[Sequence[object]], delimiter: str = ",", *, defused: bool = False) -> str:
    """The rows as text; `defused` puts an apostrophe before what a spreadsheet would run as a formula.

    >>> delimited_text([("a", "b,c"), ("=1+1", "-5")], defused=True)
    'a,"b,c"\\n\\'=1+1,-5\\n'
    """
    lines = _Lines()
    # Python quotes a carriage return within a cell only where it is part of the line end.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([[defused_cell(str(cell)) for cell in row] for row in rows] if defused else rows)
    return "".join(lines.written)


def defused_cell(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would run it as a formula; numbers stay.

    >>> defused_cell("=HYPERLINK(1)"), defused_cell("-12.5%"), defused_cell("@SUM(1)"), defused_cell("plain")
    ("'=HYPERLINK(1)", '-12.5%', "'@SUM(1)", 'plain')
    """
    if _FORMULA.match(text) is None or _NUMBER.fullmatch(text) is not None:
        return text
    return f"'{text}"


class _Lines:
    """What a CSV writer writes to: it writes a row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(f"{line[:-2]}\n")
