from __future__ import annotations

import io
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyoxigraph as ox
import pytest
import rdflib

import kgtable
from kgtable import api
from kgtable.api import build, convert, validate
from kgtable.building.catalogue import Catalogue
from kgtable.errors import GraphError, GraphVersionError, MappingError, QueryError, StorageError, UsageError
from kgtable.index.embedding import Matrix
from tests.index.sample_graph import WordEmbedder

PLANETS = 'Planet,Radius (km)\nMercury,"2,440"\nSaturn,"58,232"\n'


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "planets.csv").write_text(PLANETS, encoding="utf-8")
    (folder / "moons.csv").write_text("Moon,Of\nTitan,Saturn\n", encoding="utf-8")
    return folder


def test_one_path_or_many_as_text_or_path(tables: Path, tmp_path: Path) -> None:
    files = sorted(tables.iterdir())
    for number, paths in enumerate((tables, str(tables), [tables], [str(file) for file in files])):
        kg = build(paths, tmp_path / f"kg{number}", embedding="none")
        assert list(kg.tables) == ["moons", "planets"]
        assert kg.built is not None
        assert kg.built.changes.added == ("moons", "planets")


def test_a_graph_is_brought_up_to_date_and_tells_how_far_it_is(tables: Path, tmp_path: Path) -> None:
    build(tables, tmp_path / "kg", embedding="none")
    (tables / "moons.csv").unlink()
    told: list[tuple[str, int, int]] = []
    kg = build(tables, tmp_path / "kg", embedding="none", progress=lambda *step: told.append(step))
    assert list(kg.tables) == ["planets"]
    assert kg.built is not None
    assert kg.built.changes.removed == ("moons",)
    assert all(0 <= done <= total for _, done, total in told)


def test_a_long_table_tells_how_many_of_its_rows_and_megabytes_are_done(tmp_path: Path) -> None:
    rows = "".join(f"item {number},{number}\n" for number in range(30_000))
    (tmp_path / "long.csv").write_text(f"Name,Number\n{rows}")
    told: list[tuple[str, int, int]] = []
    build(tmp_path / "long.csv", tmp_path / "kg", embedding="none", progress=lambda *step: told.append(step)).close()
    rows_done = [done for stage, done, total in told if stage == "converting rows of long.csv" and total == 30_001]
    loaded = [(done, total) for stage, done, total in told if stage == "loading MB of statements"]
    assert len(rows_done) > 5
    assert rows_done == sorted(rows_done)
    assert rows_done[-1] == 30_001
    assert loaded[0][0] == 0
    assert loaded[-1][0] >= loaded[-1][1] > 15


def test_a_mapping_and_a_base_are_taken(tables: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "m.csv"
    mapping.write_text("column name,predicate,unit\nRadius (km),,MI\n", encoding="utf-8")
    kg = build(tables, tmp_path / "kg", mapping=str(mapping), base="https://data.example/ü/", embedding="none")
    assert kg.sparql("ASK { ?q qudt:hasUnit unit:MI }") is True
    assert kg.names.base == "https://data.example/ü/"
    with pytest.raises(MappingError, match="There is no mapping"):
        build(tables, tmp_path / "other", mapping=tmp_path / "none.csv", embedding="none")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["out.ttl", "OUT.NQ", "out.jsonld", "o u t ü.trig"])
def test_the_format_goes_by_the_suffix(name: str, tables: Path, tmp_path: Path) -> None:
    report = convert(tables, tmp_path / name)
    assert len(report.tables) == 2
    assert validate(tmp_path / name).conforms


def test_a_stream_needs_a_format_and_stays_open(tables: Path) -> None:
    out = io.BytesIO()
    with pytest.raises(UsageError, match="Give a format"):
        convert(tables, out)
    convert(tables, out, format="application/n-triples")
    assert out.getvalue().endswith(b" .\n")
    assert not out.closed


