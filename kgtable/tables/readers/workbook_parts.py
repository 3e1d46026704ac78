"""Details of XLSX and ODS sheets beyond cell values: number formats, indents, merged cells, header rows."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO

from lxml import etree
from openpyxl.styles.numbers import BUILTIN_FORMATS

from kgtable.tables.model import Area, Position
from kgtable.tables.readers.ods_formats import CELL_STYLE, CODED, DefaultStyles, DocumentFormats, clock_text
from kgtable.values.text import joined_runs, sound_text


@dataclass(slots=True)
class SheetDetails:
    """The details of one sheet. `bottom` and `right` bound its cells that hold something; -1: none."""

    formats: dict[Position, str] = field(default_factory=dict)
    """Number formats other than General."""
    indents: dict[Position, int] = field(default_factory=dict)
    errors: dict[Position, str] = field(default_factory=dict)
    """Error values such as ``#N/A``."""
    shown: dict[Position, tuple[str, str]] = field(default_factory=dict)
    """Texts that the sheet shows in another way: as their characters are stored, and with marks and exponents raised
    or lengths of time as a clock."""
    unresolved: list[Position] = field(default_factory=list)
    """Formulas that were saved without a result."""
    header_cells: set[Position] = field(default_factory=set)
    """First rows of tables and filters that the author marked."""
    merged: list[Area] = field(default_factory=list)
    bottom: int = -1
    right: int = -1
    filled: int = 0
    """How many elements hold a value: a repeated one counts once."""


