"""From the contents of all tables to the arrays of a `Corpus`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from kgtable.index.corpus import NONE, Corpus, Places, Statistics
from kgtable.index.lexical import folded
from kgtable.index.postings import Integers, Postings
from kgtable.index.reading import TableContent
from kgtable.index.strings import Strings, encoded
from kgtable.index.weights import okapi
from kgtable.index.words import terms

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]*\d)")

MOSTLY = 0.6
"""A column is numeric where more than this share of its cells are quantities."""

MOST_KIN = 50
"""Tables of one title beyond which it says nothing about them."""


class Assembly:
    """Collects tables one after the other; `corpus` gives the whole."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._ids: list[str] = []
        self._around: list[Counter[str]] = []
        self._named: list[list[str]] = []
        self._titles: list[str] = []
        self._starts: dict[str, list[int]] = {"table_row": [0], "table_column": [0], "row_cell": [0]}
        self._rows: list[tuple[int, int, bool, int, int]] = []
        self._columns: list[tuple[int, int, int, bool, int]] = []
        self._predicates: dict[str, int] = {}
        self._cells: list[tuple[int, int, int]] = []
        self._lexical: list[tuple[int, int]] = []

    def add(self, content: TableContent) -> None:
        """Append a table."""
        table, first_column = len(self._ids), len(self._columns)
        self._ids.append(content.id)
        self._around.append(Counter(chain.from_iterable(map(terms, content.around))))
        title = " . ".join(filter(None, (content.title, *content.heading, content.caption)))
        self._named.append(terms(title))
        self._titles.append(title)
        filled: Counter[int] = Counter()
        numeric: Counter[int] = Counter()
        current = NONE
        for row, column, text, lexical, number, header in content.cells:
            if row != current:
                current = row
                self._add_row(table, row, header, content)
            if lexical:
                self._lexical.append((self._text(lexical), len(self._cells)))
            self._cells.append((len(self._rows) - 1, first_column + column, self._text(text)))
            self._starts["row_cell"][-1] += 1
            filled[column] += not header
            numeric[column] += number
        for column, (name, iri) in enumerate(content.columns):
            is_numeric = numeric[column] > MOSTLY * filled[column]
            predicate = self._predicates.setdefault(iri, len(self._predicates))
            named = self._text(name) if name.strip() else NONE
            self._columns.append((column, table, named, is_numeric, predicate))
        self._starts["table_row"].append(len(self._rows))
        self._starts["table_column"].append(len(self._columns))

    def _add_row(self, table: int, row: int, header: bool, content: TableContent) -> None:
        label, group = content.rows.get(row, (None, None))
        heading = content.rows.get(group, (None, None))[0] if group is not None else None
        self._rows.append((row, table, header, self._text_or_none(label), self._text_or_none(heading)))
        self._starts["row_cell"].append(self._starts["row_cell"][-1])

    def _text(self, text: str) -> int:
        return self._texts.setdefault(folded(text), len(self._texts))

    def _text_or_none(self, text: str | None) -> int:
        return NONE if text is None else self._text(text)

    def corpus(self, folder: Path) -> Corpus:
        """The arrays; texts and terms are written into `folder` on the way."""
        in_order, place = _sorted(self._texts)
        predicates, predicate_place = _sorted(self._predicates)
        Strings.write(in_order, folder / "texts")
        Strings.write(predicates, folder / "predicates")
        places = self._places(place, predicate_place)
        text_terms = [terms(text) for text in in_order]
        vocabulary = sorted(
            {
                *chain.from_iterable(text_terms),
                *chain.from_iterable(self._around),
                *chain.from_iterable(self._named),
            },
            key=encoded,
        )
        Strings.write(vocabulary, folder / "terms")
        numbers = {term: number for number, term in enumerate(vocabulary)}
        text_starts, text_items = _rows_of(text_terms, numbers)
        text_of_item = np.repeat(np.arange(len(in_order)), np.diff(text_starts))
        lexical = np.array(self._lexical, dtype=np.int64).reshape(-1, 2)
        body = np.flatnonzero(~places.row_is_header[places.cell_row])
        bm25, term_tables, in_table, weight = okapi(
            places,
            Postings(text_starts, text_items),
            named=_rows_of(self._named, numbers),
            around=_rows_of([list(counts.elements()) for counts in self._around], numbers),
            terms=len(vocabulary),
        )
        term_texts = Postings.build(text_items, text_of_item, len(vocabulary))
        sizes = np.bincount(term_texts.items, minlength=len(in_order)).astype(np.int32)
        dated = np.fromiter((_YEAR.search(text) is not None for text in in_order), np.bool_, len(in_order))
        size = len(in_order)
        return Corpus(
            table_ids=tuple(self._ids),
            places=places,
            statistics=Statistics(weight, bm25, in_table, sizes, dated),
            texts=Strings.open(folder / "texts"),
            terms=Strings.open(folder / "terms"),
            predicates=Strings.open(folder / "predicates"),
            term_texts=term_texts,
            term_tables=term_tables,
            text_cells=Postings.build(
                np.concatenate([places.cell_text[body], place[lexical[:, 0]]]),
                np.concatenate([body, lexical[:, 1]]),
                size,
            ),
            text_labels=_by_text(places.row_label, size),
            text_groups=_by_text(places.row_group_label, size),
            text_columns=_by_text(places.column_name, size),
        )

    def _places(self, place: Integers, predicate_place: Integers) -> Places:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 5)
        columns = np.array(self._columns, dtype=np.int64).reshape(-1, 5)
        cells = np.array(self._cells, dtype=np.int64).reshape(-1, 3)
        return Places(
            table_kin=_kin(self._titles),
            table_row_start=np.array(self._starts["table_row"], dtype=np.int64),
            table_column_start=np.array(self._starts["table_column"], dtype=np.int64),
            row_cell_start=np.array(self._starts["row_cell"], dtype=np.int64),
            row_number=rows[:, 0].astype(np.int32),
            row_table=rows[:, 1].astype(np.int32),
            row_is_header=rows[:, 2].astype(np.bool_),
            row_label=place[rows[:, 3]].astype(np.int32),
            row_group_label=place[rows[:, 4]].astype(np.int32),
            column_number=columns[:, 0].astype(np.int32),
            column_table=columns[:, 1].astype(np.int32),
            column_name=place[columns[:, 2]].astype(np.int32),
            column_predicate=predicate_place[columns[:, 4]].astype(np.int32),
            column_is_numeric=columns[:, 3].astype(np.bool_),
            cell_row=cells[:, 0].astype(np.int32),
            cell_column=cells[:, 1].astype(np.int32),
            cell_text=place[cells[:, 2]].astype(np.int32),
        )


