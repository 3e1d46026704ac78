from __future__ import annotations

import random
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from kgtable import api
from kgtable.graph.table_encoder import TableShape
from kgtable.graph.terms import KGT, RDF_TYPE, XSD, Block, Share, is_valid_iri, text_literal, typed
from kgtable.graph.writers import Format, JsonLdWriter, TurtleWriter, table_blocks, writer_for
from kgtable.ontology.annotate import annotate
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Area, Context, Grid
from tests.graph.support import NAMES, grid, text_of, triples_of

OXIGRAPH = {
    Format.TURTLE: ox.RdfFormat.TURTLE, Format.TRIG: ox.RdfFormat.TRIG, Format.NTRIPLES: ox.RdfFormat.N_TRIPLES,
    Format.NQUADS: ox.RdfFormat.N_QUADS, Format.JSONLD: ox.RdfFormat.JSON_LD,
}  # fmt: skip
WITHOUT_GRAPHS = (Format.TURTLE, Format.NTRIPLES)
RDFLIB = {
    Format.TURTLE: "turtle", Format.TRIG: "trig", Format.NTRIPLES: "nt", Format.NQUADS: "nquads",
    Format.JSONLD: "json-ld",
}  # fmt: skip


def quads(text: str, format: Format) -> set[str]:
    """The statements of a document as Oxigraph reads it; without graphs where the format has none."""
    parsed = ox.parse(text.encode("utf-8"), format=OXIGRAPH[format])
    return {str(quad.triple) if format in WITHOUT_GRAPHS else str(quad) for quad in parsed}


@pytest.mark.parametrize("format", list(Format))
def test_all_formats_say_the_same_as_nquads(format: Format, folder: Path, tmp_path: Path) -> None:
    texts = {}
    for wanted in (format, Format.NQUADS):
        api.convert(folder, tmp_path / "out", format=wanted)
        texts[wanted] = (tmp_path / "out").read_text(encoding="utf-8")
    expected = quads(texts[Format.NQUADS], Format.NQUADS)
    if format in WITHOUT_GRAPHS:
        parsed = ox.parse(texts[Format.NQUADS].encode("utf-8"), format=ox.RdfFormat.N_QUADS)
        expected = {str(quad.triple) for quad in parsed}
    assert quads(texts[format], format) == expected


@pytest.mark.parametrize("format", list(Format))
def test_rdflib_and_oxigraph_read_isomorphic_graphs(format: Format, folder: Path, tmp_path: Path) -> None:
    api.convert(folder, tmp_path / "out", format=format)
    data = (tmp_path / "out").read_bytes()
    dataset = rdflib.Dataset(default_union=True).parse(data=data, format=RDFLIB[format])
    by_rdflib = rdflib.Graph()
    by_rdflib += dataset.triples((None, None, None))
    triples = [quad.triple for quad in ox.parse(data, format=OXIGRAPH[format])]
    by_oxigraph = rdflib.Graph().parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
    assert len(by_oxigraph) > 100
    assert isomorphic(by_rdflib, by_oxigraph)


@settings(max_examples=100)
@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=20))
def test_any_text_is_the_same_in_every_format(text: str) -> None:
    table = grid(("a", "b"), (text, "1"), id=text)
    expected = quads(text_of(table, Format.NQUADS), Format.NQUADS)
    for format in (Format.TRIG, Format.JSONLD):
        assert quads(text_of(table, format), format) == expected


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("ttl", Format.TURTLE), ("application/n-quads", Format.NQUADS), ("JSON-LD", Format.JSONLD),
        (".nt", Format.NTRIPLES), ("text/turtle; charset=utf-8", Format.TURTLE),
    ],
)  # fmt: skip
def test_formats_by_name_suffix_and_media_type(name: str, format: Format) -> None:
    assert Format.of(name) is format


