"""What the names of columns, rows and groups, and the table as a whole, say of unit and scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kgtable.ontology.column_prints import ColumnPrint, column_prints
from kgtable.ontology.measures import Measure, denominator, duration_unit, find_measure
from kgtable.ontology.periods import is_temporal
from kgtable.ontology.surroundings import Stated, currency_of_texts, table_statements
from kgtable.ontology.text_amounts import scale_of_amounts
from kgtable.ontology.units import UnitPhrase, parse_unit_phrase, parse_unit_text, without_exception
from kgtable.tables.model import Table
from kgtable.tables.periods import find_period

_NOTHING = UnitPhrase()


@dataclass(frozen=True, slots=True)
class Clue:
    """What one name says: its unit phrase, what it measures, what its values are per."""

    source: str
    phrase: UnitPhrase = _NOTHING
    measure: Measure | None = None
    per: str | None = None

    @property
    def is_plain_money(self) -> bool:
        """Whether it says no more than a currency or a scale."""
        return self.measure is None and self.phrase.is_money


@lru_cache(maxsize=32_768)
def read_clue(name: str, source: str) -> Clue | None:
    """The clue in the name of a column, row or group, or None.

    >>> read_clue("Basic EPS (pence)", "row").phrase.scale, read_clue("Turnover", "row")
    (-2, None)
    """
    phrase, measure = parse_unit_text(name), find_measure(without_exception(name))
    if source == "row" and phrase is not None and _is_bare_word(name, phrase):
        phrase = None
    if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
        phrase, measure = UnitPhrase("PERCENT", 0), Measure.PERCENT
    if phrase is None and measure is None:
        return None
    if measure is Measure.DURATION and (phrase is None or phrase.unit is None):
        phrase = UnitPhrase(duration_unit(name))
    return Clue(source, phrase or _NOTHING, measure, denominator(name))


def _is_bare_word(label: str, phrase: UnitPhrase) -> bool:
    """Whether a row's label is a mere word that may be a name: "Yuan", "Miles"."""
    if phrase.unit == "PERCENT" or (phrase.unit and phrase.scale) or " in " in label:
        return False
    return label.replace(" ", "").isalpha()


class TableClues:
    """The clues of one table: of its columns and groups, of its cells, and of what surrounds it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        structure = table.structure
        titles = [text for row in structure.titles for text in table.grid.head[row] if text.strip()]
        self.statements = table_statements(table.context, structure.corner, titles)
        self.prints = column_prints(table)
        units = list(self._unit_texts())
        self.columns = tuple(
            tuple(_column_clues(column.path, unit, printed)) if column.index != structure.label_column else ()
            for column, unit, printed in zip(table.columns, units, self.prints, strict=True)
        )
        self.columns_alike = len({_unit_of(clues) for clues in self.columns if clues}) <= 1
        self.temporal = frozenset(column.index for column in table.columns if is_temporal(column.path))
        self.periods = tuple(find_period(column.name) for column in table.columns)
        self.scale = next(
            (s for s in self.statements if s.phrase.scale is not None and not s.is_percent), None
        )
        if self.scale is None and not any(clue.phrase.scale for clues in self.columns for clue in clues):
            power = scale_of_amounts(table)
            self.scale = Stated(UnitPhrase(None, power), "amounts in text") if power else None
        self.counts = next((s for s in self.statements if s.measure in {Measure.SHARES, Measure.COUNT}), None)
        self.share_scale = next((s for s in self.statements if s.phrase.share_scale is not None), None)
        self.percent = self._stated_percent()
        self.currency, self.currency_from = self._find_currency()

    def of_groups(self, row: int) -> tuple[Clue, ...]:
        """The clues of the groups above a row, the innermost first."""
        found = (read_clue(self.label_of(group), "group") for group in reversed(self._table.group_path(row)))
        return tuple(clue for clue in found if clue is not None)

    def label_of(self, row: int) -> str:
        """The text that names a row of the table's head: of its label column, else its first text."""
        if row >= len(self._table.grid.head):
            return ""
        cells, label = self._table.grid.head[row], self._table.structure.label_column
        if label < len(cells) and cells[label].strip():
            return cells[label].strip()
        return next((text.strip() for text in cells if text.strip()), "")

    def _unit_texts(self) -> Iterator[str]:
        """For each column the text of the rows of units above it.

        A text covers the columns up to the next text or to a column whose name is a unit itself; one that
        stands alone in its row covers all columns.
        """
        structure = self._table.structure
        named = [bool(column.path and parse_unit_phrase(column.path[-1])) for column in structure.columns]
        found: list[list[str]] = []
        for row in sorted(structure.unit_rows):
            texts = [
                "" if c == structure.label_column else t.strip()
                for c, t in enumerate(self._table.grid.head[row])
            ]
            single = "".join(texts) if sum(map(bool, texts)) == 1 else ""
            for column, text in enumerate(texts):
                before = texts[column - 1] if column and not (column < len(named) and named[column]) else ""
                texts[column] = single or text or before
            found.append(texts)
        for column in range(len(structure.columns)):
            yield " ".join(texts[column] for texts in found if column < len(texts)).strip()

    def _stated_percent(self) -> Stated | None:
        """The statement that the whole table is in percent, unless one as near gives a scale."""
        percent = next((s for s in self.statements if s.is_percent), None)
        return None if percent is None or (self.scale and self.scale.source == percent.source) else percent

    def _find_currency(self) -> tuple[str | None, str]:
        for statement in self.statements:
            if statement.phrase.unit is not None and statement.phrase.unit.startswith("CCY_"):
                return statement.phrase.unit, statement.source
        found = {printed.currency for printed in self.prints if printed.currency}
        found |= {
            clue.phrase.unit
            for clues in self.columns
            for clue in clues
            if clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        }
        if found:
            return (found.pop(), "column cells") if len(found) == 1 else (None, "")
        text = currency_of_texts(self._table.context)
        return (text, "text") if text else (None, "")


def _column_clues(path: tuple[str, ...], unit: str, printed: ColumnPrint) -> Iterator[Clue]:
    """The clues of a column: of its unit row, then of its header path, the lowest level first.

    A year stands in the lowest level only; what a higher level measures is not this column's if its cells
    print a currency, values per share apart.
    """
    stated = parse_unit_phrase(unit, " ".join(path)) if unit else None
    if stated is not None:
        percent = stated.unit == "PERCENT"
        yield Clue("column", UnitPhrase("PERCENT", 0), Measure.PERCENT) if percent else Clue("column", stated)
    elif unit and (clue := read_clue(unit, "column")):
        yield clue
    names = [name for name in path if name]
    for name in reversed(names):
        clue = read_clue(name, "column")
        if clue is None:
            continue
        not_money = clue.measure not in {None, Measure.PER_SHARE}
        foreign = clue.measure is Measure.YEAR or (not_money and printed.currency is not None)
        if name is names[-1] or not foreign:
            yield clue


def _unit_of(clues: tuple[Clue, ...]) -> tuple[str | None, Measure | None]:
    return clues[0].phrase.unit, clues[0].measure
