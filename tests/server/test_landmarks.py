"""Where to begin in a graph: shared subjects, relations, units, columns by name; as data and on the pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from kgtable.server.views.overview import column_names, landmarks, unit_facts, unit_list
from tests.server.accessibility import violations
from tests.server.browser import CHROMIUM, DRIVER, MISSING, Browser
from tests.server.open_graph import silent
from tests.server.serving import Running, running

browsed = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING)
SHIPS = "Ship,Home port,Length (m)\n" + "".join(f"Ship {n},Port {n % 7},{n + 20}\n" for n in range(21))
PORTS = "Port,Depth (m)\n" + "".join(f"Port {n},{n + 5}\n" for n in range(7))
FIRMS = ("Acme Incorporated", "Globex Corporation", "Initech Limited", "Umbrella Holdings")
TABLES = {
    "ships": SHIPS,
    "ports": PORTS,
    "harbours": PORTS.replace("Depth", "Length"),
    "firms": "Firm,Founded\n" + "".join(f"{name},{n + 1990}\n" for n, name in enumerate(FIRMS)),
    "bills": "Bill,Firm\n" + "".join(f"B{n},{name.replace('or', 'r')}\n" for n, name in enumerate(FIRMS)),
}


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
        join
        for join in found["joins"]
        if (join["left"]["table"], join["right"]["table"]) == ("ships", "ports")
    )
    assert (join["left"]["name"], join["right"]["name"], join["matched"]) == ("Home port", "Port", 7)
    assert join["fuzzy"] == 0
    assert found["titles"]["ships"] == "Ships"
    bills = next(join for join in found["joins"] if join["left"]["table"] == "bills")
    assert (bills["matched"], bills["fuzzy"]) == (4, 0.5)
    assert "acme incrprated ~ acme incorporated" in bills["examples"]
    assert len(graph.sparql(join["query"])) == 21


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


@pytest.fixture(scope="module")
def editable(folder: Path, graph: KnowledgeGraph) -> Iterator[Running]:
    with running(ServerSettings(port=0, editable=True), GraphFolder(folder / "graph")) as server:
        yield server


@pytest.mark.browser
@browsed
def test_the_pages_start_from_what_matters(editable: Running) -> None:
    browser = Browser(editable.url)
    folder = os.environ.get("KGTABLE_SCREENSHOTS")
    try:
        unit = "/resource?iri=http://qudt.org/vocab/unit/M"
        for path, ready in (
            ("/graph", "#joins li"),
            (unit, "#unit tbody tr"),
            ("/ontology", "#units tbody tr"),
        ):
            for width, dark in ((1400, False), (390, True)):
                browser.resize(width, 900, dark=dark)
                browser.open(path)
                browser.find(ready)
                assert browser.script("document.documentElement.scrollWidth <= innerWidth"), path
                assert violations(browser) == [], path
                if folder:
                    name = path.split("?")[0].strip("/")
                    browser.driver.save_screenshot(str(Path(folder) / f"landmarks-{name}-{width}.png"))
        browser.resize(1400, 900)
        browser.open("/graph")
        browser.wait(
            lambda: "4 values in common, 50% of them spelt otherwise: " in browser.find("#joins").text
        )
        browser.find("#subjects button").click()
        browser.wait(lambda: "port" in browser.find("#side h2").text.lower())
        browser.open(unit)
        assert browser.find("h1").text == "Metre"
        assert "Ships" in browser.find("#unit").text
        browser.open("/ontology?q=length")
        browser.find("#predicates summary").click()
        browser.find(".decide summary").click()
        browser.find(".decide input").send_keys("KiloM")
        browser.find(".decide .compare").click()
        browser.wait(lambda: "kilometres" in browser.find(".decide table").text)
        next(button for button in browser.all(".decide button") if button.text == "Build with this").click()
        browser.wait(lambda: "changed" in browser.find("#mapped").text)
        assert browser.complaints() == []
    finally:
        browser.close()
    value = editable.client.get("/api/cells", params={"table": "ships", "row": 1, "column": 2}).json()
    assert (value["unit"], value["unit_from"]) == ("KiloM", "mapping")
