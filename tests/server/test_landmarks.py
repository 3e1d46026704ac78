"""Where to begin in a graph: shared subjects, relations, units, columns by name; as data and on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from kgtable.server.views.overview import column_names, landmarks, unit_facts, unit_list
from tests.server.accessibility import violations
from tests.server.browser import Chromium
from tests.server.open_graph import silent
from tests.server.serving import running

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


def test_columns_of_one_name_are_one_on_the_map_where_their_values_match(graph: KnowledgeGraph) -> None:
    found = landmarks(graph, {}, silent)["map"]
    ends: dict[str, set[str]] = {}
    for edge in found["edges"]:
        if edge["kind"] == "column":
            ends.setdefault(edge["target"], set()).add(edge["source"].rpartition("/")[2])
    shared = sorted(sorted(tables) for tables in ends.values() if len(tables) > 1)
    assert shared == [["bills", "firms"], ["harbours", "ports"]]  # not "Length (m)" of ships and harbours
    joined = {(edge["source"].rpartition("/")[2], edge["label"]) for edge in found["edges"] if edge["kind"] == "join"}
    assert joined == {("ships", "Home port = Port"), ("harbours", "Port"), ("bills", "Firm")}


def test_many_tables_are_on_the_map_in_groups(graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.server.views.overview.MAP_TABLES", 4)
    monkeypatch.setattr("kgtable.server.views.overview.SMALL_MAP", 4)
    found = landmarks(graph, {}, silent)["map"]
    members = {node["label"].partition(" (")[0]: [one["id"] for one in node["members"]] for node in found["nodes"]}
    assert {node["kind"] for node in found["nodes"]} == {"group"}
    assert sorted(id for ids in members.values() for id in ids) == sorted(TABLES)
    assert members["Port"] == ["harbours", "ports"]
    assert ("group:Other", "group:Port") in {(edge["source"], edge["target"]) for edge in found["edges"]}


OVERLAPS = """(() => {
  const boxes = kgtableGraph.nodes().map((node) => node.boundingBox({ includeOverlays: false }));
  return boxes.filter((a, place) => boxes.slice(place + 1).some((b) =>
    Math.min(a.x2, b.x2) - Math.max(a.x1, b.x1) > 1 && Math.min(a.y2, b.y2) - Math.max(a.y1, b.y1) > 1)).length;
})()"""


def test_labels_on_the_map_do_not_overlap(chromium: Chromium, tmp_path: Path) -> None:
    names = [f"Quarterly figures of the district number {n} for the council" for n in range(40)]
    (tmp_path / "tables").mkdir()
    for n, name in enumerate(names):
        rows = "".join(f"K{n}-{row},{row * n}\n" for row in range(9))
        (tmp_path / "tables" / f"{name}.csv").write_text(f"Key {n},Amount\n{rows}", encoding="utf-8")
    for n in range(0, 40, 4):
        rows = "".join(f"K{n}-{row % 9},{row}\n" for row in range(20))
        (tmp_path / "tables" / f"bookings {n}.csv").write_text(f"Key {n},Booked\n{rows}", encoding="utf-8")
    kgtable.build(tmp_path / "tables", tmp_path / "graph", embedding="none").close()
    with running(ServerSettings(port=0), GraphFolder(tmp_path / "graph")) as server:
        browser = chromium.on(server.url)
        browser.open("/graph")
        browser.wait(lambda: "50 tables" in browser.find("#status").text)
        assert browser.script("kgtableGraph.nodes().length") == 50
        assert browser.script("kgtableGraph.edges('[kind=\"join\"]').length") == 10
        assert browser.script(OVERLAPS) == 0
        shown = [part.text for part in browser.all(".legend li") if part.is_displayed()]
        assert shown == ["table", "values of a column are found in a key column of the other table"]
        browser.script("void kgtableGraph.nodes()[0].emit('dbltap')")
        browser.wait(lambda: browser.script("kgtableGraph.nodes('.expanded').length"))
        assert browser.script(OVERLAPS) == 0
        assert violations(browser) == []


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
