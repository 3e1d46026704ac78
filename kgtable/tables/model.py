"""Data model of tables and documents: what a file holds, what its rows and columns are, and their context.

Coordinates are 0-based grid positions everywhere: row 0 is the first line of the file or sheet. `<stem>.json` next to a
file may add to its context.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeAlias

from kgtable.errors import place_text
from kgtable.errors import spreadsheet_reference as spreadsheet_reference
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import sound_text

Row: TypeAlias = tuple[str, ...]
Position: TypeAlias = tuple[int, int]

HEAD_ROWS = 2_000
"""How many rows of a streamed table are looked at to find its structure and types."""


class RowSource(Protocol):
    """Rows that can be iterated over repeatedly without holding them all in memory."""

    def __iter__(self) -> Iterator[Row]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of merged cells, all bounds inclusive."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a table. `path` is relative to the folder that was given, with ``/``."""

    path: str
    sha256: str = ""
    sheet: str | None = None
    number: int = 0
    media_type: str = "text/csv"
    encoding: str | None = None
    delimiter: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Context:
    """Text around a table: from its sidecar, its page or its sheet."""

    title: str = ""
    heading: tuple[str, ...] = ()
    caption: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()

    def texts(self) -> Iterator[str]:
        """Every text, the most specific first: caption, title, headings, before, after, paragraphs."""
        yield from filter(None, (self.caption, self.title))
        for group in (self.heading, self.before, self.after, self.paragraphs):
            yield from group


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know about a table that was converted anyway."""

    code: str
    message: str
    path: str
    sheet: str | None = None
    row: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return f"{place_text(self.path, self.sheet, self.row, self.column)}: {self.message}"


@dataclass(frozen=True)
class Grid:
    """A table as read: every cell's text, character for character.

    `rows` may be ragged. A tuple holds all rows; any other `RowSource` is a streamed table.
    `width` is the widest row. `merged`, `formats` (number formats) and `indents` (levels of
    alignment indent) come from spreadsheets and HTML; a merged cell's text is at its top left.
    """

    id: str
    source: Source
    rows: Sequence[Row] | RowSource
    width: int
    context: Context = field(default_factory=Context)
    merged: tuple[Area, ...] = ()
    formats: Mapping[Position, str] = field(default_factory=lambda: MappingProxyType({}))
    indents: Mapping[Position, int] = field(default_factory=lambda: MappingProxyType({}))
    header_cells: frozenset[Position] = frozenset()
    notices: tuple[Notice, ...] = ()

    @property
    def streamed(self) -> bool:
        """Whether the rows are read from the file on each iteration."""
        return not isinstance(self.rows, tuple)

    @cached_property
    def head(self) -> tuple[Row, ...]:
        """All rows of a table in memory, the first `HEAD_ROWS` of a streamed one."""
        if isinstance(self.rows, tuple):
            return self.rows
        return tuple(row for row, _ in zip(self.rows, range(HEAD_ROWS), strict=False))


class Role(StrEnum):
    """Role of a column; the values are local names of the core vocabulary (`ontologies/kgtable.ttl`)."""

    IDENTIFIER = "Identifier"
    LABEL = "Label"
    CATEGORY = "Category"
    FLAG = "Flag"
    TIME = "Time"
    ORDINAL = "Ordinal"
    MEASURE = "Measure"
    TEXT = "Text"


class MeasureKind(StrEnum):
    """Kind of a measure: how its values may be added up.

    Counts and amounts add up. A level holds at a time, and adds up over things only. A rate never does.
    """

    COUNT = "Count"
    AMOUNT = "Amount"
    LEVEL = "Level"
    RATE = "Rate"
    DURATION = "Duration"
    SCORE = "Score"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Meaning of a column, decided once, at conversion.

    `kind` is that of a measure; None if the measures are in rows, each with a kind of its own. `variant` separates
    columns of one measure: actual, budget, forecast, target, estimate or prior; `quantity_kind` is QUDT's
    (local name). `evidence` names what spoke for
    the decision ("values", "words", "arithmetic", "unit", "mapping", "model"), `confidence` lies between 0 and 1.
    `grain` is the index of the column that a value describes, if all rows with one of its values repeat it: the
    order whose total is printed on each line.
    """

    role: Role
    kind: MeasureKind | None = None
    variant: str | None = None
    quantity_kind: str | None = None
    evidence: tuple[str, ...] = ()
    confidence: float = 0.0
    grain: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column and the header texts above it, from the top down; none if there is no header."""

    index: int
    path: tuple[str, ...] = ()
    meaning: Meaning | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The header path as one text, levels joined by a space."""
        return " ".join(part for part in self.path if part)


