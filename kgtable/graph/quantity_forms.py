"""Quantities as statements: the ones alike but for their number share a form."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from kgtable.graph.blocks import Filled, Form
from kgtable.graph.terms import KGT, QUDT, RDF_TYPE, UNIT, XSD, Term, decimal_text, text_literal
from kgtable.ontology.quantities import Quantity
from kgtable.ontology.readings import Reading
from kgtable.tables.numbers import Number

SCALES = {3: "T", 6: "M", 9: "B", 12: "TN"}
"""The scale of a power of ten, by the thesis's letters."""

_DECIMAL = f"^^<{XSD}decimal>"
_APPROXIMATE = (f"<{KGT}approximate>", f'"true"^^<{XSD}boolean>')
_MOST_FORMS = 20_000


class Alike(NamedTuple):
    """What quantities of one form have in common; `note` is POSITIVE, NEGATIVE or ZERO."""

    column: int
    reading: Reading
    note: str
    period: str | None = None
    is_range: bool = False
    approximate: bool = False
    marks: tuple[str, ...] = ()


class QuantityForms:
    """The forms of one table's quantities, made when first needed, and how often each was used.

    Past a number of forms all are forgotten, not what they counted, and `age` goes up: who keeps
    forms must then forget them too.
    """

    def __init__(self) -> None:
        self.age = 0
        self._forms: dict[Alike, Form] = {}
        self._retired: Counter[tuple[int, Reading]] = Counter()
        self._retired_predicates: Counter[Term] = Counter()

    def form(self, alike: Alike) -> Form:
        """The form of such quantities: slots for the number (or its two bounds), signed string and text."""
        form = self._forms.get(alike)
        if form is None:
            if len(self._forms) >= _MOST_FORMS:
                self._retire()
            form = self._forms[alike] = _form(alike)
        return form

    def filled(
        self, number: Number, quantity: Quantity, text: str, column: int, period: str | None
    ) -> Filled:
        """The statements of one quantity."""
        value = number.value
        reading = Reading(
            quantity.unit, quantity.scale, quantity.unit_from, quantity.scale_from, quantity.denominator
        )
        note = "POSITIVE" if value > 0 else "NEGATIVE" if value else "ZERO"
        is_range = quantity.upper is not None
        form = self.form(Alike(column, reading, note, period, is_range, number.approximate, number.marks))
        form.uses += 1
        bounds = [quantity.value] if quantity.upper is None else [quantity.value, quantity.upper]
        terms = [decimal_term(decimal_text(format(bound, "f"))) for bound in bounds]
        return Filled(form, (*terms, text_literal(number.signed), text_literal(text)))

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


def decimal_term(text: str) -> Term:
    """An ``xsd:decimal``."""
    return f'"{text}"{_DECIMAL}'


def _form(alike: Alike) -> Form:
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
    if reading.scale in SCALES:
        pairs.append((f"<{KGT}scale>", f'"{SCALES[reading.scale]}"'))
    if alike.period:
        pairs.append((f"<{KGT}period>", text_literal(alike.period)))
    if reading.per:
        pairs.append((f"<{KGT}denominator>", text_literal(reading.per)))
    if alike.approximate:
        pairs.append(_APPROXIMATE)
    pairs += ((f"<{KGT}mark>", text_literal(mark)) for mark in alike.marks)
    return Form(pairs)
