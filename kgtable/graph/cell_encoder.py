"""Body cells as statements: texts, dates and markers as literals, numbers as QUDT quantities.

This is the innermost loop of a conversion. It goes by columns: a chunk of some hundred rows has few shapes of numbers
and few first words of texts, each looked at once; what is neither a plain number nor surely a text is looked at by
itself. Cells that differ in their texts alone share a form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import compress, zip_longest
from typing import NamedTuple, TypeAlias, TypeVar

from kgtable.graph.row_forms import ColumnRun, Form, FormSlot, RowChunk
from kgtable.graph.table_content import CellContent, word_of
from kgtable.graph.tally import Tally
from kgtable.graph.terms import (
    KGT,
    MOST_PLACES,
    QUDT,
    RDF_TYPE,
    UNIT,
    XSD,
    Namespaces,
    Term,
    decimal_term,
    decimal_text,
    exact_decimal,
    integer,
    is_decimal,
    is_plain,
    text_literal,
    typed,
)
from kgtable.ontology.annotate import AnnotatedTable
from kgtable.ontology.cell_units import Quantity, Reading, RowContext
from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact
from kgtable.tables.column_profile import CellKind, CellValue, has_simple_numbers, sure_words, type_cell
from kgtable.tables.model import Row
from kgtable.values.numbers import Number, read_simple
from kgtable.values.plain_numbers import number_texts, read_shape, shapes_of
from kgtable.values.units import SCALE_LETTERS

_DECIMAL = f"^^<{XSD}decimal>"
_APPROXIMATE = (f"<{KGT}approximate>", f'"true"^^<{XSD}boolean>')


class Alike(NamedTuple):
    """The properties that quantities of one form share; `period` is that of the column.

    A plain one is an exact number in one of the simplest forms, whose texts need no escapes. `by_row`: its row has a
    period.
    """

    column: int
    reading: Reading
    period: str | None = None
    by_row: bool = False
    is_plain: bool = False
    is_range: bool = False
    approximate: bool = False
    marks: tuple[str, ...] = ()


def described(
    number: Number, quantity: Quantity, text: str, column: int, own: str | None, row: str | None
) -> tuple[Alike, tuple[str, ...]]:
    """The shared properties of a quantity, and the texts of its form; `own` and `row` are periods of column and row.

    The texts are in slots 1 to 6: value (for a range, the lower bound), note, signed string, text, period, upper bound.
    """
    value = number.value
    reading = Reading(quantity.unit, quantity.scale, quantity.unit_from, quantity.scale_from, quantity.denominator)
    is_range = quantity.upper is not None
    alike = Alike(column, reading, own, not own and bool(row), False, is_range, number.approximate, number.marks)
    note = "POSITIVE" if value > 0 else "NEGATIVE" if value else "ZERO"
    bounds = [quantity.value] if quantity.upper is None else [quantity.value, quantity.upper]
    first, *others = (decimal_term(decimal_text(format(bound, "f"))) for bound in bounds)
    return alike, (first, note, text_literal(number.signed), text_literal(text), text_literal(row or ""), *others)


def quantity_form(alike: Alike, predicate: Term, cell: FormSlot) -> Form:
    """The form of quantities with these properties, in a column of this predicate."""
    reading = alike.reading
    quoted = ('"', '"') if alike.is_plain else ("", "")
    value = FormSlot(1, '"', f'"{_DECIMAL}', ".5") if alike.is_plain else FormSlot(1)
    below: list[tuple[Term, Term | FormSlot]] = [(RDF_TYPE, f"<{QUDT}QuantityValue>")]
    if alike.is_range:
        below += ((f"<{KGT}lowerBound>", value), (f"<{KGT}upperBound>", FormSlot(6)))
    else:
        below.append((f"<{QUDT}numericValue>", value))
    below += (
        (f"<{QUDT}hasUnit>", f"<{UNIT}{reading.unit}>"),
        (f"<{KGT}note>", FormSlot(2, '"', '"')),
        (f"<{KGT}signed_str>", FormSlot(3, *quoted)),
        (_TEXT, FormSlot(4, *quoted)),
    )
    if reading.scale in SCALE_LETTERS:
        below.append((f"<{KGT}scale>", f'"{SCALE_LETTERS[reading.scale]}"'))
    if alike.period or alike.by_row:
        below.append((f"<{KGT}period>", text_literal(alike.period) if alike.period else FormSlot(5)))
    if reading.per:
        below.append((f"<{KGT}denominator>", text_literal(reading.per)))
    if alike.approximate:
        below.append(_APPROXIMATE)
    below += ((f"<{KGT}mark>", text_literal(mark)) for mark in alike.marks)
    return Form(((predicate, cell),), cell, tuple(below), alike)


_TEXT, _ROW, _COLUMN = f"<{KGT}text>", f"<{KGT}row>", f"<{KGT}column>"
PRINTED = f"<{KGT}printed>"
_PRINTED_TYPE = (RDF_TYPE, f"<{KGT}PrintedCell>")
_STORED_AS_PRINTED = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?|true|false")
_STRING = f"{XSD}string"
_TYPED_KINDS = (CellKind.NUMBER, CellKind.DATE, CellKind.YEAR, CellKind.PERIOD, CellKind.DURATION, CellKind.BOOLEAN)
_NUMBERS, _TEXTS = 0, 1
_MOST_REMEMBERED = 20_000
"""Maximum cached texts of a table, divided among its columns, and contexts of its rows."""

_FEW = 8
"""Fewer cells are looked at one by one."""

_Key = TypeVar("_Key")

_Seen: TypeAlias = tuple[int, Form | None, tuple[str, ...], Number | None]
"""The reading of a text in a column: the number of its sort (kind and range), for counting; the form and texts of a
literal, or the number to be read in its row."""

FormGroups: TypeAlias = dict[Form, tuple[Sequence[int], Sequence[Sequence[str]]]]
"""Cells of a column by their form: their places in the chunk, and the texts of each slot."""


class BodyRows(NamedTuple):
    """Successive body rows: grid indexes, cells, labels, contexts, and places by context without its period."""

    indexes: Sequence[int]
    cells: Sequence[Row]
    labels: Sequence[str]
    contexts: Sequence[RowContext]
    alike: Mapping[int, Sequence[int]]


class CellShaper:
    """Encoder of the body cells of one table, with counts of what they are."""

    def __init__(self, annotated: AnnotatedTable, names: Namespaces) -> None:
        self._annotated = annotated
        self._quantities = annotated.quantities
        self._forms: dict[Hashable, Form] = {}
        self._readings: Counter[tuple[int, Reading]] = Counter()
        self.predicates = tuple(f"<{names.predicate_iri(name)}>" for name in annotated.predicates)
        width = len(self.predicates)
        iri = names.table_iri(annotated.table.id)
        self._cells = [FormSlot(0, f"<{iri}/cell/", f"/{column}>") for column in range(width)]
        self._simple = tuple(map(has_simple_numbers, annotated.styles))
        self._seen: list[dict[str, _Seen]] = [{} for _ in range(width)]
        self._sorts = {(CellKind.NUMBER, QUANTITY): _NUMBERS, (CellKind.TEXT, _STRING): _TEXTS}
        self._counts: list[list[int]] = [[0, 0] for _ in range(width)]
        self._numeric: list[bool | None] = [simple and None for simple in self._simple]
        self._contexts: dict[tuple[object, ...], int] = {}
        self._chosen: list[dict[tuple[int, str | None], Form | None]] = [{} for _ in range(width)]

    def form(self, key: Hashable, make: Callable[[], Form]) -> Form:
        """The form of this key, made where it is new."""
        return self._forms.get(key) or self._forms.setdefault(key, make())

    def add_chunk(self, indexes: Sequence[int], cells: Sequence[Row], labels: Sequence[str]) -> list[ColumnRun]:
        """The runs of the columns in successive rows, given with their grid indexes and labels."""
        if max(len(self._forms), len(self._contexts)) > _MOST_REMEMBERED:
            self._forms.clear()
            self._contexts.clear()
            for chosen, seen in zip(self._chosen, self._seen, strict=True):
                chosen.clear()
                seen.clear()
        contexts = self._quantities.row_contexts(indexes, labels, cells)
        alike: dict[int, list[int]] = {}
        for place, (clue, parent, period, units) in enumerate(contexts):
            number = self._contexts.setdefault((clue, parent, units, period is None), len(self._contexts))
            alike.setdefault(number, []).append(place)
        rows = BodyRows(indexes, cells, labels, contexts, alike)
        return [self._column(column, texts, rows) for column, texts in enumerate(zip_longest(*cells, fillvalue=""))]

    def contents(self, chunk: RowChunk, cells: Sequence[Row]) -> Iterator[list[tuple[int, CellContent]]]:
        """What the graph will say of the cells of each row, by column; `chunk` has what `add_chunk` gave for them."""
        for row, texts in enumerate(cells):
            runs = zip(texts, chunk.runs[1:], strict=False)
            yield [(column, _content(text, *run.at(row))) for column, (text, run) in enumerate(runs) if text]

    def _column(self, column: int, texts: Sequence[str], rows: BodyRows) -> ColumnRun:
        """The run of a column: plain numbers and sure texts all at once, the rest one by one."""
        groups: FormGroups = {}
        counts = self._counts[column]
        before = counts[_NUMBERS], counts[_TEXTS]
        numeric = self._numeric[column]
        if numeric is None:
            sample = [text for text in texts[:: len(texts) // 8 + 1] if text]
            numeric = 2 * sum(read_simple(text) is not None for text in sample) > len(sample)
        finders = (self._plain_numbers, self._sure_texts) if numeric else (self._sure_texts, self._plain_numbers)
        places: Sequence[int] = range(len(texts))
        for find in finders:
            places = find(column, texts, places, rows, groups)
            if places:
                places = [place for place in places if texts[place]]
            if len(places) < _FEW:
                break
        if places:
            self._look_at_each(column, texts, places, rows, groups)
        self._numeric[column] = counts[_NUMBERS] - before[0] >= counts[_TEXTS] - before[1]
        for form, (found, _) in groups.items():
            if isinstance(form.about, Alike):
                self._readings[column, form.about.reading] += len(found)
        return ColumnRun.of(groups, len(texts))

    def _sure_texts(
        self, column: int, texts: Sequence[str], places: Sequence[int], rows: BodyRows, groups: FormGroups
    ) -> Sequence[int]:
        """Group the texts that are surely no more than that; the places of others."""
        own = _chosen_of(texts, places)
        firsts = [text.partition(" ")[0] for text in own]
        sure = sure_words(set(firsts), self._annotated.styles[column])
        if not sure:
            return places
        joined = " ".join(own)
        rest: Sequence[int] = ()
        if "&" in joined or not is_plain(joined) or not all(map(sure.__contains__, firsts)):
            fine = [
                first in sure and "&" not in text and is_plain(text) for first, text in zip(firsts, own, strict=True)
            ]
            rest = [place for place, is_fine in zip(places, fine, strict=True) if not is_fine]
            places, own = list(compress(places, fine)), list(compress(own, fine))
        if own:
            pairs = ((self.predicates[column], FormSlot(1, '"', '"')),)
            groups[self.form((column, "sure"), lambda: Form(pairs))] = (places, (own,))
            self._counts[column][_TEXTS] += len(own)
        return rest

    def _plain_numbers(
        self, column: int, texts: Sequence[str], places: Sequence[int], rows: BodyRows, groups: FormGroups
    ) -> Sequence[int]:
        """Group the plain numbers whose reading needs no more than unit and row; the places of other cells."""
        if not self._simple[column]:
            return places
        shapes = shapes_of(_chosen_of(texts, places))
        known = {shape: read_shape(shape) for shape in set(shapes)}
        rest: list[int] = []
        same: dict[tuple[int, str | None], list[int]] = {}
        units = {shape and shape.unit for shape in known.values()}
        formats = self._quantities.formats
        if len(places) == len(texts) and None not in known.values() and len(units) == 1 and not formats:
            unit = units.pop()
            same = {(number, unit): list(found) for number, found in rows.alike.items()}
        else:
            numbers = {place: number for number, found in rows.alike.items() for place in found}
            for place, shape in zip(places, shapes, strict=True):
                plain = known[shape]
                if plain is None or (formats and (rows.indexes[place], column) in formats):
                    rest.append(place)
                else:
                    same.setdefault((numbers[place], plain.unit), []).append(place)
        grouped: dict[Form, list[int]] = {}
        for key, found in same.items():
            chosen = self._chosen[column]
            if key not in chosen:
                chosen[key] = self._choose(column, rows.indexes[found[0]], rows.contexts[found[0]], key[1])
            if (form := chosen[key]) is None:
                rest += found
            else:
                grouped.setdefault(form, []).extend(found)
        by_place = shapes if len(places) == len(texts) else dict(zip(places, shapes, strict=True))
        for form, found in grouped.items():
            found.sort()
            alike = form.about
            assert isinstance(alike, Alike)
            slots = number_texts(_chosen_of(texts, found), [by_place[place] for place in found], alike.reading.scale)
            if not all(slots[0]) or max(map(len, slots[0])) > MOST_PLACES:
                fine = [value and (len(value) <= MOST_PLACES or is_decimal(Decimal(value))) for value in slots[0]]
                rest += (place for place, is_fine in zip(found, fine, strict=True) if not is_fine)
                found, slots = list(compress(found, fine)), [list(compress(slot, fine)) for slot in slots]
            if alike.by_row:
                slots.append([text_literal(rows.contexts[place].period or "") for place in found])
            groups[form] = (found, slots)
            self._counts[column][_NUMBERS] += len(found)
        return sorted(rest)

    def _choose(self, column: int, index: int, context: RowContext, unit: str | None) -> Form | None:
        """Form of plain numbers of this unit in such a row; None if that takes more."""
        reading = self._quantities.reading(index, column, context, unit)
        if reading is None:
            return None
        period = self._quantities.column_period(column)
        reading = reading._replace(per=reading.denominator, per_stated=False)  # which the form of a cell does not tell
        return self._form(Alike(column, reading, period, not period and bool(context.period), True))

    def _form(self, alike: Alike) -> Form:
        column = alike.column
        return self.form(alike, lambda: quantity_form(alike, self.predicates[column], self._cells[column]))

    def _look_at_each(
        self, column: int, texts: Sequence[str], places: Sequence[int], rows: BodyRows, groups: FormGroups
    ) -> None:
        """Group the cells at these places, reading each distinct text once."""
        memory, counts = self._seen[column], self._counts[column]
        if len(memory) > _MOST_REMEMBERED // len(self.predicates):
            memory.clear()
        found: dict[Form, tuple[list[int], list[tuple[str, ...]]]] = {}
        for place in places:
            text = texts[place]
            if (seen := memory.get(text)) is None:
                seen = memory[text] = self._typed(column, text, type_cell(text, self._annotated.styles[column]))
            sort, form, said, number = seen
            counts[sort] += 1
            if form is None:
                assert number is not None
                form, said = self._resolved(column, place, number, text, rows)
            places_of, said_of = found.setdefault(form, ([], []))
            places_of.append(place)
            said_of.append(said)
        for form, (places_of, said_of) in found.items():
            groups[form] = (places_of, list(zip(*said_of, strict=True)))

    def _resolved(
        self, column: int, place: int, number: Number, text: str, rows: BodyRows
    ) -> tuple[Form, tuple[str, ...]]:
        index, label = rows.indexes[place], rows.labels[place]
        quantity = self._quantities.resolve(number, index, column, label, rows.cells[place])
        own = self._quantities.column_period(column)
        alike, said = described(number, quantity, text, column, own, rows.contexts[place].period)
        return self._form(alike), said

    def _typed(self, column: int, text: str, value: CellValue) -> _Seen:
        kind = value.kind
        if kind is CellKind.NUMBER:
            return _NUMBERS, None, (), value.number
        literal, range_, lexical = text_literal(text), _STRING, ""
        if kind is CellKind.TEXT:
            lexical = word_of(text) or ""
        elif kind is CellKind.MISSING:
            literal, range_ = f"{literal}^^<{MISSING}>", MISSING
        elif value.lexical is not None and value.datatype is not None:
            range_ = value.datatype.replace("xsd:", XSD, 1)
            lexical = value.lexical if range_.startswith(XSD) else ""
            if value.lexical != text or _STORED_AS_PRINTED.fullmatch(text) is None:
                form = self.form((column, "printed"), lambda: self._printed_form(column))
                return self._sort(column, kind, range_), form, (typed(value.lexical, range_), literal, lexical), None
            literal = typed(value.lexical, range_)
        form = self.form((column, "literal"), lambda: Form(((self.predicates[column], FormSlot(1)),)))
        return self._sort(column, kind, range_), form, (literal, lexical), None

    def _printed_form(self, column: int) -> Form:
        cell, row = self._cells[column], FormSlot(0, '"', f'"^^<{XSD}integer>')
        below = (_PRINTED_TYPE, (_ROW, row), (_COLUMN, integer(column)), (_TEXT, FormSlot(2)))
        return Form(((self.predicates[column], FormSlot(1)), (PRINTED, cell)), cell, below)

    def _sort(self, column: int, kind: CellKind, range_: str) -> int:
        sort = self._sorts.setdefault((kind, range_), len(self._sorts))
        counts = self._counts[column]
        counts.extend([0] * (sort + 1 - len(counts)))
        return sort

    def facts(self) -> tuple[ColumnFact, ...]:
        """What the cells added so far say about each column."""
        units: list[Counter[str]] = [Counter() for _ in self.predicates]
        scales: list[Counter[int]] = [Counter() for _ in self.predicates]
        for (column, reading), count in self._readings.items():
            units[column][reading.unit] += count
            if reading.scale:
                scales[column][reading.scale] += count
        return tuple(
            self._annotated.fact(index, self._ranges(index), _ordered(units[index]), _ordered(scales[index]))
            for index in range(len(self.predicates))
        )

    def _ranges(self, column: int) -> dict[str, int]:
        ranges: Counter[str] = Counter()
        for (_, range_), count in zip(self._sorts, self._counts[column], strict=False):
            ranges[range_] += count
        return _ordered(+ranges)

    def tally(self) -> Tally:
        """The counts over all columns, with the readings of the quantities."""
        tally = Tally()
        for counts in self._counts:
            kinds: Counter[CellKind] = Counter()
            for (kind, _), count in zip(self._sorts, counts, strict=False):
                kinds[kind] += count
            tally.kinds.update({kind.value: count for kind, count in kinds.items() if count})
            if kinds[CellKind.TEXT] < sum(kinds[kind] for kind in _TYPED_KINDS):
                tally.untyped += kinds[CellKind.TEXT]
        for (_, reading), count in self._readings.items():
            tally.units[reading.unit, reading.unit_from or "nothing"] += count
            if reading.scale:
                scale = SCALE_LETTERS.get(reading.scale, f"10^{reading.scale}")
                tally.scales[scale, reading.scale_from or "nothing"] += count
        return tally


def _content(text: str, form: Form, said: Sequence[str]) -> CellContent:
    """The content of a cell by the texts of its form; for a range, the lower bound comes first."""
    if not isinstance(form.about, Alike):
        return CellContent(text, bool(form.below), (said[-1] if len(said) > 1 else "") or None)
    alike, reading = form.about, form.about.reading
    first, *upper = (_exact(value, text).removesuffix(".0") for value in (said[0], *said[5:]))
    by_row = said[4][1:-1] if len(said) > 4 else None
    period, scale = alike.period or by_row or None, SCALE_LETTERS.get(reading.scale)
    above = upper[0] if upper else None
    return CellContent(text, True, first, reading.unit, scale, said[1], period, above, reading.per)


def _exact(value: str, text: str) -> str:
    """The decimal of a plain number's text, or of a term."""
    if value[0] != '"':
        return value
    number = value[1 : value.index('"', 1)]
    return number if value.endswith(_DECIMAL) else exact_decimal(number, text)


def _chosen_of(texts: Sequence[str], places: Sequence[int]) -> Sequence[str]:
    return texts if len(places) == len(texts) else [texts[place] for place in places]


def _ordered(counts: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
