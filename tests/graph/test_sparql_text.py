from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.sparql_text import AmbiguousTextError, Bindable, Token, to_term, tokens, with_decimal_values

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=40)
query_like = st.lists(
    st.sampled_from(
        ["SELECT", " ", "\n", "#", "'", '"', "'''", '"""', "\\", "<", ">", "http://e/", "?x", "e:p", "{", "}", "1"]
    ),
    max_size=15,
).map("".join)


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(text)]


@given(st.one_of(any_text, query_like))
def test_every_character_is_in_a_token_or_may_be_skipped(text: str) -> None:
    try:
        found = list(tokens(text))
    except AmbiguousTextError:
        assert re.search(r"<[^>]*'[^<]*>", text)
        return
    end = 0
    for token in found:
        assert text.startswith(token.text, token.start)
        assert re.fullmatch(r"(?:[ \t\r\n]+|#[^\r\n]*)*", text[end : token.start])
        end = token.start + len(token.text)
    assert re.fullmatch(r"(?:[ \t\r\n]+|#[^\r\n]*)*", text[end:])


def test_strings_iris_and_comments_hide_what_is_in_them() -> None:
    text = "ASK { <http://e/#DROP> ?p \"DROP \\\" ALL\", '''DROP\n'' ''' } # DROP"
    assert [word for kind, word in kinds(text) if kind == "word"] == ["ASK"]
    assert [word for kind, word in kinds(text) if kind == "string"] == ['"DROP \\" ALL"', "'''DROP\n'' '''"]


def test_an_open_string_hides_nothing() -> None:
    assert ("word", "DROP") in kinds('ASK { ?s ?p "open\nDROP ALL')
    assert ("word", "DROP") in kinds("ASK { ?s ?p '''open DROP ALL")


def test_keywords_are_found_in_any_case_and_only_as_words() -> None:
    assert Token("word", "sElEcT", 0).is_word("ASK", "SELECT")
    assert not Token("string", "SELECT", 0).is_word("SELECT")
    with pytest.raises(AmbiguousTextError, match="%27"):
        list(tokens("FILTER(?a <'x'>?b)"))


XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "b" } UNION {', '"a \\"b\\" } UNION {"'), (True, f'"true"^^<{XSD}boolean>'), (7, f'"7"^^<{XSD}integer>'),
        (0.5, f'"0.5"^^<{XSD}double>'), (Decimal("1E+3"), f'"1000"^^<{XSD}decimal>'),
        (date(2024, 2, 29), f'"2024-02-29"^^<{XSD}date>'),
        (datetime(2024, 2, 29, 1, tzinfo=UTC), f'"2024-02-29T01:00:00+00:00"^^<{XSD}dateTime>'),
        (rdflib.URIRef("http://example.org/a"), "<http://example.org/a>"), (rdflib.Literal("a", lang="de"), '"a"@de'),
        (rdflib.Literal(3), f'"3"^^<{XSD}integer>'), (rdflib.Literal("plain"), '"plain"'),
        (ox.NamedNode("http://example.org/a"), "<http://example.org/a>"),
    ],
    ids=str,
)  # fmt: skip
def test_python_values_become_terms(value: Bindable, text: str) -> None:
    assert str(to_term(value)) == text


@pytest.mark.parametrize(
    "query",
    [
        'ASK { ?s ?p "qudt:numericValue 5" }',
        "ASK { ?s ?p '''\nqudt:numericValue 5''' } # qudt:numericValue 6",
        "ASK { ?s <http://x/y#a> ?o } # <http://qudt.org/schema/qudt/numericValue> 7",
    ],
)
def test_numbers_within_texts_and_comments_stay_as_they_are(query: str) -> None:
    assert with_decimal_values(query) == query


def test_whole_numbers_after_the_predicate_become_decimals() -> None:
    query = 'ASK { ?s ?p "qudt:numericValue 5" ; <http://qudt.org/schema/qudt/numericValue> 7 ; qudt:numericValue 8 }'
    changed = (
        'ASK { ?s ?p "qudt:numericValue 5" ; <http://qudt.org/schema/qudt/numericValue> 7.0 ; qudt:numericValue 8.0 }'
    )
    assert with_decimal_values(query) == changed
