"""Presentations of evidence in a prompt: triples, whole tables, and sub-tables (thesis, 5.5 and 5.6).

A row is what is shown or cut as one: tables follow each other by score, and where the room ends, the
last one keeps its first rows and says how many.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from itertools import groupby

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import (
    ContextUnit,
    Kind,
    Presentation,
    by_row,
    local_name,
    measure,
    one_line,
    reading_of,
    subject_text,
    table_line,
)
from kgtable.answering.sub_tables import MOST_NAMED, SubTable, column_note, header_text
from kgtable.errors import ConfigError
from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.linearize import decoded, heading_of
from kgtable.tables.model import Table

MOST_TABLES = 30
"""Maximum number of tables shown, as in the thesis; fewer fit if they are long."""

NumberedRow = tuple[int, tuple[str, ...]]
Writer = Callable[[str, str, Sequence[str], Sequence[NumberedRow]], str]
"""Writes a table from its short name, its title line, its column headings and its rows by number."""


class WholeTables:
    """The best tables one after the other, each as complete as the budget allows."""

    kind: Kind = "tables"
    narrower = None

    def __init__(self, name: str, write: Writer, *, repeats: bool = False) -> None:
        self.name = name
        self._repeats = repeats  # the headings in each row, which therefore say no more than a name
        self.reading = reading_of(name)
        self._write = write

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Each row of the best tables, in reading order; the first tables score highest."""
        return [
            ContextUnit(id, row, (), -float(place))
            for place, id in enumerate(evidence.tables[: max(evidence.most, MOST_TABLES)])
            for row, _ in _rows(evidence.source.table(id))
        ]

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
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
        headings = [f"c{column.index} {heading_of(table, column.index)}".rstrip() for column in table.columns]
        if not self._repeats:
            headings = [name + column_note(table, column, name) for column, name in enumerate(headings)]
        return self._write(evidence.alias(id), title, headings, kept)


def _rows(table: Table) -> list[NumberedRow]:
    """The body rows that are not blank, each as wide as the table."""
    width = len(table.columns)
    return [
        (row, (*map(decoded, cells), *[""] * (width - len(cells))))
        for row, cells in table.body()
        if any(map(str.strip, cells))
    ]


def write_html(alias: str, title: str, headings: Sequence[str], rows: Sequence[NumberedRow]) -> str:
    """A ``<table>`` with caption, head and body, every text escaped."""
    head = "".join(f"<th>{_escaped(heading)}</th>" for heading in ("row", *headings))
    lines = [f'<table id="{alias}">', f"<caption>{_escaped(title)}</caption>"]
    lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row, cells in rows:
        texts = "".join(f"<td>{_escaped(cell)}</td>" for cell in cells)
        lines.append(f"<tr><th>r{row}</th>{texts}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def write_markdown(alias: str, title: str, headings: Sequence[str], rows: Sequence[NumberedRow]) -> str:
    """A pipe table under its title; bars in cells are escaped."""
    lines = [title, _piped(["row", *headings]), "|" + "---|" * (len(headings) + 1)]
    lines += [_piped([f"r{row}", *cells]) for row, cells in rows]
    return "\n".join(lines)


def write_plaintext(alias: str, title: str, headings: Sequence[str], rows: Sequence[NumberedRow]) -> str:
    """One line per row under the title: ``c1 heading: value`` pairs separated by commas."""
    lines = [title]
    for row, cells in rows:
        pairs = (f"{_bare(name)}: {_bare(cell)}" for name, cell in zip(headings, cells, strict=False))
        # no mark of a chat template, such as <|im_end|>, comes from a file
        lines.append(f"r{row} {' , '.join(pairs)}".replace("<|", "< |"))
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
    WholeTables("plaintext", write_plaintext, repeats=True),
)


