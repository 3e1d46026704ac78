"""Number formats, indents and raised marks of .xls workbooks, which the library that reads their values leaves out.

An .xls is a compound file, a small file system of sectors, with one stream of records: the workbook's
formats and cell styles first, then the cells of each sheet. What is damaged beyond reading here gives
no details; whether the file can be used at all is decided where its values are read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from openpyxl.styles.numbers import BUILTIN_FORMATS

from kgtable.tables.discovery import OLE
from kgtable.tables.readers.workbook_parts import GENERAL, SheetDetails
from kgtable.tables.readers.xls_strings import is_superscript, raised_texts

_LAST_SECTOR = 0xFFFFFFFA
"""From here on a sector's number is none: the end of a chain, or a free sector."""
_HEADED = 109
"""How many numbers of table sectors stand in the header itself."""

_BOF, _EOF, _SHEET, _FORMAT, _STYLE = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0
_CELLS = frozenset((0x0203, 0x027E, 0x00FD, 0x0204, 0x0205, 0x0006))
"""Records of one cell: numbers, texts, truth values and errors, formulas."""
_NUMBERS_IN_ROW, _SHARED_TEXT = 0x00BD, 0x00FD
_SHARED_TEXTS, _CONTINUED, _FONT = 0x00FC, 0x003C, 0x0031
_LARGE_STREAM = 4096
_VERSION_8 = 0x0600


class _Record(NamedTuple):
    kind: int
    content: bytes
    end: int


def xls_details(content: bytes) -> dict[str, SheetDetails]:
    """Formats, indents and raised marks by the names of the sheets; nothing where the file is damaged."""
    try:
        return _details(_workbook_stream(content))
    except (struct.error, IndexError, ValueError):
        return {}


def _workbook_stream(content: bytes) -> bytes:
    """The stream of records of a compound file; raises `ValueError` where there is none."""
    if not content.startswith(OLE):
        raise ValueError("no compound file")
    shift, small_shift = struct.unpack_from("<HH", content, 30)
    if shift not in (9, 12) or small_shift != 6:
        raise ValueError("sectors of unknown size")
    sectors = _Sectors(content, 1 << shift)
    directory = sectors.chain(struct.unpack_from("<I", content, 48)[0])
    root = directory[:128]
    for start in range(0, len(directory) - 127, 128):
        entry = directory[start : start + 128]
        name = entry[: max(struct.unpack_from("<H", entry, 64)[0] - 2, 0)].decode("utf-16-le", "replace")
        if name.casefold() not in ("workbook", "book"):
            continue
        first, size = struct.unpack_from("<II", entry, 116)
        if size >= _LARGE_STREAM:
            return sectors.chain(first)[:size]
        small = sectors.chain(struct.unpack_from("<I", root, 116)[0])
        table = sectors.chain(struct.unpack_from("<I", content, 60)[0])
        return _follow(small, 64, _numbers(table), first)[:size]
    raise ValueError("no workbook")


