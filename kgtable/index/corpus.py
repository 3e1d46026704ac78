"""The corpus of an index: the tables of a graph as flat arrays of places, texts and terms.

Tables, rows, columns, cells, texts and terms are numbered from 0. The rows of a table lie together,
and so do its columns, its cells, and the cells of a row. Texts are the distinct folded texts of cells,
labels and column names; terms the distinct stems in them and around the tables; predicates are IRIs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import CellContent, ContentRow, FoundCell
from kgtable.index.postings import BoolArray, FloatArray, IntArray, Postings, mapped, ranges
from kgtable.index.substring import Strings
from kgtable.storage import index_errors

NONE = -1
"""Stands for no text, no group, no vector."""

PRINTED_CELLS, PRINTED_ROWS = "printed_cells", "printed_rows"
"""Files with what the graph says of each cell, and the labels of each row and its heading, as JSON."""

_FAULT = "The index is damaged, it does not hold its cells"
"""Where the JSON of a cell or row cannot be read: what was written here is sound."""


@dataclass(frozen=True)
class Places:
    """The positions of tables, rows, columns and cells in the corpus.

    A ``*_start`` array has one entry more than there are tables or rows. Tables with the same `table_kin` are
    under the same title and headings: parts of one table, or tables next to each other.
    """

    table_kin: IntArray
    table_row_start: IntArray
    table_column_start: IntArray
    row_cell_start: IntArray
    row_number: IntArray
    row_table: IntArray
    row_is_header: BoolArray
    row_label: IntArray
    row_group_label: IntArray
    column_number: IntArray
    column_table: IntArray
    column_name: IntArray
    column_predicate: IntArray
    column_is_numeric: BoolArray
    cell_row: IntArray
    cell_column: IntArray
    cell_text: IntArray

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return len(self.table_row_start) - 1

    @property
    def table_cell_start(self) -> IntArray:
        """Where each table's cells begin, and after the last one, where they all end."""
        return np.asarray(self.row_cell_start[self.table_row_start])


@dataclass(frozen=True)
class Statistics:
    """The statistics from which tables are scored.

    `term_weight` is a term's inverse document frequency over tables. The postings of a term are the
    tables that have it in title, headings, header, cells or the texts around them; `bm25` is the
    term's weight in each, `in_table` whether it is in more than the texts around the table.
    `text_size` counts the distinct terms of a text, `text_is_dated` says whether it names a year.
    """

    term_weight: FloatArray
    bm25: FloatArray
    in_table: BoolArray
    text_size: IntArray
    text_is_dated: BoolArray


