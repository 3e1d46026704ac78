"""Units from a table's surroundings: title, corner, captions, notes and texts, and the scope of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from kgtable.ontology.unit_arithmetic import AMOUNTS, scale_of_amounts
from kgtable.ontology.unit_clues import (
    LOCAL_DEFAULTS,
    LONGEST_TEXT,
    LOOKED_AT,
    Clue,
    clues_of_column,
    column_prints,
    currency_of_texts,
    find_unit_columns,
    header_paths,
    is_plain_unit,
    local_currencies,
    read_clue,
    read_scale_cell,
    read_unit_cell,
    with_local,
)
from kgtable.tables.model import Context, Row, Table
from kgtable.text.words import stem, words
from kgtable.values.lexicon import ANY, is_called, senses
from kgtable.values.measures import Measure, find_measure
from kgtable.values.periods import find_period, is_temporal
from kgtable.values.unit_phrases import UnitPhrase, is_bare_scale, parse_unit_phrase, parse_unit_text, without_exception
from kgtable.values.units import PLAIN_SCALES, currency_unit, may_name_unit

_NOTHING: Final = UnitPhrase()
MAPPING: Final = "mapping"

_CURRENCY = (
    r"(?:US ?\$|A\$|C\$|HK\$|[$€£¥₹]|USD|EUR|GBP|RMB|U\.?S\.? dollars?|dollars?|euros?|pounds(?: sterling)?"
    r"|sterling|yen)"
)
_SCALE = r"(?:hundreds|thousands|millions|billions|trillions|crores?|lakhs?)"
_PROSE = re.compile(
    rf"(?:\b(?:{_CURRENCY}|amounts?|figures|shares)(?: amounts?| values?| and shares?)? )?"
    r"(?:are |is |were |all )*(?:expressed |stated |presented |reported |shown |denominated |rounded )*"
    rf"\b(?:in|to the nearest) (?:{_CURRENCY} ?)?(?:{_SCALE}|thousand|million)"
    r"(?:\s+of\s+(?:U\.S\. |US |[A-Z][a-z]{2,}i? (?:[A-Z][a-z]+ )?)?"
    r"(?:dollars|euros?|pounds|RMB|yen|rupees|dinars|francs|rials|riyals|dirhams|pesos|kron[ae]r?|rand|won|lira|[$€£]))?\b"
    rf"(?:[,;]? ?(?:shares in {_SCALE}"
    r"|(?:and |\()?(?:except|other than|unless otherwise|excluding)[^.()]{0,100}))?",
    re.IGNORECASE,
)
_SCALES = frozenset({3, 5, 6, 7, 9, 12})
_BRACKETED = re.compile(r"\(([^()]{2,120})\)")
_PERCENT_TABLE = re.compile(
    r"\bas a percentage of\b|\bpercentages? of (?:total|net|our|revenue|sales)|\bexpressed (?:as|in) percent",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StatedUnit:
    """A unit phrase stated for a whole table, its source, and the measure that it implies."""

    phrase: UnitPhrase
    source: str
    measure: Measure | None = None

    @property
    def is_percent(self) -> bool:
        """Whether the whole table is said to be in percent."""
        return self.measure is Measure.PERCENT


def table_statements(
    context: Context, corner: str, titles: Iterable[str], notes: Iterable[str] = ()
) -> tuple[StatedUnit, ...]:
    """Statements for the table as a whole, the most specific source first; `notes` are those below its rows."""
    found = list(_from_names((corner,), "corner"))
    found += _from_names(titles, "corner")
    found += _from_names((context.caption,), "caption")
    found += _from_names((context.title,), "title")
    found += _from_names(reversed(context.heading), "heading")
    found += _from_prose(reversed(context.before), "text before")
    found += _from_notes(notes)
    found += _from_prose(context.after, "text after")
    found += _from_prose(context.paragraphs, "paragraph")
    return tuple(found)


_OPENS_FOR_ALL = re.compile(r"[(\[]|\b(?:in|en) ", re.IGNORECASE)
_PERIOD_BEHIND = re.compile(
    r"(?:,\s*|\s*\()(?:(?:FY|Q[1-4]|H[12]|from|to|and|\d{4}|\d\d(?=\)|$))[\s–—/-]*){1,5}\)?[\s.:]*$",
    re.IGNORECASE,
)
"""The years that a caption ends with: "Output in GWh (2019–2021)"."""
_ENDS_FOR_ALL = re.compile(
    r".*\(\s*(?P<all>(?:all |the )?(?:numbers?|figures?|amounts|values|data) )?(?:are )?in (?P<unit>[^()]{1,40}?)"
    r"\s*\)[\s.:]*",
    re.IGNORECASE | re.DOTALL,
)
"""The end of a sentence right above a table that states its unit: "… by segment (numbers in years):"."""
_LONGEST_CAPTION = 60
_MOST_BEHIND = 3
"""Words that may follow a unit and say what is measured: "thousand tonnes carbon equivalent"."""
_FOR_ALL = re.compile(r"(?:.*\b(?:in|en) |.*\(|.*\[)?(?P<unit>[^()\[\]]{1,40}?)[)\]]?\s*", re.IGNORECASE | re.DOTALL)


def unit_for_all(context: Context, corner: str, titles: Iterable[str]) -> tuple[UnitPhrase, str] | None:
    """The unit, other than money and percent, that a text states for the whole table: "Output in GWh".

    It is on its own, in brackets or after "in" at the end of a title row, the caption, title or a heading,
    makes the whole corner or a line below a title; or it ends the text right above the table.
    """
    titles = list(titles)
    for line in titles[1:]:
        alone = _unit_alone(line.strip(" ()[]"), titles[0]) if may_name_unit(line) else None
        if alone is not None and is_other_unit(alone):
            return alone, "corner"
    sources = (
        *((text, "corner") for text in titles),
        (context.caption, "caption"),
        (context.title, "title"),
        *((text, "heading") for text in reversed(context.heading)),
    )
    whole_corner = None
    if 0 < len(corner) <= 40 and may_name_unit(corner):
        whole_corner = parse_unit_phrase(corner.strip(" ()[]").removeprefix("in "))
    if whole_corner is not None and is_other_unit(whole_corner):
        return whole_corner, "corner"
    for text, source in sources:
        text = _PERIOD_BEHIND.sub("", text) if len(text) <= 300 else text
        if not 0 < len(text) <= 300 or not (_OPENS_FOR_ALL.search(text) and may_name_unit(text)):
            continue
        match = _FOR_ALL.fullmatch(text)
        phrase = parse_unit_text(f"({match['unit']})") if match else None
        if match and phrase is None:
            phrase = parse_unit_phrase(match["unit"], text[: match.start("unit")])
        if match and phrase is not None and is_other_unit(phrase) and match["unit"].strip() != text.strip():
            return phrase, source
    above = context.before or context.paragraphs
    found = _unit_at_end(above[-1][-300:]) if above else None
    return (found, "text before") if found else None


def _unit_alone(line: str, name: str) -> UnitPhrase | None:
    """The unit of a line that is nothing else, or a scale and a unit followed by what is measured."""
    words = line.split()
    for count in range(len(words), max(len(words) - _MOST_BEHIND, 1) - 1, -1):
        phrase = parse_unit_phrase(" ".join(words[:count]), name)
        if phrase is not None:
            return phrase if count == len(words) or (phrase.scale and phrase.unit) else None
    return None


def _unit_at_end(text: str) -> UnitPhrase | None:
    """The unit that the text right above a table ends with, in brackets, or in a line that is like a caption."""
    text = _PERIOD_BEHIND.sub("", text.strip(" *_"))
    match = _ENDS_FOR_ALL.fullmatch(text)
    if match is None and len(text) <= _LONGEST_CAPTION and " in " in text and not text.rstrip().endswith("."):
        match = _FOR_ALL.fullmatch(text.rstrip(" :"))
    phrase = parse_unit_text(f"({match['unit']})") if match else None
    if match and phrase is None and match["unit"].strip().lower() == "years":
        phrase = UnitPhrase("YR")
    if match is None or phrase is None:
        return None
    of_all = phrase.unit == "YR" and bool(match.groupdict().get("all"))
    return phrase if of_all or is_other_unit(phrase) else None


def is_other_unit(phrase: UnitPhrase) -> bool:
    """Whether a phrase names a unit other than a currency, a percentage or years."""
    return phrase.unit is not None and phrase.unit not in {"PERCENT", "YR"} and not phrase.unit.startswith("CCY_")


def _from_names(texts: Iterable[str], source: str) -> Iterator[StatedUnit]:
    for text in texts:
        if not text or len(text) > LONGEST_TEXT:
            continue
        phrase, measure = parse_unit_text(text), None
        if source in {"corner", "caption", "note"}:
            measure = find_measure(without_exception(text))
        if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
            yield StatedUnit(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        elif phrase is not None:
            counts = source == "corner" and measure in {Measure.SHARES, Measure.COUNT}
            yield StatedUnit(phrase, source, measure if counts else None)
        elif _PERCENT_TABLE.search(text):
            yield StatedUnit(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        elif phrase := next(filter(None, map(_scale_of_things, _BRACKETED.findall(text))), None):
            yield StatedUnit(phrase, source, Measure.COUNT)
        else:
            yield from _from_prose((text,), source)


_UNIT_NOTE = re.compile(r"\s*(?:units?|einheit|unité|unidad|unità)\s*:\s*(?P<unit>\S.{0,60})", re.IGNORECASE)
"""A note that states the unit of all numbers: "Unit: % of GDP"."""

_OF_ALL = re.compile(
    r"\s*(?:notes?: *)?(?:all )?(?:amounts|figures|values|prices"
    r"|(?:alle )?(?:angaben|beträge|werte|preise)|montants|chiffres)\b",
    re.IGNORECASE,
)


def _from_notes(texts: Iterable[str]) -> Iterator[StatedUnit]:
    for text in texts:
        if match := _UNIT_NOTE.fullmatch(text.rstrip()):
            yield from _from_names((match["unit"],), "note")
            continue
        for part in re.split(r"[;.](?:\s|$)", text[:LONGEST_TEXT]):
            phrase = parse_unit_text(part) if _OF_ALL.match(part) else None
            if phrase is not None and phrase.is_money:
                yield StatedUnit(phrase, "note")
        yield from _from_prose((text,), "note")


def _from_prose(texts: Iterable[str], source: str) -> Iterator[StatedUnit]:
    """Phrases inside sentences: only in the set forms of reports, never a mere amount ("$5 million")."""
    for text in texts:
        text = text[:LONGEST_TEXT]
        phrase = None if is_bare_scale(text) else parse_unit_phrase(text.strip())
        if phrase is not None and phrase.scale in _SCALES:
            yield StatedUnit(phrase, source)
            continue
        for match in _BRACKETED.finditer(text):
            phrase = parse_unit_phrase(match[1])
            if phrase is not None and (phrase.scale in _SCALES or phrase.share_scale in _SCALES):
                yield StatedUnit(phrase, source)
        for match in _PROSE.finditer(text):
            phrase = parse_unit_phrase(match[0].strip(" ()"))
            if phrase is not None and phrase.scale:
                yield StatedUnit(phrase, source)


_BY_KIND: Final = frozenset({"kind of money", "divided by"})
_EXPRESSLY: Final = frozenset({"expressly counted"})
_SUMMARY: Final = frozenset({"total", "statistic"})
_SCALED_SUBJECT = re.compile(
    r"\s*(?P<subject>[^\W\d_]{3,})\b[^()\[\].:;]{0,60}"
    rf"\b(?P<scale>in (?:{'|'.join(map(re.escape, PLAIN_SCALES))}))[\s.]*",
    re.IGNORECASE,
)
"""A text that says of what its scale is: "Passengers per weekday in thousands". Money is in one scale throughout."""
_FIGURE = re.compile(r"[-–—(~<>≈+]*\s?\d[\d.,'’ ]*\)?")


def _scale_of_things(text: str) -> UnitPhrase | None:
    """The scale of things that are counted, and no money: "cans and packs in millions"."""
    said = _SCALED_SUBJECT.fullmatch(without_exception(text))
    if said is None or senses(text, _BY_KIND, ANY) or parse_unit_phrase(f"{said['subject']} {said['scale']}"):
        return None
    return parse_unit_phrase(said["scale"])


def _is_by_kind(text: str) -> bool:
    """Whether rows are kinds of an amount by the name of their table: "Expenditure by type"."""
    told = [one.sense for one in senses(text, _BY_KIND, ANY)]
    return "kind of money" in told and "divided by" in told[told.index("kind of money") :]


class TableClues:
    """The clues of one table: of its columns and groups, of its cells, and of what surrounds it."""

    def __init__(self, table: Table, decided: UnitPhrase | None = None) -> None:
        """`decided` is a user's mapping of the whole table; it takes precedence over texts."""
        self._table = table
        structure = table.structure
        titles = [text for row in structure.titles for text in _titles_in(table.grid.head[row])]
        corners = [table.grid.head[row][structure.label_column : structure.label_column + 1]
                   for row in structure.header]  # fmt: skip
        if len(corners) > 1:
            titles += [text for cells in corners for text in cells if text.strip()]
        context, corner, prints = table.context, structure.corner, column_prints(table)
        near = (context.title, context.caption, *context.heading, *titles, *context.before, *context.after, corner)
        headers = [name for column in table.columns for name in column.path]
        printed = {LOCAL_DEFAULTS.get(p.currency or "", "kr" if p.krone else "") for p in prints}
        texts = [text[:LONGEST_TEXT] for text in (*near, *headers, *_notes(table))]
        self._local = local = local_currencies(texts, frozenset(printed))
        if local:
            titles = [with_local(text, local) for text in titles]
            context, corner = _context_in(context, local), with_local(corner, local)
        kroner = currency_unit(local["kr"]) if "kr" in local else None
        self.prints = tuple(
            replace(p, currency=self.localized(p.currency) or (kroner if p.krone else None)) for p in prints
        )
        self.statements = table_statements(context, corner, titles, _notes(table))
        if decided is not None and decided != _NOTHING:
            percent = Measure.PERCENT if decided.unit == "PERCENT" else None
            self.statements = (StatedUnit(decided, MAPPING, percent), *self.statements)
        units = list(self._unit_texts())
        among_units = any(is_plain_unit(parse_unit_phrase(unit)) for unit in units if unit)
        self.columns = tuple(
            tuple(clues_of_column(self._named(path), unit, printed, among_units=among_units))
            if index != structure.label_column
            else ()
            for index, (path, unit, printed) in enumerate(zip(header_paths(table), units, self.prints, strict=True))
        )
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
        self._kinds_of_money = any(map(_is_by_kind, named))
        self._units_of_rows: dict[str, Clue | None] = {}

    def localized(self, unit: str | None) -> str | None:
        """The currency of the country that the texts name, for one that a sign of several stands for."""
        sign = LOCAL_DEFAULTS.get(unit or "")
        return currency_unit(self._local[sign]) if sign in self._local else unit

    def scale_of(self, column: int) -> StatedUnit | None:
        """The scale stated for the table, where it is one of this column too."""
        return self.scale if self._scaled is None or column in self._scaled else None

    def _find_scaled(self) -> frozenset[int] | None:
        """The columns of what the title's scale is of, and those of periods; None for all columns."""
        if self.scale is None or self.scale.source not in {"caption", "title"} or self.currency is not None:
            return None
        context = self._table.context
        said = _SCALED_SUBJECT.fullmatch(context.caption if self.scale.source == "caption" else context.title)
        if said is None or senses(said["subject"], _BY_KIND, ANY):
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
        return tuple(with_local(name, self._local) for name in path) if self._local else path

    def of_row(self, label: str) -> Clue | None:
        """The evidence in a row's label; where amounts are given by kind, "Staff" is a kind of cost and no count."""
        if _FIGURE.fullmatch(label):  # the row of number 1000 has no thousands
            return None
        clue = read_clue(with_local(label, self._local), "row")
        if (
            self._kinds_of_money
            and clue is not None
            and clue.measure is Measure.COUNT
            and self.currency is not None
            and not senses(label, _EXPRESSLY, ANY)
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
        """The evidence of unit columns, with the clues `units` in a row, on a number in a column."""
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
            totals = {c.index for c in self._table.columns if c.path and is_called(c.path[-1], _SUMMARY, ANY)}
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
        is alone in its row covers all columns.
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
        """The statement that the whole table is in percent, unless one as near states a scale."""
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


_NUMBER_OF_ITS_OWN = re.compile(r"[:=\s]*(?!(?:19|20)\d\d\s*$)[-+−]?\d[\d.,'’\s]*")


def _titles_in(cells: Row) -> list[str]:
    """The texts of a title row but those that name a number next to them: "View volume (%) | 100.0"."""
    texts = [text for text in cells if text.strip()]
    following = zip_longest(texts, texts[1:], fillvalue="")
    return [text for text, behind in following if not _NUMBER_OF_ITS_OWN.fullmatch(behind)]


def _notes(table: Table) -> Iterator[str]:
    for row in sorted(table.structure.footnotes)[:_MOST_NOTES]:
        cells = table.grid.head[row] if row < len(table.grid.head) else ()
        yield ",".join(dict.fromkeys(text for text in cells if text.strip()))


def _context_in(context: Context, local: Mapping[str, str]) -> Context:
    """The texts around a table with the codes of the currencies that their signs stand for."""
    told = {name: tuple(with_local(text, local) for text in getattr(context, name)) for name in ("heading", "before")}
    return replace(context, title=with_local(context.title, local), caption=with_local(context.caption, local), **told)


def _unit_of(clues: tuple[Clue, ...]) -> tuple[str | None, Measure | None]:
    return clues[0].phrase.unit, clues[0].measure