class _Sectors:
    """The sectors of a compound file, and the table that chains them."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content, self._size = memoryview(content)[size:], size
        listed = list(struct.unpack_from(f"<{_HEADED}I", content, 76))
        further = struct.unpack_from("<I", content, 68)[0]
        while further < _LAST_SECTOR and len(listed) <= len(content) // size:
            *numbers, further = _numbers(bytes(self._sector(further)))
            listed += numbers
        del listed[len(content) // size + 1 :]
        table = b"".join(bytes(self._sector(number)) for number in listed if number < _LAST_SECTOR)
        self._table = _numbers(table)

    def _sector(self, number: int) -> memoryview:
        return self._content[number * self._size : (number + 1) * self._size]

    def chain(self, first: int) -> bytes:
        """The sectors from a first one on."""
        return _follow(self._content, self._size, self._table, first)


def _numbers(content: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f"<{len(content) // 4}I", content)


def _follow(content: bytes | memoryview, size: int, table: tuple[int, ...], first: int) -> bytes:
    """The pieces of a chain in order; raises `ValueError` for one that comes back to itself."""
    pieces: list[bytes | memoryview] = []
    number = first
    while number < _LAST_SECTOR:
        if len(pieces) > len(table):
            raise ValueError("a chain without an end")
        pieces.append(content[number * size : (number + 1) * size])
        number = table[number]
    return b"".join(pieces)


def _records(stream: bytes, start: int) -> Iterator[_Record]:
    """The records from a place on, to the end of their sheet."""
    depth = 0
    while start + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, start)
        start += 4 + size
        yield _Record(kind, stream[start - size : start], start)
        depth += (kind == _BOF) - (kind == _EOF)
        if depth <= 0:
            return


def _details(stream: bytes) -> dict[str, SheetDetails]:
    codes = dict(BUILTIN_FORMATS)
    styles: list[tuple[str, int]] = []
    sheets: dict[str, int] = {}
    fonts: list[bool] = []
    texts: list[bytes] = []
    wide, last = False, 0
    for kind, content, _ in _records(stream, 0):
        if kind == _SHARED_TEXTS or (kind == _CONTINUED and last == _SHARED_TEXTS):
            texts.append(content)
        elif kind == _FONT:
            fonts.append(is_superscript(content))
        last = last if kind == _CONTINUED else kind
        if kind == _BOF:
            wide = struct.unpack_from("<H", content)[0] >= _VERSION_8
        elif kind == _FORMAT:
            number = struct.unpack_from("<H", content)[0]
            codes[number] = _text(content, 2, 2) if wide else content[3 : 3 + content[2]].decode("cp1252", "replace")
        elif kind == _STYLE:
            code = codes.get(struct.unpack_from("<H", content, 2)[0], GENERAL)
            styles.append((code, content[8] & 15 if wide else 0))
        elif kind == _SHEET:
            name = _text(content, 6, 1) if wide else content[7 : 7 + content[6]].decode("cp1252", "replace")
            sheets[name] = struct.unpack_from("<I", content)[0]
    raised = raised_texts(texts, [place for place, is_raised in enumerate(fonts) if is_raised])
    found: dict[str, SheetDetails] = {}
    end = 0
    for name, start in sorted(sheets.items(), key=lambda sheet: sheet[1]):
        if start >= end:  # the records of a sound file's sheets stand one behind the other
            found[name], end = _sheet(stream, start, styles, raised)
    return found


def _text(content: bytes, start: int, length_bytes: int) -> str:
    """A text behind its length and a byte that says whether its characters take one or two bytes."""
    count = int.from_bytes(content[start : start + length_bytes], "little")
    start += length_bytes
    if content[start] & 1:
        return content[start + 1 : start + 1 + 2 * count].decode("utf-16-le", "replace")
    return content[start + 1 : start + 1 + count].decode("latin-1")


def _sheet(
    stream: bytes, start: int, styles: list[tuple[str, int]], raised: Mapping[int, tuple[str, str]]
) -> tuple[SheetDetails, int]:
    """The details of the sheet whose records begin at a place, and where they end."""
    details = SheetDetails()
    for kind, content, end in _records(stream, start):
        start = end
        if kind in _CELLS:
            row, column, style = struct.unpack_from("<HHH", content)
            _add(details, row, column, styles[style])
            if raised and kind == _SHARED_TEXT:
                number = struct.unpack_from("<I", content, 6)[0]
                if number in raised:
                    details.shown[row, column] = raised[number]
        elif kind == _NUMBERS_IN_ROW:
            row, column = struct.unpack_from("<HH", content)
            for number, place in enumerate(range(4, len(content) - 7, 6)):
                style = struct.unpack_from("<H", content, place)[0]
                _add(details, row, column + number, styles[style])
    return details, start


def _add(details: SheetDetails, row: int, column: int, style: tuple[str, int]) -> None:
    code, indent = style
    if code.upper() != GENERAL.upper():
        details.formats[row, column] = code
    if indent:
        details.indents[row, column] = indent
