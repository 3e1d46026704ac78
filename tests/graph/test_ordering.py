from __future__ import annotations

import random

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.graph.terms import KGT, RDF_TYPE, XSD
from kgtable.graph.writers import Format, collect, plain_blocks, table_blocks, term_text, writer_for
from kgtable.tables.model import Area, Context, Grid
from tests.graph.support import NAMES, grid, text_of, triples_of

TABLE = grid(
    ("Figures in $ millions", "", "", ""),
    ("Item", "2019", "2020 (e)", "Paid on"),
    ("Assets", "", "", ""),
    ("- Goodwill", "1,200", "~3", "31 Dec. 2024"),
    ("- Cash", "—", "1–2", "31 Dec. 2023"),
    ("Total", "(7)", "12%", "n/a"),
    *((f"row {n}", str(n), f"{n} kg", "2024-01-01") for n in range(12)),
    context=Context("T", ("H 1", "H 2"), "a caption", ("b",), ("a",), tuple(map(str, range(12)))),
    merged=(Area(0, 0, 0, 3),),
    formats={(3, 1): "0.0%"},
    indents={(3, 0): 1},
)


def written(table: Grid, triples: list[ox.Triple], format: Format) -> str:
    writer = writer_for(format, NAMES)
    return "".join(writer.graph(f"<{NAMES.table_iri(table.id)}>", table_blocks(triples)))


@pytest.mark.parametrize("format", [Format.TURTLE, Format.NQUADS])
def test_statements_in_any_order_come_in_that_of_the_shape(format: Format) -> None:
    triples = triples_of(TABLE)
    expected = text_of(TABLE, format)
    for seed in range(3):
        random.Random(seed).shuffle(triples)
        assert written(TABLE, triples, format) == expected.removeprefix(writer_for(format, NAMES).start())


PARTS = st.sampled_from(["row", "column", "cell", "heading", "x", "", "ümlaut"])
PLACES = st.one_of(st.integers(0, 12).map(str), st.sampled_from(["", "x", "9" * 5000, "-1", "٣", "1/2/3"]))
IRIS = st.builds(
    lambda part, one, two: ox.NamedNode(f"{NAMES.table_iri('t')}/{part}/{one}/{two}"), PARTS, PLACES, PLACES
)
PREDICATES = st.sampled_from([f"{KGT}predicate", f"{KGT}printed", f"{KGT}row", f"{KGT}order", "http://e/p"])
NODES = st.one_of(IRIS, st.just(ox.BlankNode("b")))
OBJECTS = st.one_of(
    NODES, st.sampled_from([ox.Literal("x"), ox.Literal("x", language="en"), ox.Literal("9" * 5000)])
)


@settings(max_examples=50)
@given(st.lists(st.builds(ox.Triple, NODES, PREDICATES.map(ox.NamedNode), OBJECTS), max_size=8, unique=True))
def test_whatever_people_wrote_into_a_table_is_given_in_one_order(triples: list[ox.Triple]) -> None:
    blocks = list(table_blocks(triples))
    assert sum(len(pairs) for _, pairs in blocks) == len(triples)
    assert list(table_blocks(triples[::-1])) == blocks


def test_plain_blocks_are_sorted_types_first() -> None:
    nodes = {"<b>": [("<p>", "<y>"), (RDF_TYPE, "<z>"), ("<p>", "<x>")], "<a>": [("<p>", "<x>")]}
    assert list(plain_blocks(nodes)) == [
        ("<a>", [("<p>", "<x>")]),
        ("<b>", [(RDF_TYPE, "<z>"), ("<p>", "<x>"), ("<p>", "<y>")]),
    ]
    assert collect([]) == {}


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (ox.Literal("5", datatype=ox.NamedNode(f"{XSD}decimal")), f'"5.0"^^<{XSD}decimal>'),
        (ox.Literal(5), f'"5"^^<{XSD}integer>'),
        (ox.Literal('a"\n\x00'), '"a\\"\\n\\u0000"'),
        (ox.Literal("x", language="en"), '"x"@en'),
        (ox.NamedNode("http://e/ü"), "<http://e/ü>"),
        (ox.BlankNode("b"), "_:b"),
    ],
)
def test_terms_are_written_as_the_converter_writes_them(term: ox.Literal, text: str) -> None:
    assert term_text(term) == text
