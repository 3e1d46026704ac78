"""Meaning of a table, decided once, at conversion: what its columns, rows and numbers are.

Evidence is of three kinds, and numbers outrank words: the values of a column (few texts, each its own, in order, with
decimals), arithmetic (rows that are sums of others, a column that is the running sum of another, products, parts of a
hundred), and the words of headers and labels (`kgtable.values.lexicon`). Only the head of a long table is examined.
A decision of the mapping wins over all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from kgtable.ontology.cell_units import QuantityResolver
from kgtable.ontology.grain import find_grains
from kgtable.ontology.mapping import ColumnMapping
from kgtable.ontology.unit_clues import read_clue
from kgtable.tables.column_profile import CellKind, CellValue, ColumnStyle, type_cell
from kgtable.tables.layout.row_sums import Sums, find_results, find_sums
from kgtable.tables.model import Meaning, MeasureKind, Role, Row, Structure, Table
from kgtable.values.dates import parse_date
from kgtable.values.decimals import scaled
from kgtable.values.lexicon import KINDS, VARIANTS, is_called, is_made_of, language_of, senses, vocabulary, words_of
from kgtable.values.numbers import MISSING_MARKERS
from kgtable.values.unit_phrases import parse_unit_phrase
from kgtable.values.units import find_unit, quantity_kind

LOOKED_AT: Final = 300
"""Rows of the body that are looked at."""

MOST_COLUMNS: Final = 60
"""Columns that are compared with each other."""

SURE: Final = 0.7
"""Confidence that arithmetic does not outrank."""

_TOTAL, _WHOLE, _PART = frozenset({"total"}), frozenset({"whole"}), frozenset({"part"})
_BOUND, _RESULT = frozenset({"bound"}), frozenset({"result", "net"})
_MODIFIER = frozenset({"modifier"})
_STATISTIC, _CHANGE, _NOTE = frozenset({"statistic"}), frozenset({"change"}), frozenset({"note"})
_HEADER_ROLES = frozenset({"Identifier", "Ordinal", "Time", "Text", "Category", "Label"})
_PUNCTUATION = str.maketrans(dict.fromkeys(":;,.*-–()[]", " "))
_PLACE = re.compile(r"[=T#]?\d{1,6}(?:st|nd|rd|th|[.=T])?\s*", re.IGNORECASE)
_CODE = re.compile(r"(?=[^\d]*\d)[A-Za-z0-9]+(?:[-./#_][A-Za-z0-9]+)*")
_TIMES = (CellKind.DATE, CellKind.YEAR, CellKind.PERIOD)
_NOT_ADDED = frozenset({"Temperature", "Velocity", "Pressure", "Density", "Frequency", "NumberDensity", "Length"})


_NEAR: Final = 6
"""Maximum distance between the columns of an account."""

_UNITS_READ: Final = 12
"""Numbers of a column whose units are read."""

_PER_TIME = ("-PER-DAY", "-PER-HR", "-PER-SEC", "-PER-MIN", "-PER-YR", "-PER-MO", "-PER-WK")


def decide(
    table: Table,
    styles: Sequence[ColumnStyle],
    quantities: QuantityResolver,
    decided: Mapping[int, ColumnMapping] | None = None,
) -> Table:
    """The table with the meaning of its columns and rows.

    Args:
        table: the table as its layout was found.
        styles: how the cells of each column are read.
        quantities: what resolves the units of its numbers.
        decided: a mapping's decisions about columns, by index.
    """
    body = _Body(table, styles, quantities)
    if not table.columns:
        return table
    structure = _Rows(body).structure()
    columns = _Columns(body, structure, decided or {})
    found = [replace(column, meaning=columns.meaning(column.index)) for column in table.columns]
    return replace(table, structure=replace(structure, columns=tuple(found), measures=columns.measures))


def bounded_columns(table: Table, styles: Sequence[ColumnStyle], quantities: QuantityResolver) -> dict[int, int]:
    """Pairs of columns without a unit that hold a lower and an upper bound: each → the column before, which they bound.

    Their headers name bounds ("95 % confidence interval | from | to"), and every row agrees.
    """
    names = [" ".join(column.path[-2:]) for column in table.columns]
    told = [bool(senses(name, _BOUND, "en")) for name in names]
    pairs = [at for at in range(1, len(names) - 1) if told[at] and told[at + 1]]
    if not pairs:
        return {}
    body, found = _Body(table, styles, quantities), dict[int, int]()
    for at in pairs:
        values = zip(body.numbers(at - 1), body.numbers(at), body.numbers(at + 1), strict=True)
        whole = [
            (one, low, high) for one, low, high in values if one is not None and low is not None and high is not None
        ]
        if len(whole) > 3 and all(low <= one <= high for one, low, high in whole):
            found.update({at: at - 1, at + 1: at - 1})
    return found


def class_of_label(label: str, language: str = "en") -> str | None:
    """The class of a row by its label alone, as for rows beyond the examined ones; None for a member."""
    plain = label.casefold().translate(_PUNCTUATION).split()
    if len(label) > 60 or vocabulary(_TOTAL | _PART, language).isdisjoint(plain):
        return None
    if is_called(label, _TOTAL, language):
        return "TotalRow"
    found = senses(label, _PART, language)
    return "OfWhichRow" if found and not found[0].first else None


def classes_of_labels(labels: Sequence[str], language: str = "en") -> list[str | None]:
    """The class of each row by its label alone, as of `class_of_label`."""
    words = " ".join(labels).casefold().translate(_PUNCTUATION).split()
    if vocabulary(_TOTAL | _PART, language).isdisjoint(words):
        return [None] * len(labels)
    return [class_of_label(label, language) for label in labels]


class _Body:
    """The first body rows of a table with their typed cells."""

    def __init__(self, table: Table, styles: Sequence[ColumnStyle], quantities: QuantityResolver) -> None:
        self.table, self.styles, self.quantities = table, styles, quantities
        structure = table.structure
        head = table.grid.head[structure.body_start : structure.body_start + LOOKED_AT]
        filled = [(structure.body_start + at, row) for at, row in enumerate(head) if any(map(str.strip, row))]
        self.grid_rows = [index for index, _ in filled]
        self.rows = [row for _, row in filled]
        self.label_column = structure.label_column
        self.width = len(table.columns)
        self._texts: dict[int, list[str]] = {}
        self._typed: dict[int, list[CellValue]] = {}
        self._numbers: dict[int, list[Decimal | None]] = {}

    @cached_property
    def language(self) -> str:
        """The language of headers, labels and title."""
        headers = (part for column in self.table.columns for part in column.path)
        return language_of((*headers, self.table.context.title, *(self.label(at) for at in range(len(self.rows))[:12])))

    def texts(self, column: int) -> list[str]:
        """The texts of the rows in a column."""
        if column not in self._texts:
            self._texts[column] = [row[column].strip() if column < len(row) else "" for row in self.rows]
        return self._texts[column]

    def text(self, at: int, column: int) -> str:
        return self.texts(column)[at]

    @cached_property
    def filled(self) -> list[int]:
        """How many cells of each row are not blank."""
        return [sum(map(bool, map(str.strip, row))) for row in self.rows]

    def label(self, at: int) -> str:
        """The text that names a row: its label, or else its first text."""
        return self.text(at, self.label_column) or next((cell.strip() for cell in self.rows[at] if cell.strip()), "")

    def values(self, column: int) -> list[CellValue]:
        """The typed cells of a column."""
        if column not in self._typed:
            style = self.styles[column]
            self._typed[column] = [type_cell(text, style) for text in self.texts(column)]
        return self._typed[column]

    def number(self, at: int, column: int) -> Decimal | None:
        """The number of a cell with the scale that it prints itself; None for a range or anything else."""
        return self.numbers(column)[at]

    def numbers(self, column: int) -> list[Decimal | None]:
        """The numbers of a column, see `number`."""
        if column not in self._numbers:
            self._numbers[column] = [_amount(value) for value in self.values(column)]
        return self._numbers[column]

    def name(self, column: int) -> str:
        """The last level of a column's header that is not blank."""
        return next((" ".join(part.split()) for part in reversed(self.table.columns[column].path) if part.strip()), "")

    def unit(self, at: int, column: int) -> tuple[str, bool] | None:
        """The unit of a cell's number, and whether it is per something; None without a number."""
        number = self.values(column)[at].number
        if number is None:
            return None
        found = self.quantities.resolve(
            number, self.grid_rows[at], column, self.text(at, self.label_column), self.rows[at]
        )
        return found.unit, found.denominator is not None


