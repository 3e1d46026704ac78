"""Profiles of columns: distinct values, their form, and the words of the header.

`joins` and `unions` find the relations between tables from them. Values are compared as keys: case, blanks, footnote
marks and the printing of numbers (``1,000``, ``1000.0``) make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from kgtable.graph.table_content import TableContent
from kgtable.index.corpus import Corpus
from kgtable.index.postings import IntArray, Postings, ranges
from kgtable.text.words import is_empty_word, stem
from kgtable.values.text import without_accents

KEY_WORDS = frozenset({"id", "code", "key", "no", "nr", "number", "num", "sku", "#"})
"""Words that make a header that of a key, and say nothing about what it is a key of."""

_WORD = re.compile(r"[^\W\d_]+|\d+|#")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARK = re.compile(r"\[[^\[\]]{1,8}\]|[*†‡]+$")
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ t].*)?|(?:\d{1,2}\.? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"[a-z]*\.? ?(?:\d{1,2},? )?(?:\d{2,4})?|\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?"
)
_NOTHING = {"", "-", "–", "—", "n/a", "na", "none", "null", "nan", "total", "?", "...", "…", "unknown", "tbd"}

MOSTLY = 0.8
"""The share of values that make the kind of a column."""


SMALL_FOLDER = 60
"""Tables up to which all of a graph are taken to be about one thing."""


def is_small(tables: int) -> bool:
    """Whether a graph has so few tables that all are taken to be related."""
    return tables <= SMALL_FOLDER


class ValueForm(StrEnum):
    """Form of most values of a column."""

    WHOLE = "whole"
    NUMBER = "number"
    DATE = "date"
    TEXT = "text"
    EMPTY = "empty"


@lru_cache(maxsize=200_000)
def header_words(text: str) -> tuple[str, ...]:
    """The stems of a header or title, without words that say nothing.

    >>> header_words("SourceAirport_IDs")
    ('sourc', 'airport', 'id')
    """
    parts = _CAMEL.sub(" ", text[:400].replace("IDs", "ID"))
    plain = without_accents(without_accents(parts).casefold())
    found = [word for word in _WORD.findall(plain) if not is_empty_word(word) or word in KEY_WORDS]
    return tuple(dict.fromkeys(word if word in KEY_WORDS else stem(word) for word in found))


def key_of(text: str) -> str:
    """The key under which equal values compare; empty for a cell without content.

    >>> key_of(" New  York[2]"), key_of("1,000.0"), key_of("n/a")
    ('new york', '1000', '')
    """
    plain = " ".join(_MARK.sub("", text).split()).casefold()
    if plain in _NOTHING:
        return ""
    if plain[0] in "+-0123456789" and _NUMBER.fullmatch(plain):
        plain = plain.replace(",", "").lstrip("+")
        if "." in plain:
            plain = plain.rstrip("0").rstrip(".")
    return plain


def _form_of(key: str) -> ValueForm:
    if _NUMBER.fullmatch(key):
        return ValueForm.NUMBER if "." in key else ValueForm.WHOLE
    return ValueForm.DATE if _DATE.fullmatch(key) else ValueForm.TEXT


@dataclass(frozen=True)
class TableHead:
    """The head of a table: title, headings, column names and caption."""

    id: str
    title: str
    heading: tuple[str, ...]
    names: tuple[str, ...]
    caption: str = ""

    @classmethod
    def of(cls, content: TableContent) -> TableHead:
        """The head of a table's content."""
        names = tuple(name for name, _ in content.columns)
        return cls(content.id, content.title, content.heading, names, content.caption)

    def to_list(self) -> list[object]:
        """The fields as JSON values."""
        return [self.id, self.title, self.heading, self.names, self.caption]

    @classmethod
    def from_list(cls, fields: Sequence[Any]) -> TableHead:
        """What `to_list` gave."""
        id, title, heading, names, *caption = fields
        return cls(id, title, tuple(heading), tuple(names), *caption)

    @property
    def whole_title(self) -> str:
        """The title with headings and caption."""
        return " . ".join(filter(None, (self.title, *self.heading, self.caption)))

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems of its title, or of its id where it has none."""
        return frozenset(header_words(self.title or self.id))


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column: its position, its header, and its distinct values as sorted numbers of keys."""

    number: int
    table: int
    index: int
    name: str
    words: tuple[str, ...]
    form: ValueForm
    filled: int
    values: IntArray
    density: float
    """Of a column of whole numbers, the share that it has of the numbers up to the greatest: 1 for years;
    0 for any other column."""

    @property
    def uniqueness(self) -> float:
        """The share of distinct values among those that are filled."""
        return len(self.values) / self.filled if self.filled else 0.0

    @property
    def keys(self) -> frozenset[int]:
        """The numbers of its keys as a set, not cached: sets of all columns would fill the memory."""
        return frozenset(self.values.tolist())

    @cached_property
    def about(self) -> frozenset[str]:
        """The words of the header beyond those that mark a key."""
        return frozenset(self.words) - KEY_WORDS

    @cached_property
    def is_keyed(self) -> bool:
        """Whether the header calls it a key."""
        return not KEY_WORDS.isdisjoint(self.words)


