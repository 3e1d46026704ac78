"""Body cells as statements: texts, dates and markers as literals, numbers as QUDT quantities.

This is the innermost loop of a conversion. What a text in a column means is remembered; quantities
that differ in their number alone share a form; plain numbers never become `Decimal` objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from kgtable.graph.table_content import CellContent, word_of
from kgtable.graph.tally import Tally
from kgtable.graph.terms import (
    KGT,
    MOST_PLACES,
    QUDT,
    RDF_TYPE,
    UNIT,
    XSD,
    Block,
    BlockForm,
    FilledBlock,
    Namespaces,
    Pair,
    Term,
    decimal_term,
    decimal_text,
    exact_decimal,
    integer,
    scaled_decimal,
    text_literal,
    typed,
)
from kgtable.ontology.annotate import AnnotatedTable
from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact
from kgtable.ontology.quantities import Quantity, Reading, RowContext
from kgtable.tables.column_profile import CellKind, CellValue, has_simple_numbers, type_cell, type_unlike_simple
from kgtable.tables.model import Row
from kgtable.values.numbers import Number, read_simple
from kgtable.values.units import SCALE_LETTERS

_DECIMAL = f"^^<{XSD}decimal>"
_APPROXIMATE = (f"<{KGT}approximate>", f'"true"^^<{XSD}boolean>')
_MOST_FORMS = 20_000


class Alike(NamedTuple):
    """The properties that quantities of one form share; `note` is POSITIVE, NEGATIVE or ZERO."""

    column: int
    reading: Reading
    note: str
    period: str | None = None
    is_range: bool = False
    approximate: bool = False
    marks: tuple[str, ...] = ()


class QuantityForms:
    """Cache of the statement forms of one table's quantities, with how often each was used.

    The cache is emptied when it has too many forms; the counts stay, and `age` goes up: callers that keep forms
    must then drop them too.
    """

    def __init__(self) -> None:
        self.age = 0
        self._forms: dict[Alike, BlockForm] = {}
        self._retired: Counter[tuple[int, Reading]] = Counter()
        self._retired_predicates: Counter[Term] = Counter()

    def form(self, alike: Alike) -> BlockForm:
        """The form for quantities with these properties: slots for number (or bounds), signed string and text."""
        form = self._forms.get(alike)
        if form is None:
            if len(self._forms) >= _MOST_FORMS:
                self._retire()
            form = self._forms[alike] = _form(alike)
        return form

    def filled(self, number: Number, quantity: Quantity, text: str, column: int, period: str | None) -> FilledBlock:
        """The statements of one quantity."""
        value = number.value
        reading = Reading(quantity.unit, quantity.scale, quantity.unit_from, quantity.scale_from, quantity.denominator)
        note = "POSITIVE" if value > 0 else "NEGATIVE" if value else "ZERO"
        is_range = quantity.upper is not None
        form = self.form(Alike(column, reading, note, period, is_range, number.approximate, number.marks))
        form.uses += 1
        bounds = [quantity.value] if quantity.upper is None else [quantity.value, quantity.upper]
        terms = [decimal_term(decimal_text(format(bound, "f"))) for bound in bounds]
        return FilledBlock(form, (*terms, text_literal(number.signed), text_literal(text)))

    def readings(self) -> Counter[tuple[int, Reading]]:
        """How often each reading was met in each column."""
        counts = Counter(self._retired)
        for alike, form in self._forms.items():
            counts[alike.column, alike.reading] += form.uses
        return +counts

    def predicates(self) -> Counter[Term]:
        """How many statements each predicate has."""
        counts = Counter(self._retired_predicates)
        for form in self._forms.values():
            for predicate, _ in form.pairs:
                counts[predicate] += form.uses
        return +counts

    def _retire(self) -> None:
        for alike, form in self._forms.items():
            self._retired[alike.column, alike.reading] += form.uses
            for predicate, _ in form.pairs:
                self._retired_predicates[predicate] += form.uses
        self._forms.clear()
        self.age += 1


def _form(alike: Alike) -> BlockForm:
    reading = alike.reading
    pairs: list[tuple[Term, Term | int]] = [(RDF_TYPE, f"<{QUDT}QuantityValue>")]
    if alike.is_range:
        pairs += ((f"<{KGT}lowerBound>", 0), (f"<{KGT}upperBound>", 1))
    else:
        pairs.append((f"<{QUDT}numericValue>", 0))
    last = len(pairs) - 1
    pairs += (
        (f"<{QUDT}hasUnit>", f"<{UNIT}{reading.unit}>"),
        (f"<{KGT}note>", f'"{alike.note}"'),
        (f"<{KGT}signed_str>", last),
        (f"<{KGT}text>", last + 1),
    )
    if reading.scale in SCALE_LETTERS:
        pairs.append((f"<{KGT}scale>", f'"{SCALE_LETTERS[reading.scale]}"'))
    if alike.period:
        pairs.append((f"<{KGT}period>", text_literal(alike.period)))
    if reading.per:
        pairs.append((f"<{KGT}denominator>", text_literal(reading.per)))
    if alike.approximate:
        pairs.append(_APPROXIMATE)
    pairs += ((f"<{KGT}mark>", text_literal(mark)) for mark in alike.marks)
    about = (reading.unit, SCALE_LETTERS.get(reading.scale), alike.note, alike.period or None)
    return BlockForm(pairs, about)


_TEXT, _ROW, _COLUMN = f"<{KGT}text>", f"<{KGT}row>", f"<{KGT}column>"
_PRINTED = f"<{KGT}printed>"
_PRINTED_TYPE = (RDF_TYPE, f"<{KGT}PrintedCell>")
_STORED_AS_PRINTED = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?|true|false")
_STRING = f"{XSD}string"
_TYPED_KINDS = (CellKind.NUMBER, CellKind.DATE, CellKind.YEAR, CellKind.PERIOD, CellKind.DURATION, CellKind.BOOLEAN)
_NUMBERS, _TEXTS = 0, 1
_MOST_REMEMBERED, _FEWEST_REMEMBERED = 10_000, 300
"""Texts of a column that are remembered: fewer where hardly one comes twice."""

_COMES_AGAIN = 1.25
"""How often each text of a column has to come on average for more of them to be remembered."""

_Key = TypeVar("_Key")


_Simple: TypeAlias = tuple[str, str, str | None, Term, Term]
"""A number in a plain form: digits, note, unit, and the terms of its signed string and its text."""

_Seen: TypeAlias = tuple[int, Term | None, bool, Number | None, _Simple | None, str | None]
"""What a text in a column is: a literal, or a number to be read in its row.

