"""Reader of CSV, TSV and similar files, which keeps every cell's text unchanged."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import IO, Any, TypeAlias

from kgtable.errors import EmptyTableError, NoTableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import (
    ReadLimits,
    chunks,
    content_size,
    open_content,
    read_bytes,
    unreadable,
)
from kgtable.tables.model import Grid, Notice, Row, Source
from kgtable.tables.readers.dialect import MAX_CELL, TextDialect, detect_dialect
from kgtable.tables.readers.encoding import CODE_PAGES, REPLACE, WIDE, Encoding, encoding_of

SAMPLE = 1 << 18
"""Characters from which the dialect is detected."""

_DELIMITER_LINE = re.compile(r'"?sep=(.)"?(?:\r\n|\r|\n)', re.IGNORECASE)


_Lines: TypeAlias = Callable[[], Iterable[str]]
"""Returns the lines of a text, from the start on each call."""


@dataclass(frozen=True, slots=True)
class _FileText:
    file: TableFile
    encoding: Encoding
    skip: int = 0
    """Lines before the first row."""

    def lines(self) -> Iterator[str]:
        with self.open() as text:
            for _ in range(self.skip):
                text.readline()
            yield from text

    def lines_from(self, offset: int) -> Iterator[str]:
        """The lines from a byte of the unpacked content on, which must begin a line."""
        with open_content(self.file) as content:
            content.seek(offset)
            codec = self.encoding.codec.removesuffix("-sig")
            with io.TextIOWrapper(content, codec, self.encoding.errors, newline="") as text:
                yield from text

    def lines_up_to(self, end: int) -> Iterator[str]:
        """The lines up to a byte, and one more character."""
        line = ""
        with open_content(self.file) as stream:
            content = io.BufferedReader(_BytesUpTo(stream, end))
            text = io.TextIOWrapper(content, self.encoding.codec, self.encoding.errors, newline="")
            for number, following in enumerate(text):
                if number > self.skip:
                    yield line
                line = following
        if line.endswith(("\r", "\n")):
            yield line
            line = ""
        yield line + "x"

    def open(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(
            open_content(self.file), encoding=self.encoding.codec, errors=self.encoding.errors, newline=""
        )


@dataclass(frozen=True, slots=True)
class DelimitedRows:
    """The rows of a delimited file, read from it again on each walk, without holding them."""

    text: _FileText
    dialect: TextDialect
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        return self._rows(self.text.lines())

    def starting_at(self, offset: int) -> Iterator[Row]:
        """The rows from the one that begins at a byte of the unpacked content."""
        return self._rows(self.text.lines_from(offset))

    def _rows(self, lines: Iterator[str]) -> Iterator[Row]:
        try:
            yield from self.dialect.rows(lines)
        except (OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
            raise unreadable(self.text.file, error, "Did it change meanwhile?") from error


@dataclass(frozen=True, slots=True)
class RowMark:
    """Start of a piece of the rows: its first row, and the byte if known."""

    row: int
    offset: int | None


@dataclass(frozen=True, slots=True)
class DelimitedScan:
    """The result of one scan of a delimited file: how its rows are read, and where pieces of them begin."""

    rows: DelimitedRows
    width: int
    notices: tuple[Notice, ...]
    marks: tuple[RowMark, ...] = ()

    def grid(self) -> Grid:
        """The table, its rows read from the file on each walk. Raises `EmptyTableError`."""
        text = self.rows.text
        return _grid(text.file, self.rows, text.encoding, self.rows.dialect, self.width, self.notices)

    def piece(self, part: int) -> Iterator[tuple[int, Row]]:
        """The rows of one of the pieces, with their numbers in the table; parsing begins at the piece."""
        start = self.marks[part]
        end = self.marks[part + 1].row if part + 1 < len(self.marks) else None
        if start.offset is None:
            return islice(enumerate(self.rows), start.row, end)
        rows = enumerate(self.rows.starting_at(start.offset), start.row)
        return islice(rows, None if end is None else end - start.row)


_NO_TEXT = "Give the file the suffix of its kind, or save it as CSV text in UTF-8."


def read_delimited(file: TableFile, limits: ReadLimits) -> list[Grid]:
    """The one table of a delimited file.

    Rows are exactly those of the file: a blank line is a row without cells. Raises `TableError`
    where the file is empty, no text, or (for ``.txt``) holds no columns.
    """
    if content_size(file, limits) > limits.stream_above:
        return [scan_delimited(file, limits).grid()]
    return [read_delimited_bytes(read_bytes(file, limits), file)]


def read_delimited_bytes(content: bytes, file: TableFile) -> Grid:
    """The table in the bytes of a delimited file."""
    encoding = encoding_of(file, [content], _NO_TEXT)
    text = content.decode(encoding.codec, encoding.errors)
    dialect, skip, notices = _dialect(file, text)
    text = text[skip:]
    lines = partial(io.StringIO, text, newline="")
    try:
        rows = tuple(replace(dialect, strict=True).rows(lines()))
    except csv.Error as error:
        dialect, notice = _mend_quotes(file, lines, dialect, error)
        notices.append(notice)
        rows = tuple(dialect.rows(lines()))
    if encoding.fault is not None:
        prefix = content[: encoding.fault].decode(encoding.codec, encoding.errors)[skip:]
        notices.append(_misfit(file, encoding, io.StringIO(prefix + "x", newline=""), dialect))
    return _grid(file, rows, encoding, dialect, max(map(len, rows), default=0), notices)


def scan_delimited(file: TableFile, limits: ReadLimits, parts: int = 1) -> DelimitedScan:
    """Look over a delimited file without holding it; with several `parts`, mark where each one begins.

    Raises `TableError` as `read_delimited` does.
    """
    encoding = encoding_of(file, chunks(file, limits), _NO_TEXT)
    text = _FileText(file, encoding)
    with text.open() as stream:
        sample = stream.read(SAMPLE + 64)
    dialect, skip, notices = _dialect(file, sample)
    text = replace(text, skip=1 if skip else 0)
    size = content_size(file, limits) if parts > 1 else 0
    try:
        count, width, marks = _measured(text, replace(dialect, strict=True), size, parts, sample[:skip])
    except csv.Error as error:
        dialect, notice = _mend_quotes(file, text.lines, dialect, error)
        notices.append(notice)
        count, width, marks = _measured(text, dialect, size, parts, sample[:skip])
    if encoding.fault is not None:
        notices.append(_misfit(file, encoding, text.lines_up_to(encoding.fault), dialect))
    return DelimitedScan(DelimitedRows(text, dialect, count), width, tuple(notices), marks)


def _measured(
    text: _FileText, dialect: TextDialect, size: int, parts: int, skipped: str
) -> tuple[int, int, tuple[RowMark, ...]]:
    """The number of rows, the cells of the widest, and where each of the parts of about equal size begins.

    `skipped` is the line before the first row, which names the delimiter.
    """
    if parts == 1:
        sizes = Counter(map(len, dialect.rows(text.lines())))
        return sizes.total(), max(sizes, default=0), ()
    lines = _WeighedLines(text)
    start = lines.first + lines.weight(skipped)
    width, number, marks = 0, 0, [RowMark(0, start if lines.exact else None)]
    for number, row in enumerate(dialect.rows(lines), 1):
        width = max(width, len(row))
        while len(marks) < parts and start + lines.size >= size * len(marks) // parts:
            marks.append(RowMark(number, start + lines.size if lines.exact else None))
    while len(marks) < parts:
        marks.append(RowMark(number, start + lines.size if lines.exact else None))
    return number, width, tuple(marks)


class _WeighedLines:
    """The lines of a text; `size` is how many bytes those given so far take in the file.

    It is `exact` where each character has one form as bytes: not where broken bytes are replaced, nor
    where a mark at the beginning decides on the order of bytes.
    """

    def __init__(self, text: _FileText) -> None:
        self._text = text
        codec, errors = text.encoding.codec, text.encoding.errors
        self.exact = errors != REPLACE and codec in ("utf-8", "utf-8-sig", *CODE_PAGES.keys() - WIDE)
        self.first = len(codecs.BOM_UTF8) if codec == "utf-8-sig" else 0
        self.size = 0
        self._wide = {"utf-16": 2, "utf-32": 4}.get(codec[:6], 1)
        self._plain = not codec.startswith("utf-8")

    def weight(self, line: str) -> int:
        """The bytes of a line."""
        if self._plain or line.isascii():
            return len(line) * self._wide
        return len(line.encode("utf-8", "replace"))

    def __iter__(self) -> Iterator[str]:
        for line in self._text.lines():
            self.size += self.weight(line)
            yield line


class _BytesUpTo(io.RawIOBase):
    """The first bytes of a stream."""

    def __init__(self, stream: IO[bytes], count: int) -> None:
        self._stream, self._left = stream, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(min(len(buffer), self._left))
        buffer[: len(content)] = content
        self._left -= len(content)
        return len(content)


def _dialect(file: TableFile, text: str) -> tuple[TextDialect, int, list[Notice]]:
    """The dialect of a text, the length of a first line ``sep=;`` that names the delimiter, and notices."""
    match = _DELIMITER_LINE.match(text)
    if match is not None:
        message = f"the first line only names the delimiter ({match[1]!r}); row 0 is the line after it"
        return TextDialect(match[1]), match.end(), [Notice("delimiter-line", message, file.relative)]
    whole = len(text) <= SAMPLE
    dialect = detect_dialect(text[:SAMPLE], whole=whole, preferred=file.format.delimiter or ",")
    if file.suffix == ".txt" and not any(dialect.delimiter in line for line in text[:SAMPLE].splitlines()):
        raise NoTableError("the text has no columns.", path=file.relative, hint="Name it .csv if it is a table.")
    if not dialect.others:
        return dialect, 0, []
    ways = " or ".join(repr(other.delimiter + " " * other.spaced) for other in dialect.others)
    message = f"some rows are separated by {ways} instead of {dialect.delimiter!r}, and were read so"
    return dialect, 0, [Notice("delimiter", message, file.relative)]


def _mend_quotes(file: TableFile, lines: _Lines, dialect: TextDialect, error: csv.Error) -> tuple[TextDialect, Notice]:
    """The dialect that suits misplaced quotes, and a notice of the first row that has one."""
    row = _sound_rows(lines(), replace(dialect, strict=True))
    if "field larger" in str(error):
        raise UnreadableTableError(
            f"a cell is longer than {MAX_CELL:,} characters.",
            path=file.relative,
            row=row,
            hint="Is a quote left open there?",
        ) from error
    if "unexpected end" not in str(error):
        message = "a closing quote is followed by text; both are kept in the cell"
        return dialect, Notice("quotes", message, file.relative, row=row)
    plain = replace(dialect, quote="")
    widths = {len(cells) for cells in plain.rows(lines()) if cells}
    if len(widths) == 1 and widths != {1}:
        message = "a quote is never closed; quotes are read as part of the text"
        return plain, Notice("quotes", message, file.relative, row=row)
    message = "a quote is never closed, so that the rest of the file is one cell; close or double it"
    return dialect, Notice("quotes", message, file.relative, row=row)


def _sound_rows(lines: Iterable[str], dialect: TextDialect) -> int:
    """How many rows come before the first fault."""
    count = 0
    try:
        for _ in dialect.rows(lines):
            count += 1
    except csv.Error:
        pass
    return count


def _misfit(file: TableFile, encoding: Encoding, before: Iterable[str], dialect: TextDialect) -> Notice:
    """The notice of a byte that does not fit the encoding; `before` is the text up to it."""
    place = (0, 0)
    for row, cells in enumerate(dialect.rows(before)):
        place = (row, len(cells) - 1)
    if file.encoding is None and encoding.codec in CODE_PAGES:
        name = CODE_PAGES[encoding.codec]
        message = f"not UTF-8 from here on; the file was read as {name}. Save it as UTF-8 to be sure"
    else:
        message = f"bytes that are no {encoding.codec.upper()} were replaced by U+FFFD, the first here"
    return Notice("encoding", message, file.relative, row=place[0], column=place[1])


def _grid(
    file: TableFile,
    rows: tuple[Row, ...] | DelimitedRows,
    encoding: Encoding,
    dialect: TextDialect,
    width: int,
    notices: Sequence[Notice],
) -> Grid:
    if width == 0:
        raise EmptyTableError("the file holds no cell.", path=file.relative, hint="Put a table into it.")
    media_type = "text/tab-separated-values" if dialect.delimiter == "\t" else "text/csv"
    name = encoding.codec.removesuffix("-sig")
    source = Source(file.relative, media_type=media_type, encoding=name, delimiter=dialect.delimiter)
    return Grid(file.id, source, rows, width, notices=tuple(notices))