def forget(element: etree._Element) -> None:
    """Frees what an element that has been read holds, and the siblings before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and parent[0] is not element:
        del parent[0]


_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_STYLE_NAMES = ("number-style", "date-style", "time-style", "style")
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def document_sheets(path: Path, max_cells: int) -> Iterator[tuple[str, SheetDetails]]:
    """The sheets of an .ods file in order, from one pass over its content.

    Formats of repeated cells are given while a sheet has no more than `max_cells` cells. Raises
    `zipfile.BadZipFile`, `KeyError` or `etree.XMLSyntaxError` where the file is damaged.
    """
    raised_styles: set[str] = set()
    formats = DocumentFormats()
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as stream:
        if "styles.xml" in archive.NameToInfo:
            with archive.open("styles.xml") as styles:
                for style in _walk(styles, _STYLE_NAMES):
                    formats.add(style)
        name, sheet, defaults = "", SheetDetails(), DefaultStyles()
        row = column = 0
        events = etree.iterparse(
            stream, events=("start", "end"), resolve_entities=False, no_network=True, huge_tree=True
        )
        for event, element in events:
            if event == "start":
                if element.tag == _TABLE + "table":
                    name, sheet, row = element.get(_TABLE + "name", ""), SheetDetails(), 0
                    defaults = DefaultStyles()
                elif element.tag == _TABLE + "table-row":
                    column = 0
                continue
            if element.tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                times = _number(element, "number-columns-repeated")
                down = _row_repeats(element)
                area = Area(row, column, row + down - 1, column + times - 1)
                style_name = element.get(_TABLE + "style-name") or _row_style(element) or defaults.of(column)
                _add_cell(sheet, element, area, max_cells, formats.code(style_name))
                if raised_styles and times == down == 1 and (raised := _raised_spans(element, raised_styles)):
                    sheet.shown[row, column] = raised
                column += times
            elif element.tag == _TABLE + "table-column":
                defaults.add(element, _number(element, "number-columns-repeated"))
            elif element.tag in CODED:
                formats.add(element)
            elif element.tag == CELL_STYLE:
                formats.add(element)
                properties = element.find(_STYLE + "text-properties")
                if properties is not None and _is_above(properties.get(_STYLE + "text-position", "")):
                    raised_styles.add(element.get(_STYLE + "name", ""))
            elif element.tag == _TABLE + "table-row":
                row += _number(element, "number-rows-repeated")
                forget(element)
            elif element.tag == _TABLE + "table":
                yield name, sheet
                forget(element)


def _row_style(cell: etree._Element) -> str:
    row = cell.getparent()
    return "" if row is None else row.get(_TABLE + "default-cell-style-name", "")


def _add_cell(sheet: SheetDetails, cell: etree._Element, area: Area, max_cells: int, styled: str) -> None:
    rows, columns = _number(cell, "number-rows-spanned"), _number(cell, "number-columns-spanned")
    if rows > 1 or columns > 1:
        sheet.merged.append(Area(area.top, area.left, area.top + rows - 1, area.left + columns - 1))
    kind = cell.get(_OFFICE + "value-type")
    if kind is None and not len(cell):
        return
    sheet.filled += 1
    sheet.bottom, sheet.right = max(sheet.bottom, area.bottom), max(sheet.right, area.right)
    code = ""
    if kind == "percentage":
        code = _percent_code(cell)
    elif kind == "currency":
        code = f"[${cell.get(_OFFICE + 'currency', '')}]#,##0.00"
    elif kind in ("float", "date", "time"):
        code = styled
        value = cell.get(_OFFICE + "time-value", "")
        if value and (area.top, area.left) == (area.bottom, area.right) and (clock := clock_text(value)):
            sheet.shown[area.top, area.left] = value, clock
    if not code or (sheet.bottom + 1) * (sheet.right + 1) > max_cells:
        return
    for row in range(area.top, area.bottom + 1):
        for column in range(area.left, area.right + 1):
            sheet.formats[row, column] = code


def _is_above(position: str) -> bool:
    """Whether a position of text, ``super 58%`` or ``33% 58%``, is above the line."""
    first = position.split(" ")[0]
    return first == "super" or (first.endswith("%") and first[:-1].isdecimal() and int(first[:-1]) > 0)


def _raised_spans(cell: etree._Element, styles: Collection[str]) -> tuple[str, str] | None:
    """The text of a cell of one paragraph without and with its raised spans raised; None if it has none."""
    paragraphs = cell.findall(_TEXT + "p")
    if len(paragraphs) != 1:
        return None
    runs = [(paragraphs[0].text or "", False)]
    for span in paragraphs[0]:
        raised = span.tag == _TEXT + "span" and span.get(_TEXT + "style-name") in styles
        runs += [("".join(map(str, span.itertext())), raised), (span.tail or "", False)]
    plain, raised_text = "".join(text for text, _ in runs), joined_runs(runs)
    return None if plain == raised_text else (sound_text(plain), sound_text(raised_text))


_PERCENT_DECIMALS = re.compile(r"[.,](\d{1,15})\s*%")


def _percent_code(cell: etree._Element) -> str:
    """A percent format with as many decimals as the cell shows."""
    shown = _PERCENT_DECIMALS.search("".join(map(str, cell.itertext())))
    return f"0.{'0' * len(shown[1])}%" if shown else "0%"


def _row_repeats(cell: etree._Element) -> int:
    row = cell.getparent()
    return 1 if row is None else _number(row, "number-rows-repeated")


def _number(element: etree._Element, name: str) -> int:
    text = element.get(_TABLE + name, "1")
    return max(int(text), 1) if text.isdecimal() and len(text) < 10 else 1


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
                        raise ValueError(f"{reference!r} is not a cell reference")
                    position = place
                    self._add_cell(details, cell, position)
        for table in self._related(part, "/table"):
            root = etree.fromstring(self._archive.read(table), _parser())
            if root.get("headerRowCount", "1") != "0":
                details.header_cells |= _first_row(root.get("ref"))
        return details

    def _add_cell(self, details: SheetDetails, cell: etree._Element, position: Position) -> None:
        value: str | None = None
        inline: etree._Element | None = None
        formula = False
        for part in cell:
            if part.tag.endswith("}v"):
                value = part.text
            elif part.tag.endswith("}is"):
                inline = part
            elif part.tag.endswith("}f"):
                formula = True
        if value is None and inline is None:
            if formula:
                details.unresolved.append(position)
            return
        details.filled += 1
        if position[0] > details.bottom:
            details.bottom = position[0]
        if position[1] > details.right:
            details.right = position[1]
        kind = cell.get("t")
        if kind == "e":
            details.errors[position] = sound_text(value or "")
        elif kind == "s" and value in self._raised_strings:
            details.shown[position] = self._raised_strings[value]
        elif inline is not None and (raised := _raised_text(inline)):
            details.shown[position] = raised
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
    def _raised_strings(self) -> dict[str, tuple[str, str]]:
        """Number of a shared text with raised characters → the text without and with these raised."""
        workbook = next(iter(self._related("", "/officeDocument")), "xl/workbook.xml")
        part = next(iter(self._related(workbook, "/sharedStrings")), None)
        if part is None or part not in self._archive.NameToInfo:
            return {}
        with self._archive.open(part) as stream:
            if not _mentions(stream, b"superscript"):
                return {}
        found: dict[str, tuple[str, str]] = {}
        with self._archive.open(part) as stream:
            for number, element in enumerate(_walk(stream, ("si",))):
                if raised := _raised_text(element):
                    found[str(number)] = raised
        return found

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


_CHUNK = 1 << 20


def _mentions(stream: IO[bytes], word: bytes) -> bool:
    """Whether a word is in a stream of bytes."""
    kept = b""
    while chunk := stream.read(_CHUNK):
        if word in kept + chunk:
            return True
        kept = chunk[-len(word) :]
    return False


def _raised_text(element: etree._Element) -> tuple[str, str] | None:
    """A rich text without and with its raised characters raised; None if that is the same."""
    runs: list[tuple[str, bool]] = []
    for run in element:
        if run.tag.endswith("}t"):
            runs.append((run.text or "", False))
        elif run.tag.endswith("}r"):
            align = run.find("{*}rPr/{*}vertAlign")
            raised = align is not None and align.get("val") == "superscript"
            runs.append(("".join(part.text or "" for part in run.iterfind("{*}t")), raised))
    plain, raised_text = "".join(text for text, _ in runs), joined_runs(runs)
    return None if plain == raised_text else (sound_text(plain), sound_text(raised_text))


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True)


def _row_number(reference: str | None, default: int) -> int:
    return int(reference) - 1 if reference and reference.isdecimal() else default


def _position(reference: str | None) -> Position | None:
    """Row and column of a reference such as ``B4``; None for any other text."""
    reference = reference or ""
    letters = reference.rstrip("0123456789")
    column = _column(letters)
    digits = reference[len(letters) :]
    if column is None or not 0 < len(digits) < 8 or int(digits) == 0:
        return None
    return int(digits) - 1, column


@lru_cache(maxsize=20_000)
def _column(letters: str) -> int | None:
    """The column of letters such as ``AB``; None for any other text."""
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
