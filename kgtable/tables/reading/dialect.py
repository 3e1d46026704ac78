"""Which delimiter a text file uses. Quoting is that of RFC 4180: double quotes, doubled inside."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgtable.tables.model import Row

DELIMITERS = (",", "\t", ";", "|", "\x1f")
"""In order of preference; comma wins unless another one clearly fits better."""

MAX_CELL = 1 << 28
csv.field_size_limit(MAX_CELL)

_DECIMAL_COMMA = re.compile(r"\s*[-+−(]?(?:\d+|\d{1,3}(?:[. ]\d{3})+),\d+\)?\s*%?\s*\Z")


@dataclass(frozen=True, slots=True)
class Dialect:
    """A delimiter, whether double quotes enclose cells, and whether a misplaced quote is an error."""

    delimiter: str = ","
    quoted: bool = True
    strict: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """Rows of cells from lines that keep their line ends (as `open(newline="")` gives them)."""
        if self.quoted:
            return map(tuple, csv.reader(lines, delimiter=self.delimiter, strict=self.strict))
        return map(tuple, csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE))


@dataclass(frozen=True, slots=True)
class _Fit:
    """How a sample looks when it is split at a delimiter."""

    delimiter: str
    width: int
    """Commonest number of cells in a row that is not blank."""
    consistent: float
    """Share of rows of that width."""
    broken: bool
    """Quotes stand where RFC 4180 has none."""
    rows: tuple[Row, ...]

    @property
    def splits(self) -> bool:
        return self.width > 1 and not self.broken


def detect_dialect(sample: str, *, whole: bool, preferred: str = ",") -> Dialect:
    """The dialect of a text from its beginning; `whole` says that the sample is all of it.

    `preferred` is the delimiter that the file's name suggests.

    >>> detect_dialect("a;b\\n1,5;2\\n", whole=True).delimiter
    ';'
    """
    fits = {d: _fit(sample, d, whole) for d in DELIMITERS if d in sample or d == preferred}
    own = fits.pop(preferred)
    rivals = [fit for fit in fits.values() if fit.splits]
    if not rivals:
        return Dialect(preferred)
    best = max(rivals, key=lambda fit: (fit.consistent, fit.width, -DELIMITERS.index(fit.delimiter)))
    return Dialect(best.delimiter if _is_better(best, own) else preferred)


def _is_better(rival: _Fit, own: _Fit) -> bool:
    """Whether a delimiter fits clearly better than the preferred one."""
    if not own.splits:
        if len(rival.rows) == 1 and rival.delimiter not in "\t\x1f":
            return not any(cell.startswith(" ") for cell in rival.rows[0])
        # two cells a row may be text with a semicolon: the first row, a header most often, must have them too
        return rival.consistent >= 0.5 and (rival.width > 2 or len(rival.rows[0]) > 1)
    if rival.consistent <= own.consistent:
        return rival.consistent == 1 and _commas_are_decimal(rival, own.delimiter)
    if rival.consistent == 1:
        return len(rival.rows) > 2 or rival.width > own.width
    return rival.consistent - own.consistent > 0.2 and rival.width >= own.width


def _commas_are_decimal(rival: _Fit, delimiter: str) -> bool:
    """Whether the preferred delimiter is a comma that occurs in decimal numbers only."""
    if delimiter != ",":
        return False
    cells = [cell for row in rival.rows for cell in row if "," in cell]
    return bool(cells) and all(_DECIMAL_COMMA.match(cell) for cell in cells)


def _fit(sample: str, delimiter: str, whole: bool) -> _Fit:
    dialect = Dialect(delimiter, strict=True)
    broken = _has_stray_quotes(sample, delimiter)
    rows: list[Row] = []
    try:
        rows.extend(dialect.rows(io.StringIO(sample, newline="")))
    except csv.Error as error:
        if whole or "unexpected end" not in str(error):
            broken = True
    if not whole and len(rows) > 1:
        rows.pop()
    filled = tuple(row for row in rows if row)
    if not filled:
        return _Fit(delimiter, 1, 0.0, broken, ())
    width, count = Counter(map(len, filled)).most_common(1)[0]
    return _Fit(delimiter, width, count / len(filled), broken, filled)


def _has_stray_quotes(sample: str, delimiter: str) -> bool:
    """Whether a quote opens or closes beside anything but the delimiter, a line end or a quote."""
    if '"' not in sample:
        return False
    edge = re.escape(delimiter) + '\r\n"'
    inside_both = re.compile(rf'[^{edge}]"(?=[^{edge}])')
    unquoted = re.sub(r'""', "", sample)
    return len(inside_both.findall(unquoted)) > 0.2 * unquoted.count('"')
