"""Assembly of a corpus: tables are added one by one, then the arrays are made."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.index.corpus import (
    NONE,
    PART_STRINGS,
    PRINTED_CELLS,
    PRINTED_ROWS,
    Corpus,
    CorpusParts,
    Places,
    Statistics,
    TermCounts,
    count_terms,
    okapi,
)
from kgtable.index.inferred.column_profiles import TableHead
from kgtable.index.postings import BoolArray, IntArray, Postings
from kgtable.index.substring import Strings, StringsWriter, encoded, folded
from kgtable.ontology.inferred_names import InferredNames, is_missing_header, is_missing_title, telling_words
from kgtable.text.words import terms

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]*\d)")

MOSTLY = 0.6
"""A column is numeric where more than this share of its cells are quantities."""

MOST_KIN = 50
"""Tables of one title beyond which it says nothing about them."""


class NumberedLists:
    """Lists of strings, stored as numbers; lists with the same `numbers` share equal strings."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._starts = array("q", [0])
        self._items = array("i")

    def add(self, strings: Iterable[str]) -> None:
        """Append a list."""
        numbers = self._numbers
        self._items.extend([numbers.setdefault(text, len(numbers)) for text in strings])
        self._starts.append(len(self._items))

    def renumbered(self, place: IntArray) -> Postings:
        """The lists, with the new number from `place` for each old one."""
        return Postings(_array(self._starts), place[_array(self._items)])


