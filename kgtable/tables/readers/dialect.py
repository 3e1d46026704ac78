"""Dialect of delimited text: the delimiter on which rows and the kinds of their cells agree, quotes and escapes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, islice

from kgtable.tables.limits import ProcessSetting
from kgtable.tables.model import Row

DELIMITERS = (",", "\t", ";", "|", "\x1f")
"""In order of preference; the one that the file's name suggests comes first, and a space is the last resort."""

MAX_CELL = 1 << 28

_LONGEST_FIELD = ProcessSetting(csv.field_size_limit, csv.field_size_limit)

_TYPED_CELLS = 20_000
"""How many cells are looked at for what kind of value they hold."""

_UNSOUND = 0.8
"""Weight of a reading that finds a quote out of place."""

_VALUE = re.compile(r"(?:[-+−~<>(]|[$€£¥] ?)*\d[\d.,:/'’+−-]*(?:[eE][-+]?\d+)?\)?(?: ?[%‰€$£¥])?\Z")

_CUT = re.compile(r"\A\s|[\s,;:(]\Z")

_QUOTED = re.compile(r'"([^"]*)"')

_ONE_VALUE = re.compile(r"(?:\d{1,3}(?: \d{3})+|\S+ [\d:]+|\d{1,2}\W? [^\W\d]+\W? \d{4})\s*\Z")

_DOUBLED = re.compile(r"'[^']*''[^']*'\Z")

_JOINED = re.compile(r"\S[;|\t\x1f]\S|[^\s\d],\S|\S,[^\s\d]")


