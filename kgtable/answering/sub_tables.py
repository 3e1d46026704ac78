"""Sub-tables for a prompt: the likeliest tables with all their columns, small ones whole, of long ones chosen rows.

A line says what is left out. Where room is scarce, the likeliest tables are shown first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import (
    LONGEST_BESIDE,
    ContextUnit,
    Kind,
    by_row,
    measure,
    one_line,
    reading_of,
    table_line,
)
from kgtable.graph.table_decoder import TableFrame, TableRow
from kgtable.ontology.column_stats import informative_meaning
from kgtable.tables.model import Table
from kgtable.values.text import single_line

FULL_TABLES = 5
"""Tables that are shown whole before others if they are short, with more of the text next to them."""
LONGEST_BESIDE_FURTHER = 100
SHORT, SHORT_FURTHER = 40, 20
"""Rows of a table, among the first and further on, that is shown whole."""
CHOSEN_ROWS = 12
FIRST_ROWS = 3
"""Rows of another table that are shown at first: the best, and its first ones as examples."""
MOST_CELLS = 500
"""Cells of the best table's rows that are shown if space is left; a short table is always shown whole."""
WIDEST = 30
"""Columns whose cells are shown next to those where something was found; the others are listed with examples."""
MOST_NAMED = 60
"""Columns without cells that are named if there is no room for any cell next to what was found."""
EXAMPLES = 2
LONGEST_EXAMPLE = 30
LONGEST_COLUMNS = 160
"""Characters of the column list of a table that is named on one line."""
MOST_GAPS = 4
"""Ranges of rows named in the line about omitted rows."""

SPECIAL_ROWS = {
    "TotalRow": "total",
    "OfWhichRow": "of which",
    "StatisticRow": "statistic",
    "ChangeRow": "change",
    "FootnoteRow": "note",
}
"""The words for rows that are not members, by their class."""


