from __future__ import annotations

import sys
from pathlib import Path

import pyoxigraph
import pyshacl
import pytest
import rdflib
from rdflib import RDF, RDFS
from rdflib.namespace import SH

from kgtable.errors import MissingExtraError
from kgtable.graph.shacl import load_shapes
from kgtable.graph.validate import validate
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
    for triple in (
        *shapes.triples((None, RDFS.subClassOf, None)),
        *core.triples((None, RDFS.subClassOf, None)),
    ):
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


def test_several_faults_at_once_are_all_found() -> None:
    broken = SOUND
    for text, faults in FAULTS.items():
        broken = broken.replace(text, faults[0], 1)
    assert validate(parsed(broken)).count == by_pyshacl_alone(parsed(broken)) > 10


def test_a_violation_names_file_row_and_column() -> None:
    (violation,) = validate(parsed(SOUND.replace("unit:CCY_USD", "unit:QUUX"))).violations
    assert (violation.table, violation.file, violation.row, violation.column) == ("t", "in/t.csv", 2, 1)
    assert str(violation).startswith("in/t.csv, table t, row 2, column 1 (B3): ")
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


def test_without_pyshacl_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyshacl", None)
    with pytest.raises(MissingExtraError, match=r"kgtable\[shacl\]"):
        validate(parsed(SOUND))
