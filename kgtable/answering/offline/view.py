"""A table as the rules look at it: data rows, columns, words, numbers and times of its cells."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import cache, cached_property

from kgtable.answering.evidence import Evidence
from kgtable.answering.offline import question
from kgtable.answering.offline.question import content, stems
from kgtable.ontology.column_stats import display_name
from kgtable.tables.column_profile import CellKind, profile_columns, type_cell
from kgtable.tables.model import Position, Table

_RUNNING_NUMBERS = frozenset(
    (
        "no",
        "nr",
        "rank",
        "rk",
        "pos",
        "posit",
        "place",
        "number",
        "#",
        "index",
        "id",
        "seed",
        "bib",
        "pick",
        "rd",
        "round",
    )
)


KEYS = frozenset(("id", "key"))
"""The words of headers of columns that only tell rows apart."""

_TRUTHS = {"yes": True, "true": True, "no": False, "false": False, "✓": True, "✗": False}
_MOST_AFTER_A_TOTAL = 3
_SAMPLED_ROWS = 500
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SHORT_YEAR = re.compile(r"\bF(?:Y|iscal)?\s?['’]?(\d\d)\b")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PLACE = re.compile(r"\s*[=T]?-?(\d{1,4})(?:st|nd|rd|th|[.=T])?(?=$|[\s(])", re.IGNORECASE)
_DURATION = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d\d(?:\.\d+)?)")
_CHANGE = re.compile(r"change|variance|growth|increase|decrease|\bvs?\b|%", re.IGNORECASE)


class RuleTable:
    """One table of the evidence. Rows are grid rows; groups, footnotes and blank rows are left out."""

    def __init__(self, evidence: Evidence, id: str) -> None:
        self.evidence, self.id = evidence, id
        excerpt = evidence.excerpt(id)
        self.table: Table = excerpt.table
        self.missing = excerpt.missing
        """How many rows of the table were not read, since it is long."""
        structure = self.table.structure
        out = structure.groups | structure.footnotes
        self._grid = self.table.grid.head
        self.rows = tuple(
            row
            for row in range(structure.body_start, len(self._grid))
            if row not in out and any(map(str.strip, self._grid[row]))
        )
        self.columns = tuple(range(len(self.table.columns)))
        self.label_column = structure.label_column
        self._styles = profile_columns(self.table)
        self._quantities = excerpt.quantities

    @cached_property
    def own_name(self) -> frozenset[str]:
        """The words of the table's id, which is the name of its file or sheet."""
        return frozenset(stems(self.id))

    def called_after(self, words: frozenset[str]) -> float:
        """The share of the table's own name that these words make up."""
        name = stems(self.id)
        return sum(word in words for word in name) / len(name) if name else 0.0

    @cached_property
    def last_name(self) -> frozenset[str]:
        """The words of the table's id after a double underscore, which sets apart a name of the whole."""
        return frozenset(stems(self.id.rpartition("__")[2]))

    @cached_property
    def plain_rows(self) -> tuple[int, ...]:
        """The data rows that are no totals."""
        totals = self.table.structure.totals
        return tuple(row for row in self.rows if row not in totals and not self._says_total(row)) or self.rows

    @cached_property
    def ranked_rows(self) -> tuple[int, ...]:
        """The plain rows without the few that follow a total at the end, which sum up or comment."""
        last = max((row for row in self.rows if row not in self.plain_rows), default=None)
        before = tuple(row for row in self.plain_rows if last is None or row < last)
        few = len(self.plain_rows) - len(before) <= min(_MOST_AFTER_A_TOTAL, len(before) - 1)
        return before if few else self.plain_rows

    def text(self, row: int, column: int) -> str:
        """A cell's text on one line."""
        cells = self._texts[row]
        return cells[column] if column < len(cells) else ""

    def said(self, row: int, column: int) -> str:
        """A cell's text, or that of the merged area it lies in."""
        return self.text(*self._merged.get((row, column), (row, column)))

    @cached_property
    def _merged(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The cells of the body that a merged area covers, and where its text stands."""
        return {
            (row, column): (area.top, area.left)
            for area in self.table.grid.merged
            if area.top in self._texts
            for row in range(area.top, area.bottom + 1)
            for column in range(area.left, area.right + 1)
            if row in self._texts
        }

    def number(self, row: int, column: int) -> Decimal | None:
        """A cell's exact number, with scale and sign."""
        found = self._quantities.get((row, column))
        if found is not None:
            return found.value
        value = (
            type_cell(self.text(row, column), self._styles[column]) if column < len(self._styles) else None
        )
        if value is not None and value.kind is CellKind.YEAR and value.lexical is not None:
            return Decimal(value.lexical)
        return None

    def numbers(self, rows: Iterable[int], column: int) -> tuple[tuple[Position, ...], list[Decimal]]:
        """The cells of the rows in the column that hold numbers, and the numbers."""
        found = {(row, column): self.number(row, column) for row in rows}
        kept = {place: number for place, number in found.items() if number is not None}
        return tuple(kept), list(kept.values())

    def time(self, row: int, column: int) -> str | None:
        """A form of the cell's date, year or period that sorts, if it is one."""
        value = (
            type_cell(self.text(row, column), self._styles[column]) if column < len(self._styles) else None
        )
        if (
            value is None
            or value.lexical is None
            or value.kind not in (CellKind.DATE, CellKind.YEAR, CellKind.PERIOD)
        ):
            return None
        return value.lexical

    def place(self, row: int, column: int) -> Decimal | None:
        """The number of a cell that gives a place among others: 1, 1st, T3 or =3."""
        match = _PLACE.match(self.text(row, column))
        return None if match is None else Decimal(match[1])

    @cached_property
    def rank_column(self) -> int | None:
        """The first column of places among others: by its header, and by what most of its cells are."""
        for column in self.columns:
            filled = [row for row in self.plain_rows if self.text(row, column)]
            places = sum(self.place(row, column) is not None for row in filled)
            if self.headers[column] & _ranks() and 2 * places > len(filled):
                return column
        return None

    def duration(self, row: int, column: int) -> Decimal | None:
        """The seconds of a cell such as 3:45 or 1:02:03.5, if it is one."""
        match = _DURATION.fullmatch(self.text(row, column))
        if match is None:
            return None
        hours, minutes, seconds = match.groups(default="0")
        return Decimal(hours) * 3600 + Decimal(minutes) * 60 + Decimal(seconds)

    def duration_share(self, column: int) -> float:
        """The share of the column's filled cells that are durations."""
        filled = [row for row in self.plain_rows if self.text(row, column)]
        return sum(self.duration(row, column) is not None for row in filled) / len(filled) if filled else 0.0

    @cached_property
    def _texts(self) -> dict[int, list[str]]:
        return {row: [" ".join(text.split()) for text in self._grid[row]] for row in self.rows}

    @cached_property
    def headers(self) -> tuple[frozenset[str], ...]:
        """The meaningful words of each column's header."""
        return tuple(content(words) for words in self.spelled_headers)

    @cached_property
    def spelled_headers(self) -> tuple[tuple[str, ...], ...]:
        """All words of each column's header in their order; those written in one, as in FlightNo, apart."""
        return tuple(stems(_INNER_CAPITAL.sub(" ", display_name(column))) for column in self.table.columns)

    @cached_property
    def header_weights(self) -> dict[str, float]:
        """How much a header word tells: nothing where every column has it."""
        return _weights(self.headers, len(self.columns))

    def row_words(self, row: int) -> frozenset[str]:
        """The meaningful words of a row's cells and of the groups above it."""
        return self._row_words[row]

    def label_words(self, row: int) -> frozenset[str]:
        """The meaningful words of a row's label."""
        return content(stems(self.text(row, self.label_column)))

    @cached_property
    def _row_words(self) -> dict[int, frozenset[str]]:
        found = {}
        for row in self.rows:
            words: set[str] = set()
            for group in self.table.group_path(row):
                words.update(*(stems(text) for text in self._grid[group]))
            for column in self.columns:
                words.update(stems(self.said(row, column)))
            found[row] = content(tuple(words))
        return found

    @cached_property
    def row_weights(self) -> dict[str, float]:
        """How much a word tells of a row: less the more rows have it."""
        return _weights(self._row_words.values(), len(self.rows))

    @cached_property
    def cells_by_words(self) -> dict[tuple[str, ...], list[tuple[int, int]]]:
        """The body cells by the words of their text."""
        found: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for row in self.rows:
            for column in self.columns:
                words = stems(self.said(row, column))
                if words:
                    found.setdefault(words, []).append((row, column))
        return found

    @cached_property
    def _rows_by_word(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row in self.rows:
            for word in self._row_words[row]:
                found.setdefault(word, []).append(row)
        return found

    def rows_with(self, word: str) -> list[int]:
        """The rows one of whose cells has the word."""
        return self._rows_by_word.get(word, [])

    def names(self, word: str) -> bool:
        """Whether a row or a column of the table is named by the word; the thing that a key is of is none."""
        return bool(self.rows_with(word)) or any(
            word in words for words in self.headers if not words & KEYS or word in KEYS
        )

    def columns_of(self, word: str) -> list[int]:
        """The columns one of whose cells has the word."""
        rows = self.rows_with(word)
        return [c for c in self.columns if any(word in stems(self.said(row, c)) for row in rows)]

    def naming_columns(self, words: frozenset[str], rows: Iterable[int]) -> set[int]:
        """The columns in which a cell of the first of these rows has one of the words, and names its row."""
        row = min(rows, default=None)
        if row is None:
            return set()
        return {c for c in self.columns if not words.isdisjoint(stems(self.said(row, c)))}

    def called(self, place: tuple[int, int]) -> str:
        """The header of a cell's column, or its number where it has none."""
        return display_name(self.table.columns[place[1]]) or f"column {place[1]}"

    def columns_with(self, row: int, span: tuple[str, ...]) -> list[int]:
        """The columns whose cell in this row has the words one after the other."""
        wanted = f" {' '.join(span)} "
        return [c for c in self.columns if wanted in f" {' '.join(stems(self.said(row, c)))} "]

    def share_with(self, column: int, words: frozenset[str]) -> float:
        """The share of the column's filled cells that have one of the words."""
        filled = [text for row in self.plain_rows if (text := self.text(row, column))]
        return sum(not words.isdisjoint(stems(text)) for text in filled) / len(filled) if filled else 0.0

    def numbers_rows(self, column: int) -> bool:
        """Whether the column only numbers or ranks the rows."""
        header = " ".join(stems(self.table.columns[column].name))
        return header in _RUNNING_NUMBERS or (not header and self.numeric_share(column) > 0.9 and column == 0)

    @cached_property
    def year_columns(self) -> dict[int, str]:
        """The numeric columns that stand for one year, with the year; changes between two are none."""
        found = {}
        for column in self.columns:
            header = self.table.columns[column].name
            years = sorted(
                set(_YEAR.findall(header)) | {f"20{short}" for short in _SHORT_YEAR.findall(header)}
            )
            if len(years) == 1 and not _CHANGE.search(header) and self.numeric_share(column) > 0.3:
                found[column] = years[0]
        return found

    def truth(self, row: int, column: int) -> bool | None:
        """Whether the cell says yes or no; None where it says neither."""
        return _TRUTHS.get(self.text(row, column).lower())

    def says_yes_or_no(self, column: int) -> bool:
        """Whether most of the column's cells do."""
        filled = [row for row in self.plain_rows if self.text(row, column)]
        return 2 * sum(self.truth(row, column) is not None for row in filled) > len(filled)

    def is_total(self, column: int) -> bool:
        """Whether the column's header calls it a total."""
        return "total" in self.headers[column]

    def numeric_share(self, column: int) -> float:
        """The share of the column's filled cells that are numbers."""
        return self._shares[column][0]

    def time_share(self, column: int) -> float:
        """The share of the column's filled cells that are dates, years or periods."""
        return self._shares[column][1]

    @cached_property
    def _shares(self) -> tuple[tuple[float, float], ...]:
        """For each column the shares of numbers and of times among its filled cells."""
        found = []
        for column in self.columns:
            step = 1 + len(self.plain_rows) // _SAMPLED_ROWS
            filled = [row for row in self.plain_rows[::step] if self.text(row, column)]
            numbers = sum(self.number(row, column) is not None for row in filled)
            times = sum(self.time(row, column) is not None for row in filled)
            found.append((numbers / len(filled), times / len(filled)) if filled else (0.0, 0.0))
        return tuple(found)

    def _says_total(self, row: int) -> bool:
        return bool(stems(self.text(row, self.label_column))[:1] in (("total",), ("sum",), ("overal",)))


@cache
def _ranks() -> frozenset[str]:
    return frozenset(stems(f"{question.section('words')['ranks']} result"))


def _weights(sets: Iterable[frozenset[str]], size: int) -> dict[str, float]:
    """Inverse document frequency, zero for words that all have."""
    counts = Counter(word for words in sets for word in words)
    return {
        word: math.log((1 + size) / count) if count < size or size == 1 else 0.0
        for word, count in counts.items()
    }
