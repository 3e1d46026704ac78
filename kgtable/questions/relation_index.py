"""What can be looked up in a relation: the words of its title, its headers and its cells, made once for a table."""

from __future__ import annotations

import re
from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import TypeAlias

import numpy as np

from kgtable.errors import UnknownColumnError
from kgtable.programs.algebra import ColumnRef, RowChoice, ValueKind
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.relation import NAMING, ColumnData, MemberKind, Relation, RelationColumn, distinct
from kgtable.programs.scalars import key_of, number_in, text_of
from kgtable.questions.english import english, fold, months, unit_named, word_stem, words_of_type
from kgtable.tables.discovery import FORMATS
from kgtable.tables.model import MeasureKind, Role
from kgtable.text.words import stem as stemmed
from kgtable.values.periods import find_period
from kgtable.values.text import text_cache
from kgtable.values.units import quantity_kind

MOST_VALUES = 20_000
"""Different values of a column that are looked up."""

MOST_SPELT = 500
"""Different texts of a column that are compared in their spelling."""
ROWS_ADDED = 20
"""Rows in which a total is compared with the sum of its parts."""

LONGEST_VALUE = 12
"""Words of a cell that is looked up as a whole."""

_WORD = re.compile(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?![^\W_])|[^\W_]+(?:['’][^\W_]+)*|[%#]"
)  # as questions are cut, so that "7b" and "A380" are one word in both
_JOINT = re.compile(r"(?<=\d)(?=[^\W\d_])")
"""Between a number and the unit written without a space: a question may say "20 m" for "20m"."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLOCK = re.compile(r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?", re.IGNORECASE)
_YEAR_AND_MONTH = re.compile(r"(?<!\d)(?:19|20)\d\d[-_.]?(0[1-9]|1[0-2])(?!\d)")
_FRACTIONS = quantity_kind("FRACTION")
_UNIT_PART = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*")
_SIGNS = str.maketrans(dict.fromkeys("¹²³⁴⁵⁶⁷⁸⁹⁰*†‡", " "))
_MARK = re.compile(r"\[[^\[\]]{1,8}\]")
_OWN_SHARE = re.compile(r"(.+?)\s+(?:share|percentage)\b", re.IGNORECASE)
_SHARE_OF = re.compile(r"(?:%|\bper ?cent(?:age)?|\bshare|\bproportion)\s+of\s+(.+)", re.IGNORECASE)


@text_cache(100_000)
def stems_of(text: str) -> tuple[str, ...]:
    """The stems of a cell or a text, footnote marks left out.

    >>> stems_of("Café openings[1] (2,014)")
    ('cafe', 'open', '2014')
    """
    plain = _MARK.sub(" ", text[:400]).replace("_", " ").translate(_SIGNS)
    found = []
    for match in _WORD.finditer(plain):
        word = fold(match[0])
        found.append(word.replace(",", "") if word[0].isdigit() else word_stem(word))
    return tuple(found)


def name_stems(text: str) -> tuple[str, ...]:
    """The stems of a header or a table's id, whose words may be joined as in ``OrderDate``.

    >>> name_stems("OrderDate"), stems_of("Almer GmbH")
    (('order', 'date'), ('almer', 'gmbh'))
    """
    return stems_of(_CAMEL.sub(" ", text[:400]))


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column as candidates use it."""

    ref: ColumnRef
    name: str
    kind: ValueKind
    role: Role
    stems: tuple[str, ...]
    own: tuple[str, ...]
    aspects: frozenset[str]
    """The stems, and words for what its values measure: a duration is a time, money is a price."""
    key_words: frozenset[str]
    units: tuple[str | None, ...]
    period: str
    label: bool
    distinct: int
    filled: int
    missing: int
    place: int
    unit_hint: str | None
    personal: bool
    placelike: bool
    timelike: bool
    whole: frozenset[str] = frozenset()
    """The stems of what its values are shares of: *total* and *revenue* for "% of total revenue"."""
    key: int = -1
    """The place of the identifier whose rows this column names; -1 for none."""
    clock: bool = False
    """Whether it holds times of the day, as 09:30."""
    unit_stems: frozenset[str] = frozenset()
    """The stems of what is in brackets in its header, such as *CFU* of "E. coli (CFU/100 mL)"."""
    variant: str | None = None
    """The variant of its measure, such as *actual* as opposed to *budget*."""
    adds_up: bool = False
    """Whether its values are counts or amounts, which add up."""
    names: tuple[tuple[str, ...], ...] = ()
    """Stems of other names for it: the header as it is written (*pH*), what an abbreviation stands for (*Pts*)."""

    @property
    def numeric(self) -> bool:
        """Whether sums or extremes of its numbers make sense."""
        return self.kind in (ValueKind.QUANTITY, ValueKind.DURATION)

    @property
    def temporal(self) -> bool:
        """Whether it holds dates or periods."""
        return self.kind in (ValueKind.DATE, ValueKind.PERIOD)

    @property
    def quantity(self) -> bool:
        """Whether it counts things: pieces, copies, a stock; a price for each of them does not."""
        return self.measure and _PRICE not in self.aspects and bool(set(self.stems) & words_of_type("quantity"))

    @property
    def measure(self) -> bool:
        """Whether it may be summed or averaged."""
        return self.numeric and self.role not in NAMING

    @property
    def is_money(self) -> bool:
        """Whether its values are amounts of currencies."""
        return bool(self.units) and all((unit or "").startswith("CCY_") for unit in self.units)

    @property
    def sortable(self) -> bool:
        """Whether it may rank rows."""
        return (self.numeric or self.temporal or self.role is Role.ORDINAL) and (self.role is not Role.IDENTIFIER)


class TableIndex:
    """Index of a relation: words of its title, its headers and its cells."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.id = relation.id
        table = relation.tables[0]
        context = table.context
        stem = re.sub(r"[#/_.\-]+|(?<=\D)(?=\d)", " ", relation.id)
        self.id_stems = frozenset(name_stems(stem)) | _month_in(relation.id)
        titles: list[str | None] = [context.caption, context.title, *context.heading]
        titles += [cell for row in table.structure.titles[:6] for cell in table.grid.head[row]]
        titles.append(table.structure.corner)
        suffix = PurePosixPath(table.grid.source.path).suffix.lower()
        titles += [table.grid.source.sheet, suffix, FORMATS[suffix].label if suffix in FORMATS else None]
        self.title_stems = frozenset(s for text in titles if text for s in name_stems(text)) | self.id_stems
        self.members = len(relation.select(RowChoice.MEMBERS))

    @cached_property
    def columns(self) -> tuple[ColumnView, ...]:
        """The columns."""
        relation = self.relation
        label = relation.label_column()
        views = [self._view(index, index == label) for index in range(len(relation.columns))]
        key = next((view for view in views if view.label and view.role is Role.IDENTIFIER), None)
        named = None if key is None else _naming(views, key)
        if key is not None and named is not None:
            views[key.place] = replace(key, label=False)
            views[named.place] = replace(named, label=True, key=key.place)
        return tuple(views)

    @cached_property
    def header_words(self) -> Mapping[str, str]:
        """The long words of headers, and their plurals, with their stems."""
        words = (word for view in self.columns for word in re.findall(r"[a-z]{6,}", view.name.casefold()))
        return {form: word_stem(word) for word in words for form in (word, f"{word}s")}

    def has_word(self, stem: str) -> bool:
        """Whether the title, a header or a cell has a word of this stem."""
        in_header = any(stem in view.aspects for view in self.columns)
        return in_header or stem in self.title_stems or bool(self.cells.words.get(stem))

    def adds_up(self, whole: ColumnView, parts: Sequence[ColumnView]) -> bool:
        """Whether a column is the sum of others, in the first rows."""
        columns = [self.relation.data(view.place) for view in (whole, *parts)]
        rows = range(min(len(columns[0]), ROWS_ADDED))
        cells = [[cell for data in columns if (cell := data[row]) is not None] for row in rows]
        numbers = [[cell.number for cell in row if cell.number is not None] for row in cells]
        full = [row for row in numbers if len(row) == len(columns)]
        return bool(full) and all(row[0] == sum(row[1:]) for row in full)

    @cached_property
    def cells(self) -> CellIndex:
        """The cells by their words."""
        return CellIndex(self.relation)

    @cached_property
    def group_values(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The headings over rows: pseudo column, text, stems."""
        found = {}
        if any(table.structure.groups for table in self.relation.tables):
            for level in ("1", "2", "3"):
                data = self.relation.pseudo(f"@group{level}")
                for code in data.used():
                    text = str(data.values[code].value)
                    found[f"@group{level}", text] = stems_of(text)
        return tuple((name, text, stems) for (name, text), stems in found.items())

    @cached_property
    def has_totals(self) -> bool:
        """Whether it has total rows or aggregates among its members."""
        return bool(((self.relation.kinds == MemberKind.TOTAL) | (self.relation.kinds == MemberKind.TOTAL)).any())

    def _reference(self, header: str, index: int) -> str | int:
        """The header where it names this column alone, else the index."""
        number = self.relation.in_table(index)
        try:
            return header if header and self.relation.resolve(header) == index else number
        except UnknownColumnError:
            return number

    def _view(self, index: int, label: bool) -> ColumnView:
        column = self.relation.columns[index]
        data = self.relation.data(index)
        own = column.path[-1] if column.path else ""
        plain = _UNIT_PART.sub(" ", column.header).strip() or column.header
        stems = tuple(dict.fromkeys(name_stems(plain)))
        own_stems = tuple(dict.fromkeys(name_stems(_UNIT_PART.sub(" ", own).strip() or own)))
        hint = unit_at_end(own)
        if hint is not None:
            ending = name_stems(own)[-1]
            stems = tuple(stem for stem in stems if stem != ending) or stems
            own_stems = tuple(stem for stem in own_stems if stem != ending) or own_stems
        if hint is None and column.meaning.quantity_kind == _FRACTIONS and not set(column.units) - NO_UNIT:
            hint = "FRACTION"
        key_words: frozenset[str] = frozenset()
        if column.role in NAMING or {"id", "key", "code"} & set(own_stems):
            keys = words_of_type("key")
            key_words = keys & set(stems)
            if key_words & words_of_type("numbering"):  # a "Permit No" is a permit number
                key_words |= {"number"}
            stems = tuple(stem for stem in stems if stem not in keys) or stems
            own_stems = tuple(stem for stem in own_stems if stem not in keys) or own_stems
        filled = int((data.codes >= 0).sum())
        said = frozenset(stems)
        clock = column.kind is ValueKind.DATE and _is_clock(data)
        written = tuple(dict.fromkeys(stems_of(plain[:400])))
        names = () if set(written) == said else (written,)
        shared = _SHARE_OF.search(own) or ("PERCENT" in column.units and _OWN_SHARE.match(plain)) or None
        return ColumnView(
            ColumnRef(self._reference(column.header, index), self.id),
            column.name,
            column.kind,
            column.role,
            stems,
            own_stems,
            frozenset(stems) | _measured_by(column, hint, clock) | _ranked(column.role, own_stems),
            key_words,
            column.units if column.kind is ValueKind.QUANTITY else (),
            _period_of(column.header),
            label,
            _different(data) if len(data) <= 100_000 else MOST_VALUES,
            filled,
            len(data) - filled,
            index,
            hint,
            bool(said & words_of_type("person")),
            bool(said & words_of_type("place")),
            bool(said & words_of_type("time")) or column.kind in (ValueKind.DATE, ValueKind.PERIOD),
            frozenset(name_stems(shared[1])) if shared else frozenset(),
            clock=clock,
            unit_stems=frozenset(
                stem for part in _UNIT_PART.findall(column.header) for stem in name_stems(part) if stem.isalpha()
            ),
            variant=column.meaning.variant,
            adds_up=column.meaning.kind in (MeasureKind.COUNT, MeasureKind.AMOUNT, MeasureKind.DURATION),
            names=names,
        )


def _naming(views: Sequence[ColumnView], key: ColumnView) -> ColumnView | None:
    """The column that names the rows which an identifier numbers: different texts, a *name* or *title* first.

    Without these, what a *Learner No* numbers is a learner; a "Claim" is called by its number.
    """
    unique = [
        view
        for view in views
        if view.kind is ValueKind.TEXT
        and view.role not in NAMING
        and view.distinct == view.filled > 1
        and not view.missing
    ]
    other = unique[0] if unique and key.key_words else None
    return next((view for view in unique if _NAMES & set(view.stems)), other)


Place: TypeAlias = tuple[int, int]
"""A value: the number of its column, and its code there."""


def _different(data: ColumnData) -> int:
    """How many distinct values there are; among a few texts, spellings of one name count once."""
    used = data.used()
    if len(used) > MOST_SPELT or not all(isinstance(data.values[code].value, str) for code in used):
        return len(used)
    return len({key_of(data.values[code]) for code in used})


class CellIndex:
    """Values of cells by their stems, whole and single words, and by the number that they are."""

    def __init__(self, relation: Relation, codes: Mapping[int, Sequence[int]] | None = None) -> None:
        """The first `MOST_VALUES` of each column, or those with these `codes`."""
        self.whole: MutableMapping[tuple[str, ...], list[Place]] = defaultdict(list)
        self.words: MutableMapping[str, list[Place]] = defaultdict(list)
        self.numbers: MutableMapping[Decimal, list[Place]] = defaultdict(list)
        self.prefixes: MutableMapping[str, list[Place]] = defaultdict(list)
        self.stems: MutableMapping[Place, tuple[str, ...]] = {}
        self.relation = relation
        self._further: dict[int, FurtherValues] = {}
        headings = relation.kinds == MemberKind.HEADING
        for index in range(len(relation.columns)) if codes is None else codes:
            data = relation.data(index)
            kind, _role = relation.typing(index)
            elsewhere = set(data.codes[~headings].tolist()) if headings.any() else None
            label = index == relation.label_column()
            used = data.used() if codes is None else codes[index]
            if codes is None and len(used) > MOST_VALUES:
                self._further[index] = FurtherValues(data, used[MOST_VALUES:])
            for code in used[:MOST_VALUES]:
                datum = data.values[code]
                if elsewhere is not None and code not in elsewhere and not (label and datum.kind is ValueKind.TEXT):
                    continue  # a year that heads rows is looked up as their group
                place = index, code
                text = text_of(datum)
                if isinstance(datum.value, Decimal) and datum.kind is not ValueKind.TEXT:
                    printed = number_in(text) if text else None
                    for value in {printed if printed is not None else datum.value, datum.value}:
                        self.numbers[value].append(place)
                    if kind is not ValueKind.TEXT:
                        continue  # a name such as "500 L" among texts is found by its words, too
                if isinstance(datum.value, bool):
                    continue
                stems = stems_of(text)
                self.stems[place] = stems
                if not stems:
                    continue
                if len(stems) <= LONGEST_VALUE:
                    self.whole[stems].append(place)
                    apart = name_stems(_JOINT.sub(" ", text))
                    if stems[-1] == _TOTAL and len(stems) > 1:  # "Income total" is the total income
                        self.whole[_TOTAL, *stems[:-1]].append(place)
                    forms = dict.fromkeys(
                        (*_months_of(stems), stems_of(_UNIT_PART.sub(" ", text)), apart, *_reversed(text, stems))
                    )
                    for other in forms:
                        if other and other != stems:
                            self.whole[other].append(place)
                for word in dict.fromkeys(stems):
                    self.words[word].append(place)
                    if len(word) >= 5 and word.isalpha():
                        self.prefixes[word[:4]].append(place)
                if text[:1].isdigit() and (number := number_in(text)) is not None and len(stems) <= 2:
                    self.numbers[number].append(place)

    def said_in(self, words: Sequence[str]) -> CellIndex:
        """The index with the values that come later in long columns and have words of a question in them."""
        codes = {index: found for index, further in self._further.items() if (found := further.with_words(words))}
        if not codes:
            return self
        united = CellIndex(self.relation, codes)
        united.stems = ChainMap(united.stems, self.stems)
        for name in ("whole", "words", "numbers", "prefixes"):
            new, old = getattr(united, name), getattr(self, name)
            setattr(united, name, ChainMap({key: [*places, *old.get(key, ())] for key, places in new.items()}, old))
        return united

    def text(self, place: Place) -> str:
        """The printed text of a value."""
        return text_of(self.relation.data(place[0]).values[place[1]])

    def rows(self, place: Place) -> list[int]:
        """The places of the rows that hold a value."""
        found: list[int] = (self.relation.data(place[0]).codes == place[1]).nonzero()[0].tolist()
        return found


MOST_FURTHER = 200
"""Values of a long column that one question is compared with, in addition to the first `MOST_VALUES`."""


class FurtherValues:
    """Values of a long column as one text, in which those with words of a question are looked for."""

    def __init__(self, data: ColumnData, codes: Sequence[int]) -> None:
        self._codes = codes
        texts = [text_of(data.values[code]).lower().replace("\n", " ") for code in codes]
        self._text = "\n".join(texts)
        self._ends = np.cumsum([len(text) + 1 for text in texts])

    def with_words(self, words: Sequence[str]) -> list[int]:
        """The codes of the values with the words that the fewest have, the best first; a word that more than
        `MOST_VALUES` have says nothing."""
        found: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words):
            places = [match.start() for match in islice(re.finditer(re.escape(word), self._text), MOST_VALUES + 1)]
            held = distinct(np.searchsorted(self._ends, places, "right")).tolist()
            if len(places) <= MOST_VALUES:
                for value in held:
                    found[value] += 1 / len(held)
        best = sorted(found, key=lambda value: (-found[value], value))[:MOST_FURTHER]
        return [self._codes[value] for value in best]


