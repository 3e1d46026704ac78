"""The numbers of the ranking: how much each signal counts. One set for every kind of table."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TableWeights:
    """Signals for a table, each standardised over all tables (mean 0, deviation 1) before it is weighted.

    - `bm25`: BM25 of title, headings, header, "header: value" cells and surrounding texts.
    - `coverage`: the rarity of the question's words that stand in the table itself, however often.
    - `named`: the rarity of its words that make up whole cells or column names of the table.
    - `vector`: the cosine of question and table.
    - `agreement`: how well the table's own cells fit, see `CellWeights` (not standardised).

    `kin` is no signal of its own: the share by which a word counts for a table in the first three where
    it stands in another table under the same title and headings, as of a table that was split.
    """

    bm25: float = 0.7
    coverage: float = 0.3
    named: float = 0.2
    vector: float = 0.8
    agreement: float = 0.5
    kin: float = 0.75


@dataclass(frozen=True, slots=True)
class CellWeights:
    """Signals for a cell within its table; coverages are shares of the question's words by rarity.

    - `row`: words found in the row, or in the heading it stands under.
    - `rare_in_table`: for each such word, how few rows of the table have it (logarithm).
    - `own`: words found in the cell itself: negative, since one seldom asks for what one names.
    - `named`: the cell is made up of words of the question, as what one filters by is.
    - `column_named_in`: words found in some cell of the column.
    - `header`: words found in the column's name; `header_named`: the whole name is in the question.
    - `header_vector`: the cosine of the question and the column's name.
    - `number`: a number is asked for, and the column holds numbers.
    - `date`: a year or date is asked for, and the cell names a year.
    - `above_body`: the cell stands in the header.
    """

    row: float = 3.0
    rare_in_table: float = 0.4
    own: float = -1.0
    named: float = 0.5
    column_named_in: float = 1.0
    header: float = 1.0
    header_named: float = 1.0
    header_vector: float = 1.5
    number: float = 0.5
    date: float = 2.0
    above_body: float = -1.0


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of `hybrid`."""

    tables: TableWeights = field(default_factory=TableWeights)
    cells: CellWeights = field(default_factory=CellWeights)