@pytest.mark.parametrize("format", list(Format))
def test_processes_write_the_same_bytes(
    format: Format, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.building.convert.SPLIT_ABOVE", 3_000)
    rows = "".join(f"item {row},{row * 7},{row}%\n" for row in range(500))
    (folder / "long.csv").write_text(f"Name,Amount,Share\n{rows}", encoding="utf-8")
    (folder / "broken.csv").write_bytes(b"\x00\x01\x02\xff\xfe\x00" * 99)
    # Starting processes takes most of the time: the number in between is tried with one format.
    written = set()
    for workers in (1, 2, 3) if format is Format.TRIG else (1, 3):
        report = api.convert(folder, tmp_path / str(workers), format=format, workers=workers)
        assert [table.rows for table in report.tables] == [7, 501, 4]
        assert len(report.errors) == 1
        written.add((tmp_path / str(workers)).read_bytes())
    assert len(written) == 1


TABLE_NAME = f"<{NAMES.table_iri('t')}>"
BASE = TABLE_NAME[1:-1]

local_names = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters=' <>"{}|^`\\%#[]')
).filter(lambda name: is_valid_iri(f"http://e/{name}"))
iris = st.builds(
    lambda namespace, name: f"<{namespace}{name}>",
    st.sampled_from([NAMES.ex, NAMES.data, KGT, f"{BASE}/", f"{BASE}/row/", "http://e/", "urn:x:"]),
    st.one_of(
        local_names, st.sampled_from(["..", "../x", "/x", "//x", "a:b", "?q", "#f", "1.", ".a", "-a", "%41", "a.b"])
    ),
)
literals = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20).map(text_literal),
    st.builds(
        typed,
        st.sampled_from(["1", "-1", "+1", "007", "1.0", "1.", ".5", "-.5", "1e5", "true", "TRUE", "0", "", " 1"]),
        st.sampled_from([f"{XSD}{name}" for name in ("integer", "decimal", "boolean", "double", "gYear")]),
    ),
    st.sampled_from(['"x"@en', '"a^^<b>"', '"a\\"^^<b>"@de']),
)


def written(blocks: list[Block], name: str | None = TABLE_NAME, *, with_graphs: bool = True) -> str:
    writer = TurtleWriter(NAMES, with_graphs=with_graphs)
    return writer.start() + "".join(writer.graph(name, blocks)) + writer.end()


@settings(max_examples=50)
@given(st.lists(st.tuples(iris, iris, st.one_of(iris, literals)), min_size=1, max_size=4))
def test_every_statement_comes_back(statements: list[tuple[str, str, str]]) -> None:
    blocks: list[Block] = [(subject, [(predicate, value)]) for subject, predicate, value in statements]
    lines = "".join(f"{subject} {predicate} {value} {TABLE_NAME} .\n" for subject, predicate, value in statements)
    expected = set(ox.parse(lines.encode(), format=ox.RdfFormat.N_QUADS))
    assert set(ox.parse(written(blocks).encode(), format=ox.RdfFormat.TRIG)) == expected
    in_turtle = ox.parse(written(blocks, with_graphs=False).encode(), format=ox.RdfFormat.TURTLE)
    assert {quad.triple for quad in in_turtle} == {quad.triple for quad in expected}


@pytest.mark.parametrize("with_graphs", [True, False])
def test_a_graph_in_shares_is_the_graph(with_graphs: bool) -> None:
    blocks: list[Block] = [(f"<{BASE}/row/{n}>", [("<http://e/p>", f'"{n}"')]) for n in range(6)]
    parts = (
        piece
        for part in range(3)
        for piece in TurtleWriter(NAMES, with_graphs=with_graphs).graph(
            TABLE_NAME, blocks[part * 2 : part * 2 + 2], Share(part, 3)
        )
    )
    whole = written(blocks, with_graphs=with_graphs)
    assert TurtleWriter(NAMES, with_graphs=with_graphs).start() + "".join(parts) == whole


any_text = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=30)
lexicals = st.sampled_from(
    ["0", "-0", "00", "7", "-12", "+1", "999999999999999", "9" * 30, "1.0", "1e5", "true", "TRUE", "1", "", "x"]
)
datatypes = st.sampled_from(["integer", "decimal", "double", "boolean", "string", "gYear"])
SUBJECT, PREDICATE = "<http://e/s>", "<http://e/p>"


def document(*graphs: tuple[str | None, list[Block]]) -> str:
    writer = JsonLdWriter(NAMES)
    texts = ["".join(writer.graph(name, blocks)) for name, blocks in graphs]
    return writer.start() + writer.between.join(texts) + writer.end()