def test_what_cannot_be_done_leaves_what_was_there(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ttl"
    out.write_bytes(b"mine")
    for wrong in ({"format": "pdf"}, {"base": "no iri"}):
        with pytest.raises(UsageError):
            convert(tables, out, **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="nowhere"):
        convert(tmp_path / "nowhere", out)
    with pytest.raises(StorageError):
        convert(tables, tmp_path / "none" / "out.ttl")
    with pytest.raises(GraphVersionError):
        build(tables, tables, embedding="none")
    assert out.read_bytes() == b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.ttl", "tables"]


def test_tables_are_validated_as_the_graph_they_become(tables: Path, tmp_path: Path) -> None:
    report = validate(str(tables))
    assert report.conforms
    assert report.nodes > validate(tables / "moons.csv").nodes > 0
    with pytest.raises(UsageError):
        validate(tmp_path / "nowhere")
    (tmp_path / "bad.ttl").write_text("<a> <b>", encoding="utf-8")
    with pytest.raises(GraphError, match=r"bad\.ttl, line 1"):
        validate(tmp_path / "bad.ttl")


def test_as_many_violations_are_listed_as_asked_for(tmp_path: Path) -> None:
    cells = "".join(f"<http://e/table/t/cell/{n}/1> a <https://w3id.org/kgtable#HeaderCell> .\n" for n in range(5))
    (tmp_path / "bad.nt").write_text(cells.replace(" a ", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "))
    report = validate(tmp_path / "bad.nt", most=2)
    assert len(report.violations) == 2
    assert report.count > 2


class Thesaurus(WordEmbedder):
    """An embedding for which two words mean the same."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        return super().embed([text.lower().replace("turnover", "revenue") for text in texts])


@pytest.mark.parametrize(("embedding", "proposed"), [("thesaurus", True), ("none", False)])
def test_equivalent_columns_are_proposed_by_the_vectors_of_the_build(
    embedding: str, proposed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.index.embedding.load_embedder", lambda name: None if name == "none" else Thesaurus())
    (tmp_path / "one.csv").write_text("Year,Revenue\n2019,5\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("Year,Turnover\n2020,7\n", encoding="utf-8")
    tables = [tmp_path / "one.csv", tmp_path / "other.csv"]
    asked = "ASK { ex:hasRevenue kgt:proposedEquivalent ex:hasTurnover }"
    assert build(tables, tmp_path / "kg", embedding=embedding).sparql(asked) is proposed
    build(tables, tmp_path / "changed", embedding="none" if proposed else "thesaurus")
    assert build(tables, tmp_path / "changed", embedding=embedding).sparql(asked) is proposed


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("api")
    (folder / "planets.csv").write_text(
        'Planet,Radius (km),Rings\nMercury,"2,440",no\nSaturn,"58,232.5",yes\n', encoding="utf-8"
    )
    return kgtable.build(folder, folder / "kg", embedding="none")


def test_sparql_gives_frames_booleans_and_graphs(kg: api.KnowledgeGraph) -> None:
    frame = kg.sparql("SELECT ?n ?radius { [] rdfs:label ?n ; ex:hasRadius/qudt:numericValue ?radius } ORDER BY ?n")
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("list") == {"n": ["Mercury", "Saturn"], "radius": [Decimal(2440), Decimal("58232.5")]}
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


def test_rdflib_gets_every_quad_and_the_ontology(kg: api.KnowledgeGraph) -> None:
    dataset = kg.to_rdflib()
    assert len(list(dataset.quads())) == len(kg.store)  # type: ignore[arg-type]
    assert (rdflib.URIRef("http://example.org/ontology#hasRings"), None, None) in kg.ontology


def test_graphs_show_themselves_in_a_notebook(kg: api.KnowledgeGraph) -> None:
    assert "1 table)" in repr(kg)
    for shown in (kg, kg.tables, kg.tables["planets"]):
        assert "planets" in shown._repr_html_()


def test_hostile_text_is_escaped_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n<script>alert(1)</script>,1\n", encoding="utf-8")
    (tmp_path / "t.json").write_text('{"title": "<script>alert(2)</script>"}', encoding="utf-8")
    kg = kgtable.build(tmp_path, tmp_path / "kg", embedding="none")
    assert "<script>" not in kg.tables["t"]._repr_html_() + kg._repr_html_()


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with pytest.raises(UsageError):
        api.convert(tmp_path / "tables", tmp_path / "out.ttl")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_numbers_larger_than_a_decimal_are_sorted_in_sparql_and_exact_in_answers(tmp_path: Path) -> None:
    rows = ["Alpha,1e20", "Beta,1.7e20", "Gamma,-1e25", 'Delta,"123,456,789,012,345,678,901,234,567,890"', "Eps,1e25"]
    (tmp_path / "atoms.csv").write_text("\n".join(["Name,Atoms", *rows]))
    kg = kgtable.build(tmp_path / "atoms.csv", tmp_path / "graph", embedding="none")
    order = kg.sparql("SELECT ?n { ?r rdfs:label ?n ; ?p ?c . ?c qudt:numericValue ?v } ORDER BY DESC(?v)")
    assert isinstance(order, pd.DataFrame)
    assert order["n"].tolist() == ["Delta", "Eps", "Beta", "Alpha", "Gamma"]
    most = kg.ask("What is the highest Atoms?", model="none")
    assert most.value == "123456789012345678901234567890"
    assert "123,456,789,012,345,678,901,234,567,890" in [citation.text for citation in most.citations]
    total = kg.ask("What is the total Atoms?", model="none")
    assert total.value == "123456789282345678901234567890"


def test_a_code_that_is_a_marker_elsewhere_counts_in_every_reader(tmp_path: Path) -> None:
    rows = ["Namibia,NA,3", "Sweden,SE,NA", "Chile,CL,5"]
    (tmp_path / "countries.csv").write_text("\n".join(["Country,Code,Ports", *rows]))
    kg = kgtable.build(tmp_path / "countries.csv", tmp_path / "graph", embedding="none")
    assert kg.ask("What is the code of Namibia?", model="none").text == "NA"
    assert kg.ask("How many ports does Sweden have?", model="none").value is None
    markers = kg.sparql("SELECT ?row ?text { ?row ?p ?text FILTER(DATATYPE(?text) = kgt:missing) }")
    assert isinstance(markers, pd.DataFrame)
    assert markers["text"].tolist() == ["NA"]


def test_many_threads_that_open_a_part_of_a_graph_at_once_get_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("Name,Mass\nEarth,5\n", encoding="utf-8")
    kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none").close()
    together, opened = threading.Barrier(4), list[object]()
    load = Catalogue.load

    def slow(path: Path) -> Catalogue:
        opened.append(path)
        time.sleep(0.05)
        return load(path)

    def look(_: int) -> int:
        together.wait()
        return id(graph.catalogue)

    monkeypatch.setattr(Catalogue, "load", slow)
    with kgtable.open(tmp_path / "kg") as graph, ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(look, range(4)))) == len(opened) == 1


def test_rows_are_counted_alike_and_schemas_come_for_all_tables(tmp_path: Path) -> None:
    budget = "Type,2021,2022\nStaff,410,425\nBooks,96,88\nof which e-books,12,19\nBuilding,150,162\nTotal,656,675\n,,\n"
    (tmp_path / "budget.csv").write_text(budget, encoding="utf-8")
    (tmp_path / "planets.csv").write_text(PLANETS, encoding="utf-8")
    with build([tmp_path / "budget.csv", tmp_path / "planets.csv"], tmp_path / "kg", embedding="none") as kg:
        listed = {table["id"]: (table["rows"], table["totals"]) for table in kg.info()["table_list"]}
        assert listed == {"budget": (3, 1), "planets": (2, 0)}
        assert {card.id: (card.rows, card.totals) for card in kg.sql_schema()} == listed
        assert kg.sql("SELECT count(*) AS n FROM budget WHERE row_kind = 'member'")["n"][0] == 3
