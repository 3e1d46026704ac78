"""Rows of one table that contain others of it, by the names in another table: regions above their countries.

A table with the region of each country says that a row "Europe" among the countries of another table sums
them. Looked for in small graphs alone, whose tables are about one thing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.inferred.column_profiles import ColumnProfile, TableProfiles, ValueForm, is_small, key_of
from kgtable.index.inferred.joins import UNIQUE

FEWEST = 2
"""Names that contain others, and members of each, from which a column has levels."""

MOST_ROWS = 10_000
"""Rows of a table beyond which its names are a list of one level."""


@dataclass(frozen=True, slots=True)
class ContainedRows:
    """A row of a table (0-based, in the grid) that contains `members`, according to the columns named in `evidence`."""

    table: str
    row: int
    members: tuple[int, ...]
    evidence: str


def find_contained(profiles: TableProfiles, corpus: Corpus) -> Iterator[ContainedRows]:
    """The rows that contain others of their table by another table, in the order of tables and rows.

    `profiles` are those of all tables of the corpus.
    """
    if not is_small(len(corpus.table_ids)):
        return
    texts = [
        [column for column in columns if column.form is ValueForm.TEXT and column.filled <= MOST_ROWS]
        for columns in profiles.of_table
    ]
    naming = [column for columns in texts for column in columns if column.uniqueness >= UNIQUE]
    rows: dict[int, Mapping[str, list[int]]] = {}
    found: dict[tuple[int, int], ContainedRows] = {}
    for lower in naming:
        for upper in texts[lower.table]:
            if not FEWEST <= len(upper.values) <= len(lower.values) / FEWEST:
                continue
            for column in naming:
                if column.table != lower.table and _may_have_levels(column, lower, upper):
                    for contained in _contained(profiles, corpus, rows, (lower, upper, column)):
                        found.setdefault((column.table, contained.row), contained)
    yield from (found[place] for place in sorted(found))


def _may_have_levels(column: ColumnProfile, lower: ColumnProfile, upper: ColumnProfile) -> bool:
    """Whether a column has names of both levels, and of most of its names the level is known."""
    one, other = (len(np.intersect1d(column.values, level.values)) for level in (upper, lower))
    return one >= FEWEST and other >= FEWEST * FEWEST and (one + other) * 2 >= len(column.values)


def _contained(
    profiles: TableProfiles, corpus: Corpus, rows: dict[int, Mapping[str, list[int]]], columns: Sequence[ColumnProfile]
) -> list[ContainedRows]:
    lower, upper, own = (rows.setdefault(c.number, _rows_of(corpus, c.number)) for c in columns)
    above = {row: name for name, places in upper.items() for row in places}
    members: dict[str, set[int]] = defaultdict(set)
    for name, places in lower.items():
        parents = {above[row] for row in places if row in above}
        if name in own and len(parents) == 1 and (parent := parents.pop()) not in lower:
            members[parent].update(own[name])
    levels = {name: inside for name, inside in members.items() if name in own and len(inside) >= FEWEST}
    if len(levels) < FEWEST:
        return []
    named, containing, column = columns
    head = profiles.heads[named.table]
    evidence = f"{named.name} within {containing.name} in {head.title or head.id}"
    table = profiles.heads[column.table].id
    contained = ((row, tuple(sorted(inside))) for name, inside in levels.items() for row in own[name])
    return [ContainedRows(table, row, inside, evidence) for row, inside in contained]


def _rows_of(corpus: Corpus, column: int) -> Mapping[str, list[int]]:
    """The rows, by their numbers in the grid, in which a column has each key."""
    places = corpus.places
    table = int(places.column_table[column])
    first, last = places.table_cell_start[table : table + 2].tolist()
    cells = first + np.flatnonzero(places.cell_column[first:last] == column)
    cells = cells[~places.row_is_header[places.cell_row[cells]]]
    found: dict[str, list[int]] = defaultdict(list)
    numbers = places.row_number[places.cell_row[cells]].tolist()
    for row, text in zip(numbers, places.cell_text[cells].tolist(), strict=True):
        found[key_of(corpus.texts[text])].append(row)
    found.pop("", None)
    return found