@dataclass(frozen=True)
class TableProfiles:
    """The heads of tables and the profiles of their columns; `keys` are the texts of the numbers.

    `total` counts the tables of the graph, where there are more than these.
    """

    heads: tuple[TableHead, ...]
    columns: tuple[ColumnProfile, ...]
    keys: tuple[str, ...]
    total: int = 0

    def under(self, heads: Sequence[TableHead]) -> TableProfiles:
        """The same columns under other headers and titles."""

        def renamed(column: ColumnProfile) -> ColumnProfile:
            name = heads[column.table].names[column.index]
            return column if name == column.name else replace(column, name=name, words=header_words(name))

        return TableProfiles(tuple(heads), tuple(map(renamed, self.columns)), self.keys, self.total)

    @cached_property
    def of_table(self) -> tuple[tuple[ColumnProfile, ...], ...]:
        """The columns of each table."""
        found: list[list[ColumnProfile]] = [[] for _ in self.heads]
        for column in self.columns:
            found[column.table].append(column)
        return tuple(map(tuple, found))

    @cached_property
    def kin(self) -> tuple[frozenset[str], ...]:
        """The features that relate each table to others: its headings, the beginning of its id, a small graph."""
        small = ("folder",) if is_small(max(self.total, len(self.heads))) else ()
        return tuple(
            frozenset((*(f"heading {text.casefold()}" for text in head.heading), f"id {first_part(head.id)}", *small))
            for head in self.heads
        )  # fmt: skip


def first_part(id: str) -> str:
    """The beginning of a table's id, which tables of one source share."""
    return re.split(r"__|[/#.]", id.casefold(), maxsplit=1)[0]


def profiles_of(corpus: Corpus, heads: Sequence[TableHead], tables: IntArray | None = None) -> TableProfiles:
    """The profiles of the columns of a corpus, or of some of its `tables`, which have these heads.

    Tables and columns are numbered as if there were no others.
    """
    places = corpus.places
    if tables is None:
        body = ~places.row_is_header[places.cell_row]
        column, text = places.cell_column[body], places.cell_text[body]
        column_table, column_number = places.column_table, places.column_number
    else:
        rows = ranges(places.table_row_start[tables], places.table_row_start[tables + 1])
        rows = rows[~places.row_is_header[rows]]
        cells = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])
        own = ranges(places.table_column_start[tables], places.table_column_start[tables + 1])
        column, text = np.searchsorted(own, places.cell_column[cells]), places.cell_text[cells]
        column_table = np.searchsorted(tables, places.column_table[own])
        column_number = places.column_number[own]
    keys, numbers = _keys(corpus, np.unique(text))
    key = numbers[text]
    known = key >= 0
    column, key = column[known], key[known]
    count = len(column_table)
    filled = np.bincount(column, minlength=count).tolist()
    values_of = Postings.build(column, key, count)
    forms = np.fromiter((_FORMS.index(_form_of(text)) for text in keys), np.int8, len(keys))
    owner = np.repeat(np.arange(count), np.diff(values_of.starts))
    pairs = owner * len(_FORMS) + forms[values_of.items]
    counted = np.bincount(pairs, minlength=count * len(_FORMS)).reshape(count, len(_FORMS))
    columns = []
    for at, (table, index) in enumerate(zip(column_table.tolist(), column_number.tolist(), strict=True)):
        name = heads[table].names[index]
        own = values_of.of_one(at)
        form = _common_form({form: n for form, n in zip(_FORMS, counted[at].tolist(), strict=True) if n})
        density = 0.0
        if form is ValueForm.WHOLE:
            density = _density([keys[value] for value in own[forms[own] == _WHOLE].tolist()])
        columns.append(ColumnProfile(at, table, index, name, header_words(name), form, filled[at], own, density))
    return TableProfiles(tuple(heads), tuple(columns), tuple(keys), places.tables)


_FORMS = (ValueForm.DATE, ValueForm.NUMBER, ValueForm.TEXT, ValueForm.WHOLE)
"""The forms of a value, in the order of their names."""

_WHOLE = _FORMS.index(ValueForm.WHOLE)


def _keys(corpus: Corpus, texts: IntArray) -> tuple[list[str], IntArray]:
    """The distinct keys of the texts, and for each text of the corpus the number of its key, -1 for none."""
    numbers = np.full(len(corpus.texts) + 1, -1, dtype=np.int32)
    known: dict[str, int] = {}
    for text in texts.tolist():
        key = key_of(corpus.texts[text])
        if key:
            numbers[text] = known.setdefault(key, len(known))
    return list(known), numbers


def _common_form(counts: Mapping[ValueForm, int]) -> ValueForm:
    total = sum(counts.values())
    if not total:
        return ValueForm.EMPTY
    best = max(sorted(counts), key=lambda form: counts[form])
    if counts[best] >= MOSTLY * total:
        return best
    numeric = counts.get(ValueForm.WHOLE, 0) + counts.get(ValueForm.NUMBER, 0)
    return ValueForm.NUMBER if numeric >= MOSTLY * total else ValueForm.TEXT


def _density(keys: Sequence[str]) -> float:
    numbers = [int(key) for key in keys if len(key) < 19]
    if not numbers or (min(numbers) >= 1800 and max(numbers) <= 2100):
        return 1.0
    return min(len(set(numbers)) / (max(map(abs, numbers)) + 1), 1.0)
