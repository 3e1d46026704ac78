"""What a user edits in a graph's mapping reaches the graph, and the graph its ontology and mapping."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import rdflib

from kgtable import api
from kgtable.resources import read_shipped

SALES = "Region,Revenue,Code\nNorth,574,12\nSouth,602,34\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "sales.csv").write_text(SALES, encoding="utf-8")
    return folder


def edit(graph: Path, name: str, **cells: str) -> None:
    path = graph / "ontology.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["column name"] == name:
            row.update(cells)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def values(kg: api.KnowledgeGraph, predicate: str) -> list[tuple[str, str]]:
    found = kg.sparql(
        "SELECT ?value (STR(?unit) AS ?u) "
        f"{{ [] {predicate} ?q . ?q qudt:numericValue ?value ; qudt:hasUnit ?unit }} ORDER BY ?value"
    )
    return [(str(value), str(unit).rsplit("/", 1)[1]) for value, unit in found.itertuples(index=False)]  # type: ignore[union-attr]


def test_an_edit_wins_and_survives_further_builds(tables: Path, tmp_path: Path) -> None:
    graph = tmp_path / "kg"
    kg = api.build(tables, graph, embedding="none")
    assert [value for value, _ in values(kg, "ex:hasRevenue")] == ["574", "602"]
    edit(graph, "Revenue", predicate="hasTurnover", unit="EUR", scale="millions")
    edit(graph, "Code", datatype="text")
    wanted = [("574000000", "CCY_EUR"), ("602000000", "CCY_EUR")]
    for number in range(3):
        kg = api.build(tables, graph, embedding="none")
        assert values(kg, "ex:hasTurnover") == wanted
        assert kg.sparql("ASK { ?row ex:hasRevenue ?value }") is False
        assert kg.sparql('ASK { ?row ex:hasCode "12" }') is True
        assert kg.validate().conforms
        (tables / f"more{number}.csv").write_text("Region,Visitors\nNorth,3\n", encoding="utf-8")


def test_an_edit_touches_only_the_tables_it_concerns(tables: Path, tmp_path: Path) -> None:
    (tables / "other.csv").write_text("Region,Visitors\nNorth,3\n", encoding="utf-8")
    api.build(tables, tmp_path / "kg", embedding="none")
    edit(tmp_path / "kg", "Revenue", unit="EUR")
    built = api.build(tables, tmp_path / "kg", embedding="none").built
    assert built is not None
    assert (built.changes.changed, built.changes.unchanged) == (("sales",), 1)


def test_equivalents_are_proposed_in_mapping_and_ontology(tables: Path, tmp_path: Path) -> None:
    (tables / "more.csv").write_text("Region,Total revenue\nNorth,3\n", encoding="utf-8")
    kg = api.build(tables, tmp_path / "kg", embedding="none")
    with (tmp_path / "kg" / "ontology.csv").open(encoding="utf-8", newline="") as file:
        same = {row["column name"]: row["same as"] for row in csv.DictReader(file)}
    assert (same["Revenue"], same["Total revenue"]) == ("Total revenue", "Revenue")
    link = rdflib.URIRef("https://w3id.org/kgtable#proposedEquivalent")
    assert len(list(kg.ontology.subject_objects(link))) == 2
    assert kg.sparql("ASK { ex:hasRevenue kgt:proposedEquivalent ex:hasTotalRevenue }") is True
    assert kg.sparql("ASK { ?row ex:hasRevenue ?value ; ex:hasTotalRevenue ?value }") is False


def test_every_term_in_the_graph_of_the_samples_is_declared(tmp_path: Path) -> None:
    samples = Path(api.__file__).parent / "samples"
    kg = api.build(samples, tmp_path / "kg", embedding="none")
    report = kg.validate()
    assert report.conforms, str(report)
    used = kg.sparql(
        'SELECT DISTINCT ?t { { [] ?t [] } UNION { [] a ?t } FILTER(STRSTARTS(STR(?t), "https://w3id.org/kgtable#")) }'
    )
    core = rdflib.Graph().parse(data=read_shipped("ontologies/kgtable.ttl"), format="turtle")
    declared = {str(subject) for subject in core.subjects()}
    assert len(used) > 20  # type: ignore[arg-type]
    assert [term for term in used["t"] if term not in declared] == []  # type: ignore[index]
