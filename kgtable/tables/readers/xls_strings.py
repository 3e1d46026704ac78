"""Raised marks in the texts of .xls workbooks, from the table of texts that the sheets share.

The table is one record with continuations. A text may go on in the next one, where its characters begin with a byte
that says anew whether each takes one or two bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from contextlib import suppress

from kgtable.values.text import joined_runs, sound_text

_WIDE, _EXTENDED, _RICH = 1, 4, 8
_MISSING_FONT = 4
"""A number that no font has: those behind it count one too many."""


def is_superscript(font: bytes) -> bool:
    """Whether a font's record says that its characters are raised."""
    return len(font) >= 10 and struct.unpack_from("<H", font, 8)[0] == 1


def raised_texts(pieces: Sequence[bytes], raised_fonts: Collection[int]) -> dict[int, tuple[str, str]]:
    """The texts with raised characters by their number: as their characters are stored, and with these raised.

    `pieces` are the record of shared texts and its continuations, `raised_fonts` the places of raised fonts in the
    order of the fonts' records. Of a damaged table, the texts before the damage are given.
    """
    fonts = {place + (place >= _MISSING_FONT) for place in raised_fonts}
    if not pieces or not fonts:
        return {}
    found: dict[int, tuple[str, str]] = {}
    table = _Pieces(pieces)
    with suppress(ValueError):
        count = struct.unpack("<I", table.take(8)[4:])[0]
        for number in range(count):
            text, runs = _text(table)
            shown = joined_runs(_runs(text, runs, fonts)) if runs else text
            if shown != text:
                found[number] = sound_text(text), sound_text(shown)
    return found


def _text(table: _Pieces) -> tuple[str, list[tuple[int, int]]]:
    """The next text, and where in it which font begins."""
    length, flags = struct.unpack("<HB", table.take(3))
    runs = struct.unpack("<H", table.take(2))[0] if flags & _RICH else 0
    extension = struct.unpack("<I", table.take(4))[0] if flags & _EXTENDED else 0
    text = table.characters(length, bool(flags & _WIDE))
    starts = [struct.unpack("<HH", table.take(4)) for _ in range(runs)]
    table.skip(extension)
    return text, starts


def _runs(text: str, starts: Sequence[tuple[int, int]], fonts: Collection[int]) -> list[tuple[str, bool]]:
    ends = [start for start, _ in starts[1:]] + [len(text)]
    first = starts[0][0]
    if any(start > end for (start, _), end in zip(starts, ends, strict=True)):
        return [(text, False)]
    runs = [(text[start:end], font in fonts) for (start, font), end in zip(starts, ends, strict=True)]
    return [(text[:first], False), *runs]


class _Pieces:
    """Bytes in pieces, read one after the other. Raises `ValueError` at their end."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces, self._number, self._place = pieces, 0, 0

    def _next(self) -> None:
        self._number, self._place = self._number + 1, 0
        if self._number >= len(self._pieces):
            raise ValueError("the shared texts end early")

    def take(self, size: int) -> bytes:
        """The next bytes, few of them."""
        taken = b""
        while len(taken) < size:
            piece = self._pieces[self._number]
            if self._place >= len(piece):
                self._next()
                continue
            part = piece[self._place : self._place + size - len(taken)]
            taken, self._place = taken + part, self._place + len(part)
        return taken

    def skip(self, size: int) -> None:
        """Leave bytes out."""
        while size:
            left = len(self._pieces[self._number]) - self._place
            if size <= left:
                self._place += size
                return
            size -= left
            self._next()

    def characters(self, length: int, wide: bool) -> str:
        """So many characters of two bytes or one each."""
        found: list[str] = []
        while length:
            piece = self._pieces[self._number]
            if self._place >= len(piece):
                self._next()
                wide = bool(self.take(1)[0] & _WIDE)
                continue
            size = 2 if wide else 1
            count = min(length, (len(piece) - self._place) // size)
            if not count:
                raise ValueError("a character is cut in two")
            part = piece[self._place : self._place + count * size]
            found.append(part.decode("utf-16-le", "replace") if wide else part.decode("latin-1"))
            length, self._place = length - count, self._place + len(part)
        return "".join(found)