class Sequential:
    """One triple per line, the best first."""

    name = "sequential"
    kind: Kind = "triples"
    narrower = None
    reading = reading_of("sequential")

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Each triple by itself."""
        return _single(evidence)

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """A list of the tables, then the triples."""
        shown = {unit.table for unit in units}
        tables = [table for table in evidence.named if table in shown]
        evidence.source.fetch(dict.fromkeys(tables, ()))
        lines = [table_line(table, evidence) for table in tables]
        return "\n".join([*lines, "", *(_line(triple, evidence) for unit in units for triple in unit.triples)])


class ByTable:
    """One triple per line, under the table it belongs to."""

    name = "by-table"
    kind: Kind = "triples"
    narrower = None
    reading = reading_of("by-table")

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Each triple by itself."""
        return _single(evidence)

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The tables by their best triple, in each the triples by score."""
        parts = []
        evidence.source.fetch(dict.fromkeys((unit.table for unit in units), ()))
        for table, members in _by_table(units):
            lines = [_line(triple, evidence) for unit in members for triple in unit.triples]
            parts.append("\n".join([_heading(table, evidence), *lines]))
        return "\n\n".join(parts)


class BySubject:
    """The triples of a row together, under their table."""

    name = "by-subject"
    kind: Kind = "triples"
    narrower = None
    reading = reading_of("by-subject")

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Each row's triples together."""
        return by_row(evidence.retrieval.triples)

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The tables by their best triple, in each the rows by score."""
        parts = []
        evidence.source.fetch(dict.fromkeys((unit.table for unit in units), ()))
        for table, members in _by_table(units):
            lines = [_heading(table, evidence)]
            for unit in members:
                first = unit.triples[0]
                group = f" (in {one_line(local_name(first.group))})" if first.group else ""
                lines.append(f"{evidence.alias(table)}.r{unit.row} {subject_text(first)}{group}")
                lines.extend(f"  c{t.column} {local_name(t.predicate)}: {_object(t)}" for t in unit.triples)
            parts.append("\n".join(lines))
        return "\n\n".join(parts)


def _heading(id: str, evidence: Evidence) -> str:
    """The line above the triples of a table: what introduces it, its number of rows, its columns."""
    frame = evidence.source.frame(id)
    width = frame.table.grid.width
    columns = [header_text(frame.table, column, ()) for column in range(min(width, MOST_NAMED))]
    more = [f"and {width - MOST_NAMED} more"] if width > MOST_NAMED else []
    return f"{table_line(id, evidence)}, {frame.body_rows} rows; columns: {' | '.join([*columns, *more])}"


def _single(evidence: Evidence) -> list[ContextUnit]:
    return [ContextUnit(triple.table, triple.row, (triple,), triple.score) for triple in evidence.retrieval.triples]


def _by_table(units: Sequence[ContextUnit]) -> list[tuple[str, list[ContextUnit]]]:
    """Units under their tables, tables in the order in which they first appear."""
    order = {table: place for place, table in enumerate(dict.fromkeys(unit.table for unit in units))}
    ordered = sorted(units, key=lambda unit: order[unit.table])
    return [(table, list(members)) for table, members in groupby(ordered, key=lambda unit: unit.table)]


def _line(triple: ScoredTriple, evidence: Evidence) -> str:
    place = evidence.cell_id(triple.table, triple.row, triple.column)
    group = f" | in {one_line(local_name(triple.group))}" if triple.group else ""
    subject = subject_text(triple)
    return f"[{place}] {subject} | {local_name(triple.predicate)} | {_object(triple)}{group}"


def _object(triple: ScoredTriple) -> str:
    unit = measure(triple.unit, triple.scale)
    return one_line(triple.object) + (f" ({unit})" if unit else "")


PRESENTATIONS: dict[str, Presentation] = {
    found.name: found for found in (Sequential(), ByTable(), BySubject(), SubTable(), *WHOLE_TABLES)
}


def presentation(name: str) -> Presentation:
    """The presentation with this name. Raises `ConfigError` for another."""
    if name not in PRESENTATIONS:
        raise ConfigError(f"There is no presentation {name!r}.", hint=f"Available: {', '.join(PRESENTATIONS)}.")
    return PRESENTATIONS[name]