def index_of(relation: Relation) -> TableIndex:
    """The index of a relation, made at the first use and kept with it."""
    found = relation.kept.get(TableIndex)
    if found is None:
        found = relation.kept[TableIndex] = TableIndex(relation)
    assert isinstance(found, TableIndex)
    return found


_IN_TIMES = re.compile(r"(?<!per )\b(?:seconds|minutes|hours|days|weeks|months)\b", re.IGNORECASE)
"""A length of time that a header counts without a unit: "minutes to solve"."""
_PRICE = stemmed("price")
_RANK = frozenset({stemmed("rank")})
_TOTAL = stemmed("total")
_NAMES = frozenset(map(stemmed, ("name", "title")))


def _ranked(role: Role, stems: tuple[str, ...]) -> frozenset[str]:
    """*Rank* for an ordinal column that abbreviates it."""
    short = role is Role.ORDINAL and len(stems) == 1 and stems[0] in words_of_type("rank")
    return _RANK if short else frozenset()


def _measured_by(column: RelationColumn, hint: str | None, clock: bool) -> frozenset[str]:
    """Words for what the values of a column measure, by their kind and units; `clock` for times of the day."""
    if column.kind is ValueKind.DURATION:
        return _measures()["SEC"]
    if column.kind in (ValueKind.DATE, ValueKind.PERIOD):
        return _measures()["SEC" if clock else "date"]
    if column.kind is not ValueKind.QUANTITY:
        return frozenset()
    units = {unit for unit in (*column.units, hint) if unit and unit not in NO_UNIT}
    if not units and _IN_TIMES.search(column.header.replace("_", " ")):
        return _measures()["SEC"]
    if any(unit.startswith("CCY_") for unit in units):
        return _measures()["CCY"]
    known = (
        words for unit, words in _measures().items() if unit != "date" and any(comparable(unit, one) for one in units)
    )
    return next(known, frozenset()) if units else frozenset()