def json_quads(text: str) -> set[ox.Quad]:
    return set(ox.parse(text.encode(), format=ox.RdfFormat.JSON_LD))


def expected(*pairs: tuple[str, str]) -> set[ox.Quad]:
    lines = "".join(f"{SUBJECT} {predicate} {value} .\n" for predicate, value in pairs)
    return set(ox.parse(lines.encode(), format=ox.RdfFormat.N_QUADS))


@given(any_text)
def test_every_text_comes_back(text: str) -> None:
    pairs = [(PREDICATE, text_literal(text))]
    assert json_quads(document((None, [(SUBJECT, pairs)]))) == expected(*pairs)


@given(lexicals, datatypes)
def test_every_lexical_form_and_datatype_comes_back(lexical: str, datatype: str) -> None:
    pairs = [(PREDICATE, typed(lexical, f"{XSD}{datatype}")), (PREDICATE, PREDICATE)]
    assert json_quads(document((None, [(SUBJECT, pairs)]))) == expected(*pairs)


schemes = st.sampled_from([*NAMES.prefixes, "urn", "http", "tag"])


def can_be_read(iri: str) -> bool:
    try:
        list(ox.parse(f"{iri} {iri} {iri} .".encode(), format=ox.RdfFormat.N_TRIPLES))
    except SyntaxError:
        return False
    return True


any_iris = st.one_of(
    st.builds(
        lambda scheme, between, name: f"<{scheme}:{between}{name}>",
        schemes,
        st.sampled_from(["", "/", "//h/", "x:"]),
        local_names,
    ),
    iris,
).filter(can_be_read)
nodes = st.tuples(
    any_iris,
    st.lists(
        st.tuples(st.one_of(any_iris, st.just(RDF_TYPE)), st.one_of(any_iris, any_iris.map(lambda iri: f'"x"^^{iri}')))
    ),
)


@settings(max_examples=200)
@given(st.one_of(st.none(), any_iris), st.lists(nodes, min_size=1, max_size=3))
def test_every_iri_comes_back_from_json(name: str | None, blocks: list[Block]) -> None:
    statements = [(subject, predicate, value) for subject, pairs in blocks for predicate, value in pairs]
    lines = "".join(f"{subject} {predicate} {value} {name or ''} .\n" for subject, predicate, value in statements)
    text = document((name, blocks), (None, [(SUBJECT, [(PREDICATE, f"<{KGT}Table>")])]))
    lines += f"{SUBJECT} {PREDICATE} <{KGT}Table> .\n"
    assert json_quads(text) == set(ox.parse(lines.encode(), format=ox.RdfFormat.N_QUADS))


def test_rdflib_reads_iris_whose_scheme_is_a_prefix() -> None:
    name, blocks = "<time:now>", [("<unit:M>", [("<data:p>", "<time:x>"), (RDF_TYPE, f"<{KGT}Table>")])]
    text = document((name, blocks), (None, [("<unit:M>", [(PREDICATE, f"<{KGT}Table>")])]))
    found = {tuple(map(str, quad)) for quad in rdflib.Dataset().parse(data=text, format="json-ld").quads()}
    assert {quad[:3] for quad in found} == {
        ("unit:M", "data:p", "time:x"),
        ("unit:M", RDF_TYPE[1:-1], f"{KGT}Table"),
        ("unit:M", PREDICATE[1:-1], f"{KGT}Table"),
    }
    assert {quad[3] for quad in found} >= {"time:now"}


def test_blank_nodes_stay_one_node() -> None:
    text = document((None, [("_:a", [(PREDICATE, "_:b"), (RDF_TYPE, "_:c")]), ("_:b", [(PREDICATE, "_:a")])]))
    found = json_quads(text)
    assert len(found) == 3
    assert len({term for quad in found for term in (quad.subject, quad.object)}) == 3


def test_a_json_graph_in_shares_is_the_graph() -> None:
    name, blocks = "<http://e/g>", [(f"<http://e/{n}>", [(PREDICATE, f'"{n}"')]) for n in range(5)]
    whole = "".join(JsonLdWriter(NAMES).graph(name, blocks))
    parts = (
        piece
        for part in range(3)
        for piece in JsonLdWriter(NAMES).graph(name, blocks[part * 2 : part * 2 + 2], Share(part, 3))
    )
    assert "".join(parts) == whole
    assert {str(quad.graph_name) for quad in json_quads(document((name, blocks), (None, blocks)))} == {name, "DEFAULT"}


