"""Body cells as statements: texts, dates and markers as literals, numbers as QUDT quantities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple, TypeVar

from kgtable.graph.blocks import Block, Pair
from kgtable.graph.tally import Tally
from kgtable.graph.terms import (
    KGT,
    QUDT,
    RDF_TYPE,
    UNIT,
    XSD,
    Namespaces,
    Term,
    decimal_text,
    integer,
    text_literal,
    typed,
)
from kgtable.ontology.annotation import AnnotatedTable
from kgtable.ontology.facts import MISSING, QUANTITY, ColumnFact
from kgtable.tables.model import Row
from kgtable.tables.numbers import Number
from kgtable.tables.values import Kind, type_cell

SCALES = {3: "T", 6: "M", 9: "B", 12: "TN"}
"""The scale of a power of ten, by the thesis's letters."""

_QUANTITY_TYPE = (RDF_TYPE, f"<{QUDT}QuantityValue>")
_PRINTED_TYPE = (RDF_TYPE, f"<{KGT}PrintedCell>")
_NUMERIC_VALUE, _HAS_UNIT = f"<{QUDT}numericValue>", f"<{QUDT}hasUnit>"
_LOWER, _UPPER = f"<{KGT}lowerBound>", f"<{KGT}upperBound>"
_NOTE, _SIGNED, _TEXT = f"<{KGT}note>", f"<{KGT}signed_str>", f"<{KGT}text>"
_SCALE, _PERIOD, _DENOMINATOR = f"<{KGT}scale>", f"<{KGT}period>", f"<{KGT}denominator>"
_PRINTED, _ROW, _COLUMN = f"<{KGT}printed>", f"<{KGT}row>", f"<{KGT}column>"
_DECIMAL = f"^^<{XSD}decimal>"
_NOTES = {name: (_NOTE, f'"{name}"') for name in ("POSITIVE", "NEGATIVE", "ZERO")}
_STORED_AS_PRINTED = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?|true|false")
_APPROXIMATE = (f"<{KGT}approximate>", f'"true"^^<{XSD}boolean>')
_MARK = f"<{KGT}mark>"
_STRING = f"{XSD}string"
_TYPED_KINDS = (Kind.NUMBER, Kind.DATE, Kind.YEAR, Kind.PERIOD, Kind.BOOLEAN)
_MOST_REMEMBERED = 20_000
_Key = TypeVar("_Key")


class _Seen(NamedTuple):
    """What a text in a column is: a literal, or a number to be resolved in its row."""

    kind: Kind
    range: str
    literal: Term | None
    differs: bool
    number: Number | None


