"""The tables of a graph as flat arrays: what stands where, and which texts and terms stand in it.

Tables, rows, columns, cells, texts and terms are numbered from 0. The rows of a table lie together,
and so do its columns, its cells, and the cells of a row. Texts are the distinct folded texts of cells,
labels and column names; terms the distinct stems in them and around the tables; predicates are IRIs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.index.postings import Flags, Floats, Integers, Postings, mapped
from kgtable.index.strings import Strings

NONE = -1
"""Stands for no text, no group, no vector."""


@dataclass(frozen=True)
class Places:
    """Where things stand. A ``*_start`` array has one entry more than there are tables or rows.

    Tables with the same `table_kin` stand under the same title and headings: parts of one table, or
    tables beside each other.
    """

    table_kin: Integers
    table_row_start: Integers
    table_column_start: Integers
    row_cell_start: Integers
    row_number: Integers
    row_table: Integers
    row_is_header: Flags
    row_label: Integers
    row_group_label: Integers
    column_number: Integers
    column_table: Integers
    column_name: Integers
    column_predicate: Integers
    column_is_numeric: Flags
    cell_row: Integers
    cell_column: Integers
    cell_text: Integers

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return len(self.table_row_start) - 1

    @property
    def table_cell_start(self) -> Integers:
        """Where each table's cells begin, and after the last one, where they all end."""
        return np.asarray(self.row_cell_start[self.table_row_start])


@dataclass(frozen=True)
class Statistics:
    """What the scores of tables are made of.

    `term_weight` is a term's inverse document frequency over tables. The postings of a term are the
    tables that have it in title, headings, header, cells or the texts around them; `bm25` is the
    term's weight in each, `in_table` whether it stands in more than the texts around the table.
    `text_size` counts the distinct terms of a text, `text_is_dated` tells whether it names a year.
    """

    term_weight: Floats
    bm25: Floats
    in_table: Flags
    text_size: Integers
    text_is_dated: Flags


@dataclass(frozen=True)
class Corpus:
    """Everything of an index but the vectors and the grams of its texts.

    Postings: `term_texts`, `term_tables` by term; by text, `text_cells` (texts and lexical forms of
    body cells), `text_labels` and `text_groups` (body rows with this label or under this heading),
    `text_columns` (columns of this name).
    """

    table_ids: tuple[str, ...]
    places: Places
    statistics: Statistics
    texts: Strings
    terms: Strings
    predicates: Strings
    term_texts: Postings
    term_tables: Postings
    text_cells: Postings
    text_labels: Postings
    text_groups: Postings
    text_columns: Postings

    def save(self, folder: Path) -> None:
        """Write the arrays, one file each, into an existing folder. The strings are written before."""
        (folder / "tables.json").write_text(json.dumps(self.table_ids), encoding="utf-8")
        for part in (self.places, self.statistics):
            for item in fields(part):
                np.save(folder / f"{item.name}.npy", getattr(part, item.name), allow_pickle=False)
        for name in _POSTINGS:
            postings: Postings = getattr(self, name)
            np.save(folder / f"{name}.starts.npy", postings.starts, allow_pickle=False)
            np.save(folder / f"{name}.items.npy", postings.items, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """What `save` wrote, memory-mapped.

        Raises `VocabularyIndexError` where files are missing or damaged.
        """
        try:
            return cls(
                table_ids=tuple(json.loads((folder / "tables.json").read_text(encoding="utf-8"))),
                places=Places(**{item.name: mapped(folder / f"{item.name}.npy") for item in fields(Places)}),
                statistics=Statistics(
                    **{item.name: mapped(folder / f"{item.name}.npy") for item in fields(Statistics)}
                ),
                texts=Strings.open(folder / "texts"),
                terms=Strings.open(folder / "terms"),
                predicates=Strings.open(folder / "predicates"),
                **{
                    name: Postings(
                        mapped(folder / f"{name}.starts.npy"), mapped(folder / f"{name}.items.npy")
                    )
                    for name in _POSTINGS
                },
            )
        except (OSError, ValueError, TypeError) as error:
            raise VocabularyIndexError(
                f"The index in {folder} is missing or damaged: {error}.", hint="Build the graph again."
            ) from error


_POSTINGS = ("term_texts", "term_tables", "text_cells", "text_labels", "text_groups", "text_columns")