ORDERED_TABLE = grid(
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


def write_unordered(table: Grid, triples: list[ox.Triple], format: Format) -> str:
    writer = writer_for(format, NAMES)
    return "".join(writer.graph(f"<{NAMES.table_iri(table.id)}>", table_blocks(triples)))


@pytest.mark.parametrize("format", [Format.TURTLE, Format.NQUADS])
def test_statements_in_any_order_come_in_that_of_the_shape(format: Format) -> None:
    triples = triples_of(ORDERED_TABLE)
    expected = text_of(ORDERED_TABLE, format)
    for seed in range(3):
        random.Random(seed).shuffle(triples)
        assert write_unordered(ORDERED_TABLE, triples, format) == expected.removeprefix(
            writer_for(format, NAMES).start()
        )


PARTS = st.sampled_from(["row", "column", "cell", "heading", "x", "", "ümlaut"])
PLACES = st.one_of(st.integers(0, 12).map(str), st.sampled_from(["", "x", "9" * 5000, "-1", "٣", "1/2/3"]))
IRIS = st.builds(
    lambda part, one, two: ox.NamedNode(f"{NAMES.table_iri('t')}/{part}/{one}/{two}"), PARTS, PLACES, PLACES
)
PREDICATES = st.sampled_from([f"{KGT}predicate", f"{KGT}printed", f"{KGT}row", f"{KGT}order", "http://e/p"])
NODES = st.one_of(IRIS, st.just(ox.BlankNode("b")))
OBJECTS = st.one_of(NODES, st.sampled_from([ox.Literal("x"), ox.Literal("x", language="en"), ox.Literal("9" * 5000)]))


@settings(max_examples=50)
@given(st.lists(st.builds(ox.Triple, NODES, PREDICATES.map(ox.NamedNode), OBJECTS), max_size=8, unique=True))
def test_whatever_people_wrote_into_a_table_is_given_in_one_order(triples: list[ox.Triple]) -> None:
    blocks = list(table_blocks(triples))
    assert sum(len(pairs) for _, pairs in blocks) == len(triples)
    assert list(table_blocks(triples[::-1])) == blocks


cells = st.sampled_from(
    ["", "", " ", "0", "-0", "0.00", "5", "-17", "1.50", "(3)", "1,204.10", "$ 12", "12.5%", "7 km", "1–2", "~5",
     "12[3]", "0.123456789012345678", "-0.1234567890123456789", "999999999999999999", "170,141,183,460,469,231,732",
     "2013", "31 Dec. 2024", "2020-01-01", "1 May 1988", "yes", "n/a", "-", "Pump", "Rent & more", "pump \"2\"\n",
     "5\n", "Größe", "\u202e1", "\ud800", "Q3 2020", "12345678901230", "Total"]
)  # fmt: skip
headers = st.sampled_from(
    ["Item", "Sales ($ millions)", "2019", "Share (%)", "12345678901230", "Day", "Unit", "Rate", "Price (thousand)", ""]
)


tables = st.integers(1, 5).flatmap(
    lambda width: st.tuples(
        st.lists(headers, min_size=width, max_size=width),
        st.lists(st.lists(cells, max_size=width), min_size=2, max_size=20),
    )
)


@pytest.mark.parametrize("format", Format)
@settings(max_examples=150, deadline=None)
@given(tables)
def test_rows_written_by_their_forms_are_those_written_one_by_one(
    format: Format, rows: tuple[list[str], list[list[str]]]
) -> None:
    table = grid(*map(tuple, (rows[0], *rows[1])))
    shape = TableShape(annotate(make_table(table)), NAMES)
    one_by_one = "".join(writer_for(format, NAMES).graph(shape.graph, shape))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("writers", "cell_encoder"):
            patch.setattr(f"kgtable.graph.{name}._FEW", 1)
        writer = writer_for(format, NAMES)
        assert text_of(table, format) == writer.start() + one_by_one + writer.end()
