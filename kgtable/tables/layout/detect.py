"""The structure of a grid: header, label column, groups, totals, footnotes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from kgtable.errors import MappingError
from kgtable.tables.layout.cell_roles import blank, cell_of
from kgtable.tables.layout.groups import Groups, find_groups
from kgtable.tables.layout.header import HeaderRows, header_of_lines, is_unit_row, make_columns
from kgtable.tables.layout.label_column import (
    SAMPLE_ROWS,
    find_label_column,
    find_shared,
    left_margin,
    with_margin,
    without_margin,
)
from kgtable.tables.layout.line_classes import DOUBTFUL, SURE, LineReading, read_lines
from kgtable.tables.layout.notes import (
    closing_texts,
    find_marks,
    find_notes_beside,
    find_parts,
    find_repeated_headers,
    last_label,
)
from kgtable.tables.model import Column, Grid, LayoutDecision, Notice, Structure, Table


def detect_structure(grid: Grid) -> Structure:
    """What the rows and columns of a grid are, by looking at no more than `grid.head`.

    Groups, totals and footnotes of a streamed table are not looked for: its end is not in sight.

    >>> from kgtable.tables.model import Source
    >>> rows = (("", "2019", "2018"), ("Sales", "5", "4"))
    >>> detect_structure(Grid("t", Source("t.csv"), rows, width=3)).header
    (0,)
    """
    margin = left_margin(grid)
    inner = without_margin(grid, margin) if margin else grid
    lines = read_lines(inner)
    found = header_of_lines(inner, lines)
    structure = replace(_with_columns(inner, found), confidence=_confidence(inner, found, lines))
    if not grid.streamed:
        structure = _with_body(inner, structure, lines)
    return with_margin(structure, margin) if margin else structure


def _with_columns(grid: Grid, found: HeaderRows, label_column: int | None = None) -> Structure:
    """The structure as far as the first rows show it: header, columns, and the one that names rows."""
    rows = grid.head
    names = [""] * grid.width
    for row in found.header:
        for column, text in enumerate(rows[row][: grid.width]):
            names[column] = names[column] or text.strip()
    sample = [row for row in rows[found.body_start : found.body_start + SAMPLE_ROWS] if not all(map(blank, row))]
    if label_column is None:
        label_column = find_label_column(sample, grid.width, names)
    columns = make_columns(rows, found, grid.width, label_column, grid.merged)
    if not grid.streamed:
        beside = find_notes_beside(grid, found.header, found.body_start)
        columns = tuple(Column(column.index) if column.index in beside else column for column in columns)
    corner = " ".join(
        filter(
            None,
            (
                rows[row][label_column].strip()
                for row in (*found.header, *found.stated)
                if label_column < len(rows[row])
            ),
        )
    )
    return Structure(
        columns=columns,
        titles=found.titles,
        header=found.header,
        unit_rows=found.unit_rows,
        body_start=found.body_start,
        label_column=label_column,
        corner=corner,
    )


def _with_body(grid: Grid, structure: Structure, lines: LineReading, aside: Iterable[int] = ()) -> Structure:
    """The structure with what the body shows: groups, totals, parts of other rows, footnotes and marks."""
    body = dict(enumerate(grid.head[structure.body_start :], structure.body_start))
    footnotes = frozenset({row for row in (*lines.rows("n"), *aside) if row in body})
    footnotes = (footnotes | closing_texts(grid, body)) - last_label(body, footnotes)
    footnotes |= find_repeated_headers(grid, structure.header, body)
    data = {index: row for index, row in body.items() if index not in footnotes}
    beside = find_notes_beside(grid, structure.header, structure.body_start).values()
    marks = find_marks(grid, structure.header, data.values(), footnotes, chain.from_iterable(beside))
    groups = find_groups(grid, structure.header, data, structure.label_column, lines)
    parts = find_parts(data, structure.label_column)
    groups.totals -= {row for row in groups.totals if lines.sums.get(row) and parts.issuperset(lines.sums[row])}
    apart = groups.heads | {row for row in groups.totals if not blank(cell_of(data[row], 0))}
    members = {row: cells for row, cells in data.items() if not all(map(blank, cells)) and row not in apart}
    return replace(
        structure,
        groups=frozenset(groups.heads),
        parents=MappingProxyType(groups.parents),
        totals=frozenset(groups.totals),
        footnotes=footnotes,
        of_which=_with_members(parts, groups),
        marks=MappingProxyType(marks),
        shared=find_shared(members),
    )


def _with_members(parts: frozenset[int], groups: Groups) -> frozenset[int]:
    """The rows that are parts of another, with those under a heading "of which"."""
    found = set(parts)
    for row, parent in sorted(groups.parents.items()):
        if parent in found:
            found.add(row)
    return frozenset(found)


def make_table(grid: Grid, decision: LayoutDecision | None = None) -> Table:
    """The grid with its structure, as found, as a user decided it, or with the header that a model proposed.

    Raises `MappingError` for a decision about rows or columns that the table does not have.
    """
    if decision is not None and decision.confidence < 1:
        with suppress(MappingError):  # rows of another division of the sheet
            return _with_notes_beside(grid, decided_structure(grid, decision))
    if decision is None or decision.confidence < 1:
        structure = detect_structure(grid)
        if structure.confidence < DOUBTFUL:
            fault = f"the header may be wrong: its rows were judged with a confidence of {structure.confidence:.2f}"
            row = min(structure.header, default=structure.body_start)
            notice = Notice("layout", fault, grid.source.path, grid.source.sheet, row)
            grid = replace(grid, notices=(*grid.notices, notice))
        return _with_notes_beside(grid, structure)
    if decision.title is not None:
        grid = replace(grid, context=replace(grid.context, title=decision.title))
    return _with_notes_beside(grid, decided_structure(grid, decision))


def _confidence(grid: Grid, found: HeaderRows, lines: LineReading) -> float:
    """The minimum confidence of the header, of the line right above it and of the first line of the body."""
    first = min(found.header, default=found.body_start)
    near = [row for row in lines.confidence if first - 1 <= row < found.body_start]
    near += [row for row in lines.confidence if row >= found.body_start][:1]
    sure = min((lines.confidence[row] for row in near), default=1.0)
    return 1.0 if grid.header_cells or sure >= SURE else round(sure, 2)


def _with_notes_beside(grid: Grid, structure: Structure) -> Table:
    """The table, with the notes in columns at its right among the texts that follow it."""
    if not grid.streamed and (beside := find_notes_beside(grid, structure.header, structure.body_start)):
        after = grid.context.after
        texts = (text for texts in beside.values() for text in texts if text not in after)
        grid = replace(grid, context=replace(grid.context, after=(*after, *texts)))
    return Table(grid, structure)


def decided_structure(grid: Grid, decision: LayoutDecision) -> Structure:
    """The structure that a user decided on; what is left open is found below and next to it."""
    rows = len(grid.head)
    skipped = tuple(row for row in decision.aside if row not in decision.notes)
    decided = {"header rows": decision.header or (), "skip rows": skipped, "note rows": decision.notes}
    for field, indexes in decided.items():
        for row in indexes:
            if row >= rows and not grid.streamed:
                raise MappingError(
                    f"{decision.place}, column '{field}': table {grid.id!r} has no row {row + 1}.",
                    hint=f"Its last row is {rows}.",
                )
    if twice := sorted(set(decision.header or ()) & set(decision.aside)):
        field = "note rows" if twice[0] in decision.notes else "skip rows"
        raise MappingError(
            f"{decision.place}, column '{field}': row {twice[0] + 1} of table {grid.id!r} is one of its header rows.",
            hint="Name it in one of the two columns.",
        )
    structure = detect_structure(grid)
    if decision.header is None and decision.label_column is None and not decision.aside:
        return structure
    header = structure.header if decision.header is None else decision.header
    start = structure.body_start if decision.header is None else max(header, default=-1) + 1
    _check_rows_left(grid, structure, decision, start)
    titles = structure.titles if decision.header is None else tuple(r for r in range(start) if r not in header)
    units = frozenset(row for row in header if len(header) > 1 and is_unit_row(grid.head[row]))
    found = HeaderRows(titles, header, units, start)
    sure = structure.confidence if decision.header is None else decision.confidence
    structure = replace(_with_columns(grid, found), confidence=sure)
    if decision.label_column is not None:
        label = _decided_column(grid, structure, decision)
        structure = replace(_with_columns(grid, found, label), confidence=sure)
    if grid.streamed:
        return replace(structure, footnotes=frozenset(row for row in decision.aside if row >= start))
    return _with_body(grid, structure, read_lines(grid), decision.aside)


def _check_rows_left(grid: Grid, structure: Structure, decision: LayoutDecision, start: int) -> None:
    """Refuse a decision after which a table that has rows of data has none."""
    rows = {index for index, row in enumerate(grid.head) if any(map(str.strip, row))}
    if grid.streamed or not any(row >= structure.body_start for row in rows):
        return
    left = {row for row in rows if row >= start}
    if left - set(decision.aside):
        return
    noted = left and left <= set(decision.notes)
    field = "header rows" if not left else "note rows" if noted else "skip rows"
    raise MappingError(
        f"{decision.place}, column '{field}': this leaves table {grid.id!r} no row of data.",
        hint=f"Leave out the rows that are data; the table has rows {min(rows) + 1} to {max(rows) + 1}.",
    )


_LETTERS = re.compile(r"[A-Z]{1,3}")


def _decided_column(grid: Grid, structure: Structure, decision: LayoutDecision) -> int:
    wanted = (decision.label_column or "").strip()
    names = [column.name for column in structure.columns]
    if wanted in names:
        return names.index(wanted)
    if _LETTERS.fullmatch(wanted):
        column = 0
        for letter in wanted:
            column = column * 26 + ord(letter) - ord("A") + 1
        if column <= grid.width:
            return column - 1
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    raise MappingError(
        f"{decision.place}, column 'label column': table {grid.id!r} has no column {wanted!r}.",
        hint=f"Did you mean {' or '.join(near)}?" if near else "Give its letter, such as B, or its name.",
    )
