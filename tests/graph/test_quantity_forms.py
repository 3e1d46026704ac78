from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.cell_encoder import Alike, QuantityForms
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, decimal_text, text_literal
from kgtable.ontology.quantities import Quantity, Reading
from kgtable.values.numbers import parse_number

EURO = Quantity(Decimal("12.50"), "CCY_EUR", 6, "column", "caption", "share")


def said(text: str, quantity: Quantity, period: str | None = None) -> dict[str, list[str]]:
    """What is said of the number printed as `text`, by the local name of the predicate."""
    number = parse_number(text)
    assert number is not None
    found: dict[str, list[str]] = {}
    for predicate, value in QuantityForms().filled(number, quantity, text, 0, period):
        found.setdefault(predicate[1:-1].rpartition("#")[2].rpartition("/")[2], []).append(value)
    return found


def test_all_that_is_known_of_a_quantity_is_said() -> None:
    found = said("~12.50", EURO, "Q3 2020")
    assert found["numericValue"] == [f'"12.5"^^<{XSD}decimal>']
    assert found["hasUnit"] == [f"<{UNIT}CCY_EUR>"]
    assert found["type"] == [f"<{QUDT}QuantityValue>"]
    assert (found["note"], found["scale"], found["denominator"]) == (['"POSITIVE"'], ['"M"'], ['"share"'])
    assert (found["period"], found["text"]) == (['"Q3 2020"'], ['"~12.50"'])
    assert found["approximate"] == [f'"true"^^<{XSD}boolean>']


def test_what_is_not_known_is_not_said() -> None:
    found = said("0", Quantity(Decimal(0), "UNITLESS"))
    assert found["note"] == ['"ZERO"']
    assert not {"scale", "denominator", "period", "approximate", "mark", "lowerBound"} & set(found)


def test_ranges_have_bounds_instead_of_a_value() -> None:
    found = said("1–2", Quantity(Decimal(1), "KiloGM", upper=Decimal(2)))
    assert "numericValue" not in found
    assert (found["lowerBound"], found["upperBound"]) == (
        [f'"1.0"^^<{XSD}decimal>'],
        [f'"2.0"^^<{XSD}decimal>'],
    )


@given(st.decimals(-(10**30), 10**30), st.text(min_size=1, max_size=9))
def test_values_are_never_written_with_an_exponent(value: Decimal, text: str) -> None:
    number = parse_number("-5")
    assert number is not None
    terms = QuantityForms().filled(number, Quantity(value, "NUM"), text, 0, None).terms
    assert terms == (f'"{decimal_text(format(value, "f"))}"^^<{XSD}decimal>', '"-5"', text_literal(text))


def test_uses_are_counted_by_column_and_reading_also_of_forgotten_forms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgtable.graph.cell_encoder._MOST_FORMS", 2)
    forms = QuantityForms()
    reading = Reading("KiloGM")
    for column in (0, 1, 0, 2, 3, 0):
        forms.form(Alike(column, reading, "POSITIVE")).uses += 1
    assert forms.age == 2
    assert forms.readings() == {(0, reading): 3, (1, reading): 1, (2, reading): 1, (3, reading): 1}
    assert forms.predicates()[f"<{KGT}note>"] == 6


def test_a_form_that_was_not_used_counts_for_nothing() -> None:
    forms = QuantityForms()
    form = forms.form(Alike(0, Reading("NUM"), "ZERO"))
    assert forms.form(Alike(0, Reading("NUM"), "ZERO")) is form
    assert not forms.readings()
    assert not forms.predicates()
