"""What an .xlsx says beyond its values: number formats, indents, errors, header rows."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO

from lxml import etree
from openpyxl.styles.numbers import BUILTIN_FORMATS

from kgtable.tables.model import Position
from kgtable.tables.reading.sheet_details import SheetDetails, forget
from kgtable.tables.text import sound_text

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
GENERAL = "General"


class WorkbookParts:
    """The XML parts of an .xlsx file, looked into as far as needed.

    Raises `zipfile.BadZipFile`, `KeyError`, `ValueError` or `etree.XMLSyntaxError` where parts are
    missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)

    def close(self) -> None:
        """Closes the file."""
        self._archive.close()

    @property
    def is_document(self) -> bool:
        """Whether this is an OpenDocument file."""
        return "content.xml" in self._archive.NameToInfo

    @property
    def is_binary(self) -> bool:
        """Whether this is an .xlsb."""
        return "xl/workbook.bin" in self._archive.NameToInfo

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of the sheets."""
        return tuple(self._sheet_parts)

    def details(self, sheet: str) -> SheetDetails:
        """The details of a sheet by its name, from one pass over its XML."""
        part = self._sheet_parts[sheet]
        details = SheetDetails()
        position = (-1, -1)
        with self._archive.open(part) as stream:
            for element in _walk(stream, ("row", "autoFilter")):
                if etree.QName(element).localname == "autoFilter":
                    details.header_cells |= _first_row(element.get("ref"))
                    continue
                position = (_row_number(element.get("r"), position[0] + 1), -1)
                for cell in element:
                    reference = cell.get("r")
                    place = (position[0], position[1] + 1) if reference is None else _position(reference)
                    if place is None:  # the library would take it for a place far away
                        raise ValueError(f"{reference!r} is no cell reference")
                    position = place
                    self._add_cell(details, cell, position)
        for table in self._related(part, "/table"):
            root = etree.fromstring(self._archive.read(table), _parser())
            if root.get("headerRowCount", "1") != "0":
                details.header_cells |= _first_row(root.get("ref"))
        return details

    def _add_cell(self, details: SheetDetails, cell: etree._Element, position: Position) -> None:
        value: str | None = None
        inline = formula = False
        for part in cell:
            if part.tag.endswith("}v"):
                value = part.text
            elif part.tag.endswith("}is"):
                inline = True
            elif part.tag.endswith("}f"):
                formula = True
        if value is None and not inline:
            if formula:
                details.unresolved.append(position)
            return
        if position[0] > details.bottom:
            details.bottom = position[0]
        if position[1] > details.right:
            details.right = position[1]
        if cell.get("t") == "e":
            details.errors[position] = sound_text(value or "")
        style = cell.get("s")
        if style is None:
            return
        code, indent = self._styles.get(style, (GENERAL, 0))
        if code != GENERAL:
            details.formats[position] = code
        if indent:
            details.indents[position] = indent

    @cached_property
    def _sheet_parts(self) -> dict[str, str]:
        """Sheet name → name of its XML part."""
        workbook = next(iter(self._related("", "/officeDocument")), "xl/workbook.xml")
        targets = self._relations(workbook)
        root = etree.fromstring(self._archive.read(workbook), _parser())
        parts = {}
        for sheet in root.iter("{*}sheet"):
            relation = sheet.get(_RELATION) or sheet.get(_STRICT_RELATION)
            if relation in targets:
                parts[sheet.get("name", "")] = targets[relation][0]
        return parts

    @cached_property
    def _styles(self) -> dict[str, tuple[str, int]]:
        """Style number of a cell → number format and indent."""
        workbook = next(iter(self._related("", "/officeDocument")), "xl/workbook.xml")
        part = next(iter(self._related(workbook, "/styles")), None)
        if part is None:
            return {}
        root = etree.fromstring(self._archive.read(part), _parser())
        codes = {str(number): code for number, code in BUILTIN_FORMATS.items()}
        for entry in root.iter("{*}numFmt"):
            codes[entry.get("numFmtId", "")] = entry.get("formatCode", GENERAL)
        styles: dict[str, tuple[str, int]] = {}
        for entry in root.iterfind("{*}cellXfs/{*}xf"):
            alignment = entry.find("{*}alignment")
            indent = "0" if alignment is None else alignment.get("indent", "0")
            code = codes.get(entry.get("numFmtId", "0"), GENERAL)
            styles[str(len(styles))] = (code, int(indent) if indent.isdecimal() else 0)
        return styles

    def _related(self, part: str, kind: str) -> list[str]:
        return [target for target, type_ in self._relations(part).values() if type_.endswith(kind)]

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Relation id → (target part, type) of a part; of the whole package for ""."""
        folder, name = posixpath.split(part)
        listing = posixpath.join(folder, "_rels", f"{name}.rels")
        if listing not in self._archive.NameToInfo:
            return {}
        root = etree.fromstring(self._archive.read(listing), _parser())
        return {
            entry.get("Id", ""): (
                posixpath.normpath(posixpath.join("/" + folder, entry.get("Target", ""))).lstrip("/"),
                entry.get("Type", ""),
            )
            for entry in root.iter("{*}Relationship")
        }


def _walk(stream: IO[bytes], names: tuple[str, ...]) -> Iterator[etree._Element]:
    """The named elements when they are complete, forgetting each one afterwards."""
    events = etree.iterparse(
        stream,
        tag=[f"{{*}}{name}" for name in names],
        remove_comments=True,
        remove_pis=True,
        resolve_entities=False,
        no_network=True,
        huge_tree=True,
    )
    for _, element in events:
        yield element
        forget(element)


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True)


def _row_number(reference: str | None, default: int) -> int:
    return int(reference) - 1 if reference and reference.isdecimal() else default


def _position(reference: str | None) -> Position | None:
    """Row and column of a reference such as ``B4``; None if it is none."""
    reference = reference or ""
    letters = reference.rstrip("0123456789")
    column = _column(letters)
    digits = reference[len(letters) :]
    if column is None or not 0 < len(digits) < 8 or int(digits) == 0:
        return None
    return int(digits) - 1, column


@lru_cache(maxsize=20_000)
def _column(letters: str) -> int | None:
    """The column of letters such as ``AB``; None if they are none."""
    if not re.fullmatch("[A-Za-z]{1,3}", letters):
        return None
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _first_row(area: str | None) -> set[Position]:
    """The positions in the first row of an area such as ``A1:C9``."""
    start, _, end = (area or "").replace("$", "").partition(":")
    first, last = _position(start), _position(end or start)
    if first is None or last is None:
        return set()
    return {(first[0], column) for column in range(first[1], last[1] + 1)}