First the number of its sort (kind and range), for counting; then the literal, if it is one, and whether
that does not read as the text does; else the number, or the terms of a simple one. Last the lexical form
of a typed literal.
"""


class CellShaper:
    """Encoder of the body cells of one table, with counts of what they are."""

    def __init__(self, annotated: AnnotatedTable, names: Namespaces) -> None:
        self._annotated = annotated
        self._quantities = annotated.quantities
        self._iri = names.table_iri(annotated.table.id)
        self.predicates = tuple(f"<{names.predicate_iri(name)}>" for name in annotated.predicates)
        width = len(self.predicates)
        self._simple = tuple(map(has_simple_numbers, annotated.styles))
        self._seen: list[dict[str, _Seen]] = [{} for _ in range(width)]
        self._most = [_MOST_REMEMBERED] * width
        self._met = [0] * width
        self._sorts: dict[tuple[CellKind, str], int] = {
            (CellKind.NUMBER, QUANTITY): _NUMBERS,
            (CellKind.TEXT, _STRING): _TEXTS,
        }
        self._counts: list[list[int]] = [[0, 0] for _ in range(width)]
        self._contexts: dict[RowContext, int] = {}
        self._forms = QuantityForms()
        self._forms_age = 0
        self._chosen: list[dict[tuple[int, str | None, str], tuple[BlockForm, int]]] = [{} for _ in range(width)]

    def add(self, index: int, row: Row, label: str, pairs: list[Pair]) -> list[Block]:
        """Adds a pair for each cell to those of its row; gives the blocks of cells with more to say."""
        below: list[Block] = []
        prefix = f"<{self._iri}/cell/{index}/"
        seen, counts, predicates = self._seen, self._counts, self.predicates
        context: RowContext | None = None
        number = 0
        for column, text in enumerate(row):
            if not text:
                continue
            sort, literal, differs, _, simple, _ = seen[column].get(text) or self._look_at(column, text)
            counts[column][sort] += 1
            cell = f"{prefix}{column}>"
            if literal is not None:
                pairs.append((predicates[column], literal))
                if differs:
                    pairs.append((_PRINTED, cell))
                    place = ((_ROW, integer(index)), (_COLUMN, integer(column)))
                    below.append((cell, (_PRINTED_TYPE, *place, (_TEXT, text_literal(text)))))
                continue
            pairs.append((predicates[column], cell))
            if context is None:
                context, number = self._row_context(index, label, row)
            if simple is not None:
                digits, note, unit, signed, printed = simple
                key = (number, unit, note)
                chosen = self._chosen[column].get(key) or self._choose(index, column, context, key)
                if chosen is not None:
                    form, power = chosen
                    form.uses += 1
                    sign = "-" if note == "NEGATIVE" else ""
                    if power or len(digits) > MOST_PLACES or (digits[-1] in "0." and "." in digits):
                        value = decimal_term(scaled_decimal(digits, bool(sign), power))
                    else:
                        value = f'"{sign}{digits}{"" if "." in digits else ".0"}"{_DECIMAL}'
                    below.append((cell, FilledBlock(form, (value, signed, printed))))
                    continue
            below.append((cell, self._resolved(index, column, label, text, row)))
        return below

    def contents(self, row: Row, below: Iterable[Block]) -> Iterator[tuple[int, CellContent]]:
        """What the graph will say of the cells of a row, by column; `below` is what `add` gave for it."""
        blocks = iter(below)
        for column, text in enumerate(row):
            if not text:
                continue
            _, literal, differs, _, _, lexical = self._seen[column].get(text) or self._look_at(column, text)
            if literal is None:
                _, filled = next(blocks)
                assert isinstance(filled, FilledBlock)
                yield column, _quantity_content(filled, text)
            else:
                if differs:
                    next(blocks)
                yield column, CellContent(text, differs, lexical)

    def _row_context(self, index: int, label: str, row: Row) -> tuple[RowContext, int]:
        """What the row says of its numbers, and the number under which that is remembered."""
        context = self._quantities.row_context(index, label, row)
        if len(self._contexts) > _MOST_REMEMBERED:
            self._contexts.clear()
            self._forget_forms()
        return context, self._contexts.setdefault(context, len(self._contexts))

    def _forget_forms(self) -> None:
        self._forms_age = self._forms.age
        for chosen in self._chosen:
            chosen.clear()

    def _choose(
        self, index: int, column: int, context: RowContext, key: tuple[int, str | None, str]
    ) -> tuple[BlockForm, int] | None:
        """Form and scale of simple numbers of this unit and sign in such a row; None if that takes more."""
        _, unit, note = key
        reading = self._quantities.reading(index, column, context, unit)
        if reading is None:
            return None
        period = self._quantities.column_period(column) or context.period
        reading = reading._replace(per=reading.per if reading.unit.startswith("CCY_") else None)
        chosen = (self._forms.form(Alike(column, reading, note, period)), reading.scale)
        if self._forms.age != self._forms_age:
            self._forget_forms()
        if not self._quantities.has_formats:
            self._chosen[column][key] = chosen
        return chosen

    def _resolved(self, index: int, column: int, label: str, text: str, row: Row) -> FilledBlock:
        number = self._seen[column][text][3] or type_cell(text, self._annotated.styles[column]).number
        assert number is not None
        quantity = self._quantities.resolve(number, index, column, label, row)
        period = self._quantities.period(index, column, label)
        filled = self._forms.filled(number, quantity, text, column, period)
        if self._forms.age != self._forms_age:
            self._forget_forms()
        return filled

    def _look_at(self, column: int, text: str) -> _Seen:
        memory = self._seen[column]
        if len(memory) > self._most[column]:
            self._forget(column)
        style = self._annotated.styles[column]
        if self._simple[column]:
            known = style.cache.get(text)
            seen = _simple_number(text) or self._typed(column, text, known or type_unlike_simple(text, style))
        else:
            seen = self._typed(column, text, type_cell(text, style))
        memory[text] = seen
        return seen

    def _forget(self, column: int) -> None:
        """Forget the texts of a column, and judge by how often they came how many to remember from now on."""
        memory, met = self._seen[column], sum(self._counts[column])
        often = met - self._met[column] >= _COMES_AGAIN * len(memory)
        self._most[column] = _MOST_REMEMBERED if often else _FEWEST_REMEMBERED
        self._met[column] = met
        memory.clear()

    def _typed(self, column: int, text: str, value: CellValue) -> _Seen:
        kind = value.kind
        if kind is CellKind.TEXT:
            return _TEXTS, text_literal(text), False, None, None, word_of(text)
        if kind is CellKind.NUMBER:
            return _NUMBERS, None, False, value.number, None, None
        if kind is CellKind.MISSING:
            literal = f"{text_literal(text)}^^<{MISSING}>"
            return self._sort(column, kind, MISSING), literal, False, None, None, None
        if value.lexical is not None and value.datatype is not None:
            differs = value.lexical != text or _STORED_AS_PRINTED.fullmatch(text) is None
            datatype = value.datatype.replace("xsd:", XSD, 1)
            lexical = value.lexical if datatype.startswith(XSD) else None
            sort = self._sort(column, kind, datatype)
            return sort, typed(value.lexical, datatype), differs, None, None, lexical
        return self._sort(column, kind, _STRING), text_literal(text), False, None, None, None

    def _sort(self, column: int, kind: CellKind, range_: str) -> int:
        sort = self._sorts.setdefault((kind, range_), len(self._sorts))
        counts = self._counts[column]
        counts.extend([0] * (sort + 1 - len(counts)))
        return sort

    def facts(self) -> tuple[ColumnFact, ...]:
        """What the cells added so far say of each column."""
        units: list[Counter[str]] = [Counter() for _ in self.predicates]
        scales: list[Counter[int]] = [Counter() for _ in self.predicates]
        for (column, reading), count in self._forms.readings().items():
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
        """The counts over all columns, with the statements of the quantities."""
        tally = Tally()
        for counts in self._counts:
            kinds: Counter[CellKind] = Counter()
            for (kind, _), count in zip(self._sorts, counts, strict=False):
                kinds[kind] += count
            tally.kinds.update({kind.value: count for kind, count in kinds.items() if count})
            if kinds[CellKind.TEXT] < sum(kinds[kind] for kind in _TYPED_KINDS):
                tally.untyped += kinds[CellKind.TEXT]
        for (_, reading), count in self._forms.readings().items():
            tally.units[reading.unit, reading.unit_from or "nothing"] += count
            if reading.scale:
                scale = SCALE_LETTERS.get(reading.scale, f"10^{reading.scale}")
                tally.scales[scale, reading.scale_from or "nothing"] += count
        predicates = self._forms.predicates()
        tally.predicates.update({term[1:-1]: count for term, count in predicates.items()})
        if predicates:
            tally.classes[f"{QUDT}QuantityValue"] += predicates[RDF_TYPE]
        return tally


def _quantity_content(filled: FilledBlock, text: str) -> CellContent:
    """The content of a number by its statements; of a range the lower bound stands first."""
    first, *others = (_exact(term, text).removesuffix(".0") for term in filled.terms[:-2])
    return CellContent(text, True, first, *filled.form.about, *others)


def _exact(term: Term, text: str) -> str:
    number = term[1 : term.index('"', 1)]
    return number if term.endswith(_DECIMAL) else exact_decimal(number, text)


def _simple_number(text: str) -> _Seen | None:
    simple = read_simple(text)
    if simple is None:
        return None
    digits, negative, unit, printed = simple
    if not digits.strip("0."):
        note, signed = "ZERO", printed
    elif negative:
        note, signed = "NEGATIVE", f"-{printed}"
    else:
        note, signed = "POSITIVE", f"+{printed}"
    return _NUMBERS, None, False, None, (digits, note, unit, f'"{signed}"', f'"{text}"'), None


def _ordered(counts: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
