"""Dialect of delimited text: the delimiter on which rows and the kinds of their cells agree, quotes and escapes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from kgtable.tables.limits import ProcessSetting
from kgtable.tables.model import Row

DELIMITERS = (",", "\t", ";", "|", "\x1f")
"""In order of preference; the one that the file's name suggests comes first, and a space is the last resort."""

MAX_CELL = 1 << 28

_LONGEST_FIELD = ProcessSetting(csv.field_size_limit, csv.field_size_limit)

_TYPED_CELLS = 20_000
"""Maximum cells that are examined for their kind of value."""

_VALUE = re.compile(r"(?:[-+−~<>(]|[$€£¥] ?)*\d[\d.,:/'’+−-]*(?:[eE][-+]?\d+)?\)?(?: ?[%‰€$£¥])?\Z")
_ONE_VALUE = re.compile(r"(?:\d{1,3}(?: \d{3})+|\S+ [\d:]+|\d{1,2}\W? [^\W\d]+\W? \d{4})\s*\Z")
_CUT = re.compile(r"\A\s|[\s,;:(]\Z")
_QUOTED = re.compile(r'"([^"]*)"')
_SINGLY_QUOTED = re.compile(r"'[^']*''[^']*'\Z")
_JOINED = re.compile(r"\S[;|\t\x1f]\S|[^\s\d],\S|\S,[^\s\d]")


