"""Where to begin in a graph: shared subjects, relations, units, columns by name; as data and on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.overview import column_names, landmarks, unit_facts, unit_list
from tests.server.open_graph import silent

SHIPS = "Ship,Home port,Length (m)\n" + "".join(f"Ship {n},Port {n % 7},{n + 20}\n" for n in range(21))
PORTS = "Port,Depth (m)\n" + "".join(f"Port {n},{n + 5}\n" for n in range(7))
FIRMS = ("Acme Incorporated", "Globex Corporation", "Initech Limited", "Umbrella Holdings")
TABLES = {
    "ships": SHIPS, "ports": PORTS, "harbours": PORTS.replace("Depth", "Length"),
    "firms": "Firm,Founded\n" + "".join(f"{name},{n + 1990}\n" for n, name in enumerate(FIRMS)),
    "bills": "Bill,Firm\n" + "".join(f"B{n},{name.replace('or', 'r')}\n" for n, name in enumerate(FIRMS)),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landmarks")
    (folder / "tables").mkdir()
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    kgtable.build(folder / "tables", folder / "graph", embedding="none").close()
    return folder


@pytest.fixture(scope="module")
def graph(folder: Path) -> Iterator[KnowledgeGraph]:
    with kgtable.open(folder / "graph") as graph:
        yield graph


def test_shared_subjects_and_relations(graph: KnowledgeGraph) -> None:
    found = landmarks(graph, {}, silent)
    assert [(subject["label"], subject["tables"]) for subject in found["subjects"]] == [
        (f"Port {n}", 2) for n in range(7)
    ]
    join = next(
        join for join in found["joins"] if (join["left"]["table"], join["right"]["table"]) == ("ships", "ports")
    )
    assert (join["left"]["name"], join["right"]["name"], join["matched"]) == ("Home port", "Port", 7)
    assert join["fuzzy"] == 0
    assert found["titles"]["ships"] == "Ships"
    bills = next(join for join in found["joins"] if join["left"]["table"] == "bills")
    assert (bills["matched"], bills["fuzzy"]) == (4, 0.5)
    assert "acme incrprated ~ acme incorporated" in bills["examples"]
    assert len(graph.sparql(join["query"])) == 21


def test_the_map_holds_tables_their_columns_and_joins(graph: KnowledgeGraph) -> None:
    found = landmarks(graph, {}, silent)["map"]
    labels = {node["id"]: node["label"] for node in found["nodes"]}
    named = {(labels[edge["source"]], labels[edge["target"]], edge["label"]) for edge in found["edges"]}
    assert found["tables"] == 5
    assert {node["label"] for node in found["nodes"] if node["kind"] == "table"} >= {"Ships", "Ports"}
    assert ("Ships", "Ports", "Home port = Port") in named
    assert {("Ports", "Port", ""), ("Harbours", "Port", "")} <= named


def test_units_are_known_by_name_and_use(graph: KnowledgeGraph) -> None:
    (unit,) = unit_list(graph, {}, silent)["units"]
    assert (unit["label"], unit["symbol"], unit["cells"], unit["tables"]) == ("Metre", "m", 35, 3)
    facts = unit_facts(graph, unit["iri"])
    assert facts is not None
    assert (facts["tables"][0]["table"], facts["tables"][0]["columns"]) == ("ships", ["Length (m)"])
    assert unit_facts(graph, "http://qudt.org/vocab/unit/NONE") is None
    assert unit_facts(graph, "http://example.org/x") is None


def test_predicates_are_called_as_their_columns(graph: KnowledgeGraph) -> None:
    names = column_names(graph)
    assert "Home port" in names.values()
    assert all(iri.startswith(graph.names.ex) for iri in names)
