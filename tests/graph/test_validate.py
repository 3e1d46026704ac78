from __future__ import annotations

from pathlib import Path

import pyoxigraph
import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from rdflib import RDF, RDFS
from rdflib.namespace import SH

from kgtable.errors import GraphError
from kgtable.graph.shacl import load_shapes
from kgtable.graph.validate import opened, validate
from kgtable.resources import read_shipped
from kgtable.values.units import units
from tests.graph.shacl_samples import FAULTS, SOUND

BROKEN = [(text, fault) for text, faults in FAULTS.items() for fault in faults]
UNIT = "http://qudt.org/vocab/unit/"


def parsed(text: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=text, format="turtle")


def by_pyshacl_alone(graph: rdflib.Graph) -> int:
    """The number of violations that pySHACL finds when it looks at every node itself."""
    shapes = load_shapes()
    core = parsed(read_shipped("ontologies/kgtable.ttl"))
    for node in set(graph.objects()):
        if str(node).startswith(UNIT) and str(node).removeprefix(UNIT) in units():
            graph.add((node, RDF.type, rdflib.URIRef("http://qudt.org/schema/qudt/Unit")))
    for triple in (*shapes.triples((None, RDFS.subClassOf, None)), *core.triples((None, RDFS.subClassOf, None))):
        graph.add(triple)
    _, results, _ = pyshacl.validate(graph, shacl_graph=shapes, inplace=True)
    found = set()
    for result in results.subjects(RDF.type, SH.ValidationResult):
        focus, path = results.value(result, SH.focusNode), results.value(result, SH.resultPath)
        found.add((focus, path, " ".join(sorted(results.objects(result, SH.resultMessage)))))
    return len(found)


def test_a_sound_graph_conforms() -> None:
    report = validate(parsed(SOUND))
    assert report.conforms
    assert report.nodes == 8
    assert "for 8 nodes" in str(report)
    assert by_pyshacl_alone(parsed(SOUND)) == 0


@pytest.mark.parametrize(("text", "fault"), BROKEN)
def test_finds_what_pyshacl_finds_by_itself(text: str, fault: str) -> None:
    assert text in SOUND
    broken = SOUND.replace(text, fault, 1)
    report = validate(parsed(broken))
    assert report.count == by_pyshacl_alone(parsed(broken)) > 0


def test_a_violation_names_file_row_and_column() -> None:
    (violation,) = validate(parsed(SOUND.replace("unit:CCY_USD", "unit:QUUX"))).violations
    assert (violation.table, violation.file, violation.row, violation.column) == ("t", "in/t.csv", 2, 1)
    assert str(violation).startswith("in/t.csv, table t, B3: ")
    assert "qudt:hasUnit" in str(violation)
    assert "unit/QUUX" in str(violation)


def test_rows_and_columns_are_placed_too() -> None:
    (row,) = validate(parsed(SOUND.replace("kgt:subject <a>", 'kgt:subject "a"'))).violations
    assert (row.row, row.column) == (2, None)
    (column,) = validate(parsed(SOUND.replace("kgt:predicate ex:hasName", 'kgt:predicate "x"'))).violations
    assert (column.row, column.column) == (None, 0)


def test_all_are_counted_and_some_are_listed() -> None:
    cells = (f"<t/cell/{row}/1> a kgt:HeaderCell ; kgt:row {row} ; kgt:column 1 ." for row in range(3, 60))
    report = validate(parsed(SOUND + "\n".join(cells)), most=5)
    assert (report.count, len(report.violations)) == (57, 5)
    assert "52 more" in str(report)
    assert report.to_json()["violations"] == 57


def test_each_graph_is_judged_by_itself(tmp_path: Path) -> None:
    store = pyoxigraph.Store()
    quads = pyoxigraph.parse(SOUND, format=pyoxigraph.RdfFormat.TURTLE)
    table, rest = pyoxigraph.NamedNode("http://e/1"), pyoxigraph.NamedNode("http://e/2")
    for quad in quads:
        home = rest if quad.subject.value.endswith("/t") else table
        store.add(pyoxigraph.Quad(quad.subject, quad.predicate, quad.object, home))
    report = validate(store)
    assert {violation.message for violation in report.violations} == {
        "A column lies in one table.",
        "A row lies in one table.",
    }
    path = tmp_path / "store"
    pyoxigraph.Store(str(path)).bulk_load(
        store.dump(format=pyoxigraph.RdfFormat.N_QUADS), format=pyoxigraph.RdfFormat.N_QUADS
    )
    assert validate(path) == report