def _kin(titles: Sequence[str]) -> Integers:
    """A number for each table; tables of one title, if they are not too many, have the same."""
    sharing = Counter(titles)
    numbers: dict[str | int, int] = {}
    keys = (title if title and sharing[title] <= MOST_KIN else at for at, title in enumerate(titles))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def assemble(contents: Iterable[TableContent], folder: Path) -> Corpus:
    """The corpus of these tables, saved into an existing folder."""
    assembly = Assembly()
    for content in contents:
        assembly.add(content)
    corpus = assembly.corpus(folder)
    corpus.save(folder)
    return corpus


def _sorted(numbers: dict[str, int]) -> tuple[list[str], Integers]:
    """The strings in the order of `Strings`, and for each old number the new one; `NONE` stays."""
    in_order = sorted(numbers, key=encoded)
    place = np.zeros(len(in_order) + 1, dtype=np.int64)
    place[[numbers[text] for text in in_order]] = np.arange(len(in_order))
    place[NONE] = NONE
    return in_order, place


def _rows_of(lists: Sequence[Sequence[str]], numbers: dict[str, int]) -> tuple[Integers, Integers]:
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in lists], out=starts[1:])
    items = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(lists)), dtype=np.int64, count=int(starts[-1])
    )
    return starts, items


def _by_text(texts: Integers, size: int) -> Postings:
    known = np.flatnonzero(texts != NONE)
    return Postings.build(texts[known], known, size)
