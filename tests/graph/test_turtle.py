from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.graph.terms import KGT, RDF_TYPE, XSD, Block, Share, text_literal, typed
from kgtable.graph.writers import TurtleWriter
from tests.graph.support import NAMES

TABLE = f"<{NAMES.table_iri('t')}>"
BASE = TABLE[1:-1]

local_names = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters=' <>"{}|^`\\%#[]')
)
iris = st.builds(
    lambda namespace, name: f"<{namespace}{name}>",
    st.sampled_from([NAMES.ex, NAMES.data, KGT, f"{BASE}/", f"{BASE}/row/", "http://e/", "urn:x:"]),
    st.one_of(
        local_names,
        st.sampled_from(["..", "../x", "/x", "//x", "a:b", "?q", "#f", "1.", ".a", "-a", "%41", "a.b"]),
    ),
)
literals = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20).map(text_literal),
    st.builds(
        typed,
        st.sampled_from(
            ["1", "-1", "+1", "007", "1.0", "1.", ".5", "-.5", "1e5", "true", "TRUE", "0", "", " 1"]
        ),
        st.sampled_from([f"{XSD}{name}" for name in ("integer", "decimal", "boolean", "double", "gYear")]),
    ),
    st.sampled_from(['"x"@en', '"a^^<b>"', '"a\\"^^<b>"@de']),
)


def written(blocks: list[Block], name: str | None = TABLE, *, with_graphs: bool = True) -> str:
    writer = TurtleWriter(NAMES, with_graphs=with_graphs)
    return writer.start() + "".join(writer.graph(name, blocks)) + writer.end()


@settings(max_examples=50)
@given(st.lists(st.tuples(iris, iris, st.one_of(iris, literals)), min_size=1, max_size=4))
def test_every_statement_comes_back(statements: list[tuple[str, str, str]]) -> None:
    blocks: list[Block] = [(subject, [(predicate, value)]) for subject, predicate, value in statements]
    lines = "".join(f"{subject} {predicate} {value} {TABLE} .\n" for subject, predicate, value in statements)
    expected = set(ox.parse(lines.encode(), format=ox.RdfFormat.N_QUADS))
    assert set(ox.parse(written(blocks).encode(), format=ox.RdfFormat.TRIG)) == expected
    in_turtle = ox.parse(written(blocks, with_graphs=False).encode(), format=ox.RdfFormat.TURTLE)
    assert {quad.triple for quad in in_turtle} == {quad.triple for quad in expected}


@pytest.mark.parametrize(
    ("term", "short"),
    [
        (f"<{BASE}/cell/3/1>", "<cell/3/1>"),
        (f"<{NAMES.ex}hasPension>", "ex:hasPension"),
        (f"<{NAMES.data}größe>", "data:größe"),
        (f"<{NAMES.data}a/b>", f"<{NAMES.data}a/b>"),
        (typed("574.0", f"{XSD}decimal"), "574.0"),
        (typed("574", f"{XSD}decimal"), '"574"^^xsd:decimal'),
        (typed("7", f"{XSD}integer"), "7"),
        (typed("2011", f"{XSD}gYear"), '"2011"^^xsd:gYear'),
        ("_:b", "_:b"),
    ],
)
def test_terms_are_as_short_as_can_be(term: str, short: str) -> None:
    assert f" {short} ." in written([("<http://e/s>", [("<http://e/p>", term)])])


def test_statements_of_a_subject_stand_together() -> None:
    pairs = [
        (RDF_TYPE, f"<{KGT}Row>"),
        (RDF_TYPE, f"<{KGT}Group>"),
        (f"<{KGT}text>", '"a"'),
        (f"<{KGT}text>", '"b"'),
    ]
    text = written([(f"<{BASE}/row/1>", pairs)])
    assert text.endswith('<row/1> a kgt:Row, kgt:Group ;\n    kgt:text "a", "b" .\n}\n')


@pytest.mark.parametrize("with_graphs", [True, False])
def test_a_graph_in_shares_is_the_graph(with_graphs: bool) -> None:
    blocks: list[Block] = [(f"<{BASE}/row/{n}>", [("<http://e/p>", f'"{n}"')]) for n in range(6)]
    parts = (
        piece
        for part in range(3)
        for piece in TurtleWriter(NAMES, with_graphs=with_graphs).graph(
            TABLE, blocks[part * 2 : part * 2 + 2], Share(part, 3)
        )
    )
    whole = written(blocks, with_graphs=with_graphs)
    assert TurtleWriter(NAMES, with_graphs=with_graphs).start() + "".join(parts) == whole


def test_the_default_graph_has_no_base_of_its_own() -> None:
    blocks: list[Block] = [(f"<{BASE}/row/1>", [("<http://e/p>", TABLE)])]
    assert f"<{BASE}/row/1> <http://e/p> {TABLE} ." in written(blocks, None)
