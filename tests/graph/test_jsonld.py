from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.terms import KGT, RDF_TYPE, XSD, Block, Share, text_literal, typed
from kgtable.graph.writers import JsonLdWriter
from tests.graph.support import NAMES

any_text = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=30)
lexicals = st.sampled_from(
    [
        "0",
        "-0",
        "00",
        "7",
        "-12",
        "+1",
        "999999999999999",
        "9" * 30,
        "1.0",
        "1e5",
        "true",
        "TRUE",
        "1",
        "",
        "x",
    ]
)
datatypes = st.sampled_from(["integer", "decimal", "double", "boolean", "string", "gYear"])
SUBJECT, PREDICATE = "<http://e/s>", "<http://e/p>"


def document(*graphs: tuple[str | None, list[Block]]) -> str:
    writer = JsonLdWriter(NAMES)
    texts = ["".join(writer.graph(name, blocks)) for name, blocks in graphs]
    return writer.start() + writer.between.join(texts) + writer.end()


def quads(text: str) -> set[ox.Quad]:
    return set(ox.parse(text.encode(), format=ox.RdfFormat.JSON_LD))


def expected(*pairs: tuple[str, str]) -> set[ox.Quad]:
    lines = "".join(f"{SUBJECT} {predicate} {value} .\n" for predicate, value in pairs)
    return set(ox.parse(lines.encode(), format=ox.RdfFormat.N_QUADS))


@given(any_text)
def test_every_text_comes_back(text: str) -> None:
    pairs = [(PREDICATE, text_literal(text))]
    assert quads(document((None, [(SUBJECT, pairs)]))) == expected(*pairs)


@given(lexicals, datatypes)
def test_every_lexical_form_and_datatype_comes_back(lexical: str, datatype: str) -> None:
    pairs = [(PREDICATE, typed(lexical, f"{XSD}{datatype}")), (PREDICATE, PREDICATE)]
    assert quads(document((None, [(SUBJECT, pairs)]))) == expected(*pairs)


@pytest.mark.parametrize(
    "value",
    ['"x"@en', '"\\"@en"@de-AT', "<http://e/o>", f"<{KGT}Row>", f"<{NAMES.ex}a/b>", f"<{NAMES.data}//x>"],
)
@pytest.mark.parametrize("predicate", [PREDICATE, RDF_TYPE, f"<{KGT}text>"])
def test_terms_that_people_may_have_written(value: str, predicate: str) -> None:
    pairs = [(predicate, value), (predicate, '"other"')]
    assert quads(document((None, [(SUBJECT, pairs)]))) == expected(*pairs)


def test_blank_nodes_stay_one_node() -> None:
    text = document((None, [("_:a", [(PREDICATE, "_:b"), (RDF_TYPE, "_:c")]), ("_:b", [(PREDICATE, "_:a")])]))
    found = quads(text)
    assert len(found) == 3
    assert len({term for quad in found for term in (quad.subject, quad.object)}) == 3


def test_a_graph_in_shares_is_the_graph() -> None:
    name, blocks = "<http://e/g>", [(f"<http://e/{n}>", [(PREDICATE, f'"{n}"')]) for n in range(5)]
    whole = "".join(JsonLdWriter(NAMES).graph(name, blocks))
    parts = (
        piece
        for part in range(3)
        for piece in JsonLdWriter(NAMES).graph(name, blocks[part * 2 : part * 2 + 2], Share(part, 3))
    )
    assert "".join(parts) == whole
    assert {str(quad.graph_name) for quad in quads(document((name, blocks), (None, blocks)))} == {
        name,
        "DEFAULT",
    }


def test_it_is_compact_and_plain_json() -> None:
    text = document(
        (None, [(SUBJECT, [(RDF_TYPE, f"<{KGT}Row>"), (f"<{KGT}row>", typed("3", f"{XSD}integer"))])])
    )
    assert json.loads(text)["@graph"] == [{"@id": "http://e/s", "@type": "kgt:Row", "kgt:row": 3}]
    assert json.loads(document())["@graph"] == []
