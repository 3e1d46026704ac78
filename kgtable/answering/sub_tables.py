"""Sub-tables for a prompt: the likeliest tables with all their columns, small ones whole, of long ones chosen rows.

What is left out is told in a line. Where room is scarce, the likeliest tables are shown first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import LONGEST_BESIDE, ContextUnit, Kind, by_row, measure, one_line, table_line
from kgtable.graph.table_decoder import TableFrame, TableRow
from kgtable.ontology.column_stats import informative_meaning
from kgtable.resources import PACKAGE
from kgtable.tables.model import Table

MOST_TABLES = 40
SURE_TABLES = 2
"""Tables that are shown however small their score, with those that join them."""
LEAST_SHARE = 0.005
"""Tables with a smaller share of the best one's score only share words with the question."""

FULL_TABLES = 5
"""Tables that are shown whole before others if they are short, with more of the text beside them."""
LONGEST_BESIDE_FURTHER = 100
SHORT, SHORT_FURTHER = 40, 20
"""Rows of a table, among the first and further on, that is shown whole."""
CHOSEN_ROWS = 12
FIRST_ROWS = 3
"""Rows of another table that are shown at first: the best, and its first ones as examples."""
MOST_ROWS = 200
"""Rows of a long one of the `SURE_TABLES` that are shown where room is left."""
WIDEST = 30
"""Columns whose cells are shown beside those where something was found; the others are listed with examples."""
MOST_NAMED = 60
"""Columns without cells that are named where there is no room for any cell beside what was found."""
EXAMPLES = 2
LONGEST_EXAMPLE = 30
MOST_GAPS = 4
"""Ranges of rows that the line of what is left out names."""


