"""Evidence for unit and scale: names of columns, rows and groups, cells of a column, surrounding text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kgtable.ontology.stated_units import (
    AMOUNTS,
    LOOKED_AT,
    ColumnPrint,
    StatedUnit,
    column_prints,
    currency_of_texts,
    is_other_unit,
    krone_of_texts,
    names_krone,
    scale_of_amounts,
    table_statements,
    unit_for_all,
    with_krone,
)
from kgtable.tables.model import Context, Row, Table
from kgtable.text.words import stem, words
from kgtable.values.lexicon import is_called
from kgtable.values.measures import Measure, denominator, duration_unit, find_measure
from kgtable.values.periods import find_period, is_temporal
from kgtable.values.text import without_marks
from kgtable.values.unit_phrases import (
    UnitPhrase,
    is_bare_scale,
    parse_unit_phrase,
    parse_unit_text,
    without_exception,
)
from kgtable.values.units import PLAIN_SCALES, currency_unit, find_header_unit, is_currency_pair

_NOTHING = UnitPhrase()
MAPPING = "mapping"


@dataclass(frozen=True, slots=True)
class Clue:
    """Evidence from one name: its unit phrase, its measure, and the denominator of its values."""

    source: str
    phrase: UnitPhrase = _NOTHING
    measure: Measure | None = None
    per: str | None = None

    @property
    def is_plain_money(self) -> bool:
        """Whether it says no more than a currency or a scale."""
        return self.measure is None and self.phrase.is_money


_LEADING_YEAR = re.compile(r"(?:19|20)\d\d\s+")
_STATISTIC = frozenset({"statistic"})
BASIS_POINT = -2
"""The power of ten of a basis point, as of a percent."""


@lru_cache(maxsize=32_768)
def read_clue(name: str, source: str) -> Clue | None:
    """The clue in the name of a column, row or group, or None.

    >>> read_clue("Basic EPS (pence)", "row").phrase.scale, read_clue("Turnover", "row")
    (-2, None)
    """
    if len(name) < 10 and "/" in name and is_currency_pair(name):
        return Clue(source, measure=Measure.EXCHANGE)
    phrase, measure = parse_unit_text(name), find_measure(without_exception(name))
    first, _, rest = name.partition(" ")
    if phrase is None and rest and is_called(first, _STATISTIC):  # "Mean grams", "Average acres"
        phrase = parse_unit_phrase(rest)
    if phrase is None and source == "column" and " of " in name:  # "2019 tonnes of CO2e"
        phrase = parse_unit_phrase(_LEADING_YEAR.sub("", name.partition(" of ")[0]))
    if source == "row" and phrase is not None and _is_bare_word(name, phrase):
        phrase = None
    if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
        hundredths = phrase is not None and phrase.unit == "PERCENT" and phrase.scale == BASIS_POINT
        phrase, measure = UnitPhrase("PERCENT", BASIS_POINT if hundredths else 0), Measure.PERCENT
    if phrase is None and measure is None:
        return None
    if measure is Measure.DURATION and (phrase is None or phrase.unit is None):
        phrase = UnitPhrase(duration_unit(name))
    per = phrase.per if phrase is not None and phrase.per else denominator(name)
    return Clue(source, phrase or _NOTHING, measure, per)


_POWER_SYMBOL = re.compile(r"\b[kMGT]Wh?\b")
_OPENS_UNIT = re.compile(r" in | per ", re.IGNORECASE)


def _is_bare_word(label: str, phrase: UnitPhrase) -> bool:
    """Whether a row's label is a mere word that may be a name: "Yuan", "Miles"."""
    if phrase.unit == "PERCENT" or (phrase.unit and phrase.scale) or _OPENS_UNIT.search(label):
        return False
    if " " in label and _POWER_SYMBOL.search(label):
        return False
    return label.replace(" ", "").isalpha()


