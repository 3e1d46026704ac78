from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UsageError
from kgtable.graph.terms import Namespaces, decimal_text, decode, encode, literal_text, text_literal

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
