from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UsageError
from kgtable.graph.terms import (
    WHOLE,
    BlockForm,
    FilledBlock,
    Namespaces,
    Share,
    decimal_text,
    decode,
    encode,
    literal_text,
    quote,
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


def test_letters_of_all_scripts_stay_readable() -> None:
    assert encode("Größe-日本_Ελλάδα") == "Größe-日本_Ελλάδα"


def test_escapes_of_literals() -> None:
    assert quote("a\\b\x00\ufffe\x7f\r") == '"a\\\\b\\u0000\\uFFFE\\u007F\\r"'


@pytest.mark.parametrize(
    "base",
    [
        "example",
        "http://exa mple/",
        "",
        "http://e/<script>",
        "//x",
        "http://e/[a/",
        "http://e/a%zz/",
        "http://e/a#",
    ],
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


def test_a_filled_form_is_the_sequence_of_its_pairs() -> None:
    form = BlockForm([("<a>", "<type>"), ("<value>", 1), ("<text>", 0), ("<again>", 1)])
    filled = FilledBlock(form, ('"seven"', '"7"'))
    assert list(filled) == [("<a>", "<type>"), ("<value>", '"7"'), ("<text>", '"seven"'), ("<again>", '"7"')]
    assert len(filled) == 4
    assert filled[-1] == ("<again>", '"7"')
    assert filled[1:3] == (("<value>", '"7"'), ("<text>", '"seven"'))
    assert ("<text>", '"seven"') in filled


def test_forms_without_slots_and_without_pairs() -> None:
    assert list(FilledBlock(BlockForm([("<a>", "<b>")]), ())) == [("<a>", "<b>")]
    assert list(FilledBlock(BlockForm([]), ())) == []


def test_two_fillings_of_one_form_stay_apart() -> None:
    form = BlockForm([("<value>", 0)])
    one, other = FilledBlock(form, ('"1"',)), FilledBlock(form, ('"2"',))
    assert [one[0], other[0]] == [("<value>", '"1"'), ("<value>", '"2"')]


def test_a_slot_that_was_not_filled_is_an_error() -> None:
    with pytest.raises(IndexError):
        list(FilledBlock(BlockForm([("<value>", 1)]), ('"1"',)))


def test_first_and_last_share() -> None:
    shares = [Share(part, 3) for part in range(3)]
    assert [share.is_first for share in shares] == [True, False, False]
    assert [share.is_last for share in shares] == [False, False, True]
    assert WHOLE.is_first
    assert WHOLE.is_last
