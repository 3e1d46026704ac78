"""Detection of a text file's encoding: UTF-8 or UTF-16/32, with or without a mark, else a code page."""

from __future__ import annotations

import codecs
import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType

from kgtable.errors import UnreadableTableError
from kgtable.resources import read_shipped
from kgtable.tables.discovery import GZIP, OLE, SIGNATURES, ZIP, TableFile
from kgtable.tables.model import Notice

CHUNK = 1 << 20
REPLACE = "replace"
CONTROL_CODES = "kgtable-control-codes"
SAMPLE = 1 << 14
"""Minimum bytes of non-ASCII lines from which a code page is detected, if there are that many."""

CODE_PAGES: Mapping[str, str] = MappingProxyType({
    "cp1252": "Windows-1252", "cp1250": "Windows-1250", "cp1251": "Windows-1251", "cp1253": "Windows-1253",
    "cp1254": "Windows-1254", "cp1255": "Windows-1255", "cp1256": "Windows-1256", "cp1257": "Windows-1257",
    "koi8_r": "KOI8-R", "koi8_u": "KOI8-U", "iso8859_2": "ISO 8859-2", "iso8859_7": "ISO 8859-7",
    "shift_jis": "Shift_JIS", "euc_jp": "EUC-JP", "big5": "Big5", "gb18030": "GB18030", "euc_kr": "EUC-KR",
    "cp850": "CP850", "cp437": "CP437", "cp866": "CP866",
})  # fmt: skip
"""The encodings tried for text that is not Unicode, with their names."""

WIDE = frozenset(("shift_jis", "euc_jp", "big5", "gb18030", "euc_kr"))
"""Those of them with characters of several bytes."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip

_SIGNATURES = (
    (ZIP, "a ZIP archive or an Excel workbook (.xlsx)"), (OLE, "an old Excel workbook (.xls)"),
    (GZIP, "gzip data (.gz)"), (b"BZh", "bzip2 data"), (b"\xfd7zXZ", "xz data"),
    (SIGNATURES[".parquet"], "a Parquet file (.parquet)"), (SIGNATURES[".arrow"], "an Arrow file (.arrow)"),
    (b"SQLite format 3", "an SQLite database"), (b"%PDF", "a PDF document"), (b"\x7fELF", "a program"),
    (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
)  # fmt: skip


class BinaryContentError(ValueError):
    """The bytes are not text in any encoding known here."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of a file: `codec` and `errors` as Python names them.

    `fault` is the offset of the first byte that does not fit the encoding expected there, else None.
    """

    codec: str
    errors: str = "strict"
    fault: int | None = None


def _keep_control_codes(error: UnicodeError) -> tuple[str, int]:
    """Bytes that a code page leaves open stand for the control codes of Latin-1."""
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


def detect_encoding(chunks: Iterable[bytes], given: str | None = None) -> Encoding:
    """The encoding of a file given as consecutive chunks of bytes, all of which are examined.

    The codec that is `given` holds, and what does not fit it becomes U+FFFD; else a byte order mark
    decides. Without one, NUL bytes at every other place mean UTF-16; text that decodes as UTF-8 is UTF-8;
    text with more sound than broken UTF-8 sequences is damaged UTF-8 (the broken ones become U+FFFD);
    everything else is in one of `CODE_PAGES`, Windows-1252 where nothing speaks for another.

    Raises `BinaryContentError` if the bytes are not text.

    >>> detect_encoding([b"a,b"]).codec, detect_encoding([b"caf\\xe9"]).codec
    ('utf-8', 'cp1252')
    """
    stream = iter(chunks)
    first = next(stream, b"")
    kind = describe_content(first[:32])
    if kind is not None and b"\0" in first[:4096]:
        raise BinaryContentError(f"the content is {kind}, not text")
    codec = given or next((name for mark, name in _MARKS if first.startswith(mark)), None) or _utf16_without_mark(first)
    trial = _Trial(codec or "utf-8")
    for chunk in chain([first], stream):
        trial.feed(chunk)
    trial.feed(b"", last=True)
    if trial.null is not None and trial.narrow:
        raise BinaryContentError(f"byte {trial.null} is NUL: the content is {kind or 'binary'}, not text")
    if trial.fault is None:
        return Encoding(trial.codec)
    if codec is None and trial.broken >= trial.sound:
        code_page = _code_page(bytes(trial.sample))
        return Encoding(code_page, REPLACE if code_page in WIDE else CONTROL_CODES, trial.fault)
    return Encoding(trial.codec, REPLACE, trial.fault)


def codec_of(name: str) -> str | None:
    """The codec of an encoding's name, None for an unknown one; that of UTF-8 passes over a byte order mark.

    >>> codec_of("Windows-1251"), codec_of("UTF-8"), codec_of("base64"), codec_of("quux")
    ('cp1251', 'utf-8-sig', None, None)
    """
    try:
        " ".encode(name)  # refuses codecs that are not of text
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return "utf-8-sig" if codec == "utf-8" else codec


UNKNOWN_ENCODING_HINT = "Give a name such as utf-8, windows-1252, koi8-r or shift_jis."


def encoding_of(file: TableFile, chunks: Iterable[bytes], hint: str) -> Encoding:
    """The encoding of a file's content; raises `UnreadableTableError` with the hint where it is not text."""
    try:
        return detect_encoding(chunks, file.encoding)
    except BinaryContentError as error:
        raise UnreadableTableError(f"{error}.", path=file.relative, hint=hint) from error