@dataclass(frozen=True)
class Corpus:
    """The contents of an index, without vectors and letter grams.

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
    printed_cells: Strings
    printed_rows: Strings
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
            postings.save(folder, name)

    def found(self, cells: IntArray) -> Iterator[FoundCell]:
        """The content of these cells in the graph at the time the index was made."""
        rows: dict[int, tuple[str | None, str | None]] = {}
        with index_errors(_FAULT):
            for cell, row in zip(cells.tolist(), self.places.cell_row[cells].tolist(), strict=True):
                if row not in rows:
                    label, heading = json.loads(self.printed_rows.piece(row))
                    rows[row] = label, heading
                subject, group = rows[row]
                content = CellContent.from_list(json.loads(self.printed_cells.piece(cell)))
                yield FoundCell(subject or "", group, content)

    def rows_of(self, table: int) -> Iterator[ContentRow]:
        """The rows of a table in the graph at the time the index was made. Raises `VocabularyIndexError` as `found`."""
        places = self.places
        first_column = int(places.table_column_start[table])
        with index_errors(_FAULT):
            for row in range(*places.table_row_start[table : table + 2].tolist()):
                label, heading = json.loads(self.printed_rows.piece(row))
                first, last = places.row_cell_start[row : row + 2].tolist()
                columns = (places.cell_column[first:last] - first_column).tolist()
                cells = zip(columns, _contents(map(self.printed_cells.piece, range(first, last))), strict=True)
                is_header = bool(places.row_is_header[row])
                yield ContentRow(int(places.row_number[row]), is_header, label, heading, tuple(cells))

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """What `save` wrote, memory-mapped.

        Raises `VocabularyIndexError` if files are missing or damaged.
        """
        with index_errors(f"The index in {folder} is missing or damaged"):
            return cls(
                table_ids=tuple(json.loads((folder / "tables.json").read_text(encoding="utf-8"))),
                places=Places(**{item.name: mapped(folder / f"{item.name}.npy") for item in fields(Places)}),
                statistics=Statistics(
                    **{item.name: mapped(folder / f"{item.name}.npy") for item in fields(Statistics)}
                ),
                texts=Strings.open(folder / "texts"),
                terms=Strings.open(folder / "terms"),
                predicates=Strings.open(folder / "predicates"),
                printed_cells=Strings.open(folder / PRINTED_CELLS),
                printed_rows=Strings.open(folder / PRINTED_ROWS),
                **{name: Postings.open(folder, name) for name in _POSTINGS},
            )


@dataclass(frozen=True)
class CorpusParts:
    """The intermediate data of a corpus, from which an update takes over the tables that did not change.

    `text_terms` are the terms of each text, `named_terms` those of each table's title and headings,
    `around_terms` those of the texts around it, in reading order; `lexical_text` and `lexical_cell` the lexical
    forms of cells, by cell; `term_times` how often a term is in a table, parallel to `Corpus.term_tables`.
    `heads` are the heads of the tables as JSON, `table_texts` what their vectors stand for.
    """

    text_terms: Postings
    named_terms: Postings
    around_terms: Postings
    lexical_text: IntArray
    lexical_cell: IntArray
    term_times: IntArray
    titles: Strings
    heads: Strings
    table_texts: Strings

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder. The strings are written before."""
        for name in _LISTS:
            lists: Postings = getattr(self, name)
            lists.save(folder, name)
        for name in _PART_ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> CorpusParts:
        """What `save` wrote, memory-mapped.

        Raises `VocabularyIndexError` if files are missing or damaged.
        """
        with index_errors(f"The index in {folder} is missing or damaged"):
            text_terms, named, around = (Postings.open(folder, name) for name in _LISTS)
            text, cell, times = (mapped(folder / f"{name}.npy") for name in _PART_ARRAYS)
            titles, heads, table_texts = (Strings.open(folder / name) for name in PART_STRINGS)
            return cls(text_terms, named, around, text, cell, times, titles, heads, table_texts)


_LISTS = ("text_terms", "named_terms", "around_terms")
_PART_ARRAYS = ("lexical_text", "lexical_cell", "term_times")
PART_STRINGS = ("titles", "heads", "table_texts")
"""Files with strings by table that `CorpusParts` holds."""

_POSTINGS = ("term_texts", "term_tables", "text_cells", "text_labels", "text_groups", "text_columns")

K1, B = 1.2, 0.75
"""The usual saturation of repeated terms, and how much longer tables are discounted."""

CELLS_COUNTED = 1 << 20
"""Cells whose terms are counted at a time: it bounds the memory."""


class TermCounts(NamedTuple):
    """How often each term is in each table that has it, by term and table in ascending order; `inside` says
    whether it is in more than the texts around the table."""

    term: IntArray
    table: IntArray
    times: IntArray
    inside: BoolArray