def _months_of(stems: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A month by its other names: *October* for "Oct"."""
    if len(stems) == 1 and stems[0] in _stems_of_months():
        yield from ((stem,) for stem in _stems_of_month(_stems_of_months()[stems[0]]))


def _stems_of_month(number: int) -> list[str]:
    return [stem for stem, other in _stems_of_months().items() if other == number]


def _month_in(id: str) -> frozenset[str]:
    """The names of the month that a table's id ends with, as in ``bill-2024-03``."""
    found = _YEAR_AND_MONTH.search(id)
    return frozenset(_stems_of_month(int(found[1]))) if found else frozenset()


@cache
def _stems_of_months() -> Mapping[str, int]:
    return {word_stem(name): number for name, number in months().items()}


def _reversed(text: str, stems: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A person's name in the other order: *Kate Dorsey* for "Dorsey, Kate" and for "Dorsey Kate"."""
    family, comma, given = text.partition(",")
    if comma and len(stems) <= 4 and "," not in given:
        yield stems_of(given) + stems_of(family)
    elif len(stems) == 2 and all(word[:1].isupper() and word.isalpha() for word in text.split()):
        yield stems[1], stems[0]


def _is_clock(data: ColumnData) -> bool:
    """Whether the first values of a column are times of the day, as 09:30."""
    first = [text_of(data.values[code]).strip() for code in data.used()[:5]]
    return bool(first) and all(_CLOCK.fullmatch(text) for text in first)


@cache
def _measures() -> Mapping[str, frozenset[str]]:
    """Words for what is measured in a unit, by that unit."""
    return {unit: frozenset(map(stemmed, words.split())) for unit, words in english()["measures"].items()}


def unit_at_end(header: str) -> str | None:
    """The unit that a header without brackets ends with: ``weight_kg``."""
    parts = re.split(r"[_\s]+", header.strip())
    if len(parts) < 2 or "_" not in header:
        return None
    return unit_named(parts[-1]) or unit_named(parts[-1].upper())


def _period_of(header: str) -> str:
    """The period of a header: a year, a quarter, a month or a quarter of any year."""
    plain = header.strip()
    if match := re.fullmatch(r"(?:q ?[1-4]|h ?[12])", plain.casefold()):
        return f"--{match[0].replace(' ', '').upper()}"
    if plain.casefold().strip(".") in months():
        return f"--{months()[plain.casefold().strip('.')]:02d}"
    found = find_period(plain)
    if found is None:
        match = re.search(r"(?<!\d)(?:FY\s?|F)['’]?(\d\d)(?!\d)", plain)
        return f"20{match[1]}" if match else ""
    return found
