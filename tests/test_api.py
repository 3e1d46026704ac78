from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyoxigraph as ox
import pytest
import rdflib

import kgtable
from kgtable import api
from kgtable.errors import GraphNotFoundError, QueryError, UsageError


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("api")
    (folder / "planets.csv").write_text(
        'Planet,Radius (km),Rings\nMercury,"2,440",no\nSaturn,"58,232.5",yes\n', encoding="utf-8"
    )
    return kgtable.build(folder, folder / "kg", embedding="none")


def test_sparql_gives_frames_booleans_and_graphs(kg: api.KnowledgeGraph) -> None:
    frame = kg.sparql(
        "SELECT ?n ?radius { [] rdfs:label ?n ; ex:hasRadiusKm/qudt:numericValue ?radius } ORDER BY ?n"
    )
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("list") == {
        "n": ["Mercury", "Saturn"],
        "radius": [Decimal(2440), Decimal("58232.5")],
    }
    assert kg.sparql("ASK { ?row a kgt:Row }") is True
    graph = kg.sparql("CONSTRUCT { ?row rdfs:label ?name } WHERE { ?row a kgt:Row ; rdfs:label ?name }")
    assert isinstance(graph, rdflib.Graph)
    assert len(graph) == 2


def test_values_are_bound_not_written_into_the_query(kg: api.KnowledgeGraph) -> None:
    hostile = ox.Literal('Saturn" } DROP ALL #')
    assert kg.sparql("ASK { ?row rdfs:label ?name }", bindings={"name": hostile}) is False
    assert kg.sparql("ASK { ?row rdfs:label ?name }", bindings={"name": ox.Literal("Saturn")}) is True


def test_a_bad_query_is_named(kg: api.KnowledgeGraph) -> None:
    with pytest.raises(QueryError, match="cannot be parsed"):
        kg.sparql("SELEKT")
    with pytest.raises(QueryError):
        kg.sparql("INSERT DATA { <a:a> <a:a> <a:a> }")


def test_tables_by_id(kg: api.KnowledgeGraph) -> None:
    assert list(kg.tables) == ["planets"]
    frame = kg.tables["planets"].to_frame()
    assert list(frame.columns) == ["Planet", "Radius (km)", "Rings"]
    assert frame["Radius (km)"].tolist() == ["2,440", "58,232.5"]
    with pytest.raises(GraphNotFoundError, match="'x'"):
        kg.tables["x"]


def test_info_counts(kg: api.KnowledgeGraph) -> None:
    info = kg.info()
    assert (info["tables"], info["rows"], info["cells"]) == (1, 3, 6)
    assert info["units"] == {"KiloM": 2}


def test_rdflib_gets_every_quad_and_the_ontology(kg: api.KnowledgeGraph) -> None:
    dataset = kg.to_rdflib()
    assert len(list(dataset.quads())) == len(kg.store)  # type: ignore[arg-type]
    assert (rdflib.URIRef("http://example.org/ontology#hasRings"), None, None) in kg.ontology


def test_graphs_show_themselves_in_a_notebook(kg: api.KnowledgeGraph) -> None:
    assert "1 tables" in repr(kg)
    for shown in (kg, kg.tables, kg.tables["planets"]):
        assert "planets" in shown._repr_html_()


def test_hostile_text_is_escaped_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n<script>alert(1)</script>,1\n", encoding="utf-8")
    (tmp_path / "t.json").write_text('{"title": "<script>alert(2)</script>"}', encoding="utf-8")
    kg = kgtable.build(tmp_path, tmp_path / "kg", embedding="none")
    assert "<script>" not in kg.tables["t"]._repr_html_() + kg._repr_html_()


def test_convert_needs_a_known_suffix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no RDF format"):
        api.convert(tmp_path, tmp_path / "out.pdf")


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with pytest.raises(UsageError):
        api.convert(tmp_path / "tables", tmp_path / "out.ttl")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
