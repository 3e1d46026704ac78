from __future__ import annotations

from decimal import Decimal

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UsageError
from kgtable.graph.terms import (
    XSD,
    Namespaces,
    decimal_term,
    decimal_text,
    decode,
    encode,
    exact_decimal,
    literal_text,
    text_literal,
)

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=30)


@given(any_text)
def test_encoding_is_injective_and_makes_one_segment(text: str) -> None:
    segment = encode(text)
    assert decode(segment) == text
    assert "/" not in segment
    assert segment not in {".", ".."}


@given(any_text)
def test_minted_iris_are_valid_and_can_be_parsed_back(table: str) -> None:
    names = Namespaces()
    iri = names.cell_iri(table, 3, 1)
    quads = list(ox.parse(f"<{iri}> <{iri}> <{iri}> .".encode(), format=ox.RdfFormat.N_TRIPLES))
    assert str(quads[0].subject.value) == iri
    if table:
        assert names.parse_cell_iri(iri) == (table, 3, 1)
        assert names.parse_table_iri(names.table_iri(table)) == table


@given(any_text)
def test_any_text_survives_as_a_literal(text: str) -> None:
    line = f"<a:a> <a:b> {text_literal(text)} ."
    (quad,) = ox.parse(line.encode(), format=ox.RdfFormat.N_TRIPLES)
    assert isinstance(quad.object, ox.Literal)
    assert literal_text(quad.object.value, quad.object.datatype.value) == text


@pytest.mark.parametrize("character", ["\u202e", "\u200f", "\u2066", "\u00a0", "\ufeff", "\ud800", "\ue000"])
def test_invisible_and_private_characters_do_not_stand_in_iris(character: str) -> None:
    assert character not in encode(f"a{character}b")


@pytest.mark.parametrize(
    "base",
    ["example", "http://exa mple/", "", "http://e/<script>", "//x", "http://e/[a/", "http://e/a%zz/", "http://e/a#"],
)
def test_a_base_must_be_an_absolute_iri(base: str) -> None:
    with pytest.raises(UsageError):
        Namespaces(base)


def test_base_moves_data_and_predicates() -> None:
    names = Namespaces("https://data.example/kg")
    assert names.row_iri("t", 2) == "https://data.example/kg/data/table/t/row/2"
    assert names.predicate_iri("hasPension") == "https://data.example/kg/ontology#hasPension"
    assert names.predicate_iri("https://schema.org/name") == "https://schema.org/name"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_decimal_text_keeps_the_value_and_has_a_point(value: object) -> None:
    from decimal import Decimal

    text = decimal_text(format(Decimal(str(value)), "f"))
    assert Decimal(text) == value
    assert "." in text
    assert decimal_text(text) == text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40), st.integers(0, 24))
def test_the_store_can_calculate_with_every_number_and_the_text_keeps_its_digits(printed: Decimal, power: int) -> None:
    text = decimal_text(f"{Decimal(f'{printed:f}e{power}'):f}")
    lexical, _, datatype = decimal_term(text).rpartition("^^")
    store = ox.Store()
    store.update(f"INSERT DATA {{ <a:a> <a:p> {lexical}^^{datatype} }}")
    (solution,) = store.query("SELECT (?v + 0.0 AS ?sum) ?v { <a:a> <a:p> ?v }")  # type: ignore[misc]
    assert solution["sum"] is not None
    assert Decimal(solution["sum"].value) == Decimal(lexical[1:-1])
    if datatype == f"<{XSD}double>":
        assert solution["v"].value == lexical[1:-1]
        text_again = exact_decimal(solution["v"].value, f"{printed:,f} units")
        assert text_again == text or float(text) == float(text_again)


@pytest.mark.parametrize(
    ("text", "is_double"),
    [
        ("100000000000000000000.0", False), ("170000000000000000000.0", False), ("-170141183460469231731.0", False),
        ("170141183460469231732.0", True), ("-10000000000000000000000000.0", True),
        ("123456789012345678901234567890.0", True), ("0.123456789012345678", False),
        ("-0.1234567890123456789012345", True),
    ],
)  # fmt: skip
def test_numbers_beyond_128_bits_are_doubles_and_read_back_exactly(text: str, is_double: bool) -> None:
    term = decimal_term(text)
    assert term.endswith(f"^^<{XSD}{'double' if is_double else 'decimal'}>")
    assert not is_double or exact_decimal(term.split('"')[1], f"about {text} kg") == text