@pytest.mark.parametrize(
    ("suffix", "format_"), [("ttl", "turtle"), ("nt", "nt"), ("rdf", "xml"), ("jsonld", "json-ld")]
)
def test_files_of_any_rdf_format(tmp_path: Path, suffix: str, format_: str) -> None:
    path = tmp_path / f"g.{suffix}"
    parsed(SOUND).serialize(path, format=format_, encoding="utf-8")
    assert validate(path).conforms


def test_entities_that_expand_to_megabytes_are_refused(tmp_path: Path) -> None:
    values = ["x" * 100, *(f"&e{level};" * 10 for level in range(6))]
    entities = "".join(f'<!ENTITY e{level} "{value}">' for level, value in enumerate(values))
    text = (
        f'<!DOCTYPE r [{entities}]><rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">'
        '<rdf:Description rdf:about="http://e/s"><e:p>&e{};</e:p></rdf:Description></rdf:RDF>'
    )
    (tmp_path / "g.rdf").write_text(text.replace("{}", "1"), encoding="utf-8")
    with opened(tmp_path / "g.rdf") as store:
        assert {quad.object for quad in store} == {ox.Literal("x" * 1_000)}
    (tmp_path / "g.rdf").write_text(text.replace("{}", "6"), encoding="utf-8")
    with pytest.raises(GraphError, match=r"g\.rdf, line 1: limit on input amplification"):
        validate(tmp_path / "g.rdf")


TURTLE = '@prefix e: <http://e/> . e:s e:p "a\u202e", 1 ; e:q [ e:p "b" ] .'
QUADS = '<http://e/s> <http://e/p> "a" <http://e/g> .\n<http://e/s> <http://e/p> "b" .\n'


def test_files_graphs_and_stores_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "g.TTL").write_text(TURTLE, encoding="utf-8")
    memory = ox.Store()
    memory.load(TURTLE, ox.RdfFormat.TURTLE)
    for source in (tmp_path / "g.TTL", rdflib.Graph().parse(data=TURTLE, format="turtle"), memory):
        with opened(source) as store:
            assert len(store) == 4
            assert ox.Literal("a\u202e") in {quad.object for quad in store}


def test_named_graphs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "g.nq").write_text(QUADS, encoding="utf-8")
    dataset = rdflib.Dataset().parse(data=QUADS, format="nquads")
    for source in (tmp_path / "g.nq", dataset):
        with opened(source) as store:
            assert {graph.value for graph in store.named_graphs()} == {"http://e/g"}
            assert len(store) == 2


def test_the_directory_of_a_store_is_opened_where_it_is(tmp_path: Path) -> None:
    store = ox.Store(str(tmp_path / "store"))
    store.bulk_load(QUADS, ox.RdfFormat.N_QUADS)
    store.flush()
    del store
    with opened(tmp_path / "store") as found:
        assert len(found) == 2
        with pytest.raises(RuntimeError):
            found.add(ox.Quad(ox.NamedNode("http://e/s"), ox.NamedNode("http://e/p"), ox.Literal("x")))


def test_a_source_is_not_changed(tmp_path: Path) -> None:
    memory = ox.Store()
    with opened(memory) as store:
        store.load(TURTLE, ox.RdfFormat.TURTLE)
    assert len(memory) == 0


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("g.ttl", b"@prefix x: <http://e/> . x:a x:b", "g.ttl, line 1"),
        ("g.ttl", b'<http://e/a> <http://e/b> "\xff\xfe" .', "g.ttl, line 1"),
        ("g.nt", b"\n\n<script>", "g.nt, line 3"), ("g.csv", b"a,b", "no RDF format"), ("g", b"", "no RDF format"),
        ("none.ttl", None, "cannot be read"),
    ],
)  # fmt: skip
def test_sources_that_cannot_be_read(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(GraphError, match=message), opened(tmp_path / name):
        raise AssertionError


def test_a_directory_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="cannot be opened"), opened(tmp_path):
        raise AssertionError
    (tmp_path / "CURRENT").write_bytes(b"damaged")
    with pytest.raises(GraphError, match="cannot be opened"), opened(tmp_path):
        raise AssertionError