def _amount(value: CellValue) -> Decimal | None:
    number = value.number
    if number is None or number.upper is not None or abs(number.value.adjusted()) > 15:
        return None
    return scaled(number.value, number.scale) if number.scale else number.value


class _Rows:
    """Kinds of the rows of a body."""

    def __init__(self, body: _Body) -> None:
        self._body, self._table = body, body.table
        self._language = body.language
        self._words = vocabulary(_TOTAL | _STATISTIC | _PART, body.language)

    def structure(self) -> Structure:
        """The structure with the rows that are not members."""
        body, found = self._body, self._table.structure
        notes, parts = set(found.footnotes), set(found.of_which)
        totals, statistics, called = set(found.totals), set[int](), set[int]()
        for at, row in enumerate(body.grid_rows):
            if row in notes or (row in found.groups and not self._has_figures(at)):
                continue
            label = body.label(at)
            if self._is_note(at, label):
                notes.add(row)
            elif self._words.isdisjoint(words_of(label)):
                continue
            elif class_of_label(label, self._language) == "OfWhichRow":
                parts.add(row)
            elif (kind := self._called(at, label)) and not self._is_described(at):
                (statistics if kind == "statistic" else called).add(row)
        totals |= called
        totals -= statistics | parts | notes
        candidates = [
            at
            for at, row in enumerate(body.grid_rows)
            if row not in notes and row not in parts and row not in statistics
            and (row not in found.groups or self._has_figures(at))
        ]  # fmt: skip
        columns = self._added_columns(candidates)
        wholes = self._totals_in_dimensions(candidates, columns)
        candidates = [at for at in candidates if body.grid_rows[at] not in wholes]
        totals -= {row for row in totals if self._is_less(row, candidates, columns, totals)}
        sums = self._sums(candidates, columns, totals)
        results = self._results(candidates, columns, sums)
        totals |= sums.totals.keys() | wholes.keys()
        totals -= {row for row in totals - called if self._is_difference(row, sums.totals.get(row, ()))}
        totals -= {taken[0] for row, taken in results.items() if row in sums.totals.get(taken[0], ())} - called
        for row, taken in results.items():
            totals |= {row} if totals.issuperset(taken) else set()
        again = sums.again - totals
        changes = self._changes(candidates, columns, totals)
        statistics |= self._years_of_months(candidates, totals)
        return replace(
            found,
            footnotes=frozenset(notes),
            of_which=frozenset(parts | again),
            totals=frozenset(totals - statistics),
            statistics=frozenset(statistics),
            changes=frozenset(changes - totals),
            summed={
                row: members for row, members in sorted((sums.totals | wholes).items()) if members and row in totals
            },
        )

    def _totals_in_dimensions(self, candidates: Sequence[int], columns: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Rows of the category that adds up all others of its column, wherever the rest is the same: *Both sexes*."""
        body = self._body
        styles = body.styles
        apart = (column for column in range(body.width) if column not in columns)
        words = {c: sum(body.number(at, c) is None for at in candidates) for c in range(body.width)}
        keys = [c for c in apart if styles[c].is_year or 3 * words[c] >= len(candidates)]  # "65+" is a number, too
        found: dict[int, tuple[int, ...]] = {}
        for column in keys if columns and len(keys) > 1 else ():
            texts = [body.text(at, column) for at in candidates]
            different = set(texts) - {""}
            if not 2 < len(different) <= _MOST_CATEGORIES or 2 * len(different) > len(texts):
                continue
            blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for at in candidates:
                blocks[tuple(body.text(at, key) for key in keys if key != column)].append(at)
            for whole in sorted(different):
                sums = [self._whole_of(block, column, whole, columns) for block in blocks.values()]
                held = [entry for entry in sums if entry is not None]
                if len(held) > 1 and all(members for _, members in held):
                    found |= {body.grid_rows[at]: tuple(body.grid_rows[m] for m in members) for at, members in held}
        return found

    def _whole_of(
        self, block: Sequence[int], column: int, whole: str, columns: Sequence[int]
    ) -> tuple[int, Sequence[int]] | None:
        """The row of a category in a block with the other rows where it adds them up, else with none."""
        body = self._body
        own = [at for at in block if body.text(at, column) == whole]
        members = [at for at in block if body.text(at, column) != whole]
        if not own:
            return None
        compared = 0
        for measure in columns:
            told, parts = body.number(own[0], measure), [body.number(at, measure) for at in members]
            known = [part for part in parts if part is not None]
            if told is None or len(known) < len(parts):
                continue
            if len(own) > 1 or len(known) < 2 or sum(known) != told or not told:
                return own[0], ()
            compared += 1
        return own[0], members if compared else ()

    def _has_figures(self, at: int) -> bool:
        return any(
            any(map(str.isdigit, text))
            for column, text in enumerate(self._body.rows[at])
            if column != self._body.label_column
        )

    def _is_note(self, at: int, label: str) -> bool:
        if self._body.width < 2 or self._body.filled[at] != 1:
            return False
        if self._is_last(at) and (":" in label or len(words_of(label)) > 3):
            return True  # what closes a table below its rows explains it
        found = senses(label, _NOTE, self._language)
        named = bool(found) and not found[0].first and re.match(r"\W*\w+(?: \w+)?\s*[:.]", label) is not None
        return named or re.match(r"\s*[*†‡¹²³]\s*\w+ \w+", label) is not None

    def _is_last(self, at: int) -> bool:
        """Whether a row with one cell is at the end, only below others of one cell, under rows of several."""
        filled = self._body.filled
        complete = len(self._body.rows) < LOOKED_AT
        return complete and all(count == 1 for count in filled[at:]) and sum(count > 1 for count in filled) > 2

    def _called(self, at: int, label: str) -> str | None:
        """The class of a row by a word: a total, a statistic, or everything if it is first or last."""
        if len(label) > 60:
            return None
        first = next((cell.strip() for cell in self._body.rows[at] if cell.strip()), "")
        for text in dict.fromkeys((label, first)):
            if is_made_of(text, _STATISTIC, _WHOLE, self._language) and self._is_rare(text):
                return "statistic"
            if is_made_of(text, _TOTAL, _WHOLE, self._language) and (text == first or self._is_rare(text)):
                return "total"
        return None

    def _is_rare(self, label: str) -> bool:
        """Whether a label occurs once, or in few of the rows."""
        words, body = words_of(label), self._body
        again = sum(words_of(text) == words for text in body.texts(body.label_column))
        return again <= 1 or again < len(body.rows) / 3

    def _is_described(self, at: int) -> bool:
        """Whether a row called a total is described: a song called "Total" has a band and a date."""
        body = self._body
        others = (
            text
            for column in range(body.width)
            if column != body.label_column and (text := body.text(at, column)) and text not in MISSING_MARKERS
            and body.number(at, column) is None
        )  # fmt: skip
        return sum(any(map(str.isalpha, text)) or parse_date(text) is not None for text in others) >= 2

    def _added_columns(self, candidates: Sequence[int]) -> list[int]:
        """The columns whose numbers may add up over rows."""
        body = self._body
        found = []
        for column in range(min(body.width, MOST_COLUMNS)):
            style = body.styles[column]
            if column == body.label_column or style.is_year or style.is_identifier or style.is_boolean:
                continue
            numbers = body.numbers(column)
            filled = [number for at in candidates if (number := numbers[at]) is not None]
            if len(filled) < max(2, 0.6 * len(candidates)):
                continue
            name = body.name(column)
            if "%" in name or any("%" in body.text(at, column) for at in candidates[:20]):
                continue
            named = not any(map(str.isdigit, name))  # "1. Quartal" heads amounts of it
            if named and is_called(name, frozenset({"Identifier", "Ordinal", "Time"}), body.language):
                continue
            if all(after - before == 1 for before, after in pairwise(filled)):
                continue
            said = kind_of([name], None, False, body.language)
            if said is not None and said.kind is MeasureKind.RATE and said.confidence >= SURE:
                continue  # means, rates and indices
            found.append(column)
        return found

    def _is_less(self, row: int, candidates: Sequence[int], columns: Sequence[int], totals: set[int]) -> bool:
        """Whether a row called a total is among members that exceed it in every column."""
        body = self._body
        at = body.grid_rows.index(row) if row in body.grid_rows else -1
        others = [other for other in candidates if body.grid_rows[other] not in totals]
        if at < 0 or not any(other > at for other in others) or len(body.rows) <= 3:
            return False
        compared = 0
        for column in columns:
            own = body.number(at, column)
            rest = [number for other in others if (number := body.number(other, column)) is not None]
            if own is None or len(rest) < len(others):
                continue
            if min(rest) < 0 or own >= max(rest):
                return False
            compared += 1
        return compared > 0

    def _sums(self, candidates: Sequence[int], columns: Sequence[int], totals: set[int]) -> Sums:
        body, language = self._body, self._language
        amounts = [[numbers[at] for numbers in map(body.numbers, columns)] for at in candidates]
        rows = [body.grid_rows[at] for at in candidates]
        whole = {
            row for at, row in zip(candidates, rows, strict=True) if is_called(body.label(at), _WHOLE, language)
        }  # fmt: skip
        hinted = {row for at, row in zip(candidates, rows, strict=True) if self._hints(body.label(at))}
        dated = {row for at, row in zip(candidates, rows, strict=True) if _is_time(body.label(at))}
        return find_sums(rows, amounts, totals & set(rows), whole, hinted, dated)

    def _results(self, candidates: Sequence[int], columns: Sequence[int], sums: Sums) -> dict[int, tuple[int, ...]]:
        """The rows that equal one above minus others: gross profit, net income."""
        body = self._body
        rows = [body.grid_rows[at] for at in candidates]
        named = {row for at, row in zip(candidates, rows, strict=True)
                 if senses(body.label(at), _RESULT, self._language)}  # fmt: skip
        amounts = [[numbers[at] for numbers in map(body.numbers, columns)] for at in candidates if named]
        return find_results(rows, amounts, named, sums.totals)

    def _is_difference(self, row: int, members: Sequence[int]) -> bool:
        """Whether a row that no word calls a total adds numbers above and below zero: a result, such as what is net."""
        body = self._body
        at = body.grid_rows.index(row) if row in body.grid_rows else -1
        if at < 0 or self._hints(body.label(at)):
            return False
        if senses(body.label(at), frozenset({"net"}), self._language):
            return True
        places = [body.grid_rows.index(member) for member in members if member in body.grid_rows]
        for column in range(body.width):
            told = [number for place in places if (number := body.numbers(column)[place]) is not None]
            if told and min(told) < 0 < max(told):
                return True
        return False

    def _hints(self, label: str) -> bool:
        """Whether a label begins or ends with a word for a total."""
        found = senses(label, _TOTAL, self._language)
        return bool(found) and (found[0].first == 0 or found[-1].last == len(words_of(label)) - 1)

    def _changes(self, candidates: Sequence[int], columns: Sequence[int], totals: set[int]) -> set[int]:
        """Rows called a change that are the difference, or the percent change, of the two rows above."""
        body = self._body
        found: set[int] = set()
        for before, after, at in zip(candidates, candidates[1:], candidates[2:], strict=False):
            if not senses(body.label(at), _CHANGE, self._language):
                continue
            numeric = [c for c in range(body.width) if c != body.label_column and body.number(at, c) is not None]
            pairs = [(body.number(before, c), body.number(after, c), body.number(at, c)) for c in numeric]
            whole = [(a, b, c) for a, b, c in pairs if a is not None and b is not None and c is not None]
            percent = all("%" in body.text(at, c) for c in numeric) or "percent" in words_of(body.label(at))
            others = any("%" in body.text(before, c) for c in numeric) or "percent" in words_of(body.label(before))
            if (whole and all(_is_change(*three) for three in whole)) or (numeric and percent and not others):
                found.add(body.grid_rows[at])
        return found

    def _years_of_months(self, candidates: Sequence[int], totals: set[int]) -> set[int]:
        """The rows of a year below its months or quarters, whose averages do not add up."""
        body = self._body
        labels = {body.grid_rows[at]: body.text(at, body.label_column) for at in candidates}
        members = [row for row in labels if row not in totals]
        parts = [row for row in members if _PART_OF_YEAR.fullmatch(labels[row])]
        years = [
            row for row in members if is_called(labels[row], _WHOLE, self._language) or _A_YEAR.fullmatch(labels[row])
        ]
        complete = len(parts) >= 3 and len(parts) + len(years) == len(members) and 3 * len(years) <= len(parts)
        return set(years) if complete else set()


_A_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d")
_PART_OF_YEAR = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?(?:[ -]['’]?(?:\d\d){1,2})?"
    r"|(?:Q[1-4]|[1-4]Q|(?:1st|2nd|3rd|4th|first|second|third|fourth) quarter|H[12])(?: (?:19|20)\d\d)?",
    re.IGNORECASE,
)


def _is_change(first: Decimal, second: Decimal, change: Decimal) -> bool:
    """Whether a number is the difference of two others, or the change in percent, as far as it is printed."""
    if change in (second - first, first - second) and change:
        return True
    exponent = change.as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    for old, new in ((first, second), (second, first)):
        if old and round((new - old) / old * 100, digits) == change:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Kind:
    kind: MeasureKind
    evidence: str
    confidence: float


class _Printed(NamedTuple):
    """The texts of a column in its member rows."""

    texts: list[str]
    numbers: list[Decimal]
    kinds: Counter[CellKind]


class _Columns:
    """Roles of columns and kinds of measures, once the kinds of rows are known."""

    def __init__(self, body: _Body, structure: Structure, decided: Mapping[int, ColumnMapping]) -> None:
        self._body, self._structure, self._decided = body, structure, decided
        aside = structure.aside
        self._members = [
            at
            for at, row in enumerate(body.grid_rows)
            if row not in aside and (row not in structure.groups or len([c for c in body.rows[at] if c.strip()]) > 1)
        ]
        self._meanings: dict[int, Meaning] = {}
        self._texts: dict[int, _Printed] = {}
        self._units: dict[int, list[tuple[str, bool]]] = {}
        self.measures: dict[int, MeasureKind] = {}
        self._decide()

    def meaning(self, column: int) -> Meaning:
        """The meaning of a column."""
        return self._meanings[column]

    def _decide(self) -> None:
        body = self._body
        for column in range(body.width):
            self._meanings[column] = self._role(column)
        self._name_rows()
        measured = [c for c, found in self._meanings.items() if found.role is Role.MEASURE]
        kinds = {column: self._kind(column) for column in measured}
        kinds.update(self._by_arithmetic(measured[:MOST_COLUMNS], kinds))
        silent, in_rows = self._kinds_of_rows(measured, kinds)
        for column in measured:
            found, role = kinds[column], self._meanings[column]
            if in_rows and column in silent:
                self._meanings[column] = replace(role, kind=None, evidence=("rows",), confidence=0.8)
                continue
            evidence = tuple(sorted({*role.evidence, found.evidence}))
            confidence = min(role.confidence, found.confidence)
            of = quantity_kind(self._unit(column)) or ("Count" if found.kind is MeasureKind.COUNT else None)
            is_rate = found.kind is MeasureKind.RATE and found.confidence >= SURE
            if of is None and is_rate and self._are_fractions(column):
                of = quantity_kind("FRACTION")
            self._meanings[column] = replace(
                role, kind=found.kind, quantity_kind=of, evidence=evidence, confidence=confidence
            )
        self.measures = in_rows
        for column, variant in self._variants(measured).items():
            self._meanings[column] = replace(self._meanings[column], variant=variant)
        for column, key in self._grains(measured).items():
            self._meanings[column] = replace(self._meanings[column], grain=key)
        for column, said in self._decided.items():
            if column in self._meanings and (said.role or said.kind or said.variant):
                self._meanings[column] = _decided(self._meanings[column], said)

    def _grains(self, measured: Sequence[int]) -> dict[int, int]:
        """The measures that repeat a fact about a value of another column, see `find_grains`."""
        body = self._body
        columns = range(min(body.width, MOST_COLUMNS))
        texts = {c: [body.text(at, c) for at in self._members] for c in columns}
        numbers = {c: [body.number(at, c) for at in self._members] for c in measured if c in columns}
        meanings = {c: self._meanings[c] for c in columns}
        return find_grains(meanings, texts, numbers, {c: body.name(c) for c in columns}, body.language)

    def _printed(self, column: int) -> _Printed:
        if column not in self._texts:
            self._texts[column] = self._read(column)
        return self._texts[column]

    def _read(self, column: int) -> _Printed:
        body = self._body
        values = body.values(column)
        told = [at for at in self._members if values[at].kind not in (CellKind.EMPTY, CellKind.MISSING)]
        texts, amounts = body.texts(column), body.numbers(column)
        numbers = [number for at in told if (number := amounts[at]) is not None]
        return _Printed([texts[at] for at in told], numbers, Counter(values[at].kind for at in told))

    # Roles

    def _role(self, column: int) -> Meaning:
        body, style = self._body, self._body.styles[column]
        printed = self._printed(column)
        texts, kinds = printed.texts, printed.kinds
        name, language = body.name(column), body.language
        words = words_of(name)
        if not texts:
            return Meaning(self._named_role(name) or Role.TEXT, evidence=("words",) if name else (), confidence=0.2)
        count = len(texts)
        if (flag := self._flag(column, texts, style)) is not None:
            return flag
        times = sum(kinds[kind] for kind in _TIMES)
        if style.is_year or style.is_compact_date or style.is_month or times >= 0.6 * count:
            return Meaning(Role.TIME, evidence=("values",), confidence=0.95)
        if kinds[CellKind.DURATION] >= 0.6 * count:
            return Meaning(Role.MEASURE, evidence=("values",), confidence=0.95)
        is_label = column == body.label_column
        coded = style.is_identifier and sum(_CODE.fullmatch(t) is not None or t.isdecimal() for t in texts)
        if coded and coded >= 0.6 * count:
            return Meaning(Role.IDENTIFIER, evidence=("values", "words"), confidence=0.9)
        if kinds[CellKind.NUMBER] >= 0.6 * count:
            return self._numeric_role(column, printed, name, words)
        return self._text_role(texts, name, words, is_label, language)

    def _name_rows(self) -> None:
        """Next to a key, a rank or a time, the first column of texts that differ names the rows."""
        if self._meanings[self._body.label_column].role is Role.LABEL:
            return
        for column in range(self._body.width):
            texts = self._printed(column).texts
            told = self._meanings[column]
            named = told.role in (Role.CATEGORY, Role.TEXT) and "words" not in told.evidence
            differ = bool(texts) and len(set(texts)) >= 0.8 * len(texts)
            if named and differ and sum(map(len, texts)) / len(texts) <= 40:
                self._meanings[column] = Meaning(Role.LABEL, evidence=("values",), confidence=0.7)
                return

    def _named_role(self, name: str) -> Role | None:
        found = senses(name, _HEADER_ROLES, self._body.language)
        return Role(found[-1].sense) if found else None

    def _flag(self, column: int, texts: Sequence[str], style: ColumnStyle) -> Meaning | None:
        if style.is_boolean:
            return Meaning(Role.FLAG, evidence=("values",), confidence=0.95)
        if set(texts) == {"0", "1"} and len(texts) >= 4:
            counted = senses(self._body.name(column), KINDS, self._body.language)
            if not counted:
                return Meaning(Role.FLAG, evidence=("values",), confidence=0.6)
        return None

    def _numeric_role(self, column: int, printed: _Printed, name: str, words: tuple[str, ...]) -> Meaning:
        body, language = self._body, self._body.language
        texts, numbers, _ = printed
        whole = bool(numbers) and all(number == number.to_integral_value() for number in numbers)
        measured = self._unit(column)
        counted = senses(name, frozenset({"Count", "Rate"}), language)
        found = senses(name, frozenset({"Identifier", "Ordinal"}), language)
        ends = [sense.sense for sense in found if sense.last == len(words) - 1]
        integers = [int(number) for number in numbers] if whole else []
        steps = [after - before for before, after in pairwise(integers)]
        runs = len(integers) >= max(4, 0.75 * len(texts)) and set(steps) <= {0, 1} and 2 * sum(steps) > len(steps)
        if measured is None and not counted and whole:
            alone = len(words) == 1 or (found[:1] and found[0].first == 0)
            if ends and "Ordinal" in ends and (alone or runs):
                return Meaning(Role.ORDINAL, evidence=("values", "words"), confidence=0.9)
            if ends and not ("Ordinal" in ends and self._beside_yes(column)):
                return Meaning(Role.IDENTIFIER, evidence=("words",), confidence=0.85)
            ascends = len(integers) >= 6 and min(steps) > 0 and integers[0] >= 100
            if ascends and column == body.label_column == 0 and len(str(integers[0])) == len(str(integers[-1])):
                return Meaning(Role.IDENTIFIER, evidence=("values",), confidence=0.75)
            if runs and column == 0 and (integers[0] <= 1 or integers[0] >= 100):
                return Meaning(
                    Role.ORDINAL if integers[0] <= 1 else Role.IDENTIFIER, evidence=("values",), confidence=0.8
                )
        several = words[-1:] and words[-1][-1] == "s" and self._named_role(words[-1][:-1]) is Role.CATEGORY
        if whole and measured is None and not (counted or several) and self._named_role(name) is Role.CATEGORY:
            return Meaning(Role.IDENTIFIER, evidence=("words",), confidence=0.7)  # keys; "Units" are counted
        if "Identifier" in ends and measured is None and not counted and len(set(texts)) == len(texts) >= 4:
            return Meaning(Role.IDENTIFIER, evidence=("values", "words"), confidence=0.8)  # versions such as 1.10
        return Meaning(Role.MEASURE, evidence=("values",), confidence=0.9 if len(numbers) else 0.6)

    def _beside_yes(self, column: int) -> bool:
        """Whether *no* in a header is an answer, next to a column of *yes*."""
        return any(words_of(self._body.name(other))[-1:] == ("yes",) for other in range(self._body.width))

    def _text_role(
        self, texts: Sequence[str], name: str, words: tuple[str, ...], is_label: bool, language: str
    ) -> Meaning:
        count, distinct = len(texts), len(set(texts))
        found = senses(name, _HEADER_ROLES, language)
        ends = {sense.sense for sense in found if sense.last == len(words) - 1}
        coded = sum(_CODE.fullmatch(text) is not None for text in texts)
        if "Ordinal" in ends and sum(_PLACE.fullmatch(text) is not None for text in texts) >= 0.6 * count:
            return Meaning(Role.ORDINAL, evidence=("values", "words"), confidence=0.85)
        called = "Identifier" in ends
        brief = max(map(len, texts)) <= 12 and distinct == count
        patterned = coded >= 0.9 * count and (called or (distinct == count >= 3 and _alike(texts)))
        if patterned or (called and brief):
            return Meaning(Role.IDENTIFIER, evidence=("values",), confidence=0.8)
        if is_label:
            return Meaning(Role.LABEL, evidence=("layout",), confidence=0.9)
        if "Identifier" in ends and distinct == count:
            return Meaning(Role.IDENTIFIER, evidence=("words",), confidence=0.7)
        length = sum(map(len, texts)) / count
        if "Label" in ends and distinct >= 0.8 * count:
            return Meaning(Role.LABEL, evidence=("values", "words"), confidence=0.75)
        if "Category" in ends:
            return Meaning(Role.CATEGORY, evidence=("words",), confidence=0.8)
        if "Text" in ends or length > 40:
            return Meaning(Role.TEXT, evidence=("words" if "Text" in ends else "values",), confidence=0.8)
        figures = sum(any(map(str.isdigit, text)) for text in texts)
        if figures >= 0.6 * count and distinct > 0.5 * count:
            return Meaning(Role.TEXT, evidence=("values",), confidence=0.6)
        return Meaning(Role.CATEGORY, evidence=("values",), confidence=0.7)

    # Kinds of measures

    def _unit(self, column: int) -> str | None:
        found = Counter(unit for unit, _ in self._units_of(column))
        most = found.most_common(1)[0][0] if found else None
        return None if most in ("UNITLESS", "NUM") else most

    def _units_of(self, column: int) -> list[tuple[str, bool]]:
        """The units of a column's first numbers, and whether they are per something."""
        if column not in self._units:
            found = (self._body.unit(at, column) for at in self._members[:_UNITS_READ])
            self._units[column] = [unit for unit in found if unit is not None]
        return self._units[column]

    def _kind(self, column: int) -> _Kind:
        """The kind of a column by unit, header and values."""
        body = self._body
        printed = self._printed(column)
        if printed.kinds[CellKind.DURATION] >= 0.6 * max(1, len(printed.texts)):
            return _Kind(MeasureKind.DURATION, "values", 0.95)
        cell = next(iter(self._units_of(column)), None)
        path = [" ".join(part.split()) for part in body.table.columns[column].path if part.strip()]
        found = kind_of(path, self._unit(column), cell is not None and cell[1], body.language)
        whole = all(number == number.to_integral_value() for number in printed.numbers)
        if found is not None and not (found.kind is MeasureKind.COUNT and not whole and found.evidence == "words"):
            return found  # what has decimals is not a count
        if self._is_instant(column) and self._unit(column) is not None:
            return _Kind(MeasureKind.LEVEL, "words", 0.7)
        title = body.table.context.title or body.table.id.rpartition("/")[2]
        around = (body.table.structure.corner, body.table.context.caption, title)
        for text in filter(None, around):
            if len(text) < 100 and (said := kind_of([text], None, False, body.language)) is not None:
                sure = said.kind is MeasureKind.RATE and not whole
                return replace(said, evidence="title", confidence=SURE if sure else 0.5)
        return _Kind(MeasureKind.COUNT if whole else MeasureKind.RATE, "values", 0.3)

    def _is_instant(self, column: int) -> bool:
        """Whether a column's header is a day, at which amounts are levels: "December 31, 2019", not "year ended" it."""
        path = self._body.table.columns[column].path
        return any(found is not None and found.datatype == "xsd:date" for found in map(parse_date, path))

    def _by_arithmetic(self, measured: Sequence[int], kinds: Mapping[int, _Kind]) -> dict[int, _Kind]:
        """Kinds that the numbers themselves show."""
        body = self._body
        found: dict[int, _Kind] = {}
        numbers = {column: [body.number(at, column) for at in self._members] for column in measured}
        dense = {c: v for c, v in numbers.items() if len(v) >= 3 and sum(n is not None for n in v) >= 0.9 * len(v)}
        for column, values in numbers.items():
            for row, members in self._structure.summed.items():
                if row not in body.grid_rows:
                    continue
                own = body.number(body.grid_rows.index(row), column)
                parts = [body.number(body.grid_rows.index(m), column) for m in members if m in body.grid_rows]
                told = [part for part in parts if part is not None]
                if own is None or len(told) < 2:
                    continue
                if own == sum(told) and kinds[column].confidence < SURE and own:
                    additive = kinds[column].kind if kinds[column].kind is not MeasureKind.RATE else MeasureKind.AMOUNT
                    found[column] = _Kind(additive, "arithmetic", 0.75)
                elif min(told) < own < max(told) and len(told) > 2 and kinds[column].confidence < 0.9:
                    found[column] = _Kind(MeasureKind.RATE, "arithmetic", 0.8)
            if column in dense and self._is_running(column, dense):
                found[column] = _Kind(MeasureKind.LEVEL, "arithmetic", 0.95)
            if kinds[column].confidence < SURE and _are_shares([number for number in values if number is not None]):
                found[column] = _Kind(MeasureKind.RATE, "arithmetic", 0.75)
        found.update(self._products(dense, kinds))
        return found

    def _is_running(self, column: int, dense: Mapping[int, Sequence[Decimal | None]]) -> bool:
        """Whether a column is the running sum of another, or of what one adds and another takes off."""
        values = [value if value is not None else Decimal(0) for value in dense[column]]
        steps = [after - before for before, after in pairwise(values)]
        if len(steps) < 2 or not any(steps):
            return False
        zero = Decimal(0)
        every = {
            c: [self._body.number(at, c) or zero for at in self._members]
            for c, m in self._meanings.items()
            if m.role is Role.MEASURE and c != column and abs(c - column) <= _NEAR
        }
        for flow in every.values():
            if any(flow) and (flow[1:] == steps or [-x for x in flow[1:]] == steps or [-x for x in flow[:-1]] == steps):
                return True
        less = [-step for step in steps]
        return any(
            [x - y for x, y in zip(a[1:], b[1:], strict=True)] in (steps, less)
            for a, b in combinations(every.values(), 2)
        )

    def _products(
        self, dense: Mapping[int, Sequence[Decimal | None]], kinds: Mapping[int, _Kind]
    ) -> Iterable[tuple[int, _Kind]]:
        """Three columns, one of which is the product of the others: quantity, price and amount."""
        columns = list(dense)[:10]
        for product in columns:
            for at, first in enumerate(columns):
                for second in columns[at + 1 :]:
                    if product in (first, second) or not _multiplies(dense[first], dense[second], dense[product]):
                        continue
                    rows = [
                        (a, b, c)
                        for a, b, c in zip(dense[first], dense[second], dense[product], strict=True)
                        if a is not None and b is not None and c is not None
                    ]
                    plain = [(a, b, c) for a, b, c in rows if a not in (0, 1) and b not in (0, 1)]
                    if len(plain) < 3 or not _mostly_multiply(plain) or not _mostly_multiply(rows):
                        continue
                    price = second if self._looks_priced(second, dense) else first
                    other = first if price == second else second
                    yield product, _Kind(MeasureKind.AMOUNT, "arithmetic", 0.9)
                    yield price, _Kind(MeasureKind.RATE, "arithmetic", 0.85)
                    if kinds[other].confidence < SURE:
                        yield other, _Kind(MeasureKind.COUNT, "arithmetic", 0.7)

    def _looks_priced(self, column: int, dense: Mapping[int, Sequence[Decimal | None]]) -> bool:
        unit = self._unit(column)
        return (unit or "").startswith("CCY_") or any(v is not None and v % 1 for v in dense[column])

    def _kinds_of_rows(
        self, measured: Sequence[int], kinds: Mapping[int, _Kind]
    ) -> tuple[list[int], dict[int, MeasureKind]]:
        """The columns whose rows are measures of their own, and the kinds of these; none if columns are measures.

        So it is where the columns say nothing themselves (they are periods or groups) and the labels of rows, or the
        units of their numbers, speak for different kinds.
        """
        body = self._body
        silent = [c for c in measured if not self._names_a_unit(c)]
        silent = [c for c in silent if not kinds[c].evidence.endswith("words") or self._is_instant(c)]
        silent = [c for c in silent if self._printed_percent(c) < 0.9]
        if len(silent) < max(1, 0.5 * len(measured)):
            return [], {}
        if self._meanings[body.label_column].role not in (Role.LABEL, Role.TEXT, Role.CATEGORY):
            return [], {}
        said: dict[int, _Kind] = {}
        units_: dict[int, str] = {}
        for at, row in enumerate(body.grid_rows):
            cell = next((u for column in silent if (u := body.unit(at, column)) is not None), None)
            if cell is None:
                continue
            unit, per = cell
            units_[row] = unit
            path = [self._label_of_row(group) for group in body.table.group_path(row)] + [body.label(at)]
            found = kind_of(path, None if unit in ("UNITLESS", "NUM") else unit, per, body.language)
            if found is not None:
                said[row] = found
        words = [found for found in said.values() if found.evidence == "words"]
        if all(row in self._structure.totals for row, found in said.items() if found.evidence == "words"):
            words = []  # "All staff" below names says nothing about the rows
        classes = {"CCY" if unit.startswith("CCY_") else unit for unit in units_.values()}
        differ = len({found.kind for found in said.values()}) > 1 or len(classes) > 1
        if not units_ or (not (differ and (words or len(classes) > 1)) and len(words) < 0.5 * len(units_)):
            return [], {}
        by_total = {m: row for row, members in self._structure.summed.items() for m in members}
        kinds_ = {row: (said.get(row) or self._like(row, said, units_, by_total)).kind for row in units_}
        if all(map(self._is_instant, silent)):
            kinds_ = {row: MeasureKind.LEVEL if kind is MeasureKind.AMOUNT else kind for row, kind in kinds_.items()}
        return silent, kinds_

    def _are_fractions(self, column: int) -> bool:
        """Whether the numbers of a rate are fractions of one, as 0.62 for 62 %."""
        numbers = self._printed(column).numbers
        broken = sum(number % 1 != 0 for number in numbers)
        return broken > 2 and 2 * broken >= len(numbers) and all(0 <= number <= 1 for number in numbers)

    def _names_a_unit(self, column: int) -> bool:
        """Whether a column's header itself says in which unit its numbers are."""
        clues = (read_clue(part, "column") for part in self._body.table.columns[column].path if part)
        return any(clue is not None and clue.phrase.unit is not None for clue in clues)

    def _printed_percent(self, column: int) -> float:
        found = [unit for unit, _ in self._units_of(column)]
        return found.count("PERCENT") / max(1, len(found))

    def _label_of_row(self, row: int) -> str:
        cells: Row = self._body.table.grid.head[row] if row < len(self._body.table.grid.head) else ()
        return next((cell.strip() for cell in cells if cell.strip()), "")

    @staticmethod
    def _like(row: int, said: Mapping[int, _Kind], units_: Mapping[int, str], by_total: Mapping[int, int]) -> _Kind:
        """The kind of the total that a row is summed by, or else of the nearest row of its unit that has one."""
        above = said.get(by_total.get(row, -1))
        if above is not None:
            return above
        near = [other for other in said if units_[other] == units_[row]]
        if near:
            return said[min(near, key=lambda other: (abs(other - row), other))]
        return _Kind(MeasureKind.COUNT, "values", 0.3)

    def _variants(self, measured: Sequence[int]) -> dict[int, str]:
        """Variants of columns of one measure: those whose headers differ by such a word."""
        body = self._body
        found: dict[int, str] = {}
        for column in measured:
            names = senses(body.table.columns[column].name, VARIANTS, body.language)
            if names:
                found[column] = names[0].sense
        return found if found and (len(set(found.values())) > 1 or len(found) < len(measured)) else {}


PRODUCTS_HOLD, FEWEST_PRODUCTS = Decimal("0.8"), 5
"""The share of rows that are products, and from how many on not all rows need be."""


def _multiplies(
    first: Sequence[Decimal | None], second: Sequence[Decimal | None], product: Sequence[Decimal | None]
) -> bool:
    """Whether most of the first rows with three numbers are products: a cheap look before a close one."""
    told = [(a, b, c) for a, b, c in zip(first[:8], second[:8], product[:8], strict=False) if a and b and c]
    return bool(told) and _mostly_multiply(told)


def _mostly_multiply(rows: Sequence[tuple[Decimal, Decimal, Decimal]]) -> bool:
    """Whether rows are products, all of a few, most of many: a discount or another currency is an exception."""
    held = sum(abs(a * b - c) <= Decimal("0.01") for a, b, c in rows)
    return held >= PRODUCTS_HOLD * len(rows) if held >= FEWEST_PRODUCTS else held == len(rows)


def _are_shares(numbers: Sequence[Decimal]) -> bool:
    """Whether numbers make up a hundred, as parts in percent do; whole ones may do so by chance."""
    if len(numbers) < 3 or any(number < 0 for number in numbers) or all(number % 1 == 0 for number in numbers):
        return False
    return abs(sum(numbers, Decimal(-100))) <= Decimal("0.5")


def _decided(found: Meaning, said: ColumnMapping) -> Meaning:
    """The meaning under a decision of the mapping; a kind of measure makes a column a measure."""
    role = Role(said.role) if said.role else Role.MEASURE if said.kind else found.role
    kind = MeasureKind(said.kind) if said.kind else found.kind
    if role is not Role.MEASURE:
        return Meaning(role, evidence=("mapping",), confidence=1.0)
    variant = said.variant or found.variant
    return Meaning(role, kind, variant, found.quantity_kind, ("mapping",), 1.0, found.grain)


def _is_time(label: str) -> bool:
    return _YEAR_ALONE.fullmatch(label.strip()) is not None or parse_date(label) is not None


_YEAR_ALONE = re.compile(r"(?:19|20)\d\d")
_MOST_CATEGORIES = 50
"""Most distinct values of a column in which one may sum the others."""
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")


def _without_unit(brackets: re.Match[str]) -> str:
    said = brackets[1].strip()
    return " " if find_unit(said) or parse_unit_phrase(said) else brackets[0]


def kind_of(path: Sequence[str], unit: str | None, per: bool, language: str) -> _Kind | None:
    """The kind of a measure by its unit, and by the words of its header or label path, the last level first."""
    of = quantity_kind(unit)
    if unit in ("PERCENT", "PERMILLE", "PPM", "PPB") or per:
        return _Kind(MeasureKind.RATE, "unit", 0.95)
    if unit is not None and "-PER-" in unit:
        flows = unit.endswith(_PER_TIME) and of not in _NOT_ADDED
        return _Kind(MeasureKind.LEVEL if flows else MeasureKind.RATE, "unit", 0.9)
    # "Downtime (min)" is in minutes, not a minimum.
    said, sure = _said([_IN_BRACKETS.sub(_without_unit, text) for text in path] if unit else path, language)
    if unit is None:
        return None if said is None else _Kind(said, "words", 0.8 if sure else 0.6)
    if of == "Time":
        return _Kind(MeasureKind.RATE if said is MeasureKind.RATE else MeasureKind.DURATION, "unit", 0.9)
    if said is not None and said not in (MeasureKind.COUNT, MeasureKind.SCORE):
        return _Kind(said, "words", 0.85 if sure else 0.6)
    if of in _NOT_ADDED:
        return _Kind(MeasureKind.RATE, "unit", 0.6)
    return _Kind(MeasureKind.AMOUNT, "unit", 0.6)


def _said(path: Sequence[str], language: str) -> tuple[MeasureKind | None, bool]:
    """The kind implied by the words of the last level that has such words, and whether it is certain."""
    for text in reversed(path):
        found = senses(text, KINDS, language)
        if not found:
            continue
        words = words_of(text)
        head = next((sense.first for sense in senses(text, _MODIFIER, language) if sense.first), len(words))
        if head < len(words) and found[0].sense != "Count":  # "Properties paying business rates" are counted
            found = tuple(sense for sense in found if sense.first < head) or found
            if found[0].first > head and len(words[head - 1]) > 3 and words[head - 1].endswith("s"):
                return MeasureKind.COUNT, False
        first, last = found[0], found[-1].sense
        if first.sense == "Count" and first.first == 0 and (len(found) == 1 or first.last > 0):  # "number of employees"
            return (MeasureKind.LEVEL if last == "Level" else MeasureKind.COUNT), True
        if any(one.sense == "Rate" for one in found):
            return MeasureKind.RATE, True
        return MeasureKind(last.removesuffix("?")), not last.endswith("?")
    return None, False


def _alike(texts: Sequence[str]) -> bool:
    """Whether codes have one pattern: the same runs of letters and figures."""
    patterns = {re.sub(r"[A-Za-z]+", "a", re.sub(r"\d+", "0", text)) for text in texts}
    return len(patterns) <= max(1, len(texts) // 10)