@dataclass(frozen=True, slots=True)
class Structure:
    """Structure of a grid: what its rows and columns are.

    `titles` are rows above the header that hold no header (a title, a note, a blank line);
    `header` the header rows, `unit_rows` those of them that hold only units or scales. All rows
    from `body_start` on are body rows. `parents` maps a body row to the group row that heads it.
    `label_column` holds the text that names a row. `corner` is the header text above it.
    `footnotes` are body rows that hold a note or a source instead of data; `of_which`
    rows whose amounts are part of another row's; `statistics` rows of means and the like; `changes` rows of
    differences between others. `summed` maps a total to the rows it sums, `measures` a row that is a measure of its
    own to its kind. `marks` maps a footnote mark to its text where the
    table or its context explains it. `contained` are those of the `totals` that another table of the graph
    tells, by the names that they contain; a table that is not from a graph has none. `shared` are areas of one
    column whose first cell holds for the blank ones below it, as a region that heads a block of rows.
    """

    columns: tuple[Column, ...]
    titles: tuple[int, ...] = ()
    header: tuple[int, ...] = ()
    unit_rows: frozenset[int] = frozenset()
    body_start: int = 0
    label_column: int = 0
    corner: str = ""
    groups: frozenset[int] = frozenset()
    parents: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    totals: frozenset[int] = frozenset()
    footnotes: frozenset[int] = frozenset()
    marks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    of_which: frozenset[int] = frozenset()
    statistics: frozenset[int] = frozenset()
    changes: frozenset[int] = frozenset()
    summed: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    measures: Mapping[int, MeasureKind] = field(default_factory=lambda: MappingProxyType({}))
    contained: frozenset[int] = frozenset()
    shared: tuple[Area, ...] = ()
    confidence: float = 1.0
    """The confidence of the header and the lines next to it; 1 if that is at least 0.9 or a person decided."""

    @property
    def aside(self) -> frozenset[int]:
        """The body rows that are not members: totals, statistics, changes, parts of other rows, notes."""
        return self.totals | self.statistics | self.changes | self.of_which | self.footnotes

    def has_figures(self, cells: Sequence[str]) -> bool:
        """Whether a heading has figures next to its label that do not say the label or the header again."""
        label = cells[self.label_column].strip() if self.label_column < len(cells) else ""
        return any(
            any(map(str.isdigit, text)) and text.strip() not in (label, *self.columns[column].path)
            for column, text in enumerate(cells)
            if column != self.label_column
        )


@dataclass(frozen=True, slots=True)
class LayoutDecision:
    """Decisions of a user about a table's rows and columns; None leaves a field to detection.

    `header` are the header rows (empty: there are none), `label_column` a column by its letters or its
    name, `aside` the rows that are not data, `title` the table's title. `place` is the source of the decision,
    for messages; `notes` are those of `aside` that are decided as notes. `confidence` is below 1 where a model
    proposed the header.
    """

    header: tuple[int, ...] | None = None
    label_column: str | None = None
    aside: tuple[int, ...] = ()
    title: str | None = None
    place: str = "the mapping"
    notes: tuple[int, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True)
class Table:
    """A grid with its structure: what the ontology and the graph are made from."""

    grid: Grid
    structure: Structure

    @property
    def id(self) -> str:
        """The table's id within its dataset."""
        return self.grid.id

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns from left to right."""
        return self.structure.columns

    @property
    def context(self) -> Context:
        """What surrounds the table."""
        return self.grid.context

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Every row of the grid with its index."""
        rows: Iterable[Row] = self.grid.rows
        return enumerate(rows)

    def body(self) -> Iterator[tuple[int, Row]]:
        """Every body row with its grid index; blank rows and group rows among them."""
        for index, row in self.rows():
            if index >= self.structure.body_start:
                yield index, row

    def group_path(self, row: int) -> tuple[int, ...]:
        """The group rows above a row, the outermost first."""
        path: list[int] = []
        parent = self.structure.parents.get(row)
        while parent is not None and parent not in path:
            path.append(parent)
            parent = self.structure.parents.get(parent)
        return tuple(reversed(path))


@dataclass(frozen=True)
class ReadContent:
    """The tables of a file in its order, its text, and notices that belong to none of its tables."""

    grids: tuple[Grid, ...] = ()
    text: DocumentText = DocumentText()  # noqa: RUF009
    notices: tuple[Notice, ...] = ()
    media_type: str = ""
    sha256: str = ""

    @property
    def has_text(self) -> bool:
        """Whether there is any running text."""
        return bool(self.text.paragraphs)