_UNIT_COLUMN = re.compile(
    r"(?:(?:.*[._])?units?|unit of measure(?:ment)?|measure(?:ment)? units?|uom|einheit(?:en)?|ma(?:ß|ss)einheit"
    r"|unit[ée]s?|unidad"
    r"|(?:.*[._ ])?(?:currency|currencies|ccy|währung|devise|valuta))",
    re.IGNORECASE,
)
_MICRO = re.compile(r"^u(?=(?:g|l|L|m|mol|S|W|V|A|Pa|Sv)\b)")
"""A letter that stands for the sign of a millionth: ug/L."""
_SCALE_COLUMN = re.compile(
    r"scalar[_ ]?factor|scale(?:[_ ]factor)?|multiplier|unit[_ ]?mult(?:iplier)?|skalierung|faktor", re.IGNORECASE
)
_POWERS = {"units": 0, "unit": 0, "ones": 0, "0": 0, "3": 3, "6": 6, "9": 9, "12": 12}
"""Scales of a row beside those in words: none, and powers of ten."""
_COUNTED_NOUN = re.compile(
    r"(?:#|no\.?|nos\.?|numbers?|counts?|persons?|people|heads?|employees|pieces?|pcs\.?|pc\.?|units?|items?|stück|stk\.?|each"
    r"|ea\.?|personen|fte|vzä|vollzeitstellen|köpfe|etp)",
    re.IGNORECASE,
)
_MONEY_NAME = re.compile(
    r"price|cost|amount due|salary|wage|fee\b|revenue|sales|turnover|budget|preis|kosten|umsatz|betrag|lohn",
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(
    r"piece|qty|quantity|count|number|stock|units|stück|menge|anzahl|year|rank|age\b", re.IGNORECASE
)
_SUMMARY_NAME = re.compile(r"(?:grand |sub-?)?totals?|sum|average|mean|median|gesamt|summe|all", re.IGNORECASE)
_FIGURE = re.compile(r"[-–—(~<>≈+]*\s?\d[\d.,'’ ]*\)?")
_THOUSAND = re.compile(r"1[,.’']?000|['’]000")
LEAST_READ = 0.7
"""A column of units has a unit in at least this share of its cells."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """A column whose cells give the unit of their row: its index, and the columns that units are for.

    `money` are the columns that take a currency, `others` those that take any other unit.
    """

    index: int
    money: frozenset[int]
    others: frozenset[int]
    scales: bool = False
    """Whether it gives the scale of each row instead: ``millions``."""

    def covers(self, column: int, clue: Clue) -> bool:
        """Whether a clue from the column of units is about the numbers of a column."""
        is_money = clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        return column in (self.money if is_money else self.others)


def find_unit_columns(table: Table) -> tuple[UnitColumn, ...]:
    """The columns that give units of each row's numbers, by their names and their cells.

    Where the numbers of a row are of periods, so does a column that names the measure with its unit in brackets.
    """
    structure = table.structure
    candidates = [
        column.index
        for column in table.columns
        if column.index != structure.label_column
        and column.path
        and (_UNIT_COLUMN.fullmatch(said := without_marks(column.path[-1]).strip()) or _SCALE_COLUMN.fullmatch(said))
    ]
    dated = frozenset(c.index for c in table.columns if c.index != structure.label_column and is_temporal(c.path))
    if not candidates and not dated:
        return ()
    found: list[UnitColumn] = []
    rows = [
        row
        for index, row in enumerate(table.grid.head[structure.body_start :][:LOOKED_AT], structure.body_start)
        if index not in structure.footnotes
    ]
    for index in candidates:
        texts = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
        scales = _SCALE_COLUMN.fullmatch(without_marks(table.columns[index].path[-1]).strip()) is not None
        read_cell = read_scale_cell if scales else read_unit_cell
        read = sum(read_cell(text) is not None for text in texts)
        if texts and read >= LEAST_READ * len(texts):
            numeric = frozenset(
                column.index for column in table.columns if column.index != index and _has_figures(rows, column.index)
            )
            covered = _beside_units(table, index, numeric - {structure.label_column})
            names = {column.index: column.name for column in table.columns}
            if members := {column for column in numeric if _are_members(names[index], names[column])}:
                covered = frozenset(members)
            found.append(
                UnitColumn(
                    index,
                    frozenset(column for column in covered if not _COUNT_NAME.search(names[column])),
                    frozenset(column for column in covered if scales or not _MONEY_NAME.search(names[column])),
                    scales,
                )
            )
    for column in table.columns if dated and not found else ():
        if column.index not in dated and column.index != structure.label_column:
            texts = [row[column.index].strip() for row in rows if column.index < len(row)]
            texts = [text for text in dict.fromkeys(texts) if text.endswith(")")]
            if texts and sum(_names_unit(text) for text in texts) * 2 > len(texts):
                found.append(UnitColumn(column.index, dated, dated))
    return tuple(found)


def _names_unit(text: str) -> bool:
    """Whether the name of a measure ends with its unit in brackets: "GDP (current US$)"."""
    clue = read_clue(text, "row")
    return clue is not None and clue.phrase.unit is not None


def _are_members(name: str, other: str) -> bool:
    """Whether two columns are members of one record within each row: ``price.currency``, ``price.amount``."""
    record, point, _ = name.rpartition(".")
    return bool(point) and other.startswith(f"{record}.")


@lru_cache(maxsize=4_096)
def read_unit_cell(text: str) -> Clue | None:
    """Read a cell of a column of units: a unit, a currency with its scale, a percentage, a count.

    >>> read_unit_cell("EUR million").phrase.scale, read_unit_cell("kg").phrase.unit, read_unit_cell("Anna")
    (6, 'KiloGM', None)
    """
    text = " ".join(html.unescape(text).split())
    if _COUNTED_NOUN.fullmatch(text):
        return Clue(UNIT_COLUMN, measure=Measure.COUNT)
    if _SHARE_OF.match(text):
        return Clue(UNIT_COLUMN, UnitPhrase("PERCENT", 0), Measure.PERCENT)
    text = _OF_CARBON.sub("", text)
    scale, _, rest = text.partition(" ")
    power = 3 if _THOUSAND.fullmatch(scale) else PLAIN_SCALES.get(scale.lower())
    of = read_unit_cell(rest) if rest and power else None
    if of is not None and of.phrase.scale is None:
        return replace(of, phrase=replace(of.phrase, scale=power))
    text = _MICRO.sub("µ", text)
    unit = find_header_unit(text)
    phrase = UnitPhrase(unit) if unit else parse_unit_phrase(text.strip("()[]"), text)
    if phrase is None and is_bare_scale(text):
        return None
    if phrase is None:
        return None
    if phrase.unit == "PERCENT":
        return Clue(UNIT_COLUMN, UnitPhrase("PERCENT", 0), Measure.PERCENT)
    return Clue(UNIT_COLUMN, phrase, None, phrase.per)


def read_scale_cell(text: str) -> Clue | None:
    """Read a cell of a column of scales.

    >>> [read_scale_cell(text).phrase.scale for text in ("millions", "thousands", "units", "3", "1000")]
    [6, 3, 0, 3, 3]
    """
    plain = text.strip().lower()
    power = 3 if _THOUSAND.fullmatch(plain) else _POWERS.get(plain, PLAIN_SCALES.get(plain))
    return None if power is None else Clue(UNIT_COLUMN, UnitPhrase(None, power))


UNIT_COLUMN = "unit column"
_SHARE_OF = re.compile(r"(?:%|percent|per cent|prozent|pct\.?) (?:of|der|des|du|de|vom|am|von) ", re.IGNORECASE)
_OF_CARBON = re.compile(r" ?CO[2₂](?:[- ]?eq?\.?)?$")
"""What a mass is of: "t CO2e"."""


def _has_figures(rows: Sequence[Row], column: int) -> bool:
    texts = [row[column].strip() for row in rows if column < len(row) and row[column].strip()]
    return bool(texts) and sum(_FIGURE.fullmatch(text) is not None for text in texts) * 2 > len(texts)


def _beside_units(table: Table, index: int, numeric: frozenset[int]) -> frozenset[int]:
    """The columns of numbers that a column of units is about.

    Those of periods where there are any; else the numbers right before it, else those right after it,
    and columns whose own name has a unit are left out.
    """
    open_columns = {c.index for c in table.columns if c.index in numeric and not (c.name and _own_unit(c.path[-1]))}
    dated = {c.index for c in table.columns if c.index in open_columns and is_temporal(c.path)}
    if dated:
        return frozenset(dated)
    for step in (-1, 1):
        run: set[int] = set()
        column = index + step
        while column in numeric:
            run.add(column)
            column += step
        if run & open_columns:
            return frozenset(run & open_columns)
    return frozenset(open_columns)


def _own_unit(name: str) -> bool:
    phrase = parse_unit_text(name)
    return phrase is not None and phrase.unit is not None


_MONEY = (
    r"\b(?:expenditures?|expenses?|spending|spend|costs?|budget|outlays?|payments?|revenues?|sales|turnover|income"
    r"|receipts|funding|investments?|ausgaben|kosten|umsatz)\b"
)
_KINDS_OF_MONEY = re.compile(rf"{_MONEY}[^.]{{0,40}}\b(?:by|per|nach)\b", re.IGNORECASE)
"""The name of a table whose rows are kinds of an amount: "Expenditure by type"."""
_SCALED_SUBJECT = re.compile(
    rf"\s*(?!{_MONEY})(?P<subject>[^\W\d_]{{3,}})\b[^()\[\].:;]{{0,60}}"
    rf"\bin (?:{'|'.join(map(re.escape, PLAIN_SCALES))})[\s.]*",
    re.IGNORECASE,
)
"""A title that says of what its scale is: "Passengers per weekday in thousands". Money is in one scale throughout."""
_COUNTED_EXPRESSLY = re.compile(r"\b(?:numbers?|counts?|headcount|quantity|no\.?)\b|#", re.IGNORECASE)


class TableClues:
    """The clues of one table: of its columns and groups, of its cells, and of what surrounds it."""

    def __init__(self, table: Table, decided: UnitPhrase | None = None) -> None:
        """`decided` is what a user's mapping says of the whole table; it goes before what texts say."""
        self._table = table
        structure = table.structure
        titles = [text for row in structure.titles for text in table.grid.head[row] if text.strip()]
        corners = [table.grid.head[row][structure.label_column : structure.label_column + 1]
                   for row in structure.header]  # fmt: skip
        if len(corners) > 1:
            titles += [text for cells in corners for text in cells if text.strip()]
        self.prints = column_prints(table)
        krone = _krone(table, titles, self.prints)
        context, corner = table.context, structure.corner
        if krone:
            titles = [with_krone(text, krone) for text in titles]
            context, corner = _context_in(context, krone), with_krone(corner, krone)
        self._krone = krone
        self.statements = table_statements(context, corner, titles, _notes(table))
        if decided is not None and decided != _NOTHING:
            percent = Measure.PERCENT if decided.unit == "PERCENT" else None
            self.statements = (StatedUnit(decided, MAPPING, percent), *self.statements)
        if krone:
            self.prints = tuple(
                replace(p, currency=currency_unit(krone)) if p.krone and p.currency is None else p for p in self.prints
            )
        units = list(self._unit_texts())
        self.columns = tuple(
            tuple(_column_clues(self._named(column.path), unit, printed))
            if column.index != structure.label_column
            else ()
            for column, unit, printed in zip(table.columns, units, self.prints, strict=True)
        )
        self.columns = tuple(_spread(self.columns, table, structure.label_column))
        self.columns_alike = len({_unit_of(clues) for clues in self.columns if clues}) <= 1
        self.temporal = frozenset(column.index for column in table.columns if is_temporal(column.path))
        self.periods = tuple(find_period(column.name) for column in table.columns)
        dated = any(p for i, p in enumerate(self.periods) if i != structure.label_column)
        self.corner_period = None if dated else find_period(structure.corner)
        self.scale = next((s for s in self.statements if s.phrase.scale is not None and not s.is_percent), None)
        if self.scale is None and not any(clue.phrase.scale for clues in self.columns for clue in clues):
            power = scale_of_amounts(table, self._is_of_money)
            self.scale = StatedUnit(UnitPhrase(None, power), AMOUNTS) if power else None
        self.counts = next((s for s in self.statements if s.measure in {Measure.SHARES, Measure.COUNT}), None)
        self.share_scale = next((s for s in self.statements if s.phrase.share_scale is not None), None)
        self.percent = self._stated_percent()
        self.currency, self.currency_from, self.currency_per = self._find_currency()
        self._scaled = self._find_scaled()
        stated = unit_for_all(context, corner, titles)
        if decided is not None and (is_other_unit(decided) or decided.unit == "YR"):
            stated = decided, MAPPING
        self.unit: UnitPhrase | None
        self.unit, self.unit_from = stated if stated else (None, "")
        if self.unit is not None and self.scale is None and self.unit.scale is not None:
            self.scale = StatedUnit(self.unit, self.unit_from)
        self.unit_covers = self._covered_by_unit() if stated else frozenset[int]()
        self.unit_columns = find_unit_columns(table)
        named = (context.caption, context.title, *context.heading, structure.corner, *titles)
        self._kinds_of_money = any(map(_KINDS_OF_MONEY.search, named))
        self._units_of_rows: dict[str, Clue | None] = {}

    def scale_of(self, column: int) -> StatedUnit | None:
        """The scale stated for the table, where it is one of this column too."""
        return self.scale if self._scaled is None or column in self._scaled else None

    def _find_scaled(self) -> frozenset[int] | None:
        """The columns of what the title's scale is of, and those of periods; None for all columns."""
        if self.scale is None or self.scale.source not in {"caption", "title"} or self.currency is not None:
            return None
        context = self._table.context
        said = _SCALED_SUBJECT.fullmatch(context.caption if self.scale.source == "caption" else context.title)
        if said is None:
            return None
        subject = stem(said["subject"].lower())
        named = frozenset(
            column.index
            for column in self._table.columns
            if column.index != self._table.structure.label_column
            and any(stem(word) == subject for name in column.path for word in words(name))
        )
        return named | self.temporal if named else None

    def _named(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a column with the code of the currency that its ``kr`` are."""
        return tuple(with_krone(name, self._krone) for name in path) if self._krone else path

    def of_row(self, label: str) -> Clue | None:
        """The evidence in a row's label; where amounts are given by kind, "Staff" is a kind of cost and no count."""
        if _FIGURE.fullmatch(label):  # the row of number 1000 has no thousands
            return None
        clue = read_clue(with_krone(label, self._krone) if self._krone else label, "row")
        if (
            self._kinds_of_money
            and clue is not None
            and clue.measure is Measure.COUNT
            and self.currency is not None
            and not _COUNTED_EXPRESSLY.search(label)
        ):
            return None
        return clue

    def of_unit_columns(self, cells: Row) -> tuple[Clue | None, ...]:
        """What each column of units says of a row."""
        return tuple(
            read_scale_cell(cells[column.index] if column.index < len(cells) else "")
            if column.scales
            else self._of_unit(cells, column.index)
            for column in self.unit_columns
        )

    def _of_unit(self, cells: Row, column: int) -> Clue | None:
        text = cells[column] if column < len(cells) else ""
        if text not in self._units_of_rows:
            if len(self._units_of_rows) > LOOKED_AT:
                self._units_of_rows.clear()
            clue = read_unit_cell(text)
            self._units_of_rows[text] = self.of_row(text) if clue is None and text.endswith(")") else clue
        return self._units_of_rows[text]

    def unit_of_columns(self, column: int, units: Sequence[Clue | None]) -> Clue | None:
        """What columns of units, of which `units` are the clues in a row, say of a number in a column."""
        told = zip(self.unit_columns, units, strict=False)
        about = [(of, clue) for of, clue in told if clue is not None and of.covers(column, clue)]
        unit = next((clue for of, clue in about if not of.scales), None)
        scale = next((clue for of, clue in about if of.scales), None)
        if unit is None or scale is None or unit.phrase.scale:
            return unit or scale
        return replace(unit, phrase=replace(unit.phrase, scale=scale.phrase.scale))

    def _covered_by_unit(self) -> frozenset[int]:
        """The columns that the unit of the whole table is of: those of periods, else all without a unit."""
        label = self._table.structure.label_column
        open_columns = {index for index, clues in enumerate(self.columns) if index != label and not clues}
        if self.unit_from != "corner":  # which is as near to the cells as a sign in another row
            open_columns -= {index for index, printed in enumerate(self.prints) if printed.currency}
        dated = self.temporal & open_columns
        if dated:
            totals = {c.index for c in self._table.columns if c.path and _SUMMARY_NAME.fullmatch(c.path[-1])}
            return frozenset(dated | (totals & open_columns))
        if any(clue.phrase.unit is not None for clues in self.columns for clue in clues):
            return frozenset()
        return frozenset(open_columns)

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
            texts = ["" if c == structure.label_column else t.strip() for c, t in enumerate(self._table.grid.head[row])]
            single = "".join(texts) if sum(map(bool, texts)) == 1 else ""
            for column, text in enumerate(texts):
                before = texts[column - 1] if column and not (column < len(named) and named[column]) else ""
                texts[column] = single or text or before
            found.append(texts)
        for column in range(len(structure.columns)):
            yield " ".join(texts[column] for texts in found if column < len(texts)).strip()

    def _is_of_money(self) -> bool:
        """Whether cells or headers print a currency, and no column or row is of counts or prices."""
        named = [clue for clues in self.columns for clue in clues]
        labels = (find_measure(self.label_of(row)) for row in range(min(len(self._table.grid.head), LOOKED_AT)))
        measures = {clue.measure for clue in named} | set(labels)
        money = any(printed.currency for printed in self.prints) or any(
            clue.phrase.unit is not None and clue.phrase.is_money for clue in named
        )
        return money and measures.isdisjoint({Measure.PER_SHARE, Measure.SHARES, Measure.COUNT})

    def _stated_percent(self) -> StatedUnit | None:
        """The statement that the whole table is in percent, unless one as near gives a scale."""
        percent = next((s for s in self.statements if s.is_percent), None)
        return None if percent is None or (self.scale and self.scale.source == percent.source) else percent

    def _find_currency(self) -> tuple[str | None, str, str | None]:
        """The currency of the table, where it is from, and what amounts are per."""
        for statement in self.statements:
            if statement.phrase.unit is not None and statement.phrase.unit.startswith("CCY_"):
                return statement.phrase.unit, statement.source, statement.phrase.per
        found = {printed.currency for printed in self.prints if printed.currency}
        found |= {
            clue.phrase.unit
            for clues in self.columns
            for clue in clues
            if clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        }
        if found:
            return (found.pop(), "column cells", None) if len(found) == 1 else (None, "", None)
        text = currency_of_texts(self._table.context)
        return (text, "text", None) if text else (None, "", None)


_MOST_NOTES = 20


def _notes(table: Table) -> Iterator[str]:
    """The texts of the first notes below the rows of the body."""
    for row in sorted(table.structure.footnotes)[:_MOST_NOTES]:
        cells = table.grid.head[row] if row < len(table.grid.head) else ()
        yield ",".join(dict.fromkeys(text for text in cells if text.strip()))


def _krone(table: Table, titles: Sequence[str], prints: Sequence[ColumnPrint]) -> str | None:
    """The ISO 4217 code of the currency that a table writes ``kr``, where it says of which country it is."""
    context = table.context
    near = (context.title, context.caption, *context.heading, *titles, *context.before, *context.after)
    headers = [name for column in table.columns for name in column.path]
    if not any(printed.krone for printed in prints) and not any(
        "kr" in text.lower() and names_krone(text) for text in (*near, *headers, table.structure.corner)
    ):
        return None
    return krone_of_texts((*near, *headers, *_notes(table)))


def _context_in(context: Context, krone: str) -> Context:
    """The texts around a table with the code of the currency that their ``kr`` are."""
    return replace(
        context,
        title=with_krone(context.title, krone),
        caption=with_krone(context.caption, krone),
        heading=tuple(with_krone(text, krone) for text in context.heading),
        before=tuple(with_krone(text, krone) for text in context.before),
    )


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


def _spread(columns: Sequence[tuple[Clue, ...]], table: Table, label: int) -> Iterator[tuple[Clue, ...]]:
    """The clues of columns, those without a name with the clues of a header at their left that is a unit alone."""
    spread: tuple[Clue, ...] = ()
    for column, clues in zip(table.columns, columns, strict=True):
        if any(column.path) or column.index == label:
            spread = clues if column.index != label and _is_unit_of_amounts(column.path) else ()
        yield clues if any(column.path) or column.index == label else clues or spread


def _is_unit_of_amounts(path: Sequence[str]) -> bool:
    """Whether a header is no more than a currency with a scale, or "in" and a unit: "in EUR million"."""
    text = " ".join(" ".join(path).split()).strip(" ()[]")
    phrase = parse_unit_phrase(text.removeprefix("in ").removeprefix("In "))
    if phrase is None:
        return False
    return text[:3].lower() == "in " or (phrase.scale is not None and phrase.unit is not None)


def _unit_of(clues: tuple[Clue, ...]) -> tuple[str | None, Measure | None]:
    return clues[0].phrase.unit, clues[0].measure