class CorpusAssembly:
    """Collects tables one after the other; `corpus` returns the whole.

    What is kept of a cell are three numbers, and of its text one copy. Rows and cells as they are printed, the heads
    of the tables, and the texts that their vectors stand for go straight to files in `folder`.
    """

    def __init__(self, folder: Path, names: InferredNames | None = None) -> None:
        """`names` replace headers and titles that say nothing."""
        self._folder = folder
        self._inferred = names or InferredNames()
        self._texts: dict[str, int] = {}
        self._ids: list[str] = []
        self._terms: dict[str, int] = {}
        self._around = NumberedLists(self._terms)
        self._named = NumberedLists(self._terms)
        self._titles: list[str] = []
        self._starts = {name: array("q", [0]) for name in ("table_row", "table_column", "row_cell")}
        self._rows = array("i")
        self._columns = array("i")
        self._predicates: dict[str, int] = {}
        self._cells = array("i")
        self._lexical = array("i")
        self._printed_cells = StringsWriter(folder / PRINTED_CELLS)
        self._printed_rows = StringsWriter(folder / PRINTED_ROWS)
        self._by_table = {name: StringsWriter(folder / name) for name in PART_STRINGS}

    def add(self, content: TableContent) -> None:
        """Append a table."""
        self._by_table["heads"].add(_json(TableHead.of(content).to_list()))
        content = self._with_names(content)
        table, first_column = len(self._ids), len(self._columns) // _COLUMN_FIELDS
        self._ids.append(content.id)
        self._around.add(term for text in content.around for term in terms(text))
        title = " . ".join(filter(None, (content.title, *content.heading, content.caption)))
        self._named.add((*terms(title), *terms(telling_words(content.id))))
        self._titles.append(title)
        self._by_table["titles"].add(title)
        filled: Counter[int] = Counter()
        numeric: Counter[int] = Counter()
        text = TableText(content)
        for row in content.rows:
            text.add(row)
            self._add_row(table, row)
            number = len(self._rows) // _ROW_FIELDS - 1
            for column, cell in row.cells:
                self._add_cell(number, first_column + column, cell)
                numeric[column] += cell.unit is not None
            if not row.is_header:
                filled.update([column for column, _ in row.cells])
            self._starts["row_cell"].append(len(self._cells) // _CELL_FIELDS)
        for column, (name, iri) in enumerate(content.columns):
            is_numeric = numeric[column] > MOSTLY * filled[column]
            predicate = self._predicates.setdefault(iri, len(self._predicates))
            named = self._text(name) if name.strip() else NONE
            self._columns.extend((column, table, named, is_numeric, predicate))
        self._starts["table_row"].append(len(self._rows) // _ROW_FIELDS)
        self._starts["table_column"].append(len(self._columns) // _COLUMN_FIELDS)
        self._by_table["table_texts"].add(text.text)

    def _with_names(self, content: TableContent) -> TableContent:
        """The content with the names that were inferred in place of what says nothing."""
        if not len(self._inferred):
            return content

        def named(at: int, header: str) -> str:
            inferred = self._inferred.used(content.id, at) if is_missing_header(header) else ""
            return f"{header.strip()} {inferred}".lstrip() if inferred else header  # what is printed is still found

        columns = tuple((named(at, name), iri) for at, (name, iri) in enumerate(content.columns))
        title = content.title
        if is_missing_title(title, content.id):
            title = self._inferred.used(content.id, None) or title
        return replace(content, columns=columns, title=title)

    def _add_row(self, table: int, row: ContentRow) -> None:
        label, heading = self._text_or_none(row.label), self._text_or_none(row.heading)
        self._rows.extend((row.row, table, row.is_header, label, heading))
        self._printed_rows.add(_json([row.label, row.heading]))

    def _add_cell(self, row: int, column: int, cell: CellContent) -> None:
        if cell.lexical:
            self._lexical.extend((self._text(cell.lexical), len(self._cells) // _CELL_FIELDS))
        self._cells.extend((row, column, self._text(cell.text)))
        self._printed_cells.add(_json(cell.to_list()))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(folded(text), len(self._texts))

    def _text_or_none(self, text: str | None) -> int:
        return NONE if text is None else self._text(text)

    def save(self) -> None:
        """Write the corpus and its parts; what was collected is released on the way."""
        folder = self._folder
        for writer in (self._printed_cells, self._printed_rows, *self._by_table.values()):
            writer.close()
        place = _write_sorted(self._texts, folder / "texts")
        predicate_place = _write_sorted(self._predicates, folder / "predicates")
        texts = Strings.open(folder / "texts")
        places = self._places(place, predicate_place)
        of_texts = NumberedLists(self._terms)
        dated = np.zeros(len(texts), dtype=np.bool_)
        for number, text in enumerate(texts):
            of_texts.add(terms(text))
            dated[number] = _YEAR.search(text) is not None
        term_place = _write_sorted(self._terms, folder / "terms")
        text_terms, named, around = (lists.renumbered(term_place) for lists in (of_texts, self._named, self._around))
        counts = count_terms(places, text_terms, named, around)
        lexical = _array(self._lexical).reshape(-1, 2)
        lists = text_terms, named, around
        save_corpus(folder, self._ids, places, lists, (place[lexical[:, 0]], lexical[:, 1]), dated, counts)

    def _places(self, place: IntArray, predicate_place: IntArray) -> Places:
        rows = _array(self._rows).reshape(-1, _ROW_FIELDS)
        columns = _array(self._columns).reshape(-1, _COLUMN_FIELDS)
        cells = _array(self._cells).reshape(-1, _CELL_FIELDS)
        found = Places(
            table_kin=kin_of(self._titles),
            table_row_start=_array(self._starts["table_row"]),
            table_column_start=_array(self._starts["table_column"]),
            row_cell_start=_array(self._starts["row_cell"]),
            row_number=rows[:, 0].copy(),
            row_table=rows[:, 1].copy(),
            row_is_header=rows[:, 2].astype(np.bool_),
            row_label=place[rows[:, 3]],
            row_group_label=place[rows[:, 4]],
            column_number=columns[:, 0].copy(),
            column_table=columns[:, 1].copy(),
            column_name=place[columns[:, 2]],
            column_predicate=predicate_place[columns[:, 4]],
            column_is_numeric=columns[:, 3].astype(np.bool_),
            cell_row=cells[:, 0].copy(),
            cell_column=cells[:, 1].copy(),
            cell_text=place[cells[:, 2]],
        )
        self._rows, self._columns, self._cells = (array("i") for _ in range(3))
        return found


_ROW_FIELDS, _COLUMN_FIELDS, _CELL_FIELDS = 5, 5, 3


def _array(numbers: array[int]) -> IntArray:
    """The numbers of an array as NumPy's, without a copy."""
    return np.frombuffer(numbers, dtype=f"i{numbers.itemsize}")


def kin_of(titles: Sequence[str]) -> IntArray:
    """A number for each table; tables of one title, if they are not too many, have the same."""
    sharing = Counter(titles)
    numbers: dict[str | int, int] = {}
    keys = (title if title and sharing[title] <= MOST_KIN else at for at, title in enumerate(titles))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def save_corpus(
    folder: Path,
    ids: Sequence[str],
    places: Places,
    lists: tuple[Postings, Postings, Postings],
    lexical: tuple[IntArray, IntArray],
    dated: BoolArray,
    counts: TermCounts,
) -> None:
    """Write a corpus and its parts into a folder where its strings are.

    Args:
        folder: where texts, terms, predicates, printed cells and rows, titles, heads and table texts have been written.
        ids: of the tables.
        places: of everything.
        lists: the terms of each text, of each table's title and headings, and of the texts around it.
        lexical: texts and cells of lexical forms, by cell.
        dated: which texts name a year.
        counts: how often each term is in each table.
    """
    text_terms, named, around = lists
    texts, term_strings = Strings.open(folder / "texts"), Strings.open(folder / "terms")
    size, term_count = len(texts), len(term_strings)
    text_of_item = np.repeat(np.arange(size, dtype=np.int32), np.diff(text_terms.starts))
    body = np.flatnonzero(~places.row_is_header[places.cell_row])
    bm25, term_tables, weight = okapi(counts, places.tables, term_count)
    term_texts = Postings.build(text_terms.items, text_of_item, term_count)
    sizes = np.bincount(term_texts.items, minlength=size).astype(np.int32)
    by_table = (Strings.open(folder / name) for name in PART_STRINGS)
    CorpusParts(text_terms, named, around, *lexical, counts.times, *by_table).save(folder)
    cell_texts, cells = np.concatenate([places.cell_text[body], lexical[0]]), np.concatenate([body, lexical[1]])
    Corpus(
        table_ids=tuple(ids),
        places=places,
        statistics=Statistics(weight, bm25, counts.inside, sizes, dated),
        texts=texts,
        terms=term_strings,
        predicates=Strings.open(folder / "predicates"),
        printed_cells=Strings.open(folder / PRINTED_CELLS),
        printed_rows=Strings.open(folder / PRINTED_ROWS),
        term_texts=term_texts,
        term_tables=term_tables,
        text_cells=Postings.build(cell_texts, cells, size),
        text_labels=_by_text(places.row_label, size),
        text_groups=_by_text(places.row_group_label, size),
        text_columns=_by_text(places.column_name, size),
    ).save(folder)


def assemble(contents: Iterable[TableContent], folder: Path, names: InferredNames | None = None) -> Corpus:
    """The corpus of these tables, saved with its parts into an existing folder and opened there.

    `names` are those inferred for columns without a header and tables without a title.
    """
    assembly = CorpusAssembly(folder, names)
    for content in contents:
        assembly.add(content)
    assembly.save()
    return Corpus.open(folder)


_json = json.JSONEncoder(separators=(",", ":")).encode


LONGEST_TEXT = 128
"""Word pieces of a table's text that are embedded; more of them cost time and gain nothing measurable."""

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,2}|[^\w\s]|_")


class TableText:
    """The text that a table's vector is made from: title, headings, column names and as many first rows as fit."""

    def __init__(self, content: TableContent) -> None:
        named = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
        named = named or telling_words(content.id)
        columns = ", ".join(name for name, _ in content.columns if name)
        self._parts = [f"{named}. " if named else "", columns, "."]
        self._cells = 0
        self._has_rows = False

    def add(self, row: ContentRow) -> None:
        """Append the next row."""
        room = 4 * LONGEST_TEXT - self._cells
        self._cells += len(row.cells)
        if room > 0 and not row.is_header:
            texts = [cell.text for _, cell in row.cells[:room]]
            self._parts.append(f"{';' if self._has_rows else ''} {', '.join(texts)}")
            self._has_rows = True

    @property
    def text(self) -> str:
        """The text of what was added."""
        text = " ".join("".join(self._parts).split())
        pieces = list(islice(_PIECE.finditer(text), LONGEST_TEXT))
        return text[: pieces[-1].end()] if pieces else text


def _write_sorted(numbers: dict[str, int], path: Path) -> IntArray:
    """Write the strings in the order of `Strings`; returns the new number of each old one, `NONE` for `NONE`.

    The dictionary is emptied on the way: of a large graph it is the largest thing in memory.
    """
    in_order = sorted(numbers, key=encoded)
    place = np.zeros(len(in_order) + 1, dtype=np.int32)
    place[np.fromiter(map(numbers.__getitem__, in_order), np.int64, len(in_order))] = np.arange(len(in_order))
    place[NONE] = NONE
    numbers.clear()
    writer = StringsWriter(path)
    for text in in_order:
        writer.add(text)
    writer.close()
    return place


def _by_text(texts: IntArray, size: int) -> Postings:
    known = np.flatnonzero(texts != NONE)
    return Postings.build(texts[known], known, size)