_BEFORE, _AFTER = 3, 2
"""How many paragraphs around a table count as its context."""


def context_at(text: DocumentText, table: int) -> Context:
    """The text around a table of a document: the headings it is under, its caption, paragraphs next to it."""
    place = text.tables[table]
    headings: dict[int, str] = {}
    for paragraph in text.paragraphs[: place.paragraphs]:
        if paragraph.level:
            headings = {level: known for level, known in headings.items() if level < paragraph.level}
            headings[paragraph.level] = paragraph.text
    beside = text.paragraphs[max(place.paragraphs - _BEFORE, 0) : place.paragraphs]
    behind = text.paragraphs[place.paragraphs : place.paragraphs + _AFTER]
    return Context(
        text.title,
        tuple(known for _, known in sorted(headings.items()) if known != text.title),
        place.caption,
        tuple(p.text for p in beside if not p.level and p.text != place.caption),
        tuple(p.text for p in behind if not p.level and p.text != place.caption),
    )


def text_beside(grids: tuple[Grid, ...]) -> DocumentText:
    """The text from the sidecar of a file's tables: before, among and after them.

    Each text is a paragraph; the tables of the file come after the paragraphs that precede them.
    """
    context = grids[0].context
    before = (*context.before, *context.paragraphs)
    paragraphs = [Paragraph(text, level=1 + at) for at, text in enumerate(context.heading)] if before else []
    paragraphs += [Paragraph(text) for text in before]
    place = len(paragraphs)
    paragraphs += [Paragraph(text) for text in context.after]
    places = tuple(TextPlace(place, caption=grid.context.caption) for grid in grids)
    return DocumentText(tuple(paragraphs), places, context.title, of_tables=True)


_ONE = {"title": ("title",), "caption": ("caption",)}
_MANY = {
    "heading": ("heading", "headings"),
    "before": ("textAbove", "text_above", "pre_text", "text_before", "before"),
    "after": ("textBelow", "text_below", "post_text", "text_after", "after"),
    "paragraphs": ("paragraphs",),
}
MAX_BYTES = 64 << 20


def read_sidecar(path: Path, shown: str) -> tuple[Context, tuple[Notice, ...]]:
    """Read a sidecar: the context of its table. A fault in it causes a notice, never an error.

    `shown` is the path that notices name. Keys that are not known are left alone.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        return Context(), (_notice(f"it cannot be read ({error.strerror})", shown),)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Context(), (_notice(f"it is not valid JSON: {reason}", shown),)
    if not isinstance(content, dict):
        return Context(), (_notice("it holds no JSON object", shown),)
    return context_from(content, shown)


def merge_contexts(first: Context, second: Context) -> Context:
    """The fields of the first, or of the second where the first has none."""
    return Context(
        title=first.title or second.title,
        heading=first.heading or second.heading,
        caption=first.caption or second.caption,
        before=first.before or second.before,
        after=first.after or second.after,
        paragraphs=first.paragraphs or second.paragraphs,
    )


def context_from(content: Mapping[str, object], shown: str) -> tuple[Context, tuple[Notice, ...]]:
    """The context of a table from the known keys of a JSON object, and a notice of each that cannot be used."""
    notices: list[Notice] = []
    fields: dict[str, tuple[str, ...]] = {}
    for name, keys in (_ONE | _MANY).items():
        texts: list[str] = []
        for key in keys:
            found = _texts(content.get(key))
            if found is None:
                notices.append(_notice(f"its {key!r} is neither a text nor a list of texts", shown))
            else:
                texts.extend(found)
        fields[name] = tuple(texts)
    context = Context(
        title=" ".join(fields["title"]),
        caption=" ".join(fields["caption"]),
        heading=fields["heading"],
        before=fields["before"],
        after=fields["after"],
        paragraphs=fields["paragraphs"],
    )
    return context, tuple(notices)


def _texts(value: object) -> list[str] | None:
    """The texts of a string, a list of strings or of objects with a "text"; None for anything else."""
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for item in items:
        text = item.get("text") if isinstance(item, dict) else item
        if not isinstance(text, str):
            return None
        if text.strip():
            texts.append(sound_text(text))
    return texts


def _notice(fault: str, shown: str) -> Notice:
    return Notice("sidecar", f"the sidecar was not used in full: {fault}", shown)