class SubTable:
    """The likeliest tables with title, all columns, groups and row numbers."""

    name = "subtable"
    kind: Kind = "triples"

    def __init__(self, widest: int = WIDEST) -> None:
        self._widest = widest

    reading = (PACKAGE / "answering/prompts/presentations/subtable.txt").read_text(encoding="utf-8").strip()

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """The rows of the tables by falling score: table by table, then the remaining rows of the long ones."""
        found: dict[str, dict[int, ContextUnit]] = defaultdict(dict)
        for unit in by_row(evidence.retrieval.triples):
            if unit.row is not None:
                found[unit.table][unit.row] = unit
        tables = likely_tables(evidence)
        evidence.source.fetch(dict.fromkeys(tables, ()))
        frames = {id: evidence.source.frame(id) for id in tables}
        full = {id for id in tables[:FULL_TABLES] if len(_body(frames[id])) <= SHORT}
        first = {id: _first_rows(frames[id], found[id].values(), id in full) for id in tables}
        rest = {id: _rest(frames[id], first[id], id in tables[:SURE_TABLES]) for id in tables}
        evidence.source.fetch({id: [*rows, *rest.get(id, ())] for id, rows in first.items()})
        chosen = [(id, row) for part in (first, rest) for id, rows in part.items() for row in rows]
        triples = {(id, row): unit.triples for id, rows in found.items() for row, unit in rows.items()}
        return [
            ContextUnit(id, row, triples.get((id, row), ()), float(-place))
            for place, (id, row) in enumerate(chosen)
            if _filled(evidence, id, row)
        ]

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The tables in the order of their first rows; rows and columns in the table's own order."""
        members: dict[str, list[ContextUnit]] = {}
        for unit in units:
            members.setdefault(unit.table, []).append(unit)
        evidence.source.fetch({id: [unit.row for unit in of if unit.row is not None] for id, of in members.items()})
        return "\n\n".join(
            _shown(id, of, evidence, n < FULL_TABLES, self._widest) for n, (id, of) in enumerate(members.items())
        )

    @property
    def narrower(self) -> SubTable | None:
        """The same with cells of a third of the columns."""
        return SubTable(self._widest // 3) if self._widest else None


def likely_tables(evidence: Evidence) -> list[str]:
    """The tables worth showing, the best first: near the best one's score, or joined with it."""
    scores = {found.table: found.score for found in evidence.retrieval.tables}
    tables = evidence.tables[:MOST_TABLES]
    least = LEAST_SHARE * max(scores.values(), default=0.0)
    joined = set(chain.from_iterable(map(evidence.relations.neighbours, tables[:SURE_TABLES])))
    return [id for n, id in enumerate(tables) if n < SURE_TABLES or scores.get(id, least) >= least or id in joined]


def _body(frame: TableFrame) -> range:
    structure = frame.table.structure
    return range(structure.body_start, structure.body_start + frame.body_rows + len(structure.groups))


def _first_rows(frame: TableFrame, found: Collection[ContextUnit], full: bool) -> list[int]:
    """The rows of a table that are shown at first, in its order."""
    best = [unit.row for unit in sorted(found, key=lambda unit: -unit.score) if unit.row is not None]
    body = _body(frame)
    return sorted({*body, *best} if full else {*body[:FIRST_ROWS], *best[:CHOSEN_ROWS]})


def _rest(frame: TableFrame, first: Collection[int], sure: bool) -> list[int]:
    """The rows of a table that are shown where room is left."""
    body, shown = _body(frame), set(first)
    most = MOST_ROWS if sure else SHORT_FURTHER
    return [row for row in body[:most] if row not in shown] if sure or len(body) <= most else []


def _filled(evidence: Evidence, id: str, row: int) -> bool:
    found = evidence.source.row(id, row)
    return found is not None and any(map(str.strip, found.cells))


def _shown(id: str, units: Sequence[ContextUnit], evidence: Evidence, likely: bool, widest: int) -> str:
    frame = evidence.source.frame(id)
    structure, width = frame.table.structure, frame.table.grid.width
    numbers = sorted({unit.row for unit in units if unit.row is not None})
    rows = evidence.source.rows(id, numbers)
    found = {triple.column for unit in units for triple in unit.triples}
    columns = sorted({structure.label_column, *found, *range(min(width, widest))})
    shown = sum(1 for row in numbers if row >= structure.body_start and row not in structure.groups)
    told = f"{shown} of {frame.body_rows} rows shown" if shown < frame.body_rows else f"{frame.body_rows} rows"
    beside = LONGEST_BESIDE if likely else LONGEST_BESIDE_FURTHER
    lines = [f"{table_line(id, evidence, beside)}, {told}"]
    lines.append("row | " + " | ".join(_header(frame.table, column, rows.values()) for column in columns))
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
        lines.append(f"r{row} | " + " | ".join(texts))
    further = [column for column in range(width) if column not in columns]
    named = further if widest else further[:MOST_NAMED]
    if further:
        told_of = _with_examples if widest == WIDEST else _header if widest else _name
        names = [told_of(frame.table, column, rows.values()) for column in named]
        unnamed = [f"and {len(further) - len(named)} more"] if len(named) < len(further) else []
        lines.append("columns without rows | " + " | ".join(names + unnamed))
    if shown < frame.body_rows and (left := _left_out(_body(frame), {*numbers, *structure.groups})):
        lines.append(f"rows {left} not shown; a program runs over all")
    return "\n".join(lines)


def _left_out(body: range, shown: Collection[int]) -> str:
    """The ranges of rows that are not shown, the last of many in one."""
    missing = [row for row in body if row not in shown]
    ranges: list[tuple[int, int]] = []
    for row in missing:
        if ranges and (ranges[-1][1] == row - 1 or len(ranges) == MOST_GAPS):
            ranges[-1] = ranges[-1][0], row
        else:
            ranges.append((row, row))
    return ", ".join(f"r{start}" if start == end else f"r{start}-r{end}" for start, end in ranges)


def _header(table: Table, column: int, rows: Collection[TableRow]) -> str:
    found = Counter(
        measure(number.unit, number.scale) for row in rows if (number := row.quantities.get(column)) is not None
    )
    units = [unit for unit, _ in found.most_common() if unit]
    name = _name(table, column, rows)
    return name + column_note(table, column, name, units)


def _name(table: Table, column: int, rows: Collection[TableRow]) -> str:
    name = one_line(table.columns[column].name) if column < len(table.columns) else ""
    return f"c{column} {name}".rstrip()


def _with_examples(table: Table, column: int, rows: Collection[TableRow]) -> str:
    texts = (row.cells[column].strip() for row in rows if column < len(row.cells))
    examples = [one_line(text)[:LONGEST_EXAMPLE] for text in list(dict.fromkeys(filter(None, texts)))[:EXAMPLES]]
    return _header(table, column, rows) + (f", such as {'; '.join(examples)}" if examples else "")


def column_note(table: Table, column: int, name: str, units: Sequence[str] = ()) -> str:
    """The kind of a column's measure, or its role, and its units in parentheses, as far as its name does not say so."""
    meaning = informative_meaning(table.columns[column].meaning) if column < len(table.columns) else ""
    said = set(_words(name))
    new = [unit for unit in units if not said.issuperset(_words(unit))]
    known = ", ".join(filter(None, (meaning, " or ".join(new))))
    return f" ({known})" if known else ""


def _words(text: str) -> Iterator[str]:
    yield from filter(None, re.split(r"[\s(),;\[\]]+", text.casefold()))


def _group(table: Table, row: int) -> str:
    texts = [one_line(text) for text in table.grid.head[row] if text.strip()]
    return f"r{row} | {texts[0] if texts else ''}:"