@dataclass(frozen=True, slots=True)
class TextDialect:
    """How cells are separated.

    `quote` encloses cells, and is empty if nothing does; `escape` precedes a character that is meant
    as it is. Where it is `spaced`, the spaces after a delimiter belong to it. With `strict`, a misplaced quote is an
    error. Single rows that do not have `width` cells are read in one of the dialects `others` if they do there, with
    numbers in the columns `numbers`.
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
        """Rows of cells from lines that keep their line ends (as returned by `open(newline="")`)."""
        if self.others:
            return (self._other_row(read) or row if self._is_odd(row) else row for row, read in self._read(lines))
        return self._plain_rows(lines)

    def _plain_rows(self, lines: Iterable[str]) -> Iterator[Row]:
        # Python's limit holds for all readers of the process, also in the middle of a file.
        with _LONGEST_FIELD.changed(lambda limit: max(limit, MAX_CELL)):
            yield from map(tuple, csv.reader(
                lines, delimiter=self.delimiter, quotechar=self.quote or None, escapechar=self.escape or None,
                quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE, skipinitialspace=self.spaced,
                strict=self.strict,
            ))  # fmt: skip

    def _read(self, lines: Iterable[str]) -> Iterator[tuple[Row, str]]:
        """The rows, each with the text that it was read from."""
        read: list[str] = []
        for row in self._plain_rows(read.append(line) or line for line in lines):  # type: ignore[func-returns-value]
            yield row, "".join(read)
            read.clear()

    def _is_odd(self, row: Row) -> bool:
        return bool(row) and (len(row) != self.width or row[-1].startswith(' "'))

    def _other_row(self, text: str) -> Row | None:
        """The row as one of the others reads it, None if that does not suit the columns."""
        for other in self.others:
            [row, *more] = list(other._plain_rows(io.StringIO(text, newline=""))) or [()]
            inside = not other.spaced and re.search(rf"\S{re.escape(self.delimiter)}\S", _QUOTED.sub("", text))
            if more or inside or len(row) != self.width or any(map(_CUT.search, row)):
                continue
            values = {at for at, cell in enumerate(row) if _VALUE.match(cell)}
            if values & {*self.numbers} and {at for at in self.numbers if row[at]} <= values:
                return row
            if not values and other.delimiter != " " and self.width > 2 and all(row):  # names, not a sentence
                return row
        return None

    def with_others(self, sample: str) -> TextDialect:
        """This dialect, and those of single rows of the sample that do not agree with the rest."""
        found = list(self._read(io.StringIO(sample, newline="")))
        width, count = Counter(len(row) for row, _ in found if row).most_common(1)[0]
        model = replace(self, width=width)
        odd = [text for row, text in found if model._is_odd(row)]
        if width < 2 or count < 3 or not odd or count < len(odd):
            return self
        columns = zip(*[row for row, _ in found if row and not model._is_odd(row)][1:], strict=True)
        shares = (_share(_VALUE.match, [cell for cell in column if cell]) for column in columns)
        model = replace(model, numbers=tuple(at for at, share in enumerate(shares) if share > 0.8))
        rivals = [TextDialect(delimiter) for delimiter in (*DELIMITERS, " ") if delimiter != self.delimiter]
        models = [replace(model, others=(rival,)) for rival in (*rivals, TextDialect(self.delimiter, spaced=True))]
        others = [model.others[0] for model in models if any(map(model._other_row, odd[:1_000]))]
        return replace(model, others=tuple(others)) if others else self


def _share(test: Callable[[str], object], texts: Sequence[str]) -> float:
    return sum(map(bool, map(test, texts))) / len(texts) if texts else 0.0


@dataclass(frozen=True, slots=True)
class _Fit:
    """How a sample reads in a dialect: the share of rows that agree times that of whole cells, and rows not blank."""

    dialect: TextDialect
    score: float = 0.0
    rows: tuple[Row, ...] = ()


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
    """The best reading of a sample with a delimiter: in double quotes, unless another one explains more."""
    plain = _fit(sample, TextDialect(delimiter, spaced=_is_spaced(sample, delimiter, '"')), whole)
    fits = [plain]
    if delimiter == " ":
        fits.append(_fit(sample, replace(plain.dialect, spaced=True), whole))
    escaped = rf'\\["{re.escape(delimiter)}\\]'
    if re.search(escaped, sample):
        fits.append(_fit(sample, replace(plain.dialect, escape="\\"), whole))
        if '\\"' in sample and "\\" not in re.sub(r'\\["\\]', "", sample):
            fits.reverse()
    if _encloses_cells(sample, delimiter):
        single = TextDialect(delimiter, quote="'", spaced=_is_spaced(sample, delimiter, "'"))
        fits.append(_fit(sample, single, whole))
        certain = _share(lambda cell: cell[:1] == "'" == cell[-1:], [*chain(*plain.rows[:1])]) == 1
        if certain or any(map(_SINGLY_QUOTED.match, chain(*plain.rows))):
            fits.reverse()
    return max(fits, key=lambda fit: fit.score)


def _is_spaced(sample: str, delimiter: str, quote: str) -> bool:
    """Whether a space follows every delimiter outside quotes."""
    if f"{delimiter} " not in sample or len(sample.splitlines()) < 2:
        return False
    bare = re.sub(f"{quote}[^{quote}]*{quote}", quote, sample)
    return delimiter + " " in bare and not re.search(rf"{re.escape(delimiter)}[^ \r\n]", bare)


def _encloses_cells(sample: str, delimiter: str) -> bool:
    """Whether as many cells begin with a single quote as end with one."""
    sample, edge = sample.replace("\r", "\n"), re.escape(delimiter)
    begin = len(re.findall(rf"(?:^|{edge} ?)'(?!')", sample, re.MULTILINE))
    return begin > 0 and begin == len(re.findall(rf"(?<!')'(?={edge}|$)", sample, re.MULTILINE))


def _fit(sample: str, dialect: TextDialect, whole: bool) -> _Fit:
    if dialect.quote == '"' and _has_stray_quotes(sample, dialect):
        quoted = [line for line in sample.splitlines() if '"' in line]
        if _share(lambda line: line.count('"') % 2, quoted) < 0.5:
            return _Fit(dialect)
        dialect = replace(dialect, quote="")  # one that is not closed on its line encloses nothing
    rows: list[Row] = []
    weight = 1.0
    try:
        rows.extend(replace(dialect, strict=True).rows(io.StringIO(sample, newline="")))
    except csv.Error as error:
        if whole or "unexpected end" not in str(error):
            weight = 0.8
            rows = list(dialect.rows(io.StringIO(sample, newline="")))
    if not whole and len(rows) > 1:
        rows.pop()
    filled = tuple(row for row in rows if any(row))
    filled = tuple(row for row in filled if not row[0].startswith("#")) or filled
    agreeing = _agreeing(filled)
    if dialect.delimiter == " " and agreeing[:1] != list(filled[:1]):
        return _Fit(dialect)
    agreement = len(agreeing) / max(len(filled), 1)
    return _Fit(dialect, weight * agreement * _wholeness(agreeing, sample, dialect.delimiter), filled)


def _agreeing(rows: Sequence[Row]) -> list[Row]:
    """The rows as wide as most are, or as one next to them; none of a column of texts with a sign in them."""
    widths = [len(row) for row in rows]
    if max(widths, default=0) < 2 or max(widths) == 2 > widths[0]:
        return []
    [(common, _)] = Counter(widths).most_common(1)
    around = zip(rows, widths, [0, *widths], [*widths[1:], 0], strict=False)
    return [row for row, width, before, after in around if width > 1 and width in (common, before, after)]


def _wholeness(rows: Sequence[Row], sample: str, delimiter: str) -> float:
    """Share of the cells that hold a value, or a text that is not cut out of more and holds no other delimiter."""
    cells = list(islice(filter(None, chain(*rows[delimiter == " " :])), _TYPED_CELLS))
    if delimiter == " ":  # is in every text: quotes or figures have to tell, and those not of one number
        lines = sample.splitlines()
        one = len(lines) < 2 or _share(_ONE_VALUE.match, lines) > 0.5
        return 0.0 if one else _share(lambda cell: " " in cell or _VALUE.match(cell), cells)
    quoted = set(_QUOTED.findall(sample))

    def is_whole(cell: str) -> bool:
        joined = _JOINED.search(cell)
        whole = joined is None or joined[0][1] == delimiter or cell in quoted or bool(_VALUE.match(cell))
        return whole and cell[0] != " "

    return _share(is_whole, cells)


def _has_stray_quotes(sample: str, dialect: TextDialect) -> bool:
    """Whether quotes open or close next to anything but the delimiter, a line end, an escape or a quote."""
    edge = re.escape(dialect.delimiter + dialect.escape) + '=\r\n"' + " " * dialect.spaced
    return _share(re.compile(rf'[^{edge}]"[^{edge}]').search, sample.replace('""', "").splitlines()) > 0.2
