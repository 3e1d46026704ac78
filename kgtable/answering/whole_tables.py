"""Whole tables as context: HTML, Markdown or plaintext (thesis, section 5.5).

A row is what is shown or cut as one: tables follow each other by score, and where the room ends, the
last one keeps its first rows and says how many.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from kgtable.answering.context import Kind, Unit
from kgtable.answering.evidence import Evidence
from kgtable.answering.wording import one_line, table_line
from kgtable.resources import PACKAGE
from kgtable.tables.model import Table

MOST_TABLES = 30
"""How many tables are shown at most, as in the thesis; the room ends before that where they are long."""

_FOLDER = PACKAGE / "answering" / "prompts" / "presentations"
Row = tuple[int, tuple[str, ...]]
Writer = Callable[[str, str, Sequence[str], Sequence[Row]], str]
"""Writes a table from its short name, its title line, its column headings and its rows by number."""


class WholeTables:
    """The best tables one after the other, each complete as far as there is room."""

    kind: Kind = "tables"

    def __init__(self, name: str, write: Writer, tables: int = MOST_TABLES) -> None:
        self.name = name
        self.reading = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()
        self._write = write
        self._tables = tables

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Each row of the best tables, in reading order; the first tables score highest."""
        return [
            Unit(id, row, (), -float(place))
            for place, id in enumerate(evidence.tables[: self._tables])
            for row, _ in _rows(evidence.source.table(id))
        ]

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """The tables in their order."""
        shown: dict[str, set[int]] = {}
        for unit in units:
            if unit.row is not None:
                shown.setdefault(unit.table, set()).add(unit.row)
        return "\n\n".join(self._table(id, rows, evidence) for id, rows in shown.items())

    def _table(self, id: str, wanted: set[int], evidence: Evidence) -> str:
        table = evidence.source.table(id)
        rows = _rows(table)
        kept = [(row, cells) for row, cells in rows if row in wanted]
        title = table_line(id, evidence)
        if len(kept) < len(rows):
            title += f", the first {len(kept)} of {len(rows)} rows shown"
        headings = [f"c{column.index} {column.name}".rstrip() for column in table.columns]
        return self._write(evidence.alias(id), title, headings, kept)


def _rows(table: Table) -> list[Row]:
    """The body rows that are not blank, each as wide as the table."""
    width = len(table.columns)
    return [
        (row, (*cells, *[""] * (width - len(cells))))
        for row, cells in table.body()
        if any(map(str.strip, cells))
    ]


def write_html(alias: str, title: str, headings: Sequence[str], rows: Sequence[Row]) -> str:
    """A ``<table>`` with caption, head and body, every text escaped."""
    head = "".join(f"<th>{_escaped(heading)}</th>" for heading in ("row", *headings))
    lines = [f'<table id="{alias}">', f"<caption>{_escaped(title)}</caption>"]
    lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row, cells in rows:
        texts = "".join(f"<td>{_escaped(cell)}</td>" for cell in cells)
        lines.append(f"<tr><th>r{row}</th>{texts}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def write_markdown(alias: str, title: str, headings: Sequence[str], rows: Sequence[Row]) -> str:
    """A pipe table under its title; bars in cells are escaped."""
    lines = [title, _piped(["row", *headings]), "|" + "---|" * (len(headings) + 1)]
    lines += [_piped([f"r{row}", *cells]) for row, cells in rows]
    return "\n".join(lines)


def write_plaintext(alias: str, title: str, headings: Sequence[str], rows: Sequence[Row]) -> str:
    """A line a row under the title: ``c1 heading: value`` pairs separated by commas."""
    lines = [title]
    for row, cells in rows:
        pairs = (f"{_bare(name)}: {_bare(cell)}" for name, cell in zip(headings, cells, strict=False))
        lines.append(f"r{row} {' , '.join(pairs)}")
    return "\n".join(lines)


def _piped(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(one_line, cells)) + " |"


def _escaped(text: str) -> str:
    return html.escape(_bare(text))


def _bare(text: str) -> str:
    return one_line(text).replace(r"\|", "|")


WHOLE_TABLES = (
    WholeTables("html", write_html),
    WholeTables("markdown", write_markdown),
    WholeTables("plaintext", write_plaintext),
)