class CellShaper:
    """Shapes the body cells of one table and counts what they are."""

    def __init__(self, annotated: AnnotatedTable, names: Namespaces) -> None:
        self._annotated = annotated
        self._quantities = annotated.quantities
        self._iri = names.table_iri(annotated.table.id)
        self.predicates = tuple(f"<{names.predicate_iri(name)}>" for name in annotated.predicates)
        width = len(self.predicates)
        self._seen: list[dict[str, _Seen]] = [{} for _ in range(width)]
        self._kinds: list[Counter[Kind]] = [Counter() for _ in range(width)]
        self._ranges: list[Counter[str]] = [Counter() for _ in range(width)]
        self._units: list[Counter[tuple[str, str]]] = [Counter() for _ in range(width)]
        self._scales: list[Counter[tuple[int, str]]] = [Counter() for _ in range(width)]

    def add(self, index: int, row: Row, label: str, pairs: list[Pair]) -> list[Block]:
        """Adds a pair for each cell to those of its row; gives the blocks of cells with more to say."""
        below: list[Block] = []
        prefix = f"<{self._iri}/cell/{index}/"
        for column, text in enumerate(row):
            if not text:
                continue
            seen = self._seen[column].get(text) or self._look_at(column, text)
            self._kinds[column][seen.kind] += 1
            self._ranges[column][seen.range] += 1
            if seen.number is not None:
                cell = f"{prefix}{column}>"
                pairs.append((self.predicates[column], cell))
                below.append((cell, self._quantity(index, column, text, label, seen.number)))
                continue
            assert seen.literal is not None
            pairs.append((self.predicates[column], seen.literal))
            if seen.differs:
                cell = f"{prefix}{column}>"
                pairs.append((_PRINTED, cell))
                place = ((_ROW, integer(index)), (_COLUMN, integer(column)))
                below.append((cell, (_PRINTED_TYPE, *place, (_TEXT, text_literal(text)))))
        return below

    def _look_at(self, column: int, text: str) -> _Seen:
        memory = self._seen[column]
        if len(memory) > _MOST_REMEMBERED:
            memory.clear()
        value = type_cell(text, self._annotated.styles[column])
        if value.kind is Kind.NUMBER:
            assert value.number is not None
            seen = _Seen(value.kind, QUANTITY, None, False, value.number)
        elif value.kind is Kind.MISSING:
            seen = _Seen(value.kind, MISSING, f"{text_literal(text)}^^<{MISSING}>", False, None)
        elif value.lexical is not None and value.datatype is not None:
            differs = value.lexical != text or _STORED_AS_PRINTED.fullmatch(text) is None
            datatype = value.datatype.replace("xsd:", XSD, 1)
            seen = _Seen(value.kind, datatype, typed(value.lexical, datatype), differs, None)
        else:
            seen = _Seen(value.kind, _STRING, text_literal(text), False, None)
        memory[text] = seen
        return seen

    def _quantity(self, row: int, column: int, text: str, label: str, number: Number) -> tuple[Pair, ...]:
        quantity = self._quantities.resolve(number, row, column, label)
        period = self._quantities.period(row, column, label)
        self._units[column][quantity.unit, quantity.unit_from] += 1
        if quantity.scale:
            self._scales[column][quantity.scale, quantity.scale_from] += 1
        pairs = [_QUANTITY_TYPE]
        if quantity.upper is None:
            pairs.append((_NUMERIC_VALUE, _decimal(quantity.value)))
        else:
            pairs.append((_LOWER, _decimal(quantity.value)))
            pairs.append((_UPPER, _decimal(quantity.upper)))
        pairs.append((_HAS_UNIT, f"<{UNIT}{quantity.unit}>"))
        pairs.append(_NOTES["POSITIVE" if number.value > 0 else "NEGATIVE" if number.value else "ZERO"])
        pairs.append((_SIGNED, text_literal(number.signed)))
        pairs.append((_TEXT, text_literal(text)))
        if quantity.scale in SCALES:
            pairs.append((_SCALE, f'"{SCALES[quantity.scale]}"'))
        if period:
            pairs.append((_PERIOD, text_literal(period)))
        if quantity.denominator:
            pairs.append((_DENOMINATOR, text_literal(quantity.denominator)))
        if number.approximate:
            pairs.append(_APPROXIMATE)
        pairs.extend((_MARK, text_literal(mark)) for mark in number.marks)
        return tuple(pairs)

    def facts(self) -> tuple[ColumnFact, ...]:
        """What the cells added so far say of each column."""
        return tuple(
            self._annotated.fact(
                index,
                _ordered(self._ranges[index]),
                _ordered(_by_first(self._units[index])),
                _ordered(_by_first(self._scales[index])),
            )
            for index in range(len(self.predicates))
        )

    def tally(self) -> Tally:
        """The counts over all columns."""
        tally = Tally()
        for index, kinds in enumerate(self._kinds):
            tally.kinds.update({kind.value: count for kind, count in kinds.items()})
            tally.units.update(self._units[index])
            tally.scales.update(
                {
                    (SCALES.get(power, f"10^{power}"), source): n
                    for (power, source), n in self._scales[index].items()
                }
            )
            texts = kinds[Kind.TEXT]
            if texts < sum(kinds[kind] for kind in _TYPED_KINDS):
                tally.untyped += texts
        return tally


def _decimal(value: Decimal) -> Term:
    return f'"{decimal_text(format(value, "f"))}"{_DECIMAL}'


def _by_first(counts: Mapping[tuple[_Key, str], int]) -> dict[_Key, int]:
    sums: dict[_Key, int] = {}
    for (key, _), count in counts.items():
        sums[key] = sums.get(key, 0) + count
    return sums


def _ordered(counts: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0]))))