def encoding_notices(file: TableFile, encoding: Encoding) -> tuple[Notice, ...]:
    """A notice if a byte is not valid in UTF-8, or in the given encoding."""
    if encoding.fault is None:
        return ()
    name = CODE_PAGES.get(encoding.codec, encoding.codec)
    message = f"byte {encoding.fault} is not valid UTF-8; the file was read as {name}"
    if file.encoding is not None:
        message = f"byte {encoding.fault} is not valid {name} and was replaced by U+FFFD"
    return (Notice("encoding", message, file.relative),)


def _code_page(sample: bytes) -> str:
    """The code page of lines of text.

    The alphabet of a language that has every letter decides, Windows-1252 first; else charset-normalizer
    does. It confuses code pages of Latin letters in short texts: among them the best alphabet decides.
    """
    shares = {codec: share for codec in _alphabets() if (share := _explained(sample, codec)) is not None}
    latin = max(shares, key=shares.__getitem__, default="cp1252")
    if shares.get(latin) == 1:
        return latin
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(CODE_PAGES), preemptive_behaviour=False).best()
    return latin if best is None or best.encoding not in CODE_PAGES.keys() - _alphabets() else best.encoding


@cache
def _alphabets() -> Mapping[str, list[frozenset[str]]]:
    """The letters of each language by code page."""
    found: dict[str, list[frozenset[str]]] = {}
    for row in csv.DictReader(read_shipped("ontologies/alphabets.csv").splitlines()):
        found.setdefault(row["encoding"], []).append(frozenset(row["letters"] + row["letters"].upper()))
    return found


def _explained(sample: bytes, codec: str) -> float | None:
    """The share of characters beyond ASCII that one language explains; None if bytes do not fit.

    Signs count where they are placed as in a sentence, and letters of other scripts where no Latin one is next to them.
    """
    try:
        text = f" {sample.decode(codec)} "
    except UnicodeDecodeError:
        return None
    letters: list[str] = []
    signs = total = 0
    for at, sign in enumerate(text):
        if not sign.isascii():
            total += 1
            before, after = text[at - 1], text[at + 1]
            if unicodedata.normalize("NFKC", sign) == sign and sign.isalpha():
                if sign < "\u0370" or not re.search("[A-Za-z]", before + after):
                    letters.append(sign)
            else:
                signs += _is_plausible(sign, before, after)
    alphabets = _alphabets()[codec]
    one = max(sum(letter in alphabet for letter in letters) for alphabet in alphabets)
    mixed = sum(letter in frozenset().union(*alphabets) for letter in letters)
    return (signs + max(one, 0.9 * mixed)) / max(total, 1)


def _is_plausible(sign: str, before: str, after: str) -> bool:
    """Whether a sign that is not a letter may occur there: symbols next to a word, quotes and brackets around one."""
    kind = unicodedata.category(sign)
    if "─" <= sign <= "▟" or not (sign.isprintable() or sign == "\xa0"):
        return False
    behind, ahead = (c.isalpha() or (not c.isascii() and unicodedata.category(c)[0] == "S") for c in (before, after))
    cut = (behind and (ahead or kind in ("Ps", "Pi"))) or (ahead and kind in ("Pe", "Pf"))
    return sign == "’" or kind == "Pd" or not cut


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
        self.sample = bytearray()
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder(codec)("strict")

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        if self.narrow and self.null is None and (at := chunk.find(b"\0")) >= 0:
            self.null = self._offset + at
        pending = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(chunk, last)
        except UnicodeDecodeError as error:
            self.fault = self._offset - len(pending) + error.start
            state = pending, self._decoder.getstate()[1]
            self._decoder = codecs.getincrementaldecoder(self.codec)(REPLACE)
            self._decoder.setstate(state)
            text = self._decoder.decode(chunk, last)
        if not text.isascii():
            replaced = 0 if self.fault is None else text.count("\ufffd")
            self.broken += replaced
            self.sound += len(text) - len(text.encode("ascii", "ignore")) - replaced
        if len(self.sample) < SAMPLE and not chunk.isascii():
            self._collect(chunk)
        self._offset += len(chunk)

    def _collect(self, chunk: bytes) -> None:
        """Add lines beyond ASCII of a chunk, whole where they end in it."""
        for line in chunk.splitlines(keepends=True):
            if not line.isascii():
                self.sample += line
                if len(self.sample) >= SAMPLE:
                    return