class SubTable:
    """The likeliest tables with title, all columns, groups and row numbers."""

    name = "subtable"
    kind: Kind = "triples"

    def __init__(self, widest: int = WIDEST) -> None:
        self._widest = widest

    reading = reading_of("subtable")

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """The rows of the tables by descending score: table by table, then the remaining rows of the long ones."""
        found: dict[str, dict[int, ContextUnit]] = defaultdict(dict)
        for unit in by_row(evidence.retrieval.triples):
            if unit.row is not None:
                found[unit.table][unit.row] = unit
        tables = evidence.likely
        evidence.source.fetch(dict.fromkeys((*tables, *evidence.further), ()))
        frames = {id: evidence.source.frame(id) for id in tables}
        full = {id for id in tables[:FULL_TABLES] if len(_body(frames[id])) <= SHORT}
        first = {id: _first_rows(frames[id], found[id].values(), id in full) for id in tables}
        rest = {id: _rest(frames[id], first[id], id == tables[0]) for id in tables}
        evidence.source.fetch({id: [*rows, *rest.get(id, ())] for id, rows in first.items()})
        triples = {(id, row): unit.triples for id, rows in found.items() for row, unit in rows.items()}
        places: list[tuple[str, int | None]] = [(id, row) for id, rows in first.items() for row in rows]
        places += [(id, None) for id in evidence.further]
        places += [(id, row) for id, rows in rest.items() for row in rows]
        return [
            ContextUnit(id, row, triples.get((id, row), ()) if row is not None else (), float(-place))
            for place, (id, row) in enumerate(places)
            if row is None or _filled(evidence, id, row)
        ]

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The tables in the order of their first rows; rows and columns in the table's own order."""
        members: dict[str, list[ContextUnit]] = {}
        for unit in units:
            members.setdefault(unit.table, []).append(unit)
        evidence.source.fetch({id: [unit.row for unit in of if unit.row is not None] for id, of in members.items()})
        named = [id for id, of in members.items() if of[0].row is None]
        parts = [
            _shown(id, of, evidence, n < FULL_TABLES, self._widest)
            for n, (id, of) in enumerate(members.items())
            if id not in named
        ]
        return "\n\n".join([*parts, *(["\n".join(_in_a_line(id, evidence) for id in named)] if named else [])])

    @property
    def narrower(self) -> SubTable | None:
        """The same with the cells of one third of the columns."""
        return SubTable(self._widest // 3) if self._widest else None


def _body(frame: TableFrame) -> range:
    structure = frame.table.structure
    return range(structure.body_start, structure.body_start + frame.body_rows + len(structure.groups))


def _first_rows(frame: TableFrame, found: Collection[ContextUnit], full: bool) -> list[int]:
    """The rows of its body that are shown at first, in its order."""
    body = _body(frame)
    best = [unit.row for unit in sorted(found, key=lambda unit: -unit.score) if unit.row in body]
    return sorted({*body, *best} if full else {*body[:FIRST_ROWS], *best[:CHOSEN_ROWS]})


def _rest(frame: TableFrame, first: Collection[int], sure: bool) -> list[int]:
    """The rows of a table that are shown where room is left."""
    body, shown = _body(frame), set(first)
    left = [row for row in body if row not in shown]
    if sure:
        most = max(SHORT, MOST_CELLS // max(frame.table.grid.width, 1))
        return left[: max(most - len(shown), 0)]
    return left if len(body) <= SHORT_FURTHER else []


def _filled(evidence: Evidence, id: str, row: int) -> bool:
    found = evidence.source.row(id, row)
    return found is not None and any(map(str.strip, found.cells))


def _shown(id: str, units: Sequence[ContextUnit], evidence: Evidence, likely: bool, widest: int) -> str:
    frame = evidence.source.frame(id)
    structure, width = frame.table.structure, frame.table.grid.width
    numbers = sorted({unit.row for unit in units if unit.row is not None and unit.row >= structure.body_start})
    rows = evidence.source.rows(id, numbers)
    found = {triple.column for unit in units for triple in unit.triples}
    columns = sorted({structure.label_column, *found, *range(min(width, widest))})
    shown = sum(1 for row in numbers if row >= structure.body_start and row not in structure.groups)
    told = f"{shown} rows" if shown >= frame.body_rows else f"{shown} of {frame.body_rows} rows shown"
    beside = LONGEST_BESIDE if likely else LONGEST_BESIDE_FURTHER
    lines = [f"{table_line(id, evidence, beside)}, {told}"]
    lines.append("row | " + " | ".join(header_text(frame.table, column, rows.values()) for column in columns))
    mixed = [column for column in columns if len(_measures(column, rows.values())) > 1]
    path: tuple[int, ...] = ()
    for row in numbers:
        groups = evidence.group_path(id, row)
        lines.extend(_group(frame.table, group) for group in groups if group not in path and group not in rows)
        path = groups
        cells = rows[row].cells if row in rows else ()
        if row in structure.groups and sum(map(bool, map(str.strip, cells))) < 2:
            lines.append(_group(frame.table, row))
            continue
        texts = (one_line(cells[column]) if column < len(cells) else "" for column in columns)
        lines.append(f"r{row}{_row_note(rows[row], mixed)} | " + " | ".join(texts))
    further = [column for column in range(width) if column not in columns]
    named = further if widest else further[:MOST_NAMED]
    if further:
        told_of = _with_examples if widest == WIDEST else header_text if widest else _name
        names = [told_of(frame.table, column, rows.values()) for column in named]
        unnamed = [f"and {len(further) - len(named)} more"] if len(named) < len(further) else []
        lines.append("columns without rows | " + " | ".join(names + unnamed))
    if shown < frame.body_rows and (left := _left_out(_body(frame), {*numbers, *structure.groups})):
        lines.append(f"rows {left} not shown; a program runs over all")
    return "\n".join(lines)


def _left_out(body: range, shown: Collection[int]) -> str:
    return _ranges([row for row in body if row not in shown])


def _ranges(rows: Sequence[int]) -> str:
    """Rows as ranges, the last of many in one."""
    ranges: list[tuple[int, int]] = []
    for row in rows:
        if ranges and (ranges[-1][1] == row - 1 or len(ranges) == MOST_GAPS):
            ranges[-1] = ranges[-1][0], row
        else:
            ranges.append((row, row))
    return ", ".join(f"r{start}" if start == end else f"r{start}-r{end}" for start, end in ranges)


def _row_note(row: TableRow, mixed: Collection[int]) -> str:
    """The graph's facts about a row, in parentheses: a total and its rows, or its unit if rows differ in it."""
    said = [word for kind, word in SPECIAL_ROWS.items() if kind in row.kinds]
    if row.summed:
        said = [f"total of {_ranges(row.summed)}"]
    units = {measure(number.unit, number.scale, number.per) for at in mixed if (number := row.quantity(at)) is not None}
    notes = ", ".join(filter(None, (*said[:1], units.pop() if len(units) == 1 else "")))
    return f" ({notes})" if notes else ""


def _measures(column: int, rows: Collection[TableRow]) -> Counter[str]:
    """The units and scales of a column's numbers in these rows, with how often each occurs."""
    numbers = (row.quantity(column) for row in rows)
    return Counter(measure(number.unit, number.scale, number.per) for number in numbers if number is not None)


def header_text(table: Table, column: int, rows: Collection[TableRow]) -> str:
    """A column's number and name, then its kind or role and the units of these rows."""
    units = [unit for unit, _ in _measures(column, rows).most_common() if unit]
    name = _name(table, column, rows)
    return name + column_note(table, column, name, units)


def _in_a_line(id: str, evidence: Evidence) -> str:
    """A table without its rows: what introduces it, and its columns."""
    frame = evidence.source.frame(id)
    names = [_name(frame.table, column, ()) for column in range(frame.table.grid.width)]
    columns = single_line(" | ".join(names))
    told = columns if len(columns) <= LONGEST_COLUMNS else f"{columns[:LONGEST_COLUMNS]}…"
    return f"{table_line(id, evidence, 0)}, no rows shown: {told}"


def _name(table: Table, column: int, rows: Collection[TableRow]) -> str:
    name = one_line(table.columns[column].name) if column < len(table.columns) else ""
    return f"c{column} {name}".rstrip()


def _with_examples(table: Table, column: int, rows: Collection[TableRow]) -> str:
    texts = (row.cells[column].strip() for row in rows if column < len(row.cells))
    examples = [one_line(text)[:LONGEST_EXAMPLE] for text in list(dict.fromkeys(filter(None, texts)))[:EXAMPLES]]
    return header_text(table, column, rows) + (f", such as {'; '.join(examples)}" if examples else "")


def column_note(table: Table, column: int, name: str, units: Sequence[str] = ()) -> str:
    """The kind of a column's measure, or its role, and its units, after a dot, unless its name says so."""
    meaning = informative_meaning(table.columns[column].meaning) if column < len(table.columns) else ""
    said = set(_words(name))
    new = [unit for unit in units if not said.issuperset(_words(unit))]
    known = ", ".join(filter(None, (meaning, " or ".join(new))))
    return f" · {known}" if known else ""


def _words(text: str) -> Iterator[str]:
    yield from filter(None, re.split(r"[\s(),;\[\]]+", text.casefold()))


def _group(table: Table, row: int) -> str:
    texts = [one_line(text) for text in table.grid.head[row] if text.strip()]
    return f"r{row} | {texts[0] if texts else ''}:"