@dataclass(frozen=True, slots=True)
class TextDialect:
    """How cells are told apart.

    `quote` encloses cells, and is empty where nothing does; `escape` stands before a character that is meant
    as it is. Where it is `spaced`, the spaces behind a delimiter belong to it. With `strict`, a misplaced quote is an
    error. `others` are dialects of single rows: those that do not have `width` cells in this one, but in the other,
    with numbers in the columns `numbers`.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    spaced: bool = False
    strict: bool = False
    others: tuple[TextDialect, ...] = ()
    width: int = 0
    numbers: tuple[int, ...] = ()

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """Rows of cells from lines that keep their line ends (as `open(newline="")` gives them)."""
        # Python's limit holds for all readers of the process, also in the middle of a file.
        with _LONGEST_FIELD.changed(lambda limit: max(limit, MAX_CELL)):
            if not self.others:
                yield from self._plain_rows(lines)
                return
            for row, read in self._rows_and_lines(lines):
                yield (self._other_row(read) if self._is_odd(row) else None) or row

    def _plain_rows(self, lines: Iterable[str]) -> Iterator[Row]:
        reader = csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape or None,
            skipinitialspace=self.spaced,
            strict=self.strict,
        )
        return map(tuple, reader)

    def _rows_and_lines(self, lines: Iterable[str]) -> Iterator[tuple[Row, list[str]]]:
        read: list[str] = []

        def noted() -> Iterator[str]:
            for line in lines:
                read.append(line)
                yield line

        for row in self._plain_rows(noted()):
            yield row, read.copy()
            read.clear()

    def _is_odd(self, row: Row) -> bool:
        return bool(row) and (len(row) != self.width or row[-1].startswith(' "'))

    def _other_row(self, lines: list[str]) -> Row | None:
        return next((row for other in self.others if (row := self._read_as(other, lines))), None)

    def _read_as(self, other: TextDialect, lines: list[str]) -> Row | None:
        """The row as the other dialect reads it, None where it does not suit the columns."""
        if not other.spaced and re.search(rf"\S{re.escape(self.delimiter)}\S", _QUOTED.sub("", "".join(lines))):
            return None
        rows = list(other._plain_rows(lines))
        if len(rows) != 1 or len(rows[0]) != self.width or any(map(_CUT.search, rows[0])):
            return None
        valued = {at for at, cell in enumerate(rows[0]) if _VALUE.match(cell)}
        if valued:
            suits = not valued.isdisjoint(self.numbers) and all(at in valued or not rows[0][at] for at in self.numbers)
        else:  # as a row of names has it, and a sentence has not
            suits = other.delimiter != " " and self.width > 2 and all(rows[0])
        return rows[0] if suits else None

    def with_others(self, sample: str) -> TextDialect:
        """This dialect, and those of single rows of the sample that do not agree with the rest."""
        with _LONGEST_FIELD.changed(lambda limit: max(limit, MAX_CELL)):
            return self._with_others(list(self._rows_and_lines(io.StringIO(sample, newline=""))))

    def _with_others(self, found: list[tuple[Row, list[str]]]) -> TextDialect:
        width, count = Counter(len(row) for row, _ in found if row).most_common(1)[0]
        model = replace(self, width=width)
        odd = [lines for row, lines in found if model._is_odd(row)]
        if width < 2 or count < 3 or not odd or count < len(odd):
            return self
        sound = [row for row, _ in found if row and not model._is_odd(row)][1:]
        numbers = [at for at in range(width) if _are_numbers([row[at] for row in sound if row[at]])]
        model = replace(model, numbers=tuple(numbers))
        rivals = [TextDialect(delimiter) for delimiter in (*DELIMITERS, " ") if delimiter != self.delimiter]
        rivals.append(TextDialect(self.delimiter, spaced=True))
        others = [other for other in rivals if any(model._read_as(other, lines) for lines in odd[:1_000])]
        return replace(model, others=tuple(others)) if others else self


def _are_numbers(cells: list[str]) -> bool:
    return bool(cells) and sum(map(bool, map(_VALUE.match, cells))) > 0.8 * len(cells)


@dataclass(frozen=True, slots=True)
class _Fit:
    """How a sample looks when it is read in a dialect."""

    dialect: TextDialect
    score: float = 0.0
    """Share of rows that agree on their width, times the share of cells that are whole values or texts."""
    rows: tuple[Row, ...] = ()
    """Those that are not blank."""


def detect_dialect(sample: str, *, whole: bool, preferred: str = ",") -> TextDialect:
    """The dialect of a text from its beginning; `whole` says that the sample is all of it.

    `preferred` is the delimiter that the file's name suggests.

    >>> detect_dialect("a;b\\n1,5;2\\n", whole=True).delimiter
    ';'
    """
    order = [preferred, *(delimiter for delimiter in DELIMITERS if delimiter != preferred)]
    fits = [_best_fit(sample, delimiter, whole) for delimiter in order if delimiter in sample]
    best = max(fits, key=lambda fit: fit.score, default=_Fit(TextDialect(preferred)))
    if best.score <= 0.5 and " " in sample:
        best = _best_fit(sample, " ", whole)
    return best.dialect.with_others(sample) if best.score > 0.5 else TextDialect(preferred)


def _best_fit(sample: str, delimiter: str, whole: bool) -> _Fit:
    """The best reading of a sample with a delimiter: in double quotes, unless another one tells more."""
    plain = _fit(sample, TextDialect(delimiter, spaced=_is_spaced(sample, delimiter, '"')), whole)
    fits = [plain]
    if delimiter == " ":
        fits.append(_fit(sample, replace(plain.dialect, spaced=True), whole))
    escaped = rf'\\["{re.escape(delimiter)}\\]'
    if re.search(escaped, sample):
        fits.append(_fit(sample, replace(plain.dialect, escape="\\"), whole))
        if '\\"' in sample and "\\" not in re.sub(r'\\["\\]', "", sample):
            fits.reverse()
    if _encloses(sample, delimiter, "'"):
        single = TextDialect(delimiter, quote="'", spaced=_is_spaced(sample, delimiter, "'"))
        fits.append(_fit(sample, single, whole))
        if plain.rows and (_is_enclosed(plain.rows[0]) or any(map(_DOUBLED.match, chain(*plain.rows)))):
            fits.reverse()
    return max(fits, key=lambda fit: fit.score)


def _is_enclosed(row: Row) -> bool:
    return all(cell[:1] == "'" == cell[-1:] for cell in row)


def _is_spaced(sample: str, delimiter: str, quote: str) -> bool:
    """Whether a space stands behind every delimiter outside quotes."""
    if f"{delimiter} " not in sample or len(sample.splitlines()) < 2:
        return False
    bare = re.sub(f"{quote}[^{quote}]*{quote}", quote, sample)
    return delimiter + " " in bare and not re.search(rf"{re.escape(delimiter)}[^ \r\n]", bare)


def _encloses(sample: str, delimiter: str, quote: str) -> bool:
    """Whether as many cells begin with a quote as end with one."""
    sample = sample.replace("\r", "\n")
    edge = rf"{re.escape(delimiter)} ?" if delimiter != " " else " "
    begin = len(re.findall(rf"(?:^|{edge}){quote}(?!{quote})", sample, re.MULTILINE))
    end = len(re.findall(rf"(?<!{quote}){quote}(?={re.escape(delimiter)}|$)", sample, re.MULTILINE))
    return begin > 1 and begin == end


def _fit(sample: str, dialect: TextDialect, whole: bool) -> _Fit:
    if dialect.quote == '"' and _has_stray_quotes(sample, dialect):
        return _Fit(dialect)
    rows: list[Row] = []
    sound = True
    try:
        rows.extend(replace(dialect, strict=True).rows(io.StringIO(sample, newline="")))
    except csv.Error as error:
        if whole or "unexpected end" not in str(error):
            sound = False
            rows = list(dialect.rows(io.StringIO(sample, newline="")))
    if not whole and len(rows) > 1:
        rows.pop()
    filled = tuple(row for row in rows if any(row))
    agreeing = _agreeing(filled)
    if dialect.delimiter == " " and agreeing[:1] != list(filled[:1]):
        return _Fit(dialect)
    score = len(agreeing) / max(len(filled), 1) * _wholeness(agreeing, sample, dialect)
    return _Fit(dialect, score if sound else score * _UNSOUND, filled)


def _agreeing(rows: Sequence[Row]) -> list[Row]:
    """The rows as wide as most are, or as one beside them; none of a column of texts with a sign in them."""
    widths = [len(row) for row in rows]
    if max(widths, default=0) < 2 or max(widths) == 2 > widths[0]:
        return []
    [(common, _)] = Counter(widths).most_common(1)
    around = zip(rows, widths, [0, *widths], [*widths[1:], 0], strict=False)
    return [row for row, width, before, after in around if width > 1 and width in (common, before, after)]


def _wholeness(rows: Sequence[Row], sample: str, dialect: TextDialect) -> float:
    """Share of the cells that hold a value, or a text that is not cut out of more and holds no other delimiter."""
    figures = rows[1:] if dialect.delimiter == " " else rows
    cells = list(islice((cell for row in figures for cell in row if cell), _TYPED_CELLS))
    if not cells:
        return 0.0
    if dialect.delimiter == " ":  # is in every text: quotes or figures have to tell, and those not of one number
        lines = sample.splitlines()
        if len(lines) < 2 or sum(map(bool, map(_ONE_VALUE.match, lines))) > 0.5 * len(lines):
            return 0.0
        return sum(" " in cell or _VALUE.match(cell) is not None for cell in cells) / len(cells)
    quoted = set(_QUOTED.findall(sample))
    return sum(_is_whole(cell, dialect.delimiter, quoted) for cell in cells) / len(cells)


def _is_whole(cell: str, delimiter: str, quoted: Set[str]) -> bool:
    if cell[0] == " ":
        return False
    joined = _JOINED.search(cell)
    return joined is None or joined[0][1] == delimiter or cell in quoted or _VALUE.match(cell) is not None


def _has_stray_quotes(sample: str, dialect: TextDialect) -> bool:
    """Whether quotes open or close beside anything but the delimiter, a line end, an escape or a quote."""
    if '"' not in sample:
        return False
    edge = re.escape(dialect.delimiter + dialect.escape) + '=\r\n"' + " " * dialect.spaced
    unquoted = sample.replace('""', "")
    stray = re.compile(rf'[^{edge}]"[^{edge}]')
    lines = unquoted.splitlines()
    return sum(map(bool, map(stray.search, lines))) > 0.2 * len(lines)