def count_terms(places: Places, text_terms: Postings, named: Postings, around: Postings) -> TermCounts:
    """Count the terms of each table.

    A table's document is its title and headings (`named`), the texts around it, its header, and
    "column name: value" for each body cell, as tables are best written for BM25 (thesis, section 5.1).
    """
    keys: list[IntArray] = []
    counts: list[IntArray] = []

    def count(table: IntArray, term: IntArray, times: IntArray) -> None:
        found, inverse = np.unique(term.astype(np.int64) * places.tables + table, return_inverse=True)
        keys.append(found)
        counts.append(np.bincount(inverse, weights=times, minlength=len(found)))

    def count_texts(table: IntArray, text: IntArray, times: IntArray) -> None:
        starts, ends = text_terms.starts[text], text_terms.starts[text + 1]
        lengths = ends - starts
        count(np.repeat(table, lengths), text_terms.items[ranges(starts, ends)], np.repeat(times, lengths))

    for start in range(0, len(places.cell_row), CELLS_COUNTED):
        some = slice(start, start + CELLS_COUNTED)
        table = places.row_table[places.cell_row[some]]
        count_texts(table, places.cell_text[some], np.ones(len(table), dtype=np.int64))
    known = np.flatnonzero(places.column_name != NONE)
    body = ~places.row_is_header[places.cell_row]
    filled = np.bincount(places.cell_column[body], minlength=len(places.column_name))
    count_texts(places.column_table[known], places.column_name[known], filled[known])
    for lists in (named, around):
        table = np.repeat(np.arange(places.tables), np.diff(lists.starts))
        count(table, lists.items, np.ones(len(lists.items), dtype=np.int64))

    inside = np.unique(np.concatenate(keys[:-1]))
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    times = np.bincount(inverse, weights=np.concatenate(counts), minlength=len(found))
    term, table = np.divmod(found, max(places.tables, 1))
    return TermCounts(term, table, times.astype(np.int32), np.isin(found, inside))


def okapi(counts: TermCounts, tables: int, terms: int) -> tuple[FloatArray, Postings, FloatArray]:
    """The weight of each term in each table that has it.

    Returns the weights, parallel to the postings from terms to tables, and each term's inverse document frequency.
    """
    term, table = counts.term, counts.table
    frequency = counts.times.astype(np.float64)
    postings = Postings.build(term, table, terms)
    lengths = np.bincount(table, weights=frequency, minlength=tables)
    average = float(lengths.mean()) if len(lengths) else 1.0
    containing = np.diff(postings.starts)
    weight = np.log(1 + (tables - containing + 0.5) / (containing + 0.5))
    saturated = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * lengths[table] / max(average, 1.0)))
    return (saturated * weight[term]).astype(np.float32), postings, weight.astype(np.float32)


class TableColumns:
    """The body of one table column by column; rows without cells are unknown.

    Attributes:
        rows: the grid rows.
    """

    def __init__(self, corpus: Corpus, table: int) -> None:
        self._corpus = corpus
        places = corpus.places
        first, last = places.table_row_start[table : table + 2].tolist()
        body = first + np.flatnonzero(~places.row_is_header[first:last])
        self.rows = places.row_number[body].astype(np.int64)
        self._place = np.full(last - first, -1, dtype=np.int64)
        self._place[body - first] = np.arange(len(body))
        self._first_row, self._first_column = first, int(places.table_column_start[table])
        self._cells = slice(*places.row_cell_start[[first, last]].tolist())

    def column(self, index: int) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        """The cells of a column: for each row the number of its content (-1 for a blank cell), and the contents.

        Raises `VocabularyIndexError` if the index is damaged.
        """
        places = self._corpus.places
        at = self._cells.start + np.flatnonzero(places.cell_column[self._cells] == self._first_column + index)
        row = self._place[places.cell_row[at] - self._first_row]
        return self._different(at[row >= 0], row[row >= 0])

    def _different(
        self, cells: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        codes = np.full(len(self.rows), -1, dtype=np.int32)
        printed = self._corpus.printed_cells
        # Cells with one text mostly agree in everything else, which their bytes show.
        _, first, number = np.unique(self._corpus.places.cell_text[cells], return_index=True, return_inverse=True)
        contents = [printed.piece(cell) for cell in cells[first].tolist()]
        known: dict[bytes, int] = {}
        others = np.flatnonzero(~printed.equal(cells, cells[first][number]))
        for other in others.tolist():
            piece = printed.piece(int(cells[other]))
            if piece not in known:
                known[piece] = len(contents)
                contents.append(piece)
            number[other] = known[piece]
        codes[rows] = number
        return codes, _contents(contents)


def _contents(pieces: Iterable[bytes]) -> list[CellContent]:
    with index_errors(_FAULT):
        return list(map(CellContent.from_list, json.loads(b"[%s]" % b",".join(pieces))))
