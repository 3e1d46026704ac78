"""Detection of a text file's encoding: UTF-8 or UTF-16/32, with or without a mark, else Windows-1252."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgtable.errors import UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.model import Notice

CHUNK = 1 << 20
REPLACE = "replace"
CONTROL_CODES = "kgtable-control-codes"

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_SIGNATURES = (
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook (.xlsx)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls)"),
    (b"\x1f\x8b", "gzip data (.gz)"),
    (b"PAR1", "a Parquet file (.parquet)"),
    (b"ARROW1", "an Arrow file (.arrow)"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x7fELF", "a program"),
)


class BinaryContentError(ValueError):
    """The bytes are no text in any encoding known here."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of a file: `codec` and `errors` as Python names them.

    `fault` is the offset of the first byte that does not fit the encoding expected there, else None.
    """

    codec: str
    errors: str = "strict"
    fault: int | None = None


def _keep_control_codes(error: UnicodeError) -> tuple[str, int]:
    """The five bytes that Windows-1252 leaves open stand for the control codes of Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(CONTROL_CODES, _keep_control_codes)


def describe_content(start: bytes) -> str | None:
    """The kind of binary file that begins with these bytes, in words; None if unknown.

    >>> describe_content(b"%PDF-1.7")
    'a PDF document'
    """
    return next((words for magic, words in _SIGNATURES if start.startswith(magic)), None)


def detect_encoding(chunks: Iterable[bytes]) -> Encoding:
    """The encoding of a file given as consecutive chunks of bytes, every one of which is looked at.

    A byte order mark decides. Without one, NUL bytes at every other place mean UTF-16; text that
    decodes as UTF-8 is UTF-8; text with more sound than broken UTF-8 sequences is damaged UTF-8
    (the broken ones become U+FFFD); everything else is Windows-1252.

    Raises `BinaryContentError` where the bytes are no text.

    >>> detect_encoding([b"a,b"]).codec, detect_encoding([b"caf\\xe9"]).codec
    ('utf-8', 'cp1252')
    """
    stream = iter(chunks)
    first = next(stream, b"")
    kind = describe_content(first[:32])
    if kind is not None and b"\0" in first[:4096]:
        raise BinaryContentError(f"the content is {kind}, not text")
    codec = next((name for mark, name in _MARKS if first.startswith(mark)), None) or _utf16_without_mark(first)
    trial = _Trial(codec or "utf-8")
    for chunk in _with_first(first, stream):
        trial.feed(chunk)
    trial.close()
    if trial.null is not None and trial.narrow:
        raise BinaryContentError(f"byte {trial.null} is NUL: the content is {kind or 'binary'}, not text")
    if trial.fault is None:
        return Encoding(trial.codec)
    if codec is None and trial.broken >= trial.sound:
        return Encoding("cp1252", CONTROL_CODES, trial.fault)
    return Encoding(trial.codec, REPLACE, trial.fault)


def encoding_of(file: TableFile, chunks: Iterable[bytes], hint: str) -> Encoding:
    """The encoding of a file's content; raises `UnreadableTableError` with the hint where it is no text."""
    try:
        return detect_encoding(chunks)
    except BinaryContentError as error:
        raise UnreadableTableError(f"{error}.", path=file.relative, hint=hint) from error


def encoding_notices(file: TableFile, encoding: Encoding) -> tuple[Notice, ...]:
    """A notice where a byte does not fit UTF-8."""
    if encoding.fault is None:
        return ()
    message = f"byte {encoding.fault} is no UTF-8; the file was read as {encoding.codec}"
    return (Notice("encoding", message, file.relative),)


def _with_first(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _utf16_without_mark(start: bytes) -> str | None:
    sample = start[:4096]
    half = len(sample) // 2
    if half < 4 or b"\0" not in sample:
        return None
    low, high = sample[1::2].count(0), sample[0::2].count(0)
    if low > 0.4 * half and high <= 0.02 * half:
        return "utf-16-le"
    if high > 0.4 * half and low <= 0.02 * half:
        return "utf-16-be"
    return None


class _Trial:
    """Decodes a file piece by piece and counts what goes wrong."""

    def __init__(self, codec: str) -> None:
        self.codec = codec
        self.narrow = codec.startswith("utf-8")
        self.fault: int | None = None
        self.null: int | None = None
        self.sound = self.broken = 0
        self._offset = 0
        self._strict = codecs.getincrementaldecoder(codec)("strict")
        self._lenient = codecs.getincrementaldecoder(codec)(REPLACE)

    def feed(self, chunk: bytes) -> None:
        if self.narrow and self.null is None:
            at = chunk.find(b"\0")
            if at >= 0:
                self.null = self._offset + at
        self._decode(chunk, last=False)
        self._offset += len(chunk)

    def close(self) -> None:
        self._decode(b"", last=True)

    def _decode(self, chunk: bytes, *, last: bool) -> None:
        if self.fault is None:
            pending = self._strict.getstate()[0]
            try:
                text = self._strict.decode(chunk, last)
            except UnicodeDecodeError as error:
                self.fault = self._offset - len(pending) + error.start
                self._lenient.setstate((pending, self._strict.getstate()[1]))
                self._count(self._lenient.decode(chunk, last))
            else:
                self.sound += _beyond_ascii(text)
        else:
            self._count(self._lenient.decode(chunk, last))

    def _count(self, text: str) -> None:
        replaced = text.count("\ufffd")
        self.broken += replaced
        self.sound += _beyond_ascii(text) - replaced


def _beyond_ascii(text: str) -> int:
    return 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
